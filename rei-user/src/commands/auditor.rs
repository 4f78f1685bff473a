//! The commands of a build without the feature `observe`.

use anyhow::Result;

use crate::cli::Command;

mod verify;

/// Runs a command and gives its exit code.
///
/// # Errors
/// If the command could not do its work; [`Command::failure_code`] is the exit code then.
pub fn run_command(command: Command) -> Result<u8> {
    match command {
        Command::Verify(args) => verify::run(&args),
    }
}
