//! The host around the sensors: kernel, types, rights, cgroups, and rei itself.

use std::fs;
use std::path::Path;

use super::Finding;
use crate::attach::lockdown::{self, Lockdown};
use crate::attach::{object_state, privilege};
use crate::btf::{self, KernelTypes, OverlayTypes};
use crate::cgroup;

/// Oldest kernel that rei is made for: its maps need memory on demand in tracing programs, which came with
/// 6.1.
const KERNEL_MIN: (u32, u32) = (6, 1);

/// Every check of this file.
pub(super) fn findings() -> Vec<Finding> {
    let mut findings = vec![object(), kernel()];
    findings.extend(types());
    findings.extend([
        capabilities(),
        locked_down(lockdown::mode()),
        tracefs(),
        cgroups(),
    ]);
    findings
}

fn object() -> Finding {
    match object_state() {
        "built" => Finding::ok("ebpf object", "built into this rei"),
        stub => Finding::fail(
            "ebpf object",
            format!("this rei was built without it ({stub})"),
            "run `cargo xtask setup` in the source tree, then build rei again",
        ),
    }
}

fn kernel() -> Finding {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let machine = name.machine().to_string_lossy();
    kernel_of(&release, &machine)
}

fn kernel_of(release: &str, machine: &str) -> Finding {
    let found = format!("Linux {release} on {machine}");
    if machine != "x86_64" {
        return Finding::fail(
            "kernel",
            found,
            "use an x86-64 host: the kernel side reads its registers",
        );
    }
    match version(release) {
        Some(version) if version >= KERNEL_MIN => Finding::ok("kernel", found),
        Some(_) => Finding::gap(
            "kernel",
            found,
            "use Linux 6.1 or newer: older ones are not tested",
        ),
        None => Finding::gap(
            "kernel",
            found,
            "the version cannot be told: compare it with 6.1, the oldest one tested",
        ),
    }
}

/// Major and minor number of a release such as `6.1.0-18-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// BTF of the image, of overlayfs, and the fields in them.
fn types() -> Vec<Finding> {
    let types = match KernelTypes::of_running_kernel() {
        Ok(types) => types,
        Err(error) => {
            let next = "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (distributions' kernels are)";
            return vec![Finding::fail("btf vmlinux", format!("{error:#}"), next)];
        }
    };
    let gaps = types.resolve().gaps;
    let missing: Vec<String> = gaps
        .iter()
        .filter(|gap| !gap.field.optional)
        .map(ToString::to_string)
        .collect();
    let vmlinux = if missing.is_empty() {
        Finding::ok(
            "btf vmlinux",
            format!("{}, every field found that a sensor needs", btf::VMLINUX),
        )
    } else {
        let next = "this kernel's structures are new to rei: report its version and this list";
        Finding::gap("btf vmlinux", missing.join("\n"), next)
    };
    vec![vmlinux, overlay(types.overlay())]
}

fn overlay(types: OverlayTypes) -> Finding {
    const CHECK: &str = "btf overlay";
    match types {
        OverlayTypes::BuiltIn => Finding::ok(CHECK, "overlayfs is built into the kernel"),
        OverlayTypes::Module => Finding::ok(CHECK, btf::OVERLAY_MODULE),
        OverlayTypes::Absent => Finding::gap(
            CHECK,
            "no types of overlayfs: files of the image cannot be told from files written by the container",
            "load the module (`modprobe overlay`) before rei starts, and check that its BTF is installed",
        ),
    }
}

fn capabilities() -> Finding {
    const CHECK: &str = "capabilities";
    match privilege::lacking() {
        Ok(lacking) if lacking.is_empty() => Finding::ok(CHECK, "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN"),
        Ok(lacking) => Finding::fail(
            CHECK,
            format!("lacking {}", lacking.join(", ")),
            "run rei as root (sudo)",
        ),
        Err(error) => Finding::gap(CHECK, format!("unknown: {error:#}"), "mount /proc"),
    }
}

fn locked_down(mode: Lockdown) -> Finding {
    const CHECK: &str = "lockdown";
    match mode {
        Lockdown::None => Finding::ok(CHECK, "none"),
        Lockdown::Active(mode) if mode == "confidentiality" => Finding::gap(
            CHECK,
            "confidentiality: programs may not read kernel memory",
            "boot with lockdown=integrity, or expect the sensors below to be refused",
        ),
        Lockdown::Active(mode) => {
            Finding::ok(CHECK, format!("{mode}; no sensor of rei needs what it forbids"))
        }
        Lockdown::Unknown => {
            let path = lockdown::LOCKDOWN;
            Finding::ok(
                CHECK,
                format!("unknown: {path} cannot be read (no lockdown module, or securityfs not mounted)"),
            )
        }
    }
}

fn tracefs() -> Finding {
    let mounted = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .into_iter()
        .find(|path| Path::new(path).join("events").exists());
    Finding::ok(
        "tracefs",
        format!("{}; not needed by rei", mounted.unwrap_or("not mounted")),
    )
}

fn cgroups() -> Finding {
    const CHECK: &str = "cgroup v2";
    match cgroup::mount_point() {
        Ok(mount) => {
            let hybrid = has_v1(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default());
            let layout = if hybrid {
                "hybrid: v1 controllers beside it"
            } else {
                "unified: no v1 hierarchy"
            };
            Finding::ok(CHECK, format!("mounted at {} ({layout})", mount.display()))
        }
        Err(error) => Finding::fail(
            CHECK,
            format!("{error:#}"),
            "mount -t cgroup2 none /sys/fs/cgroup/unified",
        ),
    }
}

/// Whether a `/proc/PID/cgroup` names a hierarchy other than v2, whose number is 0.
fn has_v1(table: &str) -> bool {
    table.lines().any(|line| !line.starts_with("0::"))
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn releases_are_read_as_distributions_write_them() {
        assert_eq!(version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(version("6.18.44"), Some((6, 18)));
        assert_eq!(version("7.0-rc1"), Some((7, 0)));
        assert_eq!(version("unknown"), None);
    }

    #[test]
    fn an_old_kernel_is_a_gap_and_another_machine_a_failure() {
        assert_eq!(kernel_of("6.1.0-18-amd64", "x86_64").status, Status::Ok);
        assert_eq!(kernel_of("5.15.0", "x86_64").status, Status::Gap);
        assert_eq!(kernel_of("6.18.1", "aarch64").status, Status::Fail);
    }

    #[test]
    fn an_unknown_lockdown_is_said_and_no_gap() {
        let unknown = locked_down(Lockdown::Unknown);
        assert_eq!(unknown.status, Status::Ok);
        assert!(unknown.found.starts_with("unknown"), "{}", unknown.found);
        assert_eq!(
            locked_down(Lockdown::Active("integrity".to_owned())).status,
            Status::Ok
        );
        assert_eq!(
            locked_down(Lockdown::Active("confidentiality".to_owned())).status,
            Status::Gap
        );
    }

    #[test]
    fn a_hierarchy_with_a_number_is_v1() {
        assert!(has_v1("9:pids:/\n0::/\n"));
        assert!(!has_v1("0::/user.slice\n"));
    }
}
