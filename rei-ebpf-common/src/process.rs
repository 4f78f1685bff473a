//! Processes that begin and end.

/// Body of [`crate::header::EventKind::Fork`]; the header names the parent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForkBody {
    /// Start of the child, `CLOCK_BOOTTIME` in nanoseconds.
    pub child_start_ns: u64,
    /// cgroup v2 id that the child was born into.
    pub child_cgroup: u64,
    /// Child in the initial pid namespace.
    pub child_pid: u32,
    /// Child in its own (innermost) pid namespace.
    pub child_ns_pid: u32,
}

/// Body of [`crate::header::EventKind::Exit`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitBody {
    /// Wait status as `wait4` would give it: code << 8 | signal.
    pub status: u32,
    /// Zero.
    pub reserved: u32,
}

const _: () = assert!(size_of::<ForkBody>() == 24);
const _: () = assert!(size_of::<ExitBody>() == 8);
