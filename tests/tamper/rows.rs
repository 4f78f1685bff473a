//! The rows of the table of attacks that are not elsewhere, each by its number.

use rei::verify::{Completeness, Report, Verdict, Violation};

use crate::files::{Files, L0, L1, L2, Numbers, With, codes};
use crate::honest::on_host;
use crate::writer::{Host, Writer, note};
use crate::{Auditor, closed_log, open_log};

/// Where a violation was found: segment, line, byte.
fn place(report: &Report, code: Violation) -> (Option<u64>, Option<u64>, Option<u64>) {
    let found = report
        .violations
        .entries()
        .iter()
        .find(|found| found.code == code);
    let found = found.unwrap_or_else(|| panic!("no {code:?} in {report:#?}"));
    (found.place.segment, found.place.sequence, found.place.offset)
}

#[track_caller]
fn has(report: &Report, expected: &[&str]) {
    let found = codes(report);
    assert!(
        expected.iter().all(|code| found.contains(code)),
        "{expected:?} in {report:#?}"
    );
}

#[test]
fn row_01_an_edited_byte_is_found_at_its_place_and_what_lies_before_is_intact() {
    let (auditor, writer) = closed_log();
    let mut files = writer.files.clone();
    files.edit(0, 5, |line| line.replace("line 5", "line 6"));
    let lines = files.lines(0);
    let offset: usize = lines[..6].iter().map(|line| line.len() + 1).sum();
    let report = auditor.judge(&files, L0);
    assert_eq!(codes(&report), ["CHAIN", "CP_ROOT", "ROOT"]);
    assert_eq!(
        place(&report, Violation::Chain),
        (Some(0), Some(6), Some(offset as u64))
    );
    let root = report
        .violations
        .entries()
        .iter()
        .find(|found| found.code == Violation::Root);
    assert_eq!(root.map(|found| found.count), Some(5), "a cascade is one entry");
    files.checkpoints = None;
    assert_eq!(auditor.judge(&files, L2).last_good.map(|good| good.seq), Some(4));
}

#[test]
fn row_02_an_edit_with_every_hash_made_right_needs_a_key_to_be_found() {
    let (auditor, writer) = closed_log();
    let mut files = writer.files.clone();
    files.edit(0, 5, |line| line.replace("line 5", "line 6"));
    files.rechain(writer.genesis(), Numbers::Kept);
    has(&auditor.judge(&files, L1), &["CP_ROOT"]);
    let report = auditor.judge(&files, L2);
    has(&report, &["TAG"]);
    assert_eq!(place(&report, Violation::Tag).1, Some(6));
    files.checkpoints = None;
    let report = auditor.judge(&files, L0);
    assert_eq!(
        (report.verdict, codes(&report)),
        (Verdict::Ok, vec![]),
        "the limit of level 0"
    );
}

#[test]
fn row_03_04_a_deleted_line() {
    let (auditor, writer) = closed_log();
    let mut files = writer.files.clone();
    let mut lines = files.lines(0);
    lines.remove(3);
    files.set_lines(0, &lines);
    has(&auditor.judge(&files, L0), &["SEQ", "CHAIN", "SEAL_COUNT"]);
    files.rechain(writer.genesis(), Numbers::Kept);
    has(&auditor.judge(&files, L0), &["SEQ", "SEAL_COUNT"]);
    files.rechain(writer.genesis(), Numbers::Lines);
    has(&auditor.judge(&files, L2), &["TAG"]);
}

#[test]
fn row_05_a_deleted_batch() {
    let (auditor, writer) = closed_log();
    for (from, to) in [(2, 5), (5, 7)] {
        let mut files = writer.files.clone();
        let mut lines = files.lines(0);
        lines.drain(from..to);
        files.set_lines(0, &lines);
        files.checkpoints = None;
        files.rechain(writer.genesis(), Numbers::Lines);
        has(&auditor.judge(&files, L0), &["EPOCH_GAP"]);
        files.rechain(writer.genesis(), Numbers::All);
        has(&auditor.judge(&files, L2), &["TAG"]);
    }
}

