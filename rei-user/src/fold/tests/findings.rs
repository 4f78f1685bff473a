//! What was objected to, and the raw events beside it.

use super::*;
use crate::format::Finding;

const SHELL: Who = (10, 1);

/// Writes the items of a scene as a writer would, with a seal after each item. Gives the lines' numbers and
/// bodies.
struct Paper {
    citations: Citations,
    lines: Vec<Body>,
}

impl Paper {
    fn new() -> Self {
        Paper {
            citations: Citations::new(),
            lines: Vec::new(),
        }
    }

    fn write(&mut self, items: Vec<Item>) {
        for item in items {
            let role = item.role;
            let body = self.citations.cite(item);
            self.citations.written(role, self.lines.len() as u64);
            self.lines.push(body);
            // Any line of somebody else's.
            self.lines.push(control("mode", None, "between"));
        }
    }

    fn findings(&self) -> Vec<(u64, &Finding)> {
        let numbered = (0..).zip(&self.lines);
        numbered
            .filter_map(|(number, body)| match body {
                Body::Finding(finding) => Some((number, finding.as_ref())),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn a_finding_is_told_at_once_with_its_event() {
    let mut scene = Scene::new("", KeepEvents::Findings);
    let mut paper = Paper::new();
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    paper.write(scene.lines());
    for _ in 0..3 {
        scene.write(SHELL, b"/tmp/x");
    }
    let items = scene.lines();
    assert_eq!(told(&items), ["event open", "finding I1 tripped /tmp/x x1"]);
    assert_eq!(
        items.iter().map(Item::is_urgent).collect::<Vec<_>>(),
        [false, true]
    );
    paper.write(items);
    scene.write(SHELL, b"/tmp/y");
    paper.write(scene.lines());
    let due_ns = scene.now_ns + AGAIN_NS;
    scene.fold.tick(due_ns);
    let items = scene.lines();
    assert!(items.iter().all(|item| !item.is_urgent()));
    paper.write(items);

    let findings = paper.findings();
    let [(first, x), (_, y), (_, again)] = findings[..] else {
        panic!("{findings:?}")
    };
    for finding in [x, y] {
        let [evidence] = finding.evidence[..] else {
            panic!("{finding:?}")
        };
        let Body::Event(event) = &paper.lines[evidence.value() as usize] else {
            panic!("no event")
        };
        assert_eq!(event.at, finding.first);
        assert_eq!(finding.of, None);
    }
    assert_eq!((again.n.value(), again.of.map(Count::value)), (2, Some(first)));
    assert!(again.evidence.is_empty() && again.first > x.first && again.last > again.first);
    assert_eq!(
        x.subject.program.as_ref().map(format::Text::as_str),
        Some("/bin/sh")
    );
    assert_eq!(scene.fold.findings(), 2);
}

#[test]
fn the_subject_names_its_image_and_ancestors() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    scene.fork(SHELL, (11, 2));
    scene.fork((11, 2), (12, 3));
    scene.write((12, 3), b"/tmp/x");
    scene.exec((12, 3), b"/bin/ls", 0);
    let lines = scene.lines();
    let subjects: Vec<(u64, Vec<u64>, &str)> = lines
        .iter()
        .filter_map(|item| match &item.body {
            Body::Finding(finding) => Some(&finding.subject),
            _ => None,
        })
        .map(|subject| {
            let ancestors = subject.ancestors.iter().map(|node| node.value()).collect();
            let program = subject.program.as_ref().map_or("?", format::Text::as_str);
            (subject.node.value(), ancestors, program)
        })
        .collect();
    // Of an exec: the image that it made, and the program that called it.
    assert_eq!(
        subjects,
        [(2, vec![1, 0], "/bin/sh"), (3, vec![2, 1, 0], "/bin/sh")]
    );
}

#[test]
fn pythons_caches_are_one_finding() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/usr/bin/python3", evidence::ENTRYPOINT);
    for module in 0..5 {
        scene.write(SHELL, format!("/app/__pycache__/m{module}.pyc").as_bytes());
    }
    let lines = scene.lines();
    let found: Vec<&Item> = lines
        .iter()
        .filter(|item| matches!(item.body, Body::Finding(_)))
        .collect();
    let [
        Item {
            body: Body::Finding(finding),
            ..
        },
    ] = found[..]
    else {
        panic!("{:?}", told(&lines))
    };
    assert_eq!(
        finding.object.name.as_ref().map(format::Text::as_str),
        Some("**/__pycache__/*")
    );
    let first = finding.object.first.as_ref().map(format::Text::as_str);
    assert_eq!(first, Some("/app/__pycache__/m0.pyc"));
    assert!(finding.rule.hint.is_some());
}

#[test]
fn raw_events_are_kept_as_asked() {
    for (keep_events, expected) in [
        (KeepEvents::None, 0),
        (KeepEvents::Findings, 1),
        (KeepEvents::All, 4),
    ] {
        let mut scene = Scene::new("", keep_events);
        scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
        scene.read(SHELL, b"/x");
        scene.write(SHELL, b"/tmp/x");
        scene.write(SHELL, b"/tmp/x");
        let lines = scene.lines();
        let events = lines.iter().filter(|item| item.role == Role::Evidence).count();
        assert_eq!(events, expected, "{keep_events:?}");
        let mut paper = Paper::new();
        paper.write(lines);
        let cited: Vec<usize> = paper
            .findings()
            .iter()
            .map(|(_, finding)| finding.evidence.len())
            .collect();
        assert_eq!(cited, [usize::from(keep_events != KeepEvents::None)]);
    }
}

#[test]
fn findings_are_bounded_and_none_is_uncounted() {
    let mut scene = Scene::new("", KeepEvents::None);
    scene.exec(SHELL, b"/bin/sh", evidence::ENTRYPOINT);
    for number in 0..10_010 {
        scene.write(SHELL, format!("/tmp/{number}").as_bytes());
        scene.fold.drain().for_each(drop);
    }
    assert_eq!(
        (scene.fold.findings(), scene.fold.findings_not_kept_apart()),
        (10_000, 10)
    );
}
