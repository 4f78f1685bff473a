//! Records built by hand, byte by byte, for tests: an independent statement of the layout.

use bytes::Bytes;
use rei_ebpf_common::connect::ConnectBody;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::FileFacts;
use rei_ebpf_common::header::{ABI_VERSION, EventHeader, EventKind, Hook, Phase};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;

use super::{Body, Event, decode};

/// A header as the workload's process 100 would give it.
pub(crate) fn header(kind: EventKind) -> EventHeader {
    EventHeader {
        version: ABI_VERSION,
        kind: kind as u16,
        len_bytes: 0,
        seq: 1,
        boot_ns: 5_000,
        scope: 7,
        cgroup: 8,
        start_ns: 1_000,
        pid: 100,
        tid: 101,
        uid: 1,
        gid: 2,
        ns_pid: 3,
        missing: 0,
        hook: Hook::SysExit as u16,
        cpu: 1,
        stream: 0,
        phase: Phase::Workload as u8,
        task_flags: 0,
        comm: *b"worker\0\0\0\0\0\0\0\0\0\0",
    }
}

/// Leaf-to-root components, each ended by NUL, of an absolute path.
pub(crate) fn components(path: &[u8]) -> Vec<u8> {
    let mut part = Vec::new();
    for component in path
        .split(|byte| *byte == b'/')
        .filter(|component| !component.is_empty())
        .rev()
    {
        part.extend_from_slice(component);
        part.push(0);
    }
    part
}

/// The bytes of a record; `len_bytes` of the header is set to their number.
pub(crate) fn bytes(header: &EventHeader, body: &Body, parts: &[(PartTag, &[u8])]) -> Bytes {
    let mut record = Vec::new();
    put_header(header, &mut record);
    put_body(body, &mut record);
    for (tag, part) in parts {
        record.extend_from_slice(&(*tag as u16).to_ne_bytes());
        record.extend_from_slice(&0_u16.to_ne_bytes());
        record.extend_from_slice(&u32::try_from(part.len()).unwrap().to_ne_bytes());
        record.extend_from_slice(part);
        record.resize(record.len().next_multiple_of(8), 0);
    }
    let len = u32::try_from(record.len()).unwrap();
    record[4..8].copy_from_slice(&len.to_ne_bytes());
    record.into()
}

/// The event that these bytes stand for.
pub(crate) fn event(header: &EventHeader, body: &Body, parts: &[(PartTag, &[u8])]) -> Event {
    decode(&bytes(header, body, parts)).unwrap()
}

macro_rules! put {
    ($out:expr; $($value:expr),+ $(,)?) => {{ $( $out.extend_from_slice(&$value.to_ne_bytes()); )+ }};
}

fn put_header(header: &EventHeader, out: &mut Vec<u8>) {
    put!(out; header.version, header.kind, header.len_bytes, header.seq, header.boot_ns, header.scope);
    put!(out; header.cgroup, header.start_ns, header.pid, header.tid, header.uid, header.gid, header.ns_pid);
    put!(out; header.missing, header.hook, header.cpu, header.stream, header.phase, header.task_flags);
    out.extend_from_slice(&header.comm);
}

fn put_body(body: &Body, out: &mut Vec<u8>) {
    match body {
        Body::Open(open) => put_open(open, out),
        Body::Connect(connect) | Body::Send(connect) => put_connect(connect, out),
        Body::Exec(exec) => put_exec(exec, out),
        Body::ExecAttempt(attempt) => put_attempt(attempt, out),
        Body::Fork(fork) => {
            put!(out; fork.child_start_ns, fork.child_cgroup, fork.child_pid, fork.child_ns_pid);
        }
        Body::Exit(exit) => put!(out; exit.status, exit.reserved),
        Body::CgroupMade(cgroup) | Body::CgroupRemoved(cgroup) => {
            put!(out; cgroup.cgroup, cgroup.parent, cgroup.flags, cgroup.level);
        }
        Body::TaskMoved(moved) => put!(out; moved.to_cgroup, moved.mover_pid, moved.what),
    }
}

fn put_file(file: &FileFacts, out: &mut Vec<u8>) {
    put!(out; file.ino, file.magic, file.dev, file.rdev, file.mode, file.f_mode, file.f_flags, file.mnt_id);
    put!(out; file.flags, file.mount_components);
}

fn put_open(open: &OpenBody, out: &mut Vec<u8>) {
    put_file(&open.file, out);
    put!(out; open.ret, open.entry_ns, open.asked_flags, open.resolve, open.asked_mode, open.dirfd);
    put!(out; open.syscall, open.evidence);
}

fn put_connect(connect: &ConnectBody, out: &mut Vec<u8>) {
    put_file(&connect.unix_peer, out);
    put!(out; connect.ret, connect.entry_ns, connect.socket_ino);
    out.extend_from_slice(&connect.address);
    put!(out; connect.port, connect.family, connect.socket_type, connect.protocol, connect.source);
    put!(out; connect.evidence, connect.fd, connect.syscall);
}

fn put_exec(exec: &ExecBody, out: &mut Vec<u8>) {
    put_file(&exec.file, out);
    put!(out; exec.parent_start_ns, exec.parent_pid, exec.old_tid, exec.argc, exec.envc, exec.euid, exec.egid);
    put!(out; exec.mnt_ns, exec.pid_ns, exec.evidence, exec.pid_level);
}

fn put_attempt(attempt: &ExecAttemptBody, out: &mut Vec<u8>) {
    put_file(&attempt.file, out);
    put!(out; attempt.ret, attempt.entry_ns, attempt.dirfd, attempt.asked_flags, attempt.syscall);
    put!(out; attempt.evidence);
}
