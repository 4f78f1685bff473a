//! Nothing is lost quietly: what was not recorded was counted, and what was not lost is not declared.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::docker::{Container, Image};
use crate::host::Host;
use crate::record::Records;
use crate::rei::Rei;

/// Containers that live for less than 50 ms.
const SHORT_LIVES: usize = 100;
/// So many of them at a time.
const LANES: usize = 4;
/// Opens of a run that overflows a ring of 64 KiB many times.
const OPENS: u64 = 5000;

/// Opens `/data/one` (or the plain file given as `$0`) that often without starting another process.
fn loop_of(opens: u64) -> String {
    format!("i=0; while [ $i -lt {opens} ]; do : < $0; i=$((i+1)); done")
}

/// Keeps every CPU busy while it lives.
struct Stress {
    stop: std::sync::Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Stress {
    fn start() -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let spin = |stop: std::sync::Arc<AtomicBool>| {
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..cpus).map(|_| spin(stop.clone())).collect();
        Self { stop, threads }
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
#[ignore = "root"]
fn short_lives_under_stress() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let started = Instant::now();
    let stress = Stress::start();
    let mut recorded = 0;
    let mut lifetimes = Vec::new();
    for _ in 0..SHORT_LIVES / LANES {
        let mut lanes = Vec::new();
        for _ in 0..LANES {
            let container = Container::named("short");
            let words = image.run(container.name(), &[], &["cat", "/data/one"]);
            lanes.push((Rei::run(&["--allow-incomplete"], &words)?.start()?, container));
        }
        for (rei, _container) in lanes {
            let done = rei.wait()?;
            let records = done.records()?;
            lifetimes.push(lifetime_ms(&records));
            match records.opens_of("/data/one").count() {
                1 => recorded += 1,
                0 => ensure!(
                    records.lost("open") > 0,
                    "neither recorded nor counted as lost: {}",
                    done.story()
                ),
                more => anyhow::bail!("opened once, recorded {more} times: {}", done.story()),
            }
        }
    }
    drop(stress);
    lifetimes.sort_unstable();
    let median = lifetimes[lifetimes.len() / 2];
    eprintln!(
        "{recorded} of {SHORT_LIVES} recorded in {:?}; median lifetime {median} ms",
        started.elapsed()
    );
    ensure!(
        recorded >= SHORT_LIVES - 1,
        "{recorded} of {SHORT_LIVES} recorded"
    );
    ensure!(
        median < 50,
        "the containers lived for {median} ms: this test is about short lives"
    );
    host.check_nothing_left()
}

/// From the entrypoint's exec to the last exit.
fn lifetime_ms(records: &Records) -> u64 {
    let born = records
        .workload("exec")
        .map(|exec| exec.number("boot_ns"))
        .min()
        .unwrap_or(0);
    let died = records
        .workload("exit")
        .map(|exit| exit.number("boot_ns"))
        .max()
        .unwrap_or(u64::MAX);
    died.saturating_sub(born) / 1_000_000
}

#[test]
#[ignore = "root"]
fn a_stopped_reader_loses_by_the_count() -> Result<()> {
    let host = Host::take()?;
    let script = loop_of(OPENS);
    let command = ["/bin/busybox", "sh", "-c", &script, "/etc/passwd"].map(str::to_owned);

    // The same command with room enough says how many opens there are in all, the program's own included.
    let calm = Rei::run(&[], &command)?.finish()?.whole(0)?;
    ensure!(
        calm.opens_of("/etc/passwd").count() as u64 == OPENS,
        "{}",
        calm.opens_of("/etc/passwd").count()
    );
    ensure!(
        calm.end()["lost"] == 0 && calm.end()["completeness"] == "complete",
        "{}",
        calm.completeness()
    );
    let generated = calm.acts("open").count() as u64;

    let tight = Rei::run(&["--ring-bytes", "65536", "--stall-reader", "2000"], &command)?.finish()?;
    ensure!(
        tight.status.code() == Some(103),
        "an incomplete record must say so: {}",
        tight.story()
    );
    let records = tight.records()?;
    let (recorded, lost) = (records.acts("open").count() as u64, records.lost("open"));
    eprintln!("{generated} opens: {recorded} recorded, {lost} lost");
    ensure!(lost > 0, "a ring of 64 KiB cannot hold {OPENS} opens");
    ensure!(
        recorded + lost == generated,
        "{recorded} recorded + {lost} lost, but {generated} generated"
    );
    ensure!(
        records.end()["lost"] == records.lost_at_all(),
        "{}",
        records.end()
    );
    ensure!(
        records.end()["completeness"] == "incomplete",
        "{}",
        records.completeness()
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_stopped_reader_loses_by_the_count_in_a_container() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("tight");
    let script = loop_of(OPENS);
    let words = image.run(container.name(), &[], &["sh", "-c", &script, "/data/one"]);
    // The stall begins before the container does: the runtime's own acts are among the lost.
    let done = Rei::run(&["--ring-bytes", "65536", "--stall-reader", "4000"], &words)?.finish()?;
    let records = done.records()?;
    let (recorded, lost) = (records.opens_of("/data/one").count() as u64, records.lost("open"));
    eprintln!("{OPENS} opens of the file: {recorded} recorded, {lost} opens lost");
    ensure!(
        recorded < OPENS && recorded + lost >= OPENS,
        "{recorded} recorded + {lost} lost: {}",
        done.story()
    );
    ensure!(
        lost - (OPENS - recorded) < 200,
        "{lost} declared lost, but only {} are missing",
        OPENS - recorded
    );
    host.check_nothing_left()
}
