//! What a verifier finds: violations and warnings, each with its place. A cascade is one entry with a count.

use serde::{Serialize, Serializer};

/// Most entries of each list: a hostile log must not fill the memory.
const ENTRIES_MAX: usize = 1000;

macro_rules! codes {
    ($(#[$about:meta])* $name:ident { $($variant:ident $code:literal $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $text] $variant,)*
        }

        impl $name {
            /// Every code.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The code, as reports carry it.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $($name::$variant => $code,)* }
            }

            /// A sentence for a person.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

codes! {
    /// What an honest log never shows: each one makes the verdict `tampered`.
    Violation {
        SegmentMissing "SEGMENT_MISSING" "a segment is missing",
        Oversize "OVERSIZE" "a line is longer than a line may be",
        Parse "PARSE" "a line is not what the format says",
        DuplicateKey "DUPKEY" "a key stands twice in one object",
        NotCanonical "NONCANON" "the bytes are not those that the format writes for what they say",
        Version "VERSION" "a line claims another version of the format than its log",
        LineAfterClose "LINE_AFTER_CLOSE" "something follows the seal that closed the segment",
        SegmentNumber "SEG_NUMBER" "a line belongs to another segment",
        Sequence "SEQ" "a line's number is not the next one",
        Chain "CHAIN" "the line before is not the one that this line was written after",
        HeaderPosition "HEADER_POSITION" "a header that is not the first line, or a first line that is no header",
        BoottimeBackwards "BOOTTIME_BACKWARDS" "boot time went back within one boot",
        LogId "LOG_ID" "the line belongs to another log",
        Origin "ORIGIN" "the log was written by somebody else",
        BirthCertificate "BIRTH_CERT" "the host did not certify the birth of this log",
        Birth "BIRTH" "the log's place in its series is missing, or differs between segments",
        SegmentKeyChain "SEGKEY_CHAIN" "the segment's key is not the one that the segment before announced",
        SegmentKeySignature "SEGKEY_SIG" "the segment's key did not sign its own header",
        PreviousState "PREV_STATE" "the header describes another end of the segment before than there is",
        TokenMissing "HEADTOK_MISSING" "there is no head token, though there always is one",
        TokenForged "HEADTOK_FORGED" "the head token was not written by the log's own writer for this log",
        TokenStale "HEADTOK_STALE" "the head token is older than the writer can have left it",
        TruncatedTail "TRUNCATED_TAIL" "the end is cut off: the head token knows a later seal",
        EpochGap "EPOCH_GAP" "a seal's epoch is not the next one",
        SealCount "SEAL_COUNT" "a seal counts other lines than there are",
        Root "ROOT" "a seal's root is not that of the lines before it",
        LostBack "LOST_BACK" "the counter of lost events went back",
        Tag "TAG" "a seal was not made with the key of its epoch",
        Unsealed "UNSEALED" "a segment has no seal at all",
        CheckpointOrigin "CP_ORIGIN" "a checkpoint is of another origin",
        CheckpointSignature "CP_SIG" "a checkpoint has no valid signature by a key of this log, or an invalid one",
        CheckpointParse "CP_PARSE" "a checkpoint is not what the format says",
        LogShorterThanCheckpoint "LOG_SHORTER_THAN_CHECKPOINT" "a checkpoint covers more lines than there are",
        CheckpointRoot "CP_ROOT" "a checkpoint was made of other lines than there are",
        KeyStateGeneration "KEYSTATE_GEN" "the host's key state belongs to another end of this log",
        KeyStateValue "KEYSTATE_VALUE" "the host's key state does not come from this log's keys",
        SeriesNumberMissing "SERIES_MISSING" "a number of the series is neither here nor accounted for",
        SeriesNumberTwice "SERIES_TWICE" "a number of the series stands for two logs",
        SeriesEntry "SERIES_ENTRY" "an entry of the series' list is not what the host wrote, or contradicts a log",
    }
}

codes! {
    /// What deserves a look and is no proof of anything.
    Warning {
        ClockBack "CLOCK_BACK" "the wall clock went back",
        UnknownKind "UNKNOWN_KIND" "a line of a kind that this rei does not know: only its form was checked",
        SegmentUnsigned "SEG_UNSIGNED" "no checkpoint by the segment's own key covers its end: public keys protect it only from the next checkpoint on",
        TornOpening "TORN_OPENING" "the last segment was cut short while it was opened: no event can have been in it",
        TokenAbsent "HEADTOK_ABSENT" "there is no head token: nothing says that the log did not go on",
        CheckpointTorn "CP_TORN" "the last checkpoint was cut short while it was written",
        RecoveredUnsealed "RECOVERED_UNSEALED" "lines that were not yet sealed when their writer crashed: only the next segment's header covers them",
        KeyStateAbsent "KEYSTATE_ABSENT" "the host has no key state for this log",
        WriterChanged "HOST_CHANGED" "another machine went on with this log: a clone or a restored image",
    }
}

impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// Where something was found; what is not known, or does not apply, is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Where {
    /// The segment.
    #[serde(rename = "seg", skip_serializing_if = "Option::is_none")]
    pub segment: Option<u64>,
    /// The line, counted from 0 through the whole log.
    #[serde(rename = "seq", skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The byte of the segment's file where the line begins.
    #[serde(rename = "byte", skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// One thing that was found, at its first place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found<C> {
    /// What.
    pub code: C,
    /// The first place.
    #[serde(flatten)]
    pub place: Where,
    /// How often: what follows from the first one is counted and not listed.
    pub count: u64,
    /// More about the first one, where there is more to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A list of findings, bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings<C> {
    entries: Vec<Found<C>>,
}

impl<C> Default for Findings<C> {
    fn default() -> Self {
        Findings { entries: Vec::new() }
    }
}

/// How far a repetition is the same finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Each segment has its own entry.
    Segment,
    /// What comes later, in whatever segment, follows from the first.
    Log,
}

