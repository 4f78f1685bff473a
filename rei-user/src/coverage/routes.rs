//! The table of routes that no sensor sees yet: system call numbers of both tables, and what each does in
//! plain words.
//!
//! Numbers: arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl. Left out because the bitmap cannot
//! tell them from harmless use: `ioctl` (a few commands open files or pass descriptors), `mmap` and
//! `mprotect` (executable memory), writing to descriptors that are already open. Metadata probes (stat,
//! access, readlink, getxattr) are not covered by design.

/// A way to reach or change something, in the words of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// System calls were not observed at all.
    SystemCalls,
    /// Programs that were executed.
    Exec,
    /// io_uring opens, connects and sends without a system call of its own for each.
    IoUring,
    /// Opens a file by handle or mount, or lets the kernel open it.
    Handle,
    /// Descriptors that come from another process.
    DescriptorPassing,
    /// Datagrams and packets whose destination no live sensor sees.
    Datagram,
    /// Connections that are begun by a send.
    FastOpen,
    /// Connections that come in.
    Accept,
    /// Names of files are changed.
    PathChange,
    /// Size, owner, mode, times or attributes of files are changed.
    AttributeChange,
    /// Mounts and root directories are changed.
    Mount,
    /// Another process's memory or descriptors are reached.
    OtherProcess,
    /// Another namespace is made or entered.
    Namespace,
    /// Code is loaded into the kernel.
    KernelCode,
    /// Files that have no name in any directory.
    MemoryFile,
    /// `openat`, `connect`, `execve` and their like, by an entry that no live sensor decodes.
    ForeignEntry,
}

impl Route {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Route::SystemCalls => "system_calls",
            Route::Exec => "exec",
            Route::IoUring => "io_uring",
            Route::Handle => "handle",
            Route::DescriptorPassing => "descriptor_passing",
            Route::Datagram => "datagram",
            Route::FastOpen => "fast_open",
            Route::Accept => "accept",
            Route::PathChange => "path_change",
            Route::AttributeChange => "attribute_change",
            Route::Mount => "mount",
            Route::OtherProcess => "other_process",
            Route::Namespace => "namespace",
            Route::KernelCode => "kernel_code",
            Route::MemoryFile => "memory_file",
            Route::ForeignEntry => "foreign_entry",
        }
    }

    /// What may have gone unseen, in plain words: the bitmaps know that a call returned, not that it
    /// succeeded.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Route::SystemCalls => "system calls were not observed, so no route can be ruled out",
            Route::Exec => "programs may have been executed: which ones was not seen",
            Route::IoUring => "io_uring may have opened files or contacted addresses: not seen",
            Route::Handle => {
                "files may have been opened by handle, by mount or by the kernel itself: not seen"
            }
            Route::DescriptorPassing => "descriptors may have been received from other processes: not seen",
            Route::Datagram => "datagrams or packets may have been sent: their destinations were not seen",
            Route::FastOpen => "connections may have been begun by a send (fast open): not seen",
            Route::Accept => "the container may have accepted connections: their peers were not seen",
            Route::PathChange => "files may have been made, renamed, linked or removed: not seen",
            Route::AttributeChange => {
                "size, owner, mode, times or attributes of files may have been changed: not seen"
            }
            Route::Mount => "mounts or root directories may have been changed: not seen",
            Route::OtherProcess => "another process may have been traced or its memory reached: not seen",
            Route::Namespace => "another namespace may have been made or entered: not seen",
            Route::KernelCode => "programs or modules may have been loaded into the kernel: not seen",
            Route::MemoryFile => "files without a name may have been made: only their execution is seen",
            Route::ForeignEntry => {
                "system calls came by an entry that is not decoded: what they did was not seen"
            }
        }
    }
}

/// One row: a system call that is a route, with its native and its 32-bit number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) syscall: &'static str,
    pub(super) native: Option<u16>,
    pub(super) compat: Option<u16>,
    pub(super) route: Route,
}

/// Both numbers are known.
const fn both(syscall: &'static str, native: u16, compat: u16, route: Route) -> Row {
    Row {
        syscall,
        native: Some(native),
        compat: Some(compat),
        route,
    }
}

/// The number is the same in both tables (all calls since Linux 5.1).
const fn same(syscall: &'static str, number: u16, route: Route) -> Row {
    both(syscall, number, number, route)
}

/// Only the 64-bit table has it.
const fn native(syscall: &'static str, number: u16, route: Route) -> Row {
    Row {
        syscall,
        native: Some(number),
        compat: None,
        route,
    }
}

/// Only the 32-bit table has it.
const fn compat(syscall: &'static str, number: u16, route: Route) -> Row {
    Row {
        syscall,
        native: None,
        compat: Some(number),
        route,
    }
}

