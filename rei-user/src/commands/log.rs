//! The log of a recording: where it goes and which keys seal it, and what is said of it at the end.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::keygen;
use crate::attach::SensorState;
use crate::cli::{KeysArgs, RecordingArgs};
use crate::fold::{self, Settings};
use crate::format::{self, Body, Hex};
use crate::found::FoundProgram;
use crate::keys::host::{HOST_PUBLIC_FILE, HostKeys, default_origin};
use crate::keys::id::LogId;
use crate::keys::locked::guard_process;
use crate::ledger::{Closed, Ledger, now};
use crate::log::error::LogError;
use crate::log::facts::{Facts, Limits};
use crate::log::writer::Writer;
use crate::policy::{Mode, Policy};
use crate::quote::quote;
use crate::verify::{self, HostKey, HostState, Report, Request, Verdict};

/// Where the logs of runs are, unless a directory is named.
const RUNS_DIRECTORY: &str = "/var/lib/rei/runs";
/// How long a decision waits for another one that is being sealed in the same log.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// Most letters of a run's name in the name of its directory.
const NAME_LETTERS: usize = 32;
/// Columns of the labels, as in the summary.
const LABEL_COLUMNS: usize = 14;

/// Begins the log with its first record. Nothing may have been started yet.
///
/// # Errors
/// If keys or log cannot be used.
pub(super) fn begin(args: &RecordingArgs, policy: &Policy, name: &str, begin: &Body) -> Result<Ledger> {
    let unsealed = "no log can be sealed, and nothing was started";
    guard_process().context(unsealed)?;
    let (keys, made) = HostKeys::open_or_create(&args.keys.directory, &default_origin()).context(unsealed)?;
    if let Some(made) = made {
        keygen::announce(&made);
    }
    let directory = match &args.log {
        Some(directory) => directory.clone(),
        None => new_directory(name)?,
    };
    let facts = Facts::of_this_process().context(unsealed)?;
    let writer = Writer::create(&directory, keys, facts, Limits::default(), now()).context(unsealed)?;
    let settings = Settings {
        policy: Hex(policy.sha256()),
        is_safe: policy.mode == Mode::Safe,
        keep_events: args.keep_events,
    };
    Ledger::begin(writer, settings, begin).context(unsealed)
}

/// Seals a decision in the log of a directory, which is made if there is none. Another process may be sealing there
/// right now: then it is waited for, but not for long.
///
/// # Errors
/// If it cannot be sealed.
pub(super) fn seal_decision(directory: &Path, keys: &KeysArgs, decision: format::Decision) -> Result<()> {
    let unsealed = "the decision cannot be sealed, and so is not given";
    guard_process().context(unsealed)?;
    let body = Body::Decision(decision);
    let end = Instant::now() + LOCK_PATIENCE;
    let mut writer = loop {
        let (keys, made) = HostKeys::open_or_create(&keys.directory, &default_origin()).context(unsealed)?;
        if let Some(made) = made {
            keygen::announce(&made);
        }
        let facts = Facts::of_this_process().context(unsealed)?;
        match Writer::open(directory, keys, facts, Limits::default(), now()) {
            Err(LogError::Locked { .. }) if Instant::now() < end => thread::sleep(LOCK_PAUSE),
            other => break other.context(unsealed)?,
        }
    };
    // What does not fit a line leaves a log that ends in order.
    let appended = writer.append(now(), &body);
    let closed = writer.close(now());
    appended.context(unsealed)?;
    closed.context(unsealed)?;
    Ok(())
}

/// The first record of a log.
pub(super) fn first_record(
    args: &RecordingArgs,
    policy: &Policy,
    command: &[OsString],
    target: &str,
    sensors: &[SensorState],
    programs: &[FoundProgram],
) -> Body {
    fold::run_begin(command, target, policy, args.keep_events, sensors, programs)
}

