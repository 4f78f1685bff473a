//! Programs that are executed, and attempts that are not.

use aya_ebpf::cty::{c_long, c_void};
use aya_ebpf::helpers::generated;
use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::FileFacts;
use rei_ebpf_common::header::{EventKind, Hook, missing};
use rei_ebpf_common::part::{
    ARGV_BYTES_MAX, ENV_BYTES_MAX, ENV_ENTRIES_MAX, ENV_NAME_MAX, PartTag, TEXT_BYTES_MAX,
};
use rei_ebpf_common::syscall::Class;

use crate::calls::Request;
use crate::emit::{Actor, Record, Scratch, WRITE_BYTES};
use crate::kernel::{self, Typed, offset, read};
use crate::maps::{Call, INFLIGHT};
use crate::scope::{self, Followed};
use crate::{file, open, path, task};

/// `AT_EMPTY_PATH`, `AT_EXECVE_CHECK`, include/uapi/linux/fcntl.h.
const AT_EMPTY_PATH: u64 = 0x1000;
const AT_EXECVE_CHECK: u64 = 0x1_0000;

/// State of the walk over the environment; it lives in the buffer, so that the verifier need not follow its values.
#[repr(C)]
pub(crate) struct EnvWalk {
    next: u64,
    end: u64,
    start: u64,
    /// 1 while a value longer than the window goes on.
    inside_value: u32,
    entries: u32,
}

