//! Loads the kernel side, sets its offsets from the running kernel's BTF, attaches its sensors.
//!
//! Takes the embedded object. Gives [`Sensors`], which say what they see and detach when dropped. A sensor
//! that this kernel refuses is a gap with the kernel's reason; only the sensors in [`REQUIRED`] must be
//! there.

#[cfg(test)]
mod live;
mod loss;
mod object;
mod program;
mod scope;

pub mod lockdown;
pub mod privilege;

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result, bail};
use aya::maps::{Map, MapData, RingBuf};
use aya::{Btf, Ebpf, EbpfLoader};
use rei_ebpf_common::header::EventKind;
use rei_ebpf_common::hooks::{Attach, PROGRAMS, Sensor as SensorKind};
use rei_ebpf_common::maps::WATCHED_CHUNK;

pub use self::loss::LostByKind;
pub use self::object::object_state;
use self::program::Link;
use crate::btf::{KernelTypes, Resolved};

/// Default size of the ring in bytes.
pub const RING_BYTES_DEFAULT: u32 = 8 << 20;

/// Sensors that nothing works without.
pub const REQUIRED: [SensorKind; 3] = [SensorKind::Scope, SensorKind::Exec, SensorKind::Syscalls];

/// Elements of the map `SCRATCH` per CPU: process context, and a softirq that interrupts it.
const SCRATCH_PER_CPU: u32 = 2;

/// What to load.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Size of the ring in bytes: a power of two, a multiple of the page size.
    pub ring_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ring_bytes: RING_BYTES_DEFAULT,
        }
    }
}

/// The loaded and attached kernel side. Dropping it detaches everything.
pub struct Sensors {
    // Before `ebpf`: programs are detached before they are unloaded.
    links: Vec<Link>,
    ebpf: Ebpf,
    states: Vec<SensorState>,
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
    /// The CPU, or `None` if the kernel counts without one (skipped nested programs).
    pub cpu: Option<u32>,
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

impl LossCause {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LossCause::RingFull => "ring_full",
            LossCause::MapFull => "map_full",
            LossCause::Nested => "nested",
        }
    }
}

impl Sensors {
    /// Loads and attaches every sensor that this kernel allows. `cgroup_root` is the cgroup v2 mount point.
    ///
    /// # Errors
    /// If the object is a stub, BTF is missing, or a sensor that nothing works without (scope, exec,
    /// syscalls) cannot be attached. Other sensors may be missing: see [`Self::states`].
    pub fn load(settings: &Settings, cgroup_root: &Path) -> Result<Self> {
        let sensors = Self::probe(settings, cgroup_root)?;
        for state in &sensors.states {
            if let (true, Some(gap)) = (REQUIRED.contains(&state.sensor), &state.gap) {
                bail!(
                    "the sensor {} is not live, and nothing can be recorded without it: {gap}. \
                     `rei doctor` shows what this host allows",
                    state.sensor.name()
                );
            }
        }
        Ok(sensors)
    }

    /// Like [`Self::load`], but no sensor is required: for a report of what this kernel allows.
    ///
    /// # Errors
    /// If the object is a stub, BTF is missing, this process may not load programs, or no map can be made.
    pub fn probe(settings: &Settings, cgroup_root: &Path) -> Result<Self> {
        let object = object::object()?;
        privilege::require()?;
        let types = KernelTypes::of_running_kernel()?;
        let resolved = types.resolve();
        // aya has a parser of its own, which its loader needs.
        let btf = Btf::from_sys_fs().context("the kernel's BTF cannot be parsed")?;
        let cgroup = File::open(cgroup_root)
            .with_context(|| format!("the cgroup v2 root {} cannot be opened", cgroup_root.display()))?;
        let mut ebpf = load_object(object, settings, &resolved, &btf)?;
        let mut links = Vec::new();
        let states = SensorKind::ALL
            .into_iter()
            .map(|sensor| {
                let live = unmet(sensor, &types, &resolved)
                    .map_or(Ok(()), Err)
                    .and_then(|()| {
                        links.extend(start(&mut ebpf, sensor, &btf, &cgroup)?);
                        Ok(())
                    });
                SensorState {
                    sensor,
                    gap: live.err().map(|error| format!("{error:#}")),
                }
            })
            .collect();
        Ok(Self { links, ebpf, states })
    }

    /// The ring, once.
    ///
    /// # Errors
    /// If it was already taken.
    pub fn take_ring(&mut self) -> Result<RingBuf<MapData>> {
        let map = self
            .ebpf
            .take_map("RING")
            .context("the ring was already taken, or the eBPF object has none")?;
        RingBuf::try_from(map).context("the ring (map RING) cannot be mapped into memory")
    }

    /// Which sensors are live.
    #[must_use]
    pub fn states(&self) -> &[SensorState] {
        &self.states
    }

    /// Every loss so far, of all scopes together, counts above zero only.
    ///
    /// # Errors
    /// If a map or a program's fdinfo cannot be read.
    pub fn losses(&self) -> Result<Vec<Loss>> {
        loss::all(&self.ebpf)
    }

    /// Stops every sensor; the ring and the counters can still be read. Call it before the last drain.
    pub fn detach(&mut self) {
        self.links.clear();
    }
}

/// Makes the maps and sets the globals. No program is loaded yet.
fn load_object(object: &[u8], settings: &Settings, resolved: &Resolved, btf: &Btf) -> Result<Ebpf> {
    check_ring(settings.ring_bytes)?;
    let cpus = possible_cpus()?;
    let chunks = pid_chunks()?;
    EbpfLoader::new()
        .btf(Some(btf))
        .override_global("OFFSETS", &resolved.offsets, true)
        .map_max_entries("RING", settings.ring_bytes)
        .map_max_entries("WATCHED", chunks)
        .map_max_entries("SCRATCH", SCRATCH_PER_CPU * cpus)
        .load(object)
        .context("the kernel refuses rei's maps; `rei doctor` shows what this host allows")
}

