//! `open`, `openat`, `openat2`, `creat`.

use crate::file::FileFacts;

/// Body of [`crate::header::EventKind::Open`].
///
/// Success: `file` and part `Path` are the kernel's object, part `TextEntry` is what was asked (part `TextExit`
/// instead where the entry text could not be read). Failure: parts `TextEntry`, `TextExit` and `Base`; the base of
/// an absolute text is the thread's root directory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenBody {
    /// The opened file, or zeroes.
    pub file: FileFacts,
    /// Return value: the descriptor, or minus errno.
    pub ret: i64,
    /// `boot_ns` of the entry; 0 if it was not seen.
    pub entry_ns: u64,
    /// `flags` as asked for (`open_how.flags` for openat2).
    pub asked_flags: u64,
    /// `open_how.resolve` of openat2, else 0.
    pub resolve: u64,
    /// Mode as asked for.
    pub asked_mode: u32,
    /// Directory descriptor, `AT_FDCWD` (-100) for the calls without one.
    pub dirfd: i32,
    /// Number of the system call in its own table (see [`crate::evidence::COMPAT`]).
    pub syscall: u32,
    /// Bits of [`crate::evidence`].
    pub evidence: u32,
}

const _: () = assert!(size_of::<OpenBody>() == size_of::<FileFacts>() + 4 * 8 + 4 * 4);
