//! A body of each kind with every field, and some with few.

use super::super::event::{
    Act, Attempted, CgroupFacts, Contact, Event, Executed, FileFacts, Forked, Ground, KernelSequence, Moved,
    Named, Script, Trip, Verdict,
};
use super::super::*;

pub(super) const KINDS: [&str; 15] = [
    "head",
    "seal",
    "run",
    "container",
    "lineage",
    "fold",
    "finding",
    "event",
    "loss",
    "clock",
    "ctl",
    "decision",
    "undecodable",
    "anchor",
    "prune",
];

fn text(text: &str) -> String {
    text.to_owned()
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| text(word)).collect()
}

fn bytes(bytes: &[u8]) -> (Option<Text>, Option<Base64>) {
    split(bytes)
}

fn int(number: u64) -> Count {
    Count::new(number)
}

const PROCESS: ProcessKey = ProcessKey {
    pid: Count::ONE,
    start: Decimal(2),
};

fn words() -> Vec<Word> {
    vec![Word::new(b"sh"), Word::new(b"\xff")]
}

fn shortened() -> Vec<Shortened> {
    vec![Shortened {
        field: text("path"),
        len: int(70_000),
        sha256: Hex([7; 32]),
    }]
}

fn head() -> Body {
    Body::Head(Box::new(Head {
        log: Hex([1; 16]),
        origin: text("node/rei"),
        vk: Hex([2; 32]),
        nvk: Hex([3; 32]),
        ks: Hex([4; 64]),
        prev: Previous {
            seg: Some(int(0)),
            state: PreviousState::Crash,
            last_seq: Some(int(9)),
            last_e: Some(int(1)),
            tail: Some(int(5)),
            tail_sha256: Some(Hex([5; 32])),
            head: Some(FoundToken {
                b: text("{}"),
                tag: text("00"),
            }),
        },
        birth: Some(Birth {
            series: Hex([6; 16]),
            i: int(3),
            vk0: Hex([7; 32]),
            hk: Hex([8; 32]),
            hs: Hex([9; 64]),
        }),
        fmt: Some(text(FORMAT)),
        host: Some(Host {
            machine_id: text("m"),
            boot_id: text("b"),
            hostname: text("h"),
            kernel: text("6.18"),
        }),
        writer: Some(Writer {
            version: text("0.1.0"),
            pid: int(1),
            nonce: Hex([1; 16]),
        }),
        params: Some(Params {
            batch: int(256),
            delay_ms: int(250),
            idle_s: int(60),
            roll_bytes: int(1),
            roll_s: int(1),
        }),
        clock: Some(Clocks {
            wall: Decimal(1),
            boot: Decimal(2),
        }),
    }))
}

fn runs() -> [Body; 2] {
    let begin = RunBegin {
        command: words(),
        target: text("docker"),
        policy: PolicyFacts {
            name: text("ambient-only"),
            source: text("shipped"),
            sha256: Hex([1; 32]),
            mode: text("safe"),
            fail_on: text("tripped"),
            extensions: texts(&["--allow-read=/in/**"]),
            resolved: vec![ResolvedName {
                name: text("example.org"),
                addresses: texts(&["192.0.2.1"]),
            }],
        },
        keep_events: text("findings"),
        sensors: vec![SensorFacts {
            name: text("exec"),
            live: false,
            reason: Some(text("no BTF")),
        }],
        never_covered: texts(&["timing"]),
        programs: vec![program()],
    };
    let end = RunEnd {
        command: Some(Ending::Code(0)),
        exit_code: int(0),
        judgement: text("clean"),
        completeness: text("incomplete"),
        reasons: vec![ReasonFacts {
            kind: text("lost"),
            text: text("1 lost"),
            count: Some(int(1)),
            next_step: text("a larger ring"),
        }],
        counts: vec![KindCount {
            kind: text("open"),
            n: int(5),
        }],
        lost: Decimal(1),
        lost_of_others: Decimal(0),
        syscalls_without_sensor: texts(&["io_uring_setup"]),
        findings: int(0),
        findings_not_kept_apart: int(0),
    };
    [
        Body::Run(Run::Begin(Box::new(begin))),
        Body::Run(Run::End(Box::new(end))),
    ]
}

fn program() -> DeclaredProgram {
    let (name, name_b64) = bytes(b"/usr/bin/python3");
    let (path, path_b64) = bytes(b"/usr/bin/python3.11");
    DeclaredProgram {
        rule: text("python"),
        declared: text("python3"),
        name,
        name_b64,
        path,
        path_b64,
        read_from: text("image"),
        sha256: Some(Hex([3; 32])),
        fault: Some(text("another file")),
    }
}

