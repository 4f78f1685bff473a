//! What is found → what must be done. Decides, and does nothing.

use crate::host::{DEBIAN_TOOLCHAIN, ENGINE_PROGRAMS, EngineState, Found, JUDGED_PROGRAMS};

/// What the machine is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Building rei and observing a container.
    Demo,
    /// The same, and a workload to measure.
    Bench,
    /// Everything that `cargo xtask test` needs.
    Test,
}

/// One thing to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `apt-get install` of these packages.
    Packages(Vec<&'static str>),
    /// `rustup toolchain link debian-web /usr`.
    LinkToolchain,
    /// `rustup toolchain install nightly` with the sources of `core`.
    InstallNightly,
    /// clippy for the toolchain that builds the eBPF crate.
    ToolchainClippy(String),
    /// rustfmt and clippy for the default toolchain.
    FmtAndClippy,
    /// bpf-linker against Debian's LLVM 22.
    LinkerWithDebianLlvm,
    /// bpf-linker as its authors release it.
    Linker,
}

/// Debian's Rust with the sources of `core`.
const RUST_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
/// The LLVM that Debian's Rust is built with.
const LLVM_PACKAGES: [&str; 2] = ["llvm-22-dev", "libpolly-22-dev"];

impl Step {
    /// For the person who is told before it is done.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Packages(names) => format!("Debian packages: {}", names.join(" ")),
            Self::LinkToolchain => {
                format!("a rustup toolchain `{DEBIAN_TOOLCHAIN}`, linked to Debian's Rust in /usr")
            }
            Self::InstallNightly => "the rustup toolchain `nightly` with rust-src".to_owned(),
            Self::ToolchainClippy(name) => format!("clippy for the rustup toolchain `{name}`"),
            Self::FmtAndClippy => "rustfmt and clippy for the default rustup toolchain".to_owned(),
            Self::LinkerWithDebianLlvm => {
                "bpf-linker 0.13.0, by `cargo install`, built with Debian's LLVM 22".to_owned()
            }
            Self::Linker => "bpf-linker, by `cargo install`".to_owned(),
        }
    }
}

/// Whether something is to be installed, so that apt's lists are worth renewing: with them, the plan may change.
pub(crate) fn anything_to_install(found: &Found, purpose: Purpose) -> bool {
    plan(found, purpose).is_ok_and(|steps| !steps.is_empty())
}

/// What must be done, in this order; or what a person must do first.
pub(crate) fn plan(found: &Found, purpose: Purpose) -> Result<Vec<Step>, String> {
    if let EngineState::Elsewhere(host) = &found.engine {
        return Err(format!(
            "DOCKER_HOST={host} is no answering engine on this machine, and rei observes this machine only: unset it"
        ));
    }
    let mut packages = Vec::new();
    let mut steps = Vec::new();
    let toolchain = toolchain_steps(found, &mut packages, &mut steps)?;
    linker_steps(found, &toolchain, &mut packages, &mut steps);
    if purpose == Purpose::Test {
        clippy_steps(found, &toolchain, &mut packages, &mut steps);
    }
    engine_packages(found, &mut packages)?;
    tool_packages(found, purpose, &mut packages)?;
    packages.dedup();
    if !packages.is_empty() {
        steps.insert(0, Step::Packages(packages));
    }
    if !found.root && steps.iter().any(|step| matches!(step, Step::Packages(_))) {
        let text: Vec<_> = steps.iter().map(Step::text).collect();
        return Err(format!("to install {}, run this as root", text.join("; ")));
    }
    Ok(steps)
}

