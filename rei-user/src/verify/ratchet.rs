//! The keys of a log, one step after the other, as the holder of its first master key derives them.

use crate::format::Hash;
use crate::keys::derive::{HeadKey, MasterKey, StepKey};
use crate::keys::id::LogId;
use crate::keys::secret::Secret;

/// Most derivations beyond those that the log's own seals pay for: a token may name any segment and epoch, and must not
/// cost hours. An honest token costs none.
const BUDGET: u64 = 1 << 22;

/// The keys of a log.
pub(super) struct Ratchet {
    log: LogId,
    first: MasterKey,
    /// The segment that `current` opens.
    at: u64,
    current: MasterKey,
    /// The two newest seals of the last segment that was really used, and those of every segment that was only opened
    /// since: what an honest token can speak of.
    recent: Vec<RecentSeal>,
    budget: u64,
}

/// A seal that a head token may speak of.
pub(super) struct RecentSeal {
    /// Its segment.
    pub(super) segment: u64,
    /// Its epoch.
    pub(super) epoch: u64,
    /// Its line.
    pub(super) sequence: u64,
    /// The hash of its line.
    pub(super) hash: Hash,
    /// Its flags.
    pub(super) flags: u64,
    key: HeadKey,
}

impl Ratchet {
    pub(super) fn new(log: LogId, first: &MasterKey) -> Self {
        Ratchet {
            log,
            first: copy(first),
            at: 0,
            current: copy(first),
            recent: Vec::new(),
            budget: BUDGET,
        }
    }

    /// The log.
    pub(super) const fn log(&self) -> LogId {
        self.log
    }

    /// `S[n][0]`; segments are begun in their order.
    pub(super) fn begin(&mut self, segment: u64) -> StepKey {
        while self.at < segment {
            self.current = self.current.next(self.log, self.at);
            self.at += 1;
        }
        self.current.step(self.log, segment)
    }

    /// Keeps what a token may say of this seal. `step` is the key of its epoch.
    pub(super) fn sealed(&mut self, seal: (u64, u64, u64, Hash, u64), step: &StepKey) {
        let (segment, epoch, sequence, hash, flags) = seal;
        // A segment with a second seal was used: a token of an older segment is stale from here on.
        self.recent
            .retain(|seal| epoch == 0 || (seal.segment == segment && seal.epoch + 1 == epoch));
        self.recent.push(RecentSeal {
            segment,
            epoch,
            sequence,
            hash,
            flags,
            key: step.head_key(epoch),
        });
    }

    /// The seal of this segment and epoch, if it is one of those that an honest token can speak of.
    pub(super) fn recent(&self, segment: u64, epoch: u64) -> Option<&RecentSeal> {
        self.recent
            .iter()
            .find(|seal| seal.segment == segment && seal.epoch == epoch)
    }

    /// Whether the tag of a birth token is right.
    pub(super) fn verifies_birth(&self, token: &[u8], tag: &Hash) -> bool {
        self.first.birth_key(self.log).verifies(token, tag)
    }

    /// Whether the tag of a head token of this segment and epoch is right; no, if that is too far away to be honest.
    pub(super) fn verifies_head(&mut self, segment: u64, epoch: u64, token: &[u8], tag: &Hash) -> bool {
        if let Some(seal) = self.recent(segment, epoch) {
            return seal.key.verifies(token, tag);
        }
        let Some(master) = self.master(segment) else {
            return false;
        };
        if !self.spend(epoch) {
            return false;
        }
        let first = master.step(self.log, segment);
        let step = (0..epoch).fold(first, |step, epoch| step.next(epoch));
        step.head_key(epoch).verifies(token, tag)
    }

    /// `M_n`; `None` if it is too far away to be honest.
    pub(super) fn master(&mut self, segment: u64) -> Option<MasterKey> {
        let (from, key) = if segment < self.at {
            (0, copy(&self.first))
        } else {
            (self.at, copy(&self.current))
        };
        let is_near = self.spend(segment - from);
        is_near.then(|| (from..segment).fold(key, |key, number| key.next(self.log, number)))
    }

    fn spend(&mut self, steps: u64) -> bool {
        let left = self.budget.checked_sub(steps);
        self.budget = left.unwrap_or(self.budget);
        left.is_some()
    }
}

fn copy(key: &MasterKey) -> MasterKey {
    MasterKey::new(Secret::new(*key.secret().bytes()))
}
