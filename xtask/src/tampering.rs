//! The demo's last part: the sealed log is verified, and a copy in which one byte differs is found out.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::command::program;
use crate::demo::release_binary;
use crate::tree::Tree;

const SEGMENT: &str = "seg-00000000000000000000.jsonl";
/// What the byte that is changed stands in: the name of a file that the container read.
const NAME: &[u8] = b"/data/input.txt";

/// Shows the tree of a log, verifies it, and does the same with a changed copy beside it.
pub(crate) fn show(log: &Path, keys: &Path, out: &mut impl Write) -> Result<()> {
    let bytes = fs::read(log.join(SEGMENT)).with_context(|| format!("no {SEGMENT} in {}", log.display()))?;
    let tree = Tree::of(&parse(&bytes)?);
    writeln!(
        out,
        "\nWho ran what and what each touched, as it is sealed in {}:",
        log.display()
    )?;
    tree.show(out)?;
    ensure!(
        tree.len() > 1,
        "the log tells of {} programs: the demo runs two",
        tree.len()
    );

    writeln!(out, "\nThe log, verified with the host's keys:")?;
    let (code, said) = verify(log, keys, &[])?;
    out.write_all(said.as_bytes())?;
    ensure!(
        code == Some(0),
        "`rei verify` was to end with 0, but ended with {code:?}"
    );

    let copy = log.with_extension("changed");
    let place = copy_changed(log, &copy, &bytes)?;
    writeln!(
        out,
        "\nA copy, {}, in which one bit of byte {} differs, in line {}:",
        copy.display(),
        place.byte,
        place.line
    )?;
    let (code, said) = verify(&copy, keys, &[])?;
    out.write_all(said.as_bytes())?;
    ensure!(
        code == Some(1),
        "`rei verify` was to end with 1 (tampered), but ended with {code:?}"
    );
    let (_, report) = verify(&copy, keys, &["--json"])?;
    let report = serde_json::from_str(&report).context("`rei verify --json` gave no JSON")?;
    let found = place.found_by(&report)?;
    writeln!(out, "\nFound: {found}.")?;
    Ok(out.flush()?)
}

fn parse(segment: &[u8]) -> Result<Vec<Value>> {
    let text = std::str::from_utf8(segment).with_context(|| format!("{SEGMENT} is no text"))?;
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .with_context(|| format!("{SEGMENT} holds a line that is no JSON"))
}

/// Exit code and standard output of `rei verify`.
fn verify(log: &Path, keys: &Path, options: &[&str]) -> Result<(Option<i32>, String)> {
    let mut rei: Command = program(release_binary());
    rei.arg("verify").args(options).arg("--keys").arg(keys);
    rei.arg("--key").arg(keys.join("verification.key"));
    rei.arg("--pub").arg(keys.join("host.pub")).arg(log);
    let output = rei.output().context("cannot run `rei verify`")?;
    if !output.stderr.is_empty() {
        bail!("`rei verify`: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    ))
}

/// Which byte of the segment was changed.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    byte: usize,
    /// Its line, from 0.
    line: u64,
    /// Where the next line begins.
    next_line: usize,
}

impl Place {
    /// The last byte of the first name that the workload chose.
    fn in_segment(segment: &[u8]) -> Result<Self> {
        let at = segment.windows(NAME.len()).rposition(|bytes| bytes == NAME);
        let byte = at.context("the log does not name the file that the container read")? + NAME.len() - 1;
        let end = segment[byte..].iter().position(|byte| *byte == b'\n');
        Ok(Place {
            byte,
            line: segment[..byte].iter().map(|byte| u64::from(*byte == b'\n')).sum(),
            next_line: byte + end.context("the last line has no end")? + 1,
        })
    }

    /// The violation that is about this change: a name is still a name, so the chain breaks at the next line.
    fn found_by(&self, report: &Value) -> Result<String> {
        let violations = report["violations"]
            .as_array()
            .context("no violations in the report")?;
        let is_here = |found: &&Value| {
            found["code"] == "CHAIN"
                && found["seg"] == 0
                && found["seq"] == self.line + 1
                && found["byte"].as_u64() == u64::try_from(self.next_line).ok()
        };
        let found = violations.iter().find(is_here).with_context(|| {
            format!(
                "`rei verify` does not say that the chain breaks behind line {}: {report:#}",
                self.line
            )
        })?;
        Ok(format!(
            "the chain breaks at segment {}, line {}, byte {}: line {} is not the one that was sealed",
            found["seg"], found["seq"], found["byte"], self.line
        ))
    }
}

/// A copy of a log with one bit changed.
fn copy_changed(log: &Path, copy: &Path, segment: &[u8]) -> Result<Place> {
    if copy.exists() {
        fs::remove_dir_all(copy).with_context(|| format!("cannot remove {}", copy.display()))?;
    }
    fs::create_dir(copy).with_context(|| format!("cannot make {}", copy.display()))?;
    for entry in fs::read_dir(log).with_context(|| format!("cannot read {}", log.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", log.display()))?;
        if entry.file_name() != SEGMENT {
            let to = copy.join(entry.file_name());
            fs::copy(entry.path(), &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    let place = Place::in_segment(segment)?;
    let mut changed = segment.to_vec();
    changed[place.byte] ^= 1;
    let to = copy.join(SEGMENT);
    fs::write(&to, changed).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SEGMENT_TEXT: &[u8] = b"{\"a\":1}\n{\"b\":\"/data/input.txt\"}\n{\"c\":2}\n";

    #[test]
    fn one_bit_of_a_copy_differs() {
        let dir = tempfile::tempdir().unwrap();
        let (log, copy) = (dir.path().join("log"), dir.path().join("copy"));
        fs::create_dir(&log).unwrap();
        fs::write(log.join(SEGMENT), SEGMENT_TEXT).unwrap();
        fs::write(log.join("head"), "token").unwrap();
        let place = copy_changed(&log, &copy, SEGMENT_TEXT).unwrap();
        assert_eq!((place.line, place.next_line), (1, 32));
        let changed = fs::read(copy.join(SEGMENT)).unwrap();
        let differing: u32 = changed
            .iter()
            .zip(SEGMENT_TEXT)
            .map(|(a, b)| (a ^ b).count_ones())
            .sum();
        assert_eq!(differing, 1);
        assert_eq!(fs::read(log.join(SEGMENT)).unwrap(), SEGMENT_TEXT);
        assert_eq!(fs::read_to_string(copy.join("head")).unwrap(), "token");
    }

    #[test]
    fn a_violation_elsewhere_does_not_count() {
        let place = Place::in_segment(SEGMENT_TEXT).unwrap();
        let report = |seq: u64, byte: u64| json!({"violations": [{"code": "CHAIN", "seg": 0, "seq": seq, "byte": byte}]});
        assert!(
            place
                .found_by(&report(2, 32))
                .unwrap()
                .contains("line 2, byte 32")
        );
        assert!(place.found_by(&report(3, 32)).is_err());
        assert!(place.found_by(&report(2, 8)).is_err());
        assert!(place.found_by(&json!({"violations": []})).is_err());
    }

    #[test]
    fn a_log_without_the_name_is_refused() {
        assert!(Place::in_segment(b"{}\n").is_err());
    }
}
