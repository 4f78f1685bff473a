//! Makes the eBPF toolchain and a Docker engine ready; says what it installs before it does.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::command::{cargo, program, run};
use crate::engine::Engine;
use crate::host::{self, DEBIAN_TOOLCHAIN, Found};
use crate::plan::{Purpose, Step, anything_to_install, plan};

/// A machine that is ready. The engine is stopped with it, if it was started for it.
pub(crate) struct Ready {
    /// The toolchain that builds the eBPF crate.
    pub(crate) toolchain: String,
    /// The Docker engine.
    pub(crate) engine: Engine,
}

/// Prepares the machine: a second call finds everything there and installs nothing.
pub(crate) fn prepare(purpose: Purpose, deadline: Instant) -> Result<Ready> {
    let mut found = host::look();
    if found.apt && found.root && anything_to_install(&found, purpose) {
        eprintln!("xtask: something is missing; asking apt what it has");
        run(apt_get().arg("update"), deadline)?;
        host::look_at_packages(&mut found);
    }
    let steps = plan(&found, purpose).map_err(anyhow::Error::msg)?;
    if !steps.is_empty() {
        eprintln!("xtask: to be installed:");
        for step in &steps {
            eprintln!("xtask:   - {}", step.text());
        }
        for step in &steps {
            take(step, deadline)?;
        }
        found = host::look();
        check(&found, purpose)?;
    }
    let Some(toolchain) = found.toolchain else {
        bail!("no toolchain can build the eBPF crate")
    };
    let engine = Engine::ready(deadline)?;
    eprintln!(
        "xtask: ready: eBPF toolchain `{toolchain}`, bpf-linker, {}",
        engine.text()
    );
    Ok(Ready { toolchain, engine })
}

/// After everything was installed, nothing may be missing.
fn check(found: &Found, purpose: Purpose) -> Result<()> {
    let missing = plan(found, purpose).map_err(anyhow::Error::msg)?;
    if missing.is_empty() {
        return Ok(());
    }
    let text: Vec<_> = missing.iter().map(Step::text).collect();
    bail!(
        "installed without an error, and yet missing: {}. See the output above",
        text.join("; ")
    )
}

/// Does one step.
fn take(step: &Step, deadline: Instant) -> Result<()> {
    let mut command = match step {
        Step::Packages(names) => {
            let mut command = apt_get();
            command
                .args(["install", "--yes", "--no-install-recommends"])
                .args(names);
            command
        }
        Step::LinkToolchain => rustup(&["toolchain", "link", DEBIAN_TOOLCHAIN, "/usr"]),
        Step::InstallNightly => rustup(&[
            "toolchain",
            "install",
            "nightly",
            "--component",
            "rust-src",
            "--component",
            "clippy",
        ]),
        Step::ToolchainClippy(name) => rustup(&["component", "add", "clippy", "--toolchain", name]),
        Step::FmtAndClippy => rustup(&["component", "add", "rustfmt", "clippy"]),
        Step::LinkerWithDebianLlvm => {
            let mut command = cargo(&["install", "bpf-linker", "--version", "0.13.0", "--locked"]);
            command.args(["--no-default-features", "--features", "llvm-22"]);
            command.env("LLVM_PREFIX", "/usr/lib/llvm-22");
            command
        }
        Step::Linker => cargo(&["install", "bpf-linker", "--locked"]),
    };
    run(&mut command, deadline)
}

fn apt_get() -> std::process::Command {
    let mut command = program("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet");
    command
}

fn rustup(args: &[&str]) -> std::process::Command {
    let mut command = program("rustup");
    command.args(args);
    command
}
