//! The vectors of `tests/vectors`: one log for each possible mistake, and what a verifier has to find in it.
//!
//! What is in the tree is what is made here, byte for byte. `cargo xtask vectors` adds what is missing; it never
//! changes what is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rei::verify::{Report, Violation};
use serde_json::{Value, json};

use crate::files::{Files, Numbers, With, codes};
use crate::writer::{Host, Writer, note};
use crate::{Auditor, closed_log, open_log, small_log};

/// Set by `cargo xtask vectors`.
const ADD: &str = "REI_VECTORS_ADD";

/// A log, what a verifier holds, and what it has to say.
struct Vector {
    name: &'static str,
    about: &'static str,
    writer: Writer,
    files: Files,
    held: Held,
    verdict: &'static str,
    /// The violation that must be found, beside what follows from it.
    violation: Option<&'static str>,
}

/// What a verifier holds.
#[derive(Clone, Copy, Default)]
struct Held {
    public: bool,
    key: bool,
    trusted: Option<fn() -> String>,
    state: bool,
}

const NOTHING: Held = Held {
    public: false,
    key: false,
    trusted: None,
    state: false,
};
const PUBLIC: Held = Held {
    public: true,
    ..NOTHING
};
const BOTH: Held = Held { key: true, ..PUBLIC };
const ON_HOST: Held = Held { state: true, ..BOTH };

/// The checkpoint that the auditor kept of the closed log.
fn kept() -> String {
    closed_log().1.note()
}

fn vector(
    name: &'static str,
    about: &'static str,
    held: Held,
    found: &'static str,
    files: impl FnOnce(&Writer) -> Files,
) -> Vector {
    let writer = closed_log().1;
    with_writer(name, about, held, found, writer, files)
}

/// `found` is a violation's code, or a verdict.
fn with_writer(
    name: &'static str,
    about: &'static str,
    held: Held,
    found: &'static str,
    writer: Writer,
    files: impl FnOnce(&Writer) -> Files,
) -> Vector {
    let files = files(&writer);
    let is_verdict = ["ok", "incomplete", "unverifiable"].contains(&found);
    Vector {
        name,
        about,
        writer,
        files,
        held,
        verdict: if is_verdict { found } else { "tampered" },
        violation: (!is_verdict).then_some(found),
    }
}

/// One line of the closed log replaced, all hashes made right, no checkpoints.
fn replaced(writer: &Writer, from: &str, to: &str) -> Files {
    let mut files = Files {
        checkpoints: None,
        ..writer.files.clone()
    };
    files.edit(0, 3, |line| line.replacen(from, to, 1));
    files.rechain(writer.genesis(), Numbers::Kept);
    files
}

fn without(writer: &Writer, segment: usize, lines: std::ops::Range<usize>) -> Files {
    let mut files = writer.files.clone();
    let mut left = files.lines(segment);
    left.drain(lines);
    files.set_lines(segment, &left);
    files
}

fn with_notes(writer: &Writer, notes: &str) -> Files {
    Files {
        checkpoints: Some(format!("{notes}%%\n").into_bytes()),
        ..writer.files.clone()
    }
}

