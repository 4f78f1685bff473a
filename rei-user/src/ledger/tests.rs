//! From judged events to a log that verifies.

use rei_ebpf_common::evidence;
use rei_ebpf_common::file::{FMODE_READ, FMODE_WRITE, file_flag};
use tempfile::TempDir;

use super::*;
use crate::fold::KeepEvents;
use crate::fold::tests::{Scene, Who};
use crate::format::event::Event;
use crate::format::{Count, Hex, read_line};
use crate::keys::host::HostKeys;
use crate::log::facts::{Facts, Limits};
use crate::policy::{Policy, Source};
use crate::verify::{HostState, Report, Request, Verdict, verify};

const SHELL: Who = (10, 1);

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Place {
            folder: tempfile::tempdir().expect("a directory"),
        }
    }

    fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn ledger(&self, keep_events: KeepEvents, limits: Limits) -> Ledger {
        let (keys, _) = HostKeys::open_or_create(&self.keys(), "here/rei").expect("keys");
        let facts = Facts::of_this_process().expect("random bytes");
        let writer = Writer::create(&self.log(), keys, facts, limits, now()).expect("a log");
        let policy = Policy::parse("", Source::Shipped).expect("a policy").policy;
        let settings = Settings {
            policy: Hex(policy.sha256()),
            is_safe: true,
            keep_events,
        };
        let begin = fold::run_begin(&["sh".into()], "plain", &policy, keep_events, &[], &[]);
        Ledger::begin(writer, settings, &begin).expect("a log that can be written")
    }

    fn verified(&self) -> Report {
        let keys = self.keys();
        let request = Request {
            keys: HostState::Expected(&keys),
            ..Request::default()
        };
        verify(&self.log(), &request)
    }

    /// The bytes of the only segment, and the bodies of its lines.
    fn bodies(&self) -> (usize, Vec<Body>) {
        let file = self.log().join("seg-00000000000000000000.jsonl");
        let text = std::fs::read(file).expect("a segment");
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let bodies = lines.map(|line| read_line(&line[..line.len() - 1]).expect("a line").1);
        (text.len(), bodies.collect())
    }
}

fn end() -> RunEnd {
    RunEnd {
        command: None,
        exit_code: Count::new(0),
        judgement: "clean".to_owned(),
        completeness: "complete".to_owned(),
        reasons: Vec::new(),
        counts: Vec::new(),
        lost: Decimal(0),
        lost_of_others: Decimal(0),
        syscalls_without_sensor: Vec::new(),
        findings: Count::new(0),
        findings_not_kept_apart: Count::new(0),
    }
}

fn count(bodies: &[Body], kind: &str) -> usize {
    bodies.iter().filter(|body| body.kind() == kind).count()
}

#[test]
fn a_million_equal_opens_seal_into_a_few_lines() {
    let place = Place::new();
    let mut ledger = place.ledger(KeepEvents::Findings, Limits::default());
    let mut scene = Scene::new("", KeepEvents::None);
    ledger.event(&scene.executed(SHELL, b"/bin/sh", evidence::ENTRYPOINT));
    let opened = scene.opened(SHELL, b"/lib/libc.so", FMODE_READ, 0);
    for number in 0..1_000_000 {
        ledger.event(&opened);
        if number % 256 == 0 {
            ledger.settle();
        }
    }
    let closed = ledger.close(end()).expect("a written log").expect("a log");
    let report = place.verified();
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert_eq!(closed.newest.size, report.size);
    let log = report.log_id.expect("its id");
    assert_eq!(closed.origin(), format!("here/rei/{log}"));
    let (len_bytes, bodies) = place.bodies();
    assert!(len_bytes < 64 << 10, "{len_bytes}");
    let opens = bodies.iter().filter_map(|body| match body {
        Body::Fold(fold) => Some(&fold.objects),
        _ => None,
    });
    let opens: u64 = opens
        .flatten()
        .filter(|touched| touched.kind == "open")
        .map(|touched| touched.n.value())
        .sum();
    assert_eq!(opens, 1_000_000);
}

#[test]
fn a_finding_is_durable_at_the_next_pause_and_cites_its_event() {
    let place = Place::new();
    let mut ledger = place.ledger(KeepEvents::Findings, Limits::default());
    let mut scene = Scene::new("", KeepEvents::None);
    ledger.event(&scene.executed(SHELL, b"/bin/sh", evidence::ENTRYPOINT));
    ledger.event(&scene.opened(SHELL, b"/tmp/x", FMODE_WRITE, file_flag::OVERLAY_UPPER));
    assert_eq!(count(&place.bodies().1, "finding"), 0);
    ledger.settle();
    let (_, bodies) = place.bodies();
    let Some(Body::Seal(seal)) = bodies.last() else {
        panic!("{bodies:?}")
    };
    assert_eq!(seal.f.value(), format::seal_flag::URGENT);
    let finding = bodies.iter().find_map(|body| match body {
        Body::Finding(finding) => Some(finding),
        _ => None,
    });
    let [evidence] = finding.expect("a finding").evidence[..] else {
        panic!("{finding:?}")
    };
    assert!(matches!(bodies[evidence.value() as usize], Body::Event(_)));
    // While it is written it is no more than open.
    assert_eq!(place.verified().verdict, Verdict::Incomplete);
}

