//! Whole runs by hand: events in, lines and summary out.

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
use crate::attach::{LossCause, LostByKind};
use crate::coverage::Entry;
use crate::decode::{Body, decode, record};
use crate::enrich::{Enricher, Target};
use crate::judge::Judge;
use crate::tripwire::Bindings;

use self::everything::everything;

mod arbitrary;
mod everything;
mod lines;
mod output;
mod summary;
mod verdict;

fn policy(text: &str) -> Arc<Policy> {
    Arc::new(Policy::parse(text, Source::Shipped).unwrap().policy)
}

const OVERLAY: u64 = 0x794c_7630;

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
                programs: Vec::new(),
            })
            .unwrap();
        let facts = ContainerFacts {
            id: "0123456789abcdef".repeat(4),
            name: Some("web".to_owned()),
            image: Some("demo:1".to_owned()),
            ..ContainerFacts::default()
        };
        report
            .container(7, &facts, &[], "/docker/0123", "engine")
            .unwrap();
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
        attribution: Attribution::default(),
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
        evidence: evidence::ENTRY_SEEN,
        syscall: 42,
        ..ConnectBody::default()
    }
}

fn gap(route: Route, syscall: &'static str) -> RouteGap {
    RouteGap {
        route,
        syscall,
        entry: Entry::Native,
        sensor: None,
    }
}
