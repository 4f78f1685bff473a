//! Programs that were executed, and attempts that were not.

use crate::file::FileFacts;

/// Body of [`crate::header::EventKind::Exec`]. Parts: `Path`, `Filename`, `Interp`, `Argv`, `EnvNames`, `Base` (the
/// working directory).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecBody {
    /// The program: `mm->exe_file`.
    pub file: FileFacts,
    /// Start of the parent process, `CLOCK_BOOTTIME` in nanoseconds.
    pub parent_start_ns: u64,
    /// Parent process (`real_parent`) in the initial pid namespace.
    pub parent_pid: u32,
    /// The thread that called exec (it becomes the leader).
    pub old_tid: u32,
    /// Number of arguments (`bprm->argc`).
    pub argc: u32,
    /// Number of environment entries (`bprm->envc`).
    pub envc: u32,
    /// Effective user id after the exec.
    pub euid: u32,
    /// Effective group id after the exec.
    pub egid: u32,
    /// Inode number of the mount namespace.
    pub mnt_ns: u32,
    /// Inode number of the pid namespace that the process was born in.
    pub pid_ns: u32,
    /// Bits of [`crate::evidence`].
    pub evidence: u32,
    /// Depth of the pid namespace that `ns_pid` belongs to (0 = initial).
    pub pid_level: u32,
}

/// Body of [`crate::header::EventKind::ExecAttempt`]. Parts: `TextEntry`, `TextExit`, `Base`, `Path`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecAttemptBody {
    /// The file behind the descriptor for `AT_EMPTY_PATH`, else zeroes (part `Path` is its path).
    pub file: FileFacts,
    /// Return value: minus errno, or 0 with [`crate::evidence::EXEC_CHECK`].
    pub ret: i64,
    /// `boot_ns` of the entry; 0 if it was not seen.
    pub entry_ns: u64,
    /// Directory descriptor, `AT_FDCWD` (-100) for execve.
    pub dirfd: i32,
    /// `AT_*` flags of execveat.
    pub asked_flags: u32,
    /// Number of the system call in its own table.
    pub syscall: u32,
    /// Bits of [`crate::evidence`].
    pub evidence: u32,
}

const _: () = assert!(size_of::<ExecBody>() == size_of::<FileFacts>() + 8 + 10 * 4);
const _: () = assert!(size_of::<ExecAttemptBody>() == size_of::<FileFacts>() + 2 * 8 + 4 * 4);
