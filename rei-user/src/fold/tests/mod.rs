//! Scripted events in, lines out.

use std::sync::Arc;

use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::{FMODE_READ, FMODE_WRITE, FileFacts, file_flag};
use rei_ebpf_common::header::{EventHeader, EventKind, task_flag};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::process::{ExitBody, ForkBody};
use rei_ebpf_common::scope::{CgroupBody, TaskMovedBody, moved};

use super::*;
use crate::decode::{self, record};
use crate::engine::{ContainerFacts, Mount, MountKind};
use crate::enrich::{Enricher, Target};
use crate::format::{self, Hex, LINE_BYTES_MAX, Place, read_line, write_line};
use crate::judge::Judge;
use crate::policy::{Mode, Policy, Source};
use crate::tripwire::Bindings;

mod bounds;
mod findings;
mod images;
mod refold;

const OVERLAY: u64 = 0x794c_7630;
const SECOND: u64 = 1_000_000_000;

/// A process: its pid and start.
pub(crate) type Who = (u32, u64);

/// Everything from a decoded record to the fold. The clock goes on by a microsecond for each event.
pub(crate) struct Scene {
    enricher: Enricher,
    judge: Judge,
    fold: Fold,
    now_ns: u64,
    task_flags: u16,
}

impl Scene {
    pub(crate) fn new(policy: &str, keep_events: KeepEvents) -> Self {
        let policy = Policy::parse(policy, Source::Shipped).expect("a policy").policy;
        let settings = settings(&policy, keep_events);
        let facts = ContainerFacts {
            id: "0123456789abcdef".repeat(4),
            mounts: vec![Mount {
                destination: "/data".to_owned(),
                kind: MountKind::Bind {
                    source: "/srv/".repeat(2_000),
                },
                read_only: false,
            }],
            ..ContainerFacts::default()
        };
        let mut enricher = Enricher::new(Target::Container);
        enricher.container_known(7, facts.clone());
        let mut judge = Judge::new(Arc::new(policy), Bindings::default()).expect("a judge");
        judge.container_known(7, &facts, Vec::new(), true);
        Scene {
            enricher,
            judge,
            fold: Fold::new(settings),
            now_ns: SECOND,
            task_flags: 0,
        }
    }

    fn judged(&mut self, who: Who, body: &decode::Body, parts: &[(PartTag, &[u8])]) -> Judged {
        let kind = match body {
            decode::Body::Open(_) => EventKind::Open,
            decode::Body::Connect(_) => EventKind::Connect,
            decode::Body::Send(_) => EventKind::Send,
            decode::Body::Exec(_) => EventKind::Exec,
            decode::Body::ExecAttempt(_) => EventKind::ExecAttempt,
            decode::Body::Fork(_) => EventKind::Fork,
            decode::Body::Exit(_) => EventKind::Exit,
            decode::Body::CgroupMade(_) => EventKind::CgroupMade,
            decode::Body::CgroupRemoved(_) => EventKind::CgroupRemoved,
            decode::Body::TaskMoved(_) => EventKind::TaskMoved,
        };
        self.now_ns += 1_000;
        let header = EventHeader {
            pid: who.0,
            start_ns: who.1,
            boot_ns: self.now_ns,
            task_flags: self.task_flags,
            ..record::header(kind)
        };
        self.judge
            .take(self.enricher.take(record::event(&header, body, parts)))
    }

    fn take(&mut self, who: Who, body: &decode::Body, parts: &[(PartTag, &[u8])]) {
        let judged = self.judged(who, body, parts);
        self.fold.take(&judged);
    }

    fn fork(&mut self, who: Who, child: Who) {
        let body = decode::Body::Fork(ForkBody {
            child_pid: child.0,
            child_start_ns: child.1,
            ..ForkBody::default()
        });
        self.take(who, &body, &[]);
    }

    fn exit(&mut self, who: Who, code: u32) {
        let body = decode::Body::Exit(ExitBody {
            status: code << 8,
            ..ExitBody::default()
        });
        self.take(who, &body, &[]);
    }

    fn exec(&mut self, who: Who, path: &[u8], evidence_bits: u32) {
        let judged = self.executed(who, path, evidence_bits);
        self.fold.take(&judged);
    }