#[test]
fn row_06_07_swapped_and_repeated_lines() {
    let (auditor, writer) = closed_log();
    let mut files = writer.files.clone();
    let mut lines = files.lines(0);
    lines.swap(2, 3);
    files.set_lines(0, &lines);
    has(&auditor.judge(&files, L0), &["SEQ", "CHAIN"]);
    let mut lines = writer.files.lines(0);
    lines.insert(3, lines[2].clone());
    files.set_lines(0, &lines);
    has(&auditor.judge(&files, L0), &["SEQ", "CHAIN", "SEAL_COUNT"]);
}

#[test]
fn row_11_a_deleted_segment_in_the_middle() {
    let (auditor, mut writer) = closed_log();
    writer.roll();
    writer.close();
    writer.files.segments[1] = None;
    let report = auditor.judge(&writer.files, L0);
    has(&report, &["SEGMENT_MISSING"]);
    assert_eq!(
        place(&report, Violation::SegmentMissing),
        (Some(1), Some(9), None)
    );
    writer.files.segments[0] = None;
    has(&auditor.judge(&writer.files, L0), &["SEGMENT_MISSING"]);
    writer.files.segments = vec![None, None, None];
    has(&auditor.judge(&writer.files, L0), &["SEGMENT_MISSING"]);
}

#[test]
fn row_12_the_deleted_last_segment_is_the_honest_limit() {
    let (auditor, writer) = closed_log();
    let mut files = writer.files.clone();
    files.segments.pop();
    files.checkpoints = None;
    let report = auditor.judge(&files, L1);
    assert_eq!(
        (report.verdict, report.completeness),
        (Verdict::Ok, Completeness::Unproven)
    );
    files.head = None;
    for with in [L1, L2] {
        let report = auditor.judge(&files, with);
        assert_eq!(
            (report.verdict, report.completeness),
            (Verdict::Ok, Completeness::Unproven)
        );
    }
    has(
        &auditor.judge(
            &files,
            With {
                key: false,
                ..on_host(&writer)
            },
        ),
        &["KEYSTATE_GEN"],
    );
    let note = writer.note();
    has(
        &auditor.judge(
            &files,
            With {
                trusted: Some(&note),
                ..L1
            },
        ),
        &["LOG_SHORTER_THAN_CHECKPOINT"],
    );
    files.head.clone_from(&writer.files.head);
    has(&auditor.judge(&files, L2), &["TRUNCATED_TAIL"]);
}

#[test]
fn row_13_swapped_segments() {
    let (auditor, mut writer) = closed_log();
    writer.files.segments.swap(0, 1);
    has(&auditor.judge(&writer.files, L0), &["SEG_NUMBER", "SEQ", "CHAIN"]);
}

#[test]
fn row_14_a_line_of_another_log() {
    let (auditor, writer) = closed_log();
    let mut host = Host::new(2);
    let mut other = Writer::new(&mut host, 8);
    for _ in 0..20 {
        other.event();
    }
    for at in [2, 3, 5] {
        let mut files = writer.files.clone();
        let mut lines = files.lines(0);
        lines[at] = other.files.lines(0)[at + 1].clone();
        files.set_lines(0, &lines);
        has(&auditor.judge(&files, L0), &["SEQ", "CHAIN"]);
        lines[at] = other.files.lines(0)[at].clone();
        files.set_lines(0, &lines);
        has(&auditor.judge(&files, L0), &["CHAIN"]);
    }
}

