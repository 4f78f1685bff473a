//! Scripted events in, verdicts out.

use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::ExecBody;
use rei_ebpf_common::file::{FMODE_READ, FMODE_WRITE, FileFacts, file_flag};
use rei_ebpf_common::header::{EventKind, missing};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::process::ForkBody;

use super::*;
use crate::decode::{Body, record};
use crate::enrich::{Enricher, Target};
use crate::policy::Source;
use crate::tripwire::Ground;

const OVERLAY: u64 = 0x794c_7630;

struct Scene {
    enricher: Enricher,
    judge: Judge,
}

impl Scene {
    fn new(policy: &str) -> Self {
        let policy = Policy::parse(policy, Source::Shipped).unwrap().policy;
        let facts = ContainerFacts {
            id: "0123456789abcdef".repeat(4),
            workdir: Some("/job".to_owned()),
            ..ContainerFacts::default()
        };
        let mut enricher = Enricher::new(Target::Container);
        enricher.container_known(7, facts.clone());
        let mut judge = Judge::new(Arc::new(policy), Bindings::default()).unwrap();
        judge.container_known(7, &facts, Vec::new(), true);
        Scene { enricher, judge }
    }

    fn take(&mut self, phase: Phase, body: &Body, parts: &[(PartTag, &[u8])], more: u32) -> Judged {
        let mut header = record::header(match body {
            Body::Open(_) => EventKind::Open,
            Body::Exec(_) => EventKind::Exec,
            Body::Fork(_) => EventKind::Fork,
            _ => EventKind::Connect,
        });
        header.phase = phase as u8;
        header.missing = more;
        self.judge
            .take(self.enricher.take(record::event(&header, body, parts)))
    }

    fn open(&mut self, phase: Phase, path: &[u8], f_mode: u32, upper: u32, mode: u32) -> Judged {
        let components = record::components(path);
        let file = FileFacts {
            magic: OVERLAY,
            dev: 50,
            mode,
            f_mode,
            flags: file_flag::PRESENT | file_flag::OVERLAY_KNOWN | upper,
            mount_components: path
                .split(|byte| *byte == b'/')
                .filter(|name| !name.is_empty())
                .count() as u32,
            ..FileFacts::default()
        };
        let body = Body::Open(OpenBody {
            file,
            ret: 3,
            ..OpenBody::default()
        });
        self.take(phase, &body, &[(PartTag::Path, &components)], 0)
    }

    fn read(&mut self, path: &[u8]) -> Judged {
        self.open(Phase::Workload, path, FMODE_READ, 0, 0o100_644)
    }

    fn write(&mut self, path: &[u8]) -> Judged {
        self.open(
            Phase::Workload,
            path,
            FMODE_WRITE,
            file_flag::OVERLAY_UPPER,
            0o100_644,
        )
    }

    fn exec(&mut self, path: &[u8], evidence_bits: u32, more: u32) -> Judged {
        let components = record::components(path);
        let body = Body::Exec(ExecBody {
            file: FileFacts {
                magic: OVERLAY,
                dev: 50,
                mode: 0o100_755,
                flags: file_flag::PRESENT | file_flag::OVERLAY_KNOWN,
                mount_components: 2,
                ..FileFacts::default()
            },
            evidence: evidence_bits,
            ..ExecBody::default()
        });
        let parts: [(PartTag, &[u8]); 3] = [
            (PartTag::Path, &components),
            (PartTag::Filename, path),
            (PartTag::EnvNames, b"PATH\0SECRET\0"),
        ];
        self.take(Phase::Workload, &body, &parts, more)
    }
}

fn severity_of(judged: &Judged) -> Option<Severity> {
    judged.verdict().unwrap().severity
}

#[test]
fn a_small_run_under_ambient_only() {
    let mut scene = Scene::new("");
    let entry = scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
    assert_eq!(entry.verdict().unwrap().answer.ground, Some(Ground::Chain));
    assert_eq!(severity_of(&scene.read(b"/lib/libc.so")), None);
    assert_eq!(severity_of(&scene.write(b"/tmp/x")), Some(Severity::Tripped));
    assert_eq!(
        severity_of(&scene.exec(b"/bin/sh", 0, 0)),
        Some(Severity::Tripped)
    );
    let tcp = Body::Connect(ConnectBody {
        port: 80,
        family: 2,
        socket_type: 1,
        protocol: 6,
        source: address_source::SYN_SENT,
        ..ConnectBody::default()
    });
    let contact = scene.take(Phase::Workload, &tcp, &[], 0);
    assert_eq!(contact.verdict().unwrap().answer.trips[0].wire.name(), "I2");
}

