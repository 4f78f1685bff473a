//! `rei doctor`: to be written.

use anyhow::{Result, bail};

use crate::cli::DoctorArgs;

/// Says what this host allows.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    bail!("not built yet (json: {})", args.json)
}
