//! No false alarm: logs as an honest writer leaves them, whole, open, crashed, restarted.

use rei::verify::{Completeness, Report, Verdict, Warning};

use crate::files::{Files, L0, L1, L2, With, codes};
use crate::writer::{Host, Writer, hex};
use crate::{Auditor, closed_log, open_log};

/// With everything that the host has, too.
pub(crate) fn on_host(writer: &Writer) -> With<'_> {
    With {
        state: Some(writer),
        ..L2
    }
}

#[track_caller]
fn expect(report: &Report, verdict: Verdict) {
    assert_eq!(
        (report.verdict, codes(report)),
        (verdict, Vec::new()),
        "{report:#?}"
    );
}

#[test]
fn a_closed_log_is_ok_at_every_level() {
    let (auditor, writer) = closed_log();
    let note = writer.note();
    for (with, completeness) in [
        (L0, Completeness::Unproven),
        (L1, Completeness::Unproven),
        (L2, Completeness::Local),
        (
            With {
                key: false,
                ..on_host(&writer)
            },
            Completeness::Local,
        ),
        (on_host(&writer), Completeness::Local),
    ] {
        let report = auditor.judge(&writer.files, with);
        expect(&report, Verdict::Ok);
        assert_eq!(report.completeness, completeness);
        assert!(report.warnings.is_empty(), "{report:#?}");
        assert_eq!((report.size, report.segments, report.seals_checked), (15, 2, 7));
        assert_eq!(report.tags_checked, if with.key { 7 } else { 0 });
        let last = report.last_good.expect("a seal");
        assert_eq!((last.seq, report.unsealed_lines, report.torn_bytes), (14, 0, 0));
        assert_eq!(
            report.newest_checkpoint.as_ref().map(|newest| newest.size),
            Some(15)
        );
        assert_eq!(
            report.newest_checkpoint.map(|newest| newest.note),
            Some(note.clone())
        );
    }
    let report = auditor.judge(
        &writer.files,
        With {
            trusted: Some(&note),
            ..L1
        },
    );
    expect(&report, Verdict::Ok);
    assert_eq!(report.anchored_size, Some(15));
    let bare = Files {
        head: None,
        checkpoints: None,
        ..writer.files.clone()
    };
    let report = auditor.judge(&bare, L2);
    expect(&report, Verdict::Ok);
    assert_eq!(report.completeness, Completeness::Unproven);
    assert!(report.warnings.has(Warning::TokenAbsent) && report.warnings.has(Warning::SegmentUnsigned));
}

