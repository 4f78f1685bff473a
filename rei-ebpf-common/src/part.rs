//! The variable tail of a record: named byte strings, one after the other.

/// Head of one part. The bytes follow directly; the next part starts at the next multiple of 8.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// A [`PartTag`].
    pub tag: u16,
    /// Meaning depends on the tag; zero where nothing is said.
    pub flags: u16,
    /// Bytes that follow, padding not counted.
    pub len_bytes: u32,
}

const _: () = assert!(size_of::<PartHeader>() == 8);

/// What the bytes of a part are. The numbers are the wire format.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartTag {
    /// Path components of the object from leaf to root, each ended by NUL.
    Path = 1,
    /// The same for the base directory that a relative text starts from.
    Base = 2,
    /// Argument text read at entry, NUL not included.
    TextEntry = 3,
    /// Argument text read at exit, NUL not included.
    TextExit = 4,
    /// `argv`, each string ended by NUL.
    Argv = 5,
    /// Environment names, each ended by NUL. Values never leave the kernel.
    EnvNames = 6,
    /// `bprm->filename`: what exec was asked for, as the kernel copied it.
    Filename = 7,
    /// `bprm->interp`: the last interpreter of a script, as the kernel copied it.
    Interp = 8,
    /// A socket address (`struct sockaddr_*`) as found in user memory at exit.
    SockaddrExit = 9,
    /// A socket address as found in user memory at entry.
    SockaddrEntry = 10,
    /// `sun_path` of a unix socket as the kernel bound it (abstract names start with NUL).
    UnixName = 11,
    /// A cgroup's path below the cgroup v2 root, as the tracepoint gives it.
    CgroupPath = 12,
}

impl PartTag {
    /// Every tag, in the order of its number.
    pub const ALL: [PartTag; 12] = [
        PartTag::Path,
        PartTag::Base,
        PartTag::TextEntry,
        PartTag::TextExit,
        PartTag::Argv,
        PartTag::EnvNames,
        PartTag::Filename,
        PartTag::Interp,
        PartTag::SockaddrExit,
        PartTag::SockaddrEntry,
        PartTag::UnixName,
        PartTag::CgroupPath,
    ];

    /// The tag with the number `raw`, or `None` if there is none.
    #[must_use]
    pub fn from_raw(raw: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| *tag as u16 == raw)
    }
}

/// Most components of one path. `PATH_MAX` is 4,096 bytes, but chains of directory descriptors go beyond it.
pub const PATH_COMPONENTS_MAX: usize = 4096;
/// Most bytes of one path, the NUL of each component included.
pub const PATH_BYTES_MAX: usize = 32 * 1024;
/// Most bytes of one argument text (`PATH_MAX`).
pub const TEXT_BYTES_MAX: usize = 4096;
/// Most bytes of `argv` that one record holds.
pub const ARGV_BYTES_MAX: usize = 8 * 1024;
/// Most bytes of environment names that one record holds.
pub const ENV_BYTES_MAX: usize = 8 * 1024;
/// Longest environment name that is told apart; a longer one is cut.
pub const ENV_NAME_MAX: usize = 256;
/// Most environment entries that are looked at.
pub const ENV_ENTRIES_MAX: usize = 1024;
/// Most bytes of a socket address (`struct sockaddr_storage`).
pub const SOCKADDR_BYTES_MAX: usize = 128;
