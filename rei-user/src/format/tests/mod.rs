use super::event::{Act, Named};
use super::*;

mod document;
mod samples;

const LOG: Hex<16> = Hex([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// The four lines of the worked example of docs/format.md.
fn example() -> Vec<&'static str> {
    let lines: Vec<&str> = document::block("```jsonl\n", "```").lines().collect();
    assert_eq!(lines.len(), 4);
    lines
}

#[test]
fn the_worked_example_is_byte_for_byte() {
    assert_eq!(
        genesis(&LOG).to_string(),
        "6e6db90080a20e2a29effc34b0e75dd721dd394f1241b72e506196f7db7d2b90"
    );
    let mut frontier = Frontier::default();
    let mut previous = genesis(&LOG);
    let hashes = document::block("hashes   ", "root(4)");
    let hashes: Vec<&str> = hashes.split_whitespace().collect();
    for (number, line) in example().into_iter().enumerate() {
        let (place, body) = read_line(line.as_bytes()).expect("a line");
        assert_eq!((place.segment, place.sequence), (0, number as u64));
        assert_eq!(place.previous, previous);
        if let Body::Seal(seal) = &body {
            assert_eq!(seal.r, frontier.root());
            let mut again = line.as_bytes().to_vec();
            put_tag(&mut again, &seal.tag);
            assert_eq!(again, line.as_bytes());
            let covered = before_tag(line.as_bytes()).expect("a seal");
            assert!(covered.ends_with(b"\"tag\":\""));
        }
        assert_eq!(write_line(&place, &body).expect("short"), line.as_bytes());
        previous = leaf(line.as_bytes());
        assert_eq!(previous.to_string(), hashes[number]);
        frontier.push(previous);
    }
    assert_eq!(
        frontier.root().to_string(),
        document::block("root(4)", "S[0]").trim()
    );
    let note = document::block("signed by the segment's key:\n\n```\n", "```");
    let checkpoint = Note::read(note).expect("a note").checkpoint;
    assert_eq!((checkpoint.size, checkpoint.root), (4, frontier.root()));
}

/// The kind of an error: the tests name no sentences.
fn error(line: &str) -> &'static str {
    match read_line(line.as_bytes()) {
        Ok(_) => "none",
        Err(LineError::Oversize) => "OVERSIZE",
        Err(LineError::Parse { .. }) => "PARSE",
        Err(LineError::DuplicateKey { .. }) => "DUPKEY",
        Err(LineError::NotCanonical) => "NONCANON",
        Err(LineError::Version { .. }) => "VERSION",
    }
}

