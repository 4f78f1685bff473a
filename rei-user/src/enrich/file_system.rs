//! File systems by their magic number (include/uapi/linux/magic.h): names, and the kinds that decide an
//! origin.

/// `OVERLAYFS_SUPER_MAGIC`
pub(super) const OVERLAY: u64 = 0x794c_7630;
/// `TMPFS_MAGIC`; devtmpfs has the same number where it is made of tmpfs, which is the usual case.
pub(super) const TMPFS: u64 = 0x0102_1994;
/// `HUGETLBFS_MAGIC`
pub(super) const HUGETLBFS: u64 = 0x9584_58f6;
/// `RAMFS_MAGIC`; devtmpfs has this number where it is made of ramfs.
pub(super) const RAMFS: u64 = 0x8584_58f6;
/// `DEVPTS_SUPER_MAGIC`
pub(super) const DEVPTS: u64 = 0x1cd1;
/// POSIX message queues: ipc/mqueue.c.
pub(super) const MQUEUE: u64 = 0x1980_0202;
/// `PROC_SUPER_MAGIC`
pub(super) const PROC: u64 = 0x9fa0;
/// `BINFMTFS_MAGIC`: mounted inside /proc.
pub(super) const BINFMT_MISC: u64 = 0x4249_4e4d;
/// `PIPEFS_MAGIC`
pub(super) const PIPEFS: u64 = 0x5049_5045;
/// `SOCKFS_MAGIC`
pub(super) const SOCKFS: u64 = 0x534f_434b;
/// `ANON_INODE_FS_MAGIC`
pub(super) const ANON_INODE: u64 = 0x0904_1934;
/// `NSFS_MAGIC`
pub(super) const NSFS: u64 = 0x6e73_6673;

const NAMES: &[(u64, &str)] = &[
    (OVERLAY, "overlay"),
    (TMPFS, "tmpfs"),
    (HUGETLBFS, "hugetlbfs"),
    (RAMFS, "ramfs"),
    (DEVPTS, "devpts"),
    (MQUEUE, "mqueue"),
    (PROC, "proc"),
    (PIPEFS, "pipefs"),
    (SOCKFS, "sockfs"),
    (ANON_INODE, "anon_inode"),
    (NSFS, "nsfs"),
    (0x5049_4446, "pidfs"),
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x9660, "iso9660"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
    (0x28cd_3d45, "cramfs"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x00c3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstorefs"),
    (0x6265_6570, "configfs"),
    (0x6573_5543, "fusectl"),
    (0x0765_5821, "resctrl"),
    (BINFMT_MISC, "binfmt_misc"),
    (0x6461_7800, "daxfs"),
    (0x6c6f_6f70, "binderfs"),
    (0x444d_4142, "dmabuf"),
    (0x5345_434d, "secretmem"),
    (0x0187, "autofs"),
    (0xf15f, "ecryptfs"),
];

/// The name that mount tables use, where it is known.
#[must_use]
pub fn name(magic: u64) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|(number, _)| *number == magic)
        .map(|(_, name)| *name)
}

/// Whether the files of this file system are the kernel's own state, as it is shown below /sys.
pub(super) fn is_kernel_state(magic: u64) -> bool {
    matches!(
        name(magic),
        Some(
            "sysfs"
                | "cgroup"
                | "cgroup2"
                | "debugfs"
                | "tracefs"
                | "securityfs"
                | "selinuxfs"
                | "smackfs"
                | "apparmorfs"
                | "bpf"
                | "efivarfs"
                | "pstorefs"
                | "configfs"
                | "fusectl"
                | "resctrl"
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_has_two_names() {
        let mut numbers: Vec<u64> = NAMES.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), NAMES.len());
    }

    #[test]
    fn names_are_found() {
        assert_eq!(name(OVERLAY), Some("overlay"));
        assert_eq!(name(0xef53), Some("ext4"));
        assert_eq!(name(1), None);
        assert!(is_kernel_state(0x6265_6572) && !is_kernel_state(PROC) && !is_kernel_state(TMPFS));
    }
}
