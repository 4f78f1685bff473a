//! Whole runs by hand: events in, lines and summary out.

use std::collections::BTreeSet;
use std::sync::mpsc;

use bytes::Bytes;
use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::{FMODE_READ, FMODE_WRITE, FileFacts, file_flag};
use rei_ebpf_common::header::{Phase, missing, task_flag};
use rei_ebpf_common::hooks::Sensor;
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::process::{ExitBody, ForkBody};
use rei_ebpf_common::scope::{CgroupBody, TaskMovedBody, moved};
use serde_json::{Value, json};

use super::*;
use crate::coverage::Entry;
use crate::decode::{Body, decode, record};
use crate::enrich::{Enricher, Target};
use crate::judge::Judge;
use crate::quote::{shows_as_itself, width};
use crate::tripwire::Bindings;

const OVERLAY: u64 = 0x794c_7630;

fn policy(text: &str) -> Arc<Policy> {
    Arc::new(Policy::parse(text, Source::Shipped).unwrap().policy)
}

/// Where the lines go: a channel, because the report owns its writer.
struct Lines(mpsc::Sender<Vec<u8>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Run {
    report: Report,
    enricher: Enricher,
    judge: Judge,
    lines: mpsc::Receiver<Vec<u8>>,
}

impl Run {
    fn new() -> Self {
        let (sender, lines) = mpsc::channel();
        let policy = policy("");
        let mut report = Report::new(Some(Box::new(Lines(sender))), Arc::clone(&policy));
        let sensors = vec![
            SensorState {
                sensor: Sensor::Scope,
                gap: None,
            },
            SensorState {
                sensor: Sensor::SocketState,
                gap: Some("not allowed".to_owned()),
            },
        ];
        let command = ["docker", "run", "--rm", "demo"].map(OsString::from).to_vec();
        report
            .begin(&RunStart {
                command,
                target: "docker",
                sensors,
            })
            .unwrap();
        let facts = ContainerFacts {
            id: "0123456789abcdef".repeat(4),
            name: Some("web".to_owned()),
            image: Some("demo:1".to_owned()),
            ..ContainerFacts::default()
        };
        report.container(7, &facts, "/docker/0123", "engine").unwrap();
        let mut enricher = Enricher::new(Target::Container);
        enricher.container_known(7, facts);
        Run {
            report,
            enricher,
            judge: Judge::new(policy, Bindings::default()).unwrap(),
            lines,
        }
    }

    fn take(
        &mut self,
        header: &rei_ebpf_common::header::EventHeader,
        body: &Body,
        parts: &[(PartTag, &[u8])],
    ) {
        let enriched = self.enricher.take(record::event(header, body, parts));
        let judged = self.judge.take(enriched);
        self.report.event(&judged).unwrap();
    }

    fn event(&mut self, body: &Body, parts: &[(PartTag, &[u8])]) {
        let header = record::header(kind_of(body));
        self.take(&header, body, parts);
    }

    /// Ends the run; the summary and every line.
    fn end(self, end: End) -> (Summary, Vec<Value>) {
        let summary = self.report.finish(end).unwrap();
        let bytes: Vec<u8> = self.lines.iter().flatten().collect();
        let text = String::from_utf8(bytes).unwrap();
        (
            summary,
            text.lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
        )
    }
}

fn kind_of(body: &Body) -> EventKind {
    match body {
        Body::Open(_) => EventKind::Open,
        Body::Connect(_) => EventKind::Connect,
        Body::Send(_) => EventKind::Send,
        Body::Exec(_) => EventKind::Exec,
        Body::ExecAttempt(_) => EventKind::ExecAttempt,
        Body::Fork(_) => EventKind::Fork,
        Body::Exit(_) => EventKind::Exit,
        Body::CgroupMade(_) => EventKind::CgroupMade,
        Body::CgroupRemoved(_) => EventKind::CgroupRemoved,
        Body::TaskMoved(_) => EventKind::TaskMoved,
    }
}

fn ended() -> End {
    End {
        command: Some(CommandExit::Code(0)),
        exit_codes: ExitCodes {
            findings: 101,
            complete: 0,
            incomplete: 103,
        },
        gaps: Vec::new(),
        sequence: Sequence::new(),
    }
}

fn overlay(f_mode: u32, mount_components: u32, more: u32) -> FileFacts {
    let flags = file_flag::PRESENT | file_flag::OVERLAY_KNOWN | more;
    FileFacts {
        ino: 9,
        magic: OVERLAY,
        dev: 50,
        mode: 0o100_644,
        f_mode,
        flags,
        mount_components,
        ..FileFacts::default()
    }
}

fn opened(path: &[u8], f_mode: u32) -> (Body, Vec<u8>) {
    let depth = path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .count();
    let file = overlay(f_mode, u32::try_from(depth).unwrap(), 0);
    (
        Body::Open(OpenBody {
            file,
            ret: 3,
            ..OpenBody::default()
        }),
        record::components(path),
    )
}

fn failed(ret: i64) -> Body {
    Body::Open(OpenBody {
        ret,
        syscall: 257,
        ..OpenBody::default()
    })
}

fn tcp(ret: i64) -> ConnectBody {
    let mut address = [0; 16];
    address[..4].copy_from_slice(&[127, 0, 0, 1]);
    ConnectBody {
        ret,
        address,
        port: 80,
        family: 2,
        socket_type: 1,
        protocol: 6,
        source: address_source::SYN_SENT,
        syscall: 42,
        ..ConnectBody::default()
    }
}

/// One event of every kind, with every field that can be there.
fn everything(run: &mut Run) {
    let exec = ExecBody {
        file: overlay(0, 2, 0),
        argc: 2,
        evidence: evidence::ENTRYPOINT | evidence::SCRIPT,
        ..ExecBody::default()
    };
    let parts: [(PartTag, &[u8]); 5] = [
        (PartTag::Path, b"sh\0bin\0"),
        (PartTag::Filename, b"/entry\xff"),
        (PartTag::Interp, b"/bin/sh"),
        (PartTag::Argv, b"/bin/sh\0/entry\xff\0"),
        (PartTag::EnvNames, b"PATH\0HOME\0"),
    ];
    run.event(&Body::Exec(exec), &parts);
    let mut header = record::header(EventKind::Open);
    header.task_flags = task_flag::PRESENT_AT_ATTACH | task_flag::LEFT_SCOPE;
    header.missing = missing::TEXT_ENTRY;
    let marks = file_flag::DELETED | file_flag::DETACHED | file_flag::FOREIGN_NS;
    let device = FileFacts {
        mode: 0o020_666,
        rdev: 1 << 20 | 3,
        ..overlay(FMODE_READ, 2, marks)
    };
    let body = Body::Open(OpenBody {
        file: device,
        ret: 3,
        ..OpenBody::default()
    });
    run.take(
        &header,
        &body,
        &[(PartTag::Path, b"null\0dev\0"), (PartTag::TextExit, b"null")],
    );
    let nameless = FileFacts {
        flags: file_flag::PRESENT | file_flag::DISCONNECTED,
        ..FileFacts::default()
    };
    let body = Body::Open(OpenBody {
        file: nameless,
        ret: 3,
        ..OpenBody::default()
    });
    run.event(&body, &[(PartTag::Path, b"memfd:x\0")]);
    let texts: [(PartTag, &[u8]); 3] = [
        (PartTag::TextEntry, b"a"),
        (PartTag::TextExit, b"b"),
        (PartTag::Base, b"work\0"),
    ];
    run.event(&failed(-13), &texts);
    run.event(&Body::Connect(tcp(-111)), &[]);
    run.event(
        &Body::Send(ConnectBody {
            source: address_source::CGROUP_HOOK,
            syscall: 0,
            ..tcp(0)
        }),
        &[],
    );
    let check = ExecAttemptBody {
        evidence: evidence::EXEC_CHECK,
        ..ExecAttemptBody::default()
    };
    run.event(&Body::ExecAttempt(check), &texts[1..]);
    run.event(
        &Body::Fork(ForkBody {
            child_pid: 200,
            ..ForkBody::default()
        }),
        &[],
    );
    run.event(
        &Body::Exit(ExitBody {
            status: 3 << 8,
            reserved: 0,
        }),
        &[],
    );
    run.event(
        &Body::Exit(ExitBody {
            status: 0x89,
            reserved: 0,
        }),
        &[],
    );
    let cgroup = CgroupBody {
        cgroup: 8,
        parent: 7,
        ..CgroupBody::default()
    };
    run.event(&Body::CgroupMade(cgroup), &[(PartTag::CgroupPath, b"/docker/x")]);
    run.event(
        &Body::CgroupRemoved(cgroup),
        &[(PartTag::CgroupPath, b"/docker/x")],
    );
    run.event(
        &Body::TaskMoved(TaskMovedBody {
            to_cgroup: 1,
            mover_pid: 2,
            what: moved::LEFT,
        }),
        &[],
    );
    let mut header = record::header(EventKind::Open);
    header.missing = missing::PATH_CUT;
    let (body, path) = opened(b"/deep", FMODE_READ);
    run.take(&header, &body, &[(PartTag::Path, &path)]);
    let losses = [Loss {
        cpu: 1,
        kind: Some(EventKind::Open),
        cause: LossCause::RingFull,
        count: 4,
    }];
    run.report.losses(&losses).unwrap();
    run.report
        .undecodable(&decode(&Bytes::from_static(b"xx")).unwrap_err())
        .unwrap();
}

fn gap(route: Route, syscall: &'static str) -> RouteGap {
    RouteGap {
        route,
        syscall,
        entry: Entry::Native,
        sensor: None,
    }
}

/// Every key of a value, those of nested objects included.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                into.insert(key.clone());
                keys(inner, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let mut run = Run::new();
    everything(&mut run);
    let (_, lines) = run.end(End {
        gaps: vec![gap(Route::PathChange, "unlink")],
        ..ended()
    });
    let document = include_str!("../../../docs/events.md");
    let mut all = BTreeSet::new();
    lines.iter().for_each(|line| keys(line, &mut all));
    let words: BTreeSet<&str> = document
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let undocumented: Vec<&String> = all
        .iter()
        .filter(|key| !words.contains(key.trim_end_matches("_b64")))
        .collect();
    assert!(
        undocumented.is_empty(),
        "docs/events.md does not know {undocumented:?}"
    );
    assert!(all.len() > 80, "the test no longer provokes every field: {all:?}");
}

#[test]
fn lines_come_in_order_and_say_what_happened() {
    let mut run = Run::new();
    everything(&mut run);
    let (_, lines) = run.end(ended());
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        (types[0], types[1], types[types.len() - 1]),
        ("run", "container", "end")
    );
    let run_line = &lines[0];
    assert_eq!(run_line["command"], json!(["docker", "run", "--rm", "demo"]));
    assert_eq!(
        run_line["sensors"][1],
        json!({"name": "socket_state", "live": false, "reason": "not allowed"})
    );
    assert!(run_line["boot_id"].is_string() && run_line["kernel"].is_string());
    assert_eq!(lines[1]["image_id"], Value::Null);
    let exec = &lines[2];
    assert_eq!(exec["container"], "0123456789ab");
    assert_eq!(exec["path"], "/bin/sh");
    assert_eq!(exec["argv_b64"], json!([null, "L2VudHJ5/w=="]));
    assert_eq!(
        (&exec["script_b64"], &exec["interpreter"]),
        (&json!("L2VudHJ5/w=="), &json!("/bin/sh"))
    );
    assert_eq!(
        (&exec["chain"], &exec["origin"], &exec["dev"]),
        (&json!("entrypoint"), &json!("image"), &json!("0:50"))
    );
    assert_eq!(exec["env_names"], json!(["PATH", "HOME"]));
    let device = &lines[3];
    assert_eq!(
        (&device["rdev"], &device["requested"], &device["mode"]),
        (&json!("1:3"), &json!("null"), &json!("20666"))
    );
    assert_eq!(device["unreadable"], json!(["text_entry"]));
    assert_eq!(device["program"], "/bin/sh");
    let failed = &lines[5];
    assert_eq!(
        (&failed["path"], &failed["requested_entry"]),
        (&json!("/work/b"), &json!("a"))
    );
    assert_eq!(
        (&failed["outcome"], &failed["confidence"]),
        (&json!("EACCES"), &json!("unresolved"))
    );
    let connect = &lines[6];
    assert_eq!(
        (&connect["address"], &connect["outcome"]),
        (&json!("127.0.0.1:80"), &json!("ECONNREFUSED"))
    );
    assert_eq!(
        (&connect["protocol"], &connect["source"]),
        (&json!("tcp"), &json!("syn_sent"))
    );
    assert_eq!(lines[7]["outcome"], "in_progress");
    assert_eq!((&lines[10]["code"], &lines[11]["signal"]), (&json!(3), &json!(9)));
    assert_eq!(lines[14]["what"], "left");
    let end = &lines[lines.len() - 1];
    assert_eq!(
        (&end["completeness"], &end["exit_code"], &end["lost"]),
        (&json!("incomplete"), &json!(101), &json!(4))
    );
    assert_eq!(end["counts"]["open"], 4);
    let kinds: Vec<&str> = end["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["lost", "undecodable", "unresolved", "path_cut"]);
}

#[test]
fn a_quiet_run_is_complete_and_gives_the_commands_code() {
    let mut run = Run::new();
    let (body, path) = opened(b"/etc/passwd", FMODE_READ);
    run.event(&body, &[(PartTag::Path, &path)]);
    let codes = ExitCodes {
        findings: 101,
        complete: 7,
        incomplete: 103,
    };
    let (summary, _) = run.end(End {
        command: Some(CommandExit::Code(7)),
        exit_codes: codes,
        ..ended()
    });
    assert!(summary.is_complete());
    assert_eq!(summary.exit_code(), 7);
    let text = summary.to_string();
    assert!(
        text.contains("ended with exit code 7") && text.contains("  record      complete: "),
        "{text}"
    );
    assert!(text.contains("image: 1 read: /etc/passwd"), "{text}");
}

#[test]
fn the_runtimes_doubts_do_not_count_and_the_workloads_do() {
    for (phase, is_complete) in [
        (Phase::Runtime, true),
        (Phase::Workload, false),
        (Phase::Operator, false),
    ] {
        let mut run = Run::new();
        let mut header = record::header(EventKind::Open);
        header.phase = phase as u8;
        run.take(&header, &failed(-13), &[(PartTag::TextEntry, b"x")]);
        assert_eq!(run.end(ended()).0.is_complete(), is_complete, "{phase:?}");
    }
    // A cut argv needs no rule yet; a text that the kernel itself could not read hides nothing.
    let mut run = Run::new();
    let mut header = record::header(EventKind::Exec);
    header.missing = missing::ARGV_CUT | missing::ENV_CUT | missing::ARGV_UNREADABLE;
    run.take(
        &header,
        &Body::Exec(ExecBody {
            file: overlay(0, 1, 0),
            ..ExecBody::default()
        }),
        &[(PartTag::Path, b"x\0")],
    );
    run.event(&failed(-14), &[]);
    assert!(run.end(ended()).0.is_complete());
}

#[test]
fn losses_are_written_when_they_move() {
    let mut run = Run::new();
    let loss = |cpu, kind, cause, count| Loss {
        cpu,
        kind,
        cause,
        count,
    };
    let first = loss(0, Some(EventKind::Open), LossCause::RingFull, 3);
    let nested = loss(1, None, LossCause::Nested, 1);
    run.report.losses(&[first]).unwrap();
    run.report.losses(&[first, nested]).unwrap();
    run.report.losses(&[Loss { count: 5, ..first }, nested]).unwrap();
    let (summary, lines) = run.end(ended());
    let counts: Vec<(&Value, &Value)> = lines
        .iter()
        .filter(|line| line["type"] == "loss")
        .map(|line| (&line["kind"], &line["count"]))
        .collect();
    assert_eq!(
        counts,
        [
            (&json!("open"), &json!(3)),
            (&Value::Null, &json!(1)),
            (&json!("open"), &json!(2))
        ]
    );
    assert_eq!(lines[lines.len() - 1]["lost"], 6);
    let counts: Vec<Option<u64>> = summary.reasons().iter().map(Reason::count).collect();
    assert_eq!(counts, [Some(5), Some(1)]);
}

#[test]
fn numbers_that_never_came_must_be_accounted_for() {
    let mut header = record::header(EventKind::Open);
    (header.cpu, header.seq) = (2, 5);
    let mut sequence = Sequence::new();
    sequence.observe(&header);
    let gaps_with = |count, undecodable: u64| {
        let mut run = Run::new();
        run.report
            .losses(&[Loss {
                cpu: 2,
                kind: None,
                cause: LossCause::RingFull,
                count,
            }])
            .unwrap();
        for _ in 0..undecodable {
            run.report
                .undecodable(&decode(&Bytes::new()).unwrap_err())
                .unwrap();
        }
        let (summary, _) = run.end(End {
            sequence: sequence.clone(),
            ..ended()
        });
        summary
            .reasons()
            .iter()
            .filter(|reason| reason.kind() == "sequence_gap")
            .filter_map(Reason::count)
            .sum::<u64>()
    };
    assert_eq!(gaps_with(4, 0), 0);
    assert_eq!(gaps_with(6, 0), 0);
    assert_eq!(gaps_with(3, 0), 1);
    assert_eq!(gaps_with(3, 1), 0);
    assert_eq!(gaps_with(0, 0), 4);
}

#[test]
fn outside_reasons_and_gaps_are_told_once() {
    let mut run = Run::new();
    run.report.reason(Reason::StartedLate);
    run.report.reason(Reason::StartedLate);
    let gaps = vec![
        gap(Route::PathChange, "unlink"),
        gap(Route::PathChange, "mkdir"),
        gap(Route::PathChange, "unlink"),
        RouteGap {
            sensor: Some(Sensor::CgroupAddress),
            ..gap(Route::Datagram, "sendto")
        },
    ];
    let (summary, lines) = run.end(End { gaps, ..ended() });
    let texts: Vec<String> = summary.reasons().iter().map(Reason::text).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[2].ends_with("(mkdir, unlink)"), "{texts:?}");
    assert!(summary.reasons()[1].next_step().contains("cgroup_address"));
    assert_eq!(
        lines[lines.len() - 1]["syscalls_without_sensor"],
        json!(["mkdir", "sendto", "unlink"])
    );
    assert_eq!(summary.exit_code(), 103);
}

