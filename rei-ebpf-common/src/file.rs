//! Facts about a `struct file`, shared by every body that names one.

/// Facts read from the kernel's own object.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Inode number (`inode->i_ino`).
    pub ino: u64,
    /// File system magic (`super_block->s_magic`, include/uapi/linux/magic.h).
    pub magic: u64,
    /// Device of the file system (`super_block->s_dev`, kernel encoding: major << 20 | minor).
    pub dev: u32,
    /// Device that a device node stands for (`inode->i_rdev`), same encoding.
    pub rdev: u32,
    /// Type and permission bits (`inode->i_mode`).
    pub mode: u32,
    /// `file->f_mode` (include/linux/fs.h): [`FMODE_READ`], [`FMODE_WRITE`], ...
    pub f_mode: u32,
    /// `file->f_flags`; O_CREAT, O_EXCL and O_TRUNC are already taken off by the kernel.
    pub f_flags: u32,
    /// `mount->mnt_id`, as in /proc/PID/mountinfo.
    pub mnt_id: u32,
    /// Bits of [`file_flag`].
    pub flags: u32,
    /// How many of the path's components lie in the file's own mount (the rest is its mount point).
    pub mount_components: u32,
}

/// `FMODE_READ`, include/linux/fs.h.
pub const FMODE_READ: u32 = 1 << 0;
/// `FMODE_WRITE`, include/linux/fs.h.
pub const FMODE_WRITE: u32 = 1 << 1;
/// `FMODE_PATH`, include/linux/fs.h: an `O_PATH` descriptor reads nothing.
pub const FMODE_PATH: u32 = 1 << 14;
/// `FMODE_CREATED`, include/linux/fs.h: this open made the file.
pub const FMODE_CREATED: u32 = 1 << 20;

/// Bits of [`FileFacts::flags`].
pub mod file_flag {
    /// The directory entry was already removed from its directory (`d_unhashed`).
    pub const DELETED: u32 = 1 << 0;
    /// The mount belongs to no mount namespace (lazily unmounted, `open_tree`, or kernel-internal).
    pub const DETACHED: u32 = 1 << 1;
    /// The mount belongs to another mount namespace than the acting task.
    pub const FOREIGN_NS: u32 = 1 << 2;
    /// The path ends at an entry without parents (memfd, pipe, a disconnected file handle).
    pub const DISCONNECTED: u32 = 1 << 3;
    /// The file is on overlayfs and the kernel told upper and lower apart.
    pub const OVERLAY_KNOWN: u32 = 1 << 4;
    /// The file is on overlayfs and has an upper directory entry (`ovl_inode.__upperdentry`).
    pub const OVERLAY_UPPER: u32 = 1 << 5;
    /// The facts are those of an object (otherwise all fields are zero).
    pub const PRESENT: u32 = 1 << 6;
    /// The mount's root is not the root of its file system: a bind mount (or a subtree of a volume).
    pub const BIND_SUBTREE: u32 = 1 << 7;
}

const _: () = assert!(size_of::<FileFacts>() == 2 * 8 + 8 * 4);
