//! Two slots of 512 bytes, 4096 apart, overwritten in place: how a secret evolves on disk.
//!
//! A slot is `magic ‖ be64 generation ‖ id(16) ‖ payload ‖ CRC-32 ‖ zeros`. Never a new file and a rename:
//! that would leave the old secret in freed blocks. A power cut in the middle of a write damages at most the
//! slot that was being written, and the CRC tells: the other one is then whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use zeroize::Zeroizing;

use super::directory::KeyDirectory;
use super::error::KeyError;
use crate::disk;

const SLOT_BYTES: usize = 512;
const SLOT_DISTANCE: usize = 4096;
const FILE_BYTES: usize = 2 * SLOT_DISTANCE;
const MAGIC_BYTES: usize = 8;
const HEADER_BYTES: usize = MAGIC_BYTES + 8 + 16;

/// A file of two slots with `N` secret bytes each.
pub(super) struct Slots<const N: usize> {
    file: File,
    path: PathBuf,
    magic: &'static [u8; MAGIC_BYTES],
    id: [u8; 16],
    slots: [Slot<N>; 2],
}

/// What a slot holds.
enum Slot<const N: usize> {
    Empty,
    /// Cut short while it was written; what it held is nowhere else promised.
    Torn,
    Full {
        generation: u64,
        payload: Zeroizing<[u8; N]>,
    },
}

impl<const N: usize> Slots<N> {
    /// A new file that holds one generation.
    pub(super) fn create(
        directory: &KeyDirectory,
        name: &str,
        magic: &'static [u8; MAGIC_BYTES],
        id: [u8; 16],
        generation: u64,
        payload: Zeroizing<[u8; N]>,
    ) -> Result<Self, KeyError> {
        let mut content = Zeroizing::new(vec![0; FILE_BYTES]);
        let at = position(generation) * SLOT_DISTANCE;
        let bytes = slot_bytes(magic, generation, &id, &payload);
        content[at..at + SLOT_BYTES].copy_from_slice(&*bytes);
        let file = directory.create(name, 0o600, &content)?;
        let mut slots = [Slot::Empty, Slot::Empty];
        slots[position(generation)] = Slot::Full { generation, payload };
        Ok(Slots {
            file,
            path: directory.path_of(name),
            magic,
            id,
            slots,
        })
    }

