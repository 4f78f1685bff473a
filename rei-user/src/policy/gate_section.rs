//! The table `[gate]` of a policy file.

use crate::policy::document::{Reader, Value};

/// What a policy says to the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateSection {
    /// Observed operations that no rule names are refused too.
    pub observed_deny: bool,
}

pub(super) fn read(reader: &mut Reader<'_>, value: &Value<'_>) -> GateSection {
    let mut section = GateSection::default();
    let Some(table) = reader.table(value, "`gate`") else {
        return section;
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "observed_default" => {
                let words = [("no-objection", false), ("deny", true)];
                section.observed_deny = reader
                    .word(value, "`observed_default`", &words)
                    .unwrap_or_default();
            }
            _ => reader.unknown_key(key, "`gate`", &["observed_default", "rule"]),
        }
    }
    section
}
