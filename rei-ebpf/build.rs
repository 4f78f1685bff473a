//! Rebuilds the kernel side when the linker changes.
#![expect(clippy::print_stdout, reason = "cargo reads directives from stdout")]

fn main() {
    if let Ok(linker) = which::which("bpf-linker") {
        println!("cargo:rerun-if-changed={}", linker.display());
    }
}
