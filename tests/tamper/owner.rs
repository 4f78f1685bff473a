//! Whoever owns the host from a time T on, with everything that the writer holds then.

use rei::verify::Verdict;

use crate::Auditor;
use crate::files::{Files, L2, With, codes};
use crate::writer::{Host, Writer};

/// Steps of a writer's life: after each of them the attacker may come.
const STEPS: usize = 12;

fn at(step: usize) -> (Auditor, Writer) {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    for step in 0..step {
        match step {
            0 | 1 | 5 | 6 | 9 => writer.event(),
            2 | 7 | 10 => writer.seal(0),
            3 => writer.close(),
            4 => writer.roll(),
            8 => writer.seal(2),
            _ => writer.event(),
        }
    }
    (auditor, writer)
}

/// How the owner goes on after the cut.
#[derive(Clone, Copy, Debug)]
enum Then {
    Stop,
    Continue,
    Reseal { epoch: u64 },
    Restart(Token),
}

/// Which token the owner shows.
#[derive(Clone, Copy, Debug)]
enum Token {
    Kept,
    None,
    Relabelled { segment: u64, epoch: u64 },
}

/// Rows 21 to 25: the log is cut at each line before T that was sealed, and goes on in each way.
#[test]
fn row_21_to_25_what_was_sealed_before_the_break_in_cannot_be_cut_off() {
    let mut attacks = 0;
    for step in 1..=STEPS {
        let (auditor, owner) = at(step);
        if owner
            .files
            .segments
            .last()
            .cloned()
            .flatten()
            .is_some_and(|file| file.ends_with(b"\n") && owner.epoch == 0)
        {
            continue;
        }
        let number = owner.segment as usize;
        let lines = owner.files.lines(number);
        let sealed = lines
            .iter()
            .rposition(|line| line.contains("\"k\":\"seal\""))
            .expect("a seal");
        for cut in 2..=sealed {
            let mut left = owner.clone();
            left.files.set_lines(number, &lines[..cut]);
            left.files.checkpoints = None;
            let kept = lines[..cut]
                .iter()
                .filter(|line| line.contains("\"k\":\"seal\""))
                .count() as u64;
            for then in ways(owner.segment, kept) {
                let files = go_on(&left, then);
                for with in [L2, With { public: false, ..L2 }] {
                    let report = auditor.judge(&files, with);
                    assert_eq!(
                        report.verdict,
                        Verdict::Tampered,
                        "T after step {step}, cut to {cut}, {then:?}: {report:#?}"
                    );
                    let expected = match then {
                        Then::Stop => &["TRUNCATED_TAIL"][..],
                        Then::Continue | Then::Reseal { .. } => &["EPOCH_GAP", "TAG"],
                        Then::Restart(Token::Kept) => &["TRUNCATED_TAIL"],
                        Then::Restart(Token::None) => &["HEADTOK_MISSING"],
                        Then::Restart(Token::Relabelled { .. }) => &["HEADTOK_FORGED"],
                    };
                    assert!(
                        codes(&report).iter().any(|code| expected.contains(code)),
                        "{then:?}: {report:#?}"
                    );
                }
                attacks += 1;
            }
        }
    }
    assert!(attacks > 100, "{attacks} attacks");
}

fn ways(segment: u64, kept: u64) -> Vec<Then> {
    vec![
        Then::Stop,
        Then::Continue,
        Then::Reseal { epoch: kept },
        Then::Restart(Token::Kept),
        Then::Restart(Token::None),
        Then::Restart(Token::Relabelled {
            segment,
            epoch: kept - 1,
        }),
        Then::Restart(Token::Relabelled {
            segment,
            epoch: kept.saturating_sub(2),
        }),
        Then::Restart(Token::Relabelled {
            segment: segment.saturating_sub(1),
            epoch: 0,
        }),
    ]
}

