//! `cargo xtask bench`: what rei costs a container that it observes, and one that it does not; what rules cost;
//! and what evidence costs.
//!
//! Situations are interleaved in every round, and a result is the median over rounds of the ratio *within* a round:
//! what the machine does besides hits all situations alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::account::Account;
use crate::command::{run as run_command, work_dir};
use crate::demo::{release_binary, release_build};
use crate::evidence;
use crate::image;
use crate::plan::Purpose;
use crate::rules;
use crate::setup;
use crate::table::{self, Round, Table};
use crate::workload::{Done, Job, Workload};

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// Rounds; the table shows medians over them.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print the tables, and leave docs/performance.md as it is.
    #[arg(long)]
    dry_run: bool,
    /// Measure only what rules cost; needs no root and no container.
    #[arg(long)]
    rules_only: bool,
    /// Measure only what evidence costs; needs no root and no container.
    #[arg(long, conflicts_with = "rules_only")]
    log_only: bool,
}

/// Mode and operations per thread: about 50 to 300 ms each when nothing observes.
const MODES: [(&str, u32); 7] = [
    ("null", 2_000_000),
    ("open", 40_000),
    ("open-uniq", 40_000),
    ("open-fail", 40_000),
    ("connect", 20_000),
    ("exec", 500),
    ("mix", 80),
];
/// A preparation and a benchmark that take longer than this hang.
const BUDGET: Duration = Duration::from_secs(60 * 60);
/// The record has been written when it has not grown for this long.
const QUIET: Duration = Duration::from_millis(300);
/// How long the record may go on growing after the workload has stopped.
const DRAIN: Duration = Duration::from_secs(60);

/// Every job, in order.
pub(crate) fn jobs() -> impl Iterator<Item = Job> {
    let of = |(mode, operations)| {
        [1, 2].map(|threads| Job {
            mode,
            operations,
            threads,
        })
    };
    MODES.into_iter().flat_map(of)
}

/// Prepares, measures, writes the table.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let deadline = Instant::now() + BUDGET;
    if options.rules_only {
        rules::run(options.dry_run)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.log_only {
        evidence::run(options.dry_run)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !rustix::process::geteuid().is_root() {
        bail!("rei loads eBPF programs, which needs root: run `cargo xtask bench` as root");
    }
    let ready = setup::prepare(Purpose::Bench, deadline)?;
    run_command(&mut release_build(), deadline)?;
    image::bench(deadline)?;
    let mut rounds = Vec::new();
    let mut account = Account::default();
    for number in 0..options.rounds {
        eprintln!("xtask: round {} of {}", number + 1, options.rounds);
        rounds.push(round(number, &mut account)?);
    }
    let text = table::text(&rounds, &account);
    if options.dry_run {
        table::print(&text)?;
    } else {
        table::write(Table::Bench, &text)?;
    }
    drop(ready);
    if !account.is_balanced() {
        bail!("some events were neither reported nor declared lost; see the table");
    }
    rules::run(options.dry_run)?;
    evidence::run(options.dry_run)?;
    Ok(ExitCode::SUCCESS)
}

/// One round: all jobs without rei, and all with it; every second round the other way round.
fn round(number: u32, account: &mut Account) -> Result<Round> {
    let mut round = Round::default();
    // This container lives through the whole round: only rei comes and goes.
    let mut bystander = Workload::start("rei-bench-bystander", None)?;
    warm_up(&mut bystander, |_| {})?;
    if number.is_multiple_of(2) {
        round.alone = alone(&mut bystander)?;
        with_rei(&mut bystander, &mut round, account)?;
    } else {
        with_rei(&mut bystander, &mut round, account)?;
        round.alone = alone(&mut bystander)?;
    }
    bystander.end()?;
    Ok(round)
}

/// The first run of a mode fills caches.
fn warm_up(workload: &mut Workload, mut take: impl FnMut(Done)) -> Result<()> {
    for job in jobs() {
        let operations = job.operations / 20 + 1;
        take(workload.run(Job { operations, ..job })?);
    }
    Ok(())
}

fn alone(workload: &mut Workload) -> Result<BTreeMap<Job, Done>> {
    jobs().map(|job| Ok((job, workload.run(job)?))).collect()
}

/// rei observes a container of its own; each job runs in that one and in the one that it does not observe.
fn with_rei(bystander: &mut Workload, round: &mut Round, account: &mut Account) -> Result<()> {
    let record = record_file()?;
    let rei = release_binary();
    let mut observed = Workload::start("rei-bench-observed", Some((&rei, &record)))?;
    warm_up(&mut observed, |done| account.add_done(done))?;
    wait_until_written(&record)?;
    for (index, job) in jobs().enumerate() {
        for turn in 0..2 {
            if (index + turn).is_multiple_of(2) {
                let done = observed.run(job)?;
                account.add_done(done);
                round.observed.insert(job, done);
                wait_until_written(&record)?;
            } else {
                round.unobserved.insert(job, bystander.run(job)?);
            }
        }
    }
    observed.end()?;
    account.read_record(&record)?;
    fs::remove_file(&record).with_context(|| format!("cannot remove {}", record.display()))
}

fn record_file() -> Result<PathBuf> {
    let dir = work_dir()?.join("bench");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let record = dir.join("events.jsonl");
    if record.exists() {
        fs::remove_file(&record).with_context(|| format!("cannot remove {}", record.display()))?;
    }
    Ok(record)
}

/// Waits until rei has caught up, so that its work for one job is not charged to the next one.
fn wait_until_written(record: &Path) -> Result<()> {
    let len = || {
        fs::metadata(record)
            .map(|meta| meta.len())
            .with_context(|| format!("no {}", record.display()))
    };
    let started = Instant::now();
    let (mut last, mut since) = (len()?, Instant::now());
    while since.elapsed() < QUIET {
        if started.elapsed() > DRAIN {
            bail!(
                "{} still grows {} s after the workload stopped",
                record.display(),
                DRAIN.as_secs()
            );
        }
        thread::sleep(Duration::from_millis(20));
        let now = len()?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(())
}