/// Used at all, each of these is a gap. The kernel side marks `recvmsg` and its siblings only where they can
/// bring descriptors: on a unix socket, or on a socket that another thread may have exchanged. `clone` with
/// flags for new namespaces is not told from an ordinary one by its number, and is not here: what such a
/// child does is seen.
pub(super) const UNSEEN: &[Row] = &[
    same("io_uring_setup", 425, Route::IoUring),
    same("io_uring_enter", 426, Route::IoUring),
    same("io_uring_register", 427, Route::IoUring),
    both("open_by_handle_at", 304, 342, Route::Handle),
    same("open_tree", 428, Route::Handle),
    same("open_tree_attr", 467, Route::Handle),
    both("fanotify_init", 300, 338, Route::Handle),
    both("uselib", 134, 86, Route::Handle),
    both("acct", 163, 51, Route::Handle),
    both("swapon", 167, 87, Route::Handle),
    both("quotactl", 179, 131, Route::Handle),
    same("quotactl_fd", 443, Route::Handle),
    same("pidfd_getfd", 438, Route::DescriptorPassing),
    both("recvmsg", 47, 372, Route::DescriptorPassing),
    both("recvmmsg", 299, 337, Route::DescriptorPassing),
    compat("recvmmsg_time64", 417, Route::DescriptorPassing),
    native("accept", 43, Route::Accept),
    both("accept4", 288, 364, Route::Accept),
    both("listen", 50, 363, Route::Accept),
    compat("socketcall", 102, Route::ForeignEntry),
    both("rename", 82, 38, Route::PathChange),
    both("renameat", 264, 302, Route::PathChange),
    both("renameat2", 316, 353, Route::PathChange),
    both("unlink", 87, 10, Route::PathChange),
    both("unlinkat", 263, 301, Route::PathChange),
    both("link", 86, 9, Route::PathChange),
    both("linkat", 265, 303, Route::PathChange),
    both("symlink", 88, 83, Route::PathChange),
    both("symlinkat", 266, 304, Route::PathChange),
    both("mkdir", 83, 39, Route::PathChange),
    both("mkdirat", 258, 296, Route::PathChange),
    both("rmdir", 84, 40, Route::PathChange),
    both("mknod", 133, 14, Route::PathChange),
    both("mknodat", 259, 297, Route::PathChange),
    both("truncate", 76, 92, Route::AttributeChange),
    compat("truncate64", 193, Route::AttributeChange),
    both("ftruncate", 77, 93, Route::AttributeChange),
    compat("ftruncate64", 194, Route::AttributeChange),
    both("fallocate", 285, 324, Route::AttributeChange),
    both("chmod", 90, 15, Route::AttributeChange),
    both("fchmod", 91, 94, Route::AttributeChange),
    both("fchmodat", 268, 306, Route::AttributeChange),
    same("fchmodat2", 452, Route::AttributeChange),
    both("chown", 92, 182, Route::AttributeChange),
    both("fchown", 93, 95, Route::AttributeChange),
    both("lchown", 94, 16, Route::AttributeChange),
    compat("chown32", 212, Route::AttributeChange),
    compat("fchown32", 207, Route::AttributeChange),
    compat("lchown32", 198, Route::AttributeChange),
    both("fchownat", 260, 298, Route::AttributeChange),
    both("utime", 132, 30, Route::AttributeChange),
    both("utimes", 235, 271, Route::AttributeChange),
    both("futimesat", 261, 299, Route::AttributeChange),
    both("utimensat", 280, 320, Route::AttributeChange),
    compat("utimensat_time64", 412, Route::AttributeChange),
    both("setxattr", 188, 226, Route::AttributeChange),
    both("lsetxattr", 189, 227, Route::AttributeChange),
    both("fsetxattr", 190, 228, Route::AttributeChange),
    both("removexattr", 197, 235, Route::AttributeChange),
    both("lremovexattr", 198, 236, Route::AttributeChange),
    both("fremovexattr", 199, 237, Route::AttributeChange),
    same("setxattrat", 463, Route::AttributeChange),
    same("removexattrat", 466, Route::AttributeChange),
    same("file_setattr", 469, Route::AttributeChange),
    both("mount", 165, 21, Route::Mount),
    compat("umount", 22, Route::Mount),
    both("umount2", 166, 52, Route::Mount),
    same("move_mount", 429, Route::Mount),
    same("fsopen", 430, Route::Mount),
    same("fsconfig", 431, Route::Mount),
    same("fsmount", 432, Route::Mount),
    same("fspick", 433, Route::Mount),
    same("mount_setattr", 442, Route::Mount),
    both("pivot_root", 155, 217, Route::Mount),
    both("chroot", 161, 61, Route::Mount),
    both("ptrace", 101, 26, Route::OtherProcess),
    both("process_vm_readv", 310, 347, Route::OtherProcess),
    both("process_vm_writev", 311, 348, Route::OtherProcess),
    both("setns", 308, 346, Route::Namespace),
    both("unshare", 272, 310, Route::Namespace),
    both("bpf", 321, 357, Route::KernelCode),
    both("init_module", 175, 128, Route::KernelCode),
    both("finit_module", 313, 350, Route::KernelCode),
    both("delete_module", 176, 129, Route::KernelCode),
    both("kexec_load", 246, 283, Route::KernelCode),
    native("kexec_file_load", 320, Route::KernelCode),
    both("memfd_create", 319, 356, Route::MemoryFile),
    same("memfd_secret", 447, Route::MemoryFile),
];

/// Gaps only where a unix socket was made: its name is a file.
pub(super) const BINDS: &[Row] = &[both("bind", 49, 361, Route::PathChange)];

/// Gaps only where a socket was made whose destinations no live sensor sees.
pub(super) const SENDS: &[Row] = &[
    both("sendto", 44, 369, Route::Datagram),
    both("sendmsg", 46, 370, Route::Datagram),
    both("sendmmsg", 307, 345, Route::Datagram),
];
