//! `rei verify`: are sealed logs as they were written, and who says that they are whole?

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::words::{log_in_words, series_in_words};
use crate::cli::{EXIT_FAILED, EXIT_FINDINGS, EXIT_INCOMPLETE, VerifyArgs};
use crate::keys::derive::VerificationKey;
use crate::keys::host::KEYS_DIRECTORY;
use crate::log::read::{LogDirectory, Secrecy, read_file};
use crate::verify::{
    Completeness, HostKey, HostState, Key, Report, Request, SeriesCheck, SeriesReport, Verdict, verify,
};

mod words;

/// Longest key file, in bytes.
const KEY_BYTES_MAX: usize = 1024;
/// Longest file of trusted checkpoints, in bytes.
const CHECKPOINT_BYTES_MAX: usize = 1 << 20;

/// What is printed for more than one log, or for a series.
#[derive(Serialize)]
struct Together<'a> {
    /// The worst of all.
    verdict: Verdict,
    logs: &'a [Report],
    series: Option<&'a SeriesReport>,
}

/// Verifies, prints, and gives the exit code.
pub(super) fn run(args: &VerifyArgs) -> Result<u8> {
    let held = Held::read(args)?;
    let directories = logs_of(&args.paths)?;
    if directories.len() > 1 && (held.trusted.is_some() || args.log_id.is_some()) {
        bail!(
            "--trusted-checkpoint and --log-id are of one log, and {} are given: give the directory of that log",
            directories.len()
        );
    }
    let keys = match &args.keys {
        Some(directory) => HostState::Expected(directory),
        None => HostState::IfThere(Path::new(KEYS_DIRECTORY)),
    };
    let request = Request {
        key: held.key.as_ref().map(Key::Series),
        host: held.host.as_ref(),
        trusted: held.trusted.as_deref(),
        log: args.log_id,
        keys,
    };
    let reports: Vec<Report> = directories
        .iter()
        .map(|directory| verify(directory, &request))
        .collect();
    let series = match &held.key {
        Some(key) if args.series => Some(whole_series(key, &reports, args.keys.as_deref())?),
        _ => None,
    };
    print(args, &reports, series.as_ref())?;
    Ok(exit_code(args, &reports, series.as_ref()))
}

/// What the auditor holds.
struct Held {
    key: Option<VerificationKey>,
    host: Option<HostKey>,
    trusted: Option<Vec<u8>>,
}

impl Held {
    fn read(args: &VerifyArgs) -> Result<Self> {
        let key = args.key.as_deref().map(|path| {
            let content = zeroize::Zeroizing::new(read_file(path, KEY_BYTES_MAX, Secrecy::Secret)?);
            VerificationKey::read(&content).with_context(|| {
                format!(
                    "{path:?} is no verification key: give the file verification.key that `rei keygen` made"
                )
            })
        });
        let host = args.public.as_deref().map(|path| {
            let content = read_file(path, KEY_BYTES_MAX, Secrecy::Public)?;
            HostKey::read(&content).with_context(|| {
                format!("{path:?} is no public log key: give the file host.pub that `rei keygen` made")
            })
        });
        let trusted = args
            .trusted_checkpoint
            .as_deref()
            .map(|path| read_file(path, CHECKPOINT_BYTES_MAX, Secrecy::Public));
        Ok(Held {
            key: key.transpose()?,
            host: host.transpose()?,
            trusted: trusted.transpose()?,
        })
    }
}

/// The logs that the paths mean: a log's own directory, or each log in a directory of logs.
fn logs_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for path in paths {
        if is_log(path) {
            logs.push(path.clone());
            continue;
        }
        let inside = fs::read_dir(path)
            .with_context(|| format!("cannot read {path:?}; give the directory of a log, or of several"))?;
        let mut found = Vec::new();
        for entry in inside {
            let entry = entry.with_context(|| format!("cannot list {path:?}"))?;
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && is_log(&entry.path()) {
                found.push(entry.path());
            }
        }
        if found.is_empty() {
            bail!("{path:?} holds no log (no seg-….jsonl), nor does a directory in it; give one that does");
        }
        found.sort();
        logs.append(&mut found);
    }
    Ok(logs)
}

/// One that cannot even be looked at is one: its report will say so.
fn is_log(path: &Path) -> bool {
    match LogDirectory::open(path) {
        Ok(directory) => directory.looks_like_a_log().unwrap_or(true),
        Err(_) => path.exists() && !path.is_dir(),
    }
}

fn whole_series(key: &VerificationKey, reports: &[Report], keys: Option<&Path>) -> Result<SeriesReport> {
    let mut check = SeriesCheck::new(key);
    reports.iter().for_each(|report| check.add(report));
    match keys {
        Some(keys) => {
            if !check.add_host(keys)? {
                bail!(
                    "{keys:?} holds no keys of series {}: give the directory of the host's own keys, or leave --keys out",
                    key.series
                );
            }
        }
        // Where the host is another one, or its keys are closed to the caller, nothing is added.
        None => {
            let _ = check.add_host(Path::new(KEYS_DIRECTORY));
        }
    }
    Ok(check.report())
}

fn print(args: &VerifyArgs, reports: &[Report], series: Option<&SeriesReport>) -> Result<()> {
    let mut text = match (args.json, reports, series) {
        (true, [report], None) => serde_json::to_string(report),
        (true, ..) => serde_json::to_string(&Together {
            verdict: worst(reports, series),
            logs: reports,
            series,
        }),
        (false, ..) => {
            let logs = reports.iter().map(log_in_words);
            let parts: Vec<String> = logs.chain(series.map(series_in_words)).collect();
            Ok(parts.join("\n"))
        }
    }
    .context("the report is no JSON")?;
    if args.json {
        text.push('\n');
    }
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .context("cannot write the report to stdout")
}

fn worst(reports: &[Report], series: Option<&SeriesReport>) -> Verdict {
    let verdicts = reports.iter().map(|report| report.verdict);
    let all = verdicts.chain(series.map(|series| series.verdict));
    all.max().unwrap_or(Verdict::Unverifiable)
}

fn exit_code(args: &VerifyArgs, reports: &[Report], series: Option<&SeriesReport>) -> u8 {
    let is_anchored = reports
        .iter()
        .all(|report| matches!(report.completeness, Completeness::Anchored { .. }));
    match worst(reports, series) {
        Verdict::Tampered => EXIT_FINDINGS,
        Verdict::Unverifiable => EXIT_FAILED,
        Verdict::Incomplete => EXIT_INCOMPLETE,
        Verdict::Ok if args.require_anchor && !is_anchored => EXIT_INCOMPLETE,
        Verdict::Ok => 0,
    }
}
