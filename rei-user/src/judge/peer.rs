//! Sockets that are told by their inode, because a container can call them anything.

use std::path::Path;

use rustix::fs::{major, minor, stat};

/// Where container engines listen on a host.
const PLACES: [(&str, &str); 4] = [
    ("/run/docker.sock", "container-engine"),
    ("/var/run/docker.sock", "container-engine"),
    ("/run/podman/podman.sock", "container-engine"),
    ("/run/containerd/containerd.sock", "containerd"),
];

/// A socket's file on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSocket {
    /// Device of its file system, as the kernel writes it: major << 20 | minor.
    pub dev: u32,
    /// Its inode.
    pub ino: u64,
    /// Who listens: `container-engine` or `containerd`.
    pub owner: &'static str,
}

/// The sockets of the engines that run now, and `more` of container engines.
#[must_use]
pub fn engine_sockets(more: Option<&Path>) -> Vec<KnownSocket> {
    let usual = PLACES.iter().map(|(path, owner)| (Path::new(path), *owner));
    let more = more.map(|path| (path, "container-engine"));
    let mut sockets: Vec<KnownSocket> = usual
        .chain(more)
        .filter_map(|(path, owner)| {
            let found = stat(path).ok()?;
            Some(KnownSocket {
                dev: major(found.st_dev) << 20 | minor(found.st_dev),
                ino: found.st_ino,
                owner,
            })
        })
        .collect();
    sockets.dedup();
    sockets
}