fn container() -> Body {
    let (cgroup_path, cgroup_path_b64) = bytes(b"/docker/ab");
    Body::Container(Box::new(Container {
        scope: Decimal(7),
        id: Some(text("ab")),
        name: Some(text("web")),
        image: Some(text("nginx")),
        image_id: Some(text("sha256:1")),
        labels: vec![Label {
            name: text("a"),
            value: text("b"),
        }],
        argv: texts(&["sh"]),
        mounts: vec![MountFacts {
            kind: text("bind"),
            source: Some(text("/src")),
            destination: text("/dst"),
            read_only: true,
        }],
        cgroup_path,
        cgroup_path_b64,
        learned: Learned {
            facts: text("engine"),
            cgroup: text("kernel"),
        },
        programs: vec![program()],
    }))
}

fn lineage() -> [Body; 2] {
    let (program, program_b64) = bytes(b"/bin/\xff");
    let (script, script_b64) = bytes(b"/run.sh");
    let whole = Lineage {
        node: int(1),
        parent: Some(int(0)),
        how: text("exec"),
        process: PROCESS,
        scope: Decimal(7),
        phase: text("workload"),
        uid: int(0),
        gid: int(0),
        begin: Decimal(9),
        program,
        program_b64,
        origin: Some(text("image")),
        script,
        script_b64,
        chain: Some(text("entrypoint")),
        argv: words(),
        env_names: words(),
        confidence: text("kernel_object"),
        missing: texts(&["argv"]),
        shortened: shortened(),
    };
    let bare = Lineage {
        parent: None,
        program_b64: None,
        origin: None,
        script: None,
        chain: None,
        argv: Vec::new(),
        shortened: Vec::new(),
        ..whole.clone()
    };
    [Body::Lineage(Box::new(whole)), Body::Lineage(Box::new(bare))]
}

fn folds() -> Vec<Body> {
    let (object, object_b64) = bytes(b"/etc/passwd");
    let touched = Touched {
        kind: text("open"),
        object,
        object_b64,
        access: texts(&["read"]),
        origin: Some(text("image")),
        outcome: text("ok"),
        confidence: text("kernel_object"),
        decision: text("allowed"),
        by: texts(&["bundled"]),
        n: int(1_000_000),
        first: Decimal(1),
        last: Decimal(2),
        shortened: shortened(),
    };
    let endings = [
        None,
        Some(NodeEnding::Exec),
        Some(NodeEnding::Exit(Ending::Code(0))),
        Some(NodeEnding::Exit(Ending::Signal(9))),
        Some(NodeEnding::Recording),
        Some(NodeEnding::Forgotten),
    ];
    let fold = |how: Option<NodeEnding>| Fold {
        node: int(1),
        objects: vec![touched.clone(); usize::from(how.is_none())],
        end: how.map(|how| NodeEnd { at: Decimal(3), how }),
    };
    endings.map(|how| Body::Fold(fold(how))).to_vec()
}

fn finding() -> Body {
    let (program, program_b64) = bytes(b"/bin/sh");
    let (name, name_b64) = bytes(b"**/__pycache__/*");
    let (first, first_b64) = bytes(b"/a/__pycache__/\xff");
    Body::Finding(Box::new(Finding {
        rule: RuleFacts {
            id: text("I1"),
            by: text("tripwire"),
            sha256: Hex([1; 32]),
            why: text("not declared"),
            hint: Some(text("declare it")),
        },
        sev: text("tripped"),
        conf: text("kernel_object"),
        container: Decimal(7),
        subject: Subject {
            node: int(1),
            process: PROCESS,
            program,
            program_b64,
            ancestors: vec![int(0)],
        },
        object: ObjectFacts {
            kind: text("open"),
            name,
            name_b64,
            first,
            first_b64,
            access: texts(&["write"]),
            origin: Some(text("upper")),
            outcome: text("ok"),
            shortened: shortened(),
        },
        n: int(1),
        first: Decimal(1),
        last: Decimal(1),
        evidence: vec![int(12)],
        of: Some(int(13)),
        action: text("recorded"),
    }))
}

fn named() -> Named {
    let (path, path_b64) = bytes(b"/a");
    let (requested, requested_b64) = bytes(b"../a");
    let (requested_entry, requested_entry_b64) = bytes(b"../b");
    Named {
        path,
        path_b64,
        access: texts(&["read"]),
        requested,
        requested_b64,
        requested_entry,
        requested_entry_b64,
        lexical: true,
    }
}

