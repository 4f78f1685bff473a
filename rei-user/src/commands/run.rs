//! `rei run`: decides what kind of command it is, and prepares what must be there before anything starts.

use anyhow::{Result, bail};

use super::account::Ending;
use super::signals::{Caught, Farewell};
use super::{container, judging, plain, runtime};
use crate::cli::{EXIT_RUN_FAILED, EXIT_RUN_FINDINGS, EXIT_RUN_INCOMPLETE, RecordingArgs, RunArgs};
use crate::engine::docker_command::{self, DockerRun};
use crate::enrich::Target;
use crate::output::Output;
use crate::report::{CommandExit, ExitCodes, Reason};

/// Runs the command and gives its exit code, or rei's own.
pub(super) fn run(args: RunArgs) -> Result<u8> {
    if docker_command::is_podman_run(&args.command) {
        bail!("podman is not supported yet; use docker, or run a plain command");
    }
    let docker_run = DockerRun::parse(&args.command);
    let target = if docker_run.is_some() {
        Target::Container
    } else {
        Target::Plain
    };
    let policy = judging::policy(&args.recording.policy, target)?;
    let docker = docker_run.as_ref().map(container::find_engine).transpose()?;
    let output = args.output.as_deref().map(Output::to_file).transpose()?;
    runtime()?.block_on(async {
        match docker_run.zip(docker) {
            Some((docker_run, docker)) => container::run(&args, &docker_run, docker, policy, output).await,
            None => plain::run(&args, policy, output).await,
        }
    })
}

/// How a run ends whose command ended like this; `None`: rei stopped observing before.
pub(super) fn ending(command: Option<CommandExit>, farewell: &Farewell, args: &RecordingArgs) -> Ending {
    let stopped_by = farewell.first().map_or(EXIT_RUN_FAILED, Caught::exit_code);
    let complete = command.map_or(stopped_by, exit_code);
    let incomplete = if args.allow_incomplete {
        complete
    } else {
        EXIT_RUN_INCOMPLETE
    };
    Ending {
        command,
        exit_codes: ExitCodes {
            findings: EXIT_RUN_FINDINGS,
            complete,
            incomplete,
        },
        exit_failed: EXIT_RUN_FAILED,
        expects_scope: true,
        expects_entrypoint: command.is_some_and(has_begun),
        counts_processes: command.is_some(),
        reasons: if command.is_some() {
            Vec::new()
        } else {
            vec![Reason::EndedEarly]
        },
    }
}

/// Whether a command that ended like this was executed. Its own code may be one of those that say it was not.
fn has_begun(exit: CommandExit) -> bool {
    !matches!(exit, CommandExit::Code(125..=127))
}

/// The exit code that a shell would give.
fn exit_code(exit: CommandExit) -> u8 {
    let code = match exit {
        CommandExit::Code(code) => code,
        CommandExit::Signal(signal) => 128 + signal,
    };
    code.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(exit_code(CommandExit::Code(3)), 3);
        assert_eq!(exit_code(CommandExit::Signal(9)), 137);
        assert_eq!(exit_code(CommandExit::Code(255)), 255);
    }
}
