//! SafetyGate: may this tool be called, and does anybody object to what was seen?
//!
//! One list of rules for two kinds of calls. Takes a tool name and arguments; gives a [`Decision`]. It knows nothing
//! of eBPF, containers or events.
//!
//! - **Planned calls** ([`SafetyGate::evaluate`]), before they run: the first rule that answers wins; without an
//!   answer, `default-deny-unknown`.
//! - **Observed operations** ([`SafetyGate::observe`]), after the kernel saw them. The names in a container are chosen
//!   by the workload, so a name never approves: only rules that block or caution are asked. What the shipped rules
//!   block stays blocked, unless an extra rule approves that names the operation. Without an answer, `no-objection`.

use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::argument::{Args, Argument, Arguments, Number};
pub use self::catalog::{allow_read_only, block_benchtop_destructive, caution_benchtop_probe_read};
pub use self::decision::{Answer, Decision, HazardLevel};
pub use self::matcher_spec::{Capture, Cidrs, MatcherSpec, Operators, Scalar};
pub use self::operation::{ArgName, Operation};
pub use self::plan::{CheckRequest, Handler, PLAN_DECLARED_BLOCKED, Trace, TraceEntry};
pub use self::rule::{Rule, allow_by_prefix, block_by_pattern, custom_rule};
pub use self::scpi::block_conductance;
pub use self::spec::{ArgsSpec, CallsSpec, DecisionSpec, RuleError, RuleSpec, rules_in};
pub use self::trace::{Explained, Outcome, Tried};

use crate::glob::Variable;

use self::index::RuleIndex;
use self::rule::{Known, Verdict};

mod argument;
mod catalog;
mod condition;
mod decision;
mod expectation;
mod implication;
mod index;
mod matcher_spec;
mod operation;
mod pattern;
mod plan;
mod range;
mod rule;
mod scpi;
mod shadow;
mod spec;
mod texts;
mod trace;
mod variable;

/// Name of the rule in the decision about a call that no rule knows.
pub const DEFAULT_DENY_UNKNOWN: &str = "default-deny-unknown";
/// Name of the rule in the decision about an observed operation that no rule objects to.
pub const NO_OBJECTION: &str = "no-objection";
/// Name of the rule in every decision about a planned call by the permissive gate.
pub const PERMISSIVE: &str = "permissive";

/// What is decided about an observed operation that no rule objects to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObservedDefault {
    /// Nobody objects.
    #[default]
    NoObjection,
    /// It is not approved.
    Deny,
}

/// The gate. See the module's head.
#[derive(Clone, Debug)]
pub struct SafetyGate {
    extra: Vec<Rule>,
    /// Over the extra rules, if they are many.
    index: Option<RuleIndex>,
    catalog: Arc<[Rule]>,
    planned_default: Decision,
    observed_default: Decision,
    is_permissive: bool,
}

/// A decision about an observed operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// What was decided.
    pub decision: Decision,
    /// The first rule that could not be decided because an argument that it needs is not known.
    pub undecided_rule: Option<Arc<str>>,
}

impl SafetyGate {
    /// Secure by default: the extra rules, then the default catalog, then deny.
    #[must_use]
    pub fn production(extra_rules: Vec<Rule>) -> Self {
        let deny =
            Answer::new(HazardLevel::Blocked).with_note("no rule knows this tool; add one that allows it");
        SafetyGate {
            index: RuleIndex::new(&extra_rules),
            extra: extra_rules,
            catalog: catalog::default_catalog(),
            planned_default: Decision::new(deny, DEFAULT_DENY_UNKNOWN.into()),
            observed_default: no_objection(),
            is_permissive: false,
        }
    }

    /// For development only: approves everything.
    #[must_use]
    pub fn permissive() -> Self {
        let allow = Answer::new(HazardLevel::Safe).with_note("for development only: everything is approved");
        SafetyGate {
            extra: Vec::new(),
            index: None,
            catalog: Arc::new([]),
            planned_default: Decision::new(allow, PERMISSIVE.into()),
            observed_default: no_objection(),
            is_permissive: true,
        }
    }

    /// With this decision about observed operations that no rule objects to.
    #[must_use]
    pub fn with_observed_default(mut self, default: ObservedDefault) -> Self {
        self.observed_default = match default {
            ObservedDefault::NoObjection => no_objection(),
            ObservedDefault::Deny => Decision::new(
                Answer::new(HazardLevel::Blocked).with_note("no extra rule allows this operation by name"),
                DEFAULT_DENY_UNKNOWN.into(),
            ),
        };
        self
    }

    /// The gate with values for the variables that its extra rules hold. A rule that holds one without a value leaves
    /// what it would be asked undecided.
    #[must_use]
    pub fn bind(&self, variables: &[Variable<'_>]) -> Self {
        let mut gate = self.clone();
        if self.extra.iter().any(Rule::has_variables) {
            gate.extra = self.extra.iter().map(|rule| rule.bind(variables)).collect();
            gate.index = RuleIndex::new(&gate.extra);
        }
        gate
    }

    /// Whether this is the gate for development.
    #[must_use]
    pub fn is_permissive(&self) -> bool {
        self.is_permissive
    }

    /// The gate as a plan runner uses it.
    #[must_use]
    pub fn handler(&self) -> Handler<'_> {
        Handler::new(self)
    }

