//! What is known while a log is examined, and what becomes of it in the end.

use super::checkpoint::Sizes;
use super::finding::{Findings, Spread, Violation, Warning, Where};
use super::host::Found;
use super::line::Segment;
use super::ratchet::Ratchet;
use super::report::{Completeness, Held, LastGood, NewestCheckpoint, Report, SeriesPlace, Verdict};
use super::token::{FoundHead, Side};
use super::{HostState, Request};
use crate::format::{Birth, Frontier, Hash, Hex};
use crate::log::read::{CHECKPOINTS_FILE, LogDirectory, Piece, ReadError};

/// The state of an examination.
pub(super) struct Examination<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) violations: Findings<Violation>,
    pub(super) warnings: Findings<Warning>,
    /// Why something could not be checked.
    pub(super) reasons: Vec<String>,
    /// Which sizes of the tree the checkpoints speak of, and the roots there.
    pub(super) sizes: Sizes,
    /// The log's id, as its first header says; so with the next two.
    pub(super) log: Option<Hex<16>>,
    pub(super) origin: Option<String>,
    pub(super) birth: Option<Birth>,
    pub(super) machine: Option<String>,
    pub(super) boot: Option<String>,
    /// The log's keys, if they are known.
    pub(super) ratchet: Option<Ratchet>,
    pub(super) frontier: Frontier,
    /// The hash of the line before.
    pub(super) previous: Option<Hash>,
    /// What is kept of each segment.
    pub(super) facts: Vec<Facts>,
    /// The last segment that was used for more than its opening.
    pub(super) busy: Option<u64>,
    pub(super) wall_ns: u64,
    pub(super) boot_ns: u64,
    pub(super) lost: u64,
    pub(super) seals: u64,
    pub(super) tags: u64,
    pub(super) signatures: u64,
    bytes: u64,
    /// Lines of this version of the format.
    pub(super) known_lines: u64,
    /// The first line of another version, and that version.
    pub(super) other_version: Option<(u64, Where)>,
    pub(super) last_good: Option<LastGood>,
    pub(super) newest: Option<NewestCheckpoint>,
    /// Lines of the smallest checkpoint that was made of other lines.
    pub(super) contradicted: Option<u64>,
    pub(super) anchored: Option<(u64, Hash)>,
    is_local: bool,
    is_open: bool,
    /// Whether the last segment went away while the log was read.
    pub(super) has_vanished: bool,
    unsealed_lines: u64,
    torn_bytes: u64,
}

/// What is kept of a segment that was read.
#[derive(Default)]
pub(super) struct Facts {
    /// Its public key, and the one that it announced.
    pub(super) keys: Option<[Hex<32>; 2]>,
    /// Lines of the log before it, and up to its end.
    pub(super) lines: [u64; 2],
    /// Epoch of its last seal.
    pub(super) last_epoch: Option<u64>,
    /// Line and hash of its last seal.
    pub(super) last_seal: Option<(u64, Hash)>,
    pub(super) is_closed: bool,
    /// Length and SHA-256 of what follows its last line feed.
    pub(super) tail: Option<(u64, Hash)>,
    /// Lines up to which its own key signed.
    pub(super) signed: u64,
}

impl<'a> Examination<'a> {
    pub(super) fn new(request: &'a Request<'a>) -> Self {
        Examination {
            request,
            violations: Findings::default(),
            warnings: Findings::default(),
            reasons: Vec::new(),
            sizes: Sizes::default(),
            log: None,
            origin: None,
            birth: None,
            machine: None,
            boot: None,
            ratchet: None,
            frontier: Frontier::default(),
            previous: None,
            facts: Vec::new(),
            busy: None,
            wall_ns: 0,
            boot_ns: 0,
            lost: 0,
            seals: 0,
            tags: 0,
            signatures: 0,
            bytes: 0,
            known_lines: 0,
            other_version: None,
            last_good: None,
            newest: None,
            contradicted: None,
            anchored: None,
            is_local: false,
            is_open: false,
            has_vanished: false,
            unsealed_lines: 0,
            torn_bytes: 0,
        }
    }

