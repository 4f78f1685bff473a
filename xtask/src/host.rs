//! What this machine has of the things that building and testing need. Looks only, changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::command::{find, output, program, succeeds};

/// The rustup link to Debian's Rust packages.
pub(crate) const DEBIAN_TOOLCHAIN: &str = "debian-web";
/// Toolchains that can build the eBPF crate, best first: the same list as in `rei-user/build.rs`.
const TOOLCHAINS: [&str; 2] = ["nightly", DEBIAN_TOOLCHAIN];

/// A Docker engine, as far as one can see it from here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineState {
    /// The command line client talks to a daemon on this machine.
    Answers,
    /// `DOCKER_HOST` points to another machine, or to a socket where nobody answers.
    Elsewhere(String),
    /// No daemon answers.
    Silent,
}

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Whether we are root.
    pub(crate) root: bool,
    /// Whether `apt-get` is there.
    pub(crate) apt: bool,
    /// Whether `rustup` is there.
    pub(crate) rustup: bool,
    /// The toolchain that can build the eBPF crate.
    pub(crate) toolchain: Option<String>,
    /// Whether that toolchain has clippy.
    pub(crate) toolchain_clippy: bool,
    /// Whether `bpf-linker` is there.
    pub(crate) linker: bool,
    /// Whether `cargo fmt` and `cargo clippy` work with the default toolchain.
    pub(crate) fmt_and_clippy: bool,
    /// The Docker engine.
    pub(crate) engine: EngineState,
    /// Whether each program of [`ENGINE_PROGRAMS`] is there.
    pub(crate) engine_programs_missing: Vec<&'static str>,
    /// Whether a static busybox is there.
    pub(crate) busybox: bool,
    /// Whether gcc makes static programs.
    pub(crate) gcc_static: bool,
    /// Whether gcc makes static 32-bit programs; true where the machine has none.
    pub gcc_static_32: bool,
    /// Which of [`JUDGED_PROGRAMS`] are not there.
    pub(crate) judged_programs_missing: Vec<&'static str>,
    /// Whether a C++ compiler is there (bpf-linker links LLVM's libraries with it).
    pub(crate) cxx: bool,
    /// Debian packages that are installed.
    pub(crate) installed: BTreeSet<String>,
    /// Debian packages that apt could install, and that are new enough.
    pub(crate) available: BTreeSet<String>,
}

/// Programs of a Docker engine, and the Debian package of each.
pub(crate) const ENGINE_PROGRAMS: [(&str, &str); 5] = [
    ("docker", "docker.io"),
    ("dockerd", "docker.io"),
    ("runc", "runc"),
    ("containerd", "containerd"),
    ("iptables", "iptables"),
];

/// Programs that the live tests put into images, as the distribution installs them, and the Debian package of each.
pub(crate) const JUDGED_PROGRAMS: [(&str, &str); 3] = [
    ("/usr/bin/python3", "python3"),
    ("/usr/bin/perl", "perl"),
    ("/usr/bin/node", "nodejs"),
];

/// Every Debian package that set-up may ask for, with the least version that is of use.
const PACKAGES: [(&str, Option<(u32, u32)>); 20] = [
    ("rustc-web", Some((1, 95))),
    ("cargo-web", Some((1, 95))),
    ("rust-web-src", Some((1, 95))),
    ("rust-web-clippy", Some((1, 95))),
    ("llvm-22-dev", None),
    ("libpolly-22-dev", None),
    ("docker.io", None),
    ("runc", None),
    ("containerd", None),
    ("iptables", None),
    ("busybox-static", None),
    ("gcc", None),
    ("g++", None),
    ("libc6-dev", None),
    ("gcc-multilib", None),
    ("libc6-dev-i386", None),
    ("python3", None),
    ("perl", None),
    ("nodejs", None),
    ("ca-certificates", None),
];

