//! Proof that a built `rei` holds its eBPF object and not the stub that a build without toolchain leaves.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What cargo told of the build, as far as it is about `rei`.
#[derive(Debug, Default)]
pub(crate) struct Build {
    /// What `rei-user/build.rs` says it made.
    state: Option<String>,
    /// Where it left the object.
    out_dir: Option<PathBuf>,
    /// The program.
    binary: Option<PathBuf>,
}

impl Build {
    /// Takes in one line of cargo's output; gives back what is no message, for the person to read.
    pub(crate) fn read<'line>(&mut self, line: &'line str) -> Option<&'line str> {
        let Some(message) = line
            .strip_prefix('{')
            .and_then(|_| serde_json::from_str::<Value>(line).ok())
        else {
            return Some(line);
        };
        match message["reason"].as_str() {
            Some("build-script-executed") => self.read_build_script(&message),
            Some("compiler-artifact") => self.read_artifact(&message),
            _ => {}
        }
        None
    }

    fn read_build_script(&mut self, message: &Value) {
        let variables = message["env"].as_array().into_iter().flatten();
        let mut state = variables
            .filter(|pair| pair[0] == "REI_EBPF_STATE")
            .filter_map(|pair| pair[1].as_str());
        if let Some(state) = state.next() {
            self.state = Some(state.to_owned());
            self.out_dir = message["out_dir"].as_str().map(PathBuf::from);
        }
    }

    fn read_artifact(&mut self, message: &Value) {
        let is_program = message["target"]["name"] == "rei"
            && message["target"]["kind"][0] == "bin"
            && message["profile"]["test"] == false;
        if is_program {
            self.binary = message["executable"].as_str().map(PathBuf::from);
        }
    }

    /// The program, after it was seen to hold the object that was built.
    pub(crate) fn checked_binary(&self) -> Result<PathBuf> {
        let binary = self.binary.clone().context("cargo named no program `rei`")?;
        match self.state.as_deref() {
            Some("built") => {}
            Some(state) => bail!(
                "{} has no eBPF object ({state}); run `cargo xtask setup`",
                binary.display()
            ),
            None => bail!("rei-user/build.rs did not say whether it built the eBPF object"),
        }
        let object = self
            .out_dir
            .as_ref()
            .context("cargo named no OUT_DIR")?
            .join("rei-ebpf");
        let bytes = fs::read(&object).with_context(|| format!("cannot read {}", object.display()))?;
        let program = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
        if bytes.is_empty() {
            bail!("the eBPF object {} is empty", object.display());
        }
        if !contains(&program, &bytes) {
            bail!(
                "{} does not hold the eBPF object {}",
                binary.display(),
                object.display()
            );
        }
        Ok(binary)
    }
}

/// Whether `part` stands in `whole`.
fn contains(whole: &[u8], part: &[u8]) -> bool {
    let Some((first, _)) = part.split_first() else {
        return true;
    };
    let starts = whole.iter().enumerate().filter(|(_, byte)| *byte == first);
    starts.map(|(at, _)| at).any(|at| whole[at..].starts_with(part))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A build as cargo would tell it, with these bytes in the program and in the object.
    fn build(dir: &Path, state: &str, program: &[u8], object: &[u8]) -> Build {
        fs::write(dir.join("rei"), program).unwrap();
        fs::write(dir.join("rei-ebpf"), object).unwrap();
        let script = serde_json::json!({
            "reason": "build-script-executed", "env": [["OTHER", "x"], ["REI_EBPF_STATE", state]], "out_dir": dir,
        });
        let artifact = |test: bool, file: &str| {
            serde_json::json!({
                "reason": "compiler-artifact", "target": {"name": "rei", "kind": ["bin"]},
                "profile": {"test": test}, "executable": dir.join(file),
            })
        };
        let mut build = Build::default();
        for message in [script, artifact(false, "rei"), artifact(true, "unit-tests")] {
            assert_eq!(build.read(&message.to_string()), None);
        }
        build
    }

    #[test]
    fn a_program_with_its_object_passes() {
        let dir = tempfile::tempdir().unwrap();
        let build = build(dir.path(), "built", b"..OBJECT..", b"OBJECT");
        assert_eq!(build.checked_binary().unwrap(), dir.path().join("rei"));
    }

    #[test]
    fn a_stub_fails_with_its_reason() {
        let dir = tempfile::tempdir().unwrap();
        let build = build(dir.path(), "stub: bpf-linker not found in PATH", b"..", b"");
        let error = build.checked_binary().unwrap_err().to_string();
        assert!(
            error.contains("bpf-linker not found") && error.contains("xtask setup"),
            "{error}"
        );
    }

    #[test]
    fn a_program_with_another_object_fails() {
        let dir = tempfile::tempdir().unwrap();
        assert!(
            build(dir.path(), "built", b"..OLD..", b"NEW")
                .checked_binary()
                .is_err()
        );
        assert!(build(dir.path(), "built", b"....", b"").checked_binary().is_err());
        assert!(Build::default().checked_binary().is_err());
    }

    #[test]
    fn what_is_no_message_is_given_back() {
        assert_eq!(
            Build::default().read("   Compiling rei"),
            Some("   Compiling rei")
        );
        assert_eq!(Build::default().read("{ not json"), Some("{ not json"));
    }
}