/// A program was executed: the new image is in place and has not run yet.
#[btf_tracepoint(function = "sched_process_exec")]
pub(crate) fn sched_process_exec(context: BtfTracePointContext) -> i32 {
    try_exec(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_exec(context: &BtfTracePointContext) -> Option<()> {
    let task = Typed::argument(context, 0);
    let mut followed = scope::followed(task)?;
    scope::state(followed.state.scope)?;
    let old_tid: u32 = context.arg(1);
    let bprm = Typed::argument(context, 2);
    if old_tid != task::tid(task) {
        // The thread took over the leader's id; its own entry would never be removed.
        let _maybe_none = INFLIGHT.remove(old_tid);
    }
    let is_entrypoint = scope::exec_begins(task, &mut followed);
    let actor = Actor::new(task, &followed);
    let mut record = Record::<ExecBody>::begin(EventKind::Exec, Hook::SchedProcessExec, &actor)?;
    let mut body = facts(task, bprm, old_tid);
    if is_entrypoint {
        body.evidence |= evidence::ENTRYPOINT;
    }
    add_request(&mut record, task, bprm, &mut body);
    let mm = task.follow(offset!(task_mm));
    add_argv(record.scratch(), mm);
    add_env_names(record.scratch(), mm);
    let program: u64 = mm.follow(offset!(mm_exe_file)).address();
    body.file = file::describe(record.scratch(), task, program);
    *record.body() = body;
    record.submit(&actor)
}

#[inline(always)]
fn facts(task: Typed, bprm: Typed, old_tid: u32) -> ExecBody {
    let parent = task.follow(offset!(task_real_parent));
    let [_, _, euid, egid] = task::ids(task);
    let ns_pid = task::ns_pid(task);
    let mount_namespace = task::mount_namespace(task);
    ExecBody {
        file: FileFacts::default(),
        parent_start_ns: task::start_ns(parent),
        parent_pid: task::pid(parent),
        old_tid,
        argc: bprm.load::<i32>(offset!(bprm_argc)) as u32,
        envc: bprm.load::<i32>(offset!(bprm_envc)) as u32,
        euid,
        egid,
        mnt_ns: read(mount_namespace + offset!(mnt_namespace_inum)).unwrap_or(0),
        pid_ns: read(ns_pid.namespace + offset!(pid_namespace_inum)).unwrap_or(0),
        evidence: 0,
        pid_level: ns_pid.level,
    }
}

/// What exec was asked for, the interpreter of a script, and the working directory that a relative name starts from.
#[inline(always)]
fn add_request(record: &mut Record<ExecBody>, task: Typed, bprm: Typed, body: &mut ExecBody) {
    let filename: u64 = bprm.load(offset!(bprm_filename));
    let interp: u64 = bprm.load(offset!(bprm_interp));
    record.kernel_text(PartTag::Filename, filename, missing::TEXT_EXIT);
    if interp != filename {
        body.evidence |= evidence::SCRIPT;
        record.kernel_text(PartTag::Interp, interp, missing::TEXT_EXIT);
    }
    match file::base(task, file::AT_FDCWD, 0) {
        Some(base) => {
            path::add(record.scratch(), PartTag::Base, base, missing::BASE);
        }
        None => record.scratch().miss(missing::BASE),
    }
}

/// `argv` from the new image: nobody but the kernel has written there yet.
#[inline(always)]
fn add_argv(scratch: &mut Scratch, mm: Typed) {
    let from: u64 = mm.load(offset!(mm_arg_start));
    let to: u64 = mm.load(offset!(mm_arg_end));
    let mut len = to.wrapping_sub(from);
    if len > ARGV_BYTES_MAX as u64 {
        len = ARGV_BYTES_MAX as u64;
        scratch.miss(missing::ARGV_CUT);
    }
    let start = scratch.open_part();
    let pos = scratch.pos();
    let room = scratch.at(pos).cast::<c_void>();
    if kernel::read_user_into(from, room, len as u32) {
        scratch.set_pos(pos + len);
        scratch.close_part(start, PartTag::Argv);
    } else {
        scratch.set_pos(start);
        scratch.miss(missing::ARGV_UNREADABLE);
    }
}

/// The names of the environment. Values are passed over here and never leave the kernel.
#[inline(always)]
fn add_env_names(scratch: &mut Scratch, mm: Typed) {
    let next: u64 = mm.load(offset!(mm_env_start));
    let end: u64 = mm.load(offset!(mm_env_end));
    let start = scratch.open_part();
    let first = scratch.pos();
    scratch.env = EnvWalk {
        next,
        end,
        start: first,
        inside_value: 0,
        entries: 0,
    };
    walk_env(scratch);
    if scratch.env.next < scratch.env.end {
        scratch.miss(missing::ENV_CUT);
    }
    scratch.close_part(start, PartTag::EnvNames);
}

#[inline(never)]
fn walk_env(scratch: &mut Scratch) {
    // The helper takes a context on the stack only: a pointer to the pointer.
    let mut context: &mut Scratch = scratch;
    let callback: extern "C" fn(u64, &mut &mut Scratch) -> c_long = env_step;
    let callback = callback as *mut c_void;
    // SAFETY: the callback has the signature that bpf_loop calls, and the context outlives the call.
    unsafe { generated::bpf_loop(2 * ENV_ENTRIES_MAX as u32, callback, (&raw mut context).cast(), 0) };
}

/// Adds the name of one entry. Returns 1 to stop.
#[inline(never)]
extern "C" fn env_step(_index: u64, scratch: &mut &mut Scratch) -> c_long {
    if scratch.env.next >= scratch.env.end {
        return 1;
    }
    let pos = scratch.pos();
    if pos.wrapping_sub(scratch.env.start) > (ENV_BYTES_MAX - ENV_NAME_MAX) as u64
        || scratch.env.entries >= ENV_ENTRIES_MAX as u32
    {
        return 1;
    }
    let window = scratch.temp.as_mut_ptr().cast::<c_void>();
    let Some(len) = kernel::read_user_string(scratch.env.next, window, TEXT_BYTES_MAX as u32) else {
        scratch.miss(missing::ENV_UNREADABLE);
        return 1;
    };
    let is_name = scratch.env.inside_value == 0;
    scratch.env.next += u64::from(len);
    scratch.env.inside_value = 0;
    if len as usize == TEXT_BYTES_MAX {
        // The NUL that ends the window is the helper's, not the string's: the value may go on.
        scratch.env.next -= 1;
        scratch.env.inside_value = 1;
    }
    if is_name {
        scratch.env.entries += 1;
        add_env_name(scratch, pos);
    }
    0
}

#[inline(always)]
fn add_env_name(scratch: &mut Scratch, pos: u64) {
    let mut len = ENV_NAME_MAX - 1;
    for index in 0..ENV_NAME_MAX - 1 {
        let byte = scratch.temp[index];
        if byte == b'=' || byte == 0 {
            len = index;
            break;
        }
    }
    if len == ENV_NAME_MAX - 1 {
        scratch.miss(missing::ENV_CUT);
    }
    scratch.temp[len & (ENV_NAME_MAX - 1)] = 0;
    let from = scratch.temp.as_ptr() as u64;
    let to = scratch.at(pos).cast::<c_void>();
    if let Some(written) = kernel::read_string(from, to, ENV_NAME_MAX as u32) {
        scratch.set_pos(pos + u64::from(written));
    }
}

const _: () = assert!(ARGV_BYTES_MAX <= WRITE_BYTES && ENV_NAME_MAX <= WRITE_BYTES);

/// What an exec asks for, from its registers: directory, text, flags.
#[inline(always)]
fn asked(request: &Request) -> (i32, u64, u64) {
    match request.class {
        Class::Execveat => (
            request.argument(0) as i32,
            request.argument(1),
            request.argument(4),
        ),
        _ => (file::AT_FDCWD, request.argument(0), 0),
    }
}

/// Keeps what was asked, for the case that it fails.
#[inline(always)]
pub(crate) fn enter(task: Typed, call: &mut Call, request: &Request) {
    let (dirfd, text, _) = asked(request);
    open::keep_text(task, call, dirfd, text);
}

/// Reports an exec that failed, or that only asked. A successful one was reported by `sched_process_exec`.
#[inline(always)]
pub(crate) fn exit(
    task: Typed,
    followed: &Followed,
    request: &Request,
    call: Option<&Call>,
    result: i64,
) -> Option<()> {
    let (dirfd, text, flags) = asked(request);
    let is_check = flags & AT_EXECVE_CHECK != 0;
    if result == 0 && !is_check {
        return None;
    }
    let actor = Actor::new(task, followed);
    let mut record = Record::<ExecAttemptBody>::begin(EventKind::ExecAttempt, Hook::SysExit, &actor)?;
    let mut body = ExecAttemptBody {
        file: FileFacts::default(),
        ret: result,
        entry_ns: call.map_or(0, |call| call.entry_ns),
        dirfd,
        asked_flags: flags as u32,
        syscall: request.number,
        evidence: open::evidence_of(task, request, call),
    };
    if is_check {
        body.evidence |= evidence::EXEC_CHECK;
    }
    let opened = if flags & AT_EMPTY_PATH != 0 {
        file::of_descriptor(task, dirfd)
    } else {
        None
    };
    if let Some(opened) = opened {
        body.evidence |= evidence::EMPTY_PATH | open::contested(task, call, dirfd);
        body.file = file::describe(record.scratch(), task, opened);
    }
    body.evidence |= open::add_texts(&mut record, task, call, dirfd, text);
    *record.body() = body;
    record.submit(&actor)
}
