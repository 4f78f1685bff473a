//! What an open may do with the file: from the kernel's own modes where it succeeded, from the flags where it
//! failed.

use rei_ebpf_common::file::{FMODE_CREATED, FMODE_PATH, FMODE_READ, FMODE_WRITE, FileFacts};
use rei_ebpf_common::open::OpenBody;

/// Flags of open, x86-64 (and ia32, which has the same numbers): include/uapi/asm-generic/fcntl.h.
mod flag {
    pub(super) const WRONLY: u64 = 0o1;
    pub(super) const ACCMODE: u64 = 0o3;
    pub(super) const CREAT: u64 = 0o100;
    pub(super) const TRUNC: u64 = 0o1000;
    pub(super) const APPEND: u64 = 0o2000;
    pub(super) const DIRECTORY: u64 = 0o200_000;
    pub(super) const PATH: u64 = 0o10_000_000;
    pub(super) const TMPFILE: u64 = 0o20_000_000;
}

/// `S_IFMT` and its values that matter here: include/uapi/linux/stat.h.
pub(super) mod file_type {
    pub(in super::super) const MASK: u32 = 0o170_000;
    pub(in super::super) const DIRECTORY: u32 = 0o040_000;
    pub(in super::super) const REGULAR: u32 = 0o100_000;
    pub(in super::super) const CHARACTER: u32 = 0o020_000;
    pub(in super::super) const BLOCK: u32 = 0o060_000;
}

/// One way of using a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Its content can be read.
    Read,
    /// Its content can be written.
    Write,
    /// This open made it (or was to make it).
    Create,
    /// This open cut it to nothing (or was to).
    Truncate,
    /// Writes go to its end.
    Append,
    /// It is a directory (or was to be one).
    Directory,
    /// `O_PATH`: a place, not its content.
    PathOnly,
}

impl Access {
    /// Every access, in the order of output.
    pub const ALL: [Access; 7] = [
        Access::Read,
        Access::Write,
        Access::Create,
        Access::Truncate,
        Access::Append,
        Access::Directory,
        Access::PathOnly,
    ];

    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Create => "create",
            Access::Truncate => "truncate",
            Access::Append => "append",
            Access::Directory => "directory",
            Access::PathOnly => "path_only",
        }
    }
}

/// A set of [`Access`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessSet(u8);

impl AccessSet {
    fn with(self, access: Access, included: bool) -> Self {
        if included {
            AccessSet(self.0 | 1 << access as u8)
        } else {
            self
        }
    }

    /// Whether `access` is one of them.
    #[must_use]
    pub fn has(self, access: Access) -> bool {
        self.0 & 1 << access as u8 != 0
    }

    /// Those that are in the set, in the order of output.
    pub fn iter(self) -> impl Iterator<Item = Access> {
        Access::ALL.into_iter().filter(move |access| self.has(*access))
    }

    /// Whether the file's content or existence is changed.
    #[must_use]
    pub fn changes(self) -> bool {
        [Access::Write, Access::Create, Access::Truncate, Access::Append]
            .into_iter()
            .any(|access| self.has(access))
    }

    /// Of an open that succeeded.
    pub(super) fn granted(open: &OpenBody) -> Self {
        let FileFacts {
            f_mode,
            f_flags,
            mode,
            ..
        } = open.file;
        if f_mode & FMODE_PATH != 0 {
            return AccessSet::default().with(Access::PathOnly, true);
        }
        let is_directory = mode & file_type::MASK == file_type::DIRECTORY;
        let is_regular = mode & file_type::MASK == file_type::REGULAR;
        let is_new = f_mode & FMODE_CREATED != 0 || (open.asked_flags & flag::TMPFILE != 0 && is_regular);
        AccessSet::default()
            .with(Access::Read, f_mode & FMODE_READ != 0)
            .with(Access::Write, f_mode & FMODE_WRITE != 0)
            .with(Access::Create, is_new)
            // Linux truncates for O_RDONLY | O_TRUNC too (it asks for the permission to write).
            .with(
                Access::Truncate,
                open.asked_flags & flag::TRUNC != 0 && is_regular && !is_new,
            )
            .with(Access::Append, u64::from(f_flags) & flag::APPEND != 0)
            .with(Access::Directory, is_directory)
    }

