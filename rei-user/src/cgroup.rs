//! The cgroup v2 tree: where it is mounted, which directory is which id, what a name says about a container.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Deepest tree that is walked. The kernel's own default limit is higher, but nothing real comes near.
const DEPTH_MAX: usize = 64;

/// Mount point of the cgroup v2 tree.
///
/// # Errors
/// If /proc/self/mountinfo cannot be read, or no cgroup v2 tree is mounted.
pub fn mount_point() -> Result<PathBuf> {
    let table =
        fs::read("/proc/self/mountinfo").context("cannot read /proc/self/mountinfo; is /proc mounted?")?;
    mount_point_in(&table).context(
        "no cgroup v2 tree is mounted; mount one: `mkdir -p /sys/fs/cgroup/unified && \
         mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified`",
    )
}

/// Finds the first cgroup2 mount of a mountinfo table; one that shows the whole tree is preferred.
fn mount_point_in(table: &[u8]) -> Option<PathBuf> {
    let mut partial = None;
    for line in table.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let (Some(root), Some(point)) = (fields.get(3), fields.get(4)) else {
            continue;
        };
        // Optional fields end with a lone dash; the file system type follows.
        let Some(dash) = fields.iter().skip(6).position(|field| *field == b"-") else {
            continue;
        };
        if fields.get(dash + 7) != Some(&b"cgroup2".as_slice()) {
            continue;
        }
        let point = PathBuf::from(std::ffi::OsStr::from_bytes(&unescape(point)));
        if *root == b"/" {
            return Some(point);
        }
        partial.get_or_insert(point);
    }
    partial
}

/// mountinfo writes space, tab, newline and backslash as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = &tail[3..];
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

/// Id of the cgroup at `directory`, as the kernel side sees it.
///
/// kernfs gives its 64-bit node id as the inode number (fs/kernfs/inode.c), and cgroup v2 uses it as the
/// cgroup id.
///
/// # Errors
/// If the directory cannot be looked at.
pub fn id(directory: &Path) -> Result<u64> {
    let metadata = fs::metadata(directory).with_context(|| {
        format!(
            "cannot look at the cgroup {}; does it still exist?",
            directory.display()
        )
    })?;
    Ok(metadata.ino())
}

/// Ids of the tree at `directory`, root first. Cgroups that vanish meanwhile are left out.
///
/// # Errors
/// If the root itself cannot be read.
pub fn tree_ids(directory: &Path) -> Result<Vec<u64>> {
    let mut ids = vec![id(directory)?];
    for child in descendants(directory) {
        ids.extend(fs::metadata(&child).ok().map(|metadata| metadata.ino()));
    }
    Ok(ids)
}

/// Processes in the tree at `directory`. Threads of one process that sit in several cgroups count once.
#[must_use]
pub fn tree_processes(directory: &Path) -> Vec<u32> {
    let mut pids = processes(directory);
    for child in descendants(directory) {
        pids.extend(processes(&child));
    }
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Processes of one cgroup. A pid of 0 stands for a process outside our pid namespace and is left out.
fn processes(directory: &Path) -> Vec<u32> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid != 0)
        .collect()
}

/// Directories below `directory`, parents before children.
#[must_use]
pub fn descendants(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![directory.to_owned()];
    for _ in 0..DEPTH_MAX {
        level = level
            .iter()
            .flat_map(|parent| child_directories(parent))
            .collect();
        if level.is_empty() {
            break;
        }
        found.extend(level.iter().cloned());
    }
    found
}

fn child_directories(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let directories = entries
        .filter_map(io::Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

/// Path of a process's cgroup below the cgroup v2 root, starting with `/`.
///
/// # Errors
/// If the process is gone, or is in no cgroup v2 tree.
pub fn path_of_process(pid: u32) -> Result<String> {
    let table = fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .with_context(|| format!("process {pid} cannot be looked at; is it still running?"))?;
    match table.lines().find_map(|line| line.strip_prefix("0::")) {
        Some(path) => Ok(path.to_owned()),
        None => bail!("process {pid} is in no cgroup v2; rei needs the v2 tree, see `rei doctor`"),
    }
}

/// The container id that a cgroup's name holds, if it is one that an engine gives.
///
/// Known names: the bare id (cgroupfs driver), `docker-<id>.scope` and its siblings (systemd driver).
#[must_use]
pub fn container_id(name: &str) -> Option<&str> {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let digits = name.rsplit_once('-').map_or(name, |(_, digits)| digits);
    let is_id = digits.len() == 64
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then_some(digits)
}

/// The outermost part of a cgroup path that is named as a container, and that container's id.
#[must_use]
pub fn container_root(path: &str) -> Option<(&str, &str)> {
    let mut end = 0;
    for component in path.split('/') {
        end += component.len();
        if let Some(id) = container_id(component) {
            return Some((&path[..end], id));
        }
        end += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn finds_the_mount_wherever_it_is() {
        let hybrid = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:1 master:2 - cgroup2 cgroup2 rw\n";
        assert_eq!(
            mount_point_in(hybrid),
            Some(PathBuf::from("/sys/fs/cgroup/unified"))
        );
        let pure = b"35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(mount_point_in(pure), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(
            mount_point_in(b"1 2 0:3 / / rw - ext4 /dev/sda rw\n\n- - -\n"),
            None
        );
    }

    #[test]
    fn prefers_a_mount_of_the_whole_tree_and_unescapes_it() {
        let table = b"35 24 0:30 /docker/abc /part rw - cgroup2 cgroup2 rw\n\
            36 24 0:30 / /the\\040whole rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point_in(table), Some(PathBuf::from("/the whole")));
        let only_part = b"35 24 0:30 /docker/abc /part rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point_in(only_part), Some(PathBuf::from("/part")));
    }

    #[test]
    fn container_names() {
        assert_eq!(container_id(ID), Some(ID));
        assert_eq!(container_id(&format!("docker-{ID}.scope")), Some(ID));
        assert_eq!(container_id(&format!("libpod-{ID}.scope")), Some(ID));
        assert_eq!(container_id(&format!("cri-containerd-{ID}.scope")), Some(ID));
        for other in [
            "docker",
            "user.slice",
            "",
            "-",
            &ID[1..],
            &format!("{ID}0"),
            &ID.to_uppercase(),
        ] {
            assert_eq!(container_id(other), None, "{other}");
        }
    }

    #[test]
    fn container_roots() {
        let inner = format!("/docker/{ID}/init.scope");
        assert_eq!(container_root(&inner), Some((&inner[..8 + 64], ID)));
        let systemd = format!("/system.slice/docker-{ID}.scope");
        assert_eq!(container_root(&systemd), Some((systemd.as_str(), ID)));
        assert_eq!(container_root("/user.slice"), None);
        assert_eq!(container_root("/"), None);
    }

    #[test]
    #[ignore = "root"]
    fn the_mounted_tree_has_an_id() {
        let root = mount_point().unwrap();
        assert_ne!(id(&root).unwrap(), 0);
        assert_eq!(tree_ids(&root).unwrap()[0], id(&root).unwrap());
    }

    #[test]
    fn what_is_not_there_has_no_cgroup() {
        assert!(id(Path::new("/nonexistent")).is_err());
        assert!(path_of_process(u32::MAX).is_err());
    }
}
