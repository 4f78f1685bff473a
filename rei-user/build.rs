//! Builds the kernel side and puts its object where `attach.rs` embeds it; a stub where no eBPF toolchain is.

use anyhow::Result;

/// A build that records nothing holds no object.
#[cfg(not(feature = "observe"))]
fn main() -> Result<()> {
    Ok(())
}

#[cfg(feature = "observe")]
fn main() -> Result<()> {
    object::build()
}

#[cfg(feature = "observe")]
mod object {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::{env, fs};

    use anyhow::{Context, Result, bail};
    use aya_build::{Package, Toolchain};

    /// Toolchains that can build `core` for the BPF target, best first. `debian-web` is a rustup link to Debian's
    /// `rustc-web` packages (see CONTRIBUTING.md).
    const TOOLCHAINS: [&str; 2] = ["nightly", "debian-web"];

    pub(crate) fn build() -> Result<()> {
        println!("cargo:rerun-if-env-changed=REI_EBPF_TOOLCHAIN");
        println!("cargo:rerun-if-env-changed=REI_EBPF_SKIP");
        println!("cargo:rerun-if-env-changed=PATH");
        println!("cargo:rerun-if-changed=../rei-ebpf-common/src");
        let out = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
        let manifest =
            PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("cargo sets CARGO_MANIFEST_DIR")?);
        let root_dir = manifest.join("../rei-ebpf");

        if env::var_os("REI_EBPF_SKIP").is_some() || env::var_os("AYA_BUILD_SKIP").is_some() {
            return stub(&out, "skipped on request");
        }
        let toolchain = match env::var("REI_EBPF_TOOLCHAIN") {
            Ok(name) if can_build_core(&name) => name,
            Ok(name) => bail!("REI_EBPF_TOOLCHAIN={name} is no toolchain with rust-src that rustup knows"),
            Err(_) => match TOOLCHAINS.iter().find(|name| can_build_core(name)) {
                Some(name) => (*name).to_owned(),
                None => return stub(&out, "no toolchain with rust-src found"),
            },
        };
        if !runs(Command::new("bpf-linker").arg("--version")) {
            return stub(&out, "bpf-linker not found in PATH");
        }
        // SAFETY: a build script has one thread here; nothing else reads the environment meanwhile.
        unsafe { env::set_var("RUSTC_BOOTSTRAP", "1") };
        let root = root_dir.to_str().context("the checkout's path must be UTF-8")?;
        aya_build::build_ebpf(
            [Package {
                name: "rei-ebpf",
                root_dir: root,
                ..Package::default()
            }],
            Toolchain::Custom(&toolchain),
        )
        .context("building rei-ebpf failed; `cargo xtask setup` prepares the eBPF toolchain")?;
        println!("cargo:rustc-env=REI_EBPF_STATE=built");
        Ok(())
    }

    /// Leaves an empty object, so that everything that observes nothing can still be built and used.
    fn stub(out: &Path, why: &str) -> Result<()> {
        println!(
            "cargo:warning=rei is built without its eBPF object: {why}. `cargo xtask setup` installs what is missing."
        );
        println!("cargo:rustc-env=REI_EBPF_STATE=stub: {why}");
        fs::write(out.join("rei-ebpf"), []).context("writing the stub object")
    }

    /// Whether rustup knows the toolchain and it has the sources of `core`.
    fn can_build_core(toolchain: &str) -> bool {
        let output = Command::new("rustup")
            .args(["run", toolchain, "rustc", "--print", "sysroot"])
            .stderr(Stdio::null())
            .output();
        let Ok(output) = output else { return false };
        let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success()
            && Path::new(&sysroot)
                .join("lib/rustlib/src/rust/library/core/Cargo.toml")
                .exists()
    }

    fn runs(command: &mut Command) -> bool {
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}