impl<C: Copy + PartialEq> Findings<C> {
    /// Adds one; says whether it has an entry of its own.
    pub fn add(&mut self, code: C, spread: Spread, place: Where, note: impl FnOnce() -> String) {
        let known = self.entries.iter_mut().find(|entry| {
            entry.code == code && (spread == Spread::Log || entry.place.segment == place.segment)
        });
        if let Some(known) = known {
            known.count += 1;
        } else if self.entries.len() < ENTRIES_MAX {
            self.entries.push(Found {
                code,
                place,
                count: 1,
                note: note(),
            });
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether this was found.
    #[must_use]
    pub fn has(&self, code: C) -> bool {
        self.entries.iter().any(|entry| entry.code == code)
    }

    /// What was found, in the order of finding.
    #[must_use]
    pub fn entries(&self) -> &[Found<C>] {
        &self.entries
    }
}

impl<C: Serialize> Serialize for Findings<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES_MAX, Findings, Spread, Violation, Warning, Where};

    fn at(segment: u64) -> Where {
        Where {
            segment: Some(segment),
            ..Where::default()
        }
    }

    #[test]
    fn a_cascade_is_one_entry() {
        let mut found = Findings::default();
        for segment in [3, 3, 4] {
            found.add(Violation::Root, Spread::Log, at(segment), String::new);
            found.add(Violation::Chain, Spread::Segment, at(segment), String::new);
        }
        let counts: Vec<_> = found
            .entries()
            .iter()
            .map(|entry| (entry.code, entry.place.segment, entry.count))
            .collect();
        assert_eq!(
            counts,
            [
                (Violation::Root, Some(3), 3),
                (Violation::Chain, Some(3), 2),
                (Violation::Chain, Some(4), 1)
            ]
        );
    }

    #[test]
    fn the_list_ends() {
        let mut found = Findings::default();
        for segment in 0..5000 {
            found.add(Violation::Chain, Spread::Segment, at(segment), String::new);
        }
        assert_eq!(found.entries().len(), ENTRIES_MAX);
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = Violation::ALL.iter().map(|code| code.code()).collect();
        codes.extend(Warning::ALL.iter().map(|code| code.code()));
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }
}
