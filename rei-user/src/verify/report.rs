//! What the verifier says of one log: verdict, completeness, and how far the guarantee reaches.

use serde::{Serialize, Serializer};

use super::finding::{Findings, Violation, Warning};
use crate::format::{Hash, Hex};

/// Whether the log was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every check passed, and the log has an end.
    Ok,
    /// Every check passed, and the log has no closing seal: it is open, or its writer crashed.
    Incomplete,
    /// It could not be checked.
    Unverifiable,
    /// At least one violation.
    Tampered,
}

impl Verdict {
    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Incomplete => "incomplete",
            Verdict::Unverifiable => "unverifiable",
            Verdict::Tampered => "tampered",
        }
    }
}

/// Who says that nothing is missing at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Somebody outside the host, for this many lines.
    Anchored {
        /// Lines.
        size: u64,
        /// Root over them.
        root: Hash,
    },
    /// The host itself: its key state or the head token.
    Local,
    /// Nobody.
    Unproven,
}

impl Completeness {
    /// The word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Completeness::Anchored { .. } => "anchored",
            Completeness::Local => "local",
            Completeness::Unproven => "unproven",
        }
    }
}

impl Serialize for Completeness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// What the log was checked against, beside itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The host's public log key (L1).
    pub public_key: bool,
    /// The verification key of its series (L2).
    pub verification_key: bool,
    /// A checkpoint that was kept outside the host (L3).
    pub trusted_checkpoint: bool,
    /// The host's own key state.
    pub host_state: bool,
}

/// The last seal before anything that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LastGood {
    /// Its line.
    pub seq: u64,
    /// Its wall clock, in ns since 1970, as a decimal string.
    #[serde(serialize_with = "decimal")]
    pub t: u64,
    /// The root over the lines before it.
    pub root: Hash,
}

fn decimal<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// A checkpoint of the log that passed every check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewestCheckpoint {
    /// Lines.
    pub size: u64,
    /// Root over them.
    pub root: Hash,
    /// The note itself: kept outside the host, it is a trusted checkpoint next time.
    pub note: String,
}

/// The log's place in the series of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesPlace {
    /// The series.
    pub id: Hex<16>,
    /// The log's number.
    pub i: u64,
}

/// What was found out about one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The directory, as it was given.
    pub path: String,
    /// Whether it was changed.
    pub verdict: Verdict,
    /// Who says that nothing is missing at the end.
    pub completeness: Completeness,
    /// Lines that an outside checkpoint vouches for; `null` if there is none.
    pub anchored_size: Option<u64>,
    /// Why it could not be checked, or not to its end.
    pub why: Option<String>,
    /// What it was checked against.
    pub held: Held,
    /// The log.
    pub log_id: Option<Hex<16>>,
    /// Who wrote it.
    pub origin: Option<String>,
    /// Its place in the series.
    pub series: Option<SeriesPlace>,
    /// Complete lines.
    pub size: u64,
    /// Root over them.
    pub root: Hash,
    /// Segments that were read.
    pub segments: u64,
    /// Bytes that were read of them.
    pub bytes: u64,
    /// Seals that were looked at.
    pub seals_checked: u64,
    /// Tags of seals that were computed again (with the verification key only).
    pub tags_checked: u64,
    /// Signatures that were checked.
    pub signatures_checked: u64,
    /// Lines after the last seal.
    pub unsealed_lines: u64,
    /// Bytes after the last line.
    pub torn_bytes: u64,
    /// What an honest log never shows.
    pub violations: Findings<Violation>,
    /// What deserves a look.
    pub warnings: Findings<Warning>,
    /// The last seal before anything that is wrong; `null` if there is none that can be believed.
    pub last_good: Option<LastGood>,
    /// The newest checkpoint of the log's own that passed every check.
    pub newest_checkpoint: Option<NewestCheckpoint>,
}

impl Report {
    /// Of a log that could not even be opened.
    #[must_use]
    pub fn unreadable(path: String, why: String) -> Self {
        Report {
            path,
            verdict: Verdict::Unverifiable,
            completeness: Completeness::Unproven,
            anchored_size: None,
            why: Some(why),
            held: Held::default(),
            log_id: None,
            origin: None,
            series: None,
            size: 0,
            root: crate::format::Frontier::default().root(),
            segments: 0,
            bytes: 0,
            seals_checked: 0,
            tags_checked: 0,
            signatures_checked: 0,
            unsealed_lines: 0,
            torn_bytes: 0,
            violations: Findings::default(),
            warnings: Findings::default(),
            last_good: None,
            newest_checkpoint: None,
        }
    }
}
