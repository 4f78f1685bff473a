//! The keys of a host from outside: making them, births, crashes, and files that others could reach.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::derive::{SeriesKey, VerificationKey};
use super::directory::{KeyDirectory, read_secret_file};
use super::entry::{Entry, Fate};
use super::error::KeyError;
use super::host::{HostKeys, NewKeys, verification_key_left};
use super::id::LogId;
use super::signing::verifies;
use crate::disk::crash::{self, Snapshot};
use crate::disk::watch::{self, Step};
use crate::format::{birth_message, read_vkey};

const ORIGIN: &str = "node-7/rei";

/// An empty directory of keys.
pub(super) fn directory() -> (TempDir, KeyDirectory) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let keys = KeyDirectory::open_or_make(&temporary.path().join("keys")).expect("ours");
    (temporary, keys)
}

fn home() -> (TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let keys = temporary.path().join("keys");
    (temporary, keys)
}

fn made() -> (TempDir, HostKeys, NewKeys) {
    let (temporary, path) = home();
    let (keys, new) = HostKeys::create(&path, ORIGIN).expect("nothing is there");
    (temporary, keys, new)
}

fn words(result: Result<impl Sized, KeyError>) -> String {
    result.err().expect("refused").to_string()
}

/// A birth that goes well: number, log, and the log's keys of segment 0 wiped as its writer would.
fn bear(keys: &HostKeys) -> (u64, LogId) {
    let mut birth = keys.begin_birth().expect("a series");
    let (number, log) = (birth.certificate().i.value(), birth.log());
    open_first_segment(&mut birth);
    birth.finish().expect("a series");
    (number, log)
}

fn open_first_segment(birth: &mut super::birth::Birth) {
    let state = birth.keys_mut();
    let first = state.segment(0).expect("kept since the birth");
    let next = super::state::SegmentKeys {
        master: first.master.next(state.log(), 0),
        signing: super::signing::SigningSeed::random().expect("random bytes"),
    };
    state.keep(1, &next).expect("a disk");
    state.wipe_below(1).expect("a disk");
}

/// The auditor's key, as the file that left the host holds it.
fn auditor(directory: &Path) -> VerificationKey {
    let content = read_secret_file(&directory.join("verification.key")).expect("ours alone");
    VerificationKey::read(&content).expect("as it was written")
}

#[test]
fn new_keys_are_what_they_are_said_to_be() {
    let (_temporary, keys, new) = made();
    let names = ["host.key", "host.pub", "series", "verification.key"];
    for name in names {
        let mode = fs::metadata(keys.path().join(name))
            .expect(name)
            .permissions()
            .mode();
        assert_eq!(
            mode & 0o777,
            if name == "host.pub" { 0o644 } else { 0o600 },
            "{name}"
        );
    }
    assert_eq!(fs::read_dir(keys.path()).expect("ours").count(), names.len());
    assert_eq!(
        fs::metadata(keys.path()).expect("ours").permissions().mode() & 0o777,
        0o700
    );
    let public = fs::read_to_string(&new.host_public_key).expect("public");
    assert_eq!(public, format!("{}\n", new.vkey));
    assert_eq!(
        read_vkey(&new.vkey),
        Some((ORIGIN.to_owned(), keys.key().public()))
    );
    assert_eq!(auditor(keys.path()).series, new.series);
    assert_eq!(
        verification_key_left(keys.path()).as_deref(),
        Some(&*new.verification_key)
    );
    fs::remove_file(&new.verification_key).expect("ours");
    assert_eq!(verification_key_left(keys.path()), None);
    let again = HostKeys::open(keys.path()).expect("usable").expect("there");
    assert_eq!(again.key().public(), keys.key().public());
    assert_eq!(again.key().origin(), ORIGIN);
}

#[test]
fn keys_are_made_once() {
    let (_temporary, path) = home();
    assert!(HostKeys::open(&path).expect("nothing is wrong").is_none());
    let (first, new) = HostKeys::open_or_create(&path, ORIGIN).expect("nothing is there");
    assert!(new.is_some());
    let before = Snapshot::take(&path);
    let (second, none) = HostKeys::open_or_create(&path, "other/rei").expect("usable");
    assert!(none.is_none());
    assert_eq!(first.key().public(), second.key().public());
    let error = words(HostKeys::create(&path, ORIGIN));
    assert!(
        error.contains("series exists") && error.contains("move the directory away"),
        "{error}"
    );
    assert!(Snapshot::take(&path) == before, "nothing was touched");
}

