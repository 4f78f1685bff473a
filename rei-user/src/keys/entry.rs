//! The list of a series: which number became which log, and which number became none.
//!
//! A line a number, so that none is ever silently missing. Each line is tagged with a key that evolves with
//! the series: whoever takes the host over can add lines for what comes, but cannot void a log of the past.

use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use super::derive::SeriesKey;
use super::directory::LockedDirectory;
use super::error::KeyError;
use super::id::{LogId, SeriesId};
use crate::disk;
use crate::format::{Count, Hex};

/// The name of the file.
pub const ENTRIES_FILE: &str = "series.log";

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// A log.
    Born,
    /// None: its birth was cut short before it could hold an event.
    Void,
}

/// One line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where the series stood when the line was written: the number of the key of its tag.
    pub at: Count,
    /// What became of the number.
    pub e: Fate,
    /// The number.
    pub i: Count,
    /// The log that it was for.
    pub log: Hex<16>,
    /// HMAC-SHA256 over the line up to the tag's digits.
    pub tag: Hex<32>,
}

/// Digits of a tag and what follows them: `"}`.
const TAG_END_BYTES: usize = 64 + 2;

impl Entry {
    /// The line with its tag, without its line feed. `key` is the series' key of the number `at`.
    pub(super) fn line(
        series: SeriesId,
        at: u64,
        key: &SeriesKey,
        fate: Fate,
        i: u64,
        log: LogId,
    ) -> Vec<u8> {
        let mut entry = Entry {
            at: Count::new(at),
            e: fate,
            i: Count::new(i),
            log: log.0,
            tag: Hex([0; 32]),
        };
        let line = entry.bytes();
        entry.tag = key.entry_tag(series, at, before_tag(&line));
        entry.bytes()
    }

    /// Reads a line without its line feed; `None` if it is none, or in other bytes than rei writes.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Self> {
        let entry: Entry = serde_json::from_slice(line).ok()?;
        (entry.bytes() == line).then_some(entry)
    }

    /// Whether the tag is right. `key` is the series' key of the number [`Entry::at`].
    #[must_use]
    pub fn verifies(&self, series: SeriesId, key: &SeriesKey) -> bool {
        let line = self.bytes();
        key.verifies_entry(series, self.at.value(), before_tag(&line), &self.tag)
    }

    fn bytes(&self) -> Vec<u8> {
        // Plain data: this cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn before_tag(line: &[u8]) -> &[u8] {
    &line[..line.len().saturating_sub(TAG_END_BYTES)]
}

/// Adds a line to the list, durably, unless the last line says it already.
pub(super) fn add(directory: &LockedDirectory, line: &[u8]) -> Result<(), KeyError> {
    let path = directory.path_of(ENTRIES_FILE);
    let file = match directory.open_file(ENTRIES_FILE, OFlags::RDWR | OFlags::APPEND)? {
        Some(file) => file,
        None => {
            directory.create(ENTRIES_FILE, 0o600, b"")?;
            let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let made = openat(&**directory, ENTRIES_FILE, flags, Mode::empty());
            made.map_err(KeyError::io("open", &path))?.into()
        }
    };
    let length = file.metadata().map_err(KeyError::io("examine", &path))?.len();
    // A line that a power cut tore was never relied on.
    let tail_start = length.saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; usize::try_from(length - tail_start).unwrap_or_default()];
    file.read_exact_at(&mut tail, tail_start)
        .map_err(KeyError::io("read", &path))?;
    let whole = tail
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole == 0 && tail_start > 0 {
        return Err(KeyError::damaged(&path, "it has no lines at its end"));
    }
    if whole < tail.len() {
        file.set_len(tail_start + whole as u64)
            .map_err(KeyError::io("cut the torn line of", &path))?;
    }
    let said = tail[..whole].strip_suffix(b"\n").unwrap_or_default();
    if said.rsplit(|byte| *byte == b'\n').next() != Some(line) {
        let mut bytes = line.to_vec();
        bytes.push(b'\n');
        disk::append(&file, &bytes).map_err(KeyError::io("write", &path))?;
    }
    disk::sync(&file).map_err(KeyError::io("make durable", &path))
}

/// Longest end of the list that is looked at: several lines of less than 200 bytes.
const TAIL_BYTES: u64 = 1024;

/// Every whole line of the list, in order; nothing if there is no list.
pub(super) fn lines(directory: &super::directory::KeyDirectory) -> Result<Vec<Vec<u8>>, KeyError> {
    let Some(mut file) = directory.open_file(ENTRIES_FILE, OFlags::RDONLY)? else {
        return Ok(Vec::new());
    };
    let mut content = Vec::new();
    file.read_to_end(&mut content)
        .map_err(KeyError::io("read", &directory.path_of(ENTRIES_FILE)))?;
    let whole = content.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    Ok(content[..whole]
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect())
}
