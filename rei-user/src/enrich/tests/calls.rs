//! Opens and execution attempts: path, access and confidence.

use super::*;

#[test]
fn successful_opens_are_as_sure_as_their_object() {
    let table = [
        (file_flag::PRESENT, 0, 0, Confidence::KernelObject),
        (file_flag::PRESENT, evidence::CONTESTED, 0, Confidence::Contested),
        (
            file_flag::PRESENT,
            evidence::TABLE_SHARED,
            missing::TEXT_ENTRY,
            Confidence::KernelObject,
        ),
        (0, 0, missing::OBJECT, Confidence::Unresolved),
        (
            file_flag::PRESENT,
            0,
            missing::PATH_UNREADABLE,
            Confidence::Unresolved,
        ),
        (file_flag::PRESENT, 0, missing::PATH_RACED, Confidence::Unresolved),
        (
            file_flag::PRESENT,
            evidence::CONTESTED,
            missing::PATH_RACED,
            Confidence::Contested,
        ),
    ];
    for (flags, evidence_bits, missing_bits, expected) in table {
        let mut header = record::header(EventKind::Open);
        header.missing = missing_bits;
        let file = FileFacts {
            flags,
            ..FileFacts::default()
        };
        let body = OpenBody {
            file,
            evidence: evidence_bits,
            ..OpenBody::default()
        };
        let event = record::event(&header, &Body::Open(body), &[(PartTag::Path, b"x\0")]);
        assert_eq!(container().take(event).confidence(), expected);
    }
}

/// A failed open with the texts, evidence bits and missing bits; `None` leaves a part out.
fn failed(entry: Option<&[u8]>, exit: Option<&[u8]>, base: Option<&[u8]>, bits: u32) -> Enriched {
    let mut header = record::header(EventKind::Open);
    header.missing |= if entry.is_none() { missing::TEXT_ENTRY } else { 0 };
    header.missing |= if exit.is_none() { missing::TEXT_EXIT } else { 0 };
    header.missing |= if base.is_none() { missing::BASE } else { 0 };
    let body = OpenBody {
        ret: -2,
        evidence: bits,
        syscall: 257,
        ..OpenBody::default()
    };
    let mut parts = Vec::new();
    parts.extend(entry.map(|text| (PartTag::TextEntry, text)));
    parts.extend(exit.map(|text| (PartTag::TextExit, text)));
    parts.extend(base.map(|components| (PartTag::Base, components)));
    container().take(record::event(&header, &Body::Open(body), &parts))
}

#[test]
fn failed_opens_are_as_sure_as_their_text() {
    use Confidence::{ArgumentText, Contested, Unresolved};
    // Text at entry, text at exit, base: "-" is unreadable. Then evidence, confidence, path.
    let table = [
        (["x", "x", "job\0"], 0, ArgumentText, "/job/x"),
        (["-", "/x", ""], 0, ArgumentText, "/x"),
        (["a", "b", "job\0"], 0, Unresolved, "/job/b"),
        (["a", "-", "job\0"], 0, Unresolved, "/job/a"),
        (["-", "-", "job\0"], 0, Unresolved, "-"),
        (["x", "x", "-"], 0, Unresolved, "-"),
        (["x", "x", "w\0"], evidence::BASE_CHANGED, Unresolved, "/w/x"),
        (["x", "x", "w\0"], evidence::CONTESTED, Contested, "/w/x"),
    ];
    let readable = |text: &'static str| Some(text.as_bytes()).filter(|text| *text != b"-");
    for (texts, bits, confidence, path) in table {
        let [entry, exit, base] = texts.map(readable);
        let enriched = failed(entry, exit, base, bits);
        assert_eq!(enriched.confidence(), confidence, "{texts:?} {bits}");
        let Act::Open(opened) = enriched.act() else {
            panic!()
        };
        assert_eq!(opened.path.as_deref(), readable(path));
        assert!(opened.lexical && opened.file.is_none());
        assert_eq!(enriched.outcome().to_string(), "ENOENT");
    }
    let Act::Open(opened) = failed(Some(b"a"), Some(b"b"), Some(b""), 0).act().clone() else {
        panic!()
    };
    assert_eq!(opened.text.differing_entry(), Some(&b"a"[..]));
}

#[test]
fn what_the_kernel_could_not_read_reached_nothing() {
    let mut header = record::header(EventKind::Open);
    header.missing = missing::TEXT_ENTRY | missing::TEXT_EXIT;
    let with = |ret| {
        Body::Open(OpenBody {
            ret,
            ..OpenBody::default()
        })
    };
    assert!(
        container()
            .take(record::event(&header, &with(-14), &[]))
            .reached_nothing()
    );
    assert!(
        !container()
            .take(record::event(&header, &with(-2), &[]))
            .reached_nothing()
    );
}

#[test]
fn exec_attempts_have_their_object_or_their_text() {
    let take = |body, parts: &[(PartTag, &[u8])]| {
        container().take(record::event(
            &record::header(EventKind::ExecAttempt),
            &Body::ExecAttempt(body),
            parts,
        ))
    };
    let file = overlay(OVERLAY_IMAGE);
    let empty = ExecAttemptBody {
        file,
        ret: -13,
        evidence: evidence::ENTRY_SEEN | evidence::EMPTY_PATH,
        ..ExecAttemptBody::default()
    };
    let enriched = take(
        empty,
        &[(PartTag::Path, b"tool\0bin\0"), (PartTag::TextExit, b"")],
    );
    assert_eq!(enriched.confidence(), Confidence::KernelObject);
    assert!(
        matches!(enriched.act(), Act::ExecAttempt(a) if a.path.as_deref() == Some(b"/bin/tool") && !a.lexical)
    );
    let without_entry = ExecAttemptBody {
        evidence: evidence::EMPTY_PATH,
        ..empty
    };
    let enriched = take(without_entry, &[(PartTag::Path, b"tool\0bin\0")]);
    assert_eq!(enriched.confidence(), Confidence::Unresolved);
    assert!(!enriched.entry_seen());
    let missing = ExecAttemptBody {
        ret: -2,
        evidence: evidence::ENTRY_SEEN,
        ..ExecAttemptBody::default()
    };
    let parts: [(PartTag, &[u8]); 2] = [(PartTag::TextExit, b"/usr/local/bin/ls"), (PartTag::Base, b"")];
    let without_entry = ExecAttemptBody {
        evidence: 0,
        ..missing
    };
    assert_eq!(take(without_entry, &parts).confidence(), Confidence::Unresolved);
    let enriched = take(missing, &parts);
    assert_eq!(
        (enriched.confidence(), enriched.outcome().to_string().as_str()),
        (Confidence::ArgumentText, "ENOENT")
    );
    assert!(matches!(enriched.act(), Act::ExecAttempt(a) if a.lexical));
}
