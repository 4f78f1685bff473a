//! Container engines: name or id → container facts.
//!
//! [`docker_command`] reads the command line that the user wrote, [`cidfile`] learns the new container's id,
//! [`docker`] asks the daemon behind it and [`inspect`] reads its answer; [`none`] needs no engine at all: a
//! fresh cgroup.

use std::path::PathBuf;

pub mod cidfile;
pub mod docker;
pub mod docker_command;
mod http;
pub mod inspect;
pub mod none;

/// What the engine says about one container. Every field is the engine's word, not the kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    /// Full id, 64 hexadecimal digits.
    pub id: String,
    /// Name without the leading slash; `None` if the engine was not asked or did not know.
    pub name: Option<String>,
    /// Image as the user named it.
    pub image: Option<String>,
    /// Image id (`sha256:...`).
    pub image_id: Option<String>,
    /// The container's `Path` and `Args`: the resolved Entrypoint followed by Cmd.
    pub argv: Vec<String>,
    /// `HostConfig.Init`: docker-init runs the entrypoint.
    pub init: bool,
    /// Working directory inside the container.
    pub workdir: Option<String>,
    /// The value of PATH in the container's environment (needed to resolve Entrypoint and Cmd); no other
    /// value is kept.
    pub search_path: Option<String>,
    /// Mounts that the user asked for.
    pub mounts: Vec<Mount>,
    /// Labels, by name.
    pub labels: Vec<(String, String)>,
    /// Storage driver (`overlay2`, ...).
    pub storage_driver: Option<String>,
    /// Files of the image that the words of `argv` lead to, through PATH and symlinks; `None` if nobody has looked.
    pub named: Option<Vec<Vec<u8>>>,
    /// Directories of the image's layers on this machine, the topmost first, where the engine tells them. Nobody in
    /// the container can change what is in them.
    pub layers: Vec<PathBuf>,
    /// Host pid of the container's first process, 0 if it is not running.
    pub pid: u32,
}

/// One mount of a container, as the engine describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Absolute path inside the container.
    pub destination: String,
    /// What it is.
    pub kind: MountKind,
    /// Whether it cannot be written from inside.
    pub read_only: bool,
}

/// Kinds of mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountKind {
    /// A host path, given by the user.
    Bind {
        /// Path on the host.
        source: String,
    },
    /// A named or anonymous volume.
    Volume {
        /// Name of the volume.
        name: String,
    },
    /// A tmpfs.
    Tmpfs,
    /// A file that the engine itself mounts: /etc/hosts, /etc/hostname, /etc/resolv.conf, docker-init.
    Engine,
}