#[test]
fn other_bytes_for_the_same_facts_are_refused() {
    let (line, seal) = (example()[2], example()[1]);
    for (wrong, expected) in [
        (line.replace("4242}", "4242,\"pid\":1}"), "DUPKEY"),
        (line.replace("4242}", "4242,\"\\u0070id\":1}"), "DUPKEY"),
        (line.replace("\"k\":", "\"v\":1,\"k\":"), "DUPKEY"),
        (seal.replace("\"n\":1", "\"n\":1,\"n\":1"), "DUPKEY"),
        (line.replace(":4242", ": 4242"), "NONCANON"),
        (line.replace("/etc", "\\u002fetc"), "NONCANON"),
        (line.replace("\"seg\":0", "\"seg\": 0"), "NONCANON"),
        (seal.replace("\"n\":1", "\"n\": 1"), "NONCANON"),
        (seal.replace("\"n\":1", "\"n\":1.0"), "PARSE"),
        (seal.replace("\"n\":1", "\"n\":1e0"), "PARSE"),
        (seal.replace("\"n\":1", "\"n\":-0"), "PARSE"),
        (seal.replace("\"n\":1", "\"n\":01"), "PARSE"),
        (seal.replace("\"n\":1", "\"n\":9007199254740993"), "PARSE"),
        (seal.replace("\"n\":1", "\"n\":1,\"x\":1"), "PARSE"),
        (seal.replace("\"e\":0,\"n\":1", "\"n\":1,\"e\":0"), "NONCANON"),
        (seal.replace("\"lost\":\"0\"", "\"lost\":\"00\""), "PARSE"),
        (seal.replace("\"lost\":\"0\"", "\"lost\":0"), "PARSE"),
        (seal.replace("\"tag\":\"4b", "\"tag\":\"4B"), "PARSE"),
        (line.replace("4242", "1.5"), "PARSE"),
        (line.replace("4242", "9007199254740993"), "PARSE"),
        (line.replace("/etc", "\\ud800"), "PARSE"),
        (line.replace("\"v\":1", "\"v\":2"), "VERSION"),
        (line.replace("\"k\":\"open\"", "\"k\":\"\\u006fpen\""), "NONCANON"),
        (format!("\u{feff}{line}"), "PARSE"),
        (format!("{line}\r"), "NONCANON"),
        (format!("{line} "), "NONCANON"),
        (format!("{line}{line}"), "PARSE"),
        (line.replace(",\"d\":", ",\"x\":1,\"d\":"), "PARSE"),
        (String::new(), "PARSE"),
        (" ".repeat(70_000), "OVERSIZE"),
        ("[".repeat(65_000), "PARSE"),
    ] {
        assert_eq!(error(&wrong), expected, "{}", wrong.get(..300).unwrap_or(&wrong));
    }
    assert!(matches!(read_line(b"\xff"), Err(LineError::Parse { .. })));
}

#[test]
fn every_flipped_bit_of_a_line_is_refused_or_another_line() {
    for line in example() {
        let hash = leaf(line.as_bytes());
        let mut bytes = line.as_bytes().to_vec();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok((place, body)) = read_line(&bytes) {
                assert_eq!(write_line(&place, &body).expect("short"), bytes);
            }
            assert_ne!(leaf(&bytes), hash);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

fn place() -> Place {
    Place {
        segment: 1,
        sequence: 9,
        wall_ns: u64::MAX,
        boot_ns: 1,
        previous: Hex([0xab; 32]),
    }
}

#[test]
fn bytes_that_are_no_text_survive_in_every_place() {
    for bytes in [
        &b"/caf\xc3\xa9"[..],
        b"/\xff\xfe",
        b"/a\nb\"\\\x1b[2J",
        "/\u{202e}gpj.exe\u{2028}\u{7f}".as_bytes(),
        b"a\0b",
        b"",
    ] {
        let (path, path_b64) = split(bytes);
        let event = samples::event(Act::Open(Named {
            path,
            path_b64,
            ..Named::default()
        }));
        let body = Body::Event(Box::new(event));
        let line = write_line(&place(), &body).expect("short");
        assert!(!line.contains(&b'\n'), "a line is one line");
        let (read_place, read_body) = read_line(&line).expect("a line");
        assert_eq!((read_place, &read_body), (place(), &body));
        let Body::Event(event) = &read_body else {
            panic!("another kind")
        };
        let Act::Open(named) = &event.act else {
            panic!("another act")
        };
        assert_eq!(join(named.path.as_ref(), named.path_b64.as_ref()), Some(bytes));
    }
}

#[test]
fn a_line_that_is_too_long_leaves_nothing_behind() {
    let body = Body::Undecodable(Undecodable {
        why: String::new(),
        bytes_b64: Raw(vec![0; 60_000]),
    });
    let mut buffer = b"before".to_vec();
    let error = write_into(&mut buffer, &place(), &body).expect_err("too long");
    assert!(error.len_bytes > LINE_BYTES_MAX);
    assert_eq!(buffer, b"before");
}

#[test]
fn every_kind_is_read_as_it_was_written() {
    for body in samples::all() {
        let line = write_line(&place(), &body).expect("short");
        assert_eq!(read_line(&line), Ok((place(), body)));
    }
}
