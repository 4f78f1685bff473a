//! The second building: a log and what the auditor holds → [`Report`].
//!
//! Shares the format and the derivation of keys with the writer, and nothing else, so that it cannot repeat the
//! writer's mistakes. It reads every byte once and in order, and keeps nothing that grows with the lines: some bytes
//! for each segment, and some for each checkpoint. No input makes it panic or run without end.
//!
//! A log that is being written is read while it grows. What must not be missing is what was there before the first
//! line was read (head token, checkpoints, key state); how old the token may be is judged by the one that is there
//! after the last line. Neither can race with the writer.

use std::path::Path;

pub use self::finding::{Findings, Found, Spread, Violation, Warning, Where};
pub use self::report::{Completeness, Held, LastGood, NewestCheckpoint, Report, SeriesPlace, Verdict};
pub use self::series::{SeriesCheck, SeriesReport};

use self::checkpoint::Sizes;
use self::examination::Examination;
use self::host::Slots;
use self::token::FoundHead;
use crate::format::{Body, Hex, read_line, read_vkey};
use crate::keys::derive::{MasterKey, VerificationKey};
use crate::log::read::{LogDirectory, Piece, ReadError};

mod checkpoint;
mod examination;
mod finding;
mod header;
mod host;
mod line;
mod ratchet;
mod report;
mod series;
mod token;

/// What a log is checked against. Everything is optional: the less is given, the less is proven.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// What gives the log's secret keys (L2).
    pub key: Option<Key<'a>>,
    /// The host's public log key (L1).
    pub host: Option<&'a HostKey>,
    /// Checkpoints that were kept outside the host (L3): one note, or several with a line `%%` between.
    pub trusted: Option<&'a [u8]>,
    /// The log that it has to be.
    pub log: Option<Hex<16>>,
    /// Where the host keeps its keys: on the host itself.
    pub keys: HostState<'a>,
}

/// What gives a log's secret keys.
#[derive(Clone, Copy)]
pub enum Key<'a> {
    /// The key of the series that the log belongs to.
    Series(&'a VerificationKey),
    /// `M_0` of this very log.
    Master(&'a MasterKey),
}

/// Where to look for the host's key state of a log.
#[derive(Clone, Copy, Default)]
pub enum HostState<'a> {
    /// Nowhere: the files alone are judged.
    #[default]
    Ignored,
    /// In this directory, if it is there and can be read.
    IfThere(&'a Path),
    /// In this directory: it is a finding if it is not there.
    Expected(&'a Path),
}

/// The public half of a host's log key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKey {
    /// Who signs.
    pub origin: String,
    /// The key.
    pub key: Hex<32>,
}

impl HostKey {
    /// Reads the file `host.pub`: a key as C2SP writes it, on one line.
    #[must_use]
    pub fn read(content: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(content).ok()?;
        let (origin, key) = read_vkey(text.strip_suffix('\n').unwrap_or(text))?;
        Some(HostKey { origin, key })
    }
}

/// How often a log is read again because its last segment, an opening that was cut short, was removed meanwhile.
const ATTEMPTS: u32 = 3;

/// Verifies the log in a directory.
#[must_use]
pub fn verify(directory: &Path, request: &Request<'_>) -> Report {
    let path = directory.display().to_string();
    let directory = match LogDirectory::open(directory) {
        Ok(directory) => directory,
        Err(error) => return Report::unreadable(path, error.to_string()),
    };
    let mut attempt = 0;
    loop {
        let mut examination = Examination::new(request);
        if let Err(error) = examine(&directory, request, &mut examination) {
            examination.could_not(error.to_string());
        }
        if attempt == ATTEMPTS || !examination.has_vanished {
            return examination.report(path);
        }
        attempt += 1;
    }
}

fn examine(
    directory: &LogDirectory,
    request: &Request<'_>,
    examination: &mut Examination<'_>,
) -> Result<(), ReadError> {
    let head_before = FoundHead::read(directory)?;
    examination.sizes = Sizes::read(directory, request.trusted, |why| examination.reasons.push(why))?;
    let log = first_log(directory)?.or_else(|| head_before.as_ref().and_then(FoundHead::log));
    let slots_before = Slots::read(request.keys, log)?;
    let Some(top) = directory.highest_segment()? else {
        examination.without_segments(directory, head_before.as_ref());
        return Ok(());
    };
    examination.segments(directory, top)?;
    if examination.is_of_newer_format() {
        return Ok(());
    }
    let head_after = FoundHead::read(directory)?;
    examination.checkpoints(directory)?;
    if !examination.has_read(top) {
        return Ok(());
    }
    let slots_after = Slots::read(request.keys, log)?;
    examination.end(top, [head_before, head_after], &[slots_before, slots_after]);
    Ok(())
}

/// The log's id, as its first line says.
fn first_log(directory: &LogDirectory) -> Result<Option<Hex<16>>, ReadError> {
    let Some(mut lines) = directory.segment(0)? else {
        return Ok(None);
    };
    Ok(match lines.next_piece()? {
        Some(Piece::Line { bytes, .. }) => match read_line(bytes) {
            Ok((_, Body::Head(head))) => Some(head.log),
            _ => None,
        },
        _ => None,
    })
}
