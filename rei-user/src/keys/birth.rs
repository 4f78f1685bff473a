//! The birth of a log: which number of the series it takes, and what a birth that was cut short leaves.
//!
//! Under the directory's lock: note the number and the log; advance the series in place; make the log's key
//! state; (the log is made by its writer;) add the line `born` to the series' list; remove the note. A note
//! that is found later tells how far its birth came: the series did not advance, then the number is still
//! free; the key of segment 0 is wiped, then the log was born; otherwise the number is void, and what could
//! still open the log is wiped.

use serde::{Deserialize, Serialize};

use super::derive::MasterKey;
use super::directory::LockedDirectory;
use super::entry::{self, Entry, Fate};
use super::error::KeyError;
use super::host::HostKey;
use super::id::LogId;
use super::series::Series;
use super::signing::SigningSeed;
use super::state::{LogKeys, SegmentKeys};
use crate::format::{self, Count, Hex};

/// The name of the note.
pub(super) const NOTE_FILE: &str = "birth";

/// The note of a birth under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// The number.
    i: Count,
    /// The log.
    log: Hex<16>,
}

/// A log that is being born: its keys, and its place in the series. No other birth begins until this is
/// dropped.
///
/// Dropped without [`Birth::finish`], the note stays, and the next birth settles it.
pub struct Birth {
    directory: LockedDirectory,
    series: Series,
    number: u64,
    keys: LogKeys,
    certificate: format::Birth,
}

impl Birth {
    /// Takes the next number. `seed` is the signing seed of segment 0, fresh and random.
    pub(super) fn begin(
        directory: LockedDirectory,
        host: &HostKey,
        log: LogId,
        seed: SigningSeed,
    ) -> Result<Self, KeyError> {
        let mut series = open_series(&directory)?;
        settle(&directory, &mut series)?;
        let number = series.number();
        let note = Note {
            i: Count::new(number),
            log: log.0,
        };
        // Plain data: this cannot fail.
        let note = serde_json::to_vec(&note).unwrap_or_default();
        directory.create(NOTE_FILE, 0o600, &note)?;
        let master: MasterKey = series.key()?.master(series.id(), number);
        series.advance()?;
        let first = SegmentKeys {
            master,
            signing: seed,
        };
        let certificate = host.certify(log, series.id(), number, first.signing.public());
        let keys = LogKeys::create(&directory, log, &first)?;
        Ok(Birth {
            directory,
            series,
            number,
            keys,
            certificate,
        })
    }

    /// Takes up the birth that the note is of, if it is this log's and the key of segment 0 still exists.
    pub(super) fn resume(
        directory: LockedDirectory,
        host: &HostKey,
        log: LogId,
    ) -> Result<Option<Self>, KeyError> {
        let mut series = open_series(&directory)?;
        series.settle()?;
        let Some(note) = read_note(&directory)? else {
            return Ok(None);
        };
        let number = note.i.value();
        if note.log != log.0 || number + 1 != series.number() {
            return Ok(None);
        }
        let keys = LogKeys::open(&directory, log)?;
        let Some(first) = keys.segment(0) else {
            return Ok(None);
        };
        let certificate = host.certify(log, series.id(), number, first.signing.public());
        drop(first);
        Ok(Some(Birth {
            directory,
            series,
            number,
            keys,
            certificate,
        }))
    }

    /// The log's name.
    #[must_use]
    pub const fn log(&self) -> LogId {
        self.keys.log()
    }

    /// The log's key state; it holds what opens segment 0.
    pub const fn keys_mut(&mut self) -> &mut LogKeys {
        &mut self.keys
    }

    /// The log's place in the series, as every header of it carries.
    #[must_use]
    pub const fn certificate(&self) -> &format::Birth {
        &self.certificate
    }

    /// Ends the birth of a log that can take events now.
    ///
    /// # Errors
    /// If the series' list cannot be written.
    pub fn finish(self) -> Result<LogKeys, KeyError> {
        record(
            &self.directory,
            &self.series,
            Fate::Born,
            self.number,
            self.keys.log(),
        )?;
        self.directory.remove(NOTE_FILE)?;
        Ok(self.keys)
    }
}

fn open_series(directory: &LockedDirectory) -> Result<Series, KeyError> {
    let path = directory.path_of(super::series::SERIES_FILE);
    Series::open(directory)?.ok_or_else(|| KeyError::SeriesMissing {
        directory: directory.path().to_owned(),
        trace: path,
    })
}

/// The note of a birth under way. One that was torn while it was written is as good as none: nothing had
/// happened yet.
fn read_note(directory: &LockedDirectory) -> Result<Option<Note>, KeyError> {
    let content = directory.read(NOTE_FILE)?;
    Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
}

/// Settles what a birth that was cut short left.
fn settle(directory: &LockedDirectory, series: &mut Series) -> Result<(), KeyError> {
    series.settle()?;
    let Some(note) = read_note(directory)? else {
        return if directory.has(NOTE_FILE)? {
            directory.remove(NOTE_FILE)
        } else {
            Ok(())
        };
    };
    let path = directory.path_of(NOTE_FILE);
    let (number, log) = (note.i.value(), LogId(note.log));
    if number + 1 == series.number() {
        let fate = match LogKeys::open(directory, log) {
            Ok(keys) if keys.lowest() == Some(0) => {
                keys.destroy(directory)?;
                Fate::Void
            }
            Ok(_) => Fate::Born,
            Err(KeyError::LogUnknown { .. } | KeyError::Damaged { .. }) => {
                directory.remove(&log.to_string())?;
                Fate::Void
            }
            Err(error) => return Err(error),
        };
        record(directory, series, fate, number, log)?;
    } else if number != series.number() {
        let why = format!(
            "it is of number {number}, but the series stands at {}",
            series.number()
        );
        return Err(KeyError::damaged(&path, why));
    }
    directory.remove(NOTE_FILE)
}

fn record(
    directory: &LockedDirectory,
    series: &Series,
    fate: Fate,
    i: u64,
    log: LogId,
) -> Result<(), KeyError> {
    let line = Entry::line(series.id(), series.number(), &series.key()?, fate, i, log);
    entry::add(directory, &line)
}
