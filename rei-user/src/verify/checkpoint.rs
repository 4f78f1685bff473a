//! Checkpoints: signed heads of the tree, the log's own and those that were kept outside.

use super::examination::Examination;
use super::finding::{Spread, Violation, Warning, Where};
use super::report::NewestCheckpoint;
use crate::format::{Frontier, Hash, Hex, Note, SEPARATOR, host_of_origin, key_id, segment_key_name};
use crate::log::notes::{NoteText, Notes};
use crate::log::read::{LogDirectory, ReadError};

/// Most sizes that are remembered: a checkpoint every 30 seconds for a year.
const SIZES_MAX: usize = 1 << 20;

/// Which sizes of the tree the checkpoints speak of, and what its root was there.
#[derive(Default)]
pub(super) struct Sizes {
    /// In ascending order.
    sizes: Vec<u64>,
    /// Of the first of these sizes: those that were reached.
    roots: Vec<Hash>,
    /// Bytes of the log's own checkpoints: what is written to that file later speaks of lines that are not read.
    own_bytes: u64,
}

impl Sizes {
    /// Reads the sizes of all checkpoints, the trusted ones included.
    pub(super) fn read(
        directory: &LogDirectory,
        trusted: Option<&[u8]>,
        could_not: impl FnOnce(String),
    ) -> Result<Self, ReadError> {
        let mut sizes: Vec<u64> = trusted
            .into_iter()
            .flat_map(split)
            .filter_map(|note| Some(Note::read(note?)?.checkpoint.size))
            .collect();
        let mut notes = directory.checkpoints(u64::MAX)?;
        while let Some(text) = notes.as_mut().map(Notes::next_note).transpose()?.flatten() {
            let size = match &text {
                NoteText::Whole(note) | NoteText::Unended(note) => {
                    parsed(note).map(|note| note.checkpoint.size)
                }
                NoteText::TooLong | NoteText::Torn => None,
            };
            if size.is_some() && size == sizes.last().copied() {
                continue;
            }
            sizes.extend(size);
            if sizes.len() > SIZES_MAX {
                could_not(format!(
                    "there are more than {SIZES_MAX} checkpoints in {:?}: verify a copy of the log without that file",
                    directory.path().display()
                ));
                break;
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Sizes {
            sizes,
            roots: Vec::new(),
            own_bytes: notes.map_or(0, |notes| notes.offset()),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Remembers the root, if a checkpoint speaks of this size.
    pub(super) fn reached(&mut self, frontier: &Frontier) {
        if self.sizes.get(self.roots.len()) == Some(&frontier.size()) {
            self.roots.push(frontier.root());
        }
    }

    fn root(&self, size: u64) -> Option<Hash> {
        let at = self.sizes.binary_search(&size).ok()?;
        self.roots.get(at).copied()
    }
}

/// Where a checkpoint comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    WithTheLog,
    Outside,
}

impl Examination<'_> {
    /// Judges the log's own checkpoints, and those that were kept outside.
    pub(super) fn checkpoints(&mut self, directory: &LogDirectory) -> Result<(), ReadError> {
        let mut notes = directory.checkpoints(self.sizes.own_bytes)?;
        while let Some(text) = notes.as_mut().map(Notes::next_note).transpose()?.flatten() {
            self.own_note(&text);
        }
        self.unsigned_segments();
        for note in self.request.trusted.into_iter().flat_map(split) {
            match note.and_then(|text| Some((text, Note::read(text)?))) {
                Some((text, note)) => self.note(text, &note, Kept::Outside),
                None => self.could_not(
                    "the trusted checkpoint is no signed note: give a file that holds notes as rei writes them"
                        .to_owned(),
                ),
            }
        }
        // The chain fits itself and not what was signed: where it was changed, nobody can say.
        let reach = self.last_good.map_or(0, |good| good.seq + 1);
        if self.contradicted.is_some_and(|size| size <= reach) {
            self.last_good = None;
        }
        Ok(())
    }

    /// One of the file's notes.
    fn own_note(&mut self, text: &NoteText) {
        let (bytes, may_be_torn) = match text {
            NoteText::Whole(bytes) => (bytes.as_slice(), false),
            // A note that was cut short has no signature yet.
            NoteText::Unended(bytes) => (bytes.as_slice(), !has_signature(bytes)),
            NoteText::TooLong => (&b""[..], false),
            NoteText::Torn => (&b""[..], true),
        };
        let text = std::str::from_utf8(bytes).ok();
        match text.and_then(|text| Some((text, Note::read(text)?))) {
            Some((text, note)) => self.note(text, &note, Kept::WithTheLog),
            None if may_be_torn => self.warn(Warning::CheckpointTorn, Where::default(), String::new),
            None => self.violate(
                Violation::CheckpointParse,
                Spread::Log,
                Where::default(),
                String::new,
            ),
        }
    }

    fn note(&mut self, text: &str, note: &Note, kept: Kept) {
        let checkpoint = &note.checkpoint;
        let place = Where {
            sequence: Some(checkpoint.size),
            ..Where::default()
        };
        let mut is_right = true;
        let mut violate = |this: &mut Self, code| {
            is_right = false;
            this.violate(code, Spread::Log, place, || match kept {
                Kept::WithTheLog => format!("a checkpoint of {} lines", checkpoint.size),
                Kept::Outside => format!("the trusted checkpoint of {} lines", checkpoint.size),
            });
        };
        if self
            .origin
            .as_ref()
            .is_some_and(|origin| *origin != checkpoint.origin)
        {
            violate(self, Violation::CheckpointOrigin);
        }
        let signers = self.signers(text, note);
        if signers.is_empty() || signers.iter().any(|(_, is_valid)| !is_valid) {
            violate(self, Violation::CheckpointSignature);
        }
        if checkpoint.size > self.frontier.size() {
            violate(self, Violation::LogShorterThanCheckpoint);
        } else if self.sizes.root(checkpoint.size) != Some(checkpoint.root) {
            violate(self, Violation::CheckpointRoot);
            let smallest = self.contradicted.unwrap_or(u64::MAX);
            self.contradicted = Some(smallest.min(checkpoint.size));
        }
        if is_right {
            self.accept(text, note, &signers, kept);
        }
    }

    /// A checkpoint that passed every check.
    fn accept(&mut self, text: &str, note: &Note, signers: &[(Signer, bool)], kept: Kept) {
        let checkpoint = &note.checkpoint;
        for (signer, _) in signers {
            let Signer::Segment(number) = signer else { continue };
            let facts = usize::try_from(*number)
                .ok()
                .and_then(|at| self.facts.get_mut(at));
            if let Some(facts) = facts
                && facts.lines[0] < checkpoint.size
                && checkpoint.size <= facts.lines[1]
            {
                facts.signed = facts.signed.max(checkpoint.size);
            }
        }
        match kept {
            Kept::WithTheLog => {
                if self
                    .newest
                    .as_ref()
                    .is_none_or(|newest| newest.size <= checkpoint.size)
                {
                    self.newest = Some(NewestCheckpoint {
                        size: checkpoint.size,
                        root: checkpoint.root,
                        note: text.to_owned(),
                    });
                }
            }
            Kept::Outside => {
                if self.anchored.is_none_or(|(size, _)| size < checkpoint.size) {
                    self.anchored = Some((checkpoint.size, checkpoint.root));
                }
            }
        }
    }

    /// The known keys that signed a note, the first signature of each, and whether it is right. Keys that nobody
    /// knows are ignored, as signed-note says.
    fn signers(&mut self, text: &str, note: &Note) -> Vec<(Signer, bool)> {
        let mut signers: Vec<(Signer, bool)> = Vec::new();
        let Some((signed, _)) = text.split_once("\n\n") else {
            return signers;
        };
        let message = format!("{signed}\n");
        for signature in &note.signatures {
            let Some((signer, key)) = self.signer(&signature.name) else {
                continue;
            };
            let is_known = key_id(&signature.name, &key) == signature.key_id;
            if is_known && signers.iter().all(|(known, _)| *known != signer) {
                let is_valid = self.is_signed(&key, message.as_bytes(), &signature.signature);
                signers.push((signer, is_valid));
            }
        }
        signers
    }

    /// The key of this name.
    fn signer(&self, name: &str) -> Option<(Signer, Hex<32>)> {
        let origin = self.origin.as_ref()?;
        let told = self
            .log
            .map_or(origin.as_str(), |log| host_of_origin(origin, &log));
        let host = self.request.host.map_or(told, |host| &host.origin);
        if name == host {
            let pinned = self.request.host.map(|host| host.key);
            let key = pinned.or(self.birth.as_ref().map(|birth| birth.hk))?;
            return Some((Signer::Host, key));
        }
        let digits = name.strip_prefix(origin.as_str())?.strip_prefix("/seg/")?;
        let number: u64 = digits.parse().ok()?;
        let facts = self.facts.get(usize::try_from(number).ok()?)?;
        let [key, _] = facts.keys?;
        (segment_key_name(origin, number) == name).then_some((Signer::Segment(number), key))
    }

    fn unsigned_segments(&mut self) {
        let last = self.facts.len().saturating_sub(1);
        for at in 0..last {
            let facts = &self.facts[at];
            let is_signed = facts.signed > 0 && (!facts.is_closed || facts.signed == facts.lines[1]);
            if !is_signed {
                let place = Where {
                    segment: Some(at as u64),
                    ..Where::default()
                };
                self.warn(Warning::SegmentUnsigned, place, String::new);
            }
        }
    }
}

/// Who signed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signer {
    /// The host's log key.
    Host,
    /// The key of this segment.
    Segment(u64),
}

/// The notes of a file of notes that is in memory; `None` for what is no text.
fn split(content: &[u8]) -> impl Iterator<Item = Option<&str>> {
    let text = std::str::from_utf8(content).ok();
    let mut rest = text;
    let mut is_done = false;
    std::iter::from_fn(move || {
        if is_done {
            return None;
        }
        let Some(text) = rest else {
            is_done = true;
            return Some(None);
        };
        let separator = format!("\n{SEPARATOR}\n");
        if let Some(at) = text.find(&separator) {
            let after = &text[at + separator.len()..];
            is_done = after.is_empty();
            rest = Some(after);
            return Some(Some(&text[..=at]));
        }
        is_done = true;
        Some(Some(text))
    })
}

fn parsed(bytes: &[u8]) -> Option<Note> {
    Note::read(std::str::from_utf8(bytes).ok()?)
}

/// Whether at least one line of signatures was written.
fn has_signature(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains("\n\n\u{2014} ")
}
