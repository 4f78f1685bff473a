//! The seal: bodies → sealed lines. It chains every line to the one before, ends each batch with a seal, and
//! forgets the key of a seal once it is on the disk.
//!
//! It does no I/O. `log` writes what it gives, in the order that [`Sealer::seal`] and [`Sealer::step`] stand
//! for: the batch, durably; the head token, durably; only then the next key.

mod checkpoint;
mod position;

pub use self::checkpoint::checkpoint;
pub use self::position::{Clock, Position};

use crate::format::{
    Body, Count, Decimal, Head, Hex, Seal, Token, TooLong, before_tag, leaf, put_tag, seal_flag,
    segment_key_message, write_into,
};
use crate::keys::id::LogId;
use crate::keys::locked::LockedKeys;
use crate::keys::signing::SigningSeed;
use crate::keys::state::SegmentKeys;

/// The sealer of one open segment.
pub struct Sealer {
    log: LogId,
    position: Position,
    keys: LockedKeys,
    /// The number of the next seal of this segment.
    epoch: u64,
    /// Lines since the last seal.
    lines: u64,
    /// Events lost so far, in the whole log.
    lost: u64,
    /// Whole lines that are not written yet.
    batch: Vec<u8>,
    /// `CLOCK_BOOTTIME` of the last line of this process, in ns.
    boot_ns: u64,
}

/// Why a batch is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is full, or old enough.
    Regular,
    /// A finding should not wait.
    Urgent,
    /// The segment ends.
    Close,
}

impl Reason {
    const fn flags(self) -> u64 {
        match self {
            Reason::Regular => 0,
            Reason::Urgent => seal_flag::URGENT,
            Reason::Close => seal_flag::CLOSE,
        }
    }
}

/// A seal that was added to the batch, and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The content of the head file, to be written once the batch is durable.
    pub head_file: Vec<u8>,
    /// The seal's number in its segment.
    pub epoch: u64,
}

impl Sealer {
    /// Opens a segment: the batch holds its header then. The caller's `head` says everything but the three
    /// fields that follow from the keys: `vk`, `nvk` and `ks`.
    ///
    /// # Errors
    /// If the header is too long for a line.
    pub fn open(
        log: LogId,
        position: Position,
        keys: &SegmentKeys,
        next: &Hex<32>,
        mut head: Head,
        lost: u64,
        now: Clock,
    ) -> Result<Self, TooLong> {
        let mut locked = LockedKeys::new();
        locked.put(&keys.master.step(log, position.segment), &keys.signing);
        head.vk = keys.signing.public();
        head.nvk = *next;
        let message = segment_key_message(&log.0, position.segment, &head.vk, next);
        head.ks = keys.signing.sign(&message);
        let mut sealer = Sealer {
            log,
            position,
            keys: locked,
            epoch: 0,
            lines: 0,
            lost,
            batch: Vec::new(),
            boot_ns: now.boot_ns,
        };
        sealer.append(now, &Body::Head(Box::new(head)))?;
        Ok(sealer)
    }

    /// Adds a line to the batch and gives its number.
    ///
    /// # Errors
    /// If it is too long for a line; nothing was added then.
    pub fn append(&mut self, now: Clock, body: &Body) -> Result<u64, TooLong> {
        let sequence = self.position.sequence;
        let start = self.batch.len();
        let now = self.not_before(now);
        write_into(&mut self.batch, &self.position.place(now), body)?;
        self.end_line(start);
        self.lines += 1;
        Ok(sequence)
    }

    /// Ends the batch with a seal.
    ///
    /// # Errors
    /// Never: a seal fits every line.
    pub fn seal(&mut self, now: Clock, reason: Reason) -> Result<Sealed, TooLong> {
        let step = self.keys.step();
        let now = self.not_before(now);
        let body = Seal {
            e: Count::new(self.epoch),
            n: Count::new(self.lines),
            f: Count::new(reason.flags()),
            r: self.position.frontier.root(),
            lost: Decimal(self.lost),
            tag: Hex([0; 32]),
        };
        let start = self.batch.len();
        write_into(&mut self.batch, &self.position.place(now), &Body::Seal(body))?;
        let line = &mut self.batch[start..];
        let prefix = before_tag(line).unwrap_or_default();
        let tag = step.tag_key(self.epoch).tag(self.log, prefix);
        put_tag(line, &tag);
        let token = Token {
            log: self.log.0,
            seg: self.position.segment.cast_signed(),
            e: Count::new(self.epoch),
            seq: self.position.sequence.cast_signed(),
            h: leaf(line),
            f: Count::new(reason.flags()),
        };
        self.end_line(start);
        let tag = step.head_key(self.epoch).tag(&token.bytes());
        Ok(Sealed {
            head_file: token.file(&tag),
            epoch: self.epoch,
        })
    }

    /// Forgets the key of the seal that is durable now, and begins the next batch.
    pub fn step(&mut self) {
        self.keys.put_step(&self.keys.step().next(self.epoch));
        self.epoch += 1;
        self.lines = 0;
        self.batch.clear();
    }

    /// The batch: whole lines that are not written yet.
    #[must_use]
    pub fn batch(&self) -> &[u8] {
        &self.batch
    }

    /// Lines of the batch that no seal covers yet.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// Where the log stands.
    #[must_use]
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The number of the next seal of this segment.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Lines of the log up to the last seal that was stepped past.
    #[must_use]
    pub const fn durable_size(&self) -> u64 {
        self.position.sequence - self.lines
    }

    /// The log.
    #[must_use]
    pub const fn log(&self) -> LogId {
        self.log
    }

    /// Events lost so far, in the whole log.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Counts events that were lost.
    pub fn add_lost(&mut self, events: u64) {
        self.lost = self.lost.saturating_add(events);
    }

    /// Whether the keys are kept from being swapped out.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        self.keys.is_locked()
    }

    /// A copy of the segment's signing seed, wiped when it is dropped.
    #[must_use]
    pub fn signing(&self) -> SigningSeed {
        self.keys.signing()
    }

    fn end_line(&mut self, start: usize) {
        self.position.pass(&self.batch[start..]);
        self.batch.push(b'\n');
    }

    /// A caller's clock may be older than the last line, by what it did since it looked.
    fn not_before(&mut self, now: Clock) -> Clock {
        self.boot_ns = self.boot_ns.max(now.boot_ns);
        Clock {
            boot_ns: self.boot_ns,
            ..now
        }
    }
}

#[cfg(test)]
mod tests;
