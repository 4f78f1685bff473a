//! The vectors of docs/format.md, byte for byte, and what a sealer does with its clock and its keys.

use super::*;
use crate::format::{Note, Previous, Unknown, read_line};
use crate::keys::derive::MasterKey;
use crate::keys::host::HostKey;
use crate::keys::secret::Secret;

const LOG: LogId = LogId::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
const ORIGIN: &str = "rei.example/node-7";

/// The text of the format.
const FORMAT: &str = include_str!("../../../docs/format.md");

fn seed(segment: u8) -> SigningSeed {
    SigningSeed::new(Secret::new([segment + 1; 32]))
}

fn keys() -> SegmentKeys {
    SegmentKeys {
        master: MasterKey::new(Secret::new(std::array::from_fn(|at| 0x20 + at as u8))),
        signing: seed(0),
    }
}

/// Only what a header must have.
fn head() -> Head {
    Head {
        log: LOG.0,
        origin: ORIGIN.to_owned(),
        vk: Hex([0; 32]),
        nvk: Hex([0; 32]),
        ks: Hex([0; 64]),
        prev: Previous::NONE,
        birth: None,
        fmt: None,
        host: None,
        writer: None,
        params: None,
        clock: None,
    }
}

/// The moment of the line with this number in the vectors.
const fn moment(line: u64) -> Clock {
    Clock {
        wall_ns: 1_767_225_600_000_001_000 + line * 1000,
        boot_ns: 1_000_001_000 + line * 1000,
    }
}

fn opened() -> Sealer {
    let position = Position::genesis(LOG);
    Sealer::open(LOG, position, &keys(), &seed(1).public(), head(), 0, moment(0)).expect("a short header")
}

/// The four lines of the vectors: two batches.
fn two_batches() -> (Vec<u8>, Sealer, Sealed) {
    let mut sealer = opened();
    sealer.seal(moment(1), Reason::Regular).expect("a seal");
    let mut bytes = sealer.batch().to_vec();
    sealer.step();
    let body = Unknown::new("open", r#"{"path":"/etc/shadow","pid":4242}"#).expect("JSON");
    let number = sealer.append(moment(2), &Body::Unknown(Box::new(body)));
    assert_eq!(number, Ok(2));
    let sealed = sealer.seal(moment(3), Reason::Regular).expect("a seal");
    bytes.extend_from_slice(sealer.batch());
    (bytes, sealer, sealed)
}

#[test]
fn the_lines_are_those_of_the_format() {
    let (bytes, sealer, _) = two_batches();
    let expected = FORMAT
        .split("```jsonl\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    assert_eq!(std::str::from_utf8(&bytes).ok(), expected);
    let position = sealer.position();
    assert_eq!(
        position.frontier.root().to_string(),
        "452bc8b2e6e8ef404bb3adc47c194e7aee7a5f1d17c75059ebda107d8a2c3629"
    );
    assert_eq!((position.segment, position.sequence), (0, 4));
    assert_eq!(
        position.previous.to_string(),
        "bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50"
    );
}

#[test]
fn the_head_file_is_that_of_the_format() {
    let (_, _, sealed) = two_batches();
    let expected = "{\"log\":\"000102030405060708090a0b0c0d0e0f\",\"seg\":0,\"e\":1,\"seq\":3,\"h\":\"bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50\",\"f\":0}\nd71469561ca284795a52ce4c2006eb8777b4c018f98966a9dbcd36b87ae232e4\n";
    let file = String::from_utf8(sealed.head_file).expect("text");
    assert_eq!(file.trim_end_matches('\n'), expected.trim_end());
    assert_eq!((file.len(), sealed.epoch), (512, 1));
}

#[test]
fn the_checkpoint_is_that_of_the_format_with_the_hosts_signature_before() {
    let (_, sealer, _) = two_batches();
    let host = HostKey::new(ORIGIN.to_owned(), SigningSeed::new(Secret::new([0x77; 32])));
    let root = sealer.position().frontier.root();
    let note = checkpoint(ORIGIN, (4, root), &host, 0, &sealer.signing());
    let expected = FORMAT
        .split("signed by the segment's key:\n\n```\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a checkpoint in the text");
    let (text, of_segment) = expected.split_once("\n\n").expect("a note");
    let lines: Vec<&str> = note.split('\n').collect();
    assert_eq!(lines[..3].join("\n"), text);
    assert_eq!(format!("{}\n", lines[5]), of_segment);
    let signature = &Note::read(&note).expect("a note").signatures[0];
    assert_eq!(signature.name, ORIGIN);
    let bytes = <[u8; 64]>::try_from(&*signature.signature).expect("64 bytes");
    assert!(crate::keys::signing::verifies(
        &host.public(),
        format!("{text}\n").as_bytes(),
        &Hex(bytes)
    ));
}

#[test]
fn boottime_never_goes_back() {
    let mut sealer = opened();
    sealer.seal(moment(1), Reason::Regular).expect("a seal");
    sealer.step();
    let body = Body::Unknown(Box::new(Unknown::new("x", "{}").expect("JSON")));
    for (now, expected) in [
        (moment(9), moment(9)),
        (moment(4), moment(9)),
        (moment(10), moment(10)),
    ] {
        let start = sealer.batch().len();
        sealer.append(now, &body).expect("a short line");
        let line = &sealer.batch()[start..sealer.batch().len() - 1];
        let (place, _) = read_line(line).expect("a line");
        assert_eq!((place.boot_ns, place.wall_ns), (expected.boot_ns, now.wall_ns));
    }
}

#[test]
fn a_line_that_is_too_long_leaves_nothing_behind() {
    let mut sealer = opened();
    let before = (sealer.batch().to_vec(), sealer.position().clone(), sealer.lines());
    let long = format!(r#"{{"x":"{}"}}"#, "a".repeat(70_000));
    let body = Body::Unknown(Box::new(Unknown::new("x", &long).expect("JSON")));
    assert!(sealer.append(moment(1), &body).is_err());
    assert_eq!(
        (sealer.batch().to_vec(), sealer.position().clone(), sealer.lines()),
        before
    );
}

#[test]
fn every_seal_carries_the_losses_its_lines_and_its_reason() {
    let mut sealer = opened();
    let mut seen = Vec::new();
    for (lost, reason) in [(0, Reason::Regular), (3, Reason::Urgent), (4, Reason::Close)] {
        sealer.add_lost(lost);
        let start = sealer.batch().len();
        sealer.seal(moment(1), reason).expect("a seal");
        let line = &sealer.batch()[start..sealer.batch().len() - 1];
        let Ok((_, Body::Seal(seal))) = read_line(line) else {
            panic!("no seal")
        };
        seen.push((seal.e.value(), seal.n.value(), seal.f.value(), seal.lost.0));
        sealer.step();
    }
    assert_eq!(seen, [(0, 1, 0, 0), (1, 0, 2, 3), (2, 0, 1, 7)]);
}

#[test]
fn a_step_forgets_the_key_before() {
    let mut sealer = opened();
    let first = sealer.keys.step();
    sealer.seal(moment(1), Reason::Regular).expect("a seal");
    sealer.step();
    assert!(sealer.keys.step().secret().equals(first.next(0).secret()));
    assert!(!sealer.keys.step().secret().equals(first.secret()));
}