#[test]
fn the_worked_example_of_the_text_is_what_the_second_writer_makes() {
    let mut master = [0; 32];
    master
        .iter_mut()
        .zip(0x20..)
        .for_each(|(byte, value)| *byte = value);
    let mut log = [0; 16];
    log.iter_mut().zip(0..).for_each(|(byte, value)| *byte = value);
    let mut writer = Writer::bare(log, "rei.example/node-7", master);
    let birth = String::from_utf8(writer.files.head.clone().expect("a token")).expect("text");
    assert!(
        birth.contains("\"seg\":0"),
        "the opening has replaced the birth token"
    );
    writer.line("open", r#"{"path":"/etc/shadow","pid":4242}"#);
    writer.seal(0);
    let text = include_str!("../../docs/format.md");
    let lines = writer.files.lines(0);
    assert_eq!(lines.len(), 4);
    for line in &lines {
        assert!(text.contains(line.as_str()), "{line}");
    }
    let token = String::from_utf8(writer.files.head.clone().expect("a token")).expect("text");
    let tag = token.lines().nth(1).expect("its tag");
    assert!(text.contains(tag), "{tag}");
    assert!(text.contains(&hex(&crate::writer::root(&writer.leaves))));
    assert!(text.contains(&writer.note()), "{}", writer.note());
    // An open log that no host knows, judged with its own M[0].
    let key = rei::keys::derive::MasterKey::new(rei::keys::secret::Secret::new(master));
    let scratch = crate::files::Scratch::new();
    writer.files.write(&scratch.log());
    let request = rei::verify::Request {
        key: Some(rei::verify::Key::Master(&key)),
        ..Default::default()
    };
    let report = rei::verify::verify(&scratch.log(), &request);
    expect(&report, Verdict::Incomplete);
    assert_eq!(
        (report.tags_checked, report.completeness),
        (2, Completeness::Local)
    );
}

#[test]
fn a_log_with_every_number_of_its_series_is_judged_with_its_own_key() {
    let mut host = Host::new(3);
    let auditor = Auditor::of(&host);
    for number in 0..5 {
        let mut writer = Writer::new(&mut host, number);
        writer.event();
        writer.close();
        let report = auditor.judge(&writer.files, on_host(&writer));
        expect(&report, Verdict::Ok);
        assert_eq!(report.series.map(|series| series.i), Some(u64::from(number)));
    }
}

/// Row 32 and 33: cut at every byte of the open segment after its opening, as a crash can, with the tokens that a
/// crash can leave; then restarted, closed, and crashed again.
#[test]
fn row_32_33_a_crash_at_every_byte_is_no_alarm_before_and_after_the_restart() {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    writer.close();
    writer.roll();
    writer.event();
    writer.seal(0);
    let before = writer.clone();
    writer.event();
    writer.event();
    writer.seal(0);
    let (durable, whole) = (segment(&before, 1).len(), segment(&writer, 1).clone());
    for cut in durable..=whole.len() {
        // The batch may be there in any part while the token is still the one before; the token of the batch is
        // written only once all of it is there.
        let tokens = [Some(&before), (cut == whole.len()).then_some(&writer)];
        for owner in tokens.into_iter().flatten() {
            let mut crashed = owner.clone();
            crashed.files.segments[1] = Some(whole[..cut].to_vec());
            for with in [L0, L1, L2, on_host(&crashed)] {
                let report = auditor.judge(&crashed.files, with);
                expect(&report, Verdict::Incomplete);
                let line_start = whole[..cut]
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .expect("lines")
                    + 1;
                assert_eq!(report.torn_bytes, (cut - line_start) as u64);
                if with.key {
                    assert_eq!(report.completeness, Completeness::Local);
                }
            }
            if cut % 7 != 0 && cut != whole.len() {
                continue;
            }
            let unsealed = auditor.judge(&crashed.files, L2).unsealed_lines;
            crashed.restart();
            for with in [L0, L1, L2, on_host(&crashed)] {
                let report = auditor.judge(&crashed.files, with);
                expect(&report, Verdict::Incomplete);
                let recovered = report.warnings.has(Warning::RecoveredUnsealed);
                assert_eq!(recovered, unsealed > 0);
            }
            // Twice in a row: opened, and no event taken.
            let mut again = crashed.clone();
            again.restart();
            again.close();
            expect(&auditor.judge(&again.files, on_host(&again)), Verdict::Ok);
            crashed.event();
            crashed.close();
            expect(&auditor.judge(&crashed.files, on_host(&crashed)), Verdict::Ok);
        }
    }
}

fn segment(writer: &Writer, number: usize) -> &Vec<u8> {
    writer.files.segments[number].as_ref().expect("the segment")
}

/// Every durable step of an opening, as a crash leaves it.
#[test]
fn a_crash_while_a_segment_is_opened_is_no_alarm() {
    let (auditor, before) = open_log();
    let mut opened = before.clone();
    opened.restart();
    let file = segment(&opened, 2).clone();
    for cut in 0..=file.len() {
        // The key of the segment is wiped after its token is written.
        let mut torn = before.clone();
        torn.slots.clone_from(&opened.slots);
        torn.slots.extend(before.slots.iter().filter(|slot| slot.0 == 2));
        torn.files.segments.push(Some(file[..cut].to_vec()));
        for with in [L0, L1, L2, on_host(&torn)] {
            let report = auditor.judge(&torn.files, with);
            expect(&report, Verdict::Incomplete);
            let lines = file[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(report.warnings.has(Warning::TornOpening), lines < 2);
        }
    }
    let mut sealed = opened.clone();
    sealed
        .slots
        .extend(before.slots.iter().filter(|slot| slot.0 == 2));
    for state in [&sealed, &opened] {
        expect(&auditor.judge(&state.files, on_host(state)), Verdict::Incomplete);
    }
}

#[test]
fn a_log_that_has_only_just_been_born_is_no_alarm() {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let writer = Writer::new(&mut host, 7);
    let mut bare = writer.clone();
    let file = segment(&writer, 0).clone();
    for cut in 0..=file.len() {
        bare.files.segments[0] = Some(file[..cut].to_vec());
        bare.files.head = None;
        expect(&auditor.judge(&bare.files, L2), Verdict::Incomplete);
    }
    expect(
        &auditor.judge(&writer.files, on_host(&writer)),
        Verdict::Incomplete,
    );
}

#[test]
fn a_checkpoint_that_was_cut_short_is_no_alarm() {
    let (auditor, mut writer) = closed_log();
    let whole = writer.files.checkpoints.clone().expect("checkpoints");
    for cut in 0..whole.len() {
        writer.files.checkpoints = Some(whole[..cut].to_vec());
        expect(&auditor.judge(&writer.files, L2), Verdict::Ok);
    }
}

#[test]
fn clocks_that_jump_are_no_alarm() {
    let (auditor, writer) = closed_log();
    let mut host = Host::new(1);
    let mut jumping = Writer::new(&mut host, 7);
    let line = jumping.envelope("ctl", r#"{"what":"operator","text":""}"#);
    let back = line.replace("\"t\":\"17", "\"t\":\"16");
    assert_ne!(line, back);
    jumping.put(back.as_bytes());
    let seal = jumping.envelope("ctl", r#"{"what":"operator","text":""}"#);
    jumping.put(seal.as_bytes());
    let report = auditor.judge(&jumping.files, L2);
    expect(&report, Verdict::Incomplete);
    assert!(report.warnings.has(Warning::ClockBack));
    assert!(!auditor.judge(&writer.files, L2).warnings.has(Warning::ClockBack));
}