    /// An existing file; `None` if there is none. Its id is checked, if one is given.
    pub(super) fn open(
        directory: &KeyDirectory,
        name: &str,
        magic: &'static [u8; MAGIC_BYTES],
        id: Option<[u8; 16]>,
    ) -> Result<Option<Self>, KeyError> {
        let Some(file) = directory.open_file(name, OFlags::RDWR)? else {
            return Ok(None);
        };
        let path = directory.path_of(name);
        // A writer that was killed may have left what it wrote in the page cache only: nothing builds on
        // that.
        disk::sync(&file).map_err(KeyError::io("make durable", &path))?;
        let mut content = Zeroizing::new(vec![0; FILE_BYTES]);
        file.read_exact_at(&mut content, 0).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                KeyError::damaged(&path, "it is too short")
            } else {
                KeyError::io("read", &path)(error)
            }
        })?;
        let mut ids = [None; 2];
        let slots = [0, 1].map(|at| {
            let bytes = &content[at * SLOT_DISTANCE..at * SLOT_DISTANCE + SLOT_BYTES];
            let (slot, its_id) = read_slot(magic, bytes, at);
            ids[at] = its_id;
            slot
        });
        let Some(id) = id.or(ids[0]).or(ids[1]) else {
            return Err(KeyError::damaged(&path, "neither of its two slots is whole"));
        };
        if ids.iter().flatten().any(|its| *its != id) {
            return Err(KeyError::damaged(&path, "it belongs to something else"));
        }
        let slots = Slots {
            file,
            path,
            magic,
            id,
            slots,
        };
        slots.check()?;
        Ok(Some(slots))
    }

    /// At least one slot is whole, and two are neighbours.
    fn check(&self) -> Result<(), KeyError> {
        match (self.lowest(), self.highest()) {
            (Some(lowest), Some(highest)) if highest - lowest <= 1 => Ok(()),
            (Some(_), Some(_)) => Err(KeyError::damaged(
                &self.path,
                "its two slots do not follow each other",
            )),
            _ => Err(KeyError::damaged(&self.path, "neither of its two slots is whole")),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn id(&self) -> [u8; 16] {
        self.id
    }

    pub(super) fn lowest(&self) -> Option<u64> {
        self.generations().min()
    }

    pub(super) fn highest(&self) -> Option<u64> {
        self.generations().max()
    }

    fn generations(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Full { generation, .. } => Some(*generation),
            Slot::Empty | Slot::Torn => None,
        })
    }

    /// What is kept of a generation; `None` if it is gone or was never there.
    pub(super) fn payload(&self, wanted: u64) -> Option<&[u8; N]> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Full { generation, payload } if *generation == wanted => Some(&**payload),
            _ => None,
        })
    }

    /// Writes a generation into its slot, durably. What was there is gone.
    pub(super) fn write(&mut self, generation: u64, payload: Zeroizing<[u8; N]>) -> Result<(), KeyError> {
        let bytes = slot_bytes(self.magic, generation, &self.id, &payload);
        self.put(position(generation), &bytes)?;
        self.slots[position(generation)] = Slot::Full { generation, payload };
        Ok(())
    }

    /// Overwrites every generation below with zeros, durably, and what a power cut left of a write.
    pub(super) fn wipe_below(&mut self, generation: u64) -> Result<(), KeyError> {
        for at in 0..self.slots.len() {
            let has_to_go = match &self.slots[at] {
                Slot::Empty => false,
                Slot::Torn => true,
                Slot::Full { generation: its, .. } => *its < generation,
            };
            if has_to_go {
                self.put(at, &[0; SLOT_BYTES])?;
                self.slots[at] = Slot::Empty;
            }
        }
        Ok(())
    }

    /// Overwrites everything with zeros, durably.
    pub(super) fn wipe(&mut self) -> Result<(), KeyError> {
        self.wipe_below(u64::MAX)
    }

    fn put(&self, at: usize, bytes: &[u8; SLOT_BYTES]) -> Result<(), KeyError> {
        disk::overwrite(&self.file, bytes, (at * SLOT_DISTANCE) as u64)
            .map_err(KeyError::io("overwrite a key in", &self.path))?;
        disk::sync(&self.file).map_err(KeyError::io("make durable", &self.path))
    }
}

/// Neighbours are in different slots.
const fn position(generation: u64) -> usize {
    (generation % 2) as usize
}

fn slot_bytes<const N: usize>(
    magic: &[u8; MAGIC_BYTES],
    generation: u64,
    id: &[u8; 16],
    payload: &[u8; N],
) -> Zeroizing<[u8; SLOT_BYTES]> {
    let mut bytes = Zeroizing::new([0; SLOT_BYTES]);
    bytes[..MAGIC_BYTES].copy_from_slice(magic);
    bytes[MAGIC_BYTES..MAGIC_BYTES + 8].copy_from_slice(&generation.to_be_bytes());
    bytes[MAGIC_BYTES + 8..HEADER_BYTES].copy_from_slice(id);
    let end = HEADER_BYTES + N;
    bytes[HEADER_BYTES..end].copy_from_slice(payload);
    let check = crc32(&bytes[..end]);
    bytes[end..end + 4].copy_from_slice(&check.to_le_bytes());
    bytes
}

