//! The running kernel's own description of its structures (BTF) → the byte offsets that the kernel side walks
//! by.
//!
//! Takes `/sys/kernel/btf/vmlinux` and, where overlayfs is a module, `/sys/kernel/btf/overlay`. Gives one
//! offset per [`Field`], or why there is none. Nothing is guessed: a bit field, or a name with two different
//! answers, is a gap.

use std::fmt;
use std::fs;

use anyhow::{Context, Result};
use btf_rs::{Btf, BtfType, Struct, Type};
use rei_ebpf_common::kernel::{ABSENT, Field, Offsets};

/// Where the kernel shows the types of its own image.
pub const VMLINUX: &str = "/sys/kernel/btf/vmlinux";
/// Where the kernel shows the types of overlayfs, if that is a module and loaded.
pub const OVERLAY_MODULE: &str = "/sys/kernel/btf/overlay";

/// The struct by which overlayfs is recognised.
const OVERLAY_STRUCT: &str = "ovl_inode";
/// Typedefs, qualifiers and anonymous members that are followed at most: real ones nest below ten.
const DEPTH_MAX: usize = 32;

/// The types of one kernel.
pub struct KernelTypes {
    vmlinux: Btf,
    overlay: Option<Btf>,
}

/// Where the types of overlayfs were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayTypes {
    /// In the kernel image.
    BuiltIn,
    /// In the loaded module.
    Module,
    /// Nowhere: overlayfs is not in this kernel, or its module is not loaded.
    Absent,
}

/// The offsets of one kernel, and the fields that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Every offset that was found; [`ABSENT`] for the others.
    pub offsets: Offsets,
    /// The fields without an offset, optional ones included.
    pub gaps: Vec<FieldGap>,
}

/// A field without an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldGap {
    /// Which field.
    pub field: &'static Field,
    /// Why it has no offset; of several places, the reason of the last.
    pub why: Unresolved,
}

/// Why a place gives no offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// There is no such struct.
    NoStruct,
    /// The struct has no such member.
    NoMember,
    /// The member is a bit field or does not start at a byte.
    Bitfield,
    /// Two structs of that name disagree.
    Ambiguous,
    /// The BTF data refers to a type or a name that is not there.
    Broken,
}

impl fmt::Display for FieldGap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<String> = self
            .field
            .places
            .iter()
            .map(|(strukt, member)| format!("{strukt}.{member}"))
            .collect();
        let why = match self.why {
            Unresolved::NoStruct => "no such struct",
            Unresolved::NoMember => "no such member",
            Unresolved::Bitfield => "the member is a bit field",
            Unresolved::Ambiguous => "several structs of that name disagree",
            Unresolved::Broken => "the BTF data is inconsistent",
        };
        write!(
            out,
            "kernel field {} not found in BTF ({why})",
            places.join(" or ")
        )
    }
}

impl KernelTypes {
    /// Reads the types of the running kernel.
    ///
    /// # Errors
    /// If the kernel shows no BTF, or it cannot be parsed. A module's BTF that cannot be parsed counts as
    /// absent.
    pub fn of_running_kernel() -> Result<Self> {
        let image = fs::read(VMLINUX).with_context(|| {
            format!(
                "{VMLINUX} cannot be read: rei needs a kernel with CONFIG_DEBUG_INFO_BTF=y and /sys mounted"
            )
        })?;
        // From memory: reading from the file costs a system call per type, 150,000 of them.
        let vmlinux = Btf::from_bytes(&image).with_context(|| format!("{VMLINUX} cannot be parsed"))?;
        let overlay = fs::read(OVERLAY_MODULE).ok().and_then(|module| {
            Btf::from_split_bytes(&module, &vmlinux)
                .inspect_err(|error| {
                    tracing::warn!("{OVERLAY_MODULE} is ignored, it cannot be parsed: {error}")
                })
                .ok()
        });
        Ok(Self { vmlinux, overlay })
    }

    /// Where the types of overlayfs are.
    #[must_use]
    pub fn overlay(&self) -> OverlayTypes {
        let has = |btf: &Btf| structs_named(btf, OVERLAY_STRUCT).is_ok_and(|found| !found.is_empty());
        if has(&self.vmlinux) {
            OverlayTypes::BuiltIn
        } else if self.overlay.as_ref().is_some_and(has) {
            OverlayTypes::Module
        } else {
            OverlayTypes::Absent
        }
    }

