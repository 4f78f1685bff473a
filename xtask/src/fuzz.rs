//! `cargo xtask fuzz`: the fuzz targets of tests/fuzz.rs, for minutes and with a new seed.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{cargo, run as run_command};

/// Building comes first.
const BUILD: Duration = Duration::from_secs(20 * 60);
/// Targets run one after the other, so that each has the time that was asked for: line, texts, log, series.
const TARGETS: u64 = 4;

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct Options {
    /// Minutes for each target
    #[arg(long, value_name = "N", default_value_t = 10)]
    minutes: u64,
    /// Repeat the inputs of this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Runs every target.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = options.seed.unwrap_or(now.map_or(1, |now| now.as_secs()));
    let seconds = 60 * options.minutes;
    let mut command = cargo(&[
        "test",
        "--release",
        "-p",
        "rei-user",
        "--no-default-features",
        "--test",
        "fuzz",
    ]);
    command
        .args(["--", "--nocapture", "--test-threads=1"])
        .env("REI_FUZZ_SECONDS", seconds.to_string())
        .env("REI_FUZZ_SEED", seed.to_string());
    let limit = BUILD + Duration::from_secs(TARGETS * (seconds + 60));
    run_command(&mut command, Instant::now() + limit)
        .with_context(|| format!("a target failed; `cargo xtask fuzz --seed {seed}` repeats it"))?;
    Ok(ExitCode::SUCCESS)
}
