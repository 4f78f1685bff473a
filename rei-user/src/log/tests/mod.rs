//! The writer from outside: what it leaves on the disk, when, and after every crash.

mod check;
mod crashes;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use self::check::{Seen, check};
use super::error::LogError;
use super::facts::{Facts, Limits};
use super::read::segment_file;
use super::writer::Writer;
use crate::disk::watch::{self, Step};
use crate::format::{Body, Count, Hex, PreviousState, Unknown};
use crate::keys::derive::VerificationKey;
use crate::keys::directory::read_secret_file;
use crate::keys::host::HostKeys;
use crate::seal::{Clock, Reason};
use crate::verify::{HostKey, HostState, Key, Request, Verdict, verify};

const ORIGIN: &str = "node-7/rei";
const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A host: its keys and one log, below one directory, and what its auditor keeps elsewhere.
struct Host {
    root: PathBuf,
    auditor: VerificationKey,
    public: (String, Hex<32>),
    /// Removed when it is dropped.
    _temporary: Option<TempDir>,
}

impl Host {
    fn new() -> Self {
        let temporary = in_memory();
        let root = temporary.path().to_owned();
        let (keys, made) = HostKeys::create(&root.join("keys"), ORIGIN).expect("nothing is there");
        let content = read_secret_file(&made.verification_key).expect("ours alone");
        Host {
            auditor: VerificationKey::read(&content).expect("as it was written"),
            public: (ORIGIN.to_owned(), keys.key().public()),
            root,
            _temporary: Some(temporary),
        }
    }

    /// The same host, its files elsewhere.
    fn at(&self, root: &Path) -> Self {
        let copy = |key: &crate::keys::derive::SeriesKey| {
            crate::keys::derive::SeriesKey::new(crate::keys::secret::Secret::new(*key.secret().bytes()))
        };
        Host {
            root: root.to_owned(),
            auditor: VerificationKey {
                series: self.auditor.series,
                r0: copy(&self.auditor.r0),
            },
            public: self.public.clone(),
            _temporary: None,
        }
    }

    fn log(&self) -> PathBuf {
        self.root.join("a log")
    }

    fn keys(&self) -> HostKeys {
        let keys = HostKeys::open(&self.root.join("keys")).expect("usable keys");
        keys.expect("keys")
    }

    fn create(&self, limits: Limits, now: Clock) -> Result<Writer, LogError> {
        Writer::create(&self.log(), self.keys(), facts(), limits, now)
    }

    fn reopen(&self, now: Clock) -> Result<Writer, LogError> {
        Writer::reopen(&self.log(), self.keys(), facts(), Limits::default(), now)
    }

    #[track_caller]
    fn seen(&self) -> Seen {
        self.check().unwrap_or_else(|violation| panic!("{violation}"))
    }

    /// What two verifiers see: the small one of these tests, and the one of rei with everything that an
    /// auditor can have, down to nothing. They have to agree on whether there is an alarm.
    fn check(&self) -> Result<Seen, String> {
        self.check_with(4)
    }

    /// [`Host::check`] with everything that an auditor can have, only.
    fn check_once(&self) -> Result<Seen, String> {
        self.check_with(1)
    }

    fn check_with(&self, requests: usize) -> Result<Seen, String> {
        let keys = self.root.join("keys");
        let seen = check(&self.log(), &keys, &self.auditor, &self.public);
        let host = HostKey {
            origin: self.public.0.clone(),
            key: self.public.1,
        };
        let everything = Request {
            key: Some(Key::Series(&self.auditor)),
            host: Some(&host),
            keys: HostState::Expected(&keys),
            ..Request::default()
        };
        let bare = Request {
            keys: HostState::Ignored,
            ..everything
        };
        let public = Request { key: None, ..bare };
        for request in [everything, bare, public, Request::default()]
            .iter()
            .take(requests)
        {
            let report = verify(&self.log(), request);
            let is_alarm = report.verdict == Verdict::Tampered;
            if is_alarm && seen.is_ok() {
                return Err(format!("only verify says {:?}", report.violations));
            }
            if let Ok(seen) = &seen
                && report.verdict != Verdict::Unverifiable
            {
                let is_ended = seen.is_closed && report.verdict == Verdict::Ok;
                let is_open = !seen.is_closed && report.verdict == Verdict::Incomplete;
                if !is_ended && !is_open || report.size < seen.lines {
                    return Err(format!(
                        "verify says {:?} of {} lines",
                        report.verdict, report.size
                    ));
                }
            }
        }
        seen
    }
}

