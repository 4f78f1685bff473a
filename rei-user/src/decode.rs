//! Bytes of the ring → [`Event`]: checked, total, and never a panic.
//!
//! Takes one record as the kernel side wrote it. Gives an [`Event`] or an [`Undecodable`] that keeps the
//! bytes.

use std::fmt;

use bytes::Bytes;
use rei_ebpf_common::connect::ConnectBody;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::FileFacts;
use rei_ebpf_common::header::{ABI_VERSION, EventHeader, EventKind, Hook, Phase};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::process::{ExitBody, ForkBody};
use rei_ebpf_common::scope::{CgroupBody, TaskMovedBody};

/// One event as the kernel side reported it. Only this module makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    header: EventHeader,
    phase: Phase,
    hook: Hook,
    body: Body,
    parts: Vec<Part>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A file was opened, or could not be.
    Open(OpenBody),
    /// An address was contacted, or could not be.
    Connect(ConnectBody),
    /// A datagram was sent to an explicit address.
    Send(ConnectBody),
    /// A program was executed.
    Exec(ExecBody),
    /// A program was not executed: failure or check.
    ExecAttempt(ExecAttemptBody),
    /// A process was created.
    Fork(ForkBody),
    /// A process ended.
    Exit(ExitBody),
    /// A cgroup was made.
    CgroupMade(CgroupBody),
    /// A cgroup is gone.
    CgroupRemoved(CgroupBody),
    /// A process was moved.
    TaskMoved(TaskMovedBody),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    tag: PartTag,
    bytes: Bytes,
}

impl Event {
    /// The head: who, when, where.
    #[must_use]
    pub fn header(&self) -> &EventHeader {
        &self.header
    }

    /// Whose act it is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Where in the kernel the evidence was taken.
    #[must_use]
    pub fn hook(&self) -> Hook {
        self.hook
    }

    /// What happened.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The kind of the body.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        match self.body {
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

    /// The bytes of the part `tag`, or `None` if the record has none.
    #[must_use]
    pub fn part(&self, tag: PartTag) -> Option<&Bytes> {
        self.parts
            .iter()
            .find(|part| part.tag == tag)
            .map(|part| &part.bytes)
    }

    /// Whether any bit of `mask` (see [`rei_ebpf_common::header::missing`]) is set.
    #[must_use]
    pub fn is_missing(&self, mask: u32) -> bool {
        self.header.missing & mask != 0
    }

    /// The absolute path of a leaf-to-root component part (`Path`, `Base`): root first, components joined by
    /// `/`.
    ///
    /// `None` if the record has no such part. An empty part is the root itself: `/`.
    #[must_use]
    pub fn path(&self, tag: PartTag) -> Option<Vec<u8>> {
        self.part(tag).map(|bytes| join_components(bytes))
    }
}

/// Joins NUL-ended components, leaf first, to a path, root first.
fn join_components(leaf_first: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(leaf_first.len() + 1);
    for component in leaf_first
        .split(|byte| *byte == 0)
        .filter(|component| !component.is_empty())
        .rev()
    {
        path.push(b'/');
        path.extend_from_slice(component);
    }
    if path.is_empty() {
        path.push(b'/');
    }
    path
}

/// A record that is not what its header says, with its bytes: it is reported, never dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// What is wrong.
    pub why: Malformed,
    /// The record as it came.
    pub bytes: Bytes,
}