/// A run that does a lot, with names that attack the terminal.
fn hostile() -> (Summary, Vec<Value>) {
    let mut run = Run::new();
    everything(&mut run);
    for number in 0..300 {
        let name = format!(
            "/tmp/{number}\x1b[2J\n  record      complete\u{202e}{}",
            "x".repeat(200)
        );
        let (body, path) = opened(
            name.as_bytes(),
            if number % 2 == 0 { FMODE_READ } else { FMODE_WRITE },
        );
        run.event(&body, &[(PartTag::Path, &path)]);
        let errno = -(number % 40) - 1;
        run.event(
            &failed(errno),
            &[(PartTag::TextExit, name.as_bytes()), (PartTag::Base, b"")],
        );
        let exec = ExecBody {
            file: overlay(0, 2, 0),
            ..ExecBody::default()
        };
        run.event(&Body::Exec(exec), &[(PartTag::Path, &path)]);
        let contact = ConnectBody {
            port: 1000 + u16::try_from(number).unwrap(),
            ..tcp(errno)
        };
        run.event(&Body::Connect(contact), &[]);
    }
    for route in [
        Route::IoUring,
        Route::Mount,
        Route::PathChange,
        Route::Namespace,
        Route::KernelCode,
    ] {
        run.report.reason(Reason::RouteWithoutSensor {
            route,
            syscalls: vec!["x".repeat(300)],
            sensor: None,
        });
    }
    run.end(ended())
}