#[test]
fn directories_of_the_image_stay_bundled_after_a_write() {
    let mut scene = Scene::new("");
    let list = |scene: &mut Scene, path: &[u8]| {
        severity_of(&scene.open(
            Phase::Workload,
            path,
            FMODE_READ,
            file_flag::OVERLAY_UPPER,
            0o040_755,
        ))
    };
    // The first file of the root mount settles which device the image is on.
    scene.read(b"/usr/lib/x");
    assert_eq!(list(&mut scene, b"/usr"), None);
    assert_eq!(list(&mut scene, b"/made"), Some(Severity::Tripped));
    // What is known later counts later.
    scene.read(b"/made/after/all");
    assert_eq!(list(&mut scene, b"/made"), None);
}

#[test]
fn only_the_workload_is_judged() {
    let mut scene = Scene::new("");
    for phase in [Phase::Runtime, Phase::Operator, Phase::Outside] {
        let judged = scene.open(phase, b"/tmp/x", FMODE_WRITE, file_flag::OVERLAY_UPPER, 0o100_644);
        assert!(judged.verdict().is_none(), "{phase:?}");
    }
    let mut scene = Scene::new("exec_is_workload = true");
    let judged = scene.open(
        Phase::Operator,
        b"/tmp/x",
        FMODE_WRITE,
        file_flag::OVERLAY_UPPER,
        0o100_644,
    );
    assert_eq!(severity_of(&judged), Some(Severity::Tripped));
}

#[test]
fn unsafe_mode_records_and_does_not_judge() {
    let mut scene = Scene::new("mode = \"unsafe\"");
    let judged = scene.write(b"/tmp/x");
    assert_eq!(
        (judged.verdict().unwrap().answer.trips.len(), severity_of(&judged)),
        (1, None)
    );
}

#[test]
fn the_entrypoint_and_the_working_directory_have_values() {
    let mut scene = Scene::new("inputs = [\"${entrypoint}\"]\noutputs = [\"${workdir}/**\"]");
    assert_eq!(severity_of(&scene.write(b"/job/x")), None);
    assert_eq!(severity_of(&scene.write(b"/bin/app")), Some(Severity::Tripped));
    scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
    let upper = scene.open(
        Phase::Workload,
        b"/bin/app",
        FMODE_READ,
        file_flag::OVERLAY_UPPER,
        0o100_755,
    );
    assert_eq!(severity_of(&upper), None);
    assert_eq!(severity_of(&scene.write(b"/job/x")), None);
}

#[test]
fn gate_rules_know_the_entrypoint_and_the_working_directory() {
    let rule = |name: &str, path: &str| {
        format!(
            "[[gate.rule]]\nname = \"{name}\"\non = \"write_file\"\nargs.path = {path}\ndecision = \"block\"\n"
        )
    };
    let text = rule("git", "{ glob = \"${workdir}/.git/**\" }") + &rule("self", "\"${entrypoint}\"");
    let mut scene = Scene::new(&format!("outputs = [\"/**\"]\n{text}"));
    let blocked = |judged: &Judged| {
        let verdict = judged.verdict().unwrap();
        verdict.objection().map(|decision| decision.rule_name.to_string())
    };
    assert_eq!(blocked(&scene.write(b"/job/.git/config")).as_deref(), Some("git"));
    // Which file the entrypoint is is not known yet.
    let before = scene.write(b"/bin/app");
    assert_eq!(blocked(&before), None);
    assert!(before.verdict().unwrap().answer.lacks.is_some());
    scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
    assert_eq!(blocked(&scene.write(b"/bin/app")).as_deref(), Some("self"));
    let other = scene.write(b"/bin/other");
    assert_eq!(
        (blocked(&other), other.verdict().unwrap().answer.lacks),
        (None, None)
    );
}

#[test]
fn names_are_asked_for_only_where_a_rule_needs_them() {
    let lacks = |policy: &str, more| {
        let mut scene = Scene::new(policy);
        let judged = scene.exec(b"/bin/app", evidence::ENTRYPOINT, more);
        judged.verdict().unwrap().answer.lacks
    };
    assert_eq!(lacks("", missing::ENV_CUT), None);
    assert_eq!(lacks("env = [\"*\"]", missing::ENV_CUT), Some("env_names"));
    assert_eq!(lacks("env = [\"*\"]", 0), None);
    let mut scene = Scene::new("env = [\"PATH\"]");
    let judged = scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
    assert!(judged.verdict().unwrap().answer.trips[0].why.contains("SECRET"));
}

