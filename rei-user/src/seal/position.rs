//! Where a log stands: what the next line continues.

use crate::format::{Frontier, Hash, Place, genesis, leaf};
use crate::keys::id::LogId;

/// A moment, as the caller's clocks say. It is the time of writing, not that of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// `CLOCK_REALTIME` in ns since 1970.
    pub wall_ns: u64,
    /// `CLOCK_BOOTTIME` in ns.
    pub boot_ns: u64,
}

/// Where a log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The segment of the next line.
    pub segment: u64,
    /// Lines so far, in the whole log: the number of the next one.
    pub sequence: u64,
    /// The hash of the last line.
    pub previous: Hash,
    /// The tree over all lines.
    pub frontier: Frontier,
}

impl Position {
    /// Of a log without a line.
    #[must_use]
    pub fn genesis(log: LogId) -> Self {
        Position {
            segment: 0,
            sequence: 0,
            previous: genesis(&log.0),
            frontier: Frontier::default(),
        }
    }

    /// Goes past a line, given without its line feed.
    pub fn pass(&mut self, line: &[u8]) {
        self.pass_hash(leaf(line));
    }

    /// Goes past a line that has this hash.
    pub fn pass_hash(&mut self, hash: Hash) {
        self.sequence += 1;
        self.previous = hash;
        self.frontier.push(hash);
    }

    pub(super) const fn place(&self, now: Clock) -> Place {
        Place {
            segment: self.segment,
            sequence: self.sequence,
            wall_ns: now.wall_ns,
            boot_ns: now.boot_ns,
            previous: self.previous,
        }
    }
}
