//! The opening of a segment: no event is ever written under a master key that is still on the disk.

use std::fs::File;

use super::directory::WriterDirectory;
use super::error::LogError;
use super::facts::{Facts, Limits};
use super::read::{HEAD_FILE, segment_file};
use crate::disk;
use crate::format::{Birth, Clocks, Decimal, FORMAT, Head, Hex, Previous};
use crate::keys::error::KeyError;
use crate::keys::signing::SigningSeed;
use crate::keys::state::{LogKeys, SegmentKeys};
use crate::seal::{Clock, Position, Reason, Sealer};

/// What every header of a writer says.
pub(super) struct Introduction {
    /// The host's name in checkpoints.
    pub(super) origin: String,
    /// The log's place in its series.
    pub(super) birth: Option<Birth>,
    /// Machine and program.
    pub(super) facts: Facts,
    /// When batches and segments end.
    pub(super) limits: Limits,
}

impl Introduction {
    /// A header without the fields that follow from the keys.
    fn head(&self, log: Hex<16>, prev: Previous, now: Clock) -> Head {
        Head {
            log,
            origin: self.origin.clone(),
            vk: Hex([0; 32]),
            nvk: Hex([0; 32]),
            ks: Hex([0; 64]),
            prev,
            birth: self.birth.clone(),
            fmt: Some(FORMAT.to_owned()),
            host: Some(self.facts.host.clone()),
            writer: Some(self.facts.writer.clone()),
            params: Some(self.limits.params()),
            clock: Some(Clocks {
                wall: Decimal(now.wall_ns),
                boot: Decimal(now.boot_ns),
            }),
        }
    }
}

/// A segment that takes events.
pub(super) struct Opened {
    pub(super) sealer: Sealer,
    pub(super) file: File,
    pub(super) len_bytes: u64,
}

/// Opens the segment that `position` stands at.
pub(super) fn open_segment(
    directory: &WriterDirectory,
    head_file: &File,
    keys: &mut LogKeys,
    introduction: &Introduction,
    (position, previous, lost): (Position, Previous, u64),
    now: Clock,
) -> Result<Opened, LogError> {
    let (log, n) = (keys.log(), position.segment);
    keys.wipe_below(n)?;
    let current = keys.segment(n).ok_or_else(|| LogError::Cut {
        directory: directory.path().to_owned(),
        next: n,
    })?;
    let next = announced(directory, keys, &current, n)?;
    let head = introduction.head(log.0, previous, now);
    let mut sealer = Sealer::open(log, position, &current, &next, head, lost, now)?;
    drop(current);
    let sealed = sealer.seal(now, Reason::Regular)?;

    let file = directory.make_segment(n)?;
    let path = directory.path().join(segment_file(n));
    disk::append(&file, sealer.batch()).map_err(LogError::io("write", &path))?;
    disk::sync(&file).map_err(LogError::io("make durable", &path))?;
    directory.sync()?;
    let len_bytes = sealer.batch().len() as u64;
    write_head(directory, head_file, &sealed.head_file)?;
    sealer.step();
    keys.wipe_below(n + 1)?;
    Ok(Opened {
        sealer,
        file,
        len_bytes,
    })
}

/// The public key of the next segment; made now, unless an opening that was cut short has announced one.
fn announced(
    directory: &WriterDirectory,
    keys: &mut LogKeys,
    current: &SegmentKeys,
    n: u64,
) -> Result<Hex<32>, LogError> {
    if let Some(next) = keys.segment(n + 1) {
        return Ok(next.signing.public());
    }
    let seed = SigningSeed::random();
    let next = SegmentKeys {
        master: current.master.next(keys.log(), n),
        signing: seed.map_err(KeyError::io("read random bytes for", directory.path()))?,
    };
    keys.keep(n + 1, &next)?;
    Ok(next.signing.public())
}

/// Overwrites the head token, durably.
pub(super) fn write_head(directory: &WriterDirectory, file: &File, content: &[u8]) -> Result<(), LogError> {
    let path = directory.path().join(HEAD_FILE);
    disk::overwrite(file, content, 0).map_err(LogError::io("write", &path))?;
    disk::sync(file).map_err(LogError::io("make durable", &path))
}
