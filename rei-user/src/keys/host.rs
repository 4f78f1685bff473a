//! The keys of a host: its series and its log key, made once, used for every log.

use std::fs;
use std::path::{Path, PathBuf};

use super::birth::{Birth, NOTE_FILE};
use super::derive::{SeriesKey, VerificationKey};
use super::directory::{KeyDirectory, LockedDirectory};
use super::entry::{self, ENTRIES_FILE, Entry};
use super::error::KeyError;
use super::id::{LogId, SeriesId};
use super::secret::Secret;
use super::series::{SERIES_FILE, Series};
use super::signing::SigningSeed;
use super::state::LogKeys;
use super::text;
use crate::disk;
use crate::format::{self, Count, Hex, is_name, write_vkey};

/// Where the keys of a host are, unless it is said otherwise.
pub const KEYS_DIRECTORY: &str = "/var/lib/rei/keys";
/// The verification key; it is meant to leave the host.
pub const VERIFICATION_FILE: &str = "verification.key";
const HOST_KEY_FILE: &str = "host.key";
/// Its file of the public half of the host's log key, for the auditor.
pub const HOST_PUBLIC_FILE: &str = "host.pub";
/// There while the keys are being made: nothing has been sealed with them yet.
const SETUP_FILE: &str = "setup";

/// The host's log key: one public half to be pinned, for all logs of the host.
pub struct HostKey {
    origin: String,
    seed: SigningSeed,
}

impl HostKey {
    /// A key with this name.
    pub(crate) const fn new(origin: String, seed: SigningSeed) -> Self {
        HostKey { origin, seed }
    }

    /// The name of the host in checkpoints.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> Hex<32> {
        self.seed.public()
    }

    /// The public half as C2SP writes it, for the auditor to pin.
    #[must_use]
    pub fn vkey(&self) -> String {
        write_vkey(&self.origin, &self.public())
    }

    /// Signs a message.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Hex<64> {
        self.seed.sign(message)
    }

    /// Certifies the birth of a log.
    pub(crate) fn certify(&self, log: LogId, series: SeriesId, number: u64, vk0: Hex<32>) -> format::Birth {
        let message = format::birth_message(&log.0, &series.0, number, &vk0);
        format::Birth {
            series: series.0,
            i: Count::new(number),
            vk0,
            hk: self.public(),
            hs: self.sign(&message),
        }
    }
}

/// The keys of a host, opened.
pub struct HostKeys {
    directory: KeyDirectory,
    key: HostKey,
}

/// What was made, to be told to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeys {
    /// The series.
    pub series: SeriesId,
    /// The file that has to leave the host.
    pub verification_key: PathBuf,
    /// The file of the public half of the host's log key.
    pub host_public_key: PathBuf,
    /// That half, as C2SP writes it.
    pub vkey: String,
}

impl HostKeys {
    /// The keys of a host; `None` if there are none and nothing tells of any.
    ///
    /// # Errors
    /// If they cannot be used, or are missing where logs exist.
    pub fn open(path: &Path) -> Result<Option<Self>, KeyError> {
        let Some(directory) = KeyDirectory::open(path)? else {
            return match trace_beside(path) {
                Some(trace) => Err(series_missing(path, trace)),
                None => Ok(None),
            };
        };
        let locked = directory.lock()?;
        finish_setup(&locked)?;
        if Series::open(&locked)?.is_none() {
            return match trace(&locked)? {
                Some(trace) => Err(series_missing(path, trace)),
                None => Ok(None),
            };
        }
        let key = read_host_key(&locked)?;
        Ok(Some(HostKeys { directory, key }))
    }

    /// Makes the keys of a host.
    ///
    /// # Errors
    /// If there are some already, or anything tells that there were.
    pub fn create(path: &Path, origin: &str) -> Result<(Self, NewKeys), KeyError> {
        if !is_name(origin) {
            return Err(KeyError::Origin {
                origin: origin.to_owned(),
            });
        }
        // Before anything is made, even the directory.
        if let Some(trace) = trace_beside(path) {
            let directory = KeyDirectory::open(path)?;
            let has_series = directory.map_or(Ok(false), |directory| directory.has(SERIES_FILE))?;
            if !has_series {
                return Err(series_missing(path, trace));
            }
        }
        let directory = KeyDirectory::open_or_make(path)?;
        let locked = directory.lock()?;
        finish_setup(&locked)?;
        if locked.has(SERIES_FILE)? {
            return Err(KeyError::Exists {
                path: locked.path_of(SERIES_FILE),
            });
        }
        if let Some(trace) = trace(&locked)? {
            return Err(series_missing(path, trace));
        }
        let (key, made) = make(&locked, origin)?;
        Ok((HostKeys { directory, key }, made))
    }

