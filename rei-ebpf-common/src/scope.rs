//! How scope grows: cgroups made and removed, processes moved.

/// Body of [`crate::header::EventKind::CgroupMade`] and `CgroupRemoved`. Part: `CgroupPath`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupBody {
    /// cgroup v2 id (`kernfs_node->id`) of the directory.
    pub cgroup: u64,
    /// cgroup v2 id of its parent directory, 0 if it has none.
    pub parent: u64,
    /// Bits of [`cgroup_flag`].
    pub flags: u32,
    /// Depth below the cgroup v2 root.
    pub level: u32,
}

/// Bits of [`CgroupBody::flags`].
pub mod cgroup_flag {
    /// A new scope was armed: the name is that of a container.
    pub const NEW_SCOPE: u32 = 1 << 0;
}

/// Where a moved process went. The numbers are the wire format.
pub mod moved {
    /// From outside every scope into this one.
    pub const PLACED: u32 = 1;
    /// A followed process is in another cgroup of its scope now.
    pub const WITHIN: u32 = 2;
    /// A followed process is outside its scope's cgroups now (it stays followed).
    pub const LEFT: u32 = 3;
    /// A followed process that had left is back.
    pub const RETURNED: u32 = 4;
}

/// Body of [`crate::header::EventKind::TaskMoved`]; the header names the process that was moved.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskMovedBody {
    /// cgroup v2 id of the destination.
    pub to_cgroup: u64,
    /// Process (tgid) that did the moving, initial pid namespace.
    pub mover_pid: u32,
    /// One of [`moved`].
    pub what: u32,
}

const _: () = assert!(size_of::<CgroupBody>() == 24);
const _: () = assert!(size_of::<TaskMovedBody>() == 16);