fn go_on(left: &Writer, then: Then) -> Files {
    let mut owner = left.clone();
    owner.read_again();
    match then {
        Then::Stop => {}
        Then::Continue => {
            owner.event();
            owner.seal(0);
            owner.close();
        }
        Then::Reseal { epoch } => {
            owner.event();
            owner.seal_as(epoch, 0);
            owner.seal_as(epoch + 1, 1);
        }
        Then::Restart(token) => {
            let head = match token {
                Token::Kept => owner.files.head.clone(),
                Token::None => None,
                Token::Relabelled { segment, epoch } => Some(owner.token_as(segment, epoch, 0)),
            };
            owner.restart_with(head.as_deref());
            owner.event();
            owner.close();
        }
    }
    owner.files
}

/// Row 26: the whole open segment goes, and its number is used again or left out.
#[test]
fn row_26_an_open_segment_cannot_be_deleted() {
    let (auditor, owner) = at(9);
    assert_eq!(owner.segment, 1);
    let mut skipped = owner.clone();
    skipped.files.segments[1] = None;
    skipped.segment = 2;
    skipped.open(r#"{"seg":0,"state":"closed","last_seq":5,"last_e":2}"#);
    let report = auditor.judge(&skipped.files, L2);
    assert_eq!(codes(&report), ["SEGMENT_MISSING"]);
    let mut gone = owner.clone();
    gone.files.segments.pop();
    gone.files.checkpoints = None;
    let report = auditor.judge(&gone.files, L2);
    assert_eq!(codes(&report), ["TRUNCATED_TAIL"]);
    let report = auditor.judge(
        &gone.files,
        With {
            state: Some(&owner),
            ..L2
        },
    );
    assert!(codes(&report).contains(&"KEYSTATE_GEN"), "{report:#?}");
    // The key of segment 1 is gone: the owner can only use another one in its place.
    let mut again = owner.clone();
    again.files.segments.pop();
    again.read_again();
    again.segment = 1;
    again.slots = vec![(1, [9; 32], [0x21; 32]), (2, [8; 32], [0x22; 32])];
    again.open(r#"{"seg":0,"state":"closed","last_seq":5,"last_e":2}"#);
    let report = auditor.judge(
        &again.files,
        With {
            state: Some(&again),
            ..L2
        },
    );
    for code in ["SEGKEY_CHAIN", "TAG", "KEYSTATE_VALUE"] {
        assert!(codes(&report).contains(&code), "{report:#?}");
    }
}

/// Rows 27, 28: a state that was once true is only contradicted from outside.
#[test]
fn row_27_28_a_rollback_and_a_fork_need_a_checkpoint_from_outside() {
    let (auditor, snapshot) = at(9);
    let mut original = snapshot.clone();
    original.event();
    original.close();
    let trusted = original.note();
    let outside = With {
        trusted: Some(&trusted),
        ..L2
    };
    // Everything is rolled back, key state and token included.
    let report = auditor.judge(
        &snapshot.files,
        With {
            state: Some(&snapshot),
            ..L2
        },
    );
    assert_eq!((report.verdict, codes(&report)), (Verdict::Incomplete, vec![]));
    let report = auditor.judge(&snapshot.files, outside);
    assert_eq!(codes(&report), ["LOG_SHORTER_THAN_CHECKPOINT"]);
    // Two writers go on from one state.
    let mut fork = snapshot.clone();
    fork.line("ctl", r#"{"what":"operator","text":"something else"}"#);
    fork.close();
    let report = auditor.judge(
        &fork.files,
        With {
            state: Some(&fork),
            ..L2
        },
    );
    assert_eq!((report.verdict, codes(&report)), (Verdict::Ok, vec![]));
    let report = auditor.judge(&fork.files, outside);
    assert_eq!(codes(&report), ["CP_ROOT"]);
    assert_eq!(report.last_good, None, "nobody can say what is still true");
    // The token of one with the lines of the other.
    let mixed = Files {
        head: original.files.head.clone(),
        ..fork.files.clone()
    };
    let report = auditor.judge(&mixed, L2);
    assert_eq!(codes(&report), ["HEADTOK_FORGED"]);
}