/// Looks at the machine.
pub(crate) fn look() -> Found {
    let toolchain = chosen_toolchain();
    let mut found = Found {
        root: rustix::process::geteuid().is_root(),
        apt: find("apt-get").is_some(),
        rustup: find("rustup").is_some(),
        toolchain_clippy: toolchain.as_deref().is_some_and(has_clippy),
        toolchain,
        linker: succeeds(program("bpf-linker").arg("--version")),
        fmt_and_clippy: ["fmt", "clippy"]
            .iter()
            .all(|tool| succeeds(program("cargo").args([tool, "--version"]))),
        engine: engine_state(),
        engine_programs_missing: missing_engine_programs(),
        busybox: static_busybox().is_some(),
        gcc_static: compiles(&["-static"]),
        gcc_static_32: !cfg!(target_arch = "x86_64") || compiles(&["-m32", "-static"]),
        judged_programs_missing: JUDGED_PROGRAMS
            .iter()
            .filter(|(path, _)| !Path::new(path).is_file())
            .map(|(path, _)| *path)
            .collect(),
        cxx: find("c++").is_some(),
        installed: BTreeSet::new(),
        available: BTreeSet::new(),
    };
    look_at_packages(&mut found);
    found
}

/// Asks apt again: after its lists were renewed, more may be available.
pub(crate) fn look_at_packages(found: &mut Found) {
    if !found.apt {
        return;
    }
    let names = PACKAGES.map(|(name, _)| name);
    let policy =
        output(program("apt-cache").arg("policy").args(names).env("LC_ALL", "C")).unwrap_or_default();
    (found.installed, found.available) = read_policy(&policy);
}

/// The packages that are installed, and those that could be, from what `apt-cache policy` prints.
fn read_policy(policy: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut installed, mut available) = (BTreeSet::new(), BTreeSet::new());
    let mut package = "";
    for line in policy.lines() {
        if let Some(name) = line.strip_suffix(':').filter(|_| !line.starts_with(' ')) {
            package = name;
        } else if let Some(version) = line.trim().strip_prefix("Installed: ") {
            if new_enough(package, version) {
                installed.insert(package.to_owned());
            }
        } else if let Some(version) = line.trim().strip_prefix("Candidate: ")
            && new_enough(package, version)
        {
            available.insert(package.to_owned());
        }
    }
    (installed, available)
}

/// Whether a Debian version is of use: `(none)` never is.
fn new_enough(package: &str, version: &str) -> bool {
    let least = PACKAGES
        .iter()
        .find(|(name, _)| *name == package)
        .and_then(|(_, least)| *least);
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    let mut numbers = upstream
        .split(['.', '-', '+', '~'])
        .map(|part| part.parse::<u32>().ok());
    match (least, numbers.next().flatten(), numbers.next().flatten()) {
        (None, ..) => version != "(none)",
        (Some(least), Some(major), Some(minor)) => (major, minor) >= least,
        _ => false,
    }
}

/// The toolchain that `rei-user/build.rs` will choose.
fn chosen_toolchain() -> Option<String> {
    match env::var("REI_EBPF_TOOLCHAIN") {
        Ok(name) => Some(name).filter(|name| can_build_core(name)),
        Err(_) => TOOLCHAINS
            .iter()
            .find(|name| can_build_core(name))
            .map(|name| (*name).to_owned()),
    }
}

/// Whether rustup knows the toolchain and it has the sources of `core`.
fn can_build_core(toolchain: &str) -> bool {
    output(program("rustup").args(["run", toolchain, "rustc", "--print", "sysroot"])).is_ok_and(|sysroot| {
        Path::new(&sysroot)
            .join("lib/rustlib/src/rust/library/core/Cargo.toml")
            .exists()
    })
}

fn has_clippy(toolchain: &str) -> bool {
    succeeds(program("rustup").args(["run", toolchain, "cargo", "clippy", "--version"]))
}