#[test]
fn the_summary_fits_a_screen_and_cannot_be_forged() {
    let (summary, _) = hostile();
    let text = summary.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= summary::LINES, "{} lines:\n{text}", lines.len());
    for line in &lines {
        assert!(width(line) <= summary::COLUMNS, "{} columns: {line}", width(line));
        assert!(line.chars().all(shows_as_itself), "{line:?}");
        assert!(!line.starts_with("  record      complete"), "{text}");
    }
    assert!(text.contains("  record      incomplete"), "{text}");
    assert!(text.contains("more: the last line"), "{text}");
    assert!(
        text.contains("127.0.0.1:80 ECONNREFUSED") && text.contains("127.0.0.1:80 sent to"),
        "{text}"
    );
}

#[test]
fn a_plain_command_is_said_to_have_the_hosts_files() {
    let mut report = Report::new(None, policy(""));
    let command = vec![OsString::from("ls")];
    report
        .begin(&RunStart {
            command,
            target: "plain",
            sensors: Vec::new(),
        })
        .unwrap();
    let text = report.finish(ended()).unwrap().to_string();
    assert!(text.contains("its files are the host's"), "{text}");
}

#[test]
fn a_full_disk_is_an_error_and_the_summary_can_still_be_had() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut report = Report::new(Some(Box::new(Full)), policy(""));
    let start = RunStart {
        command: Vec::new(),
        target: "plain",
        sensors: Vec::new(),
    };
    assert_eq!(
        report.begin(&start).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    assert!(report.summary(&ended()).is_complete());
    assert!(report.finish(ended()).is_err());
}

