//! What is watched: the maps through which user space tells the kernel side.

use std::fs;

use anyhow::{Context, Result, bail};
use aya::maps::{Array, HashMap, Map, MapData, MapError};
use aya::{Ebpf, Pod};
use rei_ebpf_common::header::{KIND_SLOTS, Phase, task_flag};
use rei_ebpf_common::maps::{Control, FAMILY_SLOTS, SOCKET_KINDS, SYSCALL_SLOTS, ScopeState, TaskState};

use super::{LostByKind, Sensors, map};

/// Update flag of the kernel: fail if the key is there (`BPF_NOEXIST` in linux/bpf.h).
const NO_EXIST: u64 = 1;
/// errno of an update with [`NO_EXIST`] whose key is there.
const EEXIST: i32 = 17;
/// errno of removing a key that is not there.
const ENOENT: i32 = 2;
/// Digits of a container id.
const ID_DIGITS: usize = 64;

impl Sensors {
    /// From now on every new cgroup whose name is that of a container becomes a scope (or only `expected`, a
    /// container id of 64 hexadecimal digits).
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn arm_new_containers(&mut self, expected: Option<&str>) -> Result<()> {
        self.set_control(&armed(expected)?)
    }

    /// No new scopes from now on.
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn disarm(&mut self) -> Result<()> {
        self.set_control(&Control {
            arm_new_containers: 0,
            expect_one: 0,
            expected: [0; 32],
            expected_rest: [0; 32],
        })
    }

    /// Watches an existing, empty cgroup; the first process that is put into it is a plain command.
    ///
    /// # Errors
    /// If the kernel refuses the map update.
    pub fn watch_plain(&mut self, cgroup: u64) -> Result<()> {
        // The cgroup last: as soon as the kernel side finds it, the rest is there.
        self.put::<u64, ScopeState>("SCOPES", cgroup, &fresh_scope(0))?;
        self.put::<u64, u32>("PLAIN", cgroup, &1)?;
        self.put::<u64, u64>("CGROUPS", cgroup, &cgroup)
    }