/// The engine that the docker client talks to.
fn engine_state() -> EngineState {
    let host = env::var("DOCKER_HOST").unwrap_or_default();
    if !host.is_empty() && !host.starts_with("unix://") {
        return EngineState::Elsewhere(host);
    }
    if succeeds(program("docker").args(["version", "--format", "{{.Server.Version}}"])) {
        return EngineState::Answers;
    }
    if host.is_empty() {
        EngineState::Silent
    } else {
        EngineState::Elsewhere(host)
    }
}

fn missing_engine_programs() -> Vec<&'static str> {
    ENGINE_PROGRAMS
        .iter()
        .filter(|(name, _)| find(name).is_none())
        .map(|(name, _)| *name)
        .collect()
}

/// A busybox that needs no libraries: the first one in PATH.
pub(crate) fn static_busybox() -> Option<PathBuf> {
    find("busybox").filter(|file| fs::read(file).is_ok_and(|elf| is_static(&elf)))
}

/// Whether these are the bytes of a 64-bit little-endian ELF program that names no interpreter.
fn is_static(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let u16_at = |at: usize| {
        elf.get(at..at + 2)
            .and_then(|b| b.try_into().ok())
            .map(u16::from_le_bytes)
    };
    let u32_at = |at: usize| {
        elf.get(at..at + 4)
            .and_then(|b| b.try_into().ok())
            .map(u32::from_le_bytes)
    };
    let u64_at = |at: usize| {
        elf.get(at..at + 8)
            .and_then(|b| b.try_into().ok())
            .map(u64::from_le_bytes)
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (u64_at(32), u16_at(54), u16_at(56)) else {
        return false;
    };
    (0..usize::from(count)).all(|i| {
        let at = usize::try_from(table)
            .ok()
            .and_then(|table| table.checked_add(i * usize::from(size)));
        at.filter(|at| *at < elf.len())
            .and_then(u32_at)
            .is_some_and(|kind| kind != PT_INTERP)
    })
}

/// Whether gcc makes a program with these options.
fn compiles(options: &[&str]) -> bool {
    let Ok(dir) = tempfile::tempdir() else {
        return false;
    };
    let source = dir.path().join("main.c");
    // A call into the C library, so that its headers and its static archive are needed.
    let written = fs::write(
        &source,
        "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n",
    );
    let mut gcc: Command = program("gcc");
    written.is_ok()
        && succeeds(
            gcc.args(options)
                .arg("-o")
                .arg(dir.path().join("main"))
                .arg(&source),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "\
rustc-web:
  Installed: (none)
  Candidate: 1.85.0+dfsg3-1~deb12u3
  Version table:
     1.85.0+dfsg3-1~deb12u3 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
cargo-web:
  Installed: 1.96.0+dfsg1-1~deb12u2
  Candidate: 1.96.0+dfsg1-1~deb12u2
llvm-22-dev:
  Installed: (none)
  Candidate: 1:22.1.8-1~deb12u1
docker.io:
  Installed: (none)
  Candidate: (none)
";

    #[test]
    fn packages_that_are_too_old_or_absent_do_not_count() {
        let (installed, available) = read_policy(POLICY);
        assert_eq!(installed.into_iter().collect::<Vec<_>>(), ["cargo-web"]);
        assert_eq!(
            available.into_iter().collect::<Vec<_>>(),
            ["cargo-web", "llvm-22-dev"]
        );
    }

    #[test]
    fn a_version_is_compared_by_its_numbers() {
        assert!(new_enough("rustc-web", "1.100.0-1"));
        assert!(!new_enough("rustc-web", "1.94.9-1"));
        assert!(new_enough("rustc-web", "2:1.95.0-1"));
        assert!(!new_enough("rustc-web", "unknown"));
    }

    /// An ELF header with one program header of the given kind.
    fn elf(kind: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    #[test]
    fn static_programs_are_told_from_others() {
        assert!(is_static(&elf(1)));
        assert!(!is_static(&elf(3)));
        assert!(!is_static(b"#!/bin/sh"));
        assert!(!is_static(&elf(1)[..60]));
        assert!(!is_static(&elf(1)[..64]));
    }
}
