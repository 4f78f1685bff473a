//! Folding a log's raw events again gives the same lines.

use super::*;

const SHELL: Who = (10, 1);

/// Every kind of event, names that are cut, and names that are no text.
fn play(scene: &mut Scene) {
    let long = [b"/".as_slice(), "ü\u{1}".repeat(9_000).as_bytes()].concat();
    let no_text = [b"/\xff".as_slice(), &[b'x'; 20_000]].concat();
    scene.task_flags = task_flag::PRESENT_AT_ATTACH;
    scene.read((5, 0), b"/present");
    scene.task_flags = 0;
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT | evidence::SCRIPT);
    for round in 0..4 {
        scene.read(SHELL, b"/lib/libc.so");
        scene.write(SHELL, b"/tmp/x");
        scene.write(SHELL, &long);
        scene.read(SHELL, &no_text);
        scene.read(SHELL, b"/data/x");
        scene.fail(SHELL, b"x");
        scene.fail(SHELL, &no_text);
        contact(scene);
        attempt(scene);
        lives(scene);
        let child = (20 + round, 7);
        scene.fork(SHELL, child);
        if round % 2 == 0 {
            scene.read(child, b"/x");
        }
        scene.exec(child, &long, evidence::SCRIPT);
        scene.exec(child, b"/bin/ls", 0);
        if round > 1 {
            scene.exit(child, 1);
        }
    }
}

fn contact(scene: &mut Scene) {
    let body = ConnectBody {
        port: 80,
        family: 2,
        socket_type: 1,
        protocol: 6,
        source: address_source::SYN_SENT,
        ..ConnectBody::default()
    };
    scene.take(SHELL, &decode::Body::Connect(body), &[]);
    scene.take(SHELL, &decode::Body::Send(body), &[]);
    let failed = ConnectBody { ret: -111, ..body };
    scene.take(SHELL, &decode::Body::Connect(failed), &[]);
}

fn attempt(scene: &mut Scene) {
    let body = decode::Body::ExecAttempt(ExecAttemptBody {
        ret: -13,
        evidence: evidence::ENTRY_SEEN,
        ..ExecAttemptBody::default()
    });
    let parts: [(PartTag, &[u8]); 2] = [(PartTag::Base, b"bin\0"), (PartTag::TextExit, b"nope")];
    scene.take(SHELL, &body, &parts);
    // Without a base the path is not known, and the text is what there is.
    scene.take(SHELL, &body, &parts[1..]);
}

fn lives(scene: &mut Scene) {
    for what in [moved::LEFT, 99] {
        let body = TaskMovedBody {
            what,
            ..TaskMovedBody::default()
        };
        scene.take(SHELL, &decode::Body::TaskMoved(body), &[]);
    }
    let cgroup = CgroupBody::default();
    let parts: [(PartTag, &[u8]); 1] = [(PartTag::CgroupPath, b"/sub")];
    scene.take(SHELL, &decode::Body::CgroupMade(cgroup), &parts);
    scene.take(SHELL, &decode::Body::CgroupRemoved(cgroup), &[]);
}

/// The raw events, as a reader of the log gets them.
fn raw_events(items: &[Item]) -> Vec<Event> {
    let events = items.iter().filter_map(|item| {
        let line = write_line(&PLACE, &item.body).expect("a line that fits");
        match read_line(&line).expect("a line").1 {
            Body::Event(event) => Some(*event),
            _ => None,
        }
    });
    events.collect()
}

#[test]
fn a_log_of_raw_events_folds_to_the_same_lines() {
    let gated = r#"
        [[gate.rule]]
        name = "no-reading"
        on = "read_file"
        decision = "block"
        note = "not this one"

        [[gate.rule]]
        name = "outward"
        on = "connect_tcp"
        decision = "caution"
    "#;
    let unsafe_mode = "mode = \"unsafe\"";
    for policy in ["", unsafe_mode, gated] {
        let mut scene = Scene::new(policy, KeepEvents::All);
        play(&mut scene);
        let mut lines = scene.lines();
        let tick_ns = scene.now_ns + AGAIN_NS;
        scene.fold.tick(tick_ns);
        scene.fold.end(tick_ns);
        lines.extend(scene.lines());

        let events = raw_events(&lines);
        assert!(events.len() > 60);
        let findings = lines.iter().filter(|item| item.is_urgent()).count();
        assert_eq!(findings > 3, policy != unsafe_mode, "{findings} findings");
        let mut again = Fold::new(scene.fold.settings);
        events.iter().for_each(|event| again.take_event(event));
        again.tick(tick_ns);
        again.end(tick_ns);
        let refolded: Vec<Item> = again.drain().collect();
        for (number, (line, same)) in lines.iter().zip(&refolded).enumerate() {
            assert_eq!(same, line, "line {number}");
        }
        assert_eq!(refolded.len(), lines.len());
    }
}
