//! Rows of an ambient table: the shipped one, and a policy's extensions of it.

use crate::enrich::Access;
use crate::glob::Pattern;
use crate::policy::document::{Reader, Value};
use crate::policy::rule::{AmbientClass, AmbientRow};

const KEYS: [&str; 6] = ["pattern", "access", "class", "why", "device", "read_only_mount"];

/// Mounts that a container has or is usually given, and what the kernel tells about one process: its
/// environment too.
const WHOLE: [&str; 11] = [
    "/",
    "/proc",
    "/proc/self",
    "/sys",
    "/sys/fs/cgroup",
    "/dev",
    "/dev/mqueue",
    "/dev/pts",
    "/dev/shm",
    "/run",
    "/tmp",
];

/// Reads one row. All of `pattern`, `access`, `class` and `why` must be there.
pub(super) fn row(reader: &mut Reader<'_>, value: &Value<'_>, _key: &'static str) -> Option<AmbientRow> {
    let (mut pattern, mut access, mut class, mut why, mut device, mut read_only_mount) =
        (None, None, None, None, None, false);
    let mut place = value.span();
    for (field, value) in reader.table(value, "a row of the ambient table")? {
        match field.get_ref().as_ref() {
            "pattern" => {
                place = value.span();
                pattern = pattern_of(reader, value);
            }
            "access" => access = accesses(reader, value),
            "class" => {
                let words = AmbientClass::ALL.map(|class| (class.name(), class));
                class = reader.word(value, "`class`", &words);
            }
            "why" => {
                why = reader
                    .string(value, "`why`")
                    .filter(|text| !text.trim().is_empty())
            }
            "device" => device = device_of(reader, value),
            "read_only_mount" => {
                read_only_mount = reader.boolean(value, "`read_only_mount`").unwrap_or_default();
            }
            _ => reader.unknown_key(field, "a row of the ambient table", &KEYS),
        }
    }
    let has = [
        ("pattern", pattern.is_some()),
        ("access", access.is_some()),
        ("class", class.is_some()),
        ("why", why.is_some()),
    ];
    let missing: Vec<&str> = has
        .iter()
        .filter(|(_, is_there)| !is_there)
        .map(|(key, _)| *key)
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "a row of the ambient table says `pattern`, `access`, `class` and `why`; here {} is missing or wrong",
            missing.join(", ")
        );
        reader.problem(&value.span(), message);
    }
    let pattern = pattern?;
    // On a mount that cannot be written from inside, everything can be the same data everywhere.
    if !read_only_mount && let Some(mount) = whole_mount(&pattern) {
        let message = format!(
            "no ambient row covers a whole mount, and this one covers {mount}; name what the programs need"
        );
        reader.problem(&place, message);
        return None;
    }
    Some(AmbientRow {
        pattern,
        access: access?,
        class: class?,
        why: why?.to_owned(),
        device,
        read_only_mount,
    })
}

fn pattern_of(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<Pattern> {
    let text = reader.string(value, "`pattern`")?;
    Pattern::parse(text)
        .map_err(|message| reader.problem(&value.span(), message))
        .ok()
}

/// The usual mount of which the pattern takes any name: data of others lies there, or will.
fn whole_mount(pattern: &Pattern) -> Option<&'static str> {
    let glob = pattern.fixed()?;
    WHOLE
        .into_iter()
        .find(|mount| glob.matches(format!("{}/any name at all", mount.trim_end_matches('/')).as_bytes()))
}

fn accesses(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<Vec<Access>> {
    let items = reader.array(value, "`access`")?;
    let words = Access::ALL.map(|access| (access.name(), access));
    let list: Vec<Access> = items
        .iter()
        .filter_map(|item| reader.word(item, "an access", &words))
        .collect();
    (!list.is_empty()).then_some(list)
}

/// `"1:3"`, `"136:*"`.
fn device_of(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<(u32, Option<u32>)> {
    let text = reader.string(value, "`device`")?;
    let parsed = text.split_once(':').and_then(|(major, minor)| {
        let minor = match minor {
            "*" => None,
            digits => Some(digits.parse().ok()?),
        };
        Some((major.parse().ok()?, minor))
    });
    if parsed.is_none() {
        reader.problem(
            &value.span(),
            "`device` is \"major:minor\", or \"major:*\" for every minor number",
        );
    }
    parsed
}
