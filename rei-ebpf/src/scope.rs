//! Is this task in a watched container? And how scope grows: cgroup made, process forked, process moved.
//!
//! Scope belongs to processes, not to threads: the v2 hierarchy moves whole processes, and so an exec by a thread
//! that is not the leader changes nothing here. A process that was ever in scope stays in scope.

use core::arch::asm;

use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;
use rei_ebpf_common::header::{EventKind, Hook, KIND_SLOTS, Phase, task_flag};
use rei_ebpf_common::maps::{
    Control, FAMILY_SLOTS, SOCKET_KINDS, SYSCALL_SLOTS, ScopeState, TaskState, WATCHED_CHUNK, task_state_flag,
};
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::scope::{CgroupBody, TaskMovedBody, cgroup_flag, moved};

use crate::emit::{self, Actor, Record};
use crate::kernel::{self, Typed, offset};
use crate::maps::{CGROUPS, CHECK_ALL, CONTROL, PLAIN, SCOPES, TASKS, WATCHED};
use crate::task;

/// A followed process: its pid and its state in the map.
pub(crate) struct Followed {
    /// Process id.
    pub(crate) pid: u32,
    /// Its state.
    pub(crate) state: &'static mut TaskState,
}

/// The state of `task`'s process, if it is followed. This runs for every system call of the host.
#[inline(always)]
pub(crate) fn followed(task: Typed) -> Option<Followed> {
    let pid = task::pid(task);
    if !is_watched(pid) {
        return None;
    }
    followed_pid(pid)
}

#[inline(always)]
fn followed_pid(pid: u32) -> Option<Followed> {
    let state = TASKS.get_ptr_mut(pid)?;
    // SAFETY: the map returned the pointer for this process; entries are only removed when the process ends or its
    // scope is forgotten, and the kernel frees them after a grace period that outlasts this program.
    let state = unsafe { &mut *state };
    Some(Followed { pid, state })
}

#[inline(always)]
fn is_watched(pid: u32) -> bool {
    match WATCHED.get(pid / WATCHED_CHUNK as u32) {
        Some(chunk) if chunk[pid as usize % WATCHED_CHUNK] != 0 => true,
        Some(_) => CHECK_ALL.get(0).is_some_and(|check| *check != 0),
        None => true,
    }
}

#[inline(always)]
fn set_watched(pid: u32, value: u8) {
    if let Some(chunk) = WATCHED.get_ptr_mut(pid / WATCHED_CHUNK as u32) {
        // SAFETY: the map returned the pointer; only the byte of this pid is written, through this one place.
        let chunk = unsafe { &mut *chunk };
        chunk[pid as usize % WATCHED_CHUNK] = value;
    }
}

/// The state of a scope, or `None` once user space has forgotten it.
#[inline(always)]
pub(crate) fn state(scope: u64) -> Option<&'static mut ScopeState> {
    let state = SCOPES.get_ptr_mut(scope)?;
    // SAFETY: the map returned the pointer; the kernel frees a removed entry after a grace period that outlasts this
    // program. Fields are single bytes or counters that are only added to.
    Some(unsafe { &mut *state })
}

/// Adds `amount` (two's complement) to a counter that other CPUs change too.
#[inline(always)]
pub(crate) fn add(counter: &mut u64, amount: u64) {
    let counter: *mut u64 = counter;
    // SAFETY: one atomic addition (BPF_ATOMIC | BPF_ADD) on an aligned u64 that the reference keeps alive. Rust's own
    // atomics are not there for targets without compare-and-swap.
    unsafe { asm!("lock *(u64 *)({0} + 0) += {1}", in(reg) counter, in(reg) amount, options(nostack)) };
}

/// Starts to follow a process; false (and a counted loss) if there is no room.
#[inline(always)]
pub(crate) fn follow(pid: u32, new: &TaskState, kind: EventKind) -> bool {
    if TASKS.insert(pid, new, 0).is_err() {
        emit::count_map_full(new.scope, kind);
        return false;
    }
    set_watched(pid, 1);
    if let Some(scope) = state(new.scope) {
        add(&mut scope.processes, 1);
    }
    true
}

/// Ends to follow a process; false if it was not followed (any more).
#[inline(always)]
pub(crate) fn unfollow(followed: &Followed) -> bool {
    let is_counted = followed.state.task_flags & task_flag::PRESENT_AT_ATTACH == 0;
    let scope = followed.state.scope;
    if TASKS.remove(followed.pid).is_err() {
        return false;
    }
    set_watched(followed.pid, 0);
    if is_counted && let Some(scope) = state(scope) {
        add(&mut scope.processes, u64::MAX);
    }
    true
}

/// The scope that a cgroup belongs to.
#[inline(always)]
pub(crate) fn of_cgroup(cgroup: u64) -> Option<u64> {
    // SAFETY: the value is copied at once, and user space never changes a value in place.
    unsafe { CGROUPS.get(cgroup) }.copied()
}

