//! The rows of the ambient table, each with what it is for and with its neighbours. `/proc/child` is another
//! process.

/// A row of the table: what is done to an object that it is for, and what is done beside it. An act is flags
/// (r and w for reading and writing, c create, t truncate, a append, d directory) and a path.
pub(crate) struct Row {
    pub(crate) pattern: &'static str,
    pub(crate) acts: &'static [Act],
    /// At least one of them succeeds on every machine.
    pub(crate) neighbours: &'static [Act],
}

pub(crate) type Act = (&'static str, &'static str);

const fn row(pattern: &'static str, acts: &'static [Act], neighbours: &'static [Act]) -> Row {
    Row {
        pattern,
        acts,
        neighbours,
    }
}

const DEVICES: [Row; 10] = [
    row("/dev/random", &[("r", "/dev/random")], &[("w", "/dev/random")]),
    row(
        "/dev/urandom",
        &[("r", "/dev/urandom")],
        &[("rw", "/dev/urandom"), ("r", "/dev/hwrng")],
    ),
    row(
        "/dev/null",
        &[("rw", "/dev/null"), ("wct", "/dev/null")],
        &[("wc", "/dev/nul")],
    ),
    row(
        "/dev/zero",
        &[("r", "/dev/zero"), ("wct", "/dev/zero")],
        &[("wc", "/dev/zero0")],
    ),
    row("/dev/full", &[("wct", "/dev/full")], &[("wc", "/dev/full0")]),
    row(
        "/dev/tty",
        &[("rw", "/dev/tty")],
        &[("wc", "/dev/tty0"), ("r", "/dev/tty1")],
    ),
    row(
        "/dev/console",
        &[("rw", "/dev/console")],
        &[("wc", "/dev/console0")],
    ),
    row(
        "/dev/pts/[0-9]*",
        &[("rw", "/dev/pts/0")],
        &[("rw", "/dev/pts/ptmx"), ("r", "/dev/pts/x")],
    ),
    // Its own object leads nowhere; the neighbour has such a name and is a file.
    row("/dev/std*", &[("r", "/dev/stdin")], &[("wc", "/dev/stdlog")]),
    row(
        r"pipe:\[*\]",
        &[("r", "fd:pipe"), ("wct", "fd:pipe")],
        &[("rw", "/data/pipe:[1]")],
    ),
];

const OWN: [Row; 19] = [
    row(
        "/proc/self/maps",
        &[("r", "/proc/self/maps")],
        &[
            ("r", PRIVILEGED[1]),
            ("r", "/proc/self/smaps"),
            ("w", "/proc/self/maps"),
        ],
    ),
    row(
        "/proc/self/status",
        &[("r", "/proc/self/status")],
        &[("r", "/proc/self/statm")],
    ),
    row(
        "/proc/self/stat",
        &[("r", "/proc/self/stat")],
        &[("w", "/proc/self/stat")],
    ),
    row(
        "/proc/self/fd",
        &[("rd", "/proc/self/fd")],
        &[("rd", "/proc/self/fdinfo")],
    ),
    row(
        "/proc/self/exe",
        &[("r", "/proc/self/exe")],
        &[("r", "/proc/self/environ")],
    ),
    row(
        "/proc/self/cmdline",
        &[("r", "/proc/self/cmdline")],
        &[("w", "/proc/self/cmdline")],
    ),
    row(
        "/proc/self/comm",
        &[("r", "/proc/self/comm"), ("wct", "/proc/self/comm")],
        &[("r", "/proc/self/oom_score")],
    ),
    row(
        "/proc/self/task",
        &[("rd", "/proc/self/task")],
        &[("rd", "/proc/self/ns")],
    ),
    row(
        "/proc/self/task/[0-9]*",
        &[("rd", "/proc/self/task/1")],
        &[("rd", "/proc/self/task/1/ns")],
    ),
    row(
        "/proc/self/task/[0-9]*/comm",
        &[("r", "/proc/self/task/1/comm"), ("w", "/proc/thread-self/comm")],
        &[("r", "/proc/self/task/1/oom_score")],
    ),
    row(
        "/proc/self/task/[0-9]*/stat",
        &[("r", "/proc/self/task/1/stat")],
        &[("w", "/proc/self/task/1/stat")],
    ),
    row(
        "/proc/self/task/[0-9]*/status",
        &[("r", "/proc/self/task/1/status")],
        &[("r", "/proc/self/task/1/statm")],
    ),
    row(
        "/proc/self/task/[0-9]*/maps",
        &[("r", "/proc/self/task/1/maps")],
        &[("w", "/proc/self/task/1/maps")],
    ),
    row(
        "/proc/self/auxv",
        &[("r", "/proc/self/auxv")],
        &[("w", "/proc/self/auxv")],
    ),
    row(
        "/proc/self/mounts",
        &[("r", "/proc/self/mounts"), ("r", "/proc/mounts")],
        &[("r", "/proc/self/mountstats")],
    ),
    row(
        "/proc/self/mountinfo",
        &[("r", "/proc/self/mountinfo")],
        &[("w", "/proc/self/mountinfo")],
    ),
    row(
        "/proc/self/limits",
        &[("r", "/proc/self/limits")],
        &[("w", "/proc/self/limits")],
    ),
    row(
        "/proc/self/oom_score_adj",
        &[
            ("r", "/proc/self/oom_score_adj"),
            ("wct", "/proc/self/oom_score_adj"),
        ],
        &[("r", "/proc/self/oom_adj")],
    ),
    row(
        "/proc/self/cgroup",
        &[("r", "/proc/self/cgroup")],
        &[("r", "/proc/self/net/dev")],
    ),
];