    pub(super) fn violate(
        &mut self,
        code: Violation,
        spread: Spread,
        place: Where,
        note: impl FnOnce() -> String,
    ) {
        self.violations.add(code, spread, place, note);
    }

    /// A violation unless it holds.
    pub(super) fn check(&mut self, holds: bool, code: Violation, place: Where) {
        if !holds {
            self.violate(code, Spread::Segment, place, String::new);
        }
    }

    pub(super) fn warn(&mut self, code: Warning, place: Where, note: impl FnOnce() -> String) {
        self.warnings.add(code, Spread::Segment, place, note);
    }

    pub(super) fn could_not(&mut self, why: String) {
        self.reasons.push(why);
    }

    /// Whether nothing wrong was seen so far.
    pub(super) fn is_clean(&self) -> bool {
        self.violations.is_empty() && self.other_version.is_none()
    }

    /// Whether no line is of a version that this rei knows.
    pub(super) fn is_of_newer_format(&self) -> bool {
        self.known_lines == 0 && self.other_version.is_some_and(|(version, _)| version > 1)
    }

    /// Whether every segment was there.
    pub(super) fn has_read(&self, top: u64) -> bool {
        self.facts.len() as u64 == top.saturating_add(1)
    }

    /// A directory in which there is no segment: the other files tell whether there was one.
    pub(super) fn without_segments(&mut self, directory: &LogDirectory, head: Option<&FoundHead>) {
        let is_later_token = head.is_some_and(|head| head.token().is_some() && !head.is_of_birth());
        if is_later_token || !self.sizes.is_empty() {
            let place = Where {
                segment: Some(0),
                ..Where::default()
            };
            self.violate(Violation::SegmentMissing, Spread::Segment, place, || {
                format!("the files `head` and `{CHECKPOINTS_FILE}` know of lines")
            });
        }
        self.could_not(format!(
            "{:?} holds no segment (seg-….jsonl) of a log: give the directory that does",
            directory.path().display()
        ));
    }

    /// Reads every segment up to `top`.
    pub(super) fn segments(&mut self, directory: &LogDirectory, top: u64) -> Result<(), ReadError> {
        self.sizes.reached(&self.frontier);
        for number in 0..=top {
            let Some(mut lines) = directory.segment(number)? else {
                // A writer that starts removes an opening that was cut short.
                self.has_vanished = number == top && directory.highest_segment()? < Some(top);
                let place = Where {
                    segment: Some(number),
                    sequence: Some(self.frontier.size()),
                    offset: None,
                };
                self.violate(Violation::SegmentMissing, Spread::Segment, place, || {
                    format!("segment {top} is there")
                });
                return Ok(());
            };
            let mut segment = self.begin(number);
            while let Some(piece) = lines.next_piece()? {
                match piece {
                    Piece::Line { bytes, offset } => self.line(&mut segment, bytes, offset),
                    Piece::TooLong { offset, hash } => self.too_long(&mut segment, offset, hash),
                    Piece::Tail {
                        offset,
                        len_bytes,
                        sha256,
                    } => {
                        self.bytes += offset + len_bytes;
                        self.finish(&mut segment, top, offset, (len_bytes, sha256));
                    }
                }
            }
        }
        Ok(())
    }

    /// The end of a segment.
    fn finish(&mut self, segment: &mut Segment, top: u64, offset: u64, tail: (u64, Hash)) {
        let place = segment.place(self.frontier.size(), offset);
        if segment.facts.is_closed && tail.0 > 0 {
            self.violate(Violation::LineAfterClose, Spread::Segment, place, || {
                format!("{} bytes without a line feed", tail.0)
            });
        }
        let is_last = segment.number == top;
        if segment.facts.last_epoch.is_none() {
            if is_last && segment.lines < 2 {
                self.warn(Warning::TornOpening, place, String::new);
            } else {
                self.violate(Violation::Unsealed, Spread::Segment, place, String::new);
            }
        }
        if is_last {
            self.is_open = !segment.facts.is_closed;
            self.unsealed_lines = segment.unsealed;
            self.torn_bytes = tail.0;
        } else if segment.unsealed > 0 {
            let lines = segment.unsealed;
            self.warn(Warning::RecoveredUnsealed, place, || {
                format!("the last {lines} lines of the segment")
            });
        }
        segment.facts.tail = Some(tail);
        segment.facts.lines[1] = self.frontier.size();
        self.facts.push(std::mem::take(&mut segment.facts));
    }