/// What can be wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end inside the head, the body or a part; the value is the number of bytes that were needed.
    Short(usize),
    /// The object speaks another layout version than this program.
    Version(u16),
    /// The header's length is not the record's.
    Length(u32),
    /// There is no such kind.
    Kind(u16),
    /// There is no such hook.
    Hook(u16),
    /// There is no such phase.
    Phase(u8),
    /// There is no such part.
    Tag(u16),
    /// A part occurs twice.
    Repeated(PartTag),
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Short(needed) => write!(out, "record ends early: {needed} bytes needed"),
            Malformed::Version(version) => {
                write!(
                    out,
                    "record layout version {version}, this program reads {ABI_VERSION}"
                )
            }
            Malformed::Length(length) => write!(
                out,
                "header says {length} bytes, which is not the record's length"
            ),
            Malformed::Kind(kind) => write!(out, "unknown event kind {kind}"),
            Malformed::Hook(hook) => write!(out, "unknown hook {hook}"),
            Malformed::Phase(phase) => write!(out, "unknown phase {phase}"),
            Malformed::Tag(tag) => write!(out, "unknown part {tag}"),
            Malformed::Repeated(tag) => write!(out, "part {tag:?} occurs twice"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Decodes one record.
///
/// # Errors
/// [`Undecodable`] with the bytes, if they are not one whole record of a known kind.
pub fn decode(bytes: &Bytes) -> Result<Event, Undecodable> {
    parse(bytes).map_err(|why| Undecodable {
        why,
        bytes: bytes.clone(),
    })
}

fn parse(bytes: &Bytes) -> Result<Event, Malformed> {
    let mut reader = Reader { bytes, at: 0 };
    let header = read_header(&mut reader)?;
    if header.version != ABI_VERSION {
        return Err(Malformed::Version(header.version));
    }
    if header.len_bytes as usize != bytes.len() {
        return Err(Malformed::Length(header.len_bytes));
    }
    let hook = Hook::from_raw(header.hook).ok_or(Malformed::Hook(header.hook))?;
    let phase = Phase::from_raw(header.phase).ok_or(Malformed::Phase(header.phase))?;
    let kind = EventKind::from_raw(header.kind).ok_or(Malformed::Kind(header.kind))?;
    let body = read_body(kind, &mut reader)?;
    let parts = read_parts(&mut reader)?;
    Ok(Event {
        header,
        phase,
        hook,
        body,
        parts,
    })
}

fn read_header(from: &mut Reader<'_>) -> Result<EventHeader, Malformed> {
    Ok(EventHeader {
        version: from.u16()?,
        kind: from.u16()?,
        len_bytes: from.u32()?,
        seq: from.u64()?,
        boot_ns: from.u64()?,
        scope: from.u64()?,
        cgroup: from.u64()?,
        start_ns: from.u64()?,
        pid: from.u32()?,
        tid: from.u32()?,
        uid: from.u32()?,
        gid: from.u32()?,
        ns_pid: from.u32()?,
        missing: from.u32()?,
        hook: from.u16()?,
        cpu: from.u16()?,
        stream: from.u8()?,
        phase: from.u8()?,
        task_flags: from.u16()?,
        comm: from.array()?,
    })
}

fn read_body(kind: EventKind, from: &mut Reader<'_>) -> Result<Body, Malformed> {
    Ok(match kind {
        EventKind::Open => Body::Open(OpenBody {
            file: read_file(from)?,
            ret: from.i64()?,
            entry_ns: from.u64()?,
            asked_flags: from.u64()?,
            resolve: from.u64()?,
            asked_mode: from.u32()?,
            dirfd: from.i32()?,
            syscall: from.u32()?,
            evidence: from.u32()?,
        }),
        EventKind::Connect => Body::Connect(read_connect(from)?),
        EventKind::Send => Body::Send(read_connect(from)?),
        EventKind::Exec => Body::Exec(ExecBody {
            file: read_file(from)?,
            parent_start_ns: from.u64()?,
            parent_pid: from.u32()?,
            old_tid: from.u32()?,
            argc: from.u32()?,
            envc: from.u32()?,
            euid: from.u32()?,
            egid: from.u32()?,
            mnt_ns: from.u32()?,
            pid_ns: from.u32()?,
            evidence: from.u32()?,
            pid_level: from.u32()?,
        }),
        EventKind::ExecAttempt => Body::ExecAttempt(ExecAttemptBody {
            file: read_file(from)?,
            ret: from.i64()?,
            entry_ns: from.u64()?,
            dirfd: from.i32()?,
            asked_flags: from.u32()?,
            syscall: from.u32()?,
            evidence: from.u32()?,
        }),
        EventKind::Fork => Body::Fork(ForkBody {
            child_start_ns: from.u64()?,
            child_cgroup: from.u64()?,
            child_pid: from.u32()?,
            child_ns_pid: from.u32()?,
        }),
        EventKind::Exit => Body::Exit(ExitBody {
            status: from.u32()?,
            reserved: from.u32()?,
        }),
        EventKind::CgroupMade => Body::CgroupMade(read_cgroup(from)?),
        EventKind::CgroupRemoved => Body::CgroupRemoved(read_cgroup(from)?),
        EventKind::TaskMoved => Body::TaskMoved(TaskMovedBody {
            to_cgroup: from.u64()?,
            mover_pid: from.u32()?,
            what: from.u32()?,
        }),
    })
}

fn read_file(from: &mut Reader<'_>) -> Result<FileFacts, Malformed> {
    Ok(FileFacts {
        ino: from.u64()?,
        magic: from.u64()?,
        dev: from.u32()?,
        rdev: from.u32()?,
        mode: from.u32()?,
        f_mode: from.u32()?,
        f_flags: from.u32()?,
        mnt_id: from.u32()?,
        flags: from.u32()?,
        mount_components: from.u32()?,
    })
}

fn read_connect(from: &mut Reader<'_>) -> Result<ConnectBody, Malformed> {
    Ok(ConnectBody {
        unix_peer: read_file(from)?,
        ret: from.i64()?,
        entry_ns: from.u64()?,
        socket_ino: from.u64()?,
        address: from.array()?,
        port: from.u16()?,
        family: from.u16()?,
        socket_type: from.u16()?,
        protocol: from.u16()?,
        source: from.u32()?,
        evidence: from.u32()?,
        fd: from.i32()?,
        syscall: from.u32()?,
    })
}

fn read_cgroup(from: &mut Reader<'_>) -> Result<CgroupBody, Malformed> {
    Ok(CgroupBody {
        cgroup: from.u64()?,
        parent: from.u64()?,
        flags: from.u32()?,
        level: from.u32()?,
    })
}

/// Parts follow each other at multiples of 8 until the record ends.
fn read_parts(from: &mut Reader<'_>) -> Result<Vec<Part>, Malformed> {
    let mut parts: Vec<Part> = Vec::new();
    while from.at < from.bytes.len() {
        let raw = from.u16()?;
        let tag = PartTag::from_raw(raw).ok_or(Malformed::Tag(raw))?;
        let _flags = from.u16()?;
        let len = from.u32()? as usize;
        let bytes = from.slice(len)?;
        if parts.iter().any(|part| part.tag == tag) {
            return Err(Malformed::Repeated(tag));
        }
        parts.push(Part { tag, bytes });
        from.skip_padding()?;
    }
    Ok(parts)
}

/// Reads native-endian integers front to back.
struct Reader<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let end = self.at.saturating_add(N);
        let read = self
            .bytes
            .get(self.at..end)
            .and_then(|slice| <[u8; N]>::try_from(slice).ok());
        let array = read.ok_or(Malformed::Short(end))?;
        self.at = end;
        Ok(array)
    }

    fn slice(&mut self, len: usize) -> Result<Bytes, Malformed> {
        let end = self.at.saturating_add(len);
        if end > self.bytes.len() {
            return Err(Malformed::Short(end));
        }
        let slice = self.bytes.slice(self.at..end);
        self.at = end;
        Ok(slice)
    }

    fn skip_padding(&mut self) -> Result<(), Malformed> {
        let next = self.at.next_multiple_of(8);
        if next > self.bytes.len() {
            return Err(Malformed::Short(next));
        }
        self.at = next;
        Ok(())
    }

    fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_ne_bytes)
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_ne_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_ne_bytes)
    }

    fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_ne_bytes)
    }
}

#[cfg(test)]
pub(crate) mod record;
#[cfg(test)]
mod tests;
