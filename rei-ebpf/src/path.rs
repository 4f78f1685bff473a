//! A kernel path object → its components, mount by mount, up to the root of the mount namespace.
//!
//! The kernel's own walk (`prepend_path`, fs/d_path.c) ends at the task's root directory; this one goes on to the
//! namespace's root, so that chroot, pivot_root and bind mounts do not change what a file is called.
//!
//! The kernel's walk holds the rename lock; this one cannot. It goes twice over the same way and compares: each entry
//! has a sequence count that every rename moves on (`dentry->d_seq`), so two equal passes saw one moment.

use aya_ebpf::cty::{c_long, c_void};
use aya_ebpf::helpers::generated;
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::{PATH_BYTES_MAX, PATH_COMPONENTS_MAX, PartTag};

use crate::emit::Scratch;
use crate::kernel::{offset, read, read_into, read_string};

/// Longest name of one directory entry with its NUL (`NAME_MAX` + 1).
const NAME_BYTES: u32 = 256;
/// Mounts may be stacked; more hops than this are not followed.
const MOUNT_HOPS_MAX: usize = 256;
/// How often a path that changed under the walk is walked again.
const ATTEMPTS_MAX: u32 = 4;
/// Bytes of a `struct dentry` that are copied at once; the fields that are needed lie at its beginning.
pub(crate) const DENTRY_BYTES: usize = 128;

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
    /// Mixes what was seen in this pass.
    sum: u64,
    /// Where the walk begins.
    origin: u64,
    origin_mount: u64,
    origin_root: u64,
    /// Where the names begin in the record.
    start: u64,
    /// What the first pass mixed, how many components it found, and how it ended.
    collected_sum: u64,
    collected: u32,
    end: u32,
    components: u32,
    mount_components: u32,
    hops: u32,
    pass: u32,
    attempts: u32,
    /// 1: an entry was being renamed.
    is_busy: u32,
}

