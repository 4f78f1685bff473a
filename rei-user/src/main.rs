//! `rei`: parse, run, exit code.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use rei::cli::{self, Cli};
use rei::commands;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() {
                cli::usage_failure_code(&arguments)
            } else {
                0
            };
            // A closed stream leaves nobody to tell.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let filter = EnvFilter::try_from_env("REI_DEBUG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .init();
    let failure_code = cli.command.failure_code();
    match commands::run_command(cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "rei: {error:#}");
            ExitCode::from(failure_code)
        }
    }
}
