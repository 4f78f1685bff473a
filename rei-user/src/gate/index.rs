//! Which extra rules can answer an observed operation at all: by path, by address, by tool name.
//!
//! So the cost of an operation does not grow with the number of rules that are about other paths, addresses or names.
//! Patterns of texts (globs, prefixes, regular expressions) share automata, prefixes of addresses a trie. A rule of which
//! none of these asks anything is always asked. Only rules whose condition is certainly not fulfilled are left out.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cidr::CidrTrie;

use super::argument::{Args, Argument};
use super::operation::ArgName;
use super::rule::{Key, Known, Rule};
use super::texts::{Texts, TextsBuilder, Walk};

/// With fewer rules, asking each is as fast: one costs about 100 ns, to look all of them up about 300.
const RULES_MIN: usize = 4;

/// A rule that can answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its place in the list.
    pub(super) place: usize,
    pub(super) known: Known,
}

/// The index over a list of rules, which it knows by their places.
#[derive(Clone, Debug)]
pub(super) struct RuleIndex(Arc<Tables>);

#[derive(Debug)]
struct Tables {
    always: Vec<usize>,
    names: HashMap<Box<str>, Vec<usize>>,
    name_patterns: Texts,
    paths: Texts,
    addresses: CidrTrie,
    /// Every rule that is in the trie.
    by_address: Vec<usize>,
    /// By place, whether a rule's condition holds as soon as its path or its address matches.
    holds_by_key: Vec<bool>,
}

impl RuleIndex {
    /// An index, if one is worth having and can be made; without it every rule is asked.
    pub(super) fn new(rules: &[Rule]) -> Option<Self> {
        if rules.len() < RULES_MIN {
            return None;
        }
        let (mut always, mut by_address) = (Vec::new(), Vec::new());
        let mut names: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        let (mut name_patterns, mut paths) = (TextsBuilder::default(), TextsBuilder::default());
        let mut addresses = CidrTrie::default();
        let mut holds_by_key = vec![false; rules.len()];
        let observed = rules.iter().enumerate();
        for (place, rule) in observed.filter(|(_, rule)| rule.is_for_observed()) {
            match rule.key() {
                Key::Path(patterns) => {
                    holds_by_key[place] = rule.is_about_one(ArgName::Path);
                    paths.insert(place, patterns);
                }
                Key::Address(prefixes) => {
                    holds_by_key[place] = rule.is_about_one(ArgName::Address);
                    by_address.push(place);
                    for prefix in prefixes {
                        addresses.insert(prefix, place);
                    }
                }
                Key::Names(listed) => {
                    for name in listed {
                        names.entry(name.clone()).or_default().push(place);
                    }
                }
                Key::Name(patterns) => name_patterns.insert(place, patterns),
                Key::None => always.push(place),
            }
        }
        Some(RuleIndex(Arc::new(Tables {
            always,
            names,
            name_patterns: name_patterns.build()?,
            paths: paths.build()?,
            addresses,
            by_address,
            holds_by_key,
        })))
    }

    /// The rules that can answer, in their order.
    pub(super) fn candidates(&self, tool_name: &str, args: &Args<'_>) -> Vec<Candidate> {
        let tables = &*self.0;
        let mut places = Vec::new();
        let path_was_walked = match args.value(ArgName::Path) {
            Argument::Text(path) => tables.paths.find(path, &mut places),
            Argument::Absent => Walk::Done,
            // Any of them may be what could not be decided.
            _ => Walk::Failed,
        };
        if let Argument::Address(address) = args.value(ArgName::Address) {
            places.extend(tables.addresses.matching(address));
        }
        let holds = |place: usize| {
            if tables.holds_by_key[place] {
                Known::ConditionHolds
            } else {
                Known::Nothing
            }
        };
        let mut found: Vec<Candidate> = places
            .iter()
            .map(|place| Candidate {
                place: *place,
                known: holds(*place),
            })
            .collect();
        let mut others = tables.always.clone();
        if path_was_walked == Walk::Failed {
            others.extend_from_slice(tables.paths.all());
        }
        if !matches!(
            args.value(ArgName::Address),
            Argument::Absent | Argument::Address(_)
        ) {
            others.extend_from_slice(&tables.by_address);
        }
        others.extend(tables.names.get(tool_name).into_iter().flatten());
        if tables.name_patterns.find(tool_name.as_bytes(), &mut others) == Walk::Failed {
            others.extend_from_slice(tables.name_patterns.all());
        }
        found.extend(others.into_iter().map(|place| Candidate {
            place,
            known: Known::Nothing,
        }));
        found.sort_unstable_by_key(|candidate| candidate.place);
        found.dedup_by_key(|candidate| candidate.place);
        found
    }
}
