//! Where a file comes from: decided from the kernel's facts and the mounts that the engine knows of, never
//! from names.
//!
//! Not resolved, so `unknown`: files below a mount that nobody declared, a mount whose declared destination
//! goes through a symlink, and a declared mount point that carries another file system than it first did.

use std::fmt;
use std::sync::Arc;

use rei_ebpf_common::file::{FileFacts, file_flag};
use rei_ebpf_common::header::Phase;

use crate::enrich::Target;
use crate::enrich::access::file_type;
use crate::enrich::file_system;
use crate::enrich::scope::Scope;

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The container's image: lower layers only, unmodified.
    Image,
    /// The container's own writable layer.
    Upper,
    /// A host path that the user mounted.
    Bind(Arc<str>),
    /// A volume.
    Volume(Arc<str>),
    /// A tmpfs of the container (for a plain command: of the host).
    Tmpfs,
    /// procfs.
    Proc,
    /// sysfs, cgroupfs and the other views of the kernel's state.
    Sys,
    /// Devices and what is mounted for them.
    Dev,
    /// Anonymous memory with a descriptor (`memfd_create`).
    Memfd,
    /// A file that the engine mounts itself, such as /etc/hosts.
    Engine,
    /// The host's file systems (plain commands only).
    Host,
    /// Not known.
    Unknown,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Image => out.write_str("image"),
            Origin::Upper => out.write_str("upper"),
            Origin::Bind(source) => write!(out, "bind:{source}"),
            Origin::Volume(name) => write!(out, "volume:{name}"),
            Origin::Tmpfs => out.write_str("tmpfs"),
            Origin::Proc => out.write_str("proc"),
            Origin::Sys => out.write_str("sys"),
            Origin::Dev => out.write_str("dev"),
            Origin::Memfd => out.write_str("memfd"),
            Origin::Engine => out.write_str("engine"),
            Origin::Host => out.write_str("host"),
            Origin::Unknown => out.write_str("unknown"),
        }
    }
}

/// Decides the origin of one file.
pub(super) fn origin(
    target: Target,
    scope: &mut Scope,
    phase: Phase,
    facts: &FileFacts,
    path: Option<&[u8]>,
    mount_point: Option<&[u8]>,
) -> Origin {
    if facts.flags & file_flag::PRESENT == 0 {
        return Origin::Unknown;
    }
    if is_memfd(facts, path) {
        return Origin::Memfd;
    }
    if matches!(facts.magic, file_system::PROC | file_system::BINFMT_MISC) {
        return Origin::Proc;
    }
    if file_system::is_kernel_state(facts.magic) {
        return Origin::Sys;
    }
    let Some(mount_point) = mount_point else {
        return Origin::Unknown;
    };
    match target {
        Target::Plain => on_host(facts, mount_point),
        Target::Container => in_container(scope, phase, facts, mount_point),
    }
}

/// The kernel's name of such a file starts with `memfd:`, it is on an internal tmpfs, and it is in no
/// directory.
fn is_memfd(facts: &FileFacts, path: Option<&[u8]>) -> bool {
    facts.flags & file_flag::DISCONNECTED != 0
        && matches!(
            facts.magic,
            file_system::TMPFS | file_system::HUGETLBFS | file_system::RAMFS
        )
        && path.is_some_and(|path| path.starts_with(b"memfd:"))
}

fn on_host(facts: &FileFacts, mount_point: &[u8]) -> Origin {
    if is_device_mount(facts, mount_point) {
        Origin::Dev
    } else if facts.magic == file_system::TMPFS {
        Origin::Tmpfs
    } else {
        Origin::Host
    }
}

fn in_container(scope: &mut Scope, phase: Phase, facts: &FileFacts, mount_point: &[u8]) -> Origin {
    if mount_point == b"/" {
        return on_root(scope, phase, facts);
    }
    if phase == Phase::Runtime {
        // The runtime is still moving mounts about: a mount point means nothing yet.
        return if is_device_mount(facts, mount_point) {
            Origin::Dev
        } else {
            Origin::Unknown
        };
    }
    if let Some(declared) = scope.declared_mount(mount_point, facts.dev) {
        return declared;
    }
    if is_device_mount(facts, mount_point) {
        return Origin::Dev;
    }
    let is_whole = facts.flags & file_flag::BIND_SUBTREE == 0;
    if facts.magic == file_system::TMPFS && is_whole && scope.mounts_are_known() {
        return Origin::Tmpfs;
    }
    Origin::Unknown
}

/// Image and upper layer are one overlay mount; only the kernel can tell them apart.
fn on_root(scope: &mut Scope, phase: Phase, facts: &FileFacts) -> Origin {
    let is_told_apart = facts.magic == file_system::OVERLAY && facts.flags & file_flag::OVERLAY_KNOWN != 0;
    if !is_told_apart || !scope.is_root_device(facts.dev, phase) {
        return Origin::Unknown;
    }
    if facts.flags & file_flag::OVERLAY_UPPER != 0 {
        Origin::Upper
    } else {
        Origin::Image
    }
}

/// /dev's own tmpfs (or devtmpfs, which has the same magic), terminals, message queues, and device nodes that
/// are mounted one by one.
fn is_device_mount(facts: &FileFacts, mount_point: &[u8]) -> bool {
    let is_memory = matches!(facts.magic, file_system::TMPFS | file_system::RAMFS);
    let is_node = matches!(
        facts.mode & file_type::MASK,
        file_type::CHARACTER | file_type::BLOCK
    );
    let is_below_dev = mount_point == b"/dev" || mount_point.starts_with(b"/dev/");
    match facts.magic {
        file_system::DEVPTS | file_system::MQUEUE => true,
        _ if is_memory && mount_point == b"/dev" => true,
        // A node that is a mount of its own: `--device` in a user namespace, or /dev/null over a masked file.
        _ => is_memory && is_node && (is_below_dev || facts.mount_components == 0),
    }
}
