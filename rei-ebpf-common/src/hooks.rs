//! Every kernel-side program, the hook that it belongs to, and the sensor that it is part of. Used by both sides' tests.

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// `tp_btf/<name>`: a typed tracepoint; the string is the tracepoint's name in BTF.
    BtfTracepoint(&'static str),
    /// A `cgroup_sock_addr` program on the cgroup v2 root.
    CgroupSockAddr,
}

/// What a group of programs sees together. A run says of each sensor whether it was live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sensor {
    /// Which processes belong to a container: fork, exit, cgroup made and removed, process moved.
    Scope,
    /// Programs that were executed.
    Exec,
    /// System calls by entry and exit: open family, connect, failed exec, syscalls used.
    Syscalls,
    /// TCP connections by socket state.
    SocketState,
    /// Addresses by the kernel's own copy: connect and sendmsg, IPv4 and IPv6.
    CgroupAddress,
}

impl Sensor {
    /// Every sensor.
    pub const ALL: [Sensor; 5] = [
        Sensor::Scope,
        Sensor::Exec,
        Sensor::Syscalls,
        Sensor::SocketState,
        Sensor::CgroupAddress,
    ];

    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Sensor::Scope => "scope",
            Sensor::Exec => "exec",
            Sensor::Syscalls => "syscalls",
            Sensor::SocketState => "socket_state",
            Sensor::CgroupAddress => "cgroup_address",
        }
    }
}

/// One kernel-side program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the function in the object file.
    pub name: &'static str,
    /// Where it is attached.
    pub attach: Attach,
    /// The sensor that it is part of.
    pub sensor: Sensor,
}

/// The table. A unit test in rei-user compares it with the object file, both ways.
pub const PROGRAMS: [Program; 13] = [
    tracepoint("cgroup_mkdir", Sensor::Scope),
    tracepoint("cgroup_rmdir", Sensor::Scope),
    tracepoint("cgroup_attach_task", Sensor::Scope),
    tracepoint("sched_process_fork", Sensor::Scope),
    tracepoint("sched_process_exit", Sensor::Scope),
    tracepoint("sched_process_exec", Sensor::Exec),
    tracepoint("sys_enter", Sensor::Syscalls),
    tracepoint("sys_exit", Sensor::Syscalls),
    tracepoint("inet_sock_set_state", Sensor::SocketState),
    sock_addr("connect4"),
    sock_addr("connect6"),
    sock_addr("sendmsg4"),
    sock_addr("sendmsg6"),
];

const fn tracepoint(name: &'static str, sensor: Sensor) -> Program {
    Program {
        name,
        attach: Attach::BtfTracepoint(name),
        sensor,
    }
}

const fn sock_addr(name: &'static str) -> Program {
    Program {
        name,
        attach: Attach::CgroupSockAddr,
        sensor: Sensor::CgroupAddress,
    }
}
