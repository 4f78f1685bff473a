//! Vectors of lines: other bytes, other places, other facts.

use crate::files::{Files, Numbers};
use crate::writer::{Host, Writer};

use super::{BOTH, NOTHING, PUBLIC, Vector, replaced, vector, without};

pub(super) fn all() -> Vec<Vector> {
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