/// State of a process that `mover` (the runtime, or rei itself) puts into a scope. The mover's root directory is the
/// runtime's own; the process itself may have entered the container's mounts already (`runc exec` does that first).
#[inline(always)]
pub(crate) fn placed(task: Typed, mover: Typed, scope: u64) -> TaskState {
    let plain = PLAIN.get_ptr(scope).is_some();
    let began = state(scope).is_some_and(|scope| scope.entrypoint_ns != 0);
    let mut state_flags = 0;
    if plain {
        state_flags |= task_state_flag::PLAIN;
    }
    if began && !plain {
        state_flags |= task_state_flag::OPERATOR_NEXT;
    }
    TaskState {
        scope,
        start_ns: task::start_ns(task),
        placed_root: task::root_dentry(mover),
        phase: Phase::Runtime as u8,
        state_flags,
        task_flags: 0,
        ns_pid: task::ns_pid(task).number,
    }
}

/// Called for each exec of a followed process: where the runtime's work ends, and what begins then.
/// True if this exec is the scope's entrypoint.
#[inline(always)]
pub(crate) fn exec_begins(task: Typed, followed: &mut Followed) -> bool {
    if followed.state.phase != Phase::Runtime as u8 {
        return false;
    }
    let plain = followed.state.state_flags & task_state_flag::PLAIN != 0;
    if !plain && task::root_dentry(task) == followed.state.placed_root {
        return false;
    }
    if followed.state.state_flags & task_state_flag::OPERATOR_NEXT != 0 {
        followed.state.phase = Phase::Operator as u8;
        return false;
    }
    followed.state.phase = Phase::Workload as u8;
    match state(followed.state.scope) {
        Some(scope) if scope.entrypoint_ns == 0 => {
            scope.entrypoint_ns = kernel::boot_ns();
            true
        }
        _ => false,
    }
}

