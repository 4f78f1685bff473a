//! Set-up, demo, tests and benchmarks of rei.

mod account;
mod bench;
mod command;
mod demo;
mod engine;
mod evidence;
mod fuzz;
mod host;
mod image;
mod object;
mod plan;
mod rules;
mod setup;
mod steps;
mod table;
mod tally;
mod tampering;
mod test;
mod tree;
mod vectors;
mod workload;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::plan::Purpose;

/// How long set-up alone may take: on a slow line, packages are most of it.
const SETUP: Duration = Duration::from_secs(30 * 60);

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, tests and benchmarks of rei")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Make the eBPF toolchain and a Docker engine ready.
    Setup,
    /// Observe a small container, print what rei saw of it, and change a byte of the evidence.
    Demo,
    /// Run every check and every test.
    Test(test::Options),
    /// Add the vectors that are missing in tests/vectors.
    Vectors,
    /// Give the readers of evidence mutated bytes.
    Fuzz(fuzz::Options),
    /// Measure what rei costs and write the table of docs/performance.md.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Setup => prepare(),
        Task::Demo => demo::run(),
        Task::Test(options) => test::run(&options),
        Task::Vectors => vectors::run(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Bench(options) => bench::run(&options),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Installs what is missing and proves that the engine starts.
fn prepare() -> Result<ExitCode> {
    let ready = setup::prepare(Purpose::Test, Instant::now() + SETUP)?;
    if ready.engine.is_ours() {
        eprintln!("xtask: demo, test and bench start the engine again; for your own use, start `dockerd`");
    }
    Ok(ExitCode::SUCCESS)
}
