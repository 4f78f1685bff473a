//! `rei run`: decides what kind of command it is, and prepares what must be there before anything starts.

use std::process::ExitStatus;

use std::os::unix::process::ExitStatusExt;

use anyhow::{Result, bail};

use super::observation::Ending;
use super::signals::Farewell;
use super::{container, plain, runtime};
use crate::cli::{EXIT_RUN_FAILED, EXIT_RUN_INCOMPLETE, RecordingArgs, RunArgs};
use crate::engine::docker_command::{self, DockerRun};
use crate::output::Output;
use crate::report::CommandExit;

/// Runs the command and gives its exit code, or rei's own.
pub(super) fn run(args: RunArgs) -> Result<u8> {
    if docker_command::is_podman_run(&args.command) {
        bail!("podman is not supported yet; use docker, or run a plain command");
    }
    let docker_run = DockerRun::parse(&args.command);
    let docker = docker_run.as_ref().map(container::find_engine).transpose()?;
    let output = args.output.as_deref().map(Output::to_file).transpose()?;
    runtime()?.block_on(async {
        match docker_run.zip(docker) {
            Some((docker_run, docker)) => container::run(&args, &docker_run, docker, output).await,
            None => plain::run(&args, output).await,
        }
    })
}

/// How a run ends whose command ended like this; `None`: rei stopped observing before.
pub(super) fn ending(status: Option<CommandExit>, farewell: &Farewell, args: &RecordingArgs) -> Ending {
    let stopped_by = farewell
        .first()
        .map_or(EXIT_RUN_FAILED, |caught| caught.exit_code());
    let exit_code = status.as_ref().map_or(stopped_by, exit_code);
    Ending {
        command_exit: status,
        exit_code,
        exit_incomplete: if args.allow_incomplete {
            exit_code
        } else {
            EXIT_RUN_INCOMPLETE
        },
        exit_failed: EXIT_RUN_FAILED,
        expects_scope: true,
        reasons: Vec::new(),
    }
}

/// How a child process ended.
pub(super) fn command_exit(status: ExitStatus) -> CommandExit {
    match status.signal() {
        Some(signal) => CommandExit::Signal(signal),
        None => CommandExit::Code(i64::from(status.code().unwrap_or_default())),
    }
}

/// The exit code that a shell would give.
fn exit_code(exit: &CommandExit) -> u8 {
    let code = match exit {
        CommandExit::Code(code) => *code,
        CommandExit::Signal(signal) => 128 + i64::from(*signal),
    };
    code.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(&command_exit(ExitStatus::from_raw(3 << 8))), 3);
        assert_eq!(exit_code(&command_exit(ExitStatus::from_raw(9))), 137);
        assert_eq!(exit_code(&CommandExit::Code(255)), 255);
    }
}
