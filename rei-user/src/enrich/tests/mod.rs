//! Scripted sequences: events in, what is derived from them out.

use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::ExecAttemptBody;
use rei_ebpf_common::file::FMODE_READ;
use rei_ebpf_common::header::{EventKind, Phase, missing};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::process::{ExitBody, ForkBody};

use super::*;
use crate::decode::record;
use crate::engine::{Mount, MountKind};

mod calls;
mod contacts;
mod origins;
mod processes;

const OVERLAY_IMAGE: u32 = file_flag::PRESENT | file_flag::OVERLAY_KNOWN;
const OVERLAY_UPPER: u32 = OVERLAY_IMAGE | file_flag::OVERLAY_UPPER;

fn facts() -> ContainerFacts {
    let mount = |destination: &str, kind| Mount {
        destination: destination.to_owned(),
        kind,
        read_only: false,
    };
    ContainerFacts {
        id: "0123456789abcdef".repeat(4),
        argv: ["/entry.sh", "python3", "-u"].map(str::to_owned).to_vec(),
        search_path: Some("/usr/local/bin:/usr/bin".to_owned()),
        mounts: vec![
            mount(
                "/data",
                MountKind::Bind {
                    source: "/srv/in".to_owned(),
                },
            ),
            mount(
                "/cache/",
                MountKind::Volume {
                    name: "vol".to_owned(),
                },
            ),
            mount("/scratch", MountKind::Tmpfs),
            mount("/etc/hosts", MountKind::Engine),
        ],
        ..ContainerFacts::default()
    }
}

fn container() -> Enricher {
    let mut enricher = Enricher::new(Target::Container);
    enricher.container_known(7, facts());
    enricher
}

fn overlay(flags: u32) -> FileFacts {
    FileFacts {
        magic: file_system::OVERLAY,
        dev: 50,
        mode: 0o100_755,
        flags,
        ..FileFacts::default()
    }
}

/// A file of the root mount: all of its components are the mount's.
fn image(path: &[u8]) -> (FileFacts, Vec<u8>) {
    at(
        overlay(OVERLAY_IMAGE),
        path,
        path.split(|byte| *byte == b'/').count() as u32 - 1,
    )
}

fn at(facts: FileFacts, path: &[u8], mount_components: u32) -> (FileFacts, Vec<u8>) {
    (
        FileFacts {
            mount_components,
            ..facts
        },
        record::components(path),
    )
}

fn open(enricher: &mut Enricher, phase: Phase, (file, path): (FileFacts, Vec<u8>)) -> Enriched {
    let mut header = record::header(EventKind::Open);
    header.phase = phase as u8;
    let body = OpenBody {
        file: FileFacts {
            f_mode: FMODE_READ,
            ..file
        },
        ret: 3,
        ..OpenBody::default()
    };
    enricher.take(record::event(
        &header,
        &Body::Open(body),
        &[(PartTag::Path, &path)],
    ))
}

fn origin_of(enricher: &mut Enricher, file: (FileFacts, Vec<u8>)) -> String {
    match open(enricher, Phase::Workload, file).act() {
        Act::Open(Opened { file: Some(file), .. }) => file.origin().to_string(),
        other => panic!("{other:?}"),
    }
}

fn exec(
    enricher: &mut Enricher,
    who: (u32, u64),
    evidence_bits: u32,
    path: &[u8],
    texts: [&[u8]; 3],
) -> Enriched {
    let mut header = record::header(EventKind::Exec);
    (header.pid, header.start_ns) = who;
    let (file, components) = image(path);
    let body = ExecBody {
        file,
        evidence: evidence_bits,
        ..ExecBody::default()
    };
    let [filename, interp, argv] = texts;
    let parts = [
        (PartTag::Path, components.as_slice()),
        (PartTag::Filename, filename),
        (PartTag::Interp, interp),
        (PartTag::Argv, argv),
        (PartTag::Base, b"job\0"),
    ];
    enricher.take(record::event(&header, &Body::Exec(body), &parts))
}

fn fork(enricher: &mut Enricher, parent: (u32, u64), child: (u32, u64)) -> Enriched {
    let mut header = record::header(EventKind::Fork);
    (header.pid, header.start_ns) = parent;
    let body = ForkBody {
        child_pid: child.0,
        child_start_ns: child.1,
        ..ForkBody::default()
    };
    enricher.take(record::event(&header, &Body::Fork(body), &[]))
}

fn chain_of(enriched: &Enriched) -> Option<Chain> {
    match enriched.act() {
        Act::Exec(executed) => executed.chain,
        other => panic!("{other:?}"),
    }
}
