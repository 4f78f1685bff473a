//! Lines fit, memory is bounded, and nothing is uncounted.

use std::ffi::OsString;

use super::*;
use crate::fold::object::OBJECTS_MAX;
use crate::fold::telling::NODES_MAX;
use crate::found::FoundProgram;

const SHELL: Who = (10, 1);

/// Bytes that take the most room, in one way or another.
const FILLS: [&[u8]; 6] = [b"\x01", b"\"\\", b"\xff", "ü".as_bytes(), b"a", b"a\xff\x01\""];

fn filled(fill: &[u8], len: usize) -> Vec<u8> {
    fill.iter().copied().cycle().take(len).collect()
}

/// A policy whose words are as long as they can be.
fn wordy_policy() -> String {
    let word = "\\\"w".repeat(2_000);
    format!("inputs = [{{ path = \"/lib/**\", name = \"{word}\" }}]\n")
}

#[test]
fn no_event_is_longer_than_a_line() {
    let wordy = wordy_policy();
    let policies = match Policy::parse(&wordy, Source::Shipped) {
        Ok(_) => vec!["", wordy.as_str()],
        Err(problems) => panic!("{problems}"),
    };
    let mut longest_line = 0;
    for policy in policies {
        let mut scene = Scene::new(policy, KeepEvents::All);
        for fill in FILLS {
            let longest = [b"/lib/".as_slice(), &filled(fill, 32 << 10)].concat();
            let list: Vec<u8> = fill.iter().copied().chain([0]).collect();
            let components = record::components(&longest);
            let body = decode::Body::Exec(ExecBody {
                file: image(&longest, 0o100_755),
                evidence: evidence::SCRIPT,
                argc: u32::MAX,
                ..ExecBody::default()
            });
            let texts = filled(fill, 32 << 10);
            for strings in [filled(&list, 8 << 10), texts.clone(), filled(b"\0", 8 << 10)] {
                let parts: [(PartTag, &[u8]); 6] = [
                    (PartTag::Path, &components),
                    (PartTag::Base, b"x\0"),
                    (PartTag::Filename, &texts),
                    (PartTag::Interp, &texts),
                    (PartTag::Argv, &strings),
                    (PartTag::EnvNames, &strings),
                ];
                scene.take(SHELL, &body, &parts);
            }
            scene.read(SHELL, &longest);
            scene.write(SHELL, &longest);
            scene.read(SHELL, &[b"/data/".as_slice(), &longest].concat());
            scene.fail(SHELL, &texts);
            scene.fold.tick(scene.now_ns + TICK_NS);
            // Each is written and read again there.
            let lines = scene.lines();
            assert!(lines.len() > 10);
            let lens = lines.iter().map(|item| written_bytes(&item.body));
            longest_line = longest_line.max(lens.max().expect("lines"));
        }
    }
    // The limits are neither reached by chance nor far away.
    assert!(longest_line > LINE_BYTES_MAX * 2 / 3, "{longest_line}");
}

fn written_bytes(body: &Body) -> usize {
    write_line(&PLACE, body).expect("a line that fits").len()
}

#[test]
fn undecodable_bytes_and_long_lists_fit() {
    let bad = decode::Undecodable {
        why: decode::Malformed::Kind(99),
        bytes: vec![7; 200_000].into(),
    };
    let facts = ContainerFacts {
        labels: vec![("\u{1}".repeat(5_000), "v".repeat(9_000)); 500],
        argv: vec!["\"".repeat(9_000); 300],
        mounts: vec![
            Mount {
                destination: "\u{1}".repeat(9_000),
                kind: MountKind::Volume {
                    name: "x".repeat(9_000),
                },
                read_only: true,
            };
            100
        ],
        ..ContainerFacts::default()
    };
    let program = FoundProgram {
        place: 0,
        rule: "r".repeat(9_000),
        declared: "\u{1}".repeat(3_000),
        name: Some(vec![1; 4_000]),
        path: Some(b"/usr/bin/x".to_vec()),
        sha256: Some([1; 32]),
        source: crate::image::Source::Image,
        fault: Some("f".repeat(9_000)),
    };
    let short = FoundProgram {
        rule: "python".to_owned(),
        declared: "python3".to_owned(),
        name: Some(b"/usr/bin/python3".to_vec()),
        fault: None,
        ..program.clone()
    };
    let programs = [vec![short; 3], vec![program; 200]].concat();
    let policy = Policy::parse("", Source::Shipped).expect("a policy").policy;
    let command = vec![OsString::from("x".repeat(3_000)); 40];
    let run = run_begin(&command, "plain", &policy, KeepEvents::All, &[], &programs);
    let Body::Run(format::Run::Begin(begin)) = &run else {
        panic!("no begin")
    };
    assert_eq!(begin.programs[2].declared, "python3");
    assert!(begin.programs[3].rule.starts_with("… and 200 more"));
    let last = begin.command.last().map(format::Word::bytes).expect("words");
    assert!(last.starts_with("… and 3".as_bytes()));
    for body in [
        undecodable(&bad),
        container(7, &facts, &programs, "/docker/x", "engine"),
        run,
    ] {
        let line = write_line(&PLACE, &body).expect("a line that fits");
        assert_eq!(read_line(&line).expect("a line").1, body);
    }
}

