//! `rei gate`: the SafetyGate's answer to one planned tool call.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use serde_json::Map;

use super::log;
use crate::cli::GateArgs;
use crate::format::{self, Hex};
use crate::gate::{Decision, SafetyGate};
use crate::policy::Policy;
use crate::quote::quote;

const EXIT_APPROVED: u8 = 0;
const EXIT_NOT_APPROVED: u8 = 1;

/// Prints the decision and gives its exit code.
pub(super) fn run(args: GateArgs) -> Result<u8> {
    let policy = args.policy.as_deref().map(Policy::load).transpose()?;
    let policy = policy.map(|loaded| loaded.policy);
    let gate = match &policy {
        Some(policy) => policy.gate.gate(),
        None => SafetyGate::production(Vec::new()),
    };
    let mut call = Map::new();
    for (key, value) in args.args {
        if call.contains_key(&key) {
            bail!(
                "the argument {} is given twice; give a list as --arg 'KEY:=[…]'",
                quote(key.as_bytes())
            );
        }
        call.insert(key, value);
    }
    let decision = gate.evaluate(&args.tool_name, &call);
    if let Some(directory) = &args.log {
        let sealed = format::Decision {
            args: serde_json::to_string(&call).context("the arguments are no JSON")?,
            tool: args.tool_name.clone(),
            approved: decision.approved,
            hazard_level: decision.hazard_level.to_string(),
            rule_name: decision.rule_name.to_string(),
            note: decision.note.as_deref().map(str::to_owned),
            policy_sha256: policy.as_ref().map(|policy| Hex(policy.sha256())),
        };
        log::seal_decision(directory, &args.keys, sealed)?;
    }
    let mut line = if args.json {
        serde_json::to_string(&decision).context("the decision is no JSON")?
    } else {
        sentence(&args.tool_name, &decision)
    };
    line.push('\n');
    io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .context("cannot write the decision to stdout")?;
    Ok(if decision.approved {
        EXIT_APPROVED
    } else {
        EXIT_NOT_APPROVED
    })
}

fn sentence(tool_name: &str, decision: &Decision) -> String {
    let verb = if decision.approved {
        "approved"
    } else {
        "not approved"
    };
    let mut line = format!(
        "{}: {verb} ({}) by {}",
        quote(tool_name.as_bytes()),
        decision.hazard_level,
        quote(decision.rule_name.as_bytes())
    );
    if let Some(note) = &decision.note {
        // A note is prose: spaces need no quotes, anything that moves the cursor does.
        let words: Vec<String> = note
            .split(' ')
            .map(|word| quote(word.as_bytes()).to_string())
            .collect();
        line.push_str(": ");
        line.push_str(&words.join(" "));
    }
    line
}
