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
use super::rule::{Key, Rule};
use super::texts::{Texts, TextsBuilder};

/// With fewer rules, asking each is as fast.
const RULES_MIN: usize = 16;

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
        let observed = rules.iter().enumerate();
        for (place, rule) in observed.filter(|(_, rule)| rule.is_for_observed()) {
            match rule.key() {
                Key::Path(patterns) => paths.insert(place, patterns),
                Key::Address(prefixes) => {
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
        })))
    }

    /// Places of the rules that can answer, in their order.
    pub(super) fn places(&self, tool_name: &str, args: &Args<'_>) -> Vec<usize> {
        let tables = &*self.0;
        let mut places = tables.always.clone();
        match args.value(ArgName::Path) {
            Argument::Absent => {}
            Argument::Text(path) => tables.paths.find(path, &mut places),
            // Any of them may be what could not be decided.
            _ => places.extend_from_slice(tables.paths.all()),
        }
        match args.value(ArgName::Address) {
            Argument::Absent => {}
            Argument::Address(address) => places.extend(tables.addresses.matching(address)),
            _ => places.extend_from_slice(&tables.by_address),
        }
        places.extend(tables.names.get(tool_name).into_iter().flatten());
        tables.name_patterns.find(tool_name.as_bytes(), &mut places);
        places.sort_unstable();
        places.dedup();
        places
    }
}
