//! The host's key state of a log, read by the auditor who sits on the host: which segment can be opened next.

use std::path::Path;

use super::HostState;
use super::examination::Examination;
use super::finding::{Spread, Violation, Where};
use crate::format::Hex;
use crate::keys::secret::Secret;
use crate::log::read::{ReadError, Secrecy, read_file};

/// What the file begins with.
const MAGIC: &[u8; 8] = b"REIKEY01";
/// Where the two slots begin.
const SLOTS_AT: [usize; 2] = [0, 4096];
/// Bytes of a slot before its checksum: magic, generation, log, master key, signing seed.
const COVERED_BYTES: usize = 8 + 8 + 16 + 32 + 32;
/// Length of the file.
const FILE_BYTES: usize = 8192;

/// The whole slots of a key state.
pub(super) struct Slots(Vec<Slot>);

struct Slot {
    generation: u64,
    log: Hex<16>,
    master: Secret,
}

/// What there is of a key state.
pub(super) enum Found {
    /// It was not asked for, or is not there to be read.
    Nothing,
    /// It was asked for and is not there.
    Absent,
    /// It is there.
    Slots(Slots),
}

impl Slots {
    /// Reads the key state of a log. Where it is only looked for, what cannot be read is as good as not there.
    pub(super) fn read(keys: HostState<'_>, log: Option<Hex<16>>) -> Result<Found, ReadError> {
        let (directory, is_expected) = match keys {
            HostState::Ignored => return Ok(Found::Nothing),
            HostState::IfThere(directory) => (directory, false),
            HostState::Expected(directory) => (directory, true),
        };
        let Some(log) = log else {
            return Ok(if is_expected {
                Found::Absent
            } else {
                Found::Nothing
            });
        };
        match Self::of_file(&directory.join(log.to_string())) {
            Ok(slots) => Ok(Found::Slots(slots)),
            Err(error) if error.is_absent() && is_expected => Ok(Found::Absent),
            Err(error) if is_expected => Err(error),
            Err(_) => Ok(Found::Nothing),
        }
    }

    fn of_file(path: &Path) -> Result<Self, ReadError> {
        let content = zeroize::Zeroizing::new(read_file(path, FILE_BYTES, Secrecy::Secret)?);
        Ok(Slots(
            SLOTS_AT
                .into_iter()
                .zip(0..)
                .filter_map(|(at, parity)| {
                    Slot::read(content.get(at..)?).filter(|slot| slot.generation % 2 == parity)
                })
                .collect(),
        ))
    }

    fn generations(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|slot| slot.generation)
    }
}

impl Slot {
    fn read(bytes: &[u8]) -> Option<Self> {
        let covered = bytes.get(..COVERED_BYTES)?;
        let check: [u8; 4] = bytes.get(COVERED_BYTES..COVERED_BYTES + 4)?.try_into().ok()?;
        if !covered.starts_with(MAGIC) || crc32(covered) != u32::from_le_bytes(check) {
            return None;
        }
        Some(Slot {
            generation: u64::from_be_bytes(covered[8..16].try_into().ok()?),
            log: Hex(covered[16..32].try_into().ok()?),
            master: Secret::new(covered[32..64].try_into().ok()?),
        })
    }
}

/// Where a host's series stands: its name, and the number of the next log.
pub(super) fn series_state(keys: &Path) -> Result<Option<(Hex<16>, u64)>, ReadError> {
    const MAGIC: &[u8; 8] = b"REISER01";
    const COVERED_BYTES: usize = 8 + 8 + 16 + 32;
    let content = match read_file(&keys.join("series"), FILE_BYTES, Secrecy::Secret) {
        Ok(content) => zeroize::Zeroizing::new(content),
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error),
    };
    let states = SLOTS_AT.into_iter().filter_map(|at| {
        let covered = content.get(at..at + COVERED_BYTES)?;
        let check: [u8; 4] = content
            .get(at + COVERED_BYTES..at + COVERED_BYTES + 4)?
            .try_into()
            .ok()?;
        let is_whole = covered.starts_with(MAGIC) && crc32(covered) == u32::from_le_bytes(check);
        let number = u64::from_be_bytes(covered[8..16].try_into().ok()?);
        is_whole.then_some((Hex(covered[16..32].try_into().ok()?), number))
    });
    Ok(states.max_by_key(|(_, number)| *number))
}

/// CRC-32/IEEE, bit by bit: two hundred bytes of a whole log.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

impl Examination<'_> {
    /// Judges a key state that was read before the log and again after it: the first bounds the log's end from below,
    /// the second from above. Says whether it fits.
    pub(super) fn key_state(&mut self, top: u64, before: &Slots, after: &Slots) -> bool {
        let place = Where {
            segment: Some(top),
            ..Where::default()
        };
        let lowest = before.generations().min();
        let highest = after.generations().max();
        let is_this_end =
            lowest.is_some_and(|lowest| lowest <= top + 1) && highest.is_some_and(|highest| top < highest);
        if !is_this_end {
            self.violate(Violation::KeyStateGeneration, Spread::Log, place, || {
                format!("segment {top} is the last; the key state holds what opens {lowest:?} to {highest:?}")
            });
        }
        // An opening that was cut short still has its key; otherwise the segment was in use.
        let is_unopened = self.facts.last().is_some_and(|facts| facts.last_epoch.is_none());
        let has_key = before
            .generations()
            .chain(after.generations())
            .any(|at| at == top);
        if is_unopened && !has_key {
            self.violate(Violation::Unsealed, Spread::Segment, place, || {
                "its key is used up, so it has held more than there is".to_owned()
            });
        }
        for slot in &after.0 {
            let is_of_log = self.log.is_none_or(|log| log == slot.log);
            let computed = self
                .ratchet
                .as_mut()
                .filter(|_| slot.generation >= top)
                .and_then(|ratchet| ratchet.master(slot.generation));
            let is_derived = computed.is_none_or(|master| master.secret().equals(&slot.master));
            if !is_of_log || !is_derived {
                self.violate(Violation::KeyStateValue, Spread::Log, place, String::new);
            }
        }
        is_this_end
    }
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn crc_is_the_one_of_ieee() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
