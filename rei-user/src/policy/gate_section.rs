//! The table `[gate]` of a policy file.

use std::collections::HashSet;
use std::ops::Range;

use crate::gate::{self, ObservedDefault, Rule, SafetyGate};
use crate::policy::check::COMPARED_MAX;
use crate::policy::document::{Reader, Value};

/// What a policy says to the gate.
#[derive(Clone, Debug, Default)]
pub struct GateSection {
    /// What is decided about observed operations that no rule names.
    pub observed_default: ObservedDefault,
    /// Rules that are asked before the shipped ones.
    pub rules: Vec<Rule>,
}

impl GateSection {
    /// The gate with this section's rules first.
    #[must_use]
    pub fn gate(&self) -> SafetyGate {
        SafetyGate::production(self.rules.clone()).with_observed_default(self.observed_default)
    }
}

pub(super) fn read(reader: &mut Reader<'_>, value: &Value<'_>) -> GateSection {
    let mut section = GateSection::default();
    let Some(table) = reader.table(value, "`gate`") else {
        return section;
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "observed_default" => {
                let words = [
                    ("no-objection", ObservedDefault::NoObjection),
                    ("deny", ObservedDefault::Deny),
                ];
                section.observed_default = reader
                    .word(value, "`observed_default`", &words)
                    .unwrap_or_default();
            }
            "rule" => section.rules = rules(reader, value),
            _ => reader.unknown_key(key, "`gate`", &["observed_default", "rule"]),
        }
    }
    section
}

/// The gate's own reader knows what a rule is; here its faults get their place.
fn rules(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<Rule> {
    let compiled = match gate::rules_in(reader.source()) {
        Ok(compiled) => compiled,
        Err(error) => {
            reader.problem(&error.span().unwrap_or(value.span()), error.to_string());
            return Vec::new();
        }
    };
    let tables = value.get_ref().as_array();
    let mut names = HashSet::new();
    let mut rules = Vec::new();
    for (index, rule) in compiled.into_iter().enumerate() {
        let table = tables.and_then(|tables| tables.get(index));
        let place = table.map_or(value.span(), toml::Spanned::span);
        match rule {
            Ok(rule) => {
                if !names.insert(rule.name().to_owned()) {
                    let message = format!("the name {:?} is taken by another gate rule", rule.name());
                    reader.problem(&place, message);
                }
                rules.push((rule, place));
            }
            Err(error) => reader.problem(&error.span().unwrap_or(place), error.to_string()),
        }
    }
    shadows(reader, &rules);
    rules.into_iter().map(|(rule, _)| rule).collect()
}

/// Warns of each rule that never answers.
fn shadows(reader: &mut Reader<'_>, rules: &[(Rule, Range<usize>)]) {
    if rules.len() > COMPARED_MAX {
        return;
    }
    for (index, (rule, place)) in rules.iter().enumerate() {
        let Some((shadow, at)) = rules[..index].iter().find(|(earlier, _)| earlier.shadows(rule)) else {
            continue;
        };
        let message = format!(
            "it is in the shadow of {:?} on line {}, which answers all of it before; put it first, or leave it out",
            shadow.name(),
            reader.line(at)
        );
        reader.warning(place, message);
    }
}