/// The toolchain that builds the eBPF crate: what is there, Debian's, or a nightly one.
fn toolchain_steps(
    found: &Found,
    packages: &mut Vec<&'static str>,
    steps: &mut Vec<Step>,
) -> Result<String, String> {
    if let Some(toolchain) = &found.toolchain {
        return Ok(toolchain.clone());
    }
    if !found.rustup {
        return Err("rustup is missing: install it from https://rustup.rs and run this again".to_owned());
    }
    let needed = RUST_PACKAGES.iter().chain(&LLVM_PACKAGES);
    if found.apt && needed.clone().all(|name| usable(found, name)) {
        packages.extend(needed.filter(|name| !found.installed.contains(**name)));
        steps.push(Step::LinkToolchain);
        return Ok(DEBIAN_TOOLCHAIN.to_owned());
    }
    steps.push(Step::InstallNightly);
    Ok("nightly".to_owned())
}

/// bpf-linker must read the bitcode of the toolchain's LLVM.
fn linker_steps(found: &Found, toolchain: &str, packages: &mut Vec<&'static str>, steps: &mut Vec<Step>) {
    if found.linker {
        return;
    }
    if toolchain == DEBIAN_TOOLCHAIN && LLVM_PACKAGES.iter().all(|name| usable(found, name)) {
        let wanted = LLVM_PACKAGES
            .iter()
            .filter(|name| !found.installed.contains(**name));
        let new: Vec<_> = wanted.filter(|name| !packages.contains(name)).copied().collect();
        packages.extend(new);
        if !found.cxx && usable(found, "g++") {
            packages.push("g++");
        }
        steps.push(Step::LinkerWithDebianLlvm);
    } else {
        steps.push(Step::Linker);
    }
}

/// clippy for both toolchains.
fn clippy_steps(found: &Found, toolchain: &str, packages: &mut Vec<&'static str>, steps: &mut Vec<Step>) {
    let nightly_is_new = steps.contains(&Step::InstallNightly);
    if !found.toolchain_clippy && !nightly_is_new {
        if toolchain == DEBIAN_TOOLCHAIN {
            packages.push("rust-web-clippy");
        } else {
            steps.push(Step::ToolchainClippy(toolchain.to_owned()));
        }
    }
    if !found.fmt_and_clippy {
        steps.push(Step::FmtAndClippy);
    }
}

/// An engine that answers needs nothing. One that is installed is started. Otherwise Debian's is installed.
fn engine_packages(found: &Found, packages: &mut Vec<&'static str>) -> Result<(), String> {
    if found.engine == EngineState::Answers || found.engine_programs_missing.is_empty() {
        return Ok(());
    }
    if !found.apt {
        return Err(format!(
            "no Docker engine answers, and these programs of one are missing: {}. Install it \
             (https://docs.docker.com/engine/install/) and run this again",
            found.engine_programs_missing.join(", ")
        ));
    }
    let missing = ENGINE_PROGRAMS
        .iter()
        .filter(|(name, _)| found.engine_programs_missing.contains(name));
    packages.extend(missing.map(|(_, package)| package));
    Ok(())
}

/// Compilers, busybox and interpreters, for images without a registry and for probes.
fn tool_packages(found: &Found, purpose: Purpose, packages: &mut Vec<&'static str>) -> Result<(), String> {
    let mut need = |there: bool, what: &str, names: &[&'static str]| {
        if there {
            return Ok(());
        }
        if !found.apt {
            return Err(format!("{what} is missing: install it and run this again"));
        }
        let new: Vec<_> = names
            .iter()
            .filter(|name| !packages.contains(name))
            .copied()
            .collect();
        packages.extend(new);
        Ok(())
    };
    if purpose != Purpose::Bench {
        need(found.busybox, "a statically linked busybox", &["busybox-static"])?;
    }
    if purpose != Purpose::Demo {
        need(
            found.gcc_static,
            "a gcc that links static programs",
            &["gcc", "libc6-dev"],
        )?;
    }
    if purpose == Purpose::Test {
        need(
            found.gcc_static_32,
            "a gcc that links static 32-bit programs",
            &["gcc-multilib", "libc6-dev-i386"],
        )?;
        for (path, package) in &JUDGED_PROGRAMS {
            let is_there = !found.judged_programs_missing.contains(path);
            need(is_there, path, &[package])?;
        }
    }
    Ok(())
}

