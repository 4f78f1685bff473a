//! Which extra rules can answer an observed operation at all: by tool name, and by path in one automaton.
//!
//! So the cost of an operation does not grow with the number of rules that are about other names or other paths. Rules
//! that ask for a path by regular expression only, or for no path, are found by name; those without a list of names
//! are always asked. It leaves out only rules whose condition is certainly not fulfilled.

use std::collections::HashMap;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use regex_automata::util::pool::Pool;

use crate::paths::PathMatcher;

use super::argument::{Args, Argument};
use super::operation::ArgName;
use super::rule::Rule;

/// With fewer rules, asking each is as fast.
const RULES_MIN: usize = 16;

/// The index over a list of rules, which it knows by their places.
#[derive(Clone, Debug)]
pub(super) struct RuleIndex(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    by_name: HashMap<Box<str>, Vec<usize>>,
    always: Vec<usize>,
    by_path: Vec<usize>,
    paths: Paths,
}

type MakeMatcher = Box<dyn Fn() -> PathMatcher + Send + Sync + UnwindSafe + RefUnwindSafe>;

#[derive(Debug)]
struct Paths {
    /// A walk needs a matcher of its own, for the states that it makes on the way.
    matchers: Pool<PathMatcher, MakeMatcher>,
    rule_of_pattern: Vec<usize>,
}

impl RuleIndex {
    /// An index, if one is worth having and can be made; without it every rule is asked.
    pub(super) fn new(rules: &[Rule]) -> Option<Self> {
        if rules.len() < RULES_MIN {
            return None;
        }
        let mut by_name: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        let (mut always, mut by_path) = (Vec::new(), Vec::new());
        let (mut patterns, mut rule_of_pattern) = (Vec::new(), Vec::new());
        for (place, rule) in rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.is_for_observed())
        {
            if let Some(own) = rule.path_patterns() {
                by_path.push(place);
                rule_of_pattern.extend(own.iter().map(|_| place));
                patterns.extend(own);
            } else if let Some(names) = rule.listed_names() {
                for name in names {
                    by_name.entry(name.clone()).or_default().push(place);
                }
            } else {
                always.push(place);
            }
        }
        let matcher = PathMatcher::of_regexes(&patterns).ok()?;
        let make: MakeMatcher = Box::new(move || matcher.clone());
        Some(RuleIndex(Arc::new(Tables {
            by_name,
            always,
            by_path,
            paths: Paths {
                matchers: Pool::new(make),
                rule_of_pattern,
            },
        })))
    }

    /// Places of the rules that can answer, in their order.
    pub(super) fn places(&self, tool_name: &str, args: &Args<'_>) -> Vec<usize> {
        let Tables {
            by_name,
            always,
            by_path,
            paths,
        } = &*self.0;
        let mut places = match args.value(ArgName::Path) {
            Argument::Absent => Vec::new(),
            Argument::Text(path) => paths.places(path).unwrap_or_else(|| by_path.clone()),
            // Any of them may be what could not be decided.
            _ => by_path.clone(),
        };
        places.extend_from_slice(always);
        places.extend(by_name.get(tool_name).into_iter().flatten());
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Paths {
    /// `None` if the automaton cannot tell.
    fn places(&self, path: &[u8]) -> Option<Vec<usize>> {
        let mut places = self.matchers.get().try_matching(path)?;
        for place in &mut places {
            *place = *self.rule_of_pattern.get(*place)?;
        }
        Some(places)
    }
}
