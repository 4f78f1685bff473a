//! The checkpoints of a log's file, cut into notes: whatever they say.

use super::read::{Lines, Piece, ReadError};
use crate::format::SEPARATOR;

/// Most bytes of one checkpoint; a note with the most signatures that are read is far below.
const NOTE_BYTES_MAX: usize = 65_536;

/// The checkpoints of a file, one after the other.
pub struct Notes {
    lines: Lines,
}

impl Notes {
    /// The notes that these lines make.
    pub(super) const fn new(lines: Lines) -> Self {
        Notes { lines }
    }

    /// Bytes that were read so far.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.lines.offset()
    }
}

/// A checkpoint's text as it stands in its file.
#[derive(Debug, PartialEq, Eq)]
pub enum NoteText {
    /// A text that ends where it should, whatever it says.
    Whole(Vec<u8>),
    /// Whole lines at the end of the file, without the line that ends a note.
    Unended(Vec<u8>),
    /// A text that is too long to be one.
    TooLong,
    /// The end of the file is no whole line: a note whose writing was cut short.
    Torn,
}

impl Notes {
    /// The next note; `None` at the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_note(&mut self) -> Result<Option<NoteText>, ReadError> {
        let mut text = Vec::new();
        let mut is_too_long = false;
        let mut is_empty = true;
        while let Some(piece) = self.lines.next_piece()? {
            match piece {
                Piece::Line { bytes, .. } if bytes == SEPARATOR.as_bytes() => {
                    return Ok(Some(if is_too_long {
                        NoteText::TooLong
                    } else {
                        NoteText::Whole(text)
                    }));
                }
                Piece::Line { bytes, .. } => {
                    is_empty = false;
                    is_too_long = is_too_long || text.len() + bytes.len() >= NOTE_BYTES_MAX;
                    if !is_too_long {
                        text.extend_from_slice(bytes);
                        text.push(b'\n');
                    }
                }
                Piece::TooLong { .. } => (is_empty, is_too_long) = (false, true),
                Piece::Tail { len_bytes: 0, .. } => {}
                Piece::Tail { .. } => return Ok(Some(NoteText::Torn)),
            }
        }
        let end = if is_too_long {
            NoteText::TooLong
        } else {
            NoteText::Unended(text)
        };
        Ok((!is_empty).then_some(end))
    }
}