#[test]
fn an_origin_that_no_checkpoint_could_carry_is_refused() {
    let (_temporary, path) = home();
    for origin in ["", "a b", "a+b", "a\nb"] {
        let error = words(HostKeys::create(&path, origin));
        assert!(error.contains("--origin"), "{error}");
        assert!(!path.exists(), "nothing was made");
    }
}

#[test]
fn births_take_every_number_once_and_certify_the_first_key() {
    let (_temporary, keys, new) = made();
    let auditor = auditor(keys.path());
    let mut expected = Vec::new();
    for number in 0..3 {
        let mut birth = keys.begin_birth().expect("a series");
        let certificate = birth.certificate().clone();
        let log = birth.log();
        let first = birth.keys_mut().segment(0).expect("kept since the birth");
        let master = auditor.master(number).expect("a small number");
        assert!(
            first.master.secret().equals(master.secret()),
            "the auditor derives the same key"
        );
        assert_eq!(certificate.i.value(), number);
        assert_eq!(certificate.series, new.series.0);
        assert_eq!(certificate.vk0, first.signing.public());
        let message = birth_message(&log.0, &new.series.0, number, &certificate.vk0);
        assert!(verifies(&keys.key().public(), &message, &certificate.hs));
        open_first_segment(&mut birth);
        birth.finish().expect("a series");
        expected.push((Fate::Born, number, log));
    }
    assert_eq!(fates(&keys, &auditor), expected);
    assert!(!keys.path().join("birth").exists());
}

/// The list, with every tag checked as the auditor does.
fn fates(keys: &HostKeys, auditor: &VerificationKey) -> Vec<(Fate, u64, LogId)> {
    let entries: Vec<Entry> = keys.entries().expect("a list");
    let fates = entries.iter().map(|entry| {
        let key = auditor.series_key(entry.at.value()).expect("a small number");
        assert!(entry.verifies(auditor.series, &key));
        (entry.e, entry.i.value(), LogId(entry.log))
    });
    fates.collect()
}

#[test]
fn an_entry_of_the_past_cannot_be_forged_with_the_key_of_today() {
    let (_temporary, keys, _) = made();
    let auditor = auditor(keys.path());
    let (_, log) = bear(&keys);
    bear(&keys);
    let key_of_today: SeriesKey = auditor.series_key(2).expect("a small number");
    let line = Entry::line(auditor.series, 1, &key_of_today, Fate::Void, 0, log);
    let forged = Entry::read(&line).expect("well formed");
    let true_key = auditor.series_key(1).expect("a small number");
    assert!(!forged.verifies(auditor.series, &true_key));
    let honest = Entry::line(auditor.series, 1, &true_key, Fate::Void, 0, log);
    assert!(
        Entry::read(&honest)
            .expect("well formed")
            .verifies(auditor.series, &true_key)
    );
    assert!(
        Entry::read(&[&honest[..], b" "].concat()).is_none(),
        "one spelling"
    );
}

#[test]
fn old_keys_are_gone_from_the_disk() {
    let (_temporary, keys, new) = made();
    let auditor = auditor(keys.path());
    fs::remove_file(&new.verification_key).expect("it leaves the host");
    for number in 0..3 {
        let gone = auditor.series_key(number).expect("a small number");
        let master = auditor.master(number).expect("a small number");
        bear(&keys);
        for entry in fs::read_dir(keys.path()).expect("ours") {
            let path = entry.expect("an entry").path();
            let content = fs::read(&path).expect("ours");
            for secret in [gone.secret(), master.secret()] {
                let holds = content.windows(32).any(|window| window == secret.bytes());
                assert!(!holds, "{} after birth {number}", path.display());
            }
        }
    }
}

