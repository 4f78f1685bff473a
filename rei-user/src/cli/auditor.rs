//! The command line of a build without the feature `observe`: it reads evidence and makes none.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

pub use self::verify::{VERIFY_HELP, VerifyArgs};

mod verify;

/// Exit code when rei could not do its work.
pub const EXIT_FAILED: u8 = 2;
/// Exit code when something is bad.
pub const EXIT_FINDINGS: u8 = 1;
/// Exit code when something is incomplete.
pub const EXIT_INCOMPLETE: u8 = 3;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "rei",
    version,
    about = "The auditor's half of rei: checks sealed records, and records nothing.",
    max_term_width = 100
)]
pub struct Cli {
    /// Which command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check sealed logs, and say how far that reaches
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
}

impl Command {
    /// Exit code of this command when it could not do its work.
    #[must_use]
    pub fn failure_code(&self) -> u8 {
        match self {
            Command::Verify(_) => EXIT_FAILED,
        }
    }
}

/// Exit code for arguments that could not be understood.
#[must_use]
pub fn usage_failure_code(_: &[OsString]) -> u8 {
    EXIT_FAILED
}
