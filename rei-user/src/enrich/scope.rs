//! What is known of one scope: the container's facts as the engine told them, and what its mounts first
//! looked like.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rei_ebpf_common::header::Phase;

use crate::engine::{ContainerFacts, MountKind};
use crate::enrich::origin::Origin;

/// Digits of a container id that output shows.
const ID_DIGITS: usize = 12;

/// Scopes that are remembered after their cgroup is gone, for processes that left it in time.
const REMOVED_SCOPES_MAX: usize = 256;

/// Every scope, by the cgroup v2 id of its root.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    scopes: HashMap<u64, Scope>,
    removed: VecDeque<u64>,
}

impl Scopes {
    /// The scope, made on first sight.
    pub(super) fn scope(&mut self, id: u64) -> &mut Scope {
        self.scopes.entry(id).or_default()
    }

    pub(super) fn known(&mut self, id: u64, facts: ContainerFacts) {
        self.scope(id).know(facts);
    }

    /// The scope's cgroup is gone. Old ones are forgotten, so that a long watch does not grow.
    pub(super) fn cgroup_removed(&mut self, id: u64) {
        self.removed.push_back(id);
        if self.removed.len() > REMOVED_SCOPES_MAX
            && let Some(oldest) = self.removed.pop_front()
        {
            self.scopes.remove(&oldest);
        }
    }
}

/// One scope.
#[derive(Debug, Default)]
pub(super) struct Scope {
    facts: Option<ContainerFacts>,
    short_id: Option<Arc<str>>,
    mounts: HashMap<Vec<u8>, DeclaredMount>,
    root_device: Option<u32>,
}

#[derive(Debug)]
struct DeclaredMount {
    origin: Origin,
    /// Device that was first seen there: something else there later was mounted by somebody else.
    device: Option<u32>,
}

impl Scope {
    fn know(&mut self, facts: ContainerFacts) {
        self.short_id = facts.id.get(..ID_DIGITS).map(Arc::from);
        self.mounts = facts
            .mounts
            .iter()
            .map(|mount| (mount_point(&mount.destination), declared(&mount.kind)))
            .collect();
        self.facts = Some(facts);
    }

    pub(super) fn facts(&self) -> Option<&ContainerFacts> {
        self.facts.as_ref()
    }

    pub(super) fn short_id(&self) -> Option<Arc<str>> {
        self.short_id.clone()
    }

    pub(super) fn mounts_are_known(&self) -> bool {
        self.facts.is_some()
    }

    /// What was declared to be mounted at exactly this place, if it is still the file system that was first
    /// seen there.
    pub(super) fn declared_mount(&mut self, mount_point: &[u8], device: u32) -> Option<Origin> {
        let mount = self.mounts.get_mut(mount_point)?;
        let first = *mount.device.get_or_insert(device);
        Some(if first == device {
            mount.origin.clone()
        } else {
            Origin::Unknown
        })
    }

    /// Whether the container's root is on this device. The workload's first file on an overlay at `/` settles
    /// it.
    pub(super) fn is_root_device(&mut self, device: u32, phase: Phase) -> bool {
        if self.root_device.is_none() && phase == Phase::Workload {
            self.root_device = Some(device);
        }
        self.root_device == Some(device)
    }
}

fn mount_point(destination: &str) -> Vec<u8> {
    let trimmed = destination.trim_end_matches('/');
    if trimmed.is_empty() {
        b"/".to_vec()
    } else {
        trimmed.as_bytes().to_vec()
    }
}

fn declared(kind: &MountKind) -> DeclaredMount {
    let origin = match kind {
        MountKind::Bind { source } => Origin::Bind(source.as_str().into()),
        MountKind::Volume { name } => Origin::Volume(name.as_str().into()),
        MountKind::Tmpfs => Origin::Tmpfs,
        MountKind::Engine => Origin::Engine,
    };
    DeclaredMount { origin, device: None }
}
