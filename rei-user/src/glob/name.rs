//! A name of a pattern, or a word: text → [`Name`] → part of a regular expression, or the answer whether bytes match.

use std::fmt::Write as _;

/// Bytes, some of which may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// `?`
    One,
    /// `*`
    Many,
    Class {
        is_negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

impl Name {
    /// Reads it.
    ///
    /// # Errors
    /// In words, if it can never match.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parsed = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'*' => {
                    if parsed.last() != Some(&Piece::Many) {
                        parsed.push(Piece::Many);
                    }
                }
                b'?' => parsed.push(Piece::One),
                b'[' => parsed.push(class(bytes, &mut at)?),
                b'\\' => parsed.push(Piece::Byte(escaped(bytes, &mut at)?)),
                0 => return Err("it can never match: names hold no NUL byte".into()),
                byte => parsed.push(Piece::Byte(*byte)),
            }
        }
        Ok(Name(parsed))
    }

    /// Whether it is `*` alone.
    pub(super) fn is_anything(&self) -> bool {
        self.0 == [Piece::Many]
    }

    /// Whether exactly one name is meant.
    pub(super) fn is_literal(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, Piece::Byte(_)))
    }

    /// Its bytes, if exactly one name is meant.
    pub(super) fn literal(&self) -> Option<Vec<u8>> {
        let byte = |piece: &Piece| match piece {
            Piece::Byte(byte) => Some(*byte),
            _ => None,
        };
        self.0.iter().map(byte).collect()
    }

    /// Writes the regular expression that matches the same bytes; `one` is that of a byte that may vary.
    pub(super) fn write_regex(&self, out: &mut String, one: &str) {
        self.0.iter().for_each(|piece| write_piece(out, piece, one));
    }

    /// Whether it matches these bytes, all of them.
    pub(super) fn matches(&self, bytes: &[u8]) -> bool {
        takes(
            &self.0,
            bytes,
            |piece| *piece == Piece::Many,
            |piece, byte| piece_matches(piece, *byte),
        )
    }

    /// Whether everything that `other` matches is matched by this one too. `false` where that is not plain.
    pub(super) fn covers(&self, other: &Name) -> bool {
        let bytes: Option<Vec<u8>> = other
            .0
            .iter()
            .map(|piece| match piece {
                Piece::Byte(byte) => Some(*byte),
                _ => None,
            })
            .collect();
        self == other || self.is_anything() || bytes.is_some_and(|bytes| self.matches(&bytes))
    }
}

fn escaped(bytes: &[u8], at: &mut usize) -> Result<u8, String> {
    let Some(byte) = bytes.get(*at).copied() else {
        return Err(r"it ends with a lone `\`; write `\\` for a backslash".into());
    };
    *at += 1;
    if byte != b'x' {
        return Ok(byte);
    }
    let digits = bytes
        .get(*at..*at + 2)
        .and_then(|digits| std::str::from_utf8(digits).ok());
    let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match value {
        Some(0) => Err("it can never match: names hold no NUL byte".into()),
        Some(b'/') => Err("it can never match: a name holds no slash".into()),
        Some(value) => {
            *at += 2;
            Ok(value)
        }
        None => Err(r"`\x` wants two hexadecimal digits".into()),
    }
}

fn class(bytes: &[u8], at: &mut usize) -> Result<Piece, String> {
    const OPEN: &str = r"`[` begins a class that has no `]`; write `\[` for the bracket itself";
    let is_negated = bytes.get(*at) == Some(&b'!');
    *at += usize::from(is_negated);
    let mut ranges = Vec::new();
    loop {
        let first = match bytes.get(*at) {
            None => return Err(OPEN.into()),
            Some(b']') if !ranges.is_empty() => break,
            Some(b'\\') => {
                *at += 1;
                escaped(bytes, at)?
            }
            Some(byte) => {
                *at += 1;
                *byte
            }
        };
        let is_range = bytes.get(*at) == Some(&b'-') && bytes.get(*at + 1).is_some_and(|byte| *byte != b']');
        let last = if is_range {
            *at += 1;
            match bytes[*at] {
                b'\\' => {
                    *at += 1;
                    escaped(bytes, at)?
                }
                byte => {
                    *at += 1;
                    byte
                }
            }
        } else {
            first
        };
        if first > last {
            return Err(format!(
                "the range {}-{} is the wrong way round",
                char::from(first).escape_default(),
                char::from(last).escape_default()
            ));
        }
        if !first.is_ascii() || !last.is_ascii() {
            return Err(r"a class holds single bytes; write others outside it, or as `\xHH`".into());
        }
        ranges.push((first, last));
    }
    *at += 1;
    Ok(Piece::Class { is_negated, ranges })
}

fn write_piece(out: &mut String, piece: &Piece, one: &str) {
    match piece {
        Piece::Byte(byte) => {
            let _ = write!(out, r"\x{byte:02x}");
        }
        Piece::One => out.push_str(one),
        Piece::Many => {
            out.push_str(one);
            out.push('*');
        }
        Piece::Class { is_negated, ranges } => {
            out.push_str(if *is_negated { "[^/" } else { "[" });
            for (first, last) in ranges {
                let _ = write!(out, r"\x{first:02x}-\x{last:02x}");
            }
            out.push(']');
        }
    }
}

fn piece_matches(piece: &Piece, byte: u8) -> bool {
    match piece {
        Piece::Byte(own) => *own == byte,
        Piece::One | Piece::Many => true,
        Piece::Class { is_negated, ranges } => {
            byte != b'/'
                && ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&byte))
                    != *is_negated
        }
    }
}

/// Whether a sequence of steps, some of which may take any number of items, takes all of `items`. Linear in the
/// product of both lengths.
pub(super) fn takes<S, I>(
    steps: &[S],
    items: &[I],
    takes_many: impl Fn(&S) -> bool,
    takes_one: impl Fn(&S, &I) -> bool,
) -> bool {
    let mut reached = vec![false; steps.len() + 1];
    reached[0] = true;
    let skip = |reached: &mut Vec<bool>| {
        for (index, step) in steps.iter().enumerate() {
            if reached[index] && takes_many(step) {
                reached[index + 1] = true;
            }
        }
    };
    skip(&mut reached);
    for item in items {
        let mut next = vec![false; steps.len() + 1];
        for (index, step) in steps.iter().enumerate().filter(|(index, _)| reached[*index]) {
            if takes_many(step) {
                next[index] = true;
            } else if takes_one(step, item) {
                next[index + 1] = true;
            }
        }
        skip(&mut next);
        reached = next;
    }
    reached[steps.len()]
}