#[test]
fn a_log_of_raw_events_can_be_folded_again() {
    let place = Place::new();
    let mut ledger = place.ledger(KeepEvents::All, Limits::default());
    let mut scene = Scene::new("", KeepEvents::None);
    ledger.event(&scene.executed(SHELL, b"/bin/sh", evidence::ENTRYPOINT));
    for number in 0..500 {
        let path = format!("/tmp/{}", number % 7);
        let layer = if number % 2 == 0 {
            file_flag::OVERLAY_UPPER
        } else {
            0
        };
        ledger.event(&scene.opened(SHELL, path.as_bytes(), FMODE_READ | FMODE_WRITE, layer));
        ledger.settle();
    }
    ledger.close(end()).expect("a written log");
    assert_eq!(place.verified().verdict, Verdict::Ok);
    let (_, bodies) = place.bodies();
    let events: Vec<&Event> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::Event(event) => Some(event.as_ref()),
            _ => None,
        })
        .collect();
    assert_eq!(events.len(), 501);
    let policy = Policy::parse("", Source::Shipped).expect("a policy").policy;
    let mut again = Fold::new(Settings {
        policy: Hex(policy.sha256()),
        is_safe: true,
        keep_events: KeepEvents::None,
    });
    events.iter().for_each(|event| again.take_event(event));
    again.end(u64::MAX);
    let refolded: Vec<Body> = again.drain().map(|item| item.body).collect();
    assert_eq!(totals(&refolded), totals(&bodies));
    assert_eq!(count(&refolded, "lineage"), count(&bodies, "lineage"));
}

/// Everything but times: what each image touched how often, over all lines.
fn totals(bodies: &[Body]) -> std::collections::BTreeMap<String, u64> {
    let mut totals = std::collections::BTreeMap::new();
    for body in bodies {
        let Body::Fold(fold) = body else { continue };
        for touched in &fold.objects {
            let mut key = touched.clone();
            key.n = Count::new(0);
            (key.first, key.last) = (Decimal(0), Decimal(0));
            let key = format!("{} {key:?}", fold.node.value());
            *totals.entry(key).or_default() += touched.n.value();
        }
    }
    totals
}

#[test]
fn what_was_lost_stands_in_a_line_and_in_every_seal_after_it() {
    let place = Place::new();
    let mut ledger = place.ledger(KeepEvents::Findings, Limits::default());
    let loss = |count| Loss {
        cpu: Some(1),
        kind: None,
        cause: crate::attach::LossCause::RingFull,
        count,
    };
    ledger.losses(&[loss(3)]);
    ledger.losses(&[loss(3)]);
    ledger.losses(&[loss(5)]);
    ledger.close(end()).expect("a written log");
    let (_, bodies) = place.bodies();
    let lost: Vec<u64> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::Loss(loss) => Some(loss.n.0),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [3, 2]);
    let Some(Body::Seal(seal)) = bodies.last() else {
        panic!("no seal")
    };
    assert_eq!(seal.lost.0, 5);
    assert_eq!(place.verified().verdict, Verdict::Ok);
}

#[test]
fn a_log_that_fails_is_said_and_stays_failed() {
    let place = Place::new();
    // Every seal opens a new segment.
    let limits = Limits {
        roll_bytes: 1,
        ..Limits::default()
    };
    let mut ledger = place.ledger(KeepEvents::Findings, limits);
    assert!(ledger.failure().is_none() && ledger.pause().is_some());
    std::fs::remove_dir_all(place.log()).expect("a directory");
    let mut scene = Scene::new("", KeepEvents::None);
    ledger.event(&scene.executed(SHELL, b"/bin/sh", evidence::ENTRYPOINT));
    ledger.event(&scene.opened(SHELL, b"/tmp/x", FMODE_WRITE, file_flag::OVERLAY_UPPER));
    ledger.settle();
    let failure = ledger.failure().expect("a failure").to_string();
    assert!(failure.contains("log"), "{failure}");
    assert_eq!(ledger.pause(), None);
    ledger.event(&scene.opened(SHELL, b"/tmp/y", FMODE_READ, 0));
    ledger.settle();
    assert!(ledger.close(end()).is_err());
}

#[test]
fn without_a_log_everything_is_taken() {
    let mut ledger = Ledger::off();
    ledger.control("attach", None, "nothing");
    ledger.settle();
    assert!(ledger.pause().is_none() && ledger.failure().is_none());
    assert!(ledger.close(end()).is_ok_and(|closed| closed.is_none()));
}
