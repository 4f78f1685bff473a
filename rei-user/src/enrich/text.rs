//! Argument text: what a call was asked, as found in user memory before and after it.

use bytes::Bytes;
use rei_ebpf_common::evidence;
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::PartTag;

use crate::decode::Event;
use crate::enrich::confidence::Confidence;

/// The argument text of a call at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    entry: Option<Bytes>,
    exit: Option<Bytes>,
}

impl Text {
    pub(super) fn of(event: &Event) -> Self {
        let readable = |tag, bit| event.part(tag).filter(|_| !event.is_missing(bit)).cloned();
        Text {
            entry: readable(PartTag::TextEntry, missing::TEXT_ENTRY),
            exit: readable(PartTag::TextExit, missing::TEXT_EXIT),
        }
    }

    /// The text, as of the exit where it could be read there.
    #[must_use]
    pub fn best(&self) -> Option<&[u8]> {
        self.exit.as_ref().or(self.entry.as_ref()).map(AsRef::as_ref)
    }

    /// The text at entry, where it differs from the text at exit.
    #[must_use]
    pub fn differing_entry(&self) -> Option<&[u8]> {
        let (entry, exit) = (self.entry.as_ref()?, self.exit.as_ref()?);
        (entry != exit).then_some(entry.as_ref())
    }

    /// Readable at exit, and the same at entry if it was readable there.
    fn is_settled(&self) -> bool {
        self.exit.is_some() && self.differing_entry().is_none()
    }

    /// Readable at neither end.
    pub(super) fn is_unreadable(&self) -> bool {
        self.entry.is_none() && self.exit.is_none()
    }

    /// How sure a failed call's lexical path is.
    pub(super) fn confidence(&self, event: &Event, evidence_bits: u32) -> Confidence {
        if evidence_bits & evidence::CONTESTED != 0 {
            return Confidence::Contested;
        }
        let is_base_known = base(event).is_some() && evidence_bits & evidence::BASE_CHANGED == 0;
        if self.is_settled() && is_base_known {
            Confidence::ArgumentText
        } else {
            Confidence::Unresolved
        }
    }

    /// The text joined with the base directory of the event; `None` where either is unknown. Nothing is
    /// resolved.
    pub(super) fn lexical_path(&self, event: &Event) -> Option<Vec<u8>> {
        Some(join(&base(event)?, self.best()?))
    }
}

/// The directory that the text starts from, whole: for an absolute text the root directory of the thread.
pub(super) fn base(event: &Event) -> Option<Vec<u8>> {
    if event.is_missing(missing::BASE) {
        return None;
    }
    event.path(PartTag::Base)
}

/// `text` below the directory `base`, with one slash between them.
pub(super) fn join(base: &[u8], text: &[u8]) -> Vec<u8> {
    let base = base.strip_suffix(b"/").unwrap_or(base);
    let text = text
        .iter()
        .position(|byte| *byte != b'/')
        .map_or(&b""[..], |start| &text[start..]);
    if text.is_empty() && !base.is_empty() {
        return base.to_vec();
    }
    [base, b"/", text].concat()
}

/// Strings that each end with NUL; a last one without NUL was cut.
pub(super) fn split_strings(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes
        .strip_suffix(b"\0")
        .unwrap_or(bytes)
        .split(|byte| *byte == 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_joined_and_not_resolved() {
        let table: [(&[u8], &[u8], &[u8]); 9] = [
            (b"/", b"/etc/x", b"/etc/x"),
            (b"/", b"etc/x", b"/etc/x"),
            (b"/job", b"x", b"/job/x"),
            (b"/job", b"../x", b"/job/../x"),
            (b"/jail", b"/etc/x", b"/jail/etc/x"),
            (b"/jail", b"//etc//x/", b"/jail/etc//x/"),
            (b"/job", b"", b"/job"),
            (b"/", b"", b"/"),
            (b"/", b"///", b"/"),
        ];
        for (base, text, joined) in table {
            assert_eq!(join(base, text), joined);
        }
    }

    #[test]
    fn strings_are_split_on_nul() {
        assert_eq!(split_strings(b""), Vec::<&[u8]>::new());
        assert_eq!(split_strings(b"\0"), [b""]);
        assert_eq!(split_strings(b"a\0\0b\0"), [&b"a"[..], b"", b"b"]);
        assert_eq!(split_strings(b"a\0cut"), [&b"a"[..], b"cut"]);
    }
}
