//! May this process load eBPF programs?

use std::fs;

use anyhow::{Context, Result, bail};

/// Bit of `CAP_NET_ADMIN` (linux/capability.h): programs on socket addresses.
const NET_ADMIN: u32 = 12;
/// Bit of `CAP_SYS_ADMIN`: stands for `CAP_BPF` and `CAP_PERFMON`.
const SYS_ADMIN: u32 = 21;
/// Bit of `CAP_PERFMON`: programs that read kernel memory.
const PERFMON: u32 = 38;
/// Bit of `CAP_BPF`: maps and programs.
const BPF: u32 = 39;

/// The capabilities that rei needs and this process lacks, by name.
///
/// # Errors
/// If `/proc/self/status` cannot be read.
pub fn lacking() -> Result<Vec<&'static str>> {
    let status =
        fs::read_to_string("/proc/self/status").context("/proc/self/status cannot be read: mount /proc")?;
    let effective =
        effective(&status).context("/proc/self/status has no CapEff line: is /proc the kernel's?")?;
    Ok(lacking_in(effective))
}

/// Fails if a capability is missing.
pub(super) fn require() -> Result<()> {
    let lacking = lacking()?;
    if !lacking.is_empty() {
        bail!(
            "rei may not load its sensors: this process lacks {}. Run rei as root (sudo)",
            lacking.join(", ")
        );
    }
    Ok(())
}

fn effective(status: &str) -> Option<u64> {
    let hexadecimal = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hexadecimal.trim(), 16).ok()
}

fn lacking_in(effective: u64) -> Vec<&'static str> {
    let has = |bit: u32| effective & (1 << bit) != 0;
    let mut lacking = Vec::new();
    if !has(BPF) && !has(SYS_ADMIN) {
        lacking.push("CAP_BPF");
    }
    if !has(PERFMON) && !has(SYS_ADMIN) {
        lacking.push("CAP_PERFMON");
    }
    if !has(NET_ADMIN) {
        lacking.push("CAP_NET_ADMIN");
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_lacks_nothing_and_a_user_everything() {
        assert_eq!(lacking_in(0x1ff_ffff_ffff), Vec::<&str>::new());
        assert_eq!(lacking_in(0), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
    }

    #[test]
    fn sys_admin_stands_for_bpf_and_perfmon() {
        assert_eq!(lacking_in(1 << SYS_ADMIN), ["CAP_NET_ADMIN"]);
        assert_eq!(
            lacking_in(1 << BPF | 1 << PERFMON | 1 << NET_ADMIN),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn the_effective_set_is_read_from_the_status_file() {
        assert_eq!(
            effective("Name:\tx\nCapEff:\t000000ffffffffff\nCapBnd:\t0\n"),
            Some(0xff_ffff_ffff)
        );
        assert_eq!(effective("Name:\tx\n"), None);
        assert_eq!(effective("CapEff:\tnonsense\n"), None);
    }
}
