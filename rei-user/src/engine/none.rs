//! No engine: a fresh cgroup v2 for one plain command, and what earlier runs left behind.
//!
//! The cgroup is named `rei-<pid>-<start>` for the rei that made it. While that rei lives it holds a lock on
//! the directory, so that one in another pid namespace, where the pid means nothing, does not sweep it away.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

use crate::cgroup;

/// How long a dying process may keep its cgroup busy after its parent was told of its end.
const EMPTY_PATIENCE: Duration = Duration::from_millis(500);

/// A cgroup for one plain command; removed on drop.
#[derive(Debug)]
pub struct FreshCgroup {
    directory: PathBuf,
    /// Where processes go that outlive the run: the cgroup that rei itself is in.
    home: PathBuf,
    /// Held open for its lock.
    _lock: File,
}

/// A cgroup that a rei left behind when it was killed, with processes still in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Its directory.
    pub directory: PathBuf,
    /// How many processes are in it.
    pub processes: usize,
}

impl FreshCgroup {
    /// Makes the cgroup, below the cgroup v2 mount `root`.
    ///
    /// # Errors
    /// If the tree cannot be written to.
    pub fn make(root: &Path) -> Result<Self> {
        let directory = root.join(own_name()?);
        fs::create_dir(&directory).with_context(|| {
            format!(
                "cannot make the cgroup {}; rei must run as root with a writable cgroup v2 tree",
                directory.display()
            )
        })?;
        // From here on a failure must take the directory with it.
        let made = File::open(&directory).and_then(|lock| {
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            Ok(lock)
        });
        let home = cgroup::path_of_process(std::process::id());
        match (made, home) {
            (Ok(lock), Ok(path)) => Ok(Self {
                directory,
                home: root.join(path.trim_start_matches('/')),
                _lock: lock,
            }),
            (made, home) => {
                // Empty and ours; if even that fails the next start sweeps it.
                let _ = fs::remove_dir(&directory);
                made.with_context(|| format!("cannot lock the cgroup {}", directory.display()))?;
                Err(home
                    .err()
                    .unwrap_or_else(|| anyhow::anyhow!("the cgroup of rei itself is not known")))
            }
        }
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its id, as the kernel side sees it.
    ///
    /// # Errors
    /// If it is gone.
    pub fn id(&self) -> Result<u64> {
        cgroup::id(&self.directory)
    }

    /// Processes in it.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        cgroup::tree_processes(&self.directory)
    }
}

impl Drop for FreshCgroup {
    /// Moves processes that outlive the run to where they would be without rei, and removes the cgroup.
    fn drop(&mut self) {
        let end = Instant::now() + EMPTY_PATIENCE;
        loop {
            for pid in self.processes() {
                // A process may end meanwhile; one that forks meanwhile is met in the next round.
                let _ = fs::write(self.home.join("cgroup.procs"), pid.to_string());
            }
            match remove_tree(&self.directory) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => {
                    tracing::warn!("cannot remove the cgroup {}: {error}", self.directory.display());
                    return;
                }
                Ok(()) => return,
            }
        }
    }
}

/// Removes a tree of empty cgroups, children first.
fn remove_tree(directory: &Path) -> io::Result<()> {
    for child in cgroup::descendants(directory).iter().rev() {
        fs::remove_dir(child)?;
    }
    fs::remove_dir(directory)
}

/// Removes the empty cgroups of dead reis below `root`; those with processes in them are left alone and
/// named.
#[must_use]
pub fn sweep(root: &Path) -> Vec<Leftover> {
    let mut leftovers = Vec::new();
    let Ok(entries) = fs::read_dir(root) else {
        return leftovers;
    };
    for entry in entries.filter_map(io::Result::ok) {
        let directory = entry.path();
        if !entry.file_name().to_str().is_some_and(is_name_of_the_dead) || is_locked(&directory) {
            continue;
        }
        let processes = cgroup::tree_processes(&directory).len();
        if processes > 0 {
            leftovers.push(Leftover { directory, processes });
        } else if let Err(error) = remove_tree(&directory) {
            tracing::debug!("cannot sweep {}: {error}", directory.display());
        }
    }
    leftovers
}

fn is_locked(directory: &Path) -> bool {
    File::open(directory).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// `rei-<pid>-<start>` of this process: names what belongs to it in shared places.
///
/// # Errors
/// If /proc cannot be read.
pub fn own_name() -> Result<String> {
    let pid = std::process::id();
    let start =
        start_ticks(pid).with_context(|| format!("cannot read /proc/{pid}/stat; is /proc mounted?"))?;
    Ok(format!("rei-{pid}-{start}"))
}

/// Whether `name` was given by [`own_name`] in a process that is no more.
#[must_use]
pub fn is_name_of_the_dead(name: &str) -> bool {
    let parsed = name.strip_prefix("rei-").and_then(|rest| rest.split_once('-'));
    let Some((pid, start)) = parsed else { return false };
    match (pid.parse::<u32>(), start.parse::<u64>()) {
        (Ok(pid), Ok(start)) => start_ticks(pid) != Some(start),
        _ => false,
    }
}

/// Field 22 of /proc/PID/stat: start of the process in clock ticks since boot.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in field 2 may hold anything, spaces and parentheses included: count from its last
    // parenthesis.
    let end_of_name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end_of_name + 2..)?).ok()?;
    rest.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_living_are_not_swept() {
        let own = own_name().unwrap();
        assert!(!is_name_of_the_dead(&own));
        assert!(is_name_of_the_dead(&format!("{own}1")), "same pid, another start");
        assert!(is_name_of_the_dead("rei-4294967295-1"));
        for name in ["rei-", "rei-1", "rei-a-b", "docker", "rei-1-2-3", "user.slice"] {
            assert!(!is_name_of_the_dead(name), "{name}");
        }
    }

    #[test]
    fn sweeps_only_empty_directories_of_the_dead() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join("rei-4294967295-1");
        let own = root.path().join(own_name().unwrap());
        let other = root.path().join("other");
        let busy = root.path().join("rei-4294967295-2");
        for directory in [&dead, &own, &other, &busy] {
            fs::create_dir(directory).unwrap();
        }
        fs::create_dir(dead.join("child")).unwrap();
        fs::write(busy.join("cgroup.procs"), "17\n18\n").unwrap();
        assert_eq!(
            sweep(root.path()),
            [Leftover {
                directory: busy.clone(),
                processes: 2
            }]
        );
        assert!(!dead.exists() && own.exists() && other.exists() && busy.exists());
    }
}