    /// What the head token and the key state say about the end of the log, each read before the log and after it.
    pub(super) fn end(&mut self, top: u64, heads: [Option<FoundHead>; 2], slots: &[Found; 2]) {
        let place = Where {
            segment: Some(top),
            sequence: self.frontier.size().checked_sub(1),
            offset: None,
        };
        let has_state = matches!(slots[1], Found::Slots(_));
        let mut fits_state = false;
        match slots {
            [Found::Slots(before), Found::Slots(after)] => fits_state = self.key_state(top, before, after),
            [_, Found::Absent] => self.warn(Warning::KeyStateAbsent, place, String::new),
            _ => {}
        }
        let mut fits_token = false;
        match &heads {
            [_, None] if has_state => {
                self.check(false, Violation::TokenMissing, place);
            }
            [None, None] => self.warn(Warning::TokenAbsent, place, String::new),
            [before, after] => {
                let sides = match (before, after) {
                    (Some(_), Some(_)) => [Side::Reached, Side::Fresh],
                    _ => [Side::Both, Side::Both],
                };
                let faults: Vec<Violation> = [before, after]
                    .into_iter()
                    .zip(sides)
                    .filter_map(|(head, side)| self.fault_of(head.as_ref()?, top, side))
                    .collect();
                fits_token = faults.is_empty() && self.ratchet.is_some();
                if let Some(first) = faults.first() {
                    self.check(false, *first, place);
                }
                let named = after.as_ref().is_some_and(|head| self.names_the_end(head, top));
                fits_state = fits_state && (fits_token || named);
            }
        }
        self.is_local = fits_token || (fits_state && has_state);
    }

    /// Everything that was found out.
    pub(super) fn report(mut self, path: String) -> Report {
        let mut verdict = if self.is_open {
            Verdict::Incomplete
        } else {
            Verdict::Ok
        };
        if self.is_of_newer_format() {
            let version = self.other_version.map_or(0, |(version, _)| version);
            self.violations = Findings::default();
            self.could_not(format!(
                "the log is of version {version} of the format, and this rei knows version 1: take a newer rei"
            ));
        } else if let Some((version, place)) = self.other_version {
            self.violate(Violation::Version, Spread::Log, place, || {
                format!("version {version}")
            });
        }
        if !self.reasons.is_empty() {
            verdict = Verdict::Unverifiable;
        }
        if !self.violations.is_empty() {
            verdict = Verdict::Tampered;
        }
        let is_sound = matches!(verdict, Verdict::Ok | Verdict::Incomplete);
        let completeness = match self.anchored {
            Some((size, root)) if is_sound => Completeness::Anchored { size, root },
            _ if is_sound && self.is_local => Completeness::Local,
            _ => Completeness::Unproven,
        };
        Report {
            path,
            verdict,
            completeness,
            anchored_size: match completeness {
                Completeness::Anchored { size, .. } => Some(size),
                _ => None,
            },
            why: (!self.reasons.is_empty()).then(|| self.reasons.join("; ")),
            held: self.held(),
            log_id: self.log,
            origin: self.origin,
            series: self.birth.as_ref().map(|birth| SeriesPlace {
                id: birth.series,
                i: birth.i.value(),
            }),
            size: self.frontier.size(),
            root: self.frontier.root(),
            segments: self.facts.len() as u64,
            bytes: self.bytes,
            seals_checked: self.seals,
            tags_checked: self.tags,
            signatures_checked: self.signatures,
            unsealed_lines: self.unsealed_lines,
            torn_bytes: self.torn_bytes,
            violations: self.violations,
            warnings: self.warnings,
            last_good: self.last_good,
            newest_checkpoint: self.newest,
        }
    }

    fn held(&self) -> Held {
        Held {
            public_key: self.request.host.is_some(),
            verification_key: self.ratchet.is_some(),
            trusted_checkpoint: self.request.trusted.is_some(),
            host_state: self.is_local && !matches!(self.request.keys, HostState::Ignored),
        }
    }
}