fn honest() -> Vec<Vector> {
    let mut crashed = open_log().1;
    crashed.event();
    let file = crashed.files.segments[1].as_mut().expect("a segment");
    file.truncate(file.len() - 20);
    let mut restarted = crashed.clone();
    restarted.restart();
    restarted.close();
    let mut opening = open_log().1;
    let key = *opening.slots.iter().find(|slot| slot.0 == 2).expect("kept");
    opening.restart();
    opening.files.head = open_log().1.files.head;
    opening.files.segments[2]
        .as_mut()
        .expect("a segment")
        .truncate(600);
    opening.slots.push(key);
    let same = |writer: &Writer| writer.files.clone();
    vec![
        vector(
            "honest-closed",
            "a closed log, with everything that can be held",
            ON_HOST,
            "ok",
            same,
        ),
        vector(
            "honest-closed-bare",
            "a closed log, segments only",
            BOTH,
            "ok",
            |writer| Files {
                head: None,
                checkpoints: None,
                ..writer.files.clone()
            },
        ),
        vector(
            "honest-anchored",
            "a closed log and a checkpoint from outside",
            Held {
                trusted: Some(kept),
                ..PUBLIC
            },
            "ok",
            same,
        ),
        with_writer(
            "honest-open",
            "a log that is being written",
            ON_HOST,
            "incomplete",
            open_log().1,
            same,
        ),
        with_writer(
            "honest-crash",
            "an unsealed line and torn bytes",
            ON_HOST,
            "incomplete",
            crashed,
            same,
        ),
        with_writer(
            "honest-restart",
            "the same, gone on with and closed",
            ON_HOST,
            "ok",
            restarted,
            same,
        ),
        with_writer(
            "honest-torn-opening",
            "a crash while a segment was opened",
            ON_HOST,
            "incomplete",
            opening,
            same,
        ),
        vector(
            "honest-unknown-kind",
            "a kind that no verifier knows",
            NOTHING,
            "ok",
            |writer| replaced(writer, r#""k":"ctl""#, r#""k":"novel""#),
        ),
    ]
}

fn lines() -> Vec<Vector> {
    vec![
        vector(
            "edited-byte",
            "one byte of a line is another",
            NOTHING,
            "CHAIN",
            |writer| {
                let mut files = writer.files.clone();
                files.edit(0, 3, |line| line.replace("line 3", "line 4"));
                files
            },
        ),
        vector(
            "edited-root",
            "a line was changed and the chain made right, the roots not",
            NOTHING,
            "ROOT",
            |writer| {
                let mut files = replaced(writer, "line 3", "line 4");
                let honest = writer.files.lines(0)[4].clone();
                let at = honest.find("\"r\":\"").expect("r");
                let root = honest[at..at + 70].to_owned();
                files.edit(0, 4, |line| format!("{}{root}{}", &line[..at], &line[at + 70..]));
                files
            },
        ),
        vector(
            "edited-rehashed",
            "a line was changed and every hash made right",
            BOTH,
            "TAG",
            |writer| replaced(writer, "line 3", "line 4"),
        ),
        vector(
            "edited-rehashed-public",
            "the same, with checkpoints and the public key",
            PUBLIC,
            "CP_ROOT",
            |writer| Files {
                checkpoints: writer.files.checkpoints.clone(),
                ..replaced(writer, "line 3", "line 4")
            },
        ),
        vector("deleted-line", "a line is missing", NOTHING, "SEQ", |writer| {
            without(writer, 0, 3..4)
        }),
        vector(
            "deleted-line-renumbered",
            "a line is missing, lines are numbered anew",
            NOTHING,
            "SEAL_COUNT",
            |writer| {
                let mut files = without(writer, 0, 3..4);
                let honest = files.lines(0)[3].clone();
                files.rechain(writer.genesis(), Numbers::Lines);
                assert!(honest.contains("\"n\":2"));
                files.edit(0, 3, |line| line.replace("\"n\":1", "\"n\":2"));
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "deleted-batch",
            "a batch is missing, lines are numbered anew",
            NOTHING,
            "EPOCH_GAP",
            |writer| {
                let mut files = without(writer, 0, 2..5);
                files.rechain(writer.genesis(), Numbers::Lines);
                files
            },
        ),
        vector(
            "deleted-batch-renumbered",
            "a batch is missing, everything is numbered anew",
            BOTH,
            "TAG",
            |writer| {
                let mut files = without(writer, 0, 2..5);
                files.rechain(writer.genesis(), Numbers::All);
                files
            },
        ),
        vector(
            "duplicate-key",
            "a key stands twice",
            NOTHING,
            "DUPKEY",
            |writer| replaced(writer, r#""what":"#, r#""what":"x","what":"#),
        ),
        vector(
            "duplicate-key-escaped",
            "a key stands twice, once escaped",
            NOTHING,
            "DUPKEY",
            |writer| replaced(writer, r#""what":"#, r#""\u0077hat":"x","what":"#),
        ),
        vector(
            "white-space",
            "white space between tokens",
            NOTHING,
            "NONCANON",
            |writer| replaced(writer, r#""what":"#, r#""what": "#),
        ),
        vector(
            "key-order",
            "keys in another order",
            NOTHING,
            "NONCANON",
            |writer| replaced(writer, r#"{"v":1,"seg":0"#, r#"{"seg":0,"v":1"#),
        ),
        vector(
            "carriage-return",
            "a line that ends with CR LF",
            NOTHING,
            "NONCANON",
            |writer| replaced(writer, "\"}}", "\"}}\r"),
        ),
        vector(
            "escaped-slash",
            "a character escaped that needs none",
            NOTHING,
            "NONCANON",
            |writer| replaced(writer, "line 3", r"line\/3"),
        ),
        vector(
            "exponent",
            "a number with an exponent",
            NOTHING,
            "PARSE",
            |writer| replaced(writer, r#""v":1"#, r#""v":1e0"#),
        ),
        vector("negative-zero", "the number -0", NOTHING, "PARSE", |writer| {
            replaced(writer, r#""seg":0"#, r#""seg":-0"#)
        }),
        vector(
            "large-integer",
            "an integer beyond 2^53 - 1",
            NOTHING,
            "PARSE",
            |writer| replaced(writer, r#""seg":0"#, r#""seg":9007199254740993"#),
        ),
        vector(
            "lone-surrogate",
            "half a surrogate pair",
            NOTHING,
            "PARSE",
            |writer| replaced(writer, "line 3", r"\ud800"),
        ),
        vector(
            "byte-order-mark",
            "a byte order mark",
            NOTHING,
            "PARSE",
            |writer| replaced(writer, "{\"v\"", "\u{feff}{\"v\""),
        ),
        vector(
            "unknown-key",
            "a key that the kind does not have",
            NOTHING,
            "PARSE",
            |writer| replaced(writer, "\"}}", "\",\"more\":1}}"),
        ),
        vector(
            "other-version",
            "a line of another version",
            NOTHING,
            "VERSION",
            |writer| replaced(writer, r#""v":1"#, r#""v":2"#),
        ),
        vector(
            "too-long",
            "a line of more than 65,535 bytes",
            NOTHING,
            "OVERSIZE",
            |writer| replaced(writer, "line 3", &"x".repeat(66_000)),
        ),
        vector(
            "too-deep",
            "17 objects and arrays within each other",
            NOTHING,
            "PARSE",
            |writer| {
                let mut files = replaced(writer, r#""k":"ctl""#, r#""k":"novel""#);
                files.edit(0, 3, |line| {
                    line.replace("\"line 3\"", &format!("{}{}", "[".repeat(15), "]".repeat(15)))
                });
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "header-in-the-middle",
            "a header that is not the first line",
            NOTHING,
            "HEADER_POSITION",
            |writer| {
                let mut files = Files {
                    checkpoints: None,
                    ..writer.files.clone()
                };
                let head = files.lines(0)[0].clone();
                let (at, end) = (head.find("\"d\":").expect("d"), head.len() - 1);
                let body = head[at + 4..end].to_owned();
                files.edit(0, 3, |line| {
                    let at = line.find("\"d\":").expect("d");
                    format!("{}{body}}}", &line[..at + 4]).replace(r#""k":"ctl""#, r#""k":"head""#)
                });
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "boot-time-back",
            "boot time goes back within one boot",
            NOTHING,
            "BOOTTIME_BACKWARDS",
            |writer| replaced(writer, "\"b\":\"1000004000\"", "\"b\":\"1000000001\""),
        ),
        vector(
            "lost-counter-back",
            "the counter of lost events falls",
            NOTHING,
            "LOST_BACK",
            |writer| {
                let mut files = Files {
                    checkpoints: None,
                    ..writer.files.clone()
                };
                files.edit(0, 4, |line| line.replace("\"lost\":\"0\"", "\"lost\":\"9\""));
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "line-after-close",
            "a line after the closing seal",
            NOTHING,
            "LINE_AFTER_CLOSE",
            |writer| {
                let mut longer = writer.clone();
                longer.event();
                longer.files
            },
        ),
        vector(
            "line-of-another-log",
            "a line of another log",
            NOTHING,
            "CHAIN",
            |writer| {
                let mut other = Writer::new(&mut Host::new(2), 8);
                (0..5).for_each(|_| other.event());
                let mut files = writer.files.clone();
                let foreign = other.files.lines(0)[3].clone();
                files.edit(0, 3, |_| foreign.clone());
                files
            },
        ),
        vector(
            "unsealed",
            "a log whose seals were taken out",
            BOTH,
            "UNSEALED",
            |writer| {
                let mut files = Files {
                    head: None,
                    checkpoints: None,
                    ..writer.files.clone()
                };
                for segment in 0..2 {
                    let mut lines = files.lines(segment);
                    lines.retain(|line| !line.contains("\"k\":\"seal\""));
                    files.set_lines(segment, &lines);
                }
                files.rechain(writer.genesis(), Numbers::Lines);
                files
            },
        ),
    ]
}

fn segments_and_keys() -> Vec<Vector> {
    let mut three = closed_log().1;
    three.roll();
    three.close();
    let mut crashed = open_log().1;
    crashed.event();
    crashed.restart();
    crashed.close();
    vec![
        with_writer(
            "missing-segment",
            "a segment in the middle is missing",
            NOTHING,
            "SEGMENT_MISSING",
            three,
            |writer| {
                let mut files = writer.files.clone();
                files.segments[1] = None;
                files
            },
        ),
        vector(
            "swapped-segments",
            "the segments have each other's name",
            NOTHING,
            "SEG_NUMBER",
            |writer| {
                let mut files = writer.files.clone();
                files.segments.swap(0, 1);
                files
            },
        ),
        vector(
            "other-log-id",
            "one header names another log",
            NOTHING,
            "LOG_ID",
            |writer| {
                let mut files = Files {
                    checkpoints: None,
                    ..writer.files.clone()
                };
                files.edit(1, 0, |line| line.replace(&"07".repeat(16), &"08".repeat(16)));
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "other-origin",
            "one header names another origin",
            NOTHING,
            "ORIGIN",
            |writer| {
                let mut files = Files {
                    checkpoints: None,
                    ..writer.files.clone()
                };
                files.edit(1, 0, |line| line.replace("node-7\",\"vk", "node-8\",\"vk"));
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        vector(
            "other-host",
            "a whole log of somebody with the same name",
            PUBLIC,
            "BIRTH_CERT",
            |_| {
                let mut other = Writer::new(&mut Host::new(2), 7);
                other.close();
                other.files
            },
        ),
        vector(
            "other-series",
            "a whole log of another series",
            Held { key: true, ..NOTHING },
            "unverifiable",
            |_| {
                let mut other = Writer::new(&mut Host::new(2), 7);
                other.close();
                other.files
            },
        ),
        vector(
            "no-birth",
            "headers without the host's certificate",
            Held { key: true, ..NOTHING },
            "BIRTH",
            |_| {
                let mut bare = Writer::bare([7; 16], "rei.example/node-7", [5; 32]);
                bare.close();
                bare.files
            },
        ),
        vector(
            "own-next-key",
            "a last segment with keys of one's own",
            PUBLIC,
            "SEGKEY_CHAIN",
            own_last_segment,
        ),
        vector(
            "own-announced-key",
            "and announced in the header before",
            PUBLIC,
            "SEGKEY_SIG",
            |writer| {
                let mut files = own_last_segment(writer);
                let own = files.lines(1)[0].split("\"vk\":\"").nth(1).expect("vk")[..64].to_owned();
                files.edit(0, 0, |line| {
                    let at = line.find("\"nvk\":\"").expect("nvk") + 7;
                    format!("{}{own}{}", &line[..at], &line[at + 64..])
                });
                files.rechain(writer.genesis(), Numbers::Kept);
                files
            },
        ),
        with_writer(
            "changed-torn-tail",
            "torn bytes that were changed after the restart",
            NOTHING,
            "PREV_STATE",
            torn(),
            |writer| {
                let mut files = writer.files.clone();
                *files.segments[1]
                    .as_mut()
                    .and_then(|file| file.last_mut())
                    .expect("a byte") ^= 1;
                files
            },
        ),
        with_writer(
            "stale-key-state",
            "a key state of an earlier segment",
            ON_HOST,
            "KEYSTATE_GEN",
            small_log().1,
            |writer| {
                let mut more = writer.clone();
                (more.roll(), more.close(), more.roll(), more.close());
                more.files
            },
        ),
        with_writer(
            "foreign-key-state",
            "a key state that does not come from the log's keys",
            ON_HOST,
            "KEYSTATE_VALUE",
            foreign_state(),
            |writer| writer.files.clone(),
        ),
    ]
}

fn own_last_segment(writer: &Writer) -> Files {
    let mut forger = writer.clone();
    forger.files.segments.pop();
    forger.files.checkpoints = None;
    forger.read_again();
    forger.slots = vec![(1, [0x11; 32], [0x12; 32]), (2, [0x13; 32], [0x14; 32])];
    forger.open(r#"{"seg":0,"state":"closed","last_seq":8,"last_e":3}"#);
    forger.close();
    forger.files
}

fn torn() -> Writer {
    let mut writer = open_log().1;
    writer.event();
    let file = writer.files.segments[1].as_mut().expect("a segment");
    file.truncate(file.len() - 20);
    writer.restart();
    writer.close();
    writer
}

fn foreign_state() -> Writer {
    let mut writer = closed_log().1;
    writer.slots[0].1 = [0x77; 32];
    writer
}

fn tokens_and_checkpoints() -> Vec<Vector> {
    let cut = |writer: &Writer| {
        let mut owner = writer.clone();
        let lines = owner.files.lines(1);
        owner.files.set_lines(1, &lines[..2]);
        owner.files.checkpoints = None;
        owner
    };
    vec![
        vector(
            "cut-tail",
            "the last batches are cut off; the head token is left",
            BOTH,
            "TRUNCATED_TAIL",
            move |writer| cut(writer).files,
        ),
        vector(
            "cut-tail-checkpoint",
            "the same, with checkpoints and the public key",
            PUBLIC,
            "LOG_SHORTER_THAN_CHECKPOINT",
            move |writer| Files {
                checkpoints: writer.files.checkpoints.clone(),
                ..cut(writer).files
            },
        ),
        vector(
            "cut-tail-no-token",
            "the same, without token and checkpoints: only incomplete",
            BOTH,
            "incomplete",
            move |writer| Files {
                head: None,
                ..cut(writer).files
            },
        ),
        vector(
            "cut-segment-limit",
            "the last closed segment is gone: the honest limit",
            PUBLIC,
            "ok",
            |writer| {
                let mut files = Files {
                    head: None,
                    checkpoints: None,
                    ..writer.files.clone()
                };
                files.segments.pop();
                files
            },
        ),
        vector(
            "cut-segment-anchored",
            "the same against a kept checkpoint",
            Held {
                trusted: Some(kept),
                ..PUBLIC
            },
            "LOG_SHORTER_THAN_CHECKPOINT",
            |writer| {
                let mut files = Files {
                    head: None,
                    checkpoints: None,
                    ..writer.files.clone()
                };
                files.segments.pop();
                files
            },
        ),
        vector(
            "restart-no-token",
            "a faked crash, and no token found",
            BOTH,
            "HEADTOK_MISSING",
            move |writer| {
                let mut owner = cut(writer);
                owner.restart_with(None);
                owner.close();
                owner.files
            },
        ),
        vector(
            "restart-true-token",
            "a faked crash, and the true token found",
            BOTH,
            "TRUNCATED_TAIL",
            move |writer| {
                let mut owner = cut(writer);
                owner.restart();
                owner.close();
                owner.files
            },
        ),
        vector(
            "restart-forged-token",
            "a faked crash, and a token forged for the old epoch",
            BOTH,
            "HEADTOK_FORGED",
            move |writer| {
                let mut owner = cut(writer);
                let token = owner.token_as(1, 0, 0);
                owner.restart_with(Some(&token));
                owner.close();
                owner.files
            },
        ),
        vector(
            "stale-token",
            "an older token of the true writer: kept by whoever has copies",
            BOTH,
            "HEADTOK_STALE",
            |writer| Files {
                head: older_token(),
                ..writer.files.clone()
            },
        ),
        vector(
            "unknown-signer",
            "a checkpoint signed by nobody who is known",
            PUBLIC,
            "CP_SIG",
            |writer| {
                with_notes(
                    writer,
                    &note(&writer.note_body(), &[("somebody.else".to_owned(), [0x66; 32])]),
                )
            },
        ),
        vector(
            "checkpoint-of-another-origin",
            "a checkpoint of another origin",
            PUBLIC,
            "CP_ORIGIN",
            |writer| {
                let mut host = Host::new(1);
                host.origin = "rei.example/node-8".to_owned();
                let mut other = Writer::new(&mut host, 9);
                other.close();
                with_notes(writer, &other.note())
            },
        ),
        vector(
            "checkpoint-of-another-log",
            "a checkpoint of another log of the same host",
            PUBLIC,
            "CP_ROOT",
            |writer| {
                let mut other = Writer::new(&mut Host::new(1), 9);
                other.close();
                with_notes(writer, &other.note())
            },
        ),
        vector(
            "no-checkpoint",
            "a text that is no checkpoint",
            PUBLIC,
            "CP_PARSE",
            |writer| with_notes(writer, "no checkpoint\n"),
        ),
    ]
}

/// The token as it was three seals ago.
fn older_token() -> Option<Vec<u8>> {
    let mut host = Host::new(1);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    writer.event();
    writer.seal(0);
    writer.files.head
}

fn all() -> Vec<Vector> {
    [honest(), lines(), segments_and_keys(), tokens_and_checkpoints()]
        .into_iter()
        .flatten()
        .collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

impl Vector {
    /// Every file of the vector, by its path.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for (number, file) in self.files.segments.iter().enumerate() {
            files.extend(file.clone().map(|file| (format!("seg-{number:020}.jsonl"), file)));
        }
        files.extend(self.files.head.clone().map(|head| ("head".to_owned(), head)));
        files.extend(
            self.files
                .checkpoints
                .clone()
                .map(|notes| ("checkpoints".to_owned(), notes)),
        );
        files.extend(
            self.held
                .trusted
                .map(|trusted| ("trusted".to_owned(), trusted().into_bytes())),
        );
        files.extend(
            self.held
                .state
                .then(|| ("key-state".to_owned(), self.writer.key_state())),
        );
        files.insert("expected.json".to_owned(), self.expected());
        files
    }

    fn expected(&self) -> Vec<u8> {
        let held: Vec<&str> = [
            ("pub", self.held.public),
            ("key", self.held.key),
            ("trusted", self.held.trusted.is_some()),
            ("state", self.held.state),
        ]
        .into_iter()
        .filter_map(|(name, is_held)| is_held.then_some(name))
        .collect();
        let text = json!({
            "about": self.about,
            "with": held,
            "verdict": self.verdict,
            "violation": self.violation.map_or(Value::Null, Value::from),
        });
        format!("{text:#}\n").into_bytes()
    }

    fn judge(&self, auditor: &Auditor) -> Report {
        let trusted = self.held.trusted.map(|trusted| trusted());
        let with = With {
            public: self.held.public,
            key: self.held.key,
            trusted: trusted.as_deref(),
            state: self.held.state.then_some(&self.writer),
        };
        auditor.judge(&self.files, with)
    }
}

#[test]
fn each_vector_is_judged_as_it_says() {
    let auditor = closed_log().0;
    for vector in all() {
        let report = vector.judge(&auditor);
        assert_eq!(
            report.verdict.word(),
            vector.verdict,
            "{}: {report:#?}",
            vector.name
        );
        match vector.violation {
            Some(code) => assert!(codes(&report).contains(&code), "{}: {report:#?}", vector.name),
            None => assert_eq!(codes(&report), Vec::<&str>::new(), "{}", vector.name),
        }
    }
}

#[test]
fn there_is_a_vector_for_each_violation() {
    let named: Vec<_> = all().into_iter().filter_map(|vector| vector.violation).collect();
    for violation in Violation::ALL {
        // Of a series, there is no single log.
        let is_of_series = violation.code().starts_with("SERIES_");
        assert!(
            is_of_series || named.contains(&violation.code()),
            "{}",
            violation.code()
        );
    }
    let mut names: Vec<_> = all().into_iter().map(|vector| vector.name).collect();
    let number = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), number);
}

/// What is made here against what is in the tree; with [`ADD`], what is missing there is written first.
#[test]
fn the_vectors_in_the_tree_are_these() {
    let host = Host::new(1);
    let mut wanted = BTreeMap::new();
    wanted.insert(
        "keys/verification.key".to_owned(),
        host.verification_key().into_bytes(),
    );
    wanted.insert("keys/host.pub".to_owned(), host.public_key().into_bytes());
    for vector in all() {
        wanted.extend(
            vector
                .files()
                .into_iter()
                .map(|(file, bytes)| (format!("{}/{file}", vector.name), bytes)),
        );
    }
    if env::var_os(ADD).is_some() {
        for (name, bytes) in &wanted {
            let path = directory().join(name);
            if !path.exists() {
                fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
                fs::write(&path, bytes).expect("a file");
                println!("added {name}");
            }
        }
    }
    let mut found = files_below(&directory(), "");
    for ours in ["README.md", ".gitattributes"] {
        found.remove(ours);
    }
    let (wanted_names, found_names): (Vec<_>, Vec<_>) = (wanted.keys().collect(), found.keys().collect());
    assert_eq!(
        found_names, wanted_names,
        "run `cargo xtask vectors` to add what is missing; remove by hand what is too much"
    );
    for (name, bytes) in &wanted {
        assert!(
            found[name] == *bytes,
            "tests/vectors/{name} is not what is made any more: a vector never changes silently. If the format really \
             changed, remove the file by hand and run `cargo xtask vectors`"
        );
    }
}

fn files_below(directory: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return files;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path(), &format!("{name}/")));
        } else {
            files.insert(name, fs::read(entry.path()).expect("a file"));
        }
    }
    files
}
