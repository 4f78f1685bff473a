//! The entry and exit of every system call: whose is it, which is it, and who looks at it.
//!
//! These two programs run for every call of the host; the calls of unwatched processes end after one array access.
//! `tp_btf` and not the per-call tracepoints, because those never see 32-bit calls.

use aya_ebpf::macros::btf_tracepoint;
use aya_ebpf::programs::BtfTracePointContext;
use rei_ebpf_common::header::{EventKind, Phase};
use rei_ebpf_common::maps::{FAMILY_SLOTS, SYSCALL_SLOTS, ScopeState, socket_kind};
use rei_ebpf_common::syscall::{Class, compat_class, native_class};

use crate::kernel::{self, Typed, offset};
use crate::maps::{Call, EMPTY_CALL, INFLIGHT};
use crate::scope::{self, Followed};
use crate::{connect, emit, exec, open, table, task};

/// `TS_COMPAT`, arch/x86/include/asm/thread_info.h: the call in progress came by a 32-bit entry.
const TS_COMPAT: u32 = 0x0002;
/// The slot of the bitmaps that stands for every number beyond the table.
const BEYOND_TABLE: u32 = SYSCALL_SLOTS as u32 - 1;
/// `ENOSYS`, include/uapi/asm-generic/errno.h: the kernel has no such call, so nothing was used.
const ENOSYS: i64 = 38;
/// Bits of the type argument of `socket` that are the type (`SOCK_TYPE_MASK`), and two types.
const SOCK_TYPE_MASK: u32 = 0xf;
const SOCK_STREAM: u32 = 1;
const SOCK_DGRAM: u32 = 2;
/// Protocols whose addresses the sensors see: the family's usual one (0), TCP, MPTCP; UDP, UDP-Lite
/// (include/uapi/linux/in.h). An ICMP or SCTP socket has the type but not the way.
const STREAM_PROTOCOLS: [u32; 3] = [0, 6, 262];
const DGRAM_PROTOCOLS: [u32; 3] = [0, 17, 136];

/// A system call as its registers tell it.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    /// Number in its own table.
    pub(crate) number: u32,
    /// Whether that is the 32-bit table.
    pub(crate) compat: bool,
    /// What it is.
    pub(crate) class: Class,
    regs: Typed,
}

impl Request {
    #[inline(always)]
    fn new(task: Typed, regs: Typed) -> Option<Self> {
        // The kernel takes the low half of the register only (arch/x86/entry/entry_64.S: movslq %eax).
        let number = regs.load::<u64>(offset!(regs_orig_ax)) as u32;
        if number == u32::MAX {
            // rt_sigreturn leaves this where the number was.
            return None;
        }
        // A number beyond the table is one of the x32 table (bit 30 is set), or nonsense: it counts as such.
        let number = if number < BEYOND_TABLE {
            number
        } else {
            BEYOND_TABLE
        };
        let status: u32 = task.load(offset!(task_thread_status));
        let compat = status & TS_COMPAT != 0;
        let class = if compat {
            compat_class(number)
        } else {
            native_class(number)
        };
        Some(Request {
            number,
            compat,
            class,
            regs,
        })
    }

    /// Number and table in one word, as [`Call::number`] has it.
    #[inline(always)]
    pub(crate) fn tagged(&self) -> u32 {
        if self.compat {
            self.number | Call::COMPAT
        } else {
            self.number
        }
    }

    /// Argument 0 to 4. The registers are those of the entry; the kernel does not change them.
    #[inline(always)]
    pub(crate) fn argument(&self, index: usize) -> u64 {
        if self.compat {
            let value: u64 = match index {
                0 => self.regs.load(offset!(regs_bx)),
                1 => self.regs.load(offset!(regs_cx)),
                2 => self.regs.load(offset!(regs_dx)),
                3 => self.regs.load(offset!(regs_si)),
                _ => self.regs.load(offset!(regs_di)),
            };
            return value & 0xffff_ffff;
        }
        match index {
            0 => self.regs.load(offset!(regs_di)),
            1 => self.regs.load(offset!(regs_si)),
            2 => self.regs.load(offset!(regs_dx)),
            3 => self.regs.load(offset!(regs_r10)),
            _ => self.regs.load(offset!(regs_r8)),
        }
    }
}

