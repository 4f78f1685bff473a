//! The default catalog, v0.1. Order matters: the first rule that answers wins.
//!
//! | step | rule | answer |
//! | --- | --- | --- |
//! | 1 | the extra rules | theirs |
//! | 2 | `block-benchtop-destructive` | blocked |
//! | | `container-destructive` (observed operations only: `container.toml`) | blocked |
//! | | `container-privileged` (observed operations only: `container.toml`) | caution |
//! | 3 | `benchtop-probe-read` | caution |
//! | 4 | `allow-read-only` | safe |
//! | 5 | `allow-by-prefix:…` of five prefixes | safe |
//! | | no answer: `default-deny-unknown` | blocked |
//!
//! The design that the catalog comes from gives each rule twice, as a regular expression and in prose, and they
//! differ: wipe, hard reset and `environment_read` stand only in the prose, and of `scpi_write` and `d8_verdict_`
//! the two write different lengths. This is the union. The order is kept even where a table of examples differs:
//! `disk_health_verdict` stands there as safe, but step 3 answers before step 5 is asked: caution.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::condition::Condition;
use super::decision::{Answer, HazardLevel};
use super::rule::{Calls, Rule, Tools, allow_by_prefix};
use super::spec::{RuleError, RuleSpec};

const DESTRUCTIVE: &[&str] = &[
    "benchtop_power_",
    "benchtop_firmware_",
    "benchtop_wipe",
    "benchtop_hard_reset",
    "kikusui_cr_mode",
    "scpi_write",
];
const PROBE_READ: &[&str] = &[
    "benchtop_probe",
    "d8_verdict_",
    "disk_health",
    "environment_read",
    "smart_",
];
const READ_ONLY: &[&str] = &[
    "query_",
    "read_",
    "get_",
    "list_",
    "verdict_",
    "inspect_",
    "probe_status_",
    "health_",
];
const ALLOWED: &[&str] = &[
    "disk_health_verdict",
    "shannon_entropy_verdict",
    "flow_state_verdict",
    "puzzle_",
    "log_",
];

/// Step 2: power, firmware, wipe, hard reset, the load's CR mode, raw instrument writes.
#[must_use]
pub fn block_benchtop_destructive() -> Rule {
    Rule::new(
        "block-benchtop-destructive",
        Calls::Both,
        Tools::prefixes(DESTRUCTIVE),
        Condition::none(),
        Answer::new(HazardLevel::Blocked).with_note("destructive or irreversible on the bench"),
    )
}

/// Step 3: reads that are privileged or rate limited.
#[must_use]
pub fn caution_benchtop_probe_read() -> Rule {
    Rule::new(
        "benchtop-probe-read",
        Calls::Both,
        Tools::prefixes(PROBE_READ),
        Condition::none(),
        Answer::new(HazardLevel::Caution).with_note("privileged probe read — approved with caution"),
    )
}

/// Step 4: `^(query|read|get|list|verdict|inspect|probe_status|health)_`.
#[must_use]
pub fn allow_read_only() -> Rule {
    Rule::new(
        "allow-read-only",
        Calls::Both,
        Tools::prefixes(READ_ONLY),
        Condition::none(),
        Answer::new(HazardLevel::Safe),
    )
}

/// Steps 2 to 5, compiled once.
static CATALOG: LazyLock<Arc<[Rule]>> = LazyLock::new(|| {
    let mut rules = vec![block_benchtop_destructive()];
    let container = container_rules();
    rules.extend(container.expect("the file is part of the program, and a test compiles it"));
    rules.push(caution_benchtop_probe_read());
    rules.push(allow_read_only());
    rules.extend(ALLOWED.iter().map(|prefix| allow_by_prefix(prefix, None)));
    rules.into()
});

/// Steps 2 to 5.
pub(super) fn default_catalog() -> Arc<[Rule]> {
    CATALOG.clone()
}

#[derive(Deserialize)]
struct ContainerRules {
    rule: Vec<RuleSpec>,
}

/// The rules that ship for observed operations.
fn container_rules() -> Result<Vec<Rule>, RuleError> {
    let file: ContainerRules = toml::from_str(include_str!("container.toml"))
        .map_err(|error| RuleError::new("container.toml", error.to_string(), None))?;
    file.rule.iter().map(RuleSpec::compile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_the_table() {
        let mut names: Vec<String> = default_catalog()
            .iter()
            .map(|rule| rule.name().to_owned())
            .collect();
        names.dedup();
        assert_eq!(
            names,
            [
                "block-benchtop-destructive",
                "container-destructive",
                "container-privileged",
                "benchtop-probe-read",
                "allow-read-only",
                "allow-by-prefix:disk_health_verdict",
                "allow-by-prefix:shannon_entropy_verdict",
                "allow-by-prefix:flow_state_verdict",
                "allow-by-prefix:puzzle_",
                "allow-by-prefix:log_",
            ]
        );
    }

    #[test]
    fn shipped_container_rules_compile() {
        assert!(container_rules().unwrap().len() > 10);
    }
}
