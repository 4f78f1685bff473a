//! Processes that begin and end.

use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;
use rei_ebpf_common::header::{EventKind, Hook, Phase, task_flag};
use rei_ebpf_common::maps::TaskState;
use rei_ebpf_common::process::{ExitBody, ForkBody};
use rei_ebpf_common::scope::moved;

use crate::emit::{Actor, Record};
use crate::kernel::{Typed, offset};
use crate::maps::INFLIGHT;
use crate::scope::{self, Followed};
use crate::{calls, table, task};

/// A task was created and does not run yet.
#[btf_tracepoint(function = "sched_process_fork")]
pub(crate) fn sched_process_fork(context: BtfTracePointContext) -> i32 {
    try_fork(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_fork(context: &BtfTracePointContext) -> Option<()> {
    let parent = Typed::argument(context, 0);
    let child = Typed::argument(context, 1);
    let child_pid = task::pid(child);
    if child_pid == task::pid(parent) {
        return None;
    }
    match scope::followed(parent) {
        Some(followed) if scope::state(followed.state.scope).is_some() => {
            fork_of_followed(parent, child, child_pid, &followed)
        }
        _ => born_into_scope(parent, child, child_pid),
    }
}

/// The child inherits everything, so that it is in scope before its first instruction.
#[inline(always)]
fn fork_of_followed(parent: Typed, child: Typed, child_pid: u32, followed: &Followed) -> Option<()> {
    let cgroup = task::cgroup(child);
    let left = scope::of_cgroup(cgroup) != Some(followed.state.scope);
    let ns_pid = task::ns_pid(child).number;
    let start_ns = task::start_ns(child);
    let mut task_flags = followed.state.task_flags & !(task_flag::PRESENT_AT_ATTACH | task_flag::LEFT_SCOPE);
    if left {
        task_flags |= task_flag::LEFT_SCOPE;
    }
    let state = TaskState {
        start_ns,
        ns_pid,
        task_flags,
        ..*followed.state
    };
    scope::follow(child_pid, &state, EventKind::Fork);
    let actor = Actor::new(parent, followed);
    let mut record = Record::<ForkBody>::begin(EventKind::Fork, Hook::SchedProcessFork, &actor)?;
    *record.body() = ForkBody {
        child_start_ns: start_ns,
        child_cgroup: cgroup,
        child_pid,
        child_ns_pid: ns_pid,
    };
    record.submit(&actor)
}

/// A child of an unfollowed process can be born into a scope: the runtime asked for it (`CLONE_INTO_CGROUP`), or the
/// parent was in the cgroup before rei and user space has not come to it yet.
#[inline(always)]
fn born_into_scope(parent: Typed, child: Typed, child_pid: u32) -> Option<()> {
    let cgroup = task::cgroup(child);
    let scope = scope::of_cgroup(cgroup)?;
    scope::state(scope)?;
    let mut state = scope::placed(child, parent, scope);
    if scope::of_cgroup(task::cgroup(parent)) == Some(scope) {
        state.phase = Phase::Workload as u8;
    }
    if !scope::follow(child_pid, &state, EventKind::TaskMoved) {
        return None;
    }
    let followed = scope::followed(child)?;
    scope::report_moved(child, &followed, cgroup, moved::PLACED)
}

/// A task ends.
#[btf_tracepoint(function = "sched_process_exit")]
pub(crate) fn sched_process_exit(context: BtfTracePointContext) -> i32 {
    try_exit(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_exit(context: &BtfTracePointContext) -> Option<()> {
    let ending = Typed::argument(context, 0);
    let tid = task::tid(ending);
    if let Some(call) = calls::call_of(tid) {
        if call.entry_ns != 0 {
            table::abandon(call);
        }
        let _it_is_there = INFLIGHT.remove(tid);
    }
    let followed = scope::followed(ending)?;
    let signal = ending.follow(offset!(task_signal));
    let living_threads: i32 = signal.load(offset!(signal_live));
    if living_threads > 0 {
        return None;
    }
    let actor = Actor::new(ending, &followed);
    let group_code: i32 = signal.load(offset!(signal_group_exit_code));
    let leader_code: i32 = ending
        .follow(offset!(task_group_leader))
        .load(offset!(task_exit_code));
    let status = if group_code != 0 { group_code } else { leader_code };
    // Two last threads on two CPUs may both see no living thread; only one of them removes the entry.
    if !scope::unfollow(&followed) {
        return None;
    }
    let mut record = Record::<ExitBody>::begin(EventKind::Exit, Hook::SchedProcessExit, &actor)?;
    *record.body() = ExitBody {
        status: status as u32,
        reserved: 0,
    };
    record.submit(&actor)
}