    /// Decides about a planned call.
    #[must_use]
    pub fn evaluate(&self, tool_name: &str, args: &Map<String, Value>) -> Decision {
        let arguments = Arguments::Planned(args);
        let rules = self.extra.iter().chain(&*self.catalog);
        rules
            .filter(|rule| rule.is_for_planned())
            .find_map(|rule| match rule.judge(tool_name, &arguments, Known::Nothing) {
                Verdict::Answers(decision) => Some(decision),
                Verdict::Passes | Verdict::Undecided => None,
            })
            .unwrap_or_else(|| self.planned_default.clone())
    }

    /// Decides about an observed operation.
    #[must_use]
    pub fn evaluate_observed(&self, tool_name: &str, args: &Args<'_>) -> Decision {
        self.observe(tool_name, args).decision
    }

    /// Decides about an observed operation, and says whether a rule was left undecided.
    #[must_use]
    pub fn observe(&self, tool_name: &str, args: &Args<'_>) -> Observed {
        let mut sight = Sight::new(tool_name, args);
        let found = self.index.as_ref().map(|index| index.candidates(tool_name, args));
        let decision = match found {
            Some(found) => self.decide(
                found
                    .iter()
                    .filter_map(|one| Some((self.extra.get(one.place)?, one.known))),
                &mut sight,
            ),
            None => self.decide(self.extra.iter().map(|rule| (rule, Known::Nothing)), &mut sight),
        };
        Observed {
            decision,
            undecided_rule: sight.undecided_rule,
        }
    }

    fn decide<'r>(
        &self,
        mut extra: impl Iterator<Item = (&'r Rule, Known)>,
        sight: &mut Sight<'_>,
    ) -> Decision {
        let first = extra.find_map(|(rule, known)| Some((rule, sight.ask(rule, known)?)));
        if let Some((rule, decision)) = &first
            && (!decision.approved || rule.names(sight.operation))
        {
            return decision.clone();
        }
        let mut catalog = self.catalog.iter();
        let shipped = catalog.find_map(|rule| {
            if rule.blocks() {
                sight.ask(rule, Known::Nothing)
            } else {
                None
            }
        });
        match (first, shipped) {
            (Some((_, decision)), Some(_)) if sight.is_excepted(extra) => decision,
            (_, Some(shipped)) => shipped,
            (Some((_, decision)), None) => decision,
            (None, None) => {
                let mut others = self.catalog.iter().filter(|rule| !rule.blocks());
                others
                    .find_map(|rule| sight.ask(rule, Known::Nothing))
                    .unwrap_or_else(|| self.observed_default.clone())
            }
        }
    }
}

fn no_objection() -> Decision {
    Decision::new(Answer::new(HazardLevel::Safe), NO_OBJECTION.into())
}

/// An observed operation that is being decided.
struct Sight<'a> {
    tool_name: &'a str,
    operation: Operation,
    arguments: Arguments<'a>,
    undecided_rule: Option<Arc<str>>,
    /// What was tried, if somebody wants to know.
    tried: Option<Vec<Tried>>,
}

impl<'a> Sight<'a> {
    fn new(tool_name: &'a str, args: &'a Args<'a>) -> Self {
        Sight {
            tool_name,
            operation: if args.is_exec() {
                Operation::Exec
            } else {
                Operation::of_tool_name(tool_name).unwrap_or(Operation::Exec)
            },
            arguments: Arguments::Observed(args),
            undecided_rule: None,
            tried: None,
        }
    }

    fn note(&mut self, rule: &Rule, outcome: Outcome) {
        if let Some(tried) = &mut self.tried {
            tried.push(Tried::new(rule, outcome));
        }
    }

    fn ask(&mut self, rule: &Rule, known: Known) -> Option<Decision> {
        if !rule.is_for_observed() {
            self.note(rule, Outcome::Elsewhere);
            return None;
        }
        if rule.worst() == HazardLevel::Safe && !rule.names(self.operation) {
            let is_for_it = rule.is_for(self.tool_name);
            self.note(
                rule,
                if is_for_it {
                    Outcome::ApprovesNothing
                } else {
                    Outcome::Elsewhere
                },
            );
            return None;
        }
        // A program may be called like an operation; a rule that lists the operation does not mean it.
        let is_program = self.operation == Operation::Exec;
        if is_program && rule.listed_names().is_some() && Operation::of_tool_name(self.tool_name).is_some() {
            self.note(rule, Outcome::Elsewhere);
            return None;
        }
        match rule.judge(self.tool_name, &self.arguments, known) {
            Verdict::Answers(decision) => {
                self.note(rule, Outcome::Answers(decision.hazard_level));
                Some(decision)
            }
            Verdict::Passes => {
                let is_for_it = rule.is_for(self.tool_name);
                self.note(
                    rule,
                    if is_for_it {
                        Outcome::Fails
                    } else {
                        Outcome::Elsewhere
                    },
                );
                None
            }
            Verdict::Undecided => {
                self.note(rule, Outcome::Undecided);
                self.undecided_rule.get_or_insert_with(|| rule.name().into());
                None
            }
        }
    }

    /// Whether one of these rules, before any that blocks, approves the operation by name.
    fn is_excepted<'r>(&mut self, rules: impl Iterator<Item = (&'r Rule, Known)>) -> bool {
        for (rule, known) in rules {
            match self.ask(rule, known) {
                Some(decision) if !decision.approved => return false,
                Some(_) if rule.names(self.operation) => return true,
                _ => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
