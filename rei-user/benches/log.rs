//! What evidence costs: fold, seal and append on one core, on a disk and in memory; and verifying beside raw SHA-256.
//!
//! Every line of stdout is one measurement. `write`, what is written, where, events, lines of the log, nanoseconds;
//! `read`, who reads, bytes, nanoseconds. Lines of one round follow each other; `cargo xtask bench` makes the tables.
//!
//! A log in memory is one on tmpfs: there `fdatasync` has nothing to do.

use std::fs;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use rei::fold::{Citations, Fold, KeepEvents, Settings};
use rei::format::event::{Act, Event};
use rei::format::{Decimal, Hex, split};
use rei::keys::derive::VerificationKey;
use rei::keys::host::HostKeys;
use rei::ledger::now;
use rei::log::facts::{Facts, Limits};
use rei::log::writer::Writer;
use rei::verify::{self, Key, Request, Verdict};

/// Events of one measurement.
const EVENTS: u64 = 20_000;
/// Different files where few are opened again and again.
const FEW: u64 = 100;
/// Measurements of each kind.
const ROUNDS: usize = 7;
/// Events between two looks at what is due: what a busy ring gives at once.
const PAUSE: u64 = 64;
/// Directories in memory and on a disk: cargo gives benchmarks one below its target directory.
const PLACES: [(&str, &str); 2] = [("memory", "/dev/shm"), ("disk", env!("CARGO_TARGET_TMPDIR"))];

/// What is written: its name, how many different files, which raw events are kept.
const WORK: [(&str, u64, KeepEvents); 3] = [
    ("the same 100 files", FEW, KeepEvents::None),
    ("a new file each time", u64::MAX, KeepEvents::None),
    ("the same 100 files, raw events kept", FEW, KeepEvents::All),
];

fn main() -> Result<()> {
    let mut out = io::stdout().lock();
    for round in 0..ROUNDS {
        for (what, files, keep_events) in WORK {
            let mut places = PLACES;
            if round % 2 == 1 {
                places.reverse();
            }
            for (place, parent) in places {
                let made = write(Path::new(parent), files, keep_events)?;
                let Made { lines, ns, .. } = made;
                writeln!(out, "write\t{what}\t{place}\t{EVENTS}\t{lines}\t{ns}")?;
                if keep_events == KeepEvents::All && place == "memory" {
                    for (who, bytes, ns) in read(&made)? {
                        writeln!(out, "read\t{who}\t{bytes}\t{ns}")?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// A log that was written, and how long that took.
struct Made {
    folder: TempDir,
    lines: u64,
    ns: u128,
}

impl Made {
    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

/// From the event to the durable line, as the recorder does it.
fn write(parent: &Path, files: u64, keep_events: KeepEvents) -> Result<Made> {
    let folder = tempfile::tempdir_in(parent).with_context(|| format!("no room in {}", parent.display()))?;
    let (keys, _) = HostKeys::create(&folder.path().join("keys"), "bench")?;
    let facts = Facts::of_this_process()?;
    let log = folder.path().join("log");
    let mut writer = Writer::create(&log, keys, facts, Limits::default(), now())?;
    let mut fold = Fold::new(Settings {
        policy: Hex([0; 32]),
        is_safe: true,
        keep_events,
    });
    let mut citations = Citations::new();
    let sample = sample()?;
    let started = Instant::now();
    for number in 0..EVENTS {
        fold.take_event(&numbered(&sample, number, number % files));
        if number % PAUSE == PAUSE - 1 {
            fold.tick(now().boot_ns);
            append(&mut fold, &mut writer, &mut citations)?;
            writer.tick(now())?;
        }
    }
    fold.end(now().boot_ns);
    append(&mut fold, &mut writer, &mut citations)?;
    let newest = writer.close(now())?;
    let ns = started.elapsed().as_nanos();
    Ok(Made {
        folder,
        lines: newest.size,
        ns,
    })
}

fn append(fold: &mut Fold, writer: &mut Writer, citations: &mut Citations) -> Result<()> {
    for item in fold.drain() {
        let role = item.role;
        let sequence = writer.append(now(), &citations.cite(item))?;
        citations.written(role, sequence);
    }
    Ok(())
}

/// An allowed open of a file of the image.
fn sample() -> Result<Event> {
    let event = json!({
        "kind": "open", "kseq": {"cpu": 0, "stream": 0, "n": "0"}, "at": "1", "scope": "7", "cgroup": "7",
        "process": {"pid": 4242, "start": "1000000"}, "tid": 4242, "ns_pid": 1, "uid": 0, "gid": 0, "comm": "python3",
        "program": "/usr/bin/python3.11", "phase": "workload", "hook": "sys_exit", "confidence": "kernel_object",
        "outcome": "ok", "flags": [], "cut": [], "unreadable": [],
        "act": {"open": {"path": "/", "access": ["read"], "lexical": false}},
        "file": {"origin": "image", "fs": "overlay", "dev": "0:53", "ino": "131072", "mode": "100644",
            "overlay": "lower", "flags": []},
        "verdict": {"trips": [], "ground": {"kind": "ambient", "name": "bundled"}, "decision": "no-objection"},
    });
    serde_json::from_value(event).context("the sample is no event")
}

fn numbered(sample: &Event, number: u64, file: u64) -> Event {
    let mut event = sample.clone();
    event.kseq.n = Decimal(number);
    event.at = Decimal(now().boot_ns);
    if let Act::Open(named) = &mut event.act {
        let path = format!("/usr/lib/python3.11/site-packages/module{file}.py");
        (named.path, named.path_b64) = split(path.as_bytes());
    }
    event
}

/// The same bytes, read by three: hashed alone, verified without a key, verified with every key.
fn read(made: &Made) -> Result<[(&'static str, u64, u128); 3]> {
    let log = made.log();
    let segment = log.join("seg-00000000000000000000.jsonl");
    let key = fs::read(made.folder.path().join("keys/verification.key"))?;
    let key = VerificationKey::read(&key).context("the bench's own key is no key")?;
    let bytes = fs::metadata(&segment)?.len();
    let started = Instant::now();
    black_box(Sha256::digest(fs::read(&segment)?));
    let hashed = started.elapsed().as_nanos();
    let verified = |request: &Request<'_>| -> Result<u128> {
        let started = Instant::now();
        let report = verify::verify(&log, request);
        let ns = started.elapsed().as_nanos();
        ensure!(
            report.verdict == Verdict::Ok,
            "the log does not verify: {:?}",
            report.why
        );
        Ok(ns)
    };
    let bare = verified(&Request::default())?;
    let keyed = verified(&Request {
        key: Some(Key::Series(&key)),
        ..Request::default()
    })?;
    Ok([
        ("SHA-256 alone", bytes, hashed),
        ("`rei verify`, no key", bytes, bare),
        ("`rei verify --key`", bytes, keyed),
    ])
}
