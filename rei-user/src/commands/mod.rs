//! One file per subcommand: wires rooms, prints. What they share: `observation` and `signals`.

use std::fmt;
use std::future::pending;
use std::io::{self, Write};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep_until};

use crate::cli::Command;

mod account;
mod attach;
mod container;
mod doctor;
mod explain;
mod gate;
mod judging;
mod keygen;
mod log;
mod observation;
mod plain;
mod policy;
mod recording;
mod run;
mod signals;
mod stage;
mod target;
mod terminal;
mod verify;

/// Runs a command and gives its exit code.
///
/// # Errors
/// If the command could not do its work; [`Command::failure_code`] is the exit code then.
pub fn run_command(command: Command) -> Result<u8> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Attach(args) => attach::run(args),
        Command::Gate(args) => gate::run(args),
        Command::Policy(args) => policy::run(&args.command),
        Command::Keygen(args) => keygen::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Stage(args) => Ok(stage::run(&args)),
    }
}

/// One line to the person at the terminal. A closed stderr leaves nobody to tell.
fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "rei: {line}");
}

/// One thread is enough: the reader copies bytes, everything else waits.
fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the system gives no event loop")
}

/// Resolves at that time; never, if there is none.
async fn reached(end: Option<Instant>) {
    match end {
        Some(end) => sleep_until(end).await,
        None => pending().await,
    }
}
