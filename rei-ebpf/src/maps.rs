//! Every map, with its size and the reason for it.

use crate::emit::{Scratch, TEXT_ROOM};
use crate::table::Slot;
use aya_ebpf::macros::map;
use aya_ebpf::maps::{Array, HashMap, PerCpuArray, RingBuf};
use rei_ebpf_common::maps::{Control, CpuStats, ScopeState, TaskState, WATCHED_CHUNK};

/// `BPF_F_NO_PREALLOC`: memory only for what is there. Allowed in tracing programs since Linux 6.1.
const ON_DEMAND: u32 = 1;

/// Records on their way to user space. User space sets the size at load.
#[map]
pub(crate) static RING: RingBuf = RingBuf::with_byte_size(8 << 20, 0);

/// What user space tells us while we run.
#[map]
pub(crate) static CONTROL: Array<Control> = Array::with_max_entries(1, 0);

/// 1: the byte array `WATCHED` is not complete (processes were there before rei), look every process up.
#[map]
pub(crate) static CHECK_ALL: Array<u32> = Array::with_max_entries(1, 0);

/// cgroup v2 id → scope. A container rarely has more than a handful; a host thousands of containers.
#[map]
pub(crate) static CGROUPS: HashMap<u64, u64> = HashMap::with_max_entries(16_384, ON_DEMAND);

/// Scope → what is known of it.
#[map]
pub(crate) static SCOPES: HashMap<u64, ScopeState> = HashMap::with_max_entries(4_096, ON_DEMAND);

/// Scopes that hold a plain command (no container runtime).
#[map]
pub(crate) static PLAIN: HashMap<u64, u32> = HashMap::with_max_entries(64, ON_DEMAND);

/// Followed processes. The kernel's default pid_max is 32,768 on small machines, 4 million under systemd; nobody
/// runs that many in containers, and one that finds no room is a counted loss.
#[map]
pub(crate) static TASKS: HashMap<u32, TaskState> = HashMap::with_max_entries(131_072, ON_DEMAND);

/// One byte per pid, so that the calls of unwatched processes cost one array access. User space sets the number of
/// elements from pid_max; a pid beyond it is looked up in `TASKS`.
#[map]
pub(crate) static WATCHED: Array<[u8; WATCHED_CHUNK]> = Array::with_max_entries(8, 0);

/// One buffer per CPU in which a record is put together: it is wider than the BPF stack. (A per-CPU map's values end
/// at 32 KiB.) User space sets the number from the possible CPUs.
#[map]
pub(crate) static SCRATCH: Array<Scratch> = Array::with_max_entries(2, 0);

/// Sequence numbers and losses of each CPU.
#[map]
pub(crate) static CPU_STATS: PerCpuArray<CpuStats> = PerCpuArray::with_max_entries(1, 0);

/// Recent changes of shared descriptor tables, see `table`.
#[map]
pub(crate) static TABLE_SLOTS: Array<Slot> = Array::with_max_entries(crate::table::SLOTS, 0);

/// Thread → what it asked for. One entry per thread of a scope that has made such a call; it goes with the thread.
#[map]
pub(crate) static INFLIGHT: HashMap<u32, Call> = HashMap::with_max_entries(65_536, ON_DEMAND);

/// An empty [`Call`] to insert: it is wider than the stack.
#[map]
pub(crate) static EMPTY_CALL: Array<Call> = Array::with_max_entries(1, 0);

/// A call between its entry and its exit.
#[repr(C)]
pub(crate) struct Call {
    /// `boot_ns` of the entry; 0 while no call is in flight.
    pub(crate) entry_ns: u64,
    /// Number in the call's own table, plus [`Call::COMPAT`].
    pub(crate) number: u32,
    /// 1: the descriptor table was shared at entry.
    pub(crate) table_shared: u32,
    /// Base directory entry at entry (kernel pointer, only ever compared).
    pub(crate) base_dentry: u64,
    /// `open_how` of openat2: flags, mode, resolve.
    pub(crate) how: [u64; 3],
    /// Socket that a cgroup hook saw (kernel pointer, read at exit).
    pub(crate) socket: u64,
    /// Address that a hook saw.
    pub(crate) address: [u8; 16],
    /// Its port in host byte order.
    pub(crate) port: u32,
    /// Its family.
    pub(crate) family: u16,
    /// The socket's type.
    pub(crate) socket_type: u16,
    /// The socket's protocol.
    pub(crate) protocol: u32,
    /// One of `address_source`.
    pub(crate) source: u32,
    /// Bytes of `text`, its NUL included; 0 if it could not be read.
    pub(crate) text_len: u32,
    /// Descriptor whose table slot this call holds, see `table`; -1 for none.
    pub(crate) slot_fd: i32,
    /// 1: `how` was read.
    pub(crate) how_read: u32,
    /// Descriptor table (kernel pointer) that the slot belongs to.
    pub(crate) slot_table: u64,
    /// Argument text or socket address at entry.
    pub(crate) text: [u8; TEXT_ROOM],
}

impl Call {
    /// Marks a number of the 32-bit table.
    pub(crate) const COMPAT: u32 = 1 << 31;
}