/// A temporary directory that syncs fast, where there is one.
fn in_memory() -> TempDir {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a temporary directory")
}

fn facts() -> Facts {
    Facts::of_this_process().expect("random bytes")
}

/// So many ms after a start.
const fn at(ms: u64) -> Clock {
    Clock {
        wall_ns: 1_767_225_600 * S + ms * MS,
        boot_ns: 1_000 * S + ms * MS,
    }
}

fn body(number: u64) -> Body {
    let text = format!(r#"{{"number":{number}}}"#);
    Body::Unknown(Box::new(Unknown::new("test", &text).expect("JSON")))
}

#[test]
fn a_log_is_born_written_and_closed() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    assert_eq!(writer.append(at(1), &body(0)).expect("a line"), 2);
    assert_eq!(writer.append(at(2), &body(1)).expect("a line"), 3);
    writer.add_lost(7);
    let newest = writer.close(at(3)).expect("closed");
    let seen = host.seen();
    assert_eq!(seen.kinds, ["head", "seal", "test", "test", "seal"]);
    assert_eq!((seen.is_closed, seen.lost, seen.checkpoints), (true, 7, 1));
    assert_eq!(seen.flags, [0, 1]);
    assert_eq!(newest.size, 5);
    let mode = |name: &str| {
        let metadata = fs::metadata(host.log().join(name)).expect(name);
        metadata.permissions().mode() & 0o777
    };
    assert_eq!(mode(&segment_file(0)), 0o400);
    assert_eq!(
        (mode("head"), mode("checkpoints"), mode("LOCK")),
        (0o600, 0o600, 0o600)
    );
    assert_eq!(
        fs::metadata(host.log()).expect("made").permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(fs::metadata(host.log().join("head")).expect("made").len(), 512);
}

#[test]
fn the_next_log_of_the_host_has_the_next_number() {
    let host = Host::new();
    host.create(Limits::default(), at(0))
        .expect("a new log")
        .close(at(1))
        .expect("closed");
    host.seen();
    let error = host
        .create(Limits::default(), at(2))
        .err()
        .expect("a log is there")
        .to_string();
    assert!(error.contains("holds a log already"), "{error}");
    fs::rename(host.log(), host.root.join("another")).expect("ours");
    host.create(Limits::default(), at(3))
        .expect("a new log")
        .close(at(4))
        .expect("closed");
    host.seen();
    let entries = host.keys().entries().expect("a list");
    assert_eq!(
        entries.iter().map(|entry| entry.i.value()).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn batches_end_when_they_are_full_old_or_urgent() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    // Nothing came: an empty seal every minute, and the checkpoint of the opening before.
    writer.tick(at(30_000)).expect("a checkpoint");
    assert_eq!(writer.deadline(), at(60_000).boot_ns);
    writer.tick(at(59_999)).expect("nothing to do");
    assert_eq!(host.seen().flags.len(), 1);
    writer.tick(at(60_000)).expect("a seal");
    assert_eq!(host.seen().flags.len(), 2);
    // 250 ms after the first line.
    writer.append(at(60_010), &body(0)).expect("a line");
    writer.append(at(60_200), &body(1)).expect("a line");
    assert_eq!(writer.deadline(), at(60_260).boot_ns);
    writer.tick(at(60_259)).expect("nothing to do");
    assert_eq!(host.seen().flags.len(), 2);
    writer.tick(at(60_260)).expect("a seal");
    assert_eq!(host.seen().flags.len(), 3);
    // 256 lines seal by themselves.
    for number in 0..256 {
        assert_eq!(host.seen().flags.len(), 3, "{number}");
        writer.append(at(60_300), &body(number)).expect("a line");
    }
    assert_eq!(host.seen().flags.len(), 4);
    // A finding does not wait, and is followed by a checkpoint.
    let before = host.seen().checkpoints;
    writer.append(at(60_301), &body(0)).expect("a line");
    writer.seal(at(60_301), Reason::Urgent).expect("a seal");
    let seen = host.seen();
    assert_eq!((seen.flags.last(), seen.checkpoints), (Some(&2), before + 1));
    assert_eq!(
        writer.newest_checkpoint().map(|newest| newest.size),
        Some(seen.lines)
    );
}

#[test]
fn a_log_that_grew_gets_a_checkpoint_every_half_minute() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    writer.tick(at(29_999)).expect("nothing to do");
    assert_eq!(host.seen().checkpoints, 0);
    writer.tick(at(30_000)).expect("a checkpoint");
    assert_eq!(host.seen().checkpoints, 1);
    // It did not grow.
    writer.tick(at(59_000)).expect("nothing to do");
    assert_eq!(host.seen().checkpoints, 1);
    // Lines that are not durable yet are in no checkpoint.
    writer.append(at(59_900), &body(0)).expect("a line");
    writer.tick(at(60_050)).expect("nothing to do");
    assert_eq!(host.seen().checkpoints, 1);
    assert!(writer.deadline() <= at(60_150).boot_ns, "it will be told when");
    writer.tick(at(60_150)).expect("a seal and a checkpoint");
    assert_eq!(host.seen().checkpoints, 2);
}

#[test]
fn a_segment_ends_by_size_and_by_age() {
    let host = Host::new();
    let limits = Limits {
        roll_bytes: 4096,
        roll_s: 10,
        ..Limits::default()
    };
    let mut writer = host.create(limits, at(0)).expect("a new log");
    let mut number = 0;
    while host.seen().segments == 1 {
        writer.append(at(number), &body(number)).expect("a line");
        writer.seal(at(number), Reason::Regular).expect("a seal");
        number += 1;
        assert!(number < 100);
    }
    assert_eq!(host.seen().segments, 2);
    let first = fs::metadata(host.log().join(segment_file(0))).expect("closed");
    assert!((4096..6000).contains(&first.len()), "{}", first.len());
    assert_eq!(first.permissions().mode() & 0o777, 0o400);
    assert_eq!(writer.deadline(), at(number - 1 + 10_000).boot_ns);
    writer.tick(at(number + 10_000)).expect("a new segment");
    writer.append(at(number + 10_001), &body(number)).expect("a line");
    let size = writer.size();
    writer.close(at(number + 10_002)).expect("closed");
    let seen = host.seen();
    assert_eq!((seen.segments, seen.lines, seen.is_closed), (3, size + 1, true));
    assert!(
        seen.previous[1..]
            .iter()
            .all(|previous| previous.state == PreviousState::Closed)
    );
    assert_eq!(seen.checkpoints, 3, "one at each close");
}

#[test]
fn a_closed_log_can_be_continued_and_keeps_counting_losses() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    writer.add_lost(5);
    writer.close(at(1)).expect("closed");
    let mut writer = host.reopen(at(2)).expect("a log");
    assert_eq!(writer.damage(), None);
    writer.add_lost(1);
    writer.append(at(3), &body(0)).expect("a line");
    writer.close(at(4)).expect("closed");
    let seen = host.seen();
    assert_eq!((seen.segments, seen.is_closed, seen.lost), (2, true, 6));
    assert_eq!(seen.previous[1].state, PreviousState::Closed);
}