    /// Opens the keys, and makes them at the first use.
    ///
    /// # Errors
    /// As [`HostKeys::open`] and [`HostKeys::create`].
    pub fn open_or_create(path: &Path, origin: &str) -> Result<(Self, Option<NewKeys>), KeyError> {
        if let Some(keys) = Self::open(path)? {
            return Ok((keys, None));
        }
        match Self::create(path, origin) {
            // Somebody else was faster.
            Err(KeyError::Exists { path: file }) => match Self::open(path)? {
                Some(keys) => Ok((keys, None)),
                None => Err(KeyError::Exists { path: file }),
            },
            other => other.map(|(keys, made)| (keys, Some(made))),
        }
    }

    /// The host's log key.
    #[must_use]
    pub const fn key(&self) -> &HostKey {
        &self.key
    }

    /// The host's log key, when the rest is no longer needed.
    #[must_use]
    pub fn into_key(self) -> HostKey {
        self.key
    }

    /// Where the keys are.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Begins the birth of a log; waits for another birth to end.
    ///
    /// # Errors
    /// If the series cannot be used.
    pub fn begin_birth(&self) -> Result<Birth, KeyError> {
        let random = KeyError::io("read random bytes for", self.path());
        let log = LogId::random().map_err(random)?;
        let random = KeyError::io("read random bytes for", self.path());
        let seed = SigningSeed::random().map_err(random)?;
        Birth::begin(self.directory.lock()?, &self.key, log, seed)
    }

    /// Takes up the birth of a log that a crash cut short, if nothing has settled it yet and the log's
    /// segment 0 has never taken an event.
    ///
    /// # Errors
    /// If the keys cannot be used.
    pub fn resume_birth(&self, log: LogId) -> Result<Option<Birth>, KeyError> {
        Birth::resume(self.directory.lock()?, &self.key, log)
    }

    /// The number of the next log, and the series that it will belong to.
    ///
    /// # Errors
    /// If the series cannot be used.
    pub fn next(&self) -> Result<(SeriesId, u64), KeyError> {
        let locked = self.directory.lock()?;
        let series = Series::open(&locked)?;
        let series =
            series.ok_or_else(|| series_missing(self.path(), self.directory.path_of(SERIES_FILE)))?;
        Ok((series.id(), series.number()))
    }

    /// The key state of a log of this host.
    ///
    /// # Errors
    /// If there is none, or it cannot be used.
    pub fn log_keys(&self, log: LogId) -> Result<LogKeys, KeyError> {
        LogKeys::open(&self.directory, log)
    }

    /// The series' list, as far as its lines can be read. Their tags are not checked: the host cannot.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn entries(&self) -> Result<Vec<Entry>, KeyError> {
        let lines = entry::lines(&self.directory)?;
        Ok(lines.iter().filter_map(|line| Entry::read(line)).collect())
    }
}

