//! Whether a row of the ambient table holds for an object.

use crate::enrich::{Access, Origin};
use crate::policy::AmbientRow;
use crate::tripwire::matcher::Matcher;
use crate::tripwire::operation::FileUse;
use crate::tripwire::{Ground, Trip};

/// Why a row whose pattern matches does not hold; `None` if it holds.
pub(super) fn objection(matcher: &Matcher, row: &AmbientRow, file: &FileUse<'_>) -> Option<String> {
    let text = row.pattern.text();
    let is_of = |prefix: &str| text.starts_with(prefix);
    if is_of("/proc/") && file.file_system != Some("proc") {
        return Some("the object is not of procfs".to_owned());
    }
    if is_of("/sys/") && *file.origin != Origin::Sys {
        return Some("the object is not of sysfs or a cgroup".to_owned());
    }
    if is_of("pipe:") && file.file_system != Some("pipefs") {
        return Some("the object is no pipe".to_owned());
    }
    if is_of("/dev/") || row.device.is_some() {
        let is_device = match (row.device, file.device) {
            (Some((major, minor)), Some(found)) => {
                major == found.0 && minor.is_none_or(|minor| minor == found.1)
            }
            _ => false,
        };
        if !is_device {
            return Some("the object is not the device of that row".to_owned());
        }
    }
    if row.read_only_mount && !file.path.is_some_and(|path| matcher.is_on_read_only_mount(path)) {
        return Some("the object is not on a mount that the engine calls read-only".to_owned());
    }
    let refused: Vec<&str> = file
        .access
        .iter()
        .filter(|access| *access != Access::PathOnly && !row.access.contains(access))
        .map(Access::name)
        .collect();
    (!refused.is_empty()).then(|| format!("the row does not allow {}", refused.join(", ")))
}

pub(super) fn ground(row: &AmbientRow) -> Ground {
    Ground::Ambient {
        class: row.class,
        why: row.why.clone(),
    }
}

/// What a person may want to know about an object that trips.
pub(super) fn with_hint(mut trip: Trip, file: &FileUse<'_>) -> Trip {
    let is_cache = file.path.is_some_and(|path| {
        path.split(|byte| *byte == b'/')
            .any(|name| name == b"__pycache__")
    });
    if is_cache && file.access.changes() {
        trip.hint = Some("set PYTHONDONTWRITEBYTECODE=1, or compile the modules when the image is built");
    }
    trip
}