/// A name for the directory of a run's log: the container's where it is given, otherwise the program's, or
/// the first target's.
pub(super) fn name_of(command: &[OsString], target: &str) -> String {
    let word = match target {
        "docker" => given_name(command).or_else(|| command.first().cloned()),
        "attach" => command.get(2).cloned(),
        _ => command.first().cloned(),
    };
    let word = word.unwrap_or_default();
    let name = Path::new(&word).file_name().unwrap_or(&word).as_bytes();
    let letters = name.iter().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(*byte),
        _ => '_',
    });
    letters.take(NAME_LETTERS).collect()
}

/// The value of docker's `--name`. The words after the image may hold one as well: it is only a name.
fn given_name(command: &[OsString]) -> Option<OsString> {
    let at = command.iter().position(|word| {
        let word = word.as_bytes();
        word == b"--name" || word.starts_with(b"--name=")
    })?;
    match command[at].as_bytes().strip_prefix(b"--name=") {
        Some(name) => Some(std::ffi::OsStr::from_bytes(name).to_owned()),
        None => command.get(at + 1).cloned(),
    }
}

fn new_directory(name: &str) -> Result<PathBuf> {
    let id = LogId::random().context("the kernel gives no random bytes for the name of a log")?;
    let id = id.0.to_string();
    let time = time_words(now().wall_ns / 1_000_000_000);
    Ok(Path::new(RUNS_DIRECTORY).join(format!("{time}-{name}-{}", &id[..8])))
}

/// `20261201T094512Z`, of seconds since 1970.
fn time_words(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// The date so many days after 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    loop {
        let length = 365 + u64::from(is_leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// What is said of a log that was closed.
pub(super) struct Farewell {
    /// Lines for a person, after the summary.
    pub(super) lines: Vec<String>,
    /// Whether the log verifies.
    pub(super) is_good: bool,
}

/// Verifies a closed log as its host can, and says where it is and what to keep of it elsewhere.
pub(super) fn farewell(closed: &Closed, keys: &Path) -> Farewell {
    let report = verified(closed, keys);
    let place = quote(closed.directory().as_os_str().as_bytes()).to_string();
    let lines = vec![
        labelled("log", &format!("{place} ({})", words(&report))),
        labelled(
            "head",
            &format!(
                "{} {} {}; keep it elsewhere, the file `checkpoints` there has it signed",
                closed.origin(),
                closed.newest.size,
                closed.newest.root
            ),
        ),
    ];
    Farewell {
        lines,
        is_good: report.verdict == Verdict::Ok,
    }
}

fn verified(closed: &Closed, keys: &Path) -> Report {
    let host = fs::read(keys.join(HOST_PUBLIC_FILE)).ok();
    let host = host.as_deref().and_then(HostKey::read);
    let request = Request {
        host: host.as_ref(),
        keys: HostState::Expected(keys),
        ..Request::default()
    };
    verify::verify(closed.directory(), &request)
}

fn words(report: &Report) -> String {
    let verdict = report.verdict.word();
    match (&report.why, report.violations.entries().first()) {
        (Some(why), _) => format!("verified: {verdict}: {why}"),
        (None, Some(_)) => format!("verified: {verdict}; `rei verify` says where"),
        (None, None) => format!(
            "{} lines, verified: {verdict}, {}",
            report.size,
            report.completeness.word()
        ),
    }
}

fn labelled(label: &str, words: &str) -> String {
    format!("  {label:<width$}{words}", width = LABEL_COLUMNS - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_directory_tells_when_and_what() {
        assert_eq!(time_words(0), "19700101T000000Z");
        assert_eq!(time_words(951_826_154), "20000229T120914Z");
        assert_eq!(time_words(1_796_083_512), "20261201T000512Z");
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (target, line, name) in [
            ("plain", "./my/step.sh a", "step.sh"),
            ("plain", "a/ü", "__"),
            ("docker", "docker run --name web nginx", "web"),
            ("docker", "docker run --name=../web nginx", "web"),
            ("docker", "docker run nginx", "docker"),
            ("docker", "docker run --name", "docker"),
            ("attach", "rei attach web db", "web"),
        ] {
            assert_eq!(name_of(&words(line), target), name, "{line}");
        }
        assert_eq!(name_of(&words(&"x".repeat(99)), "plain").len(), NAME_LETTERS);
    }
}
