//! Offsets of the kernel's structures. User space finds them in the running kernel's BTF and sets them before load.
//!
//! aya has no CO-RE relocations for Rust programs. The offsets live in a frozen global, so the verifier takes each
//! for a constant: a typed pointer plus an offset keeps its type, and a wrong offset is refused at load.

/// An offset that the running kernel's BTF does not have.
pub const ABSENT: u64 = u64::MAX;

/// Where a field may be found: struct and dotted member path. Anonymous members are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in [`Offsets`].
    pub name: &'static str,
    /// Struct and member, most recent kernels first.
    pub places: &'static [(&'static str, &'static str)],
    /// Whether rei can do without it.
    pub optional: bool,
}

macro_rules! offsets {
    ($( $name:ident : $( $strukt:literal . $member:literal )|+ $( ? $optional:ident )? ; )*) => {
        /// Byte offsets of kernel fields; [`ABSENT`] where the kernel has none.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Offsets {
            $(
                #[doc = concat!("Offset of `", $( $strukt, ".", $member, "` ", )+ "in bytes.")]
                pub $name: u64,
            )*
        }

        impl Offsets {
            /// Every offset absent.
            pub const ABSENT: Offsets = Offsets { $( $name: ABSENT, )* };

            /// Where each field is looked for, in the order of the struct.
            pub const FIELDS: &'static [Field] = &[
                $( Field {
                    name: stringify!($name),
                    places: &[ $( ($strukt, $member), )+ ],
                    optional: offsets!(@optional $($optional)?),
                }, )*
            ];

            /// Builds the table by asking `find` for every field, in the order of [`Self::FIELDS`].
            #[must_use]
            pub fn from_fields(mut find: impl FnMut(&'static Field) -> u64) -> Self {
                let mut fields = Self::FIELDS.iter();
                let mut next = move || fields.next().map_or(ABSENT, &mut find);
                Offsets { $( $name: next(), )* }
            }
        }
    };
    (@optional) => { false };
    (@optional optional) => { true };
}

offsets! {
    regs_orig_ax: "pt_regs"."orig_ax";
    regs_ax: "pt_regs"."ax";
    regs_bx: "pt_regs"."bx";
    regs_cx: "pt_regs"."cx";
    regs_dx: "pt_regs"."dx";
    regs_si: "pt_regs"."si";
    regs_di: "pt_regs"."di";
    regs_bp: "pt_regs"."bp";
    regs_r8: "pt_regs"."r8";
    regs_r10: "pt_regs"."r10";

    task_thread_status: "task_struct"."thread_info.status";
    task_pid: "task_struct"."pid";
    task_tgid: "task_struct"."tgid";
    task_files: "task_struct"."files";
    task_fs: "task_struct"."fs";
    task_mm: "task_struct"."mm";
    task_cgroups: "task_struct"."cgroups";
    task_nsproxy: "task_struct"."nsproxy";
    task_real_parent: "task_struct"."real_parent";
    task_group_leader: "task_struct"."group_leader";
    task_start_boottime: "task_struct"."start_boottime" | "task_struct"."real_start_time";
    task_signal: "task_struct"."signal";
    task_cred: "task_struct"."cred";
    task_exit_code: "task_struct"."exit_code";
    task_comm: "task_struct"."comm";

    signal_live: "signal_struct"."live";
    signal_group_exit_code: "signal_struct"."group_exit_code";
    signal_pids: "signal_struct"."pids";
    pid_level: "pid"."level";
    pid_numbers: "pid"."numbers";
    upid_nr: "upid"."nr";
    upid_ns: "upid"."ns";
    pid_namespace_inum: "pid_namespace"."ns.inum";
    nsproxy_mnt_ns: "nsproxy"."mnt_ns";
    mnt_namespace_inum: "mnt_namespace"."ns.inum";
    cred_uid: "cred"."uid";
    cred_gid: "cred"."gid";
    cred_euid: "cred"."euid";
    cred_egid: "cred"."egid";

    css_set_dfl_cgrp: "css_set"."dfl_cgrp";
    cgroup_kn: "cgroup"."kn";
    cgroup_root: "cgroup"."root";
    cgroup_level: "cgroup"."level";
    cgroup_ancestors: "cgroup"."ancestors" ? optional;
    cgroup_root_hierarchy_id: "cgroup_root"."hierarchy_id";
    kernfs_node_id: "kernfs_node"."id";
    kernfs_node_name: "kernfs_node"."name";
    kernfs_node_parent: "kernfs_node"."__parent" | "kernfs_node"."parent";

    files_fdt: "files_struct"."fdt";
    files_count: "files_struct"."count";
    fdtable_fd: "fdtable"."fd";
    fdtable_max_fds: "fdtable"."max_fds";
    fs_root: "fs_struct"."root";
    fs_pwd: "fs_struct"."pwd";
    path_mnt: "path"."mnt";
    path_dentry: "path"."dentry";
    mm_exe_file: "mm_struct"."exe_file";
    mm_arg_start: "mm_struct"."arg_start";
    mm_arg_end: "mm_struct"."arg_end";
    mm_env_start: "mm_struct"."env_start";
    mm_env_end: "mm_struct"."env_end";
    bprm_filename: "linux_binprm"."filename";
    bprm_interp: "linux_binprm"."interp";
    bprm_argc: "linux_binprm"."argc";
    bprm_envc: "linux_binprm"."envc";

    file_path: "file"."f_path";
    file_inode: "file"."f_inode";
    file_mode: "file"."f_mode";
    file_flags: "file"."f_flags";
    file_private_data: "file"."private_data";
    inode_ino: "inode"."i_ino";
    inode_mode: "inode"."i_mode";
    inode_rdev: "inode"."i_rdev";
    inode_sb: "inode"."i_sb";
    sb_dev: "super_block"."s_dev";
    sb_magic: "super_block"."s_magic";
    sb_root: "super_block"."s_root";
    dentry_seq: "dentry"."d_seq";
    dentry_parent: "dentry"."d_parent";
    dentry_name: "dentry"."d_name";
    dentry_inode: "dentry"."d_inode";
    dentry_hash_pprev: "dentry"."d_hash.pprev";
    qstr_hash_len: "qstr"."hash_len";
    qstr_name: "qstr"."name";
    mount_parent: "mount"."mnt_parent";
    mount_mountpoint: "mount"."mnt_mountpoint";
    mount_vfsmount: "mount"."mnt";
    mount_ns: "mount"."mnt_ns";
    mount_id: "mount"."mnt_id";
    vfsmount_root: "vfsmount"."mnt_root";
    ovl_inode_vfs: "ovl_inode"."vfs_inode" ? optional;
    ovl_inode_upper: "ovl_inode"."__upperdentry" ? optional;

    socket_sk: "socket"."sk";
    socket_type: "socket"."type";
    sock_family: "sock"."__sk_common.skc_family";
    sock_daddr: "sock"."__sk_common.skc_daddr";
    sock_dport: "sock"."__sk_common.skc_dport";
    sock_v6_daddr: "sock"."__sk_common.skc_v6_daddr";
    sock_type: "sock"."sk_type";
    sock_protocol: "sock"."sk_protocol";
    sock_socket: "sock"."sk_socket";
    unix_peer: "unix_sock"."peer" ? optional;
    unix_addr: "unix_sock"."addr" ? optional;
    unix_path: "unix_sock"."path" ? optional;
    unix_address_len: "unix_address"."len" ? optional;
    unix_address_name: "unix_address"."name" ? optional;
}
