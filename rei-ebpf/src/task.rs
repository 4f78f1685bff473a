//! Facts about a task.

use crate::kernel::{Typed, offset, read};

/// Thread id in the initial pid namespace.
#[inline(always)]
pub(crate) fn tid(task: Typed) -> u32 {
    task.load(offset!(task_pid))
}

/// Process id (tgid) in the initial pid namespace.
#[inline(always)]
pub(crate) fn pid(task: Typed) -> u32 {
    task.load(offset!(task_tgid))
}

/// Start of the process, `CLOCK_BOOTTIME` in nanoseconds.
#[inline(always)]
pub(crate) fn start_ns(task: Typed) -> u64 {
    task.follow(offset!(task_group_leader))
        .load(offset!(task_start_boottime))
}

/// cgroup v2 id of the task (include/linux/cgroup-defs.h: `css_set.dfl_cgrp` is the task's cgroup there).
#[inline(always)]
pub(crate) fn cgroup(task: Typed) -> u64 {
    let cgroup = task
        .follow(offset!(task_cgroups))
        .follow(offset!(css_set_dfl_cgrp));
    cgroup_id(cgroup)
}

/// Id of a cgroup: its kernfs node's id, the inode number of its directory.
#[inline(always)]
pub(crate) fn cgroup_id(cgroup: Typed) -> u64 {
    cgroup.follow(offset!(cgroup_kn)).load(offset!(kernfs_node_id))
}

/// Whether a cgroup belongs to the v2 hierarchy, whose id is 0 (kernel/cgroup/cgroup.c, `cgrp_dfl_root`).
#[inline(always)]
pub(crate) fn is_v2(cgroup: Typed) -> bool {
    let hierarchy: i32 = cgroup
        .follow(offset!(cgroup_root))
        .load(offset!(cgroup_root_hierarchy_id));
    hierarchy == 0
}

/// Directory entry of the task's root (a kernel pointer that is only ever compared); 0 if it has none.
#[inline(always)]
pub(crate) fn root_dentry(task: Typed) -> u64 {
    let fs = task.follow(offset!(task_fs)).address();
    if fs == 0 {
        return 0;
    }
    read(fs + offset!(fs_root) + offset!(path_dentry)).unwrap_or(0)
}

/// Process id and depth in the process's own pid namespace; zeroes if they cannot be read.
///
/// include/linux/pid.h: `numbers[level]`; `pids[PIDTYPE_TGID]` has index 1.
#[inline(always)]
pub(crate) fn ns_pid(task: Typed) -> NsPid {
    let signal = task.follow(offset!(task_signal)).address();
    let pid: u64 = read(signal + offset!(signal_pids) + 8).unwrap_or(0);
    if pid == 0 {
        return NsPid {
            number: 0,
            level: 0,
            namespace: 0,
        };
    }
    let level: u32 = read(pid + offset!(pid_level)).unwrap_or(0);
    let entry_bytes = offset!(upid_ns) + 8;
    let entry = pid + offset!(pid_numbers) + u64::from(level) * entry_bytes;
    let number: u32 = read(entry + offset!(upid_nr)).unwrap_or(0);
    let namespace: u64 = read(entry + offset!(upid_ns)).unwrap_or(0);
    NsPid {
        number,
        level,
        namespace,
    }
}

/// A process in its own pid namespace.
pub(crate) struct NsPid {
    /// Process id there.
    pub(crate) number: u32,
    /// Depth of the namespace, 0 = initial.
    pub(crate) level: u32,
    /// `struct pid_namespace`.
    pub(crate) namespace: u64,
}

/// User and group ids, in the order uid, gid, euid, egid, in the initial user namespace.
#[inline(always)]
pub(crate) fn ids(task: Typed) -> [u32; 4] {
    let cred = task.follow(offset!(task_cred));
    [
        cred.load(offset!(cred_uid)),
        cred.load(offset!(cred_gid)),
        cred.load(offset!(cred_euid)),
        cred.load(offset!(cred_egid)),
    ]
}

/// The task's name.
#[inline(always)]
pub(crate) fn comm(task: Typed) -> [u8; 16] {
    read(task.address() + offset!(task_comm)).unwrap_or([0; 16])
}

/// Mount namespace (a kernel pointer); 0 while the task exits.
#[inline(always)]
pub(crate) fn mount_namespace(task: Typed) -> u64 {
    let nsproxy = task.follow(offset!(task_nsproxy)).address();
    if nsproxy == 0 {
        return 0;
    }
    read(nsproxy + offset!(nsproxy_mnt_ns)).unwrap_or(0)
}