#[test]
fn row_15_another_log_in_its_place() {
    let (auditor, writer) = closed_log();
    let mut elsewhere = Host::new(2);
    let mut foreign = Writer::new(&mut elsewhere, 8);
    foreign.close();
    // Of another host with the same name.
    has(&auditor.judge(&foreign.files, L1), &["BIRTH_CERT"]);
    let report = auditor.judge(&foreign.files, With { public: false, ..L2 });
    assert_eq!(report.verdict, Verdict::Unverifiable);
    assert!(report.why.is_some_and(|why| why.contains("series")));
    // Of the same host: another number of its series.
    let mut host = Host::new(1);
    let _first = Writer::new(&mut host, 7);
    let mut second = Writer::new(&mut host, 8);
    second.event();
    second.close();
    let note = writer.note();
    has(
        &auditor.judge(
            &second.files,
            With {
                trusted: Some(&note),
                ..L1
            },
        ),
        &["LOG_SHORTER_THAN_CHECKPOINT"],
    );
    let request = rei::verify::Request {
        log: Some(rei::format::Hex(writer.log)),
        ..Default::default()
    };
    let scratch = crate::files::Scratch::new();
    second.files.write(&scratch.log());
    has(&rei::verify::verify(&scratch.log(), &request), &["LOG_ID"]);
    // One segment of it in the middle of this one.
    let mut files = writer.files.clone();
    second.roll();
    second.close();
    files.segments[1].clone_from(&second.files.segments[1]);
    has(
        &auditor.judge(&files, L0),
        &["LOG_ID", "CHAIN", "SEGKEY_CHAIN", "BIRTH"],
    );
    // Its number and name put over another log's.
    let mut files = second.files.clone();
    for segment in 0..2 {
        let lines: Vec<String> = files
            .lines(segment)
            .iter()
            .map(|line| line.replace(&"08".repeat(16), &"07".repeat(16)))
            .collect();
        files.set_lines(segment, &lines);
    }
    files.rechain(writer.genesis(), Numbers::Kept);
    has(&auditor.judge(&files, L2), &["BIRTH_CERT", "SEGKEY_SIG", "TAG"]);
}