/// A cgroup was made: inside a scope it belongs to it at once, before any process can be in it. While new containers
/// are awaited, one whose name is that of a container becomes a scope.
#[btf_tracepoint(function = "cgroup_mkdir")]
pub(crate) fn cgroup_mkdir(context: BtfTracePointContext) -> i32 {
    try_mkdir(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_mkdir(context: &BtfTracePointContext) -> Option<()> {
    let cgroup = Typed::argument(context, 0);
    if !task::is_v2(cgroup) {
        return None;
    }
    let id = task::cgroup_id(cgroup);
    let parent = parent_id(cgroup);
    let path: u64 = context.arg(1);
    let (scope, flags) = match of_cgroup(parent) {
        Some(scope) => (scope, 0),
        None => {
            let control = CONTROL.get(0)?;
            if control.arm_new_containers == 0 || !is_container(cgroup, control) {
                return None;
            }
            (id, cgroup_flag::NEW_SCOPE)
        }
    };
    let empty = &EMPTY_SCOPE;
    if flags & cgroup_flag::NEW_SCOPE != 0 && SCOPES.insert(scope, empty, 0).is_err() {
        emit::count_map_full(scope, EventKind::CgroupMade);
        return None;
    }
    if CGROUPS.insert(id, scope, 0).is_err() {
        emit::count_map_full(scope, EventKind::CgroupMade);
    }
    report_cgroup(
        EventKind::CgroupMade,
        Hook::CgroupMkdir,
        scope,
        path,
        CgroupBody {
            cgroup: id,
            parent,
            flags,
            level: cgroup.load(offset!(cgroup_level)),
        },
    )
}

static EMPTY_SCOPE: ScopeState = ScopeState {
    lost: [0; KIND_SLOTS],
    entrypoint_ns: 0,
    processes: 0,
    native: [0; SYSCALL_SLOTS],
    compat: [0; SYSCALL_SLOTS],
    sockets: [[0; SOCKET_KINDS]; FAMILY_SLOTS],
};

/// A cgroup is gone.
#[btf_tracepoint(function = "cgroup_rmdir")]
pub(crate) fn cgroup_rmdir(context: BtfTracePointContext) -> i32 {
    try_rmdir(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_rmdir(context: &BtfTracePointContext) -> Option<()> {
    let cgroup = Typed::argument(context, 0);
    if !task::is_v2(cgroup) {
        return None;
    }
    let id = task::cgroup_id(cgroup);
    let scope = of_cgroup(id)?;
    let _already_gone = CGROUPS.remove(id);
    report_cgroup(
        EventKind::CgroupRemoved,
        Hook::CgroupRmdir,
        scope,
        context.arg(1),
        CgroupBody {
            cgroup: id,
            parent: parent_id(cgroup),
            flags: 0,
            level: cgroup.load(offset!(cgroup_level)),
        },
    )
}

#[inline(always)]
fn report_cgroup(kind: EventKind, hook: Hook, scope: u64, path: u64, body: CgroupBody) -> Option<()> {
    let task = Typed::current();
    let actor = Actor::outside(task, scope);
    let mut record = Record::<CgroupBody>::begin(kind, hook, &actor)?;
    *record.body() = body;
    record.kernel_text(PartTag::CgroupPath, path, 0);
    record.submit(&actor)
}

/// Id of a cgroup's parent directory; 0 for the root.
#[inline(always)]
fn parent_id(cgroup: Typed) -> u64 {
    let parent = cgroup
        .follow(offset!(cgroup_kn))
        .follow(offset!(kernfs_node_parent))
        .address();
    if parent == 0 {
        return 0;
    }
    kernel::read(parent + offset!(kernfs_node_id)).unwrap_or(0)
}

/// Digits of a container id.
const ID_DIGITS: usize = 64;
/// Longest name of a directory (`NAME_MAX` and its NUL); the id stands at its end.
const NAME_BYTES: usize = 256;
/// What the systemd driver puts behind the id.
const SCOPE_SUFFIX: &[u8; 6] = b".scope";

/// Whether a cgroup's name ends in a container id: 64 hexadecimal digits, with `.scope` behind them or not. That is how
/// Docker, containerd and podman name a container's cgroup, whatever stands before.
#[inline(always)]
fn is_container(cgroup: Typed, control: &Control) -> bool {
    let mut text = [0u8; NAME_BYTES];
    let name: u64 = cgroup.follow(offset!(cgroup_kn)).load(offset!(kernfs_node_name));
    let Some(len) = kernel::read_string(name, text.as_mut_ptr().cast(), NAME_BYTES as u32) else {
        return false;
    };
    let mut end = len as usize - 1;
    if end >= SCOPE_SUFFIX.len() && end < NAME_BYTES {
        let start = end - SCOPE_SUFFIX.len();
        let mut same = true;
        for index in 0..SCOPE_SUFFIX.len() {
            same &= text[(start + index) & (NAME_BYTES - 1)] == SCOPE_SUFFIX[index];
        }
        if same {
            end = start;
        }
    }
    if !(ID_DIGITS..NAME_BYTES).contains(&end) {
        return false;
    }
    let start = end - ID_DIGITS;
    for index in 0..ID_DIGITS {
        let digit = text[(start + index) & (NAME_BYTES - 1)];
        let is_hex = digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        let expected = if index < 32 {
            control.expected[index]
        } else {
            control.expected_rest[index - 32]
        };
        if !is_hex || (control.expect_one != 0 && digit != expected) {
            return false;
        }
    }
    true
}

/// A process was moved to another cgroup.
#[btf_tracepoint(function = "cgroup_attach_task")]
pub(crate) fn cgroup_attach_task(context: BtfTracePointContext) -> i32 {
    try_attach(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_attach(context: &BtfTracePointContext) -> Option<()> {
    let cgroup = Typed::argument(context, 0);
    if !task::is_v2(cgroup) {
        return None;
    }
    let to_cgroup = task::cgroup_id(cgroup);
    let moved_task = Typed::argument(context, 2);
    let pid = task::pid(moved_task);
    let target = of_cgroup(to_cgroup);
    let what = match (followed_pid(pid), target) {
        (Some(known), _) if state(known.state.scope).is_none() => {
            unfollow(&known);
            return None;
        }
        (Some(known), Some(scope)) if scope == known.state.scope => {
            let had_left = known.state.task_flags & task_flag::LEFT_SCOPE != 0;
            known.state.task_flags &= !task_flag::LEFT_SCOPE;
            if had_left { moved::RETURNED } else { moved::WITHIN }
        }
        (Some(known), _) => {
            known.state.task_flags |= task_flag::LEFT_SCOPE;
            moved::LEFT
        }
        (None, Some(scope)) => {
            if !follow(
                pid,
                &placed(moved_task, Typed::current(), scope),
                EventKind::TaskMoved,
            ) {
                return None;
            }
            moved::PLACED
        }
        (None, None) => return None,
    };
    report_moved(moved_task, &followed_pid(pid)?, to_cgroup, what)
}

/// Reports that `moved_task` went to `to_cgroup`.
#[inline(always)]
pub(crate) fn report_moved(moved_task: Typed, followed: &Followed, to_cgroup: u64, what: u32) -> Option<()> {
    let actor = Actor::new(moved_task, followed);
    let mut record = Record::<TaskMovedBody>::begin(EventKind::TaskMoved, Hook::CgroupAttachTask, &actor)?;
    *record.body() = TaskMovedBody {
        to_cgroup,
        mover_pid: task::pid(Typed::current()),
        what,
    };
    record.submit(&actor)
}