/// Each durable step of a birth, and each torn write: what it leaves is settled by the next birth, no number
/// is missing, none is used twice, and a void log has no keys.
#[test]
fn a_crash_at_any_step_of_a_birth_leaves_no_number_missing() {
    let (temporary, keys, _) = made();
    bear(&keys);
    let auditor = auditor(keys.path());
    let (states, _) = crash::states(temporary.path(), |_| true, || bear(&keys));
    assert!(states.len() > 20, "{}", states.len());
    let (mut voided, mut freed) = (0, 0);
    for (at, state) in states.iter().enumerate() {
        let (_restored, home) = home();
        state.restore(home.parent().expect("a temporary directory"));
        let keys = HostKeys::open(&home)
            .unwrap_or_else(|error| panic!("{at}: {error}"))
            .expect("keys");
        let (next, next_log) = bear(&keys);
        let fates = fates(&keys, &auditor);
        let numbers: Vec<u64> = fates.iter().map(|(_, number, _)| *number).collect();
        assert_eq!(numbers, (0..=next).collect::<Vec<_>>(), "{at}: {fates:?}");
        assert_eq!(fates.last(), Some(&(Fate::Born, next, next_log)));
        let of_the_crashed = fates
            .iter()
            .find(|(_, number, its)| *number == 1 && *its != next_log);
        match of_the_crashed {
            None => freed += 1,
            Some((Fate::Void, _, its)) => {
                voided += 1;
                assert!(
                    !home.join(its.to_string()).exists(),
                    "{at}: nothing opens a void log"
                );
            }
            Some((Fate::Born, _, its)) => {
                assert!(
                    home.join(its.to_string()).exists(),
                    "{at}: its writer goes on with its keys"
                );
            }
        }
    }
    assert!(
        voided > 3 && freed > 3,
        "{voided} void, {freed} free of {}",
        states.len()
    );
}

#[test]
fn a_crash_at_any_step_of_making_keys_can_be_repeated() {
    let (temporary, path) = home();
    let (states, _) = crash::states(
        temporary.path(),
        |_| true,
        || {
            HostKeys::create(&path, ORIGIN).expect("nothing is there");
        },
    );
    assert!(states.len() > 10, "{}", states.len());
    for (at, state) in states.iter().enumerate() {
        let (_restored, home) = home();
        state.restore(home.parent().expect("a temporary directory"));
        let (keys, _) =
            HostKeys::open_or_create(&home, ORIGIN).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(
            auditor(&home).series.0,
            keys.begin_birth().expect("a series").certificate().series
        );
        assert!(!home.join("setup").exists(), "{at}");
    }
}

#[test]
fn a_failed_write_is_an_error_and_the_next_birth_goes_on() {
    let (_temporary, keys, _) = made();
    let auditor = auditor(keys.path());
    for fails_at in 0.. {
        let mut left = fails_at;
        let watcher = move |_: Step| {
            if left == 0 {
                return Err(rustix::io::Errno::IO.into());
            }
            left -= 1;
            Ok(())
        };
        let failed = watch::with(watcher, || {
            let mut birth = keys.begin_birth()?;
            let state = birth.keys_mut();
            let next = state.segment(0).expect("kept since the birth");
            state.keep(1, &next)?;
            state.wipe_below(1)?;
            birth.finish()
        });
        bear(&keys);
        let numbers: Vec<u64> = fates(&keys, &auditor)
            .iter()
            .map(|(_, number, _)| *number)
            .collect();
        assert_eq!(
            numbers,
            (0..numbers.len() as u64).collect::<Vec<_>>(),
            "{fails_at}"
        );
        match failed {
            Ok(_) => {
                assert!(fails_at > 10, "{fails_at}");
                return;
            }
            Err(error) => assert!(error.to_string().contains("cannot "), "{error}"),
        }
    }
}

#[test]
fn a_missing_series_is_never_replaced() {
    let (temporary, keys, _) = made();
    let path = keys.path().to_owned();
    bear(&keys);
    fs::remove_file(path.join("series")).expect("ours");
    // Every trace alone is enough.
    let names = ["series.log", "verification.key", "host.key", "host.pub"];
    let states: Vec<PathBuf> = fs::read_dir(&path)
        .expect("ours")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(states.len(), names.len() + 1, "and the key state of the log");
    for trace in &states {
        let (_other, home) = home();
        Snapshot::take(temporary.path()).restore(home.parent().expect("a temporary directory"));
        for other in &states {
            if other != trace {
                fs::remove_file(home.join(other.file_name().expect("a name"))).expect("ours");
            }
        }
        let error = words(HostKeys::open_or_create(&home, ORIGIN));
        assert!(error.contains("no new one is begun"), "{error}");
        assert!(
            error.contains(&*trace.file_name().expect("a name").to_string_lossy()),
            "{error}"
        );
        assert!(HostKeys::create(&home, ORIGIN).is_err());
    }
}

