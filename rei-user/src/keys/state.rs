//! The key state of one log: what opens its next segment, and nothing that opens an earlier one.
//!
//! It is written by the log's only writer, which holds the log's lock.

use zeroize::Zeroizing;

use super::derive::MasterKey;
use super::directory::KeyDirectory;
use super::error::KeyError;
use super::id::LogId;
use super::secret::{SECRET_BYTES, Secret};
use super::signing::SigningSeed;
use super::slot::Slots;

const MAGIC: &[u8; 8] = b"REIKEY01";

/// The key state of one log, in a file named like the log.
pub struct LogKeys {
    log: LogId,
    slots: Slots<{ 2 * SECRET_BYTES }>,
}

/// What opens one segment.
pub struct SegmentKeys {
    /// `M_n`.
    pub master: MasterKey,
    /// `skseed_n`.
    pub signing: SigningSeed,
}

impl SegmentKeys {
    fn payload(&self) -> Zeroizing<[u8; 2 * SECRET_BYTES]> {
        let mut payload = Zeroizing::new([0; 2 * SECRET_BYTES]);
        payload[..SECRET_BYTES].copy_from_slice(self.master.secret().bytes());
        payload[SECRET_BYTES..].copy_from_slice(self.signing.secret().bytes());
        payload
    }
}

impl LogKeys {
    /// The key state of a new log, holding what opens segment 0.
    pub(crate) fn create(
        directory: &KeyDirectory,
        log: LogId,
        first: &SegmentKeys,
    ) -> Result<Self, KeyError> {
        let name = log.to_string();
        let slots = Slots::create(directory, &name, MAGIC, *log.bytes(), 0, first.payload())?;
        Ok(LogKeys { log, slots })
    }

    /// The key state of a log that has one.
    ///
    /// # Errors
    /// If there is none, it is damaged, or others could get at it.
    pub fn open(directory: &KeyDirectory, log: LogId) -> Result<Self, KeyError> {
        let slots = Slots::open(directory, &log.to_string(), MAGIC, Some(*log.bytes()))?;
        let slots = slots.ok_or_else(|| KeyError::LogUnknown {
            path: directory.path_of(&log.to_string()),
        })?;
        Ok(LogKeys { log, slots })
    }

    /// Whose keys these are.
    #[must_use]
    pub const fn log(&self) -> LogId {
        self.log
    }

    /// The lowest segment that could be opened with it.
    #[must_use]
    pub fn lowest(&self) -> Option<u64> {
        self.slots.lowest()
    }

    /// The highest segment that could be opened with it.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.slots.highest()
    }

    /// What opens a segment; `None` if it is wiped or not yet there.
    #[must_use]
    pub fn segment(&self, n: u64) -> Option<SegmentKeys> {
        let payload = self.slots.payload(n)?;
        let mut halves = payload.chunks_exact(SECRET_BYTES).map(|half| {
            let mut bytes = [0; SECRET_BYTES];
            bytes.copy_from_slice(half);
            Secret::new(bytes)
        });
        Some(SegmentKeys {
            master: MasterKey::new(halves.next()?),
            signing: SigningSeed::new(halves.next()?),
        })
    }

    /// Keeps what opens segment `n`, durably.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&mut self, n: u64, keys: &SegmentKeys) -> Result<(), KeyError> {
        self.slots.write(n, keys.payload())
    }

    /// Wipes what opens a segment below `n`, durably.
    ///
    /// # Errors
    /// If it cannot be overwritten.
    pub fn wipe_below(&mut self, n: u64) -> Result<(), KeyError> {
        self.slots.wipe_below(n)
    }

    /// Wipes everything and removes the file.
    pub(super) fn destroy(mut self, directory: &KeyDirectory) -> Result<(), KeyError> {
        self.slots.wipe()?;
        directory.remove(&self.log.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::directory;

    fn keys(byte: u8) -> SegmentKeys {
        SegmentKeys {
            master: MasterKey::new(Secret::new([byte; 32])),
            signing: SigningSeed::new(Secret::new([byte + 100; 32])),
        }
    }

    #[test]
    fn a_log_finds_the_keys_of_its_next_segment_and_of_no_earlier_one() {
        let (_temporary, directory) = directory();
        let log = LogId::new([3; 16]);
        let mut state = LogKeys::create(&directory, log, &keys(1)).expect("made");
        state.keep(1, &keys(2)).expect("kept");
        state.wipe_below(1).expect("wiped");
        let state = LogKeys::open(&directory, log).expect("it is there");
        assert_eq!((state.lowest(), state.highest()), (Some(1), Some(1)));
        assert!(state.segment(0).is_none());
        let kept = state.segment(1).expect("kept");
        assert!(kept.master.secret().equals(&Secret::new([2; 32])));
        assert!(kept.signing.secret().equals(&Secret::new([102; 32])));
        let other = LogKeys::open(&directory, LogId::new([4; 16]));
        let error = other.err().expect("another log").to_string();
        assert!(error.contains("04040404") && error.contains("missing"), "{error}");
    }
}
