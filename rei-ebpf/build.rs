//! Rebuilds the kernel side when the linker changes.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    if let Ok(linker) = which::which("bpf-linker") {
        writeln!(io::stdout(), "cargo:rerun-if-changed={}", linker.display())?;
    }
    Ok(())
}