fn acts() -> Vec<Act> {
    let (address, address_b64) = bytes(b"127.0.0.1:80");
    let (script, script_b64) = bytes(b"/run.sh");
    let (interpreter, interpreter_b64) = bytes(b"/bin/sh");
    let (cgroup, cgroup_b64) = bytes(b"/docker/ab");
    vec![
        Act::Open(named()),
        Act::Contact(Contact {
            family: text("inet"),
            socket_type: Some(text("stream")),
            protocol: Some(text("tcp")),
            address,
            address_b64,
            source: Some(text("syn_sent")),
        }),
        Act::Exec(Box::new(Executed {
            name: named(),
            argv: words(),
            argc: int(2),
            env_names: words(),
            script: Some(Script {
                path: script,
                path_b64: script_b64,
                confidence: text("kernel_text"),
                interpreter,
                interpreter_b64,
            }),
            chain: Some(text("entrypoint")),
            parent: PROCESS,
            euid: int(0),
            egid: int(0),
            mnt_ns: Decimal(1),
            pid_ns: Decimal(2),
        })),
        Act::ExecAttempt(Attempted {
            name: named(),
            check: false,
        }),
        Act::Fork(Forked {
            child: PROCESS,
            child_ns_pid: int(2),
            child_cgroup: Decimal(7),
        }),
        Act::Exit(Ending::Signal(9)),
        Act::Cgroup(CgroupFacts {
            path: cgroup,
            path_b64: cgroup_b64,
            id: Decimal(1),
            parent: Decimal(2),
            new_scope: true,
        }),
        Act::Moved(Moved {
            what: Some(text("left")),
            to_cgroup: Decimal(1),
            mover_pid: int(1),
        }),
    ]
}

/// An event with every field.
pub(super) fn event(act: Act) -> Event {
    let (comm, comm_b64) = bytes(b"sh");
    let (program, program_b64) = bytes(b"/bin/sh");
    Event {
        kind: text("open"),
        kseq: KernelSequence {
            cpu: int(1),
            stream: int(0),
            n: Decimal(7),
        },
        at: Decimal(1),
        scope: Decimal(u64::MAX),
        cgroup: Decimal(2),
        process: PROCESS,
        tid: int(3),
        ns_pid: int(1),
        uid: int(0),
        gid: int(0),
        comm,
        comm_b64,
        program,
        program_b64,
        phase: text("workload"),
        hook: text("sys_exit"),
        confidence: text("kernel_object"),
        outcome: text("ok"),
        flags: texts(&["left_scope"]),
        cut: texts(&["path"]),
        unreadable: texts(&["argv"]),
        act,
        file: Some(FileFacts {
            origin: text("image"),
            fs: text("overlay"),
            dev: text("0:1"),
            ino: Decimal(u64::MAX),
            mode: text("100644"),
            rdev: Some(text("1:3")),
            overlay: Some(text("lower")),
            flags: texts(&["deleted"]),
        }),
        verdict: Some(Verdict {
            trips: vec![Trip {
                wire: text("I1"),
                why: text("not declared"),
                attempted: Some(text("EACCES")),
                hint: Some(text("declare it")),
            }],
            ground: Some(Ground {
                kind: text("ambient"),
                name: Some(text("bundled")),
            }),
            decision: Some(text("caution")),
            rule: Some(text("container-privileged")),
            note: Some(text("a note")),
            severity: Some(text("tripped")),
        }),
        shortened: shortened(),
    }
}

fn others() -> Vec<Body> {
    vec![
        Body::Seal(Seal {
            e: int(0),
            n: int(1),
            f: int(seal_flag::URGENT),
            r: Hex([1; 32]),
            lost: Decimal(0),
            tag: Hex([2; 32]),
        }),
        Body::Loss(Loss {
            why: text("ring_full"),
            kind: Some(text("open")),
            n: Decimal(3),
            cpu: Some(int(1)),
            from: Decimal(1),
            to: Decimal(2),
        }),
        Body::Clock(Clock {
            old: Decimal(1),
            new: Decimal(2),
            source: text("timerfd"),
        }),
        Body::Control(Control {
            what: text("attach"),
            scope: Some(Decimal(7)),
            text: text("attached"),
        }),
        Body::Decision(Decision {
            tool: text("read_file"),
            args: text("{}"),
            approved: true,
            hazard_level: text("safe"),
            rule_name: text("allow-read-only"),
            note: Some(text("a note")),
            policy_sha256: Some(Hex([1; 32])),
        }),
        Body::Undecodable(Undecodable {
            why: text("too short"),
            bytes_b64: Raw(vec![1, 2]),
        }),
        Body::Anchor(Anchor {
            size: int(4),
            root: Hex([1; 32]),
            sink: text("file"),
            receipt: text("r"),
            ok: true,
        }),
        Body::Prune(Prune {
            upto_seg: int(0),
            size: int(4),
            last_h: Hex([1; 32]),
            frontier: vec![Hex([2; 32])],
            why: text("retention"),
        }),
    ]
}

pub(super) fn all() -> Vec<Body> {
    let mut all = vec![head(), container(), finding()];
    all.extend(runs());
    all.extend(lineage());
    all.extend(folds());
    all.extend(others());
    all.extend(acts().into_iter().map(|act| Body::Event(Box::new(event(act)))));
    all
}
