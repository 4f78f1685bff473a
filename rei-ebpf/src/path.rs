//! A kernel path object → its components, mount by mount, up to the root of the mount namespace.
//!
//! The kernel's own walk (`prepend_path`, fs/d_path.c) ends at the task's root directory; this one goes on to the
//! namespace's root, so that chroot, pivot_root and bind mounts do not change what a file is called.

use aya_ebpf::cty::{c_long, c_void};
use aya_ebpf::helpers::generated;
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::{PATH_BYTES_MAX, PATH_COMPONENTS_MAX, PartTag};

use crate::emit::Scratch;
use crate::kernel::{offset, read, read_string};

/// Longest name of one directory entry with its NUL (`NAME_MAX` + 1).
const NAME_BYTES: u32 = 256;
/// Mounts may be stacked; more hops than this are not followed.
const MOUNT_HOPS_MAX: usize = 256;

/// A `struct path`, taken apart. Zero is "none".
#[derive(Clone, Copy, Default)]
pub(crate) struct KernelPath {
    /// `struct dentry *`
    pub(crate) dentry: u64,
    /// `struct vfsmount *`
    pub(crate) vfsmount: u64,
}

impl KernelPath {
    /// Reads the `struct path` at `address`.
    #[inline(always)]
    pub(crate) fn read(address: u64) -> Option<Self> {
        let dentry = read(address + offset!(path_dentry))?;
        let vfsmount = read(address + offset!(path_mnt))?;
        if dentry == 0 || vfsmount == 0 {
            None
        } else {
            Some(KernelPath { dentry, vfsmount })
        }
    }

    /// The `struct mount` around the `struct vfsmount`.
    #[inline(always)]
    pub(crate) fn mount(self) -> u64 {
        self.vfsmount - offset!(mount_vfsmount)
    }
}

/// State of a walk. It lives in the buffer, not on the stack, so that the verifier need not follow its values.
#[repr(C)]
pub(crate) struct Walk {
    dentry: u64,
    mount: u64,
    mount_root: u64,
    start: u64,
    components: u32,
    mount_components: u32,
    hops: u32,
    end: u32,
}

/// How a walk ended.
mod end {
    /// It did not: iterations ran out.
    pub(super) const NOT: u32 = 0;
    /// At the root of the mount namespace.
    pub(super) const ROOT: u32 = 1;
    /// At an entry without parents.
    pub(super) const DISCONNECTED: u32 = 2;
    /// At its limit.
    pub(super) const CUT: u32 = 3;
    /// A read faulted.
    pub(super) const FAULT: u32 = 4;
}

/// What is known of a path beside its components.
pub(crate) struct Walked {
    /// Components that lie in the object's own mount.
    pub(crate) mount_components: u32,
    /// The path ends at an entry without parents.
    pub(crate) disconnected: bool,
}

/// Adds the components of `path`, leaf first, as part `tag`.
#[inline(always)]
pub(crate) fn add(scratch: &mut Scratch, tag: PartTag, path: KernelPath, fault: u32) -> Walked {
    let start = scratch.open_part();
    walk(scratch, path);
    let end = scratch.walk.end;
    match end {
        end::ROOT | end::DISCONNECTED => {}
        end::FAULT => scratch.miss(fault),
        _ => scratch.miss(missing::PATH_CUT),
    }
    scratch.close_part(start, tag);
    Walked {
        mount_components: scratch.walk.mount_components,
        disconnected: end == end::DISCONNECTED,
    }
}

/// Not inlined, so that the verifier's work is the same wherever paths are walked.
#[inline(never)]
fn walk(scratch: &mut Scratch, path: KernelPath) {
    let mount = path.mount();
    let start = scratch.pos();
    let root = read(path.vfsmount + offset!(vfsmount_root)).unwrap_or(0);
    scratch.walk = Walk {
        dentry: path.dentry,
        mount,
        mount_root: root,
        start,
        components: 0,
        mount_components: 0,
        hops: 0,
        end: end::NOT,
    };
    let iterations = (PATH_COMPONENTS_MAX + MOUNT_HOPS_MAX) as u32;
    // The helper takes a context on the stack only: a pointer to the pointer.
    let mut context: &mut Scratch = scratch;
    let callback: extern "C" fn(u64, &mut &mut Scratch) -> c_long = step;
    // SAFETY: the callback has the signature that bpf_loop calls, and the context outlives the call.
    unsafe { generated::bpf_loop(iterations, callback as *mut c_void, (&raw mut context).cast(), 0) };
}

/// One step towards the root: out of a mount, or to the parent directory. Returns 1 to stop.
#[inline(never)]
extern "C" fn step(_index: u64, scratch: &mut &mut Scratch) -> c_long {
    match try_step(scratch) {
        Some(end::NOT) => 0,
        Some(end) => {
            scratch.walk.end = end;
            1
        }
        None => {
            scratch.walk.end = end::FAULT;
            1
        }
    }
}

#[inline(always)]
fn try_step(scratch: &mut Scratch) -> Option<u32> {
    let dentry = scratch.walk.dentry;
    if dentry == scratch.walk.mount_root {
        return leave_mount(scratch);
    }
    let parent: u64 = read(dentry + offset!(dentry_parent))?;
    if !add_name(scratch, dentry)? {
        return Some(end::CUT);
    }
    if parent == dentry {
        return Some(end::DISCONNECTED);
    }
    scratch.walk.dentry = parent;
    Some(end::NOT)
}

#[inline(always)]
fn leave_mount(scratch: &mut Scratch) -> Option<u32> {
    let mount = scratch.walk.mount;
    let parent: u64 = read(mount + offset!(mount_parent))?;
    if scratch.walk.hops == 0 {
        scratch.walk.mount_components = scratch.walk.components;
    }
    if parent == mount {
        return Some(end::ROOT);
    }
    scratch.walk.hops += 1;
    scratch.walk.dentry = read(mount + offset!(mount_mountpoint))?;
    scratch.walk.mount_root = read(parent + offset!(mount_vfsmount) + offset!(vfsmount_root))?;
    scratch.walk.mount = parent;
    Some(end::NOT)
}

/// Adds the name of `dentry`; false if there is no room for it.
#[inline(always)]
fn add_name(scratch: &mut Scratch, dentry: u64) -> Option<bool> {
    let pos = scratch.pos();
    if pos.wrapping_sub(scratch.walk.start) > PATH_BYTES_MAX as u64 - u64::from(NAME_BYTES)
        || scratch.walk.components >= PATH_COMPONENTS_MAX as u32
    {
        return Some(false);
    }
    let name: u64 = read(dentry + offset!(dentry_name) + offset!(qstr_name))?;
    let to = scratch.at(pos).cast::<c_void>();
    let len = read_string(name, to, NAME_BYTES)?;
    scratch.set_pos(pos + u64::from(len));
    scratch.walk.components += 1;
    Some(true)
}
