//! Vectors of the log's end: head tokens and checkpoints.

use crate::files::Files;
use crate::writer::{Host, Writer, note};

use super::{BOTH, Held, PUBLIC, Vector, kept, vector, with_notes};

pub(super) fn all() -> Vec<Vector> {
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
            "a checkpoint of a log of another host",
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
            "CP_ORIGIN",
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
