//! The gate as a plan runner uses it: a check request in, the decision with its rule name into the plan's trace.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SafetyGate;
use super::decision::{Answer, Decision, HazardLevel};

/// Name of the rule in the decision about a step that the plan itself declares blocked.
pub const PLAN_DECLARED_BLOCKED: &str = "plan-declared-blocked";

/// A plan's question about one of its steps.
#[derive(Clone, Debug, Deserialize)]
pub struct CheckRequest {
    /// Which step of the plan.
    pub step: String,
    /// The tool that the step calls.
    pub tool_name: String,
    /// The call's arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// How hazardous the plan says the step is.
    #[serde(default)]
    pub hazard_level: Option<HazardLevel>,
}

/// What was decided about the steps of a plan, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Trace {
    entries: Vec<TraceEntry>,
}

/// What was decided about one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEntry {
    step: String,
    tool_name: String,
    #[serde(flatten)]
    decision: Decision,
}

impl Trace {
    /// The entries, first to last.
    #[must_use]
    pub fn entries(&self) -> &[TraceEntry] {
        &self.entries
    }
}

impl TraceEntry {
    /// Which step of the plan.
    #[must_use]
    pub fn step(&self) -> &str {
        &self.step
    }

    /// The tool that the step calls.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// What was decided, by which rule.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

/// Answers a plan's questions. Made by [`SafetyGate::handler`].
#[derive(Clone, Copy, Debug)]
pub struct Handler<'a> {
    gate: &'a SafetyGate,
}

impl<'a> Handler<'a> {
    pub(super) fn new(gate: &'a SafetyGate) -> Self {
        Handler { gate }
    }

    /// Decides about one step. What the plan declares blocked stays blocked, whatever the rules say.
    pub fn check(&self, request: CheckRequest, trace: &mut Trace) -> Decision {
        let mut decision = self.gate.evaluate(&request.tool_name, &request.args);
        if request.hazard_level == Some(HazardLevel::Blocked) && decision.approved {
            let note = format!(
                "the plan declares this step blocked; the rule {} would approve it",
                decision.rule_name
            );
            let answer = Answer::new(HazardLevel::Blocked).with_note(note);
            decision = Decision::new(answer, Arc::from(PLAN_DECLARED_BLOCKED));
        }
        trace.entries.push(TraceEntry {
            step: request.step,
            tool_name: request.tool_name,
            decision: decision.clone(),
        });
        decision
    }
}
