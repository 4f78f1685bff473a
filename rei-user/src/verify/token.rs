//! The head token: what it says about where the log ends.

use super::examination::Examination;
use super::finding::Violation;
use crate::format::{Hash, Hex, TOKEN_BYTES_MAX, Token, genesis, seal_flag};
use crate::log::read::{HEAD_FILE, LogDirectory, ReadError};

/// The file of the head token as it was found: possibly not even a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundHead {
    token: String,
    tag: String,
}

/// The two sides of the question whether a token fits the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The log must reach the token, and the token the log's end.
    Both,
    /// The log must reach the token: for one that was read before the log.
    Reached,
    /// The token must reach the log's end: for one that was read after it.
    Fresh,
}

impl FoundHead {
    /// The head file of a log; `None` if there is none. It is read until two readings agree: its writer may be
    /// overwriting it.
    pub(super) fn read(directory: &LogDirectory) -> Result<Option<Self>, ReadError> {
        // Room for what a longer token left behind.
        let read = || directory.small_file(HEAD_FILE, 2 * TOKEN_BYTES_MAX);
        let mut seen = read()?;
        for _ in 0..10 {
            let again = read()?;
            if again == seen {
                break;
            }
            seen = again;
        }
        Ok(seen.map(|content| {
            let text = String::from_utf8_lossy(&content);
            let mut lines = text.split('\n');
            let (token, tag) = (lines.next(), lines.next());
            FoundHead::new(token.unwrap_or_default(), tag.unwrap_or_default())
        }))
    }

    /// A token as a header carries it.
    pub(super) fn new(token: &str, tag: &str) -> Self {
        FoundHead {
            token: token.to_owned(),
            tag: tag.to_owned(),
        }
    }

    /// The log that it says it is of: nobody has vouched for that.
    pub(super) fn log(&self) -> Option<Hex<16>> {
        self.token().map(|token| token.log)
    }

    /// What it says, if it is a token at all.
    pub(super) fn token(&self) -> Option<Token> {
        Token::read(self.token.as_bytes()).filter(|token| token.f.value() & !seal_flag::ALL == 0)
    }

    /// Whether it is of a log without any line.
    pub(super) fn is_of_birth(&self) -> bool {
        self.token().is_some_and(|token| token.seg < 0)
    }

    fn tag(&self) -> Option<Hash> {
        Hex::parse(&self.tag)
    }
}

impl Examination<'_> {
    /// What is wrong with a token, judged against the log up to segment `top`. Needs the log's keys.
    pub(super) fn fault_of(&mut self, head: &FoundHead, top: u64, side: Side) -> Option<Violation> {
        let ratchet = self.ratchet.as_mut()?;
        let (Some(token), Some(tag)) = (head.token(), head.tag()) else {
            return Some(Violation::TokenForged);
        };
        let epoch = token.e.value();
        let bytes = head.token.as_bytes();
        let segment = u64::try_from(token.seg).ok();
        let is_genuine = token.log == ratchet.log().0
            && match segment {
                None => token.h == genesis(&token.log) && ratchet.verifies_birth(bytes, &tag),
                Some(segment) => ratchet.verifies_head(segment, epoch, bytes, &tag),
            };
        if !is_genuine {
            return Some(Violation::TokenForged);
        }
        if segment.is_some_and(|segment| segment > top) {
            return (side != Side::Fresh).then_some(Violation::TruncatedTail);
        }
        if self
            .busy
            .is_some_and(|busy| segment.is_none_or(|segment| segment < busy))
        {
            return (side != Side::Reached).then_some(Violation::TokenStale);
        }
        let segment = segment?;
        let last = usize::try_from(segment)
            .ok()
            .and_then(|at| self.facts.get(at))
            .and_then(|facts| facts.last_epoch);
        match last {
            Some(last) if epoch <= last && last - epoch > 1 => {
                (side != Side::Reached).then_some(Violation::TokenStale)
            }
            Some(last) if epoch <= last => {
                let seal = self.ratchet.as_ref()?.recent(segment, epoch);
                let is_this = seal.is_none_or(|seal| {
                    i64::try_from(seal.sequence) == Ok(token.seq)
                        && seal.hash == token.h
                        && seal.flags == token.f.value()
                });
                (!is_this).then_some(Violation::TokenForged)
            }
            _ => (side != Side::Fresh).then_some(Violation::TruncatedTail),
        }
    }

    /// Whether a token that nobody could check speaks of the end of the log that was read.
    pub(super) fn names_the_end(&self, head: &FoundHead, top: u64) -> bool {
        let last = self.facts.last().and_then(|facts| facts.last_seal);
        let (Some(token), Some((sequence, hash))) = (head.token(), last) else {
            return false;
        };
        u64::try_from(token.seg) == Ok(top)
            && u64::try_from(token.seq) == Ok(sequence)
            && token.h == hash
            && Some(token.log) == self.log
    }
}