#[test]
fn exits_are_codes_or_signals() {
    assert_eq!(
        CommandExit::of(ExitStatus::from_raw(3 << 8)),
        Some(CommandExit::Code(3))
    );
    assert_eq!(
        CommandExit::of(ExitStatus::from_raw(9)),
        Some(CommandExit::Signal(9))
    );
}

/// A run under this policy with one write outside everything declared, and what it comes to.
fn judged(text: &str, gaps: Vec<RouteGap>) -> (Summary, Value) {
    let mut run = Run::new();
    run.report.policy = policy(text);
    run.judge = Judge::new(policy(text), Bindings::default()).unwrap();
    let (body, path) = opened(b"/tmp/x", FMODE_WRITE);
    run.event(&body, &[(PartTag::Path, &path)]);
    run.event(&body, &[(PartTag::Path, &path)]);
    let (summary, lines) = run.end(End { gaps, ..ended() });
    let end = lines.last().unwrap().clone();
    (summary, end)
}

#[test]
fn findings_decide_the_exit_code_before_completeness_does() {
    let gap_list = || vec![gap(Route::PathChange, "unlink")];
    // policy, complete, judgement, exit code
    let table = [
        ("", true, "tripped", 101),
        ("", false, "tripped", 101),
        ("fail_on = \"caution\"", true, "tripped", 101),
        ("fail_on = \"blocked\"", true, "tripped", 0),
        ("fail_on = \"blocked\"", false, "tripped", 103),
        ("mode = \"unsafe\"", true, "clean", 0),
        ("mode = \"unsafe\"", false, "clean", 103),
        ("outputs = [\"/tmp/**\"]", true, "clean", 0),
    ];
    for (text, is_complete, judgement, code) in table {
        let (summary, end) = judged(text, if is_complete { Vec::new() } else { gap_list() });
        assert_eq!(
            (end["judgement"].as_str(), summary.exit_code()),
            (Some(judgement), code),
            "{text} {is_complete}"
        );
        let words = summary.to_string();
        let is_clean = words.contains("judgement   clean (");
        assert_eq!(is_clean, judgement == "clean" && is_complete, "{words}");
        let is_open = words.contains("no finding, incomplete");
        assert_eq!(is_open, judgement == "clean" && !is_complete, "{words}");
    }
}

