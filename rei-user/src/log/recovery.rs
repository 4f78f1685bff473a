//! What an earlier writer left: where the log stands, and how its last segment ended. Old segments are only
//! read.

use super::error::LogError;
use super::read::{HEAD_FILE, LogDirectory, Piece};
use crate::format::{
    Birth, Body, Count, FoundToken, Head, Hex, Previous, PreviousState, TOKEN_BYTES_MAX, Token, read_line,
    seal_flag, split_file,
};
use crate::keys::id::LogId;
use crate::seal::Position;

/// Most bytes that are looked at in search of a token; a head file is shorter.
const HEAD_BYTES_MAX: usize = 2 * TOKEN_BYTES_MAX;

/// What was found.
pub(super) struct Recovered {
    /// Where the log stands: the next segment's first line.
    pub(super) position: Position,
    /// What the next header says of the last segment.
    pub(super) previous: Previous,
    /// Events lost so far.
    pub(super) lost: u64,
    /// The log's place in its series, as its headers say.
    pub(super) birth: Option<Birth>,
    /// The first thing that is not as a writer leaves it, in words.
    pub(super) damage: Option<String>,
}

/// Which log this is: as its first header says, or its head token where there is no header. `None` if neither
/// does.
pub(super) fn log_of(directory: &LogDirectory) -> Result<Option<LogId>, LogError> {
    for segment in 0..=directory.highest_segment()?.unwrap_or(0) {
        if let Some(head) = header(directory, segment)? {
            return Ok(Some(LogId(head.log)));
        }
    }
    let file = directory.small_file(HEAD_FILE, HEAD_BYTES_MAX)?;
    let token = file
        .as_deref()
        .and_then(split_file)
        .and_then(|(token, _)| Token::read(token.as_bytes()));
    Ok(token.map(|token| LogId(token.log)))
}

fn header(directory: &LogDirectory, segment: u64) -> Result<Option<Head>, LogError> {
    let Some(mut lines) = directory.segment(segment)? else {
        return Ok(None);
    };
    let Some(Piece::Line { bytes, .. }) = lines.next_piece()? else {
        return Ok(None);
    };
    Ok(match read_line(bytes) {
        Ok((_, Body::Head(head))) => Some(*head),
        _ => None,
    })
}

/// Whether a segment has the two lines that end its opening.
pub(super) fn is_opened(directory: &LogDirectory, segment: u64) -> Result<bool, LogError> {
    let Some(mut lines) = directory.segment(segment)? else {
        return Ok(false);
    };
    for _ in 0..2 {
        if !matches!(
            lines.next_piece()?,
            Some(Piece::Line { .. } | Piece::TooLong { .. })
        ) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the whole log, up to segment `top`.
pub(super) fn scan(directory: &LogDirectory, log: LogId, top: u64) -> Result<Recovered, LogError> {
    let mut scan = Scan {
        position: Position::genesis(log),
        end: End::default(),
        lost: 0,
        birth: None,
        damage: None,
    };
    for segment in 0..=top {
        scan.end = End::default();
        scan.position.segment = segment;
        scan.segment(directory, segment, top)?;
    }
    scan.position.segment = top + 1;
    let previous = scan.previous(directory, top)?;
    Ok(Recovered {
        position: scan.position,
        previous,
        lost: scan.lost,
        birth: scan.birth,
        damage: scan.damage,
    })
}

/// How a segment ends, as far as it is read.
#[derive(Default)]
struct End {
    epoch: Option<u64>,
    is_closed: bool,
    tail_bytes: u64,
    tail_sha256: Option<Hex<32>>,
}

struct Scan {
    position: Position,
    end: End,
    lost: u64,
    birth: Option<Birth>,
    damage: Option<String>,
}

impl Scan {
    fn segment(&mut self, directory: &LogDirectory, segment: u64, top: u64) -> Result<(), LogError> {
        let Some(mut lines) = directory.segment(segment)? else {
            self.damaged(|| format!("segment {segment} is missing"));
            return Ok(());
        };
        let mut is_first = true;
        while let Some(piece) = lines.next_piece()? {
            match piece {
                Piece::Line { bytes, offset } => {
                    // Earlier segments are only hashed: that they are whole is the verifier's question.
                    if is_first || segment == top {
                        self.line(bytes, || format!("segment {segment}, byte {offset}"));
                    }
                    self.position.pass(bytes);
                }
                Piece::TooLong { offset, hash } => {
                    self.damaged(|| format!("segment {segment}, byte {offset}: a line is too long"));
                    self.position.pass_hash(hash);
                }
                Piece::Tail {
                    len_bytes, sha256, ..
                } => {
                    self.end.tail_bytes = len_bytes;
                    self.end.tail_sha256 = Some(sha256);
                }
            }
            is_first = false;
        }
        Ok(())
    }

    /// Takes from a line what the next header needs, and compares its place.
    fn line(&mut self, bytes: &[u8], place_name: impl Fn() -> String) {
        let (place, body) = match read_line(bytes) {
            Ok(line) => line,
            Err(error) => return self.damaged(|| format!("{}: {error}", place_name())),
        };
        let expected = &self.position;
        let fits = place.segment == expected.segment
            && place.sequence == expected.sequence
            && place.previous == expected.previous;
        if !fits {
            self.damaged(|| format!("{}: the line does not continue the one before", place_name()));
        }
        match body {
            Body::Head(head) if self.birth.is_none() => self.birth = head.birth,
            Body::Seal(seal) => {
                self.end.epoch = Some(seal.e.value());
                self.end.is_closed = seal.f.value() & seal_flag::CLOSE != 0;
                self.lost = self.lost.max(seal.lost.0);
            }
            _ => {}
        }
    }

    fn damaged(&mut self, words: impl FnOnce() -> String) {
        self.damage.get_or_insert_with(words);
    }

    fn previous(&mut self, directory: &LogDirectory, top: u64) -> Result<Previous, LogError> {
        let mut previous = Previous {
            seg: Some(Count::new(top)),
            state: PreviousState::Closed,
            last_seq: self.position.sequence.checked_sub(1).map(Count::new),
            last_e: self.end.epoch.map(Count::new),
            ..Previous::NONE
        };
        if self.end.is_closed && self.end.tail_bytes == 0 {
            return Ok(previous);
        }
        if self.end.is_closed {
            self.damaged(|| format!("segment {top}: bytes after its closing seal"));
        }
        // A head file that is too long, or none, is no token; the verifier will miss it.
        let file = directory.small_file(HEAD_FILE, HEAD_BYTES_MAX).ok().flatten();
        previous.state = PreviousState::Crash;
        previous.tail = Some(Count::new(self.end.tail_bytes));
        previous.tail_sha256 = self.end.tail_sha256;
        previous.head = file.as_deref().and_then(split_file).map(|(b, tag)| FoundToken {
            b: b.to_owned(),
            tag: tag.to_owned(),
        });
        Ok(previous)
    }
}