#[test]
fn no_series_is_begun_beside_old_logs() {
    for below in ["log", "runs/2026-01-01-x"] {
        let (temporary, path) = home();
        let log = temporary.path().join(below);
        fs::create_dir_all(&log).expect("ours");
        HostKeys::open(&path).expect("an empty directory is no log");
        fs::write(log.join("seg-00000000000000000000.jsonl"), "").expect("ours");
        for error in [
            words(HostKeys::open(&path)),
            words(HostKeys::open_or_create(&path, ORIGIN)),
            words(HostKeys::create(&path, ORIGIN)),
        ] {
            assert!(error.contains(below) && error.contains("rei keygen"), "{error}");
        }
        assert!(!path.exists(), "nothing was made");
    }
}

#[test]
fn damaged_keys_are_refused_and_left_alone() {
    for (name, content) in [
        ("series", vec![0; 8192]),
        ("series", vec![1; 8192]),
        ("series", Vec::new()),
        ("host.key", b"rei-host-key/1\n".to_vec()),
        ("host.key", vec![b'x'; 9000]),
    ] {
        let (_temporary, keys, _) = made();
        fs::write(keys.path().join(name), &content).expect("ours");
        let error = words(HostKeys::open_or_create(keys.path(), ORIGIN));
        assert!(
            error.contains(name) && error.contains("not as rei wrote it"),
            "{error}"
        );
        assert_eq!(fs::read(keys.path().join(name)).expect("ours"), content);
    }
    let (_temporary, keys, _) = made();
    fs::write(
        keys.path().join("birth"),
        br#"{"i":7,"log":"00000000000000000000000000000000"}"#,
    )
    .expect("ours");
    fs::set_permissions(keys.path().join("birth"), fs::Permissions::from_mode(0o600)).expect("ours");
    let error = words(keys.begin_birth());
    assert!(error.contains("number 7"), "{error}");
}

#[test]
fn what_others_could_reach_is_refused() {
    for name in ["series", "host.key"] {
        let (_temporary, keys, _) = made();
        let file = keys.path().join(name);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("ours");
        let error = words(HostKeys::open(keys.path()));
        assert!(
            error.contains("mode 640") && error.contains("chmod 600"),
            "{error}"
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");

        let second = keys.path().with_file_name("second");
        fs::hard_link(&file, &second).expect("one file system");
        let error = words(HostKeys::open(keys.path()));
        assert!(error.contains("2 names"), "{error}");
        fs::remove_file(&second).expect("ours");

        fs::rename(&file, &second).expect("ours");
        symlink(&second, &file).expect("ours");
        let error = words(HostKeys::open(keys.path()));
        assert!(error.contains("symbolic link"), "{error}");
        fs::remove_file(&file).expect("ours");

        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            &file,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        )
        .expect("ours");
        let error = words(HostKeys::open(keys.path()));
        assert!(error.contains("no regular file"), "{error}");
    }
}

#[test]
fn a_directory_that_others_could_reach_is_refused() {
    let (temporary, keys, _) = made();
    fs::set_permissions(keys.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let error = words(HostKeys::open(keys.path()));
    assert!(
        error.contains("mode 755") && error.contains("chmod 700"),
        "{error}"
    );
    fs::set_permissions(keys.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let link = temporary.path().join("link");
    symlink(keys.path(), &link).expect("ours");
    let error = words(HostKeys::open(&link));
    assert!(error.contains("symbolic link"), "{error}");
}

#[test]
fn births_wait_for_each_other() {
    let (_temporary, keys, _) = made();
    let first = keys.begin_birth().expect("a series");
    let path = keys.path().to_owned();
    let other = std::thread::spawn(move || {
        let keys = HostKeys::open(&path).expect("usable").expect("there");
        bear(&keys).0
    });
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!other.is_finished(), "it waits");
    // Dropped without being finished: its number is void, and the next one is another.
    let number = first.certificate().i.value();
    drop(first);
    assert_eq!(other.join().expect("a birth"), number + 1);
}