#[test]
fn after_a_crash_the_old_segment_is_described_and_never_edited() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    writer.append(at(1), &body(0)).expect("a line");
    writer.seal(at(2), Reason::Regular).expect("a seal");
    // In memory only: a dropped writer loses it, as a killed one does.
    writer.append(at(3), &body(1)).expect("a line");
    drop(writer);
    // What a cut write leaves.
    let segment = host.log().join(segment_file(0));
    let mut torn = fs::read(&segment).expect("ours");
    torn.extend_from_slice(b"{\"v\":1,\"se");
    fs::write(&segment, &torn).expect("ours");
    let mut second = host.reopen(at(4)).expect("a log");
    second.append(at(5), &body(1)).expect("a line");
    second.close(at(6)).expect("closed");
    let seen = host.seen();
    let previous = &seen.previous[1];
    assert_eq!(previous.state, PreviousState::Crash);
    assert_eq!(previous.tail.map(Count::value), Some(10));
    assert_eq!(previous.last_e.map(Count::value), Some(1));
    let found = previous.head.as_ref().expect("the token of the crash");
    assert!(found.b.contains(r#""seg":0,"e":1"#), "{}", found.b);
    assert_eq!(
        seen.kinds,
        ["head", "seal", "test", "seal", "head", "seal", "test", "seal"]
    );
    assert_eq!(fs::read(&segment).expect("ours"), torn);
}

#[test]
fn two_writers_are_refused_naming_the_first() {
    let host = Host::new();
    let writer = host.create(Limits::default(), at(0)).expect("a new log");
    let error = host.reopen(at(1)).err().expect("locked");
    assert!(matches!(error, LogError::Locked { pid: Some(pid), .. } if pid == std::process::id()));
    let words = error.to_string();
    assert!(
        words.contains(&format!("process {}", std::process::id())),
        "{words}"
    );
    assert!(host.create(Limits::default(), at(1)).is_err());
    drop(writer);
    host.reopen(at(2)).expect("free again");
}

#[test]
fn what_others_could_exchange_is_refused() {
    let host = Host::new();
    fs::create_dir(host.log()).expect("ours");
    fs::set_permissions(host.log(), fs::Permissions::from_mode(0o770)).expect("ours");
    let error = host
        .create(Limits::default(), at(0))
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("can be written by others"), "{error}");
    fs::set_permissions(host.log(), fs::Permissions::from_mode(0o700)).expect("ours");
    for name in ["LOCK", "head", "checkpoints"] {
        let file = host.log().join(name);
        std::os::unix::fs::symlink("/dev/null", &file).expect("ours");
        let error = host
            .create(Limits::default(), at(0))
            .err()
            .expect("refused")
            .to_string();
        assert!(
            error.contains(name) && error.contains("regular") || error.contains("symbolic"),
            "{error}"
        );
        fs::remove_file(&file).expect("ours");
        let _ = fs::remove_file(host.log().join("head"));
    }
    host.create(Limits::default(), at(0)).expect("a new log");
}

