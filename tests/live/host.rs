//! The machine that the live tests share: one test at a time, and what it must be free of afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ::rei::cgroup::mount_point;
use anyhow::{Context, Result, ensure};
use aya::maps::loaded_maps;
use aya::programs::loaded_programs;

/// How long the kernel and the engine may take to put away what a run leaves behind.
const SETTLE: Duration = Duration::from_secs(10);

/// The machine, held by one live test at a time, also across test processes: they measure time and count programs.
pub(crate) struct Host {
    _lock: File,
    before: Inventory,
}

/// What exists in the kernel and the engine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Inventory {
    programs: BTreeMap<u64, String>,
    maps: BTreeMap<u64, String>,
    cgroups: BTreeSet<PathBuf>,
    containers: BTreeSet<String>,
    processes: BTreeSet<u32>,
}

impl Host {
    /// Waits for the machine and looks at it. Fails where the live tests cannot run; they are never skipped.
    pub(crate) fn take() -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the live tests need root: run `cargo xtask test` as root"
        );
        let path = "/run/rei-live-tests.lock";
        let lock = File::create(path).with_context(|| format!("cannot create {path}"))?;
        lock.lock().with_context(|| format!("cannot lock {path}"))?;
        let before = Inventory::take()?;
        Ok(Self { _lock: lock, before })
    }

    /// Fails if a program, a map, a cgroup, a container or a process of rei is there that was not there before.
    ///
    /// What only appears later is somebody else's: the machine may have other users.
    pub(crate) fn check_nothing_left(&self) -> Result<()> {
        let end = Instant::now() + SETTLE;
        let mut left = Inventory::take()?.without(&self.before);
        while left != Inventory::default() {
            ensure!(Instant::now() < end, "left behind: {left:#?}");
            std::thread::sleep(Duration::from_millis(100));
            left = left.still_in(&Inventory::take()?);
        }
        Ok(())
    }

    /// Fails if rei's programs and maps are not seen while rei runs: then nothing could be seen to be left either.
    pub(crate) fn check_something_loaded(&self) -> Result<()> {
        let new = Inventory::take()?.without(&self.before);
        ensure!(
            !new.programs.is_empty() && !new.maps.is_empty(),
            "no program or map of rei is seen: {new:#?}"
        );
        Ok(())
    }

    /// Cgroups that were not there when the test began.
    pub(crate) fn new_cgroups(&self) -> Result<BTreeSet<PathBuf>> {
        Ok(Inventory::take()?.without(&self.before).cgroups)
    }
}

impl Inventory {
    fn take() -> Result<Self> {
        let mut cgroups = BTreeSet::new();
        walk(&mount_point()?, &mut cgroups);
        let listed = stdout_of(Command::new("docker").args(["ps", "-aq", "--no-trunc"]))
            .context("the Docker engine must run for the live tests: run `cargo xtask setup`")?;
        Ok(Self {
            programs: programs(),
            maps: maps(),
            cgroups,
            containers: listed.lines().map(str::to_owned).collect(),
            processes: processes_of(Path::new(env!("CARGO_BIN_EXE_rei")))?,
        })
    }

    fn without(mut self, before: &Self) -> Self {
        self.programs.retain(|id, _| !before.programs.contains_key(id));
        self.maps.retain(|id, _| !before.maps.contains_key(id));
        self.cgroups.retain(|path| !before.cgroups.contains(path));
        self.containers.retain(|id| !before.containers.contains(id));
        self.processes.retain(|pid| !before.processes.contains(pid));
        self
    }

    fn still_in(mut self, now: &Self) -> Self {
        self.programs.retain(|id, _| now.programs.contains_key(id));
        self.maps.retain(|id, _| now.maps.contains_key(id));
        self.cgroups.retain(|path| now.cgroups.contains(path));
        self.containers.retain(|id| now.containers.contains(id));
        self.processes.retain(|pid| now.processes.contains(pid));
        self
    }
}

/// Ids and names of every BPF program of the machine. One that goes while it is looked at is left out.
fn programs() -> BTreeMap<u64, String> {
    let name = |program: &aya::programs::ProgramInfo| program.name_as_str().unwrap_or("(no name)").to_owned();
    loaded_programs()
        .flatten()
        .map(|program| (u64::from(program.id()), name(&program)))
        .collect()
}

/// The same for maps.
fn maps() -> BTreeMap<u64, String> {
    let name = |map: &aya::maps::MapInfo| map.name_as_str().unwrap_or("(no name)").to_owned();
    loaded_maps()
        .flatten()
        .map(|map| (u64::from(map.id()), name(&map)))
        .collect()
}

/// Every directory below `folder`; one that vanishes meanwhile is left out.
fn walk(folder: &Path, into: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), into);
            into.insert(entry.path());
        }
    }
}

/// Processes that run the program `program`.
fn processes_of(program: &Path) -> Result<BTreeSet<u32>> {
    let wanted = program
        .canonicalize()
        .with_context(|| format!("no {}", program.display()))?;
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == wanted) {
            found.insert(pid);
        }
    }
    Ok(found)
}

/// The cgroup v2 directory of a process.
pub(crate) fn cgroup_of(pid: u32) -> Result<PathBuf> {
    let path = format!("/proc/{pid}/cgroup");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let below = text
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .with_context(|| format!("no v2 line in {path}"))?;
    Ok(mount_point()?.join(below))
}

/// A name that no other test and no other run of the tests uses.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "rei-live-{what}-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Asks until there is an answer, at most for `limit`.
pub(crate) fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut ask: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        ensure!(Instant::now() < end, "waited {limit:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Standard output of a command that must succeed.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?}: {}: {}",
        output.status,
        errors.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