    /// Whether the kernel has the tracepoint `name` for typed (`tp_btf`) programs.
    #[must_use]
    pub fn has_tracepoint(&self, name: &str) -> bool {
        let types = self
            .vmlinux
            .resolve_types_by_name(&format!("btf_trace_{name}"))
            .unwrap_or_default();
        types.iter().any(|found| matches!(found, Type::Typedef(_)))
    }

    /// Looks every field of [`Offsets`] up.
    #[must_use]
    pub fn resolve(&self) -> Resolved {
        let mut gaps = Vec::new();
        let offsets = Offsets::from_fields(|field| {
            self.field(field).unwrap_or_else(|why| {
                gaps.push(FieldGap { field, why });
                ABSENT
            })
        });
        Resolved { offsets, gaps }
    }

    /// The offset of the first place that this kernel has.
    fn field(&self, field: &Field) -> Result<u64, Unresolved> {
        let mut last = Unresolved::NoStruct;
        for (strukt, member) in field.places {
            match self.member(strukt, member) {
                Ok(offset) => return Ok(offset),
                // Another answer would be a guess: only absence leads on to the next place.
                Err(why @ (Unresolved::Bitfield | Unresolved::Ambiguous | Unresolved::Broken)) => {
                    return Err(why);
                }
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    /// Byte offset of the dotted `member` in the struct `name`.
    fn member(&self, name: &str, member: &str) -> Result<u64, Unresolved> {
        let mut btf = &self.vmlinux;
        let mut structs = structs_named(btf, name)?;
        if let (true, Some(overlay)) = (structs.is_empty(), &self.overlay) {
            btf = overlay;
            structs = structs_named(btf, name)?;
        }
        if structs.is_empty() {
            return Err(Unresolved::NoStruct);
        }
        let path: Vec<&str> = member.split('.').collect();
        let mut answer = None;
        for strukt in &structs {
            let Some(bits) = member_bits(btf, strukt, &path, 0)? else {
                continue;
            };
            match answer {
                Some(other) if other != bits => return Err(Unresolved::Ambiguous),
                _ => answer = Some(bits),
            }
        }
        match answer {
            None => Err(Unresolved::NoMember),
            Some(bits) if bits % 8 != 0 => Err(Unresolved::Bitfield),
            Some(bits) => Ok(bits / 8),
        }
    }
}

/// Every struct called `name` (forward declarations and typedefs share names with structs).
fn structs_named(btf: &Btf, name: &str) -> Result<Vec<Struct>, Unresolved> {
    let types = btf.resolve_types_by_name(name).map_err(|_| Unresolved::Broken)?;
    Ok(types
        .into_iter()
        .filter_map(|found| match found {
            Type::Struct(strukt) => Some(strukt),
            _ => None,
        })
        .collect())
}

/// Bit offset of the member at `path`, or `None` if there is none. Anonymous members are looked into.
fn member_bits(btf: &Btf, strukt: &Struct, path: &[&str], depth: usize) -> Result<Option<u64>, Unresolved> {
    let [wanted, rest @ ..] = path else {
        return Err(Unresolved::NoMember);
    };
    if depth > DEPTH_MAX {
        return Err(Unresolved::Broken);
    }
    for member in &strukt.members {
        let name = btf.resolve_name(member).map_err(|_| Unresolved::Broken)?;
        let here = u64::from(member.bit_offset());
        if name == *wanted {
            if member.bitfield_size().is_some_and(|bits| bits != 0) {
                return Err(Unresolved::Bitfield);
            }
            if rest.is_empty() {
                return Ok(Some(here));
            }
            let Some(inner) = aggregate(btf, member)? else {
                return Ok(None);
            };
            return Ok(member_bits(btf, &inner, rest, depth + 1)?.map(|bits| here + bits));
        }
        if name.is_empty()
            && let Some(inner) = aggregate(btf, member)?
            && let Some(bits) = member_bits(btf, &inner, path, depth + 1)?
        {
            return Ok(Some(here + bits));
        }
    }
    Ok(None)
}

/// The struct or union that `from` is of, through typedefs and qualifiers; `None` if it is of another kind.
fn aggregate(btf: &Btf, from: &dyn BtfType) -> Result<Option<Struct>, Unresolved> {
    let mut found = btf.resolve_chained_type(from).map_err(|_| Unresolved::Broken)?;
    for _ in 0..DEPTH_MAX {
        found = match &found {
            Type::Struct(inner) | Type::Union(inner) => return Ok(Some(inner.clone())),
            Type::Typedef(_) | Type::Const(_) | Type::Volatile(_) | Type::TypeTag(_) => {
                let next = found.as_btf_type().ok_or(Unresolved::Broken)?;
                btf.resolve_chained_type(next).map_err(|_| Unresolved::Broken)?
            }
            _ => return Ok(None),
        };
    }
    Err(Unresolved::Broken)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    /// The running kernel's types. A kernel that shows none is one that rei cannot observe: these tests fail
    /// there.
    fn running() -> &'static KernelTypes {
        static RUNNING: LazyLock<KernelTypes> =
            LazyLock::new(|| KernelTypes::of_running_kernel().expect("the running kernel's BTF parses"));
        &RUNNING
    }

    #[test]
    fn every_required_field_is_in_the_running_kernel() {
        let types = running();
        let required: Vec<String> = types
            .resolve()
            .gaps
            .iter()
            .filter(|gap| !gap.field.optional)
            .map(ToString::to_string)
            .collect();
        assert!(required.is_empty(), "{required:#?}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_abi_part_of_pt_regs_has_its_known_offsets() {
        let types = running();
        let offsets = types.resolve().offsets;
        // The layout of struct pt_regs is user-visible ABI (ptrace) on x86-64.
        assert_eq!(offsets.regs_r10, 7 * 8);
        assert_eq!(offsets.regs_ax, 10 * 8);
        assert_eq!(offsets.regs_di, 14 * 8);
        assert_eq!(offsets.regs_orig_ax, 15 * 8);
    }

    #[test]
    fn nested_members_add_up_and_anonymous_ones_are_looked_into() {
        let types = running();
        let status = types.member("task_struct", "thread_info.status");
        let info = types
            .member("task_struct", "thread_info")
            .expect("task_struct.thread_info");
        let inner = types.member("thread_info", "status").expect("thread_info.status");
        assert_eq!(status, Ok(info + inner));
        // sock_common.skc_family stands behind anonymous unions.
        assert!(
            types
                .member("sock", "__sk_common.skc_family")
                .is_ok_and(|offset| offset > 0)
        );
    }

    #[test]
    fn what_is_not_there_is_told_apart() {
        let types = running();
        assert_eq!(types.member("no_such_struct", "x"), Err(Unresolved::NoStruct));
        assert_eq!(
            types.member("task_struct", "no_such_member"),
            Err(Unresolved::NoMember)
        );
        assert_eq!(types.member("task_struct", "pid.x"), Err(Unresolved::NoMember));
        assert_eq!(
            types.member("task_struct", "sched_reset_on_fork"),
            Err(Unresolved::Bitfield)
        );
    }

    #[test]
    fn a_later_place_is_used_when_the_first_is_absent() {
        let types = running();
        static FIELD: Field = Field {
            name: "x",
            places: &[("task_struct", "not_there"), ("task_struct", "pid")],
            optional: false,
        };
        assert_eq!(types.field(&FIELD), types.member("task_struct", "pid"));
    }

    #[test]
    fn tracepoints_are_known_by_their_typedef() {
        let types = running();
        assert!(types.has_tracepoint("sys_enter"));
        assert!(!types.has_tracepoint("no_such_tracepoint"));
        // A struct of that name is no tracepoint.
        assert!(!types.has_tracepoint(""));
    }

    #[test]
    fn a_gap_names_every_place() {
        let field = Offsets::FIELDS
            .iter()
            .find(|field| field.name == "kernfs_node_parent")
            .expect("in the table");
        let text = FieldGap {
            field,
            why: Unresolved::NoMember,
        }
        .to_string();
        assert_eq!(
            text,
            "kernel field kernfs_node.__parent or kernfs_node.parent not found in BTF (no such member)"
        );
    }
}
