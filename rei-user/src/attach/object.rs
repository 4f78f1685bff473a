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
        bail!("{}", no_object(object_state()));
    }
    Ok(OBJECT)
}

fn no_object(state: &str) -> String {
    format!(
        "this rei was built without its eBPF object ({state}), so it can observe nothing: \
         run `cargo xtask setup` in the source tree, then build again"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rei_ebpf_common::hooks::PROGRAMS;

    use super::*;

    #[test]
    #[ignore = "root"]
    fn the_object_and_the_table_name_the_same_programs() {
        let parsed =
            aya_obj::Object::parse(object().expect("the object is built")).expect("the object parses");
        let built: BTreeSet<&str> = parsed.programs.keys().map(String::as_str).collect();
        let named: BTreeSet<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        assert_eq!(built, named, "left: in the object, right: in hooks::PROGRAMS");
    }

    #[test]
    fn a_stub_says_why_and_what_next() {
        let text = no_object("stub: no bpf-linker");
        assert!(
            text.contains("stub: no bpf-linker") && text.contains("cargo xtask setup"),
            "{text}"
        );
        assert_eq!(object().is_ok(), object_state() == "built");
    }
}
