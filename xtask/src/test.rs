//! `cargo xtask test`: every check and every test, each step within its budget.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::command::{cargo, program, run as run_command, run_lines};
use crate::object::Build;
use crate::plan::Purpose;
use crate::setup::{self, Ready};
use crate::steps::Step;
use crate::tally::{PYTHON, Tally};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only this step (and set-up, where the step needs it); may be given several times.
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
}

/// What is tested: everything but the eBPF crate, which is built by rei-user's build script. The same choice in
/// every step, so that cargo builds each crate once.
const HOST: [&str; 3] = ["--workspace", "--exclude", "rei-ebpf"];

/// What has happened so far.
#[derive(Default)]
struct Progress {
    ready: Option<Ready>,
    build_failed: bool,
    /// Tests that step `test` left out because they need root.
    left_out: Option<u64>,
    passed: u64,
    failed: u64,
    rows: Vec<String>,
}

/// Runs the steps and prints, as its last line, how many tests passed and failed.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let mut progress = Progress::default();
    for step in chosen(&options.only) {
        if step.needs_build() && progress.build_failed {
            progress
                .rows
                .push(format!("{:<15} not run: the build failed", step.name()));
            continue;
        }
        say(&format!("\n=== {}", step.name()))?;
        if !progress.take(step)? && step == Step::Setup {
            break;
        }
    }
    // Stops the engine, if it was started here, before the last lines are printed.
    drop(progress.ready.take());
    say("")?;
    for row in &progress.rows {
        say(row)?;
    }
    say(&format!("{} passed, {} failed", progress.passed, progress.failed))?;
    Ok(if progress.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The steps to be run, in their order.
fn chosen(only: &[Step]) -> Vec<Step> {
    let needs_setup = only.iter().any(|step| step.needs_setup());
    let wanted =
        |step: &Step| only.is_empty() || only.contains(step) || (needs_setup && *step == Step::Setup);
    Step::value_variants().iter().copied().filter(wanted).collect()
}

impl Progress {
    /// Runs one step; says whether it went well. A step that fails without a failed test counts as one failure, so
    /// that the last line never says `0 failed` when something has failed.
    fn take(&mut self, step: Step) -> Result<bool> {
        let started = Instant::now();
        let mut tally = Tally::default();
        let outcome = self.work(step, started + step.budget(), &mut tally);
        let took = started.elapsed();
        let counts = tally.total();
        self.passed += counts.passed;
        self.failed += counts.failed;
        if outcome.is_err() && counts.failed == 0 {
            self.failed += 1;
        }
        self.rows.push(row(step, took, &outcome));
        if let Err(error) = &outcome {
            say(&format!("xtask: {}: {error:#}", step.name()))?;
        }
        Ok(outcome.is_ok())
    }

    fn work(&mut self, step: Step, deadline: Instant, tally: &mut Tally) -> Result<()> {
        match step {
            Step::Setup => {
                self.ready = Some(setup::prepare(Purpose::Test, deadline)?);
                Ok(())
            }
            Step::Fmt => run_command(&mut cargo(&["fmt", "--all", "--check"]), deadline),
            Step::Clippy => {
                let mut command = cargo(&["clippy"]);
                command.args(HOST).args(["--all-targets", "--", "-D", "warnings"]);
                run_command(command.env("REI_EBPF_SKIP", "1"), deadline)?;
                // The auditor's half alone, as somebody builds it who records nothing.
                let mut command = cargo(&["clippy", "-p", "rei-user", "--no-default-features"]);
                run_command(command.args(["--", "-D", "warnings"]), deadline)
            }
            Step::ClippyEbpf => self.clippy_ebpf(deadline),
            Step::Doc => {
                let mut command = cargo(&["doc", "--no-deps"]);
                command.args(HOST).env("RUSTDOCFLAGS", "-D warnings");
                run_command(command.env("REI_EBPF_SKIP", "1"), deadline)
            }
            Step::Build => {
                let built = build(deadline);
                self.build_failed = built.is_err();
                built
            }
            Step::Test => {
                let mut command = cargo(&["test", "--release"]);
                run_tests(command.args(HOST).arg("--no-fail-fast"), deadline, tally)?;
                self.left_out = Some(tally.left_out());
                Ok(())
            }
            Step::SecondVerifier => second_verifier(deadline, tally),
            Step::Live => self.live(deadline, tally),
        }
    }

    fn clippy_ebpf(&self, deadline: Instant) -> Result<()> {
        let Some(ready) = &self.ready else {
            bail!("set-up has not run")
        };
        let mut command = cargo(&[&format!("+{}", ready.toolchain), "clippy", "-Z", "build-std=core"]);
        command.args([
            "--target",
            "bpfel-unknown-none",
            "--release",
            "-p",
            "rei-ebpf",
            "--",
            "-D",
            "warnings",
        ]);
        // What `-Z` needs on a toolchain that is no nightly.
        run_command(command.env("RUSTC_BOOTSTRAP", "1"), deadline)
    }

    /// The tests marked `ignore`, of every suite. All of them must run.
    fn live(&self, deadline: Instant, tally: &mut Tally) -> Result<()> {
        let mut command = cargo(&["test", "--release"]);
        command
            .args(HOST)
            .args(["--no-fail-fast", "--tests", "--", "--ignored", "--test-threads=1"]);
        run_tests(&mut command, deadline, tally)?;
        if tally.suite("live").executed() == 0 {
            bail!("no live test ran");
        }
        let executed = tally.total().executed();
        match self.left_out {
            Some(left_out) if left_out != executed => {
                bail!("step `test` left out {left_out} tests that need root, and {executed} ran here")
            }
            _ => Ok(()),
        }
    }
}

/// Builds everything that the next steps run, and proves that `rei` is no stub.
fn build(deadline: Instant) -> Result<()> {
    let mut build = Build::default();
    let mut command = cargo(&[
        "test",
        "--release",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    command
        .args(HOST)
        .env_remove("REI_EBPF_SKIP")
        .env_remove("AYA_BUILD_SKIP");
    run_lines(&mut command, deadline, |line| {
        if let Some(talk) = build.read(line) {
            eprintln!("{talk}");
        }
    })?;
    let binary = build.checked_binary()?;
    say(&format!(
        "{} holds the eBPF object that was built",
        binary.display()
    ))
}

/// The tests of `tests/verify.py`. All of them must run.
fn second_verifier(deadline: Instant, tally: &mut Tally) -> Result<()> {
    let mut command = program("python3");
    command.args(["-m", "unittest", "discover", "-s", "tests"]);
    let outcome = run_tests(&mut command, deadline, tally);
    let counts = tally.suite(PYTHON);
    outcome?;
    if counts.executed() == 0 {
        bail!("no test of the second verifier ran")
    }
    if counts.ignored > 0 {
        bail!("{} tests of the second verifier were skipped", counts.ignored)
    }
    Ok(())
}

/// Runs tests, shows what they print, and counts them.
fn run_tests(command: &mut std::process::Command, deadline: Instant, tally: &mut Tally) -> Result<()> {
    command.env_remove("REI_EBPF_SKIP").env_remove("AYA_BUILD_SKIP");
    let mut shown = Ok(());
    run_lines(command, deadline, |line| {
        tally.read(line);
        if shown.is_ok() {
            shown = say(line);
        }
    })?;
    shown
}

fn row(step: Step, took: Duration, outcome: &Result<()>) -> String {
    let word = if outcome.is_ok() { "ok" } else { "FAILED" };
    let seconds = took.as_secs();
    let name = step.name();
    format!(
        "{name:<15} {:>3}:{:02} of {:>2} min  {word}",
        seconds / 60,
        seconds % 60,
        step.budget_minutes()
    )
}

fn say(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_every_step_runs_in_order() {
        assert_eq!(chosen(&[]), Step::value_variants());
    }

    #[test]
    fn set_up_runs_only_for_steps_that_need_it() {
        assert_eq!(chosen(&[Step::Doc, Step::Fmt]), [Step::Fmt, Step::Doc]);
        assert_eq!(chosen(&[Step::Live]), [Step::Setup, Step::Live]);
    }

    #[test]
    fn a_row_shows_time_and_budget() {
        assert_eq!(
            row(Step::Fmt, Duration::from_secs(63), &Ok(())),
            "fmt               1:03 of  1 min  ok"
        );
        let failed = row(Step::Live, Duration::from_secs(5), &Err(anyhow::anyhow!("no")));
        assert!(failed.ends_with("FAILED"), "{failed}");
    }
}
