//! The probes of `tests/evasions`: each does one thing that is easily missed or misreported.

use anyhow::Result;

use crate::host::Host;
use crate::lab::Lab;
use crate::probe::{self, Probe};
use crate::verdict::{Verdict, judge};

/// What the tracepoint tier must get right.
const TIER: [&str; 38] = [
    "f01", "f03", "f05", "f07", "f09", "f11", "f19", "f21", "f23", "f25", "f35", "f37", "f41", "f43", "f47",
    "f49", "f51", "f55", "f57", "f59", "f61", "n01", "n03", "n21", "n23", "n27", "e01", "e03", "e05", "e11",
    "e13", "e15", "e17", "e19", "e21", "e23", "e27", "e29",
];
/// Probes whose `"should"` is a promise here: a check that executes nothing is reported as one, and a flood of execs
/// is counted in full.
const SHOULD_HOLDS: [&str; 2] = ["e15", "e23"];

/// `REI_EVASIONS` names other probes to be judged instead (`all`, a class, or `"f01 n05"`), for whoever works on the
/// routes that this tier does not cover yet.
#[test]
#[ignore = "root"]
fn evasions_of_this_tier() -> Result<()> {
    let _host = Host::take()?;
    let probes = probe::all()?;
    let named = std::env::var("REI_EVASIONS").ok();
    let is_chosen = |probe: &&Probe| match &named {
        None => TIER.contains(&probe.short()),
        Some(names) => names
            .split_whitespace()
            .any(|name| [probe.short(), &probe.id, &probe.class, "all"].contains(&name)),
    };
    let chosen: Vec<&Probe> = probes.iter().filter(is_chosen).collect();
    assert!(!chosen.is_empty(), "no probe has such a name");
    assert!(named.is_some() || chosen.len() == TIER.len());
    let mut wrong = Vec::new();
    let lab = Lab::build(&probes)?;
    for probe in chosen {
        let mut verdict = verdict_of(&lab, probe);
        if SHOULD_HOLDS.contains(&probe.short()) {
            verdict.wrong.append(&mut verdict.notes);
        }
        let reasons = verdict.wrong.into_iter();
        wrong.extend(reasons.map(|why| format!("{} ({}): {why}", probe.id, probe.what)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn verdict_of(lab: &Lab, probe: &Probe) -> Verdict {
    match lab.observe(probe) {
        Ok(observed) => judge(probe, &observed.truth, &observed.records),
        Err(error) => Verdict {
            wrong: vec![format!("could not be run: {error:#}")],
            notes: Vec::new(),
        },
    }
}
