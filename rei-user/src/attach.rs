//! Loads the kernel side, sets its offsets from the running kernel's BTF, attaches its sensors.

use std::path::Path;

use anyhow::Result;
use aya::maps::{MapData, RingBuf};
use rei_ebpf_common::header::EventKind;
use rei_ebpf_common::hooks::Sensor as SensorKind;
use rei_ebpf_common::maps::ScopeState;

/// Default size of the ring in bytes.
pub const RING_BYTES_DEFAULT: u32 = 8 << 20;

/// What to load.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Size of the ring in bytes: a power of two, a multiple of the page size.
    pub ring_bytes: u32,
}

/// The loaded and attached kernel side. Dropping it detaches everything.
pub struct Sensors {
    _private: (),
}

/// Whether a sensor is live, and if not, why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorState {
    /// Which sensor.
    pub sensor: SensorKind,
    /// `None` if it is live; otherwise the reason.
    pub gap: Option<String>,
}

/// Losses of one CPU and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The CPU.
    pub cpu: u32,
    /// The kind, or `None` if it is not known (a skipped nested program).
    pub kind: Option<EventKind>,
    /// Why.
    pub cause: LossCause,
    /// How many.
    pub count: u64,
}

/// Why an event was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossCause {
    /// The ring had no room.
    RingFull,
    /// A map of followed processes, scopes or calls in flight had no room.
    MapFull,
    /// The kernel skipped a program because it was already running on that CPU (`recursion_misses`).
    Nested,
}

impl Sensors {
    /// Loads and attaches every sensor that this kernel allows. `cgroup_root` is the cgroup v2 mount point.
    ///
    /// # Errors
    /// If the object is a stub, BTF is missing, or a sensor that nothing works without (scope, exec, syscalls)
    /// cannot be attached. Other sensors may be missing: see [`Self::states`].
    pub fn load(settings: &Settings, cgroup_root: &Path) -> Result<Self> {
        let _ = (settings, cgroup_root);
        anyhow::bail!("not built yet")
    }

    /// The ring, once.
    ///
    /// # Errors
    /// If it was already taken.
    pub fn take_ring(&mut self) -> Result<RingBuf<MapData>> {
        anyhow::bail!("not built yet")
    }

    /// Which sensors are live.
    #[must_use]
    pub fn states(&self) -> &[SensorState] {
        &[]
    }

    /// From now on every new cgroup whose name is that of a container becomes a scope (or only `expected`, a
    /// container id of 64 hexadecimal digits).
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn arm_new_containers(&mut self, expected: Option<&str>) -> Result<()> {
        let _ = expected;
        anyhow::bail!("not built yet")
    }

    /// No new scopes from now on.
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn disarm(&mut self) -> Result<()> {
        anyhow::bail!("not built yet")
    }

    /// Watches an existing, empty cgroup; the first process that is put into it is a plain command.
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn watch_plain(&mut self, cgroup: u64) -> Result<()> {
        let _ = cgroup;
        anyhow::bail!("not built yet")
    }

    /// Watches an existing cgroup tree with processes in it: `cgroups` are the ids of the tree, root first.
    /// Afterwards, call [`Self::follow_present`] for each process in it.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn watch_running(&mut self, cgroups: &[u64]) -> Result<()> {
        let _ = cgroups;
        anyhow::bail!("not built yet")
    }

    /// Follows a process that was there before rei, as workload, marked `PRESENT_AT_ATTACH`.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn follow_present(&mut self, scope: u64, pid: u32, start_ns: u64) -> Result<()> {
        let _ = (scope, pid, start_ns);
        anyhow::bail!("not built yet")
    }

    /// Drops a scope: nothing of it is reported any more.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn forget(&mut self, scope: u64) -> Result<()> {
        let _ = scope;
        anyhow::bail!("not built yet")
    }

    /// What the kernel side knows of a scope; `None` if it is not watched.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn scope_state(&self, scope: u64) -> Result<Option<ScopeState>> {
        let _ = scope;
        anyhow::bail!("not built yet")
    }

    /// Every loss so far, of all scopes together, counts above zero only.
    ///
    /// # Errors
    /// If a map or a program's fdinfo cannot be read.
    pub fn losses(&self) -> Result<Vec<Loss>> {
        anyhow::bail!("not built yet")
    }

    /// Stops every sensor; the ring and the counters can still be read. Call it before the last drain.
    pub fn detach(&mut self) {}
}
