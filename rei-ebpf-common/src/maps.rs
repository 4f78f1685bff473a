//! Values of the maps that user space reads or writes.

use crate::header::{KIND_SLOTS, STREAMS};

/// Highest system call number that the bitmaps tell apart, plus one. Linux 6.18 ends below 480 in both tables.
pub const SYSCALL_SLOTS: usize = 512;
/// Highest address family that is told apart, plus one (`AF_MAX` is 46 in Linux 6.18).
pub const FAMILY_SLOTS: usize = 64;

/// Map `SCOPES`: what the kernel side knows of one watched cgroup tree. Key: cgroup v2 id of its root (u64).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeState {
    /// Events of this scope that found no room, by `EventKind as usize`.
    pub lost: [u64; KIND_SLOTS],
    /// `boot_ns` of the entrypoint exec; 0 before it.
    pub entrypoint_ns: u64,
    /// Processes of the scope that are alive and followed; those that were there before rei are not counted.
    pub processes: u64,
    /// 1 for each native system call that returned in this scope, the runtime's preparations and `ENOSYS` apart. The
    /// last slot stands for every number beyond the table (x32).
    pub native: [u8; SYSCALL_SLOTS],
    /// 1 for each 32-bit system call that returned in this scope.
    pub compat: [u8; SYSCALL_SLOTS],
    /// For each address family: 1 at the place of each of [`socket_kind`]'s bits that a socket was made of. A byte each,
    /// so that two threads on two CPUs cannot undo each other.
    pub sockets: [[u8; SOCKET_KINDS]; FAMILY_SLOTS],
}

impl ScopeState {
    /// Bits of [`socket_kind`]: what sockets of `family` were made.
    #[must_use]
    pub fn socket_kinds(&self, family: usize) -> u8 {
        let Some(places) = self.sockets.get(family) else {
            return 0;
        };
        let bits = places.iter().enumerate().filter(|(_, made)| **made != 0);
        bits.fold(0, |kinds, (place, _)| kinds | 1 << place)
    }
}

/// Places per family in [`ScopeState::sockets`]; the last is never used.
pub const SOCKET_KINDS: usize = 4;

/// Bits of [`ScopeState::socket_kinds`].
pub mod socket_kind {
    /// `SOCK_STREAM` of the family's usual protocol (TCP, MPTCP).
    pub const STREAM: u8 = 1 << 0;
    /// `SOCK_DGRAM` of the family's usual protocol (UDP, UDP-Lite).
    pub const DGRAM: u8 = 1 << 1;
    /// Any other type or protocol: raw, packet, seqpacket, ICMP, SCTP.
    pub const OTHER: u8 = 1 << 2;
}

/// Map `CPU_STATS` (per-CPU array, one slot).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuStats {
    /// Last sequence number that was given out, by stream.
    pub seq: [u64; STREAMS],
    /// Records that found no room in the ring, by `EventKind as usize`.
    pub ring_full: [u64; KIND_SLOTS],
    /// Processes or scopes that could not be followed because a map was full, by the kind that would have followed.
    pub map_full: [u64; KIND_SLOTS],
}

/// Map `TASKS`: a followed process. Key: pid (u32, tgid).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// The scope that it belongs to.
    pub scope: u64,
    /// Start of the process, `CLOCK_BOOTTIME` in nanoseconds; 0 where user space did not know it.
    pub start_ns: u64,
    /// Root directory entry (kernel pointer, only ever compared) of the runtime that placed the process; 0 = none.
    pub placed_root: u64,
    /// A [`crate::header::Phase`].
    pub phase: u8,
    /// Bits of [`task_state_flag`].
    pub state_flags: u8,
    /// Bits of [`crate::header::task_flag`].
    pub task_flags: u16,
    /// Process id in the process's own pid namespace; 0 where user space did not know it.
    pub ns_pid: u32,
}

/// Bits of [`TaskState::state_flags`].
pub mod task_state_flag {
    /// When the runtime phase ends for this process it becomes an operator, not the entrypoint.
    pub const OPERATOR_NEXT: u8 = 1 << 0;
    /// A plain command: its first exec is the entrypoint, whatever its root directory is.
    pub const PLAIN: u8 = 1 << 1;
}

/// Map `CONTROL` (array, one slot): what user space tells the kernel side while it runs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// 1: a new cgroup whose name is that of a container becomes a scope.
    pub arm_new_containers: u32,
    /// 1: only the container id in `expected` is armed.
    pub expect_one: u32,
    /// The 64 hexadecimal digits of the expected container id.
    pub expected: [u8; 32],
    /// The other half of them.
    pub expected_rest: [u8; 32],
}

/// Bytes per element of the map `WATCHED`, one per process id: 1 if the process is followed.
pub const WATCHED_CHUNK: usize = 4096;

const _: () =
    assert!(size_of::<ScopeState>() == KIND_SLOTS * 8 + 16 + 2 * SYSCALL_SLOTS + SOCKET_KINDS * FAMILY_SLOTS);
const _: () = assert!(size_of::<CpuStats>() == (STREAMS + 2 * KIND_SLOTS) * 8);
const _: () = assert!(size_of::<TaskState>() == 32);
const _: () = assert!(size_of::<Control>() == 72);
