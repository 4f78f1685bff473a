//! The state of a host's series: `R_i`, where `i` is the number of the next log. Overwritten in place at
//! every birth.

use super::derive::SeriesKey;
use super::directory::{KeyDirectory, LockedDirectory};
use super::error::KeyError;
use super::id::SeriesId;
use super::secret::Secret;
use super::slot::Slots;
use zeroize::Zeroizing;

/// The name of the file.
pub(super) const SERIES_FILE: &str = "series";

const MAGIC: &[u8; 8] = b"REISER01";

/// The state of a host's series.
pub(super) struct Series {
    slots: Slots<32>,
    number: u64,
}

impl Series {
    /// A new series that stands at its first log.
    pub(super) fn create(
        directory: &LockedDirectory,
        id: SeriesId,
        r0: &SeriesKey,
    ) -> Result<Self, KeyError> {
        let slots = Slots::create(directory, SERIES_FILE, MAGIC, *id.bytes(), 0, payload(r0))?;
        Ok(Series { slots, number: 0 })
    }

    /// The series of a directory; `None` if there is none.
    pub(super) fn open(directory: &KeyDirectory) -> Result<Option<Self>, KeyError> {
        let Some(slots) = Slots::open(directory, SERIES_FILE, MAGIC, None)? else {
            return Ok(None);
        };
        let Some(number) = slots.highest() else {
            return Err(KeyError::damaged(
                slots.path(),
                "neither of its two slots is whole",
            ));
        };
        Ok(Some(Series { slots, number }))
    }

    pub(super) const fn id(&self) -> SeriesId {
        SeriesId::new(self.slots.id())
    }

    /// The number of the next log.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// `R_i` of [`Series::number`].
    pub(super) fn key(&self) -> Result<SeriesKey, KeyError> {
        let bytes = self.slots.payload(self.number);
        let bytes = bytes.ok_or_else(|| KeyError::damaged(self.slots.path(), "its key is gone"))?;
        Ok(SeriesKey::new(Secret::new(*bytes)))
    }

    /// Wipes the state before this one, if a power cut kept an advance from doing it.
    pub(super) fn settle(&mut self) -> Result<(), KeyError> {
        self.slots.wipe_below(self.number)
    }

    /// Goes on to the next number, durably: after this nothing on the host gives the key of the number
    /// before.
    pub(super) fn advance(&mut self) -> Result<(), KeyError> {
        let next = self.key()?.next(self.id(), self.number);
        self.slots.write(self.number + 1, payload(&next))?;
        self.number += 1;
        self.settle()
    }
}

fn payload(key: &SeriesKey) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(*key.secret().bytes())
}