#[test]
fn a_million_equal_opens_are_one_counter() {
    let mut scene = Scene::new("", KeepEvents::Findings);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    let judged = scene.opened(SHELL, b"/lib/libc.so", FMODE_READ, 0);
    for _ in 0..1_000_000 {
        scene.fold.take(&judged);
    }
    let end_ns = scene.now_ns;
    scene.fold.end(end_ns);
    assert_eq!(
        told(&scene.lines()),
        [
            "lineage 0 < None exec /bin/sh pid 10",
            "fold 0 exec /bin/sh allowed x1 open /lib/libc.so allowed x1000000 end Recording",
        ]
    );
}

#[test]
fn short_processes_leave_nothing_behind() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    let mut lineages = 0;
    for pid in 100..10_100 {
        scene.fork(SHELL, (pid, 2));
        scene.exec((pid, 2), b"/bin/true", 0);
        scene.read((pid, 2), b"/lib/libc.so");
        scene.exit((pid, 2), 0);
        lineages += scene
            .fold
            .drain()
            .filter(|item| matches!(item.body, Body::Lineage(_)))
            .count();
        scene.fold.tick(scene.now_ns);
        assert!(scene.fold.nodes.len() <= 2);
    }
    assert_eq!(lineages, 10_001);
    assert!(scene.fold.again.is_empty() && scene.fold.object_bytes < 10_000);
}

#[test]
fn images_are_forgotten_when_there_are_too_many_and_that_is_said() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    let mut forgotten = 0;
    let mut lineages = 0;
    let children = NODES_MAX as u32 + 10;
    for pid in 0..children {
        scene.fork(SHELL, (1_000 + pid, 2));
        for item in scene.fold.drain() {
            match item.body {
                Body::Fold(fold) if fold.end.is_some_and(|end| end.how == NodeEnding::Forgotten) => {
                    forgotten += 1;
                }
                Body::Lineage(_) => lineages += 1,
                _ => {}
            }
        }
    }
    assert!(scene.fold.nodes.len() <= NODES_MAX);
    assert_eq!(scene.fold.nodes.len() + forgotten, children as usize + 1);
    assert_eq!(lineages, forgotten + 1);
}

#[test]
fn objects_are_forgotten_and_every_act_is_counted() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    let acts = 2 * OBJECTS_MAX + 10;
    let mut counted = 0;
    for number in 0..acts {
        scene.read(SHELL, format!("/lib/{}", number % (OBJECTS_MAX + 5)).as_bytes());
        counted += opens(&mut scene);
        assert!(
            scene.fold.nodes[&event::process(SHELL.0, SHELL.1)]
                .objects
                .memory_bytes()
                <= OBJECTS_MAX * 700
        );
    }
    scene.fold.end(scene.now_ns);
    counted += opens(&mut scene);
    assert_eq!(counted, acts as u64);
    assert_eq!(scene.fold.object_bytes, 0);
}

fn opens(scene: &mut Scene) -> u64 {
    let mut counted = 0;
    for item in scene.fold.drain() {
        let Body::Fold(fold) = item.body else { continue };
        assert!(written_bytes(&Body::Fold(fold.clone())) <= LINE_BYTES_MAX);
        counted += fold
            .objects
            .iter()
            .filter(|touched| touched.kind == "open")
            .map(|touched| touched.n.value())
            .sum::<u64>();
    }
    counted
}
