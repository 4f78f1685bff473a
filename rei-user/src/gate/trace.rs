//! What was tried on the way to a decision, for people.

use std::fmt;

use super::argument::Args;
use super::decision::HazardLevel;
use super::rule::{Known, Rule};
use super::{Observed, SafetyGate, Sight};

/// A decision about an observed operation, and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// What was decided.
    pub observed: Observed,
    /// The rules that were asked, in that order.
    pub tried: Vec<Tried>,
}

/// A rule that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Its name.
    pub rule: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of asking a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is for other calls.
    Elsewhere,
    /// It would approve, and does not name the operation.
    ApprovesNothing,
    /// What it asks of the arguments does not hold.
    Fails,
    /// It asks for something that is not known.
    Undecided,
    /// It answers.
    Answers(HazardLevel),
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Elsewhere => out.write_str("no: it is for other calls"),
            Outcome::ApprovesNothing => {
                out.write_str("no: it would approve, and a name approves nothing that was observed")
            }
            Outcome::Fails => out.write_str("no: what it asks of the arguments does not hold"),
            Outcome::Undecided => out.write_str("undecided: it asks for something that is not known"),
            Outcome::Answers(level) => write!(out, "yes: {level}"),
        }
    }
}

impl Tried {
    pub(super) fn new(rule: &Rule, outcome: Outcome) -> Self {
        Tried {
            rule: rule.name().to_owned(),
            outcome,
        }
    }
}

impl SafetyGate {
    /// As [`SafetyGate::observe`], and says what was tried.
    #[must_use]
    pub fn explain(&self, tool_name: &str, args: &Args<'_>) -> Explained {
        let mut sight = Sight::new(tool_name, args);
        sight.tried = Some(Vec::new());
        let decision = self.decide(self.extra.iter().map(|rule| (rule, Known::Nothing)), &mut sight);
        Explained {
            observed: Observed {
                decision,
                undecided_rule: sight.undecided_rule,
            },
            tried: sight.tried.unwrap_or_default(),
        }
    }
}