/// A system call begins.
#[btf_tracepoint(function = "sys_enter")]
pub(crate) fn sys_enter(context: BtfTracePointContext) -> i32 {
    try_enter(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_enter(context: &BtfTracePointContext) -> Option<()> {
    let task = Typed::current();
    let followed = scope::followed(task)?;
    let request = Request::new(task, Typed::argument(context, 0))?;
    let kind = match request.class {
        Class::Other | Class::Socket => return None,
        Class::Recvmsg => return note_receive(task, &followed, &request),
        Class::Close | Class::DupTo | Class::CloseRange if table::shared(task) == 0 => return None,
        Class::Connect => EventKind::Connect,
        Class::Execve | Class::Execveat => EventKind::ExecAttempt,
        _ => EventKind::Open,
    };
    let call = begin_call(task, &followed, kind)?;
    call.entry_ns = kernel::boot_ns();
    call.number = request.tagged();
    call.table_shared = u32::from(table::shared(task) != 0);
    call.text_len = 0;
    call.source = 0;
    call.socket = 0;
    call.slot_table = 0;
    match request.class {
        Class::Connect => connect::enter(call, &request),
        Class::Execve | Class::Execveat => exec::enter(task, call, &request),
        Class::Close | Class::DupTo | Class::CloseRange => {
            let arguments = [request.argument(0), request.argument(1), request.argument(2)];
            table::enter(task, call, request.class, arguments);
        }
        _ => open::enter(task, call, &request),
    }
    Some(())
}

/// The thread's entry in the map of calls in flight, made if it is not there.
#[inline(always)]
fn begin_call(task: Typed, followed: &Followed, kind: EventKind) -> Option<&'static mut Call> {
    let tid = task::tid(task);
    if INFLIGHT.get_ptr_mut(tid).is_none() {
        let empty = EMPTY_CALL.get(0)?;
        if INFLIGHT.insert(tid, empty, 0).is_err() {
            emit::count_map_full(followed.state.scope, kind);
            return None;
        }
    }
    call_of(tid)
}

/// The call that the thread has in flight, or had.
#[inline(always)]
pub(crate) fn call_of(tid: u32) -> Option<&'static mut Call> {
    let call = INFLIGHT.get_ptr_mut(tid)?;
    // SAFETY: the map returned the pointer; only the thread itself uses its entry, and removes it when it ends.
    Some(unsafe { &mut *call })
}

/// A system call returns.
#[btf_tracepoint(function = "sys_exit")]
pub(crate) fn sys_exit(context: BtfTracePointContext) -> i32 {
    try_exit(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_exit(context: &BtfTracePointContext) -> Option<()> {
    let task = Typed::current();
    let followed = scope::followed(task)?;
    let request = Request::new(task, Typed::argument(context, 0))?;
    let result: i64 = context.arg(1);
    if matches!(request.class, Class::Other) {
        return note_use(&followed, &request, result);
    }
    let call = call_of(task::tid(task));
    let call = call.filter(|call| call.entry_ns != 0 && call.number == request.tagged());
    if let (Class::Close | Class::DupTo | Class::CloseRange, Some(call)) = (request.class, &call) {
        // Even if the scope is forgotten meanwhile: a mark that is never taken back would cast doubt for ever.
        table::exit(call, request.class, result);
    }
    note_use(&followed, &request, result)?;
    match request.class {
        Class::Connect => connect::exit(task, &followed, &request, call.as_deref(), result),
        Class::Execve | Class::Execveat => exec::exit(task, &followed, &request, call.as_deref(), result),
        Class::Recvmsg => note_receive(task, &followed, &request),
        Class::Close | Class::DupTo | Class::CloseRange | Class::Socket | Class::Other => Some(()),
        _ => open::exit(task, &followed, &request, call.as_deref(), result),
    };
    if let Some(call) = call_of(task::tid(task)) {
        call.entry_ns = 0;
    }
    Some(())
}

/// Notes that the scope used this call; the runtime's own preparations do not count. `None` if user space has forgotten the scope: then the process is not
/// followed any more either.
#[inline(always)]
fn note_use(followed: &Followed, request: &Request, result: i64) -> Option<()> {
    let Some(state) = scope::state(followed.state.scope) else {
        scope::unfollow(followed);
        return None;
    };
    if followed.state.phase == Phase::Runtime as u8 || result == -ENOSYS {
        return Some(());
    }
    match request.class {
        Class::Recvmsg => {}
        Class::Socket => {
            note_socket(state, request);
            mark(state, request);
        }
        _ => mark(state, request),
    }
    Some(())
}

#[inline(always)]
fn mark(state: &mut ScopeState, request: &Request) {
    let number = request.number as usize & (SYSCALL_SLOTS - 1);
    let used = if request.compat {
        &mut state.compat[number]
    } else {
        &mut state.native[number]
    };
    if *used == 0 {
        *used = 1;
    }
}

/// Notes what kind of socket was made. Family, type and protocol are ints: the kernel takes their low half.
#[inline(always)]
fn note_socket(state: &mut ScopeState, request: &Request) {
    let family = request.argument(0) as u32 as usize;
    let protocol = request.argument(2) as u32;
    let place = match request.argument(1) as u32 & SOCK_TYPE_MASK {
        SOCK_STREAM if is_one_of(protocol, STREAM_PROTOCOLS) => 0,
        SOCK_DGRAM if is_one_of(protocol, DGRAM_PROTOCOLS) => 1,
        _ => 2,
    };
    if family < FAMILY_SLOTS {
        state.sockets[family][place] = 1;
    }
}

const _: () =
    assert!(socket_kind::STREAM == 1 && socket_kind::DGRAM == 1 << 1 && socket_kind::OTHER == 1 << 2);

#[inline(always)]
fn is_one_of(protocol: u32, [first, second, third]: [u32; 3]) -> bool {
    protocol == first || protocol == second || protocol == third
}

/// Notes a receive that can bring descriptors: one on a unix socket. Other families cannot carry any, and programs
/// receive on them all the time. Asked at entry and at exit; where the table is shared the socket may be another one in
/// between, and the call counts in any case.
#[inline(always)]
fn note_receive(task: Typed, followed: &Followed, request: &Request) -> Option<()> {
    let state = scope::state(followed.state.scope)?;
    let fd = request.argument(0) as i32;
    if followed.state.phase != Phase::Runtime as u8
        && (table::shared(task) != 0 || connect::family_of(task, fd) == Some(connect::AF_UNIX))
    {
        mark(state, request);
    }
    Some(())
}