    pub(crate) fn executed(&mut self, who: Who, path: &[u8], evidence_bits: u32) -> Judged {
        let components = record::components(path);
        let body = decode::Body::Exec(ExecBody {
            file: image(path, 0o100_755),
            evidence: evidence_bits,
            argc: 2,
            parent_pid: 1,
            ..ExecBody::default()
        });
        let parts: [(PartTag, &[u8]); 5] = [
            (PartTag::Path, &components),
            (PartTag::Filename, path),
            (PartTag::Interp, b"/bin/sh"),
            (PartTag::Argv, b"a\0\xff\0"),
            (PartTag::EnvNames, b"PATH\0HOME\0"),
        ];
        self.judged(who, &body, &parts)
    }

    fn open(&mut self, who: Who, path: &[u8], f_mode: u32, upper: u32) {
        let judged = self.opened(who, path, f_mode, upper);
        self.fold.take(&judged);
    }

    pub(crate) fn opened(&mut self, who: Who, path: &[u8], f_mode: u32, upper: u32) -> Judged {
        let components = record::components(path);
        let mut file = image(path, 0o100_644);
        file.f_mode = f_mode;
        file.flags |= upper;
        let body = decode::Body::Open(OpenBody {
            file,
            ret: 3,
            ..OpenBody::default()
        });
        self.judged(who, &body, &[(PartTag::Path, &components)])
    }

    /// From the image: ambient.
    fn read(&mut self, who: Who, path: &[u8]) {
        self.open(who, path, FMODE_READ, 0);
    }

    /// In the container's own layer: I1.
    fn write(&mut self, who: Who, path: &[u8]) {
        self.open(who, path, FMODE_WRITE, file_flag::OVERLAY_UPPER);
    }

    fn fail(&mut self, who: Who, text: &[u8]) {
        let body = decode::Body::Open(OpenBody {
            ret: -13,
            evidence: evidence::ENTRY_SEEN,
            ..OpenBody::default()
        });
        let parts: [(PartTag, &[u8]); 3] = [
            (PartTag::Base, b""),
            (PartTag::TextEntry, b"other"),
            (PartTag::TextExit, text),
        ];
        self.take(who, &body, &parts);
    }

    /// What was to be written since the last time, and nothing of it is longer than a line may be.
    fn lines(&mut self) -> Vec<Item> {
        let items: Vec<Item> = self.fold.drain().collect();
        for item in &items {
            let line = write_line(&PLACE, &item.body).expect("a line that fits");
            let (_, body) = read_line(&line).expect("a line that can be read");
            assert_eq!(body, item.body);
        }
        items
    }
}

/// The place that takes the most bytes.
const PLACE: Place = Place {
    segment: u64::MAX,
    sequence: u64::MAX,
    wall_ns: u64::MAX,
    boot_ns: u64::MAX,
    previous: Hex([0xff; 32]),
};

fn settings(policy: &Policy, keep_events: KeepEvents) -> Settings {
    Settings {
        policy: Hex(policy.sha256()),
        is_safe: policy.mode == Mode::Safe,
        keep_events,
    }
}

fn image(path: &[u8], mode: u32) -> FileFacts {
    let components = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    FileFacts {
        magic: OVERLAY,
        dev: 50,
        mode,
        flags: file_flag::PRESENT | file_flag::OVERLAY_KNOWN,
        mount_components: u32::try_from(components.count()).expect("few"),
        ..FileFacts::default()
    }
}

/// The lines in short: kind, and what tells one of a kind from another.
fn told(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| words(&item.body)).collect()
}

fn words(body: &Body) -> String {
    match body {
        Body::Lineage(lineage) => format!(
            "lineage {} < {:?} {} {} pid {}",
            lineage.node.value(),
            lineage.parent.map(Count::value),
            lineage.how,
            lineage.program.as_ref().map_or("?", format::Text::as_str),
            lineage.process.pid.value()
        ),
        Body::Fold(fold) => {
            let objects = fold.objects.iter().map(|touched| {
                let name = touched.object.as_ref().map_or("?", format::Text::as_str);
                format!(
                    " {} {name} {} x{}",
                    touched.kind,
                    touched.decision,
                    touched.n.value()
                )
            });
            let end = fold
                .end
                .map_or(String::new(), |end| format!(" end {:?}", end.how));
            format!("fold {}{}{end}", fold.node.value(), objects.collect::<String>())
        }
        Body::Finding(finding) => format!(
            "finding {} {} {} x{}",
            finding.rule.id,
            finding.sev,
            finding.object.name.as_ref().map_or("?", format::Text::as_str),
            finding.n.value()
        ),
        Body::Event(event) => format!("event {}", event.kind),
        body => body.kind().to_owned(),
    }
}