/// The kernel would refuse any other size with a number.
fn check_ring(ring_bytes: u32) -> Result<()> {
    let page = u32::try_from(rustix::param::page_size()).context("the page size is beyond 32 bits")?;
    if !ring_bytes.is_power_of_two() || ring_bytes < page {
        bail!(
            "a ring of {} bytes cannot be made: use a power of two, at least {page}",
            ring_bytes
        );
    }
    Ok(())
}

/// Why `sensor` cannot work on this kernel whatever the verifier says: a field or a tracepoint is missing.
fn unmet(sensor: SensorKind, types: &KernelTypes, resolved: &Resolved) -> Option<anyhow::Error> {
    let field = resolved
        .gaps
        .iter()
        .find(|gap| !gap.field.optional && needs(sensor, gap.field.name));
    if let Some(gap) = field {
        return Some(anyhow::anyhow!("{gap}"));
    }
    PROGRAMS
        .iter()
        .filter(|program| program.sensor == sensor)
        .find_map(|program| match program.attach {
            Attach::BtfTracepoint(name) if !types.has_tracepoint(name) => {
                Some(anyhow::anyhow!("this kernel has no BTF tracepoint {name}"))
            }
            Attach::BtfTracepoint(_) | Attach::CgroupSockAddr => None,
        })
}

/// Whether `sensor` reads the kernel field `name` (a name in `Offsets`, told by its prefix).
///
/// Who a process is stands in every record. A struct that only some sensors read disables only those.
fn needs(sensor: SensorKind, name: &str) -> bool {
    let prefix = name.split('_').next().unwrap_or(name);
    match prefix {
        "regs" | "files" | "fdtable" => sensor == SensorKind::Syscalls,
        "mm" | "bprm" => sensor == SensorKind::Exec,
        "file" | "inode" | "sb" | "qstr" | "mount" | "vfsmount" => {
            matches!(sensor, SensorKind::Exec | SensorKind::Syscalls)
        }
        "socket" | "sock" => {
            matches!(
                sensor,
                SensorKind::Syscalls | SensorKind::SocketState | SensorKind::CgroupAddress
            )
        }
        _ => true,
    }
}

/// Loads and attaches every program of `sensor`, or none of them.
fn start(ebpf: &mut Ebpf, sensor: SensorKind, btf: &Btf, cgroup: &File) -> Result<Vec<Link>> {
    let programs = || PROGRAMS.iter().filter(move |program| program.sensor == sensor);
    programs().try_for_each(|program| program::load(ebpf, program, btf))?;
    programs()
        .map(|program| program::attach(ebpf, program, cgroup))
        .collect()
}

fn map<'a>(ebpf: &'a Ebpf, name: &'static str) -> Result<&'a Map> {
    ebpf.map(name).with_context(|| no_map(name))
}

fn no_map(name: &str) -> String {
    format!("the eBPF object has no map {name}: it is stale, build rei again")
}

/// One more than the highest CPU number that this kernel can ever have.
fn possible_cpus() -> Result<u32> {
    const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
    let text =
        fs::read_to_string(POSSIBLE).with_context(|| format!("{POSSIBLE} cannot be read: mount /sys"))?;
    cpus_in(&text).with_context(|| format!("{POSSIBLE} says {text:?}, which is no list of CPUs"))
}

/// The kernel writes ranges in ascending order: `0-3`, `0`, `0-1,4-7`.
fn cpus_in(list: &str) -> Option<u32> {
    let highest = list.trim().rsplit([',', '-']).next()?;
    highest.parse::<u32>().ok()?.checked_add(1)
}

/// Elements of the map `WATCHED`, so that every process id has its byte.
fn pid_chunks() -> Result<u32> {
    const PID_MAX: &str = "/proc/sys/kernel/pid_max";
    let text =
        fs::read_to_string(PID_MAX).with_context(|| format!("{PID_MAX} cannot be read: mount /proc"))?;
    let pid_max: usize = text
        .trim()
        .parse()
        .with_context(|| format!("{PID_MAX} says {text:?}, which is no number"))?;
    u32::try_from(pid_max.div_ceil(WATCHED_CHUNK)).with_context(|| format!("{PID_MAX} is beyond 32 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_cpu_counts() {
        assert_eq!(cpus_in("0-1\n"), Some(2));
        assert_eq!(cpus_in("0\n"), Some(1));
        assert_eq!(cpus_in("0-1,4-7\n"), Some(8));
        assert_eq!(cpus_in("\n"), None);
        assert_eq!(cpus_in("0-x\n"), None);
    }

    #[test]
    fn a_field_that_only_some_sensors_read_disables_only_those() {
        assert!(needs(SensorKind::SocketState, "sock_family"));
        assert!(!needs(SensorKind::Scope, "sock_family"));
        assert!(!needs(SensorKind::CgroupAddress, "bprm_argc"));
        // Identity is in every record.
        assert!(
            SensorKind::ALL
                .into_iter()
                .all(|sensor| needs(sensor, "task_pid"))
        );
    }

    #[test]
    fn a_ring_that_the_kernel_cannot_make_is_refused_before_it_is_asked() {
        for ring_bytes in [0, 100, 4096 * 3] {
            let error = check_ring(ring_bytes).expect_err("refused").to_string();
            assert!(error.contains("power of two"), "{error}");
        }
        check_ring(RING_BYTES_DEFAULT).expect("the default can be made");
    }
}