const MACHINE: [Row; 10] = [
    row(
        "/proc/meminfo",
        &[("r", "/proc/meminfo")],
        &[("r", "/proc/vmstat")],
    ),
    row(
        "/proc/cpuinfo",
        &[("r", "/proc/cpuinfo")],
        &[("r", "/proc/version")],
    ),
    row(
        "/proc/stat",
        &[("r", "/proc/stat")],
        &[("r", "/proc/uptime"), ("r", "/proc/1/stat/x")],
    ),
    row(
        "/proc/filesystems",
        &[("r", "/proc/filesystems")],
        &[("r", "/proc/devices")],
    ),
    row(
        "/proc/version_signature",
        &[("r", "/proc/version_signature")],
        &[("r", "/proc/cmdline")],
    ),
    row(
        "/proc/sys/kernel/ngroups_max",
        &[("r", "/proc/sys/kernel/ngroups_max")],
        &[("r", "/proc/sys/kernel/hostname")],
    ),
    row(
        "/proc/sys/vm/overcommit_memory",
        &[("r", "/proc/sys/vm/overcommit_memory")],
        &[("r", "/proc/sys/vm/overcommit_ratio")],
    ),
    row(
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        &[("r", "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")],
        &[("r", PRIVILEGED[0])],
    ),
    row(
        "/sys/devices/system/cpu/online",
        &[("r", "/sys/devices/system/cpu/online")],
        &[("r", "/sys/devices/system/cpu/offline")],
    ),
    row(
        "/sys/devices/system/cpu/possible",
        &[("r", "/sys/devices/system/cpu/possible")],
        &[
            ("r", "/sys/devices/system/cpu/present"),
            ("rd", "/sys/devices/system/cpu"),
        ],
    ),
];

/// The neighbours: one of cgroup v2, one of v1.
const LIMITS: [Row; 8] = [
    row(
        "/sys/fs/cgroup/**/cpu.max",
        &[("r", "/sys/fs/cgroup/cpu.max")],
        &[
            ("r", "/sys/fs/cgroup/cpu.stat"),
            ("r", "/sys/fs/cgroup/cpu/cpu.shares"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/memory.max",
        &[("r", "/sys/fs/cgroup/memory.max")],
        &[
            ("r", "/sys/fs/cgroup/memory.current"),
            ("r", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/memory.high",
        &[("r", "/sys/fs/cgroup/memory.high")],
        &[
            ("r", "/sys/fs/cgroup/memory.stat"),
            ("r", "/sys/fs/cgroup/memory/memory.stat"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/cpu.cfs_quota_us",
        &[("r", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us")],
        &[
            ("r", "/sys/fs/cgroup/cgroup.procs"),
            ("r", "/sys/fs/cgroup/cpu/tasks"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/cpu.cfs_period_us",
        &[("r", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")],
        &[
            ("r", "/sys/fs/cgroup/cgroup.stat"),
            ("r", "/sys/fs/cgroup/cpu/cpu.stat"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/memory.limit_in_bytes",
        &[("r", "/sys/fs/cgroup/memory/memory.limit_in_bytes")],
        &[
            ("r", "/sys/fs/cgroup/memory.events"),
            ("r", "/sys/fs/cgroup/memory/memory.failcnt"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/memory.soft_limit_in_bytes",
        &[("r", "/sys/fs/cgroup/memory/memory.soft_limit_in_bytes")],
        &[
            ("r", "/sys/fs/cgroup/memory.low"),
            ("r", "/sys/fs/cgroup/memory/memory.swappiness"),
        ],
    ),
    row(
        "/sys/fs/cgroup/**/cpuset.cpus.effective",
        &[("r", "/sys/fs/cgroup/cpuset.cpus.effective")],
        &[
            ("r", "/sys/fs/cgroup/cgroup.controllers"),
            ("r", "/sys/fs/cgroup/cpuset/cpuset.cpus"),
        ],
    ),
];

/// The neighbours are the same files on mounts that can be written.
const ZONES: [Row; 2] = [
    row(
        "/usr/share/zoneinfo/**",
        &[
            ("r", "/usr/share/zoneinfo/UTC"),
            ("rd", "/usr/share/zoneinfo"),
            ("r", "/usr/share/zoneinfo/No"),
        ],
        &[("r", "/usr/share/zoneinfo/UTC")],
    ),
    row(
        "/etc/localtime",
        &[("r", "/etc/localtime")],
        &[("r", "/etc/localtime")],
    ),
];

/// Neighbours to which the gate objects, too: the kernel's settings and another process.
pub(crate) const PRIVILEGED: [&str; 2] = ["/sys/kernel/mm/transparent_hugepage/enabled", "/proc/child/maps"];

/// Every row.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    DEVICES
        .iter()
        .chain(&OWN)
        .chain(&MACHINE)
        .chain(&LIMITS)
        .chain(&ZONES)
}