    /// Of an open that failed: what was asked for.
    pub(super) fn asked(flags: u64) -> Self {
        if flags & flag::PATH != 0 {
            return AccessSet::default().with(Access::PathOnly, true);
        }
        let mode = flags & flag::ACCMODE;
        let is_temporary = flags & flag::TMPFILE != 0;
        AccessSet::default()
            .with(Access::Read, mode != flag::WRONLY)
            .with(Access::Write, mode != 0)
            .with(Access::Create, flags & flag::CREAT != 0 || is_temporary)
            .with(Access::Truncate, flags & flag::TRUNC != 0)
            .with(Access::Append, flags & flag::APPEND != 0)
            .with(Access::Directory, flags & flag::DIRECTORY != 0 && !is_temporary)
    }
}

impl FromIterator<Access> for AccessSet {
    fn from_iter<I: IntoIterator<Item = Access>>(accesses: I) -> Self {
        accesses
            .into_iter()
            .fold(AccessSet::default(), |set, access| set.with(access, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(set: AccessSet) -> Vec<&'static str> {
        set.iter().map(Access::name).collect()
    }

    fn granted(f_mode: u32, f_flags: u32, mode: u32, asked_flags: u64) -> Vec<&'static str> {
        let file = FileFacts {
            f_mode,
            f_flags,
            mode,
            ..FileFacts::default()
        };
        names(AccessSet::granted(&OpenBody {
            file,
            asked_flags,
            ..OpenBody::default()
        }))
    }

    #[test]
    fn success_is_what_the_kernel_granted() {
        let regular = 0o100_644;
        assert_eq!(granted(FMODE_READ, 0, regular, 0), ["read"]);
        assert_eq!(
            granted(FMODE_READ | FMODE_WRITE, 0o2000, regular, 0o2002),
            ["read", "write", "append"]
        );
        assert_eq!(granted(FMODE_WRITE, 0, regular, 0o1101), ["write", "truncate"]);
        assert_eq!(
            granted(FMODE_WRITE | FMODE_CREATED, 0, regular, 0o1101),
            ["write", "create"]
        );
        assert_eq!(granted(FMODE_READ, 0, regular, 0o1000), ["read", "truncate"]);
        assert_eq!(granted(FMODE_WRITE, 0, 0o020_666, 0o1001), ["write"]);
        assert_eq!(
            granted(FMODE_READ, 0, 0o040_755, 0o200_000),
            ["read", "directory"]
        );
        assert_eq!(granted(FMODE_PATH, 0, regular, 0o10_000_002), ["path_only"]);
        assert_eq!(
            granted(FMODE_WRITE, 0, regular, 0o20_200_001),
            ["write", "create"]
        );
        // The flags that were asked for do not make a read a write.
        assert_eq!(granted(FMODE_READ, 0, regular, 0o2), ["read"]);
    }

    #[test]
    fn failure_is_what_was_asked() {
        let table: [(u64, &[&str]); 7] = [
            (0, &["read"]),
            (0o1, &["write"]),
            (0o2, &["read", "write"]),
            (0o1101, &["write", "create", "truncate"]),
            (0o202_000, &["read", "append", "directory"]),
            (0o10_000_000, &["path_only"]),
            (0o20_200_002, &["read", "write", "create"]),
        ];
        for (flags, expected) in table {
            assert_eq!(names(AccessSet::asked(flags)), expected, "{flags:o}");
        }
        assert!(AccessSet::asked(0o1000).changes());
        assert!(!AccessSet::asked(0o200_000).changes());
    }
}
