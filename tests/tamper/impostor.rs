//! Rows of the table about somebody else's logs, keys and checkpoints, each by its number.

use rei::verify::Verdict;

use crate::files::{Files, L0, L1, L2, Numbers, With, codes};
use crate::rows::has;
use crate::writer::{Host, Writer, note};
use crate::{closed_log, open_log};

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

/// Rows 29 and 30.
#[test]
fn row_29_30_checkpoints_that_are_none() {
    let (auditor, writer) = closed_log();
    let (attacker, body) = ([0x66; 32], writer.note_body());
    let put = |text: String| Files {
        checkpoints: Some((text + "%%\n").into_bytes()),
        ..writer.files.clone()
    };
    let host_name = writer.host_name.clone();
    let segment_name = format!("{}/seg/1", writer.origin);
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
    // A log of another host, and another log of the same host: both have another origin.
    let mut host = Host::new(1);
    host.origin = "rei.example/node-8".to_owned();
    let mut other = Writer::new(&mut host, 9);
    other.close();
    has(&auditor.judge(&put(other.note()), L1), &["CP_ORIGIN"]);
    let mut host = Host::new(1);
    let mut other = Writer::new(&mut host, 9);
    other.close();
    has(&auditor.judge(&put(other.note()), L1), &["CP_ORIGIN"]);
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
    let mut bare = Writer::bare([7; 16], &writer.origin, [5; 32]);
    bare.close();
    assert_eq!(codes(&auditor.judge(&bare.files, L1)), ["BIRTH_CERT"]);
    assert_eq!(
        codes(&auditor.judge(&bare.files, With { public: false, ..L2 })),
        ["BIRTH"]
    );
}
