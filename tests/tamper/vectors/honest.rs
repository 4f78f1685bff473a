//! Vectors of logs that nobody touched.

use crate::files::Files;
use crate::open_log;
use crate::writer::Writer;

use super::{BOTH, Held, NOTHING, ON_HOST, PUBLIC, Vector, kept, replaced, vector, with_writer};

pub(super) fn all() -> Vec<Vector> {
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
