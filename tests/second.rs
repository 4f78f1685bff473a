//! The second verifier, `tests/verify.py`: what it says of a log, to be held against `rei verify`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What two verifiers have to agree about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    verdict: String,
    completeness: String,
    codes: BTreeSet<String>,
}

impl Answer {
    /// The answer of a report on one log, of either verifier.
    pub(crate) fn of(report: &Value) -> Self {
        let word = |value: &Value| {
            let word = value.as_str();
            word.unwrap_or_else(|| panic!("no word where one belongs: {report:#}"))
                .to_owned()
        };
        let violations = report["violations"].as_array().expect("a list of violations");
        Answer {
            verdict: word(&report["verdict"]),
            completeness: word(&report["completeness"]),
            codes: violations
                .iter()
                .map(|found| class(&word(&found["code"])).to_owned())
                .collect(),
        }
    }
}

/// What a line that is not spelled right is called depends on where a reader notices it first.
fn class(code: &str) -> &str {
    match code {
        "NONCANON" | "DUPKEY" => "PARSE",
        other => other,
    }
}

/// What the second verifier says. It must be able to run, and must say the same by its exit code.
pub(crate) fn second_report<W: AsRef<OsStr>>(words: &[W]) -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/verify.py");
    let output = Command::new("python3")
        .arg(program)
        .arg("--json")
        .args(words)
        .output()
        .unwrap_or_else(|error| panic!("cannot run python3 ({error}): `cargo xtask setup` installs it"));
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("verify.py gave no report ({error}): {output:?}"));
    let code = match report["verdict"].as_str() {
        Some("ok") => 0,
        Some("tampered") => 1,
        Some("unverifiable") => 2,
        Some("incomplete") => 3,
        other => panic!("verify.py says {other:?}"),
    };
    assert_eq!(output.status.code(), Some(code), "{report:#}");
    report
}
