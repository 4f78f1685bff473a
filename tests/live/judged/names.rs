//! Names approve planned calls. Inside a container the workload chooses them, and there they gain nothing.

use std::process::Command;

use anyhow::Result;

use super::case::{Case, Expected, executed, finding, opened};
use super::recipe::Recipe;
use crate::host::Host;

/// Names that the catalog approves for planned calls.
const APPROVED: [&str; 4] = ["read_x", "log_x", "puzzle_x", "shannon_entropy_verdict"];
/// Names that it does not know.
const UNKNOWN: [&str; 4] = ["one_x", "two_x", "three_x", "any_other_name_at_all"];
/// A name that it approves with caution: what a name can draw is an objection.
const CAUTIOUS: [&str; 1] = ["disk_health_verdict"];

#[test]
fn planned_calls_of_these_names_are_approved_or_not() -> Result<()> {
    let all = APPROVED.iter().chain(&UNKNOWN).chain(&CAUTIOUS);
    for name in all {
        let gate = Command::new(env!("CARGO_BIN_EXE_rei"))
            .args(["gate", name])
            .output()?;
        let expected = if UNKNOWN.contains(name) { 1 } else { 0 };
        assert_eq!(gate.status.code(), Some(expected), "{name}");
    }
    Ok(())
}

#[test]
#[ignore = "root"]
fn a_programs_name_gains_nothing() -> Result<()> {
    let host = Host::take()?;
    let mut recipe = Recipe::new("names")?.compiled("/app/named", "named");
    for name in APPROVED.iter().chain(&UNKNOWN).chain(&CAUTIOUS) {
        recipe = recipe.compiled(&format!("/app/{name}"), "named");
    }
    let image = recipe.image()?;
    for names in [&APPROVED[..], &UNKNOWN, &CAUTIOUS] {
        // The same, whatever they are called. Each program is another one that reads the file: a finding for
        // each.
        let mut findings = Vec::new();
        for name in names {
            let (shipped, written) = (format!("/app/{name}"), format!("/tmp/{name}"));
            findings.push(opened(written.as_str()));
            for program in [shipped, written] {
                findings.push(executed(program.as_str()));
                findings.push(opened("/etc/hostname"));
                if CAUTIOUS.contains(name) {
                    findings.push(finding("benchtop-probe-read", "exec", program));
                }
            }
        }
        let command: Vec<&str> = std::iter::once("/app/named")
            .chain(names.iter().copied())
            .collect();
        let case = Case {
            image: &image,
            rei: &["--policy", "ambient-only"],
            docker: &[],
            command: &command,
        };
        assert_eq!(case.must_be(&Expected::findings(findings))?, "ran\n");
    }
    host.check_nothing_left()
}
