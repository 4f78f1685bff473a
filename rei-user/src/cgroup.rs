//! To be written.

use std::path::PathBuf;

/// Mount point of the cgroup v2 tree.
///
/// # Errors
/// If none is mounted.
pub fn mount_point() -> anyhow::Result<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo")?;
    let mount = table
        .lines()
        .find(|line| line.contains(" - cgroup2 "))
        .and_then(|line| line.split(' ').nth(4));
    mount
        .map(PathBuf::from)
        .ok_or_else(|| anyhow::anyhow!("no cgroup v2 tree is mounted"))
}
