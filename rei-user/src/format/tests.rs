use super::event::{Act, Event, FileFacts, KernelSequence, Named, Verdict};
use super::*;

const LOG: Hex<16> = Hex([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// The four lines of the worked example of docs/format.md.
const EXAMPLE: [&str; 4] = [
    concat!(
        r#"{"v":1,"seg":0,"seq":0,"k":"head","t":"1767225600000001000","b":"1000001000","#,
        r#""p":"6e6db90080a20e2a29effc34b0e75dd721dd394f1241b72e506196f7db7d2b90","#,
        r#""d":{"log":"000102030405060708090a0b0c0d0e0f","origin":"rei.example/node-7","#,
        r#""vk":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c","#,
        r#""nvk":"8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394","#,
        r#""ks":"c9d8aa2fb47328e6803e2b3ccfb1ce6da22af2d7d3aa4d6bdb4a4df5320f477f"#,
        r#"97166b4846426f1ed4663f31c95f997a06f162dd3ff4aee13d267b3d3f762a09","#,
        r#""prev":{"seg":null,"state":"none"}}}"#,
    ),
    concat!(
        r#"{"v":1,"seg":0,"seq":1,"k":"seal","t":"1767225600000002000","b":"1000002000","#,
        r#""p":"92e72d5f61fcf89991ca779e218a121adaeed7aeb179f09fda3639662897c774","#,
        r#""d":{"e":0,"n":1,"f":0,"r":"92e72d5f61fcf89991ca779e218a121adaeed7aeb179f09fda3639662897c774","#,
        r#""lost":"0","tag":"4b90cbdc2b605afe505bde72745051fe52fe7df15833935846f65adf6223c096"}}"#,
    ),
    concat!(
        r#"{"v":1,"seg":0,"seq":2,"k":"open","t":"1767225600000003000","b":"1000003000","#,
        r#""p":"eb798b4c16b24d82c733576c450bbd91076eb26f4677a8506f1b6d89223d13fc","#,
        r#""d":{"path":"/etc/shadow","pid":4242}}"#,
    ),
    concat!(
        r#"{"v":1,"seg":0,"seq":3,"k":"seal","t":"1767225600000004000","b":"1000004000","#,
        r#""p":"c8ac86579a53c5c99bf90367593e332c962d172d74dbdd1dc3cfb2fceef1c795","#,
        r#""d":{"e":1,"n":1,"f":0,"r":"5ba7dedd693f307821ed08fa706e1beb7d9bc70c6ae6186e9da8a74a42fc8add","#,
        r#""lost":"0","tag":"d3b7ab6afde0d8ac861c74464657b2ddb05e1da7f1014e2a43c30f19113764ea"}}"#,
    ),
];

const EXAMPLE_HASHES: [&str; 4] = [
    "92e72d5f61fcf89991ca779e218a121adaeed7aeb179f09fda3639662897c774",
    "eb798b4c16b24d82c733576c450bbd91076eb26f4677a8506f1b6d89223d13fc",
    "c8ac86579a53c5c99bf90367593e332c962d172d74dbdd1dc3cfb2fceef1c795",
    "bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50",
];

#[test]
fn the_worked_example_is_byte_for_byte() {
    assert_eq!(
        genesis(&LOG).to_string(),
        "6e6db90080a20e2a29effc34b0e75dd721dd394f1241b72e506196f7db7d2b90"
    );
    let mut frontier = Frontier::default();
    let mut previous = genesis(&LOG);
    for (number, line) in EXAMPLE.into_iter().enumerate() {
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
        assert_eq!(previous.to_string(), EXAMPLE_HASHES[number]);
        frontier.push(previous);
    }
    assert_eq!(
        frontier.root().to_string(),
        "452bc8b2e6e8ef404bb3adc47c194e7aee7a5f1d17c75059ebda107d8a2c3629"
    );
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
    let line = EXAMPLE[2];
    let seal = EXAMPLE[1];
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
    for line in EXAMPLE {
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
        let (comm, comm_b64) = split(bytes);
        let event = Event {
            kind: "open".to_owned(),
            kseq: KernelSequence {
                cpu: Count::new(1),
                stream: Count::new(0),
                n: Decimal(7),
            },
            at: Decimal(1),
            scope: Decimal(u64::MAX),
            cgroup: Decimal(2),
            process: ProcessKey {
                pid: Count::new(3),
                start: Decimal(4),
            },
            tid: Count::new(3),
            ns_pid: Count::new(1),
            uid: Count::new(0),
            gid: Count::new(0),
            comm,
            comm_b64,
            program: None,
            program_b64: None,
            phase: "workload".to_owned(),
            hook: "syscalls".to_owned(),
            confidence: "kernel_object".to_owned(),
            outcome: "ok".to_owned(),
            flags: Vec::new(),
            cut: Vec::new(),
            unreadable: vec!["argv".to_owned()],
            act: Act::Open(Named {
                path,
                path_b64,
                access: vec!["read".to_owned()],
                ..Named::default()
            }),
            file: Some(FileFacts {
                origin: "image".to_owned(),
                fs: "overlay".to_owned(),
                dev: "0:1".to_owned(),
                ino: Decimal(u64::MAX),
                mode: "100644".to_owned(),
                rdev: None,
                overlay: Some("lower".to_owned()),
                flags: Vec::new(),
            }),
            verdict: Some(Verdict {
                trips: Vec::new(),
                ground: None,
                decision: Some("no-objection".to_owned()),
                rule: None,
                note: None,
                severity: None,
            }),
            shortened: Vec::new(),
        };
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
