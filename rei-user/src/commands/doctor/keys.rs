//! The keys that logs are sealed with, and what the disk below them can forget.

use std::fs;
use std::path::Path;

use rustix::fs::{major, minor, stat, statfs};

use super::Finding;
use crate::keys::error::KeyError;
use crate::keys::host::{HostKeys, verification_key_left};

/// File systems that write a changed block to another place. Numbers from the kernel's
/// include/uapi/linux/magic.h; ZFS and bcachefs from their own sources.
const COPY_ON_WRITE: [(u64, &str); 5] = [
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0xf2f5_2010, "f2fs"),
    (0x794c_7630, "overlayfs"),
];
/// File systems that are elsewhere.
const NETWORK: [(u64, &str); 4] = [
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
];
const TMPFS: u64 = 0x0102_1994;

/// Every check of this file.
pub(super) fn findings(directory: &Path) -> Vec<Finding> {
    vec![keys(directory), storage(directory)]
}

fn keys(directory: &Path) -> Finding {
    const CHECK: &str = "keys";
    let place = directory.display();
    let next = match HostKeys::open(directory) {
        Ok(None) => {
            return Finding::ok(
                CHECK,
                format!("none yet: the first recording makes them in {place}"),
            );
        }
        Ok(Some(keys)) => keys.next(),
        Err(error) => Err(error),
    };
    let (series, number) = match next {
        Ok(next) => next,
        Err(error @ KeyError::Io { .. }) => {
            return Finding::gap(CHECK, error.to_string(), "run rei as root (sudo)");
        }
        Err(error) => {
            let next = "nothing is sealed with keys in this state: do as it says";
            return Finding::fail(CHECK, error.to_string(), next);
        }
    };
    let found = format!("series {series} in {place}, next log {number}");
    match verification_key_left(directory) {
        None => Finding::ok(CHECK, found),
        Some(key) => Finding::gap(
            CHECK,
            format!(
                "{found}\n{} is still on this host: with it, who takes the host over can forge every seal of the past",
                key.display()
            ),
            format!(
                "copy it to where logs are verified, then `shred -u {}`",
                key.display()
            ),
        ),
    }
}

