//! What ships with rei as data: the ambient table and the policies.

use std::sync::OnceLock;

use crate::policy::ambient_rows;
use crate::policy::document::Reader;
use crate::policy::rule::AmbientRow;

/// Names of the policies that ship with rei, the default first.
pub const SHIPPED: [&str; 3] = ["ambient-only", "read-only", "observe"];

/// The ambient table's text.
const AMBIENT: &str = include_str!("../../ambient.toml");

/// A shipped policy's text.
pub(super) fn text(name: &str) -> Option<&'static str> {
    match name {
        "ambient-only" => Some(include_str!("../../policies/ambient-only.toml")),
        "read-only" => Some(include_str!("../../policies/read-only.toml")),
        "observe" => Some(include_str!("../../policies/observe.toml")),
        _ => None,
    }
}

/// The shipped ambient table.
pub(super) fn ambient() -> &'static [AmbientRow] {
    static TABLE: OnceLock<Vec<AmbientRow>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut reader = Reader::new(AMBIENT);
        let mut rows = Vec::new();
        if let Some(document) = reader.document() {
            for (key, value) in document.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref().as_array()) {
                    ("row", Some(items)) => {
                        rows.extend(
                            items
                                .iter()
                                .filter_map(|item| ambient_rows::row(&mut reader, item, "row")),
                        );
                    }
                    _ => reader.unknown_key(key, "the ambient table", &["row"]),
                }
            }
        }
        let (problems, _) = reader.finish();
        // A row that cannot be read allows nothing; a test reads them all.
        debug_assert!(problems.is_empty(), "{problems:?}");
        rows
    })
}
