//! `rei policy`: checks a policy, or has it explain itself.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use anyhow::{Context, Result};

use super::explain;
use crate::cli::{EXIT_FINDINGS, PolicyCheckArgs, PolicyCommand};
use crate::policy::{Checked, LoadError, Policy};

/// Runs the subcommand.
pub(super) fn run(command: &PolicyCommand) -> Result<u8> {
    match command {
        PolicyCommand::Check(args) => check(args),
        PolicyCommand::Explain(args) => {
            let (text, code) = explain::explain(args)?;
            print(&text)?;
            Ok(code)
        }
    }
}

fn print(text: &str) -> Result<()> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

/// A wrong policy is the answer that was asked for: data, and exit code 1.
fn check(args: &PolicyCheckArgs) -> Result<u8> {
    let file = args.policy.display();
    match Policy::load(&args.policy) {
        Ok(Checked { policy, warnings }) => {
            let mut text = String::new();
            for warning in &warnings {
                let _ = writeln!(text, "{file}: warning: {warning}");
            }
            let _ = writeln!(
                text,
                "{file}: policy {} is right ({} warning(s)); mode {}, sha256 {}",
                policy.name,
                warnings.len(),
                policy.mode.name(),
                policy.digest()
            );
            print(&text)?;
            Ok(0)
        }
        Err(LoadError::Problems { problems, .. }) => {
            let mut text = String::new();
            for problem in &problems.0 {
                let _ = writeln!(text, "{file}: {problem}");
            }
            print(&text)?;
            Ok(EXIT_FINDINGS)
        }
        Err(error) => Err(error.into()),
    }
}