/// The name that a host gets in checkpoints, unless another one is given: `<host name>/rei`.
#[must_use]
pub fn default_origin() -> String {
    let name = rustix::system::uname();
    let name: String = name
        .nodename()
        .to_string_lossy()
        .chars()
        .filter(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_'))
        .collect();
    if name.is_empty() {
        "localhost/rei".to_owned()
    } else {
        format!("{name}/rei")
    }
}

/// The verification key, if it is still in a directory of keys.
#[must_use]
pub fn verification_key_left(directory: &Path) -> Option<PathBuf> {
    let path = directory.join(VERIFICATION_FILE);
    path.symlink_metadata().is_ok().then_some(path)
}

fn series_missing(directory: &Path, trace: PathBuf) -> KeyError {
    KeyError::SeriesMissing {
        directory: directory.to_owned(),
        trace,
    }
}

fn make(directory: &LockedDirectory, origin: &str) -> Result<(HostKey, NewKeys), KeyError> {
    let random = || KeyError::io("read random bytes for", directory.path());
    let key = HostKey::new(origin.to_owned(), SigningSeed::random().map_err(random())?);
    let verification = VerificationKey {
        series: SeriesId::random().map_err(random())?,
        r0: SeriesKey::new(Secret::random().map_err(random())?),
    };
    directory.create(SETUP_FILE, 0o600, b"")?;
    let host_key = text::host_key_text(origin, &key.seed);
    directory.create(HOST_KEY_FILE, 0o600, host_key.as_bytes())?;
    let vkey = key.vkey();
    directory.create(HOST_PUBLIC_FILE, 0o644, format!("{vkey}\n").as_bytes())?;
    directory.create(VERIFICATION_FILE, 0o600, verification.text().as_bytes())?;
    Series::create(directory, verification.series, &verification.r0)?;
    directory.remove(SETUP_FILE)?;
    let made = NewKeys {
        series: verification.series,
        verification_key: directory.path_of(VERIFICATION_FILE),
        host_public_key: directory.path_of(HOST_PUBLIC_FILE),
        vkey,
    };
    Ok((key, made))
}

/// Takes away what a making that was cut short left. Nothing was sealed with it.
fn finish_setup(directory: &LockedDirectory) -> Result<(), KeyError> {
    if !directory.has(SETUP_FILE)? {
        return Ok(());
    }
    directory.remove(HOST_PUBLIC_FILE)?;
    for name in [HOST_KEY_FILE, VERIFICATION_FILE, SERIES_FILE] {
        if let Some(file) = directory.open_file(name, rustix::fs::OFlags::RDWR)? {
            let path = directory.path_of(name);
            let length = file.metadata().map_err(KeyError::io("examine", &path))?.len();
            let zeros = vec![0; usize::try_from(length).unwrap_or_default()];
            disk::overwrite(&file, &zeros, 0).map_err(KeyError::io("overwrite", &path))?;
            disk::sync(&file).map_err(KeyError::io("make durable", &path))?;
            directory.remove(name)?;
        }
    }
    directory.remove(SETUP_FILE)
}

fn read_host_key(directory: &KeyDirectory) -> Result<HostKey, KeyError> {
    let path = directory.path_of(HOST_KEY_FILE);
    let content = directory.read(HOST_KEY_FILE)?;
    let content = content.ok_or_else(|| KeyError::damaged(&path, "it is missing"))?;
    let read = text::read_host_key(&content);
    let (origin, seed) = read.ok_or_else(|| KeyError::damaged(&path, "it is no host key"))?;
    Ok(HostKey { origin, seed })
}

/// What in a directory without a series tells that there was one.
fn trace(directory: &LockedDirectory) -> Result<Option<PathBuf>, KeyError> {
    for name in [
        ENTRIES_FILE,
        NOTE_FILE,
        VERIFICATION_FILE,
        HOST_KEY_FILE,
        HOST_PUBLIC_FILE,
    ] {
        if directory.has(name)? {
            return Ok(Some(directory.path_of(name)));
        }
    }
    let path = directory.path();
    let listing = fs::read_dir(path).map_err(KeyError::io("list", path))?;
    let state = listing.filter_map(Result::ok).find(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| Hex::<16>::parse(name).is_some())
    });
    Ok(state.map(|entry| entry.path()).or_else(|| trace_beside(path)))
}

/// A log beside the directory of keys, where rei puts logs by default.
fn trace_beside(keys: &Path) -> Option<PathBuf> {
    let home = keys.parent()?;
    let runs = fs::read_dir(home.join("runs")).into_iter().flatten();
    let runs = runs.filter_map(Result::ok).map(|entry| entry.path());
    std::iter::once(home.join("log"))
        .chain(runs)
        .find(|log| holds_segment(log))
}

fn holds_segment(directory: &Path) -> bool {
    let listing = fs::read_dir(directory).into_iter().flatten();
    listing.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("seg-") && name.ends_with(".jsonl")
    })
}
