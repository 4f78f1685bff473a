//! System calls that the kernel side tells apart, in both of the machine's tables.
//!
//! Numbers: arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl.

/// What the kernel side does with a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `open(path, flags, mode)`
    Open,
    /// `creat(path, mode)`
    Creat,
    /// `openat(dirfd, path, flags, mode)`
    Openat,
    /// `openat2(dirfd, path, how, size)`
    Openat2,
    /// `execve(path, argv, envp)`
    Execve,
    /// `execveat(dirfd, path, argv, envp, flags)`
    Execveat,
    /// `connect(fd, address, length)`
    Connect,
    /// `socket(family, type, protocol)`, `socketpair`
    Socket,
    /// `close(fd)`: changes the descriptor table.
    Close,
    /// `dup2(old, new)`, `dup3(old, new, flags)`: changes the descriptor table.
    DupTo,
    /// `close_range(first, last, flags)`: changes the descriptor table.
    CloseRange,
    /// `recvmsg(fd, message, flags)`, `recvmmsg`: may bring descriptors of other processes.
    Recvmsg,
    /// Nothing but the bitmap.
    Other,
}

/// Class of a native (64-bit) system call.
#[inline(always)]
#[must_use]
pub const fn native_class(number: u32) -> Class {
    match number {
        2 => Class::Open,
        85 => Class::Creat,
        257 => Class::Openat,
        437 => Class::Openat2,
        59 => Class::Execve,
        322 => Class::Execveat,
        42 => Class::Connect,
        41 | 53 => Class::Socket,
        3 => Class::Close,
        33 | 292 => Class::DupTo,
        436 => Class::CloseRange,
        47 | 299 => Class::Recvmsg,
        _ => Class::Other,
    }
}

/// Class of a 32-bit (ia32) system call.
#[inline(always)]
#[must_use]
pub const fn compat_class(number: u32) -> Class {
    match number {
        5 => Class::Open,
        8 => Class::Creat,
        295 => Class::Openat,
        437 => Class::Openat2,
        11 => Class::Execve,
        358 => Class::Execveat,
        362 => Class::Connect,
        359 | 360 => Class::Socket,
        6 => Class::Close,
        63 | 330 => Class::DupTo,
        436 => Class::CloseRange,
        337 | 372 | 417 => Class::Recvmsg,
        _ => Class::Other,
    }
}
