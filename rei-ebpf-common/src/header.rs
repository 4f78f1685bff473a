//! The head of every record: who, when, in which scope, and what of it could not be read.

/// Version of the record layout. Both sides compare it, so that a stale object file is an error and not a guess.
pub const ABI_VERSION: u16 = 1;

/// What happened. The numbers are the wire format.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// `open`, `openat`, `openat2`, `creat` returned.
    Open = 1,
    /// `connect` returned, or a TCP socket went to `SYN_SENT` outside a connect call.
    Connect = 2,
    /// A datagram was sent to an explicit address (`cgroup/sendmsg4`, `cgroup/sendmsg6`).
    Send = 3,
    /// A program was executed (`sched_process_exec`).
    Exec = 4,
    /// `execve` or `execveat` returned without replacing the program: a failure, or `AT_EXECVE_CHECK`.
    ExecAttempt = 5,
    /// A process was created (threads are not reported).
    Fork = 6,
    /// The last thread of a process is gone.
    Exit = 7,
    /// A cgroup v2 directory was made: inside a scope, or a container's while new containers are awaited.
    CgroupMade = 8,
    /// A cgroup v2 directory that was in a scope is gone.
    CgroupRemoved = 9,
    /// A process was moved into a scope, inside it, or out of it.
    TaskMoved = 10,
}

/// Number of slots in arrays that are indexed by `EventKind as usize`; slot 0 stands for "kind unknown".
pub const KIND_SLOTS: usize = 16;

impl EventKind {
    /// Every kind, in the order of its number.
    pub const ALL: [EventKind; 10] = [
        EventKind::Open,
        EventKind::Connect,
        EventKind::Send,
        EventKind::Exec,
        EventKind::ExecAttempt,
        EventKind::Fork,
        EventKind::Exit,
        EventKind::CgroupMade,
        EventKind::CgroupRemoved,
        EventKind::TaskMoved,
    ];

    /// The kind with the number `raw`, or `None` if there is none.
    #[must_use]
    pub fn from_raw(raw: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == raw)
    }

    /// The name used in output and in loss records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Open => "open",
            EventKind::Connect => "connect",
            EventKind::Send => "send",
            EventKind::Exec => "exec",
            EventKind::ExecAttempt => "exec_attempt",
            EventKind::Fork => "fork",
            EventKind::Exit => "exit",
            EventKind::CgroupMade => "cgroup_made",
            EventKind::CgroupRemoved => "cgroup_removed",
            EventKind::TaskMoved => "task_moved",
        }
    }
}

const _: () = assert!(EventKind::ALL.len() < KIND_SLOTS);

/// Whose act it is, decided in the kernel so that a lost event cannot shift the blame.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The container runtime prepares the container from inside its cgroup.
    Runtime = 0,
    /// The container's own program and whatever descends from it.
    Workload = 1,
    /// Put into the running container from outside (`docker exec`, a health check).
    Operator = 2,
    /// The event belongs to no process of a scope (a cgroup made or removed by the engine).
    Outside = 3,
}

impl Phase {
    /// The phase with the number `raw`, or `None` if there is none.
    #[must_use]
    pub const fn from_raw(raw: u8) -> Option<Self> {
        match raw {
            0 => Some(Phase::Runtime),
            1 => Some(Phase::Workload),
            2 => Some(Phase::Operator),
            3 => Some(Phase::Outside),
            _ => None,
        }
    }
}

/// Bits of [`EventHeader::missing`]: what could not be read, or was cut. A set bit is part of the evidence.
pub mod missing {
    /// The path of the object could not be read to its end (a kernel read faulted).
    pub const PATH_UNREADABLE: u32 = 1 << 0;
    /// The path has more components or bytes than the record holds; it is cut at the root end.
    pub const PATH_CUT: u32 = 1 << 1;
    /// The argument text could not be read at entry (the page was not resident, or no entry was seen).
    pub const TEXT_ENTRY: u32 = 1 << 2;
    /// The argument text could not be read at exit.
    pub const TEXT_EXIT: u32 = 1 << 3;
    /// `argv` could not be read.
    pub const ARGV_UNREADABLE: u32 = 1 << 4;
    /// `argv` is longer than the record holds.
    pub const ARGV_CUT: u32 = 1 << 5;
    /// The environment names could not be read.
    pub const ENV_UNREADABLE: u32 = 1 << 6;
    /// There are more environment names than the record holds.
    pub const ENV_CUT: u32 = 1 << 7;
    /// The kernel object (file, socket) behind the descriptor could not be read.
    pub const OBJECT: u32 = 1 << 8;
    /// The address could not be read.
    pub const ADDRESS: u32 = 1 << 9;
    /// The base directory could not be read.
    pub const BASE: u32 = 1 << 10;
    /// The struct `open_how` of `openat2` could not be read.
    pub const HOW: u32 = 1 << 11;
    /// The argument text is longer than `PATH_MAX` and cut there (the kernel refuses such a text).
    pub const TEXT_CUT: u32 = 1 << 12;
    /// Directories were renamed while the path was read, again and again: the components may be of different moments.
    pub const PATH_RACED: u32 = 1 << 13;
}