/// What a disk does with a key that is overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Storage {
    /// In memory: gone with the power.
    Memory,
    /// On an encrypted volume.
    Encrypted,
    /// Written elsewhere, the old block is left.
    CopyOnWrite(&'static str),
    /// On another machine.
    Network(&'static str),
    /// Written to a journal first.
    Journal,
    /// In place, on a device that moves blocks itself.
    Flash,
    /// In place.
    InPlace,
}

fn storage(directory: &Path) -> Finding {
    const CHECK: &str = "key storage";
    // Where the directory would be, if it is not there yet.
    let there = directory
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(Path::new("/"));
    match storage_of(there) {
        Ok(storage) => told(CHECK, &storage),
        Err(error) => Finding::gap(
            CHECK,
            format!("unknown: {} cannot be examined: {error}", there.display()),
            "run rei as root (sudo)",
        ),
    }
}

fn told(check: &str, storage: &Storage) -> Finding {
    let next = "give --keys a directory on an encrypted volume (LUKS) with ext4 or xfs";
    match storage {
        Storage::Memory => Finding::gap(
            check,
            "tmpfs: old keys are gone at once, the current ones with the power",
            "give --keys a directory that survives a restart",
        ),
        Storage::Encrypted => Finding::ok(
            check,
            "an encrypted volume: what is left of old keys cannot be read",
        ),
        Storage::CopyOnWrite(name) => Finding::gap(
            check,
            format!("{name} never overwrites in place: old keys can be left in freed blocks (best effort)"),
            next,
        ),
        Storage::Network(name) => Finding::gap(
            check,
            format!("{name}: the keys travel, and their old versions are another machine's business"),
            next,
        ),
        Storage::Journal => Finding::gap(check, "the journal keeps copies of old keys (data=journal)", next),
        Storage::Flash => Finding::ok(
            check,
            "old keys are overwritten in place, but flash moves blocks itself: best effort without encryption",
        ),
        Storage::InPlace => Finding::ok(
            check,
            "old keys are overwritten in place, as far as the device does so: best effort without encryption",
        ),
    }
}

fn storage_of(path: &Path) -> rustix::io::Result<Storage> {
    let kind = statfs(path)?.f_type.cast_unsigned();
    let device = stat(path)?.st_dev;
    let device = format!("{}:{}", major(device), minor(device));
    let block = Path::new("/sys/dev/block").join(&device);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    Ok(storage_by(kind, &block, journals_data(&mounts, &device)))
}

fn storage_by(kind: u64, block: &Path, journals: bool) -> Storage {
    let named =
        |table: &[(u64, &'static str)]| table.iter().find(|(its, _)| *its == kind).map(|(_, name)| *name);
    if let Some(name) = named(&NETWORK) {
        return Storage::Network(name);
    }
    if kind == TMPFS {
        return Storage::Memory;
    }
    let mapped = fs::read_to_string(block.join("dm/uuid")).unwrap_or_default();
    if mapped.starts_with("CRYPT-") {
        return Storage::Encrypted;
    }
    if let Some(name) = named(&COPY_ON_WRITE) {
        return Storage::CopyOnWrite(name);
    }
    if journals {
        return Storage::Journal;
    }
    // A partition has no queue of its own.
    let rotational = ["queue/rotational", "../queue/rotational"]
        .iter()
        .find_map(|file| fs::read_to_string(block.join(file)).ok());
    match rotational.as_deref().map(str::trim) {
        Some("0") => Storage::Flash,
        _ => Storage::InPlace,
    }
}

/// Whether the file system of a device journals data. The options of the super block are the last word of a
/// line.
fn journals_data(mountinfo: &str, device: &str) -> bool {
    mountinfo.lines().any(|line| {
        let mut words = line.split(' ');
        words.nth(2) == Some(device)
            && words
                .next_back()
                .is_some_and(|options| options.split(',').any(|option| option == "data=journal"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn the_verification_key_is_nagged_about_until_it_is_gone() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("keys");
        assert_eq!(keys(&directory).status, Status::Ok);
        let (_, made) = HostKeys::create(&directory, "node-7/rei").expect("nothing is there");
        let nagging = keys(&directory);
        assert_eq!(nagging.status, Status::Gap);
        assert!(
            nagging.found.contains("verification.key is still on this host"),
            "{}",
            nagging.found
        );
        assert!(nagging.next_step.is_some_and(|step| step.contains("shred -u")));
        fs::remove_file(&made.verification_key).expect("ours");
        let quiet = keys(&directory);
        assert_eq!(quiet.status, Status::Ok);
        assert!(quiet.found.contains(&made.series.to_string()), "{}", quiet.found);
        fs::remove_file(directory.join("series")).expect("ours");
        let missing = keys(&directory);
        assert_eq!(missing.status, Status::Fail);
        assert!(missing.found.contains("holds no series"), "{}", missing.found);
    }

    #[test]
    fn storage_is_told_by_file_system_and_device() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let block = temporary.path().join("block");
        let ext4 = 0xef53;
        let with = |file: &str, content: &str| {
            let path = block.join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("ours");
            fs::write(path, content).expect("ours");
        };
        assert_eq!(storage_by(ext4, &block, false), Storage::InPlace);
        assert_eq!(storage_by(ext4, &block, true), Storage::Journal);
        with("queue/rotational", "0\n");
        assert_eq!(storage_by(ext4, &block, false), Storage::Flash);
        assert_eq!(
            storage_by(0x9123_683e, &block, false),
            Storage::CopyOnWrite("btrfs")
        );
        assert_eq!(storage_by(0x6969, &block, false), Storage::Network("nfs"));
        assert_eq!(storage_by(TMPFS, &block, false), Storage::Memory);
        with("dm/uuid", "CRYPT-LUKS2-1\n");
        assert_eq!(storage_by(0x9123_683e, &block, false), Storage::Encrypted);
        for gap in [
            Storage::CopyOnWrite("btrfs"),
            Storage::Network("nfs"),
            Storage::Journal,
            Storage::Memory,
        ] {
            let finding = told("key storage", &gap);
            assert_eq!(finding.status, Status::Gap, "{gap:?}");
            assert!(finding.next_step.is_some(), "{gap:?}");
        }
    }

    #[test]
    fn a_journal_of_data_is_found_by_its_device() {
        let line = "36 35 254:1 / /var rw,noatime shared:1 - ext4 /dev/root rw,data=journal\n";
        assert!(journals_data(line, "254:1"));
        assert!(!journals_data(line, "254:2"));
        assert!(!journals_data(
            &line.replace("data=journal", "data=ordered"),
            "254:1"
        ));
    }

    #[test]
    fn this_host_gets_an_answer() {
        let finding = storage(Path::new("/var/lib/rei/keys-that-nobody-has"));
        assert!(!finding.found.starts_with("unknown"), "{}", finding.found);
    }
}
