//! Every small change of a small log is found.

use std::thread;

use rei::verify::{Report, Verdict, Violation};

use crate::files::{Files, L0, L1, L2, Numbers, Scratch, With, codes};
use crate::honest::on_host;
use crate::writer::root;
use crate::{Auditor, closed_log, small_log};

/// Runs `check` on every item, on all cores, each with a scratch directory of its own.
fn on_all_cores<T: Sync>(items: &[T], check: impl Fn(&T, &Scratch) + Sync) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for part in items.chunks(items.len().div_ceil(cores).max(1)) {
            scope.spawn(|| {
                let scratch = Scratch::new();
                part.iter().for_each(|item| check(item, &scratch));
            });
        }
    });
}

/// Judges changed files; says so if nobody noticed.
#[track_caller]
fn is_found(auditor: &Auditor, files: &Files, scratch: &Scratch, with: With<'_>) -> Report {
    files.write(&scratch.log());
    let report = auditor.judge_in(scratch, with);
    assert_eq!(report.verdict, Verdict::Tampered, "{report:#?}");
    report
}

/// Row 1.
#[test]
fn row_01_every_flipped_bit_of_a_segment_is_found_with_the_public_key_or_with_the_secret_one() {
    let (auditor, writer) = small_log();
    let mut flips = Vec::new();
    for (segment, file) in writer.files.segments.iter().enumerate() {
        let bits = 8 * file.as_ref().expect("a segment").len();
        flips.extend((0..bits).map(|bit| (segment, bit)));
    }
    let without_checkpoints = Files {
        checkpoints: None,
        ..writer.files.clone()
    };
    on_all_cores(&flips, |(segment, bit), scratch| {
        for (files, with) in [
            (&writer.files, L1),
            (&without_checkpoints, With { public: false, ..L2 }),
        ] {
            let mut files = files.clone();
            let bytes = files.segments[*segment].as_mut().expect("a segment");
            bytes[bit / 8] ^= 1 << (bit % 8);
            is_found(&auditor, &files, scratch, with);
        }
    });
}

/// The other files: a changed token or checkpoint is found, too, or is not taken for one.
#[test]
fn every_flipped_bit_of_the_token_and_of_the_checkpoints_is_found() {
    let (auditor, writer) = small_log();
    let (head, notes) = (writer.files.head.clone(), writer.files.checkpoints.clone());
    let (head, notes) = (head.expect("a token"), notes.expect("checkpoints"));
    // Without its last line feed, a token is whole.
    let bits: Vec<usize> = (0..8 * (head.len() - 1)).collect();
    on_all_cores(&bits, |bit, scratch| {
        let mut files = writer.files.clone();
        files.head.as_mut().expect("a token")[bit / 8] ^= 1 << (bit % 8);
        let report = is_found(&auditor, &files, scratch, L2);
        assert_eq!(codes(&report), ["HEADTOK_FORGED"]);
    });
    // What a note says, without its signatures: a signature with another name or key id is one of an unknown key, and
    // is ignored as long as another one is right.
    let text = String::from_utf8(notes.clone()).expect("text");
    let is_signed = |at: usize| {
        let start = text[..at].rfind("%%\n").map_or(0, |end| end + 3);
        text[start..].find("\n\n").is_none_or(|end| at < start + end + 2)
    };
    let bits: Vec<usize> = (0..8 * notes.len()).collect();
    on_all_cores(&bits, |bit, scratch| {
        let mut files = writer.files.clone();
        files.checkpoints.as_mut().expect("checkpoints")[bit / 8] ^= 1 << (bit % 8);
        files.write(&scratch.log());
        let report = auditor.judge_in(scratch, L1);
        let at = bit / 8;
        if text.is_char_boundary(at) && text[at..].contains("\n\n") && is_signed(at) {
            assert_eq!(report.verdict, Verdict::Tampered, "bit {bit}: {report:#?}");
        }
        let is_of_checkpoints =
            |code: Violation| code.code().starts_with("CP_") || code == Violation::LogShorterThanCheckpoint;
        assert!(
            report
                .violations
                .entries()
                .iter()
                .all(|found| is_of_checkpoints(found.code))
        );
        // Never is a checkpoint believed that was not made.
        let newest = report
            .newest_checkpoint
            .map(|newest| (newest.size, newest.root.0));
        let made = [4, 8].map(|size| (size, root(&writer.leaves[..size as usize])));
        assert!(newest.is_none_or(|newest| made.contains(&newest)), "{newest:?}");
    });
}

