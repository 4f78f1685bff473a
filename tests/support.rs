//! What the black-box tests share: the binary under test, and a look at how it ended.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

/// The binary under test, with nothing of the caller's environment that could change its answers.
pub(crate) fn rei() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rei"));
    for name in ["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "REI_DEBUG"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// How a command ended and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its data.
    pub(crate) stdout: String,
    /// Its talk.
    pub(crate) stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn end(command: &mut Command) -> Ended {
    command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
        .into()
}

/// Runs `rei` with these words.
pub(crate) fn run<W: AsRef<OsStr>>(words: &[W]) -> Ended {
    end(rei().args(words))
}