    /// Watches an existing cgroup tree with processes in it: `cgroups` are the ids of the tree, root first.
    /// Afterwards, call [`Self::follow_present`] for each process in it.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn watch_running(&mut self, cgroups: &[u64]) -> Result<()> {
        let [root, ..] = cgroups else {
            bail!("no cgroup was named to watch: name the tree's root first")
        };
        // The entrypoint ran before rei came: whoever is placed from now on is put there by an operator.
        self.put::<u64, ScopeState>("SCOPES", *root, &fresh_scope(1))?;
        let mut check_all: Array<_, u32> =
            Array::try_from(map_mut(&mut self.ebpf, "CHECK_ALL")?).context("map CHECK_ALL")?;
        check_all
            .set(0, 1, 0)
            .context("the kernel refuses to update map CHECK_ALL")?;
        cgroups
            .iter()
            .try_for_each(|cgroup| self.put::<u64, u64>("CGROUPS", *cgroup, root))
    }

    /// Follows a process that was there before rei, as workload, marked `PRESENT_AT_ATTACH`. One that has
    /// ended, or is only waited for (a zombie), is not followed. `start_ns` is 0 unless it is exactly known:
    /// /proc tells ticks.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn follow_present(&mut self, scope: u64, pid: u32, start_ns: u64) -> Result<()> {
        let status = || fs::read_to_string(format!("/proc/{pid}/status"));
        let Some(found) = status().ok().filter(|status| is_alive(status)) else {
            return Ok(());
        };
        let ns_pid = innermost_pid(&found).unwrap_or(0);
        let mut tasks = self.hash_mut::<u32, TaskState>("TASKS")?;
        match tasks.insert(pid, present(scope, start_ns, ns_pid), NO_EXIST) {
            Ok(()) => {}
            // The kernel side met the process first, and knows more.
            Err(MapError::SyscallError(error)) if error.io_error.raw_os_error() == Some(EEXIST) => {
                return Ok(());
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("the kernel refuses to follow process {pid} (map TASKS)"));
            }
        }
        // It may have ended between the caller's look and the insert: then no exit will ever take the entry
        // away, and the next process of that number must not be taken for it.
        if !status().is_ok_and(|status| is_alive(&status)) {
            self.drop_keys::<u32, TaskState>("TASKS", &[pid])?;
        }
        Ok(())
    }

    /// Drops a scope: nothing of it is reported any more. Gives what it had lost.
    ///
    /// Its processes stay in the map `TASKS`: at its next call, or its end, the kernel side drops each by
    /// itself, and until then it needs the entry to finish what it had noted about the process's descriptors.
    ///
    /// # Errors
    /// If the kernel refuses a map update.
    pub fn forget(&mut self, scope: u64) -> Result<LostByKind> {
        // What is lost between this look and the removal is nobody's, and then counts for whoever is
        // observed.
        let state = self.scope_state(scope)?;
        // The scope first: without it the kernel side follows nobody any more, so nothing is added meanwhile.
        self.drop_keys::<u64, ScopeState>("SCOPES", &[scope])?;
        self.drop_keys::<u64, u32>("PLAIN", &[scope])?;
        let cgroups = self.keys_where::<u64, u64>("CGROUPS", |of| *of == scope)?;
        self.drop_keys::<u64, u64>("CGROUPS", &cgroups)?;
        Ok(state.as_ref().map(LostByKind::of).unwrap_or_default())
    }

    /// What the kernel side knows of a scope; `None` if it is not watched.
    ///
    /// # Errors
    /// If the map cannot be read.
    pub fn scope_state(&self, scope: u64) -> Result<Option<ScopeState>> {
        let scopes: HashMap<_, u64, ScopeState> =
            HashMap::try_from(map(&self.ebpf, "SCOPES")?).context("map SCOPES")?;
        match scopes.get(&scope, 0) {
            Ok(state) => Ok(Some(state)),
            Err(MapError::KeyNotFound) => Ok(None),
            Err(error) => {
                Err(error).with_context(|| format!("the state of scope {scope} cannot be read (map SCOPES)"))
            }
        }
    }

    fn set_control(&mut self, control: &Control) -> Result<()> {
        let mut array: Array<_, Control> =
            Array::try_from(map_mut(&mut self.ebpf, "CONTROL")?).context("map CONTROL")?;
        array
            .set(0, control, 0)
            .context("the kernel refuses to update map CONTROL")
    }

    fn hash_mut<K: Pod, V: Pod>(&mut self, name: &'static str) -> Result<HashMap<&mut MapData, K, V>> {
        HashMap::try_from(map_mut(&mut self.ebpf, name)?).with_context(|| format!("map {name}"))
    }

    fn put<K: Pod, V: Pod>(&mut self, name: &'static str, key: K, value: &V) -> Result<()> {
        let mut hash = self.hash_mut::<K, V>(name)?;
        hash.insert(key, value, 0)
            .with_context(|| format!("the kernel refuses to update map {name}"))
    }

    /// The keys whose value is wanted. The kernel side may add and remove meanwhile: a key may come twice.
    fn keys_where<K: Pod, V: Pod>(
        &mut self,
        name: &'static str,
        wanted: impl Fn(&V) -> bool,
    ) -> Result<Vec<K>> {
        let hash = self.hash_mut::<K, V>(name)?;
        let mut keys = Vec::new();
        for entry in hash.iter() {
            let (key, value) = entry.with_context(|| format!("map {name} cannot be read"))?;
            if wanted(&value) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    fn drop_keys<K: Pod, V: Pod>(&mut self, name: &'static str, keys: &[K]) -> Result<()> {
        let mut hash = self.hash_mut::<K, V>(name)?;
        for key in keys {
            match hash.remove(key) {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(MapError::SyscallError(error)) if error.io_error.raw_os_error() == Some(ENOENT) => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("the kernel refuses to update map {name}"));
                }
            }
        }
        Ok(())
    }
}

fn map_mut<'a>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut Map> {
    ebpf.map_mut(name).with_context(|| super::no_map(name))
}

/// What the kernel side is told when new containers are awaited.
fn armed(expected: Option<&str>) -> Result<Control> {
    let mut control = Control {
        arm_new_containers: 1,
        ..Control::default()
    };
    if let Some(id) = expected {
        let digits = id.as_bytes();
        if digits.len() != ID_DIGITS || !digits.iter().all(u8::is_ascii_hexdigit) {
            bail!("{id:?} is no container id: {ID_DIGITS} hexadecimal digits are needed");
        }
        let (first, rest) = digits.split_at(ID_DIGITS / 2);
        control.expect_one = 1;
        control.expected.copy_from_slice(first);
        control.expected_rest.copy_from_slice(rest);
    }
    Ok(control)
}

