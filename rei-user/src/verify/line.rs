//! One line after the other: form, place, chain, seals.

use super::examination::{Examination, Facts};
use super::finding::{Spread, Violation, Warning, Where};
use super::report::LastGood;
use crate::format::{Body, Hash, LineError, Place, Seal, before_tag, genesis, leaf, read_line, seal_flag};
use crate::keys::derive::StepKey;

/// The segment that is being read.
pub(super) struct Segment {
    pub(super) number: u64,
    /// Lines so far.
    pub(super) lines: u64,
    /// Epoch of the next seal.
    epoch: u64,
    /// Lines since the last seal.
    pub(super) unsealed: u64,
    /// `S[n][e]` of the next seal, if the keys are known.
    pub(super) step: Option<StepKey>,
    pub(super) facts: Facts,
}

impl Segment {
    pub(super) fn place(&self, sequence: u64, offset: u64) -> Where {
        Where {
            segment: Some(self.number),
            sequence: Some(sequence),
            offset: Some(offset),
        }
    }
}

impl Examination<'_> {
    pub(super) fn begin(&mut self, number: u64) -> Segment {
        Segment {
            number,
            lines: 0,
            epoch: 0,
            unsealed: 0,
            step: self.ratchet.as_mut().map(|ratchet| ratchet.begin(number)),
            facts: Facts {
                lines: [self.frontier.size(); 2],
                ..Facts::default()
            },
        }
    }

    pub(super) fn too_long(&mut self, segment: &mut Segment, offset: u64, hash: Hash) {
        let place = segment.place(self.frontier.size(), offset);
        self.check(!segment.facts.is_closed, Violation::LineAfterClose, place);
        self.check(false, Violation::Oversize, place);
        segment.unsealed += 1;
        self.passed(segment, hash);
    }

    pub(super) fn line(&mut self, segment: &mut Segment, bytes: &[u8], offset: u64) {
        let place = segment.place(self.frontier.size(), offset);
        self.check(!segment.facts.is_closed, Violation::LineAfterClose, place);
        let hash = leaf(bytes);
        match read_line(bytes) {
            Ok((written, body)) => {
                self.known_lines += 1;
                self.place(segment, &written, &body, place);
                match &body {
                    Body::Seal(seal) => {
                        let sealed = Sealed {
                            seal,
                            bytes,
                            hash,
                            wall_ns: written.wall_ns,
                        };
                        self.seal(segment, &sealed, place);
                    }
                    _ => segment.unsealed += 1,
                }
                if let Body::Unknown(_) = &body {
                    self.warn(Warning::UnknownKind, place, || format!("{:?}", body.kind()));
                }
            }
            Err(error) => {
                segment.unsealed += 1;
                self.not_a_line(&error, place);
            }
        }
        self.passed(segment, hash);
    }

    fn passed(&mut self, segment: &mut Segment, hash: Hash) {
        segment.lines += 1;
        self.previous = Some(hash);
        self.frontier.push(hash);
        self.sizes.reached(&self.frontier);
    }

    fn not_a_line(&mut self, error: &LineError, place: Where) {
        let code = match error {
            LineError::Oversize => Violation::Oversize,
            LineError::Parse { .. } => Violation::Parse,
            LineError::DuplicateKey { .. } => Violation::DuplicateKey,
            LineError::NotCanonical => Violation::NotCanonical,
            LineError::Version { version } => {
                // Whether this is a newer log or a changed one is known at the end.
                self.other_version.get_or_insert((*version, place));
                return;
            }
        };
        self.violate(code, Spread::Segment, place, || error.to_string());
    }

    /// Where a line stands: segment, number, chain, clocks.
    fn place(&mut self, segment: &mut Segment, written: &Place, body: &Body, place: Where) {
        let expected = self.frontier.size();
        if written.segment != segment.number {
            self.violate(Violation::SegmentNumber, Spread::Segment, place, || {
                format!("it says {}", written.segment)
            });
        }
        if written.sequence != expected {
            self.violate(Violation::Sequence, Spread::Log, place, || {
                format!("it says {}, and {expected} is the next", written.sequence)
            });
        }
        let is_first = segment.lines == 0;
        match body {
            Body::Head(head) if is_first => self.head(segment, head, place),
            Body::Head(_) => self.check(false, Violation::HeaderPosition, place),
            _ => self.check(!is_first, Violation::HeaderPosition, place),
        }
        let previous = self.previous.or_else(|| self.log.as_ref().map(genesis));
        if previous.is_some_and(|previous| previous != written.previous) {
            self.check(false, Violation::Chain, place);
        }
        if written.boot_ns < self.boot_ns {
            self.check(false, Violation::BoottimeBackwards, place);
        }
        if written.wall_ns < self.wall_ns {
            let by_ns = self.wall_ns - written.wall_ns;
            self.warn(Warning::ClockBack, place, || format!("by {by_ns} ns"));
        }
        (self.boot_ns, self.wall_ns) = (written.boot_ns, written.wall_ns);
    }

    fn seal(&mut self, segment: &mut Segment, sealed: &Sealed<'_>, place: Where) {
        let seal = sealed.seal;
        let (epoch, lines) = (segment.epoch, segment.unsealed);
        if seal.e.value() != epoch {
            self.violate(Violation::EpochGap, Spread::Segment, place, || {
                format!("it says {}, and {epoch} is the next", seal.e.value())
            });
        }
        if seal.n.value() != lines {
            self.violate(Violation::SealCount, Spread::Segment, place, || {
                format!("it says {}, and there are {lines}", seal.n.value())
            });
        }
        if seal.f.value() & !seal_flag::ALL != 0 {
            self.violate(Violation::Parse, Spread::Segment, place, || {
                format!("flags {} have no meaning", seal.f.value())
            });
        }
        if seal.r != self.frontier.root() {
            self.violate(Violation::Root, Spread::Log, place, String::new);
        }
        self.check(seal.lost.0 >= self.lost, Violation::LostBack, place);
        self.tag(segment, sealed, place);
        let sequence = self.frontier.size();
        segment.facts.last_epoch = Some(epoch);
        segment.facts.last_seal = Some((sequence, sealed.hash));
        segment.facts.is_closed |= seal.f.value() & seal_flag::CLOSE != 0;
        segment.epoch += 1;
        segment.unsealed = 0;
        if epoch > 0 {
            self.busy = Some(segment.number);
        }
        self.lost = seal.lost.0;
        self.seals += 1;
        if self.is_clean() {
            self.last_good = Some(LastGood {
                seq: sequence,
                t: sealed.wall_ns,
                root: seal.r,
            });
        }
    }

    /// The seal's tag, and the key of the next one.
    fn tag(&mut self, segment: &mut Segment, sealed: &Sealed<'_>, place: Where) {
        let (Some(step), Some(ratchet)) = (segment.step.take(), self.ratchet.as_mut()) else {
            return;
        };
        let epoch = segment.epoch;
        let log = ratchet.log();
        let is_right = before_tag(sealed.bytes)
            .is_some_and(|covered| step.tag_key(epoch).verifies(log, covered, &sealed.seal.tag));
        let (flags, sequence) = (sealed.seal.f.value(), self.frontier.size());
        ratchet.sealed((segment.number, epoch, sequence, sealed.hash, flags), &step);
        segment.step = Some(step.next(epoch));
        self.tags += 1;
        self.check(is_right, Violation::Tag, place);
    }
}

/// A seal and its line.
struct Sealed<'a> {
    seal: &'a Seal,
    bytes: &'a [u8],
    hash: Hash,
    wall_ns: u64,
}
