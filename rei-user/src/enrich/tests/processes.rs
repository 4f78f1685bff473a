//! Programs, processes and the entrypoint chain.

use super::*;

#[test]
fn a_process_runs_what_it_last_executed() {
    let enricher = &mut container();
    let entry = exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT,
        b"/bin/sh",
        [b"/bin/sh", b"/bin/sh", b"sh\0"],
    );
    assert_eq!(entry.program(), None);
    assert_eq!(fork(enricher, (1, 1), (2, 2)).program(), Some(&b"/bin/sh"[..]));
    let second = exec(enricher, (2, 2), 0, b"/bin/ls", [b"/bin/ls", b"/bin/ls", b"ls\0"]);
    assert_eq!(second.program(), Some(&b"/bin/sh"[..]));
    assert_eq!(fork(enricher, (2, 2), (3, 3)).program(), Some(&b"/bin/ls"[..]));
    // The same pid, another process.
    assert_eq!(fork(enricher, (2, 9), (4, 4)).program(), None);
    enricher.process_present(7, 5, 5, Some(b"/usr/bin/daemon".to_vec()));
    assert_eq!(
        fork(enricher, (5, 5), (6, 6)).program(),
        Some(&b"/usr/bin/daemon"[..])
    );
    let mut header = record::header(EventKind::Exit);
    (header.pid, header.start_ns) = (2, 2);
    let exit = enricher.take(record::event(&header, &Body::Exit(ExitBody::default()), &[]));
    assert_eq!(exit.program(), None);
}

#[test]
fn scripts_name_script_interpreter_and_program() {
    let texts: [&[u8]; 3] = [b"./run.sh", b"/bin/sh", b"/bin/sh\0./run.sh\0"];
    let enriched = exec(&mut container(), (1, 1), evidence::SCRIPT, b"/bin/busybox", texts);
    let Act::Exec(executed) = enriched.act() else {
        panic!()
    };
    assert_eq!(executed.script.as_deref(), Some(&b"/job/./run.sh"[..]));
    assert_eq!(executed.interpreter.as_deref(), Some(&b"/bin/sh"[..]));
    assert_eq!(executed.file.as_ref().unwrap().path(), Some(&b"/bin/busybox"[..]));
    assert_eq!(enriched.argv(), [&b"/bin/sh"[..], b"./run.sh"]);
    assert_eq!(enriched.confidence(), Confidence::KernelObject);
}

#[test]
fn the_chain_follows_what_entrypoint_and_cmd_name() {
    let enricher = &mut container();
    let start: [&[u8]; 3] = [b"/entry.sh", b"/bin/sh", b"/bin/sh\0/entry.sh\0python3\0-u\0"];
    let entry = exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT | evidence::SCRIPT,
        b"/bin/dash",
        start,
    );
    assert_eq!(chain_of(&entry), Some(Chain::Entrypoint));
    // A child is not part of it, whatever it executes.
    fork(enricher, (1, 1), (2, 2));
    let python: [&[u8]; 3] = [b"/usr/bin/python3", b"/usr/bin/python3", b"python3\0-u\0"];
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/python3.11", python)),
        None
    );
    // What is not named is not, what is named is: by what was asked for and by what was found.
    let curl: [&[u8]; 3] = [b"/usr/bin/curl", b"/usr/bin/curl", b"python3\0"];
    assert_eq!(chain_of(&exec(enricher, (1, 1), 0, b"/usr/bin/curl", curl)), None);
    let elsewhere: [&[u8]; 3] = [b"/tmp/python3", b"/tmp/python3", b"python3\0"];
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/tmp/python3", elsewhere)),
        None
    );
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/usr/bin/python3.11", python)),
        Some(Chain::Named)
    );
    // A file of the upper layer is not from the image.
    let mut header = record::header(EventKind::Exec);
    (header.pid, header.start_ns) = (1, 1);
    let (file, path) = at(overlay(OVERLAY_UPPER), b"/usr/bin/python3", 3);
    let parts = [
        (PartTag::Path, path.as_slice()),
        (PartTag::Filename, &b"/usr/bin/python3"[..]),
    ];
    let upper = ExecBody {
        file,
        ..ExecBody::default()
    };
    assert_eq!(
        chain_of(&enricher.take(record::event(&header, &Body::Exec(upper), &parts))),
        None
    );
}

#[test]
fn the_target_of_env_is_the_interpreter() {
    let enricher = &mut container();
    let start: [&[u8]; 3] = [b"/entry.py", b"/usr/bin/env", b"/usr/bin/env\0node\0/entry.py\0"];
    exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT | evidence::SCRIPT,
        b"/usr/bin/env",
        start,
    );
    let node: [&[u8]; 3] = [
        b"/usr/local/bin/node",
        b"/usr/local/bin/node",
        b"node\0/entry.py\0",
    ];
    let first = exec(enricher, (1, 1), 0, b"/usr/local/bin/node", node);
    assert_eq!(chain_of(&first), Some(Chain::Interpreter));
    // Only once.
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/usr/local/bin/node", node)),
        None
    );
}

#[test]
fn docker_init_hands_over_to_its_first_child() {
    let enricher = &mut Enricher::new(Target::Container);
    let init: [&[u8]; 3] = [b"/sbin/docker-init", b"", b"/sbin/docker-init\0--\0/entry.sh\0"];
    let tool: [&[u8]; 3] = [b"/usr/bin/tool", b"", b"tool\0"];
    exec(enricher, (1, 1), evidence::ENTRYPOINT, b"/sbin/docker-init", init);
    fork(enricher, (1, 1), (2, 2));
    fork(enricher, (1, 1), (3, 3));
    // The engine's word may come late.
    enricher.container_known(
        7,
        ContainerFacts {
            init: true,
            ..facts()
        },
    );
    assert_eq!(chain_of(&exec(enricher, (3, 3), 0, b"/usr/bin/tool", tool)), None);
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/tool", tool)),
        Some(Chain::InitChild)
    );
    // It stands where the entrypoint stood.
    let python: [&[u8]; 3] = [b"/usr/bin/python3", b"", b"python3\0"];
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/python3.11", python)),
        Some(Chain::Named)
    );
    // Its own first child is a child.
    fork(enricher, (2, 2), (4, 4));
    assert_eq!(chain_of(&exec(enricher, (4, 4), 0, b"/usr/bin/tool", tool)), None);
    // Without --init the first child is nothing special.
    let enricher = &mut container();
    exec(enricher, (1, 1), evidence::ENTRYPOINT, b"/bin/sh", tool);
    fork(enricher, (1, 1), (2, 2));
    assert_eq!(chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/tool", tool)), None);
}