/// Row 16 and 17: each line is put in place of an honest one, with all hashes made right.
#[test]
fn row_16_17_other_bytes_for_a_line() {
    let (auditor, writer) = closed_log();
    let nested = |depth: usize| format!(r#""text":{}0{}"#, "[".repeat(depth), "]".repeat(depth));
    for (from, to, code) in [
        (r#""what":"#, r#""what":"x","what":"#.to_owned(), "DUPKEY"),
        (r#""what":"#, r#""\u0077hat":"x","what":"#.to_owned(), "DUPKEY"),
        (r#""what":"#, r#""What":"x","what":"#.to_owned(), "PARSE"),
        (r#""k":"ctl""#, r#""k":"ctl","k":"ctl""#.to_owned(), "DUPKEY"),
        (r#""what":"#, r#""\u0077hat":"#.to_owned(), "NONCANON"),
        (r#""what":"#, r#""what": "#.to_owned(), "NONCANON"),
        (r#""v":1"#, r#""v":1 "#.to_owned(), "NONCANON"),
        (r#""v":1"#, r#""v":1e0"#.to_owned(), "PARSE"),
        (r#""v":1"#, r#""v":1.0"#.to_owned(), "PARSE"),
        (r#""seg":0"#, r#""seg":-0"#.to_owned(), "PARSE"),
        (r#""seg":0"#, r#""seg":9007199254740993"#.to_owned(), "PARSE"),
        (r#""text":"line"#, r#""text":"\ud800line"#.to_owned(), "PARSE"),
        (r#""text":"line"#, r#""text":"\/line"#.to_owned(), "NONCANON"),
        (r#"{"v":1,"seg":0"#, r#"{"seg":0,"v":1"#.to_owned(), "NONCANON"),
        (r#"{"v":1"#, "\u{feff}{\"v\":1".to_owned(), "PARSE"),
        (r#"{"v":1"#, " {\"v\":1".to_owned(), "NONCANON"),
        (r#""}}"#, "\"}}\r".to_owned(), "NONCANON"),
        (r#""}}"#, "\"}}{}".to_owned(), "PARSE"),
        (r#""}}"#, "\",\"scope\":null}}".to_owned(), "any"),
        (r#""}}"#, "\",\"more\":1}}".to_owned(), "PARSE"),
        (r#""text":"line 3""#, nested(13), "PARSE"),
        (r#""text":"line 3""#, nested(30_000), "PARSE"),
        (r#""k":"ctl""#, r#""k":"novel""#.to_owned(), "none"),
        (r#""v":1"#, r#""v":2"#.to_owned(), "VERSION"),
        (r#""k":"ctl""#, r#""k":"head""#.to_owned(), "PARSE"),
        (
            r#""text":"line 3""#,
            format!(r#""text":"{}""#, "x".repeat(66_000)),
            "OVERSIZE",
        ),
    ] {
        let mut files = writer.files.clone();
        files.edit(0, 3, |line| line.replacen(from, &to, 1));
        files.rechain(writer.genesis(), Numbers::Kept);
        files.checkpoints = None;
        let report = auditor.judge(&files, L0);
        let about = to.get(..40).unwrap_or(&to);
        match code {
            "none" => assert_eq!(codes(&report), Vec::<&str>::new(), "{about}: {report:#?}"),
            "any" => assert_eq!(report.verdict, Verdict::Tampered, "{about}"),
            code => {
                assert_eq!(codes(&report), [code], "{about}: {report:#?}");
                let found = &report.violations.entries()[0];
                assert_eq!((found.place.segment, found.place.sequence), (Some(0), Some(3)));
            }
        }
    }
}

#[test]
fn row_18_the_counter_of_losses() {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.lost = 5;
    writer.event();
    writer.seal(0);
    let honest = writer.clone();
    writer.lost = 4;
    writer.seal(0);
    has(&auditor.judge(&writer.files, L0), &["LOST_BACK"]);
    let mut files = honest.files.clone();
    files.edit(0, 3, |line| line.replace("\"lost\":\"5\"", "\"lost\":\"0\""));
    files.rechain(writer.genesis(), Numbers::Kept);
    has(&auditor.judge(&files, L2), &["TAG"]);
}

#[test]
fn row_19_anything_after_the_end() {
    let (auditor, writer) = closed_log();
    let mut longer = writer.clone();
    longer.event();
    has(&auditor.judge(&longer.files, L0), &["LINE_AFTER_CLOSE"]);
    longer.seal(0);
    has(&auditor.judge(&longer.files, L2), &["LINE_AFTER_CLOSE"]);
    for segment in 0..2 {
        let mut files = writer.files.clone();
        files.segments[segment]
            .as_mut()
            .expect("a segment")
            .extend_from_slice(b"{\"v\":1");
        has(&auditor.judge(&files, L0), &["LINE_AFTER_CLOSE"]);
    }
}

#[test]
fn row_20_a_log_without_seals() {
    let (auditor, writer) = closed_log();
    let mut files = Files {
        head: None,
        checkpoints: None,
        ..writer.files.clone()
    };
    for segment in 0..2 {
        let lines = files.lines(segment);
        let rest: Vec<String> = lines
            .into_iter()
            .filter(|line| !line.contains("\"k\":\"seal\""))
            .collect();
        files.set_lines(segment, &rest);
    }
    files.rechain(writer.genesis(), Numbers::Lines);
    for with in [L0, L1, L2] {
        has(&auditor.judge(&files, with), &["UNSEALED"]);
    }
    // Only the header is left, and the host knows better.
    files.segments = vec![Some(format!("{}\n", writer.files.lines(0)[0]).into_bytes())];
    assert_eq!(auditor.judge(&files, L2).verdict, Verdict::Incomplete);
    has(
        &auditor.judge(&files, on_host(&writer)),
        &["UNSEALED", "HEADTOK_MISSING", "KEYSTATE_GEN"],
    );
}

/// Rows 29 and 30.
#[test]
fn row_29_30_checkpoints_that_are_none() {
    let (auditor, writer) = closed_log();
    let (attacker, body) = ([0x66; 32], writer.note_body());
    let put = |text: String| Files {
        checkpoints: Some((text + "%%\n").into_bytes()),
        ..writer.files.clone()
    };
    let host_name = writer.origin.clone();
    let segment_name = format!("{host_name}/seg/1");
    // Unknown keys are ignored, so this one has no signature at all.
    let unknown = note(&body, &[("somebody.else".to_owned(), attacker)]);
    assert_eq!(codes(&auditor.judge(&put(unknown), L1)), ["CP_SIG"]);
    // Another key under a known name has another id: as unknown as the one before.
    let other = note(&body, &[(host_name.clone(), attacker)]);
    assert_eq!(codes(&auditor.judge(&put(other), L1)), ["CP_SIG"]);
    let honest = writer.note();
    let with_unknown = format!(
        "{honest}{}",
        note(&body, &[("witness".to_owned(), attacker)])
            .split_once("\n\n")
            .expect("a note")
            .1
    );
    assert_eq!(auditor.judge(&put(with_unknown), L1).verdict, Verdict::Ok);
    // The id of the true key, and a signature of another text.
    let forged = honest.replace("\n15\n", "\n14\n");
    assert_ne!(forged, honest);
    has(&auditor.judge(&put(forged), L1), &["CP_SIG", "CP_ROOT"]);
    // A right signature beside a wrong one of a known key.
    let mut half = writer.note();
    let at = half.find(&segment_name).expect("its name") + segment_name.len() + 20;
    let swapped = if half.as_bytes()[at] == b'A' { "B" } else { "A" };
    half.replace_range(at..=at, swapped);
    assert_eq!(codes(&auditor.judge(&put(half), L1)), ["CP_SIG"]);
    // Another log of the same key: it is another origin, or another tree.
    let mut host = Host::new(1);
    host.origin = "rei.example/node-8".to_owned();
    let mut other = Writer::new(&mut host, 9);
    other.close();
    has(&auditor.judge(&put(other.note()), L1), &["CP_ORIGIN"]);
    let mut host = Host::new(1);
    let mut other = Writer::new(&mut host, 9);
    other.close();
    has(&auditor.judge(&put(other.note()), L1), &["CP_ROOT"]);
    assert_eq!(
        codes(&auditor.judge(&put("no note\n".to_owned()), L1)),
        ["CP_PARSE"]
    );
}

/// Row 31: somebody without keys writes everything from a segment on himself.
#[test]
fn row_31_keys_of_ones_own() {
    let (auditor, writer) = closed_log();
    let mut forger = open_log().1;
    assert_eq!(forger.segment, 1);
    // His own keys for the last segment.
    let own = vec![(1, [0x11; 32], [0x12; 32]), (2, [0x13; 32], [0x14; 32])];
    let mut files = writer.files.clone();
    files.segments.pop();
    forger.files = Files {
        checkpoints: None,
        ..files
    };
    forger.read_again();
    forger.slots.clone_from(&own);
    let last = forger.leaves.len() - 1;
    forger.open(&format!(
        r#"{{"seg":0,"state":"closed","last_seq":{last},"last_e":3}}"#
    ));
    forger.event();
    forger.close();
    for with in [L0, L1] {
        assert_eq!(codes(&auditor.judge(&forger.files, with)), ["SEGKEY_CHAIN"]);
    }
    // He also announces them in the header before: its signature covers what it announces.
    let vk = forger.files.lines(1)[0].split("\"vk\":\"").nth(1).expect("vk")[..64].to_owned();
    let mut files = forger.files.clone();
    files.edit(0, 0, |line| {
        let at = line.find("\"nvk\":\"").expect("nvk") + 7;
        format!("{}{vk}{}", &line[..at], &line[at + 64..])
    });
    files.rechain(writer.genesis(), Numbers::Kept);
    for with in [L0, L1] {
        has(&auditor.judge(&files, with), &["SEGKEY_SIG"]);
    }
    // He writes the whole log, and only the host's certificate is missing.
    let mut own_host = Host::new(9);
    let mut own = Writer::new(&mut own_host, 7);
    own.close();
    assert_eq!(
        auditor.judge(&own.files, L0).verdict,
        Verdict::Ok,
        "the limit of level 0"
    );
    assert_eq!(codes(&auditor.judge(&own.files, L1)), ["BIRTH_CERT"]);
    // Or takes the certificate out.
    let mut bare = Writer::bare([7; 16], "rei.example/node-7", [5; 32]);
    bare.close();
    assert_eq!(codes(&auditor.judge(&bare.files, L1)), ["BIRTH_CERT"]);
    assert_eq!(
        codes(&auditor.judge(&bare.files, With { public: false, ..L2 })),
        ["BIRTH"]
    );
}

/// Row 34.
#[test]
fn row_34_a_torn_end_that_was_changed_after_the_restart() {
    let (auditor, mut writer) = open_log();
    writer.event();
    let file = writer.files.segments[1].as_mut().expect("a segment");
    file.truncate(file.len() - 20);
    writer.restart();
    writer.close();
    assert_eq!(auditor.judge(&writer.files, L2).verdict, Verdict::Ok);
    let file = writer.files.segments[1].as_mut().expect("a segment");
    *file.last_mut().expect("a byte") ^= 1;
    for with in [L0, L1, L2] {
        assert_eq!(codes(&auditor.judge(&writer.files, with)), ["PREV_STATE"]);
    }
    writer.files.segments[1].as_mut().expect("a segment").pop();
    assert_eq!(codes(&auditor.judge(&writer.files, L0)), ["PREV_STATE"]);
}

/// Row 40.
#[test]
fn row_40_boot_time_that_goes_back() {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    let line = writer.envelope("ctl", r#"{"what":"operator","text":""}"#);
    writer.put(line.replace("\"b\":\"1", "\"b\":\"").as_bytes());
    has(&auditor.judge(&writer.files, L0), &["PARSE"]);
    let mut writer = Writer::new(&mut host, 8);
    writer.event();
    let line = writer.envelope("ctl", r#"{"what":"operator","text":""}"#);
    let at = line.find("\"b\":\"").expect("b") + 5;
    writer.put(format!("{}9{}", &line[..at], &line[at + 2..]).as_bytes());
    has(&auditor.judge(&writer.files, L0), &["BOOTTIME_BACKWARDS"]);
}

/// Row 42 and 43.
#[test]
fn row_42_43_files_that_are_no_files_and_lines_without_end() {
    let (auditor, writer) = closed_log();
    for name in ["seg-00000000000000000001.jsonl", "head", "checkpoints"] {
        for make in [link, fifo, directory] {
            let scratch = crate::files::Scratch::new();
            writer.files.write(&scratch.log());
            let path = scratch.log().join(name);
            std::fs::remove_file(&path).expect("our file");
            make(&path);
            let report = auditor.judge_in(&scratch, L2);
            assert_eq!(report.verdict, Verdict::Unverifiable, "{report:#?}");
            assert!(
                report
                    .why
                    .is_some_and(|why| why.contains(name) && why.contains("no regular file"))
            );
        }
    }
    let mut files = writer.files.clone();
    files.segments[1] = Some(vec![b'['; 40_000_000]);
    assert_eq!(auditor.judge(&files, L2).verdict, Verdict::Tampered);
    files.segments[1].as_mut().expect("a segment").push(b'\n');
    has(&auditor.judge(&files, L0), &["OVERSIZE"]);
}

fn link(path: &std::path::Path) {
    std::os::unix::fs::symlink("/etc/passwd", path).expect("a link");
}

fn fifo(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a FIFO");
}

fn directory(path: &std::path::Path) {
    std::fs::create_dir(path).expect("a directory");
}