/// Rows 3, 6, 7: without any key.
#[test]
fn every_dropped_repeated_and_swapped_line_is_found() {
    let (auditor, writer) = closed_log();
    for segment in 0..2 {
        let lines = writer.files.lines(segment);
        for at in 0..lines.len() {
            let scratch = Scratch::new();
            let mut dropped = lines.clone();
            dropped.remove(at);
            let mut repeated = lines.clone();
            repeated.insert(at, lines[at].clone());
            let mut changes = vec![dropped, repeated];
            for other in at + 1..lines.len() {
                let mut swapped = lines.clone();
                swapped.swap(at, other);
                changes.push(swapped);
            }
            for changed in changes {
                let mut files = writer.files.clone();
                files.set_lines(segment, &changed);
                is_found(&auditor, &files, &scratch, L0);
                is_found(&auditor, &files, &scratch, L2);
            }
        }
    }
}

/// Rows 8 to 10: cut at every byte of the last segment, with what vouches for its end, and with nothing.
#[test]
fn row_08_09_10_every_truncation_of_the_last_segment() {
    let (auditor, writer) = small_log();
    let whole = writer.files.segments[1].clone().expect("a segment");
    let note = writer.note();
    let cuts: Vec<usize> = (0..whole.len()).collect();
    on_all_cores(&cuts, |cut, scratch| {
        let mut files = writer.files.clone();
        files.segments[1] = Some(whole[..*cut].to_vec());
        let report = is_found(&auditor, &files, scratch, L1);
        assert!(report.violations.has(Violation::LogShorterThanCheckpoint));
        files.checkpoints = None;
        let report = is_found(&auditor, &files, scratch, L2);
        assert_eq!(codes(&report), ["TRUNCATED_TAIL"], "row 9");
        is_found(&auditor, &files, scratch, on_host(&writer));
        let trusted = With {
            trusted: Some(&note),
            ..L1
        };
        let report = is_found(&auditor, &files, scratch, trusted);
        assert!(report.violations.has(Violation::LogShorterThanCheckpoint));
        files.head = None;
        // The honest limit: nothing says where the log ended. Never `ok`.
        for with in [L0, L1, L2] {
            files.write(&scratch.log());
            let report = auditor.judge_in(scratch, with);
            assert_eq!(
                (report.verdict, codes(&report)),
                (Verdict::Incomplete, vec![]),
                "row 10"
            );
        }
        let report = is_found(&auditor, &files, scratch, trusted);
        assert!(
            report.violations.has(Violation::LogShorterThanCheckpoint),
            "row 10"
        );
        is_found(&auditor, &files, scratch, on_host(&writer));
    });
}

/// Rows 2, 4, 5: whoever recomputes every hash still lacks the keys.
#[test]
fn every_edited_or_deleted_line_is_found_after_all_hashes_were_made_right() {
    let (auditor, writer) = closed_log();
    for segment in 0..2 {
        let lines = writer.files.lines(segment);
        for at in 1..lines.len() {
            let scratch = Scratch::new();
            let mut edited = writer.files.clone();
            edited.edit(segment, at, |line| line.replacen("\"b\":\"1", "\"b\":\"2", 1));
            let mut deleted = writer.files.clone();
            let mut rest = lines.clone();
            rest.remove(at);
            deleted.set_lines(segment, &rest);
            for (mut files, numbers) in [
                (edited, Numbers::Kept),
                (deleted.clone(), Numbers::Lines),
                (deleted, Numbers::All),
            ] {
                files.rechain(writer.genesis(), numbers);
                let report = is_found(&auditor, &files, &scratch, L1);
                let by_checkpoint = report.violations.has(Violation::CheckpointRoot)
                    || report.violations.has(Violation::LogShorterThanCheckpoint);
                assert!(by_checkpoint, "{report:#?}");
                files.checkpoints = None;
                let report = is_found(&auditor, &files, &scratch, With { public: false, ..L2 });
                assert!(
                    codes(&report)
                        .iter()
                        .any(|code| ["TAG", "EPOCH_GAP", "TRUNCATED_TAIL"].contains(code)),
                    "{report:#?}"
                );
            }
        }
    }
}
