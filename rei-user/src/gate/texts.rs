//! Rules by what a text must match: which of them can answer, told by one walk over the text for all of them.

use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::util::pool::Pool;

use crate::paths::{Begin, PathMatcher};

use super::pattern::Pattern;

/// Rules, known by their places, with the patterns of which one must match.
#[derive(Debug, Default)]
pub(super) struct TextsBuilder {
    rules: Vec<usize>,
    anchored: Vec<(usize, String)>,
    floating: Vec<(usize, String)>,
}

/// The same, ready to be asked. Patterns that begin anywhere have an automaton of their own: one of them would make
/// the sets of states that every text leads through as large as all patterns together.
#[derive(Debug)]
pub(super) struct Texts {
    rules: Vec<usize>,
    anchored: Option<Automaton>,
    floating: Option<Automaton>,
}

/// How a walk over a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// Every rule of which a pattern matches was found.
    Done,
    /// The automata could not tell.
    Failed,
}

type MakeMatcher = Box<dyn Fn() -> PathMatcher + Send + Sync + UnwindSafe + RefUnwindSafe>;

#[derive(Debug)]
struct Automaton {
    /// A walk needs a matcher of its own, for the states that it makes on the way.
    matchers: Pool<PathMatcher, MakeMatcher>,
    rule_of_pattern: Vec<usize>,
}

impl TextsBuilder {
    pub(super) fn insert(&mut self, rule: usize, patterns: Vec<Pattern>) {
        self.rules.push(rule);
        for Pattern { regex, begin } in patterns {
            match begin {
                Begin::AtFirst => self.anchored.push((rule, regex)),
                Begin::Anywhere => self.floating.push((rule, regex)),
            }
        }
    }

    /// `None` if the patterns are too large.
    pub(super) fn build(self) -> Option<Texts> {
        Some(Texts {
            rules: self.rules,
            anchored: Automaton::new(self.anchored, Begin::AtFirst)?,
            floating: Automaton::new(self.floating, Begin::Anywhere)?,
        })
    }
}

impl Texts {
    /// Every rule.
    pub(super) fn all(&self) -> &[usize] {
        &self.rules
    }

    /// Adds the rules one of whose patterns matches the text, in no order.
    pub(super) fn find(&self, text: &[u8], places: &mut Vec<usize>) -> Walk {
        let before = places.len();
        for automaton in [&self.anchored, &self.floating].into_iter().flatten() {
            if automaton.find(text, places).is_none() {
                places.truncate(before);
                return Walk::Failed;
            }
        }
        Walk::Done
    }
}

impl Automaton {
    /// `Some(None)` if there is no pattern, `None` if they are too large.
    fn new(patterns: Vec<(usize, String)>, begin: Begin) -> Option<Option<Self>> {
        if patterns.is_empty() {
            return Some(None);
        }
        let (rule_of_pattern, regexes): (Vec<usize>, Vec<String>) = patterns.into_iter().unzip();
        let matcher = PathMatcher::of_regexes(&regexes, begin).ok()?;
        let make: MakeMatcher = Box::new(move || matcher.clone());
        Some(Some(Automaton {
            matchers: Pool::new(make),
            rule_of_pattern,
        }))
    }

    /// `None` if the automaton cannot tell.
    fn find(&self, text: &[u8], places: &mut Vec<usize>) -> Option<()> {
        for pattern in self.matchers.get().try_matching(text)? {
            places.push(*self.rule_of_pattern.get(pattern)?);
        }
        Some(())
    }
}