#[test]
fn the_same_finding_is_counted_and_not_repeated() {
    let (summary, end) = judged("", Vec::new());
    let findings = end["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0];
    assert_eq!(
        (&finding["tripwire"], &finding["count"]),
        (&json!("I1"), &json!(2))
    );
    assert_eq!(
        (&finding["object"], &finding["severity"]),
        (&json!("/tmp/x"), &json!("tripped"))
    );
    assert_eq!(
        (&finding["confidence"], &finding["access"]),
        (&json!("kernel_object"), &json!(["write"]))
    );
    assert_eq!(finding["process"]["pid"], 100);
    assert!(summary.to_string().contains("I1 write /tmp/x"), "{summary}");
}

#[test]
fn pythons_caches_are_one_finding_with_a_hint() {
    let mut run = Run::new();
    for name in ["a", "b", "c"] {
        let path = format!("/app/{name}/__pycache__/{name}.pyc");
        let (body, path) = opened(path.as_bytes(), FMODE_WRITE);
        run.event(&body, &[(PartTag::Path, &path)]);
    }
    let (summary, lines) = run.end(ended());
    let findings = lines.last().unwrap()["findings"].as_array().unwrap().clone();
    assert_eq!((findings.len(), &findings[0]["count"]), (1, &json!(3)));
    assert!(
        findings[0]["hint"]
            .as_str()
            .unwrap()
            .contains("PYTHONDONTWRITEBYTECODE=1")
    );
    assert_eq!(findings[0]["first_object"], "/app/a/__pycache__/a.pyc");
    assert!(summary.to_string().contains("**/__pycache__/*"), "{summary}");
}
