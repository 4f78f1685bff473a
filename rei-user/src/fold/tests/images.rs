//! Who descends from whom, and what each image touched.

use super::*;

const SHELL: Who = (10, 1);

#[test]
fn a_small_run_is_a_few_lines() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    scene.read(SHELL, b"/lib/libc.so");
    scene.fork(SHELL, (11, 2));
    for _ in 0..3 {
        scene.read((11, 2), b"/etc/passwd");
    }
    scene.exit((11, 2), 3);
    scene.read(SHELL, b"/lib/libc.so");
    let end_ns = scene.now_ns;
    scene.fold.end(end_ns);
    assert_eq!(
        told(&scene.lines()),
        [
            "lineage 0 < None exec /bin/sh pid 10",
            "lineage 1 < Some(0) fork /bin/sh pid 11",
            "fold 1 open /etc/passwd allowed x3 end Exit(Code(3))",
            "fold 0 exec /bin/sh allowed x1 open /lib/libc.so allowed x2 end Recording",
        ]
    );
}

#[test]
fn an_exec_takes_the_place_of_an_image_that_did_nothing() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    scene.fork(SHELL, (11, 2));
    scene.exec((11, 2), b"/bin/true", 0);
    scene.fork(SHELL, (12, 3));
    scene.read((12, 3), b"/x");
    scene.exec((12, 3), b"/bin/ls", 0);
    // A process that does nothing but end is told all the same.
    scene.fork(SHELL, (13, 4));
    scene.exit((13, 4), 0);
    let lines = told(&scene.lines());
    let lines: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("finding"))
        .collect();
    assert_eq!(
        lines,
        [
            "lineage 0 < None exec /bin/sh pid 10",
            "lineage 1 < Some(0) exec /bin/true pid 11",
            "lineage 2 < Some(0) fork /bin/sh pid 12",
            "fold 2 open /x allowed x1 end Exec",
            "lineage 3 < Some(2) exec /bin/ls pid 12",
            "lineage 4 < Some(0) fork /bin/sh pid 13",
            "fold 4 end Exit(Code(0))",
        ]
    );
}

#[test]
fn what_nobody_saw_begin_is_said_to_be_so() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.read((20, 1), b"/x");
    scene.task_flags = task_flag::PRESENT_AT_ATTACH;
    scene
        .enricher
        .process_present(7, 21, 2, Some(b"/bin/old".to_vec()));
    scene.read((21, 2), b"/x");
    // A child of a process that is known, whose own birth was lost.
    scene.task_flags = 0;
    scene.exec((1, 0), b"/bin/init", evidence::ENTRYPOINT);
    scene.exec((22, 3), b"/bin/x", 0);
    let lines = told(&scene.lines());
    let lineages: Vec<&String> = lines.iter().filter(|line| line.starts_with("lineage")).collect();
    assert_eq!(
        lineages,
        [
            "lineage 0 < None unknown ? pid 20",
            "lineage 1 < None present /bin/old pid 21",
            "lineage 2 < None exec /bin/init pid 1",
            "lineage 3 < Some(2) exec /bin/x pid 22",
        ]
    );
}

#[test]
fn an_exec_brings_its_arguments_and_names() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/entry.sh", evidence::ENTRYPOINT | evidence::SCRIPT);
    let Body::Lineage(lineage) = &scene.lines()[0].body else {
        panic!("no lineage")
    };
    let argv: Vec<&[u8]> = lineage.argv.iter().map(format::Word::bytes).collect();
    assert_eq!(argv, [&b"a"[..], b"\xff"]);
    assert_eq!(lineage.env_names.len(), 2);
    assert_eq!(lineage.chain.as_deref(), Some("entrypoint"));
    assert_eq!(lineage.origin.as_deref(), Some("image"));
    assert_eq!(
        lineage.script.as_ref().map(format::Text::as_str),
        Some("/entry.sh")
    );
    assert_eq!((lineage.uid.value(), lineage.gid.value()), (1, 2));
}

#[test]
fn new_objects_are_told_soon_and_repetitions_later() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    scene.read(SHELL, b"/x");
    scene.lines();
    let due_ns = scene.fold.due_ns().expect("something new");
    assert!(due_ns <= scene.now_ns + TICK_NS);
    scene.fold.tick(due_ns - 1);
    assert!(scene.lines().is_empty());
    scene.fold.tick(due_ns);
    assert_eq!(
        told(&scene.lines()),
        ["fold 0 exec /bin/sh allowed x1 open /x allowed x1"]
    );
    assert_eq!(scene.fold.due_ns(), None);
    scene.now_ns = due_ns;

    for _ in 0..5 {
        scene.read(SHELL, b"/x");
    }
    let due_ns = scene.fold.due_ns().expect("a repetition");
    assert!(due_ns > scene.now_ns + 9 * SECOND && due_ns <= scene.now_ns + AGAIN_NS);
    // Something new does not take the repetitions with it.
    scene.read(SHELL, b"/y");
    scene.fold.tick(scene.now_ns + TICK_NS);
    assert_eq!(told(&scene.lines()), ["fold 0 open /y allowed x1"]);
    scene.fold.tick(due_ns);
    let lines = scene.lines();
    assert_eq!(told(&lines), ["fold 0 open /x allowed x5"]);
    let Body::Fold(fold) = &lines[0].body else {
        panic!("no fold")
    };
    assert_eq!(fold.objects[0].last.0 - fold.objects[0].first.0, 4_000);
    assert_eq!(scene.fold.due_ns(), None);
}

#[test]
fn acts_that_differ_in_anything_are_kept_apart() {
    let mut scene = Scene::new("mode = \"unsafe\"", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    scene.read(SHELL, b"/x");
    scene.open(SHELL, b"/x", FMODE_READ | FMODE_WRITE, 0);
    scene.open(SHELL, b"/x", FMODE_READ, file_flag::OVERLAY_UPPER);
    scene.fail(SHELL, b"x");
    scene.fail(SHELL, b"x");
    let end_ns = scene.now_ns;
    scene.fold.end(end_ns);
    let lines = scene.lines();
    let Some(Body::Fold(fold)) = lines.last().map(|item| &item.body) else {
        panic!("no fold")
    };
    let opens: Vec<(String, Option<&str>, &str, u64)> = fold
        .objects
        .iter()
        .filter(|touched| touched.kind == "open")
        .map(|touched| {
            let access = touched.access.join(",");
            (
                access,
                touched.origin.as_deref(),
                touched.outcome.as_str(),
                touched.n.value(),
            )
        })
        .collect();
    assert_eq!(
        opens,
        [
            ("read".to_owned(), Some("image"), "ok", 1),
            ("read,write".to_owned(), Some("image"), "ok", 1),
            ("read".to_owned(), Some("upper"), "ok", 1),
            ("read".to_owned(), None, "EACCES", 2),
        ]
    );
    // Tripwires are recorded in unsafe mode, and decide nothing.
    assert_eq!(fold.objects[3].decision, "allowed");
    assert_eq!(fold.objects[3].by, ["I1"]);
}
