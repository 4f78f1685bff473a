//! One line of a log: the envelope, and what the bytes of a line must be.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Body;
use super::tree::Hash;
use super::value::{Count, Decimal};
use super::walk;

/// Most bytes of a line, without its line feed: a line is also a legal entry of a C2SP tile.
pub const LINE_BYTES_MAX: usize = 65_535;
/// The version that `v` holds.
pub const VERSION: u64 = 1;
/// What a seal's line ends with, after the digits of its tag.
const AFTER_TAG: &[u8] = b"\"}}";
/// Digits of a tag.
const TAG_DIGITS: usize = 64;

/// Where a line stands, and when it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Segment, from 0.
    pub segment: u64,
    /// Line of the whole log, from 0, without gaps.
    pub sequence: u64,
    /// `CLOCK_REALTIME` in nanoseconds since 1970: informative, it may jump.
    pub wall_ns: u64,
    /// `CLOCK_BOOTTIME` in nanoseconds.
    pub boot_ns: u64,
    /// [`super::leaf`] of the line before, or [`super::genesis`].
    pub previous: Hash,
}

/// The keys of the envelope, in this order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a, D> {
    v: Count,
    seg: Count,
    seq: Count,
    #[serde(borrow)]
    k: &'a str,
    t: Decimal,
    b: Decimal,
    p: Hash,
    d: D,
}

/// A line that is too long to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Its length in bytes.
    pub len_bytes: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a line of {} bytes; {LINE_BYTES_MAX} are the most",
            self.len_bytes
        )
    }
}

impl std::error::Error for TooLong {}

/// Why bytes are no line of this format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// Longer than [`LINE_BYTES_MAX`].
    Oversize,
    /// Not what the format says, at this byte of the line where that is known.
    Parse {
        /// What was expected.
        why: String,
    },
    /// The same key twice in one object.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The same facts in other bytes than the format writes.
    NotCanonical,
    /// Written by a newer format.
    Version {
        /// What `v` holds.
        version: u64,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Oversize => write!(formatter, "longer than {LINE_BYTES_MAX} bytes"),
            LineError::Parse { why } => write!(formatter, "not a line of this format: {why}"),
            LineError::DuplicateKey { key } => {
                write!(formatter, "the key {key:?} stands twice in one object")
            }
            LineError::NotCanonical => {
                write!(
                    formatter,
                    "the bytes are not those that the format writes for what they say"
                )
            }
            LineError::Version { version } => {
                write!(
                    formatter,
                    "version {version} of the format, which this rei does not know"
                )
            }
        }
    }
}

impl std::error::Error for LineError {}

/// The bytes of a line, without its line feed. A seal's tag is what its body holds; see [`put_tag`].
///
/// # Errors
/// If the line would be longer than [`LINE_BYTES_MAX`].
pub fn write_line(place: &Place, body: &Body) -> Result<Vec<u8>, TooLong> {
    let mut line = Vec::with_capacity(512);
    write_into(&mut line, place, body)?;
    Ok(line)
}

/// [`write_line`] at the end of a buffer; on an error the buffer is as it was.
///
/// # Errors
/// If the line would be longer than [`LINE_BYTES_MAX`].
pub fn write_into(buffer: &mut Vec<u8>, place: &Place, body: &Body) -> Result<(), TooLong> {
    let start = buffer.len();
    let envelope = Envelope {
        v: Count::new(VERSION),
        seg: Count::new(place.segment),
        seq: Count::new(place.sequence),
        k: body.kind(),
        t: Decimal(place.wall_ns),
        b: Decimal(place.boot_ns),
        p: place.previous,
        d: body,
    };
    // Plain data without maps whose keys are no strings, into memory: this cannot fail.
    let _ = serde_json::to_writer(&mut *buffer, &envelope);
    let len_bytes = buffer.len() - start;
    if len_bytes > LINE_BYTES_MAX {
        buffer.truncate(start);
        return Err(TooLong { len_bytes });
    }
    Ok(())
}

/// Reads a line strictly: what it says, written again, has the same bytes.
///
/// # Errors
/// See [`LineError`].
pub fn read_line(line: &[u8]) -> Result<(Place, Body), LineError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(LineError::Oversize);
    }
    let text = std::str::from_utf8(line).map_err(|error| LineError::Parse {
        why: error.to_string(),
    })?;
    typed(text).or_else(|error| {
        // Keys that stand twice and the like have names of their own.
        walk::check(text)?;
        Err(error)
    })
}

fn typed(text: &str) -> Result<(Place, Body), LineError> {
    let envelope: Envelope<'_, &RawValue> = serde_json::from_str(text).map_err(parse_error)?;
    if envelope.v.value() != VERSION {
        return Err(LineError::Version {
            version: envelope.v.value(),
        });
    }
    let body = Body::read(envelope.k, envelope.d)?;
    let place = Place {
        segment: envelope.seg.value(),
        sequence: envelope.seq.value(),
        wall_ns: envelope.t.0,
        boot_ns: envelope.b.0,
        previous: envelope.p,
    };
    match write_line(&place, &body) {
        Ok(again) if again == text.as_bytes() => Ok((place, body)),
        _ => Err(LineError::NotCanonical),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err wants it")]
pub(super) fn parse_error(error: serde_json::Error) -> LineError {
    LineError::Parse {
        why: error.to_string(),
    }
}

/// What a seal's tag covers: its line up to the digits of the tag. `None` if the line cannot be a seal's.
#[must_use]
pub fn before_tag(line: &[u8]) -> Option<&[u8]> {
    let end = line.len().checked_sub(TAG_DIGITS + AFTER_TAG.len())?;
    line.ends_with(AFTER_TAG).then(|| &line[..end])
}

/// Puts the tag into the line of a seal: over the digits that stand there.
pub fn put_tag(line: &mut [u8], tag: &Hash) {
    let digits = tag.to_string();
    if let Some(start) = line.len().checked_sub(TAG_DIGITS + AFTER_TAG.len()) {
        line[start..start + TAG_DIGITS].copy_from_slice(digits.as_bytes());
    }
}