fn read_slot<const N: usize>(
    magic: &[u8; MAGIC_BYTES],
    bytes: &[u8],
    at: usize,
) -> (Slot<N>, Option<[u8; 16]>) {
    if bytes.iter().all(|byte| *byte == 0) {
        return (Slot::Empty, None);
    }
    let end = HEADER_BYTES + N;
    let (Ok(generation), Ok(id), Ok(payload)) = (
        bytes[MAGIC_BYTES..MAGIC_BYTES + 8]
            .try_into()
            .map(u64::from_be_bytes),
        <[u8; 16]>::try_from(&bytes[MAGIC_BYTES + 8..HEADER_BYTES]),
        <[u8; N]>::try_from(&bytes[HEADER_BYTES..end]),
    ) else {
        return (Slot::Torn, None);
    };
    let payload = Zeroizing::new(payload);
    // Whole means: exactly these bytes, the zeros at the end included.
    let is_whole = *slot_bytes(magic, generation, &id, &payload) == *bytes && position(generation) == at;
    if is_whole {
        (Slot::Full { generation, payload }, Some(id))
    } else {
        (Slot::Torn, None)
    }
}

/// CRC-32/IEEE. Bit by bit: a hundred bytes, a few times in a log's life.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::keys::tests::directory;

    const MAGIC: &[u8; 8] = b"REITEST1";
    const ID: [u8; 16] = [9; 16];

    fn payload(byte: u8) -> Zeroizing<[u8; 32]> {
        Zeroizing::new([byte; 32])
    }

    fn open(keys: &KeyDirectory) -> Result<Slots<32>, KeyError> {
        Slots::<32>::open(keys, "slots", MAGIC, Some(ID)).map(|slots| slots.expect("it was made"))
    }

    #[test]
    fn crc_is_the_one_of_ieee() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_generation_replaces_the_one_before_in_place() {
        let (_temporary, keys) = directory();
        let mut slots = Slots::create(&keys, "slots", MAGIC, ID, 4, payload(4)).expect("made");
        slots.write(5, payload(5)).expect("written");
        let both = open(&keys).expect("whole");
        assert_eq!((both.lowest(), both.highest()), (Some(4), Some(5)));
        assert_eq!(both.payload(4), Some(&[4; 32]));
        slots.wipe_below(5).expect("wiped");
        let one = open(&keys).expect("whole");
        assert_eq!(
            (one.lowest(), one.payload(4), one.payload(5)),
            (Some(5), None, Some(&[5; 32]))
        );
        let bytes = fs::read(keys.path_of("slots")).expect("our file");
        assert_eq!(bytes.len(), 8192);
        assert!(!bytes.contains(&4), "nothing is left of the old secret");
        slots.wipe().expect("wiped");
        assert_eq!(fs::read(keys.path_of("slots")).expect("our file"), vec![0; 8192]);
    }

    #[test]
    fn each_damaged_byte_of_a_slot_is_noticed_and_the_other_slot_is_used() {
        let (_temporary, keys) = directory();
        let mut slots = Slots::create(&keys, "slots", MAGIC, ID, 0, payload(1)).expect("made");
        slots.write(1, payload(2)).expect("written");
        let whole = fs::read(keys.path_of("slots")).expect("our file");
        for (start, left) in [(0, 1), (4096, 0)] {
            for at in start..start + 512 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1;
                fs::write(keys.path_of("slots"), &bytes).expect("our file");
                let opened = open(&keys).expect("one slot is whole");
                assert_eq!(
                    (opened.lowest(), opened.highest()),
                    (Some(left), Some(left)),
                    "{at}"
                );
            }
        }
        for (first, second) in [(0, 4096), (100, 4200), (511, 4607)] {
            let mut bytes = whole.clone();
            bytes[first] ^= 1;
            bytes[second] ^= 1;
            fs::write(keys.path_of("slots"), &bytes).expect("our file");
            let error = open(&keys).err().expect("no slot is whole").to_string();
            assert!(error.contains("neither of its two slots is whole"), "{error}");
        }
    }

    #[test]
    fn what_belongs_to_something_else_is_refused() {
        let (_temporary, keys) = directory();
        Slots::create(&keys, "slots", MAGIC, [8; 16], 0, payload(1)).expect("made");
        assert!(open(&keys).is_err(), "another id");
        assert!(
            Slots::<32>::open(&keys, "slots", b"REITEST2", None).is_err(),
            "another kind"
        );
        fs::write(keys.path_of("slots"), [0; 4096]).expect("our file");
        let error = open(&keys).err().expect("too short").to_string();
        assert!(error.contains("too short"), "{error}");
    }
}