fn fresh_scope(entrypoint_ns: u64) -> ScopeState {
    ScopeState {
        lost: [0; KIND_SLOTS],
        entrypoint_ns,
        processes: 0,
        native: [0; SYSCALL_SLOTS],
        compat: [0; SYSCALL_SLOTS],
        sockets: [[0; SOCKET_KINDS]; FAMILY_SLOTS],
    }
}

fn present(scope: u64, start_ns: u64, ns_pid: u32) -> TaskState {
    TaskState {
        scope,
        start_ns,
        placed_root: 0,
        phase: Phase::Workload as u8,
        state_flags: 0,
        task_flags: task_flag::PRESENT_AT_ATTACH,
        ns_pid,
    }
}

/// Whether a process with this `/proc/PID/status` can still act. Its exit is reported once its last thread
/// has given up its memory, so without memory there will be none any more. The first thread alone may have
/// ended before the rest.
fn is_alive(status: &str) -> bool {
    let field = |name| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    let has_ended = field("State:").is_none_or(|state| state.starts_with(['Z', 'X']));
    let has_memory = field("VmSize:").is_some();
    let has_other_threads = field("Threads:")
        .and_then(|threads| threads.parse::<u32>().ok())
        .is_some_and(|threads| threads > 1);
    has_other_threads || (has_memory && !has_ended)
}

/// The process id in the process's own namespace: the last one of the line `NSpid:` of `/proc/PID/status`.
fn innermost_pid(status: &str) -> Option<u32> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?
        .split_whitespace()
        .last()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_container_is_told_in_two_halves() {
        let id = "0123456789abcdef0123456789abcdeffedcba9876543210fedcba9876543210";
        let control = armed(Some(id)).expect("a whole id");
        assert_eq!((control.arm_new_containers, control.expect_one), (1, 1));
        assert_eq!([control.expected, control.expected_rest].concat(), id.as_bytes());
        assert_eq!(armed(None).expect("any").expect_one, 0);
    }

    #[test]
    fn what_is_no_whole_container_id_is_refused() {
        for id in ["", "0123", &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
            let error = armed(Some(id)).expect_err(id).to_string();
            assert!(error.contains("no container id"), "{error}");
        }
    }

    #[test]
    fn the_innermost_process_id_is_the_last_one() {
        assert_eq!(
            innermost_pid("Name:\tsh\nNSpid:\t4711\t12\t1\nNSsid:\t9\n"),
            Some(1)
        );
        assert_eq!(innermost_pid("Name:\tsh\n"), None);
    }

    #[test]
    fn who_has_ended_is_not_alive() {
        let status = |state: &str, memory: &str, threads: u32| {
            format!("Name:\tx\nState:\t{state}\nNSpid:\t7\n{memory}Threads:\t{threads}\n")
        };
        let memory = "VmPeak:\t  9 kB\nVmSize:\t  9 kB\n";
        for (state, memory, threads, expected) in [
            ("S (sleeping)", memory, 1, true),
            ("R (running)", memory, 8, true),
            ("Z (zombie)", "", 1, false),
            ("X (dead)", "", 0, false),
            // On its way out: past its exit event, and not a zombie yet.
            ("R (running)", "", 1, false),
            // The first thread has ended, the others have not.
            ("Z (zombie)", "", 2, true),
        ] {
            assert_eq!(
                is_alive(&status(state, memory, threads)),
                expected,
                "{state} {threads}"
            );
        }
        assert!(!is_alive(""));
        assert!(is_alive(&fs::read_to_string("/proc/self/status").unwrap()));
    }

    #[test]
    fn a_present_process_is_workload_and_marked() {
        let task = present(5, 9, 1);
        assert_eq!((task.scope, task.start_ns, task.ns_pid), (5, 9, 1));
        assert_eq!(Phase::from_raw(task.phase), Some(Phase::Workload));
        assert_eq!(task.task_flags, task_flag::PRESENT_AT_ATTACH);
    }
}
