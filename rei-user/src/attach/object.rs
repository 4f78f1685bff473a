//! The kernel side as it was built into this program.

use anyhow::{Result, bail};
use aya::include_bytes_aligned;

/// The object file, or nothing where it was built without an eBPF toolchain.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/rei-ebpf"));

/// How the eBPF object got into this program: `built`, or `stub: ` and why there is none.
#[must_use]
pub fn object_state() -> &'static str {
    env!("REI_EBPF_STATE")
}

/// The object file's bytes.
///
/// # Errors
/// If this program was built without them.
pub(super) fn object() -> Result<&'static [u8]> {
    if OBJECT.is_empty() {
        bail!(
            "this rei was built without its eBPF object ({}), so it can observe nothing: \
             run `cargo xtask setup` in the source tree, then build again",
            object_state()
        );
    }
    Ok(OBJECT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rei_ebpf_common::hooks::PROGRAMS;

    use super::*;

    /// What the build script writes when it is told to leave the object out.
    const SKIPPED: &str = "stub: skipped on request";

    #[test]
    fn the_object_and_the_table_name_the_same_programs() {
        if object_state() == SKIPPED {
            eprintln!("SKIPPED: built with REI_EBPF_SKIP, there is no object to look into");
            return;
        }
        let parsed =
            aya_obj::Object::parse(object().expect("the object is built")).expect("the object parses");
        let built: BTreeSet<&str> = parsed.programs.keys().map(String::as_str).collect();
        let named: BTreeSet<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(built, named, "left: in the object, right: in hooks::PROGRAMS");
    }

    #[test]
    fn a_stub_says_why_and_what_next() {
        let Err(error) = object() else {
            assert_eq!(object_state(), "built");
            return;
        };
        let text = error.to_string();
        assert!(
            text.contains(object_state()) && text.contains("cargo xtask setup"),
            "{text}"
        );
    }
}