/// Where in the kernel the evidence was taken. The numbers are the wire format.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// `tp_btf/sys_exit`
    SysExit = 1,
    /// `tp_btf/sched_process_exec`
    SchedProcessExec = 2,
    /// `tp_btf/sched_process_fork`
    SchedProcessFork = 3,
    /// `tp_btf/sched_process_exit`
    SchedProcessExit = 4,
    /// `tp_btf/inet_sock_set_state`
    InetSockSetState = 5,
    /// `cgroup/connect4`, `cgroup/connect6`
    CgroupConnect = 6,
    /// `cgroup/sendmsg4`, `cgroup/sendmsg6`
    CgroupSendmsg = 7,
    /// `tp_btf/cgroup_mkdir`
    CgroupMkdir = 8,
    /// `tp_btf/cgroup_rmdir`
    CgroupRmdir = 9,
    /// `tp_btf/cgroup_attach_task`
    CgroupAttachTask = 10,
}

impl Hook {
    /// The hook with the number `raw`, or `None` if there is none.
    #[must_use]
    pub const fn from_raw(raw: u16) -> Option<Self> {
        Some(match raw {
            1 => Hook::SysExit,
            2 => Hook::SchedProcessExec,
            3 => Hook::SchedProcessFork,
            4 => Hook::SchedProcessExit,
            5 => Hook::InetSockSetState,
            6 => Hook::CgroupConnect,
            7 => Hook::CgroupSendmsg,
            8 => Hook::CgroupMkdir,
            9 => Hook::CgroupRmdir,
            10 => Hook::CgroupAttachTask,
            _ => return None,
        })
    }

    /// The name that kernel people know the hook by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Hook::SysExit => "tp_btf/sys_exit",
            Hook::SchedProcessExec => "tp_btf/sched_process_exec",
            Hook::SchedProcessFork => "tp_btf/sched_process_fork",
            Hook::SchedProcessExit => "tp_btf/sched_process_exit",
            Hook::InetSockSetState => "tp_btf/inet_sock_set_state",
            Hook::CgroupConnect => "cgroup/connect",
            Hook::CgroupSendmsg => "cgroup/sendmsg",
            Hook::CgroupMkdir => "tp_btf/cgroup_mkdir",
            Hook::CgroupRmdir => "tp_btf/cgroup_rmdir",
            Hook::CgroupAttachTask => "tp_btf/cgroup_attach_task",
        }
    }
}

/// Process-context programs number their records in this stream of the CPU.
pub const STREAM_TASK: u8 = 0;
/// `inet_sock_set_state` also runs in softirq context, nested in the above: it has a stream of its own.
pub const STREAM_SOCK: u8 = 1;
/// Streams per CPU.
pub const STREAMS: usize = 2;

/// The head of every record.
///
/// The ids name the *acting* process as it is at the time of the event. A process is identified by
/// (`pid`, `start_ns`), because pids are reused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHeader {
    /// [`ABI_VERSION`].
    pub version: u16,
    /// An [`EventKind`].
    pub kind: u16,
    /// Bytes of the whole record, this header included.
    pub len_bytes: u32,
    /// Counts every record of this CPU's task stream from 1, lost ones included: a gap is a loss. 0 in the socket
    /// stream, whose programs can be preempted and therefore cannot number without doubt; its losses are counted all
    /// the same.
    pub seq: u64,
    /// `CLOCK_BOOTTIME` in nanoseconds, taken when the record was written.
    pub boot_ns: u64,
    /// The scope: cgroup v2 id of the watched root cgroup.
    pub scope: u64,
    /// cgroup v2 id of the acting task.
    pub cgroup: u64,
    /// Start of the acting process (its group leader), `CLOCK_BOOTTIME` in nanoseconds.
    pub start_ns: u64,
    /// Process id (tgid) in the initial pid namespace.
    pub pid: u32,
    /// Thread id in the initial pid namespace.
    pub tid: u32,
    /// Real user id in the initial user namespace.
    pub uid: u32,
    /// Real group id in the initial user namespace.
    pub gid: u32,
    /// Process id in the process's own (innermost) pid namespace; 0 if it could not be read.
    pub ns_pid: u32,
    /// Bits of [`missing`].
    pub missing: u32,
    /// A [`Hook`].
    pub hook: u16,
    /// The CPU that wrote the record.
    pub cpu: u16,
    /// [`STREAM_TASK`] or [`STREAM_SOCK`].
    pub stream: u8,
    /// A [`Phase`].
    pub phase: u8,
    /// Bits of [`task_flag`].
    pub task_flags: u16,
    /// Name of the acting thread as the thread or its parent set it: never evidence of the program.
    pub comm: [u8; 16],
}

/// Bits of [`EventHeader::task_flags`].
pub mod task_flag {
    /// The process was there before rei: it was found at attach.
    pub const PRESENT_AT_ATTACH: u16 = 1 << 0;
    /// The process left the scope's cgroup and is still followed.
    pub const LEFT_SCOPE: u16 = 1 << 1;
}

const _: () = assert!(size_of::<EventHeader>() == 2 + 2 + 4 + 5 * 8 + 6 * 4 + 2 + 2 + 1 + 1 + 2 + 16);
const _: () = assert!(align_of::<EventHeader>() == 8);
