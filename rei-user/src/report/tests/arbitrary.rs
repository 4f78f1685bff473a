//! Records of any content, from bytes to the last line: nothing panics, and every line is JSON.

use rei_ebpf_common::header::EventHeader;

use super::*;
use crate::draw::Draw;

/// Names and texts that somebody looks at.
const TEXTS: [&[u8]; 14] = [
    b"",
    b"\0",
    b"sh\0bin\0",
    b"x\0..\0data\0",
    b"/etc/../data/x",
    b"/proc/self/maps",
    b"relative",
    b"memfd:x\0",
    b"\xff\xfe\0\xff\0",
    b"/run/docker.sock\0",
    b"\0abstract",
    b"-c\0date\0",
    b"PATH\0HOME\0SECRET\0",
    b"/docker/0123",
];
/// Values of fields that somebody looks at: modes, file systems, flags, families, ports, errors, ends of ranges.
const WORDS: [u32; 22] = [
    0,
    1,
    2,
    3,
    6,
    7,
    9,
    17,
    40,
    41,
    257,
    4880,
    5025,
    0o100_644,
    0o020_666,
    0o060_660,
    0x794c_7630,
    0x9fa0,
    0x6265_6572,
    0xffff_fffe,
    0x7fff_ffff,
    u32::MAX,
];

fn body(draw: &mut Draw) -> Body {
    let cgroup = CgroupBody::default();
    draw.of(&[
        Body::Open(OpenBody::default()),
        Body::Connect(ConnectBody::default()),
        Body::Send(ConnectBody::default()),
        Body::Exec(ExecBody::default()),
        Body::ExecAttempt(ExecAttemptBody::default()),
        Body::Fork(ForkBody::default()),
        Body::Exit(ExitBody {
            status: 0,
            reserved: 0,
        }),
        Body::CgroupMade(cgroup),
        Body::CgroupRemoved(cgroup),
        Body::TaskMoved(TaskMovedBody {
            to_cgroup: 1,
            mover_pid: 2,
            what: moved::LEFT,
        }),
    ])
}

/// A record whose form is that of its kind, most times, and whose content is anything.
fn record(draw: &mut Draw) -> Vec<u8> {
    let body = body(draw);
    let mut header = record::header(kind_of(&body));
    header.pid = draw.of(&[100, 100, 101, 1]);
    header.phase = draw.of(&[1, 1, 1, 1, 0, 2, 3, 9]);
    header.missing = if draw.once_in(3) {
        WORDS[draw.below(WORDS.len())]
    } else {
        0
    };
    let parts = PartTag::ALL
        .into_iter()
        .filter(|_| draw.once_in(2))
        .collect::<Vec<_>>();
    let parts: Vec<(PartTag, &[u8])> = parts.into_iter().map(|tag| (tag, draw.of(&TEXTS))).collect();
    let fixed = record::bytes(&header, &body, &[]).len();
    let mut bytes = record::bytes(&header, &body, &parts).to_vec();
    for word in bytes[size_of::<EventHeader>()..fixed].chunks_exact_mut(4) {
        match draw.below(4) {
            0 => {}
            1 => word.copy_from_slice(&u32::try_from(draw.number() >> 32).unwrap().to_ne_bytes()),
            _ => word.copy_from_slice(&draw.of(&WORDS).to_ne_bytes()),
        }
    }
    if draw.once_in(10) {
        let at = draw.below(bytes.len());
        bytes[at] = bytes[at].wrapping_add(1);
    }
    bytes
}

#[test]
fn no_record_makes_a_room_panic() {
    let mut draw = Draw(0xd1b5_4a32_d192_ed03);
    let mut kinds = std::collections::BTreeMap::new();
    let (mut judged, mut tripped, mut undecodable) = (0, 0, 0);
    for text in [
        "",
        "mode = \"unsafe\"",
        "inputs = [\"/data/**\", \"${workdir}/*\"]\noutputs = [\"**\"]\nnetwork = [\"::/0\", \"unix:**\"]\n\
         programs = [{ path = \"**\", argv = [\"-c\", \"*\"], origins = [\"any\"] }]\nenv = [\"PATH\"]\n\
         exec_is_workload = true\nunresolved = \"trip\"",
        "[gate]\nobserved_default = \"deny\"\n[[gate.rule]]\nname = \"r\"\non = { regex = \".\" }\n\
         args.path = { regex = \"x$\" }\ndecision = \"block\"",
    ] {
        let mut run = Run::new();
        run.judge = Judge::new(policy(text), Bindings::default()).unwrap();
        for _ in 0..2_000 {
            match decode(&Bytes::from(record(&mut draw))) {
                Ok(event) => {
                    *kinds.entry(kind_of(event.body()) as u16).or_insert(0) += 1;
                    let verdict = run.judge.take(run.enricher.take(event));
                    judged += usize::from(verdict.verdict().is_some());
                    tripped += usize::from(verdict.verdict().is_some_and(|it| !it.answer.trips.is_empty()));
                    run.report.event(&verdict).unwrap();
                }
                Err(error) => {
                    undecodable += 1;
                    run.report.undecodable(&error).unwrap();
                }
            }
        }
        let (_, lines) = run.end(ended());
        assert!(lines.len() > 2_000, "{}", lines.len());
    }
    assert_eq!(kinds.len(), EventKind::ALL.len(), "{kinds:?}");
    assert!(
        judged > 2_000 && tripped > 500 && undecodable > 100,
        "{judged} judged, {tripped} tripped, {undecodable} undecodable: the draw is too narrow"
    );
}
