//! Rules that never answer, because an earlier one answers everything that they would.

use super::condition::{Matcher, Truth};
use super::operation::Operation;
use super::rule::{Data, Rule, Tools};
use crate::gate::HazardLevel;
use crate::gate::argument::Argument;

impl Rule {
    /// Whether this rule, asked first, leaves the other one nothing to answer. `false` where that is not plain.
    #[must_use]
    pub fn shadows(&self, later: &Rule) -> bool {
        let (Some(own), Some(others)) = (self.data(), later.data()) else {
            return false;
        };
        let is_planned = self.is_for_planned() || !later.is_for_planned();
        is_planned
            && (!later.is_for_observed() || self.is_for_observed() && self.is_final_for(later, others))
            && own.tools.cover(&others.tools)
            && others.condition.implies(&own.condition)
    }

    /// Whether what it says to the other one's observed operations stands, whatever a later rule says.
    fn is_final_for(&self, later: &Rule, others: &Data) -> bool {
        self.blocks()
            || others
                .tools
                .operations()
                .into_iter()
                // An operation that the later rule cannot approve is not its business.
                .filter(|operation| later.worst() != HazardLevel::Safe || later.names(*operation))
                .all(|operation| self.names(operation))
    }
}

impl Tools {
    /// Whether it is for every tool name that the other one is for.
    fn cover(&self, other: &Tools) -> bool {
        match (self, other) {
            (Tools::Names(own), Tools::Names(others)) => others.iter().all(|name| own.contains(name)),
            // A program that is called like an operation is none of a rule that lists the operation.
            (Tools::Matcher(own), Tools::Names(others)) => others
                .iter()
                .all(|name| own.holds(Argument::Text(name.as_bytes())) == Truth::Yes),
            (Tools::Matcher(own), Tools::Matcher(other)) => Matcher::implies(other, own),
            _ => false,
        }
    }

    /// Whether it lists operations, and nothing else.
    pub(super) fn are_operations(&self) -> bool {
        match self {
            Tools::Names(names) => names.iter().all(|name| Operation::of_tool_name(name).is_some()),
            Tools::Prefixes(_) | Tools::Matcher(_) => false,
        }
    }

    /// The observed operations that it can be for.
    pub(super) fn operations(&self) -> Vec<Operation> {
        match self {
            Tools::Names(names) => names
                .iter()
                .map(|name| Operation::of_tool_name(name).unwrap_or(Operation::Exec))
                .collect(),
            Tools::Prefixes(_) | Tools::Matcher(_) => Operation::ALL
                .into_iter()
                .filter(|operation| operation.tool_name().is_none_or(|name| self.matches(name)))
                .collect(),
        }
    }
}