/// Whether a Debian package is there or can be had.
fn usable(found: &Found, name: &str) -> bool {
    found.installed.contains(name) || found.available.contains(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A machine on which only rustup, cargo and a C compiler are.
    fn bare() -> Found {
        Found {
            root: true,
            apt: false,
            rustup: true,
            toolchain: None,
            toolchain_clippy: false,
            linker: false,
            fmt_and_clippy: true,
            engine: EngineState::Silent,
            engine_programs_missing: ENGINE_PROGRAMS.map(|(name, _)| name).to_vec(),
            busybox: false,
            gcc_static: false,
            gcc_static_32: false,
            judged_programs_missing: JUDGED_PROGRAMS.map(|(path, _)| path).to_vec(),
            cxx: true,
            installed: BTreeSet::new(),
            available: BTreeSet::new(),
        }
    }

    fn bare_debian() -> Found {
        let available = RUST_PACKAGES.iter().chain(&LLVM_PACKAGES).chain(&["g++"]);
        Found {
            apt: true,
            available: available.map(|name| (*name).to_owned()).collect(),
            ..bare()
        }
    }

    /// A machine where nothing is missing.
    fn complete() -> Found {
        Found {
            toolchain: Some("nightly".to_owned()),
            toolchain_clippy: true,
            linker: true,
            engine: EngineState::Answers,
            busybox: true,
            gcc_static: true,
            gcc_static_32: true,
            judged_programs_missing: Vec::new(),
            ..bare()
        }
    }

    #[test]
    fn where_all_is_there_nothing_is_done() {
        for purpose in [Purpose::Demo, Purpose::Bench, Purpose::Test] {
            assert_eq!(plan(&complete(), purpose), Ok(Vec::new()));
            assert_eq!(
                plan(
                    &Found {
                        root: false,
                        ..complete()
                    },
                    purpose
                ),
                Ok(Vec::new())
            );
            assert!(!anything_to_install(&complete(), purpose));
        }
    }

    #[test]
    fn an_engine_that_only_has_to_be_started_needs_nothing() {
        let found = Found {
            engine: EngineState::Silent,
            engine_programs_missing: Vec::new(),
            ..complete()
        };
        assert_eq!(plan(&found, Purpose::Test), Ok(Vec::new()));
    }

    #[test]
    fn a_bare_debian_gets_debians_packages() {
        let steps = plan(&bare_debian(), Purpose::Test).unwrap();
        let Step::Packages(packages) = &steps[0] else {
            panic!("packages come first: {steps:?}")
        };
        assert_eq!(
            packages[..],
            [
                "rustc-web",
                "cargo-web",
                "rust-web-src",
                "llvm-22-dev",
                "libpolly-22-dev",
                "rust-web-clippy",
                "docker.io",
                "runc",
                "containerd",
                "iptables",
                "busybox-static",
                "gcc",
                "libc6-dev",
                "gcc-multilib",
                "libc6-dev-i386",
                "python3",
                "perl",
                "nodejs",
            ]
        );
        assert_eq!(steps[1..], [Step::LinkToolchain, Step::LinkerWithDebianLlvm]);
    }

    #[test]
    fn the_demo_installs_no_compilers_and_no_linters() {
        let steps = plan(&bare_debian(), Purpose::Demo).unwrap();
        let Step::Packages(packages) = &steps[0] else {
            panic!("packages come first: {steps:?}")
        };
        assert!(packages.contains(&"busybox-static") && packages.contains(&"docker.io"));
        let of_tests = ["gcc", "rust-web-clippy", "python3", "perl", "nodejs"];
        assert!(of_tests.iter().all(|name| !packages.contains(name)));
    }

    #[test]
    fn a_debian_without_those_packages_gets_nightly() {
        let found = Found {
            available: BTreeSet::new(),
            ..bare_debian()
        };
        let steps = plan(&found, Purpose::Test).unwrap();
        assert_eq!(steps[1..], [Step::InstallNightly, Step::Linker]);
    }

    #[test]
    fn without_apt_the_toolchain_comes_from_rustup_and_the_rest_is_asked_for() {
        let found = Found {
            engine: EngineState::Answers,
            busybox: true,
            ..bare()
        };
        assert_eq!(
            plan(&found, Purpose::Demo),
            Ok(vec![Step::InstallNightly, Step::Linker])
        );
        let error = plan(&found, Purpose::Test).unwrap_err();
        assert!(error.contains("gcc") && error.contains("install it"), "{error}");
        let error = plan(
            &Found {
                busybox: true,
                ..bare()
            },
            Purpose::Demo,
        )
        .unwrap_err();
        assert!(
            error.contains("dockerd") && error.contains("https://docs.docker.com"),
            "{error}"
        );
    }

    #[test]
    fn a_linked_toolchain_without_a_linker_gets_one_for_its_llvm() {
        let found = Found {
            toolchain: Some("debian-web".to_owned()),
            cxx: false,
            ..bare_debian()
        };
        let steps = plan(&found, Purpose::Demo).unwrap();
        let Step::Packages(packages) = &steps[0] else {
            panic!("packages come first: {steps:?}")
        };
        assert_eq!(packages[..3], ["llvm-22-dev", "libpolly-22-dev", "g++"]);
        assert_eq!(steps[1..], [Step::LinkerWithDebianLlvm]);
    }

    #[test]
    fn packages_that_are_installed_are_not_installed_again() {
        let mut found = bare_debian();
        found.installed = found.available.clone();
        let steps = plan(
            &Found {
                linker: true,
                ..found
            },
            Purpose::Demo,
        )
        .unwrap();
        let Step::Packages(packages) = &steps[0] else {
            panic!("packages come first: {steps:?}")
        };
        assert_eq!(
            packages[..],
            ["docker.io", "runc", "containerd", "iptables", "busybox-static"]
        );
        assert_eq!(steps[1..], [Step::LinkToolchain]);
    }

    #[test]
    fn a_program_to_be_judged_is_installed_if_it_is_missing() {
        let found = Found {
            apt: true,
            judged_programs_missing: vec!["/usr/bin/node"],
            ..complete()
        };
        assert_eq!(
            plan(&found, Purpose::Test),
            Ok(vec![Step::Packages(vec!["nodejs"])])
        );
        assert_eq!(plan(&found, Purpose::Bench), Ok(Vec::new()));
        let error = plan(&Found { apt: false, ..found }, Purpose::Test).unwrap_err();
        assert!(error.contains("/usr/bin/node is missing: install it"), "{error}");
    }

    #[test]
    fn missing_lints_are_added_to_the_toolchains_that_are_there() {
        let found = Found {
            toolchain_clippy: false,
            fmt_and_clippy: false,
            ..complete()
        };
        assert_eq!(
            plan(&found, Purpose::Test),
            Ok(vec![
                Step::ToolchainClippy("nightly".to_owned()),
                Step::FmtAndClippy
            ])
        );
    }

    #[test]
    fn who_is_not_root_is_told_what_would_be_installed() {
        let error = plan(
            &Found {
                root: false,
                ..bare_debian()
            },
            Purpose::Demo,
        )
        .unwrap_err();
        assert!(
            error.contains("docker.io") && error.contains("as root"),
            "{error}"
        );
    }

    #[test]
    fn without_rustup_a_person_must_install_it() {
        let error = plan(
            &Found {
                rustup: false,
                ..bare_debian()
            },
            Purpose::Demo,
        )
        .unwrap_err();
        assert!(error.contains("https://rustup.rs"), "{error}");
    }

    #[test]
    fn an_engine_on_another_machine_is_refused() {
        let engine = EngineState::Elsewhere("tcp://10.0.0.1:2375".to_owned());
        let found = Found {
            engine,
            ..bare_debian()
        };
        assert!(!anything_to_install(&found, Purpose::Demo));
        let error = plan(&found, Purpose::Demo).unwrap_err();
        assert!(
            error.contains("tcp://10.0.0.1:2375") && error.contains("unset it"),
            "{error}"
        );
    }
}