#[test]
fn missing_segments_are_not_written_over() {
    let host = Host::new();
    host.create(Limits::default(), at(0))
        .expect("a new log")
        .close(at(1))
        .expect("closed");
    host.reopen(at(2)).expect("a log").close(at(3)).expect("closed");
    fs::remove_file(host.log().join(segment_file(1))).expect("ours");
    let error = host.reopen(at(4)).err().expect("refused").to_string();
    assert!(
        error.contains("segments are missing") && error.contains("rei verify"),
        "{error}"
    );
    assert!(!host.log().join(segment_file(1)).exists());
    let nothing = host.root.join("nothing");
    let limits = Limits::default();
    let error = Writer::reopen(&nothing, host.keys(), facts(), limits, at(5))
        .err()
        .expect("refused");
    assert!(matches!(error, LogError::NoLog { .. }), "{error}");
}

#[test]
fn damage_is_kept_said_and_not_hidden() {
    let host = Host::new();
    let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
    writer.append(at(1), &body(12_345)).expect("a line");
    writer.close(at(2)).expect("closed");
    let segment = host.log().join(segment_file(0));
    let changed = fs::read_to_string(&segment)
        .expect("ours")
        .replace("12345", "54321");
    fs::set_permissions(&segment, fs::Permissions::from_mode(0o600)).expect("ours");
    fs::write(&segment, &changed).expect("ours");
    let writer = host.reopen(at(3)).expect("a log");
    assert!(
        writer
            .damage()
            .is_some_and(|words| words.contains("does not continue")),
        "{:?}",
        writer.damage()
    );
    writer.close(at(4)).expect("closed");
    assert_eq!(fs::read_to_string(&segment).expect("ours"), changed);
    assert!(host.check().is_err_and(|violation| violation.contains("CHAIN")));
}