/// The first pass copies names, the second only compares.
mod pass {
    pub(super) const COLLECT: u32 = 0;
    pub(super) const COMPARE: u32 = 1;
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
    if scratch.walk.attempts >= ATTEMPTS_MAX {
        scratch.miss(missing::PATH_RACED);
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
    let start = scratch.pos();
    let root = read(path.vfsmount + offset!(vfsmount_root)).unwrap_or(0);
    scratch.walk.origin = path.dentry;
    scratch.walk.origin_mount = path.mount();
    scratch.walk.origin_root = root;
    scratch.walk.start = start;
    scratch.walk.attempts = 0;
    scratch.walk.end = end::NOT;
    begin(scratch, pass::COLLECT);
    let iterations = 2 * ATTEMPTS_MAX * (PATH_COMPONENTS_MAX + MOUNT_HOPS_MAX) as u32;
    // The helper takes a context on the stack only: a pointer to the pointer.
    let mut context: &mut Scratch = scratch;
    let callback: extern "C" fn(u64, &mut &mut Scratch) -> c_long = step;
    // SAFETY: the callback has the signature that bpf_loop calls, and the context outlives the call.
    unsafe { generated::bpf_loop(iterations, callback as *mut c_void, (&raw mut context).cast(), 0) };
}

/// Goes back to where the walk begins.
#[inline(always)]
fn begin(scratch: &mut Scratch, pass: u32) {
    scratch.walk.dentry = scratch.walk.origin;
    scratch.walk.mount = scratch.walk.origin_mount;
    scratch.walk.mount_root = scratch.walk.origin_root;
    scratch.walk.sum = 0;
    scratch.walk.components = 0;
    scratch.walk.hops = 0;
    scratch.walk.pass = pass;
    if pass == pass::COLLECT {
        scratch.walk.is_busy = 0;
        let start = scratch.walk.start;
        scratch.set_pos(start);
    }
}

/// One step towards the root: out of a mount, or to the parent directory. Returns 1 to stop.
#[inline(never)]
extern "C" fn step(_index: u64, scratch: &mut &mut Scratch) -> c_long {
    match try_step(scratch).unwrap_or(end::FAULT) {
        end::NOT => 0,
        end => finish_pass(scratch, end),
    }
}

/// A pass is at its end: compare, or begin again. Returns 1 to stop.
#[inline(always)]
fn finish_pass(scratch: &mut Scratch, end: u32) -> c_long {
    if scratch.walk.pass == pass::COLLECT {
        scratch.walk.end = end;
        scratch.walk.collected = scratch.walk.components;
        scratch.walk.collected_sum = scratch.walk.sum;
        begin(scratch, pass::COMPARE);
        return 0;
    }
    let is_same = end == scratch.walk.end && scratch.walk.sum == scratch.walk.collected_sum;
    if is_same && scratch.walk.is_busy == 0 {
        return 1;
    }
    scratch.walk.attempts += 1;
    if scratch.walk.attempts >= ATTEMPTS_MAX {
        return 1;
    }
    begin(scratch, pass::COLLECT);
    0
}

#[inline(always)]
fn try_step(scratch: &mut Scratch) -> Option<u32> {
    let dentry = scratch.walk.dentry;
    if dentry == scratch.walk.mount_root {
        return leave_mount(scratch);
    }
    if !read_into(dentry, scratch.dentry.as_mut_ptr().cast(), DENTRY_BYTES as u32) {
        return None;
    }
    let sequence: u32 = field(scratch, offset!(dentry_seq))?;
    let parent: u64 = field(scratch, offset!(dentry_parent))?;
    let hash_len: u64 = field(scratch, offset!(dentry_name) + offset!(qstr_hash_len))?;
    let name: u64 = field(scratch, offset!(dentry_name) + offset!(qstr_name))?;
    if sequence & 1 != 0 {
        scratch.walk.is_busy = 1;
    }
    mix(scratch, u64::from(sequence));
    mix(scratch, parent);
    mix(scratch, hash_len);
    if !take_name(scratch, name)? {
        return Some(end::CUT);
    }
    if parent == dentry {
        return Some(end::DISCONNECTED);
    }
    scratch.walk.dentry = parent;
    Some(end::NOT)
}

/// A field of the copied directory entry.
#[inline(always)]
fn field<T: Copy>(scratch: &Scratch, offset: u64) -> Option<T> {
    if offset > (DENTRY_BYTES - size_of::<T>()) as u64 {
        return None;
    }
    let place = scratch
        .dentry
        .as_ptr()
        .cast::<u8>()
        .wrapping_add(offset as usize)
        .cast::<T>();
    // SAFETY: the field lies inside the copy, and the copy is aligned as the original is.
    Some(unsafe { place.read_volatile() })
}

/// Mixes a value into the sum of the pass (the multiplier is that of Fibonacci hashing).
#[inline(always)]
fn mix(scratch: &mut Scratch, value: u64) {
    let sum = (scratch.walk.sum ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    scratch.walk.sum = sum ^ (sum >> 29);
}

#[inline(always)]
fn leave_mount(scratch: &mut Scratch) -> Option<u32> {
    let mount = scratch.walk.mount;
    let parent: u64 = read(mount + offset!(mount_parent))?;
    if scratch.walk.hops == 0 {
        scratch.walk.mount_components = scratch.walk.components;
    }
    mix(scratch, parent);
    if parent == mount {
        return Some(end::ROOT);
    }
    let mountpoint: u64 = read(mount + offset!(mount_mountpoint))?;
    mix(scratch, mountpoint);
    scratch.walk.hops += 1;
    scratch.walk.dentry = mountpoint;
    scratch.walk.mount_root = read(parent + offset!(mount_vfsmount) + offset!(vfsmount_root))?;
    scratch.walk.mount = parent;
    Some(end::NOT)
}

/// Takes the name of an entry: the first pass copies it. False if there is no room for it.
#[inline(always)]
fn take_name(scratch: &mut Scratch, name: u64) -> Option<bool> {
    if scratch.walk.pass != pass::COLLECT {
        if scratch.walk.end == end::CUT && scratch.walk.components == scratch.walk.collected {
            return Some(false);
        }
        scratch.walk.components += 1;
        return Some(true);
    }
    if scratch.walk.components >= PATH_COMPONENTS_MAX as u32 {
        return Some(false);
    }
    let pos = scratch.pos();
    let to = scratch.at(pos).cast::<c_void>();
    let len = read_string(name, to, NAME_BYTES)?;
    let next = pos + u64::from(len);
    if next.wrapping_sub(scratch.walk.start) > PATH_BYTES_MAX as u64 {
        return Some(false);
    }
    scratch.set_pos(next);
    scratch.walk.components += 1;
    Some(true)
}
