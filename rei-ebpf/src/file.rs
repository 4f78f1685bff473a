//! Facts about a `struct file`, and the way from a descriptor to it.

use rei_ebpf_common::file::{FileFacts, file_flag};
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::PartTag;

use crate::emit::Scratch;
use crate::kernel::{Typed, is_present, offset, read};
use crate::path::{self, KernelPath};
use crate::task;

/// `OVERLAYFS_SUPER_MAGIC`, include/uapi/linux/magic.h.
const OVERLAYFS: u64 = 0x794c_7630;
/// Error pointers are the last 4,095 addresses (include/linux/err.h); `MNT_NS_INTERNAL` is one.
const FIRST_ERROR: u64 = u64::MAX - 4094;

/// The `struct file` behind descriptor `fd` of `task`; `None` if the slot is empty or cannot be read.
#[inline(always)]
pub(crate) fn of_descriptor(task: Typed, fd: i32) -> Option<u64> {
    let files = task.follow(offset!(task_files)).address();
    if files == 0 || fd < 0 {
        return None;
    }
    let table: u64 = read(files + offset!(files_fdt))?;
    let limit: u32 = read(table + offset!(fdtable_max_fds))?;
    if fd as u32 >= limit {
        return None;
    }
    let slots: u64 = read(table + offset!(fdtable_fd))?;
    let file: u64 = read(slots + fd as u64 * 8)?;
    if file == 0 { None } else { Some(file) }
}

/// The facts of an open file; its path becomes part `Path`.
#[inline(always)]
pub(crate) fn describe(scratch: &mut Scratch, task: Typed, file: u64) -> FileFacts {
    let mut facts = FileFacts::default();
    if try_describe(scratch, &mut facts, task, file).is_none() {
        scratch.miss(missing::OBJECT);
    }
    facts
}

#[inline(always)]
fn try_describe(scratch: &mut Scratch, facts: &mut FileFacts, task: Typed, file: u64) -> Option<()> {
    let path = KernelPath::read(file + offset!(file_path))?;
    let inode: u64 = read(file + offset!(file_inode))?;
    facts.f_mode = read(file + offset!(file_mode))?;
    facts.f_flags = read(file + offset!(file_flags))?;
    try_describe_object(scratch, facts, task, path, inode)
}

/// The same for an object that is not open, such as the file of a unix socket.
#[inline(always)]
pub(crate) fn describe_object(scratch: &mut Scratch, task: Typed, path: KernelPath) -> FileFacts {
    let mut facts = FileFacts::default();
    let inode = read(path.dentry + offset!(dentry_inode)).unwrap_or(0);
    if try_describe_object(scratch, &mut facts, task, path, inode).is_none() {
        scratch.miss(missing::OBJECT);
    }
    facts
}

#[inline(always)]
fn try_describe_object(
    scratch: &mut Scratch,
    facts: &mut FileFacts,
    task: Typed,
    path: KernelPath,
    inode: u64,
) -> Option<()> {
    let sb: u64 = read(inode + offset!(inode_sb))?;
    facts.ino = read(inode + offset!(inode_ino))?;
    facts.mode = u32::from(read::<u16>(inode + offset!(inode_mode))?);
    facts.rdev = read(inode + offset!(inode_rdev))?;
    facts.dev = read(sb + offset!(sb_dev))?;
    facts.magic = read(sb + offset!(sb_magic))?;
    facts.mnt_id = read(path.mount() + offset!(mount_id))?;
    facts.flags = file_flag::PRESENT | flags(task, path, inode, sb, facts.magic)?;
    let walked = path::add(scratch, PartTag::Path, path, missing::PATH_UNREADABLE);
    facts.mount_components = walked.mount_components;
    if walked.disconnected {
        facts.flags |= file_flag::DISCONNECTED;
    }
    Some(())
}

#[inline(always)]
fn flags(task: Typed, path: KernelPath, inode: u64, sb: u64, magic: u64) -> Option<u32> {
    let mut flags = 0;
    // d_unhashed(), include/linux/dcache.h.
    let hash: u64 = read(path.dentry + offset!(dentry_hash_pprev))?;
    let parent: u64 = read(path.dentry + offset!(dentry_parent))?;
    if hash == 0 && parent != path.dentry {
        flags |= file_flag::DELETED;
    }
    let namespace: u64 = read(path.mount() + offset!(mount_ns))?;
    if namespace == 0 || namespace >= FIRST_ERROR {
        flags |= file_flag::DETACHED;
    } else if namespace != task::mount_namespace(task) {
        flags |= file_flag::FOREIGN_NS;
    }
    let mount_root: u64 = read(path.vfsmount + offset!(vfsmount_root))?;
    let sb_root: u64 = read(sb + offset!(sb_root))?;
    if mount_root != sb_root {
        flags |= file_flag::BIND_SUBTREE;
    }
    if magic == OVERLAYFS && is_present(offset!(ovl_inode_upper)) && is_present(offset!(ovl_inode_vfs)) {
        // OVL_I(), fs/overlayfs/ovl_entry.h: the overlay's inode lies inside struct ovl_inode.
        let overlay = inode - offset!(ovl_inode_vfs);
        let upper: u64 = read(overlay + offset!(ovl_inode_upper))?;
        flags |= file_flag::OVERLAY_KNOWN;
        if upper != 0 {
            flags |= file_flag::OVERLAY_UPPER;
        }
    }
    Some(flags)
}

/// `AT_FDCWD`, include/uapi/linux/fcntl.h.
pub(crate) const AT_FDCWD: i32 = -100;

/// Where the walk of a text begins: the root directory, the working directory, or the directory behind `dirfd`.
#[inline(always)]
pub(crate) fn base(task: Typed, dirfd: i32, first: u8) -> Option<KernelPath> {
    if first == b'/' || dirfd == AT_FDCWD {
        let fs = task.follow(offset!(task_fs)).address();
        if fs == 0 {
            return None;
        }
        let place = if first == b'/' {
            offset!(fs_root)
        } else {
            offset!(fs_pwd)
        };
        return KernelPath::read(fs + place);
    }
    KernelPath::read(of_descriptor(task, dirfd)? + offset!(file_path))
}
