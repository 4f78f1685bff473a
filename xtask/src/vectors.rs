//! `cargo xtask vectors`: adds the vectors that are missing in tests/vectors, and fails if one that is there would change.
//!
//! The test that compares them makes them, too: there is one description of each.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::command::{cargo, run as run_command};

/// Building the test is most of it.
const BUDGET: Duration = Duration::from_secs(20 * 60);

/// Adds what is missing.
pub(crate) fn run() -> Result<ExitCode> {
    let mut command = cargo(&[
        "test",
        "-p",
        "rei-user",
        "--no-default-features",
        "--test",
        "tamper",
    ]);
    command
        .args(["the_vectors_in_the_tree_are_these", "--", "--nocapture"])
        .env("REI_VECTORS_ADD", "1");
    run_command(&mut command, Instant::now() + BUDGET).context(
        "a vector would change: nothing that is there was touched; the test says which one and what to do",
    )?;
    Ok(ExitCode::SUCCESS)
}