#[test]
fn another_hosts_key_is_refused() {
    let host = Host::new();
    host.create(Limits::default(), at(0))
        .expect("a new log")
        .close(at(1))
        .expect("closed");
    let other = Host::new();
    fs::copy(other.root.join("keys/host.key"), host.root.join("keys/host.key")).expect("ours");
    let error = host.reopen(at(2)).err().expect("refused").to_string();
    assert!(error.contains("another host key"), "{error}");
}

/// Every write and sync of a session fails once: the writer stops for good, and the next one goes on.
#[test]
fn a_failed_write_stops_the_writer_and_the_next_goes_on() {
    for fails_at in 0.. {
        let host = Host::new();
        let mut left = fails_at;
        let watcher = move |_: Step| {
            if left == 0 {
                return Err(rustix::io::Errno::IO.into());
            }
            left -= 1;
            Ok(())
        };
        let mut writer = host.create(Limits::default(), at(0)).expect("a new log");
        let (failed, again) = watch::with(watcher, || {
            let failed = writer
                .append(at(1), &body(0))
                .and_then(|_| writer.seal(at(2), Reason::Urgent));
            // Only the first step fails; the writer must not try again all the same.
            (failed, writer.append(at(3), &body(1)))
        });
        let Err(error) = failed else {
            assert!(fails_at > 5, "{fails_at}");
            assert!(again.is_ok());
            return;
        };
        assert!(error.to_string().contains("cannot "), "{error}");
        assert!(matches!(again, Err(LogError::Stopped { .. })), "{fails_at}");
        assert!(matches!(writer.tick(at(4)), Err(LogError::Stopped { .. })));
        assert!(matches!(writer.close(at(5)), Err(LogError::Stopped { .. })));
        assert!(!host.seen().is_closed);
        host.reopen(at(6)).expect("a log").close(at(7)).expect("closed");
        assert!(host.seen().is_closed, "{fails_at}");
    }
}

/// A verifier reads while the writer writes, rolls and ends: never an alarm, and it sees the log grow.
#[test]
fn a_log_that_is_being_written_is_never_an_alarm() {
    let host = Host::new();
    let limits = Limits {
        batch_lines: 8,
        roll_bytes: 40_000,
        ..Limits::default()
    };
    let mut writer = host.create(limits, at(0)).expect("a new log");
    let writing = std::thread::spawn(move || {
        for number in 0..4_000 {
            writer.append(at(number), &body(number)).expect("a line");
            if number % 100 == 0 {
                writer.seal(at(number), Reason::Urgent).expect("a seal");
            }
        }
        writer.close(at(4_000)).expect("closed")
    });
    let keys = host.root.join("keys");
    let public = HostKey {
        origin: host.public.0.clone(),
        key: host.public.1,
    };
    let request = Request {
        key: Some(Key::Series(&host.auditor)),
        host: Some(&public),
        keys: HostState::Expected(&keys),
        ..Request::default()
    };
    let mut sizes = Vec::new();
    while !writing.is_finished() {
        let report = verify(&host.log(), &request);
        assert_eq!(report.violations.entries(), [], "after {} lines", report.size);
        sizes.push(report.size);
    }
    let newest = writing.join().expect("a writer that ends");
    let report = verify(&host.log(), &request);
    assert_eq!((report.verdict, report.size), (Verdict::Ok, newest.size));
    assert!(report.segments > 5, "{}", report.segments);
    assert!(sizes.is_sorted() && sizes.len() > 3, "{sizes:?}");
}
