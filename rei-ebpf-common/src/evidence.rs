//! Bits of the `evidence` fields: what is known about a call between its entry and its exit.

/// The entry of the call was seen (not so when seccomp answered it, or when rei attached in between).
pub const ENTRY_SEEN: u32 = 1 << 0;
/// The descriptor table is shared with another task.
pub const TABLE_SHARED: u32 = 1 << 1;
/// Another task changed this descriptor number in this table while the call was in flight.
pub const CONTESTED: u32 = 1 << 2;
/// The base directory at exit is not the one at entry.
pub const BASE_CHANGED: u32 = 1 << 3;
/// The call came by the 32-bit entry.
pub const COMPAT: u32 = 1 << 4;
/// `AT_EXECVE_CHECK`: the caller asked whether it might execute; nothing was executed.
pub const EXEC_CHECK: u32 = 1 << 5;
/// The call asked for `AT_EMPTY_PATH`.
pub const EMPTY_PATH: u32 = 1 << 6;
/// The program is a script: its last interpreter differs from what was asked for.
pub const SCRIPT: u32 = 1 << 7;
/// First workload exec of the scope: the entrypoint.
pub const ENTRYPOINT: u32 = 1 << 8;
