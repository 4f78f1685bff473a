//! Vectors of segments, of who wrote them, and of the host's key state.

use crate::files::{Files, Numbers};
use crate::writer::{Host, Writer};
use crate::{closed_log, open_log, small_log};

use super::{Held, NOTHING, ON_HOST, PUBLIC, Vector, vector, with_writer};

pub(super) fn all() -> Vec<Vector> {
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
                files.edit(1, 0, |line| line.replace("node-7/", "node-8/"));
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
                let mut bare = Writer::bare(
                    [7; 16],
                    "rei.example/node-7/07070707070707070707070707070707",
                    [5; 32],
                );
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
                for _ in 0..2 {
                    more.roll();
                    more.close();
                }
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