#[test]
fn the_memo_answers_what_the_policy_answers() {
    let mut scene = Scene::new("inputs = [\"/in/**\"]");
    let ask = |scene: &mut Scene| {
        [
            scene.read(b"/lib/x"),
            scene.write(b"/in/x"),
            scene.write(b"/tmp/x"),
            scene.open(
                Phase::Workload,
                b"/in/x",
                FMODE_READ,
                file_flag::OVERLAY_UPPER,
                0o100_644,
            ),
        ]
        .map(|judged| judged.verdict().unwrap().clone())
    };
    let first = ask(&mut scene);
    assert_eq!(first, ask(&mut scene));
    assert_eq!(
        first.map(|verdict| verdict.severity.is_some()),
        [false, true, true, false]
    );
}

#[test]
fn a_finding_knows_its_ancestors() {
    let mut scene = Scene::new("");
    scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
    let fork = Body::Fork(ForkBody {
        child_pid: 200,
        child_start_ns: 2_000,
        ..ForkBody::default()
    });
    scene.take(Phase::Workload, &fork, &[], 0);
    let ancestors = scene.judge.ancestry.of(200, 2_000);
    assert_eq!((ancestors.len(), ancestors[0].pid), (1, 100));
    assert_eq!(ancestors[0].program.as_deref(), Some(&b"/bin/app"[..]));
}

#[test]
fn the_gate_is_asked_whatever_is_declared() {
    let device = |policy: &str, mode: u32, rdev: u32, f_mode: u32| {
        let mut scene = Scene::new(policy);
        let components = record::components(b"/dev/disk");
        let body = Body::Open(OpenBody {
            file: FileFacts {
                magic: 0x0102_1994,
                mode,
                rdev,
                f_mode,
                flags: file_flag::PRESENT,
                mount_components: 1,
                ..FileFacts::default()
            },
            ret: 3,
            ..OpenBody::default()
        });
        let judged = scene.take(Phase::Workload, &body, &[(PartTag::Path, &components)], 0);
        let verdict = judged.verdict().unwrap().clone();
        let rule = verdict.objection().map(|decision| decision.rule_name.to_string());
        (verdict.severity, rule)
    };
    let (block, disk) = (0o060_660, 8 << 20);
    let declared = "outputs = [\"/dev/**\"]";
    let destructive = Some("container-destructive".to_owned());
    assert_eq!(
        device(declared, block, disk, FMODE_WRITE),
        (Some(Severity::Blocked), destructive)
    );
    let privileged = Some("container-privileged".to_owned());
    assert_eq!(
        device(declared, block, disk, FMODE_READ),
        (Some(Severity::Caution), privileged)
    );
    let excepted = "[[gate.rule]]\nname = \"disk\"\non = \"write_device\"\nargs.device = \"block 8:0\"\ndecision = \"allow\"";
    assert_eq!(
        device(&format!("{declared}\n{excepted}"), block, disk, FMODE_WRITE),
        (None, None)
    );
    assert_eq!(
        device("mode = \"unsafe\"", block, disk, FMODE_WRITE).0,
        Some(Severity::Blocked)
    );
}

#[test]
fn programs_named_like_harmless_tools_gain_nothing() {
    for name in [
        &b"/bin/read_x"[..],
        b"/bin/log_x",
        b"/bin/puzzle_x",
        b"/bin/disk_health_verdict",
    ] {
        let mut scene = Scene::new("");
        scene.exec(b"/bin/app", evidence::ENTRYPOINT, 0);
        assert_eq!(
            severity_of(&scene.exec(name, 0, 0)),
            Some(Severity::Tripped),
            "{name:?}"
        );
    }
}

#[test]
fn the_engines_socket_is_told_by_its_inode() {
    let mut scene = Scene::new("network = [\"unix:/run/**\"]");
    scene.judge.sockets = vec![KnownSocket {
        dev: 50,
        ino: 99,
        owner: "container-engine",
    }];
    let contact = |scene: &mut Scene, ino| {
        let body = Body::Connect(ConnectBody {
            unix_peer: FileFacts {
                dev: 50,
                ino,
                flags: file_flag::PRESENT,
                ..FileFacts::default()
            },
            family: 1,
            socket_type: 1,
            source: address_source::SOCKET,
            ..ConnectBody::default()
        });
        let components = record::components(b"/run/harmless.sock");
        severity_of(&scene.take(Phase::Workload, &body, &[(PartTag::Path, &components)], 0))
    };
    assert_eq!(contact(&mut scene, 98), None);
    assert_eq!(contact(&mut scene, 99), Some(Severity::Blocked));
}
