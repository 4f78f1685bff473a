//! Conditions: what a rule asks of a call's arguments, compiled.
//!
//! The answer has three values. An argument that is absent fulfils no operator, so `not` holds. One that is not known
//! makes the answer unknown, and `not` leaves it so: nothing is ever approved because something could not be read.

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::Bound;

use regex_automata::meta::Regex;
use serde_json::Value;

use crate::cidr::Cidr;
use crate::glob::Glob;

use super::argument::{Argument, Arguments, Number};
use super::operation::ArgName;
use super::pattern::Pattern;

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Yes,
    No,
    Unknown,
}

impl Truth {
    fn of(holds: bool) -> Self {
        if holds { Truth::Yes } else { Truth::No }
    }

    fn negated(self) -> Self {
        match self {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            Truth::Unknown => Truth::Unknown,
        }
    }

    fn all(truths: impl Iterator<Item = Truth>) -> Self {
        let mut result = Truth::Yes;
        for truth in truths {
            match truth {
                Truth::No => return Truth::No,
                Truth::Unknown => result = Truth::Unknown,
                Truth::Yes => {}
            }
        }
        result
    }

    fn any(truths: impl Iterator<Item = Truth>) -> Self {
        Truth::all(truths.map(Truth::negated)).negated()
    }
}

/// What a rule asks of a call's arguments.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Argument(ArgKey, Matcher),
}

/// An argument's name, looked up once.
#[derive(Clone, Debug)]
pub(super) struct ArgKey {
    name: Box<str>,
    observed: Option<ArgName>,
}

/// What is asked of one argument.
#[derive(Clone, Debug)]
pub(super) enum Matcher {
    All(Vec<Matcher>),
    Any(Vec<Matcher>),
    Not(Box<Matcher>),
    Test(Test),
}

/// One operator. Of a list it asks whether one of its elements fulfils it.
#[derive(Clone, Debug)]
pub(super) enum Test {
    OneOf(OneOf),
    Prefix(Box<[u8]>),
    /// A glob, compiled and as it was read.
    Glob(Regex, Glob),
    /// A regular expression, compiled and as it was written.
    Regex(Regex, Box<str>),
    Range(Bound<Number>, Bound<Number>),
    Cidr(Box<[Cidr]>),
    /// Every text that the pattern's first group captures is handed to the matcher.
    Capture(Regex, Box<Matcher>),
    /// It holds a variable that has no value yet: nobody can tell.
    Unbound,
}

/// Values that an argument may equal.
#[derive(Clone, Debug, Default)]
pub(super) struct OneOf {
    texts: HashSet<Box<[u8]>>,
    addresses: HashSet<IpAddr>,
    /// Of values that are written as numbers; a text that is a number is compared with these as number.
    numbers: Vec<Number>,
}

impl Condition {
    /// No condition: holds for every call.
    pub(super) const fn none() -> Self {
        Condition::All(Vec::new())
    }

    pub(super) fn holds(&self, arguments: &Arguments<'_>) -> Truth {
        match self {
            Condition::All(all) => Truth::all(all.iter().map(|one| one.holds(arguments))),
            Condition::Any(any) => Truth::any(any.iter().map(|one| one.holds(arguments))),
            Condition::Not(not) => not.holds(arguments).negated(),
            Condition::Argument(key, matcher) => matcher.holds(key.value(arguments)),
        }
    }

    /// Whether it cannot hold without a value of this argument fulfilling something.
    pub(super) fn requires(&self, name: ArgName) -> bool {
        match self {
            Condition::All(all) => all.iter().any(|one| one.requires(name)),
            Condition::Any(any) => !any.is_empty() && any.iter().all(|one| one.requires(name)),
            Condition::Not(_) => false,
            Condition::Argument(key, matcher) => key.observed == Some(name) && matcher.is_positive(),
        }
    }
}

impl Condition {
    /// Whether it holds a variable that has no value yet.
    pub(super) fn is_unbound(&self) -> bool {
        match self {
            Condition::All(list) | Condition::Any(list) => list.iter().any(Condition::is_unbound),
            Condition::Not(not) => not.is_unbound(),
            Condition::Argument(_, matcher) => matcher.is_unbound(),
        }
    }

    /// Patterns one of which matches the argument, a text, whenever the condition holds.
    pub(super) fn patterns(&self, name: ArgName) -> Option<Vec<Pattern>> {
        self.necessary(&|key, matcher| {
            if key.observed == Some(name) {
                matcher.patterns()
            } else {
                None
            }
        })
    }

    /// Prefixes one of which has the argument, an address, whenever the condition holds.
    pub(super) fn prefixes(&self, name: ArgName) -> Option<Vec<Cidr>> {
        self.necessary(&|key, matcher| {
            if key.observed == Some(name) {
                matcher.prefixes()
            } else {
                None
            }
        })
    }

    /// Whether it holds as soon as one of its [`Self::patterns`] or [`Self::prefixes`] for this argument matches.
    pub(super) fn is_about_one(&self, name: ArgName) -> bool {
        match self {
            Condition::All(all) => matches!(all.as_slice(), [one] if one.is_about_one(name)),
            Condition::Any(any) => any.iter().all(|one| one.is_about_one(name)),
            Condition::Not(_) => false,
            Condition::Argument(key, matcher) => key.observed == Some(name) && matcher.is_one_test(),
        }
    }

    fn necessary<T>(&self, of: &impl Fn(&ArgKey, &Matcher) -> Option<Vec<T>>) -> Option<Vec<T>> {
        match self {
            Condition::All(all) => all.iter().find_map(|one| one.necessary(of)),
            Condition::Any(any) => union(any.iter().map(|one| one.necessary(of))),
            Condition::Not(_) => None,
            Condition::Argument(key, matcher) => of(key, matcher),
        }
    }
}

fn union<T>(mut parts: impl Iterator<Item = Option<Vec<T>>>) -> Option<Vec<T>> {
    parts.try_fold(Vec::new(), |mut all, some| {
        all.extend(some?);
        Some(all)
    })
}

impl ArgKey {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn new(name: &str) -> Self {
        ArgKey {
            name: name.into(),
            observed: ArgName::of_name(name),
        }
    }

    fn value<'a>(&self, arguments: &Arguments<'a>) -> Argument<'a> {
        match (arguments, self.observed) {
            (Arguments::Observed(args), Some(name)) => args.value(name),
            (Arguments::Observed(_), None) => Argument::Absent,
            (Arguments::Planned(_), _) => arguments.named(&self.name),
        }
    }
}

impl Matcher {
    pub(super) fn holds(&self, argument: Argument<'_>) -> Truth {
        match self {
            Matcher::All(all) => Truth::all(all.iter().map(|one| one.holds(argument))),
            Matcher::Any(any) => Truth::any(any.iter().map(|one| one.holds(argument))),
            Matcher::Not(not) => not.holds(argument).negated(),
            Matcher::Test(test) => test.holds(argument),
        }
    }

    fn is_unbound(&self) -> bool {
        match self {
            Matcher::All(list) | Matcher::Any(list) => list.iter().any(Matcher::is_unbound),
            Matcher::Not(not) => not.is_unbound(),
            Matcher::Test(test) => matches!(test, Test::Unbound),
        }
    }

    /// Patterns one of which matches every text that fulfils it.
    pub(super) fn patterns(&self) -> Option<Vec<Pattern>> {
        self.necessary(&Test::patterns)
    }

    /// Prefixes one of which has every address that fulfils it.
    fn prefixes(&self) -> Option<Vec<Cidr>> {
        self.necessary(&Test::prefixes)
    }

    fn necessary<T>(&self, of: &impl Fn(&Test) -> Option<Vec<T>>) -> Option<Vec<T>> {
        match self {
            Matcher::All(all) => all.iter().find_map(|one| one.necessary(of)),
            Matcher::Any(any) => union(any.iter().map(|one| one.necessary(of))),
            Matcher::Not(_) => None,
            Matcher::Test(test) => of(test),
        }
    }

    /// Whether it is fulfilled as soon as one of its patterns or prefixes matches.
    fn is_one_test(&self) -> bool {
        match self {
            Matcher::All(all) => matches!(all.as_slice(), [one] if one.is_one_test()),
            Matcher::Any(any) => any.iter().all(Matcher::is_one_test),
            Matcher::Not(_) => false,
            Matcher::Test(_) => true,
        }
    }

    /// Whether an absent value fulfils it never.
    fn is_positive(&self) -> bool {
        match self {
            Matcher::All(all) => all.iter().any(Matcher::is_positive),
            Matcher::Any(any) => !any.is_empty() && any.iter().all(Matcher::is_positive),
            Matcher::Not(_) => false,
            Matcher::Test(_) => true,
        }
    }
}

impl Test {
    pub(super) fn holds(&self, argument: Argument<'_>) -> Truth {
        match argument {
            Argument::Absent => Truth::No,
            Argument::Unknown => Truth::Unknown,
            _ if matches!(self, Test::Unbound) => Truth::Unknown,
            Argument::Texts(texts) => Truth::of(self.holds_for_one(texts)),
            Argument::CutTexts(texts) if self.holds_for_one(texts) => Truth::Yes,
            Argument::CutTexts(_) => Truth::Unknown,
            Argument::Json(Value::Array(values)) => {
                Truth::any(values.iter().map(|value| self.holds(value.into())))
            }
            Argument::Json(_) => Truth::No,
            Argument::Text(_) | Argument::Number(_) | Argument::Address(_) => {
                Truth::of(self.holds_for(argument))
            }
        }
    }

    fn patterns(&self) -> Option<Vec<Pattern>> {
        match self {
            Test::OneOf(one_of) if one_of.numbers.is_empty() => {
                Some(one_of.texts.iter().map(|text| Pattern::equal(text)).collect())
            }
            Test::Prefix(prefix) => Some(vec![Pattern::prefix(prefix)]),
            Test::Glob(_, glob) => Some(vec![Pattern::whole(&glob.regex())]),
            Test::Regex(_, written) => Some(vec![Pattern::of_regex(written)?]),
            Test::OneOf(_) | Test::Range(..) | Test::Cidr(_) | Test::Capture(..) | Test::Unbound => None,
        }
    }

    fn prefixes(&self) -> Option<Vec<Cidr>> {
        match self {
            Test::Cidr(nets) => Some(nets.to_vec()),
            Test::OneOf(one_of) => Some(one_of.addresses.iter().copied().map(Cidr::of).collect()),
            _ => None,
        }
    }

    fn holds_for_one(&self, texts: &[&[u8]]) -> bool {
        texts.iter().any(|text| self.holds_for(Argument::Text(text)))
    }

    fn holds_for(&self, value: Argument<'_>) -> bool {
        match self {
            Test::OneOf(one_of) => one_of.holds_for(value),
            Test::Prefix(prefix) => value.text().is_some_and(|text| text.starts_with(prefix)),
            Test::Glob(pattern, _) | Test::Regex(pattern, _) => {
                value.text().is_some_and(|text| pattern.is_match(&*text))
            }
            Test::Range(low, high) => value
                .number()
                .is_some_and(|number| std::ops::RangeBounds::contains(&(*low, *high), &number)),
            Test::Unbound => false,
            Test::Cidr(nets) => value
                .address()
                .is_some_and(|address| nets.iter().any(|net| net.has(address))),
            Test::Capture(pattern, matcher) => value.text().is_some_and(|text| {
                let mut captures = pattern.captures_iter(&*text);
                captures.any(|capture| {
                    let group = capture.get_group(1).and_then(|span| text.get(span.range()));
                    group.is_some_and(|group| matcher.holds(Argument::Text(group)) == Truth::Yes)
                })
            }),
        }
    }
}

impl OneOf {
    /// A value that is written as text.
    pub(super) fn insert_text(&mut self, text: &[u8]) {
        self.texts.insert(text.into());
        let address = str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<IpAddr>().ok());
        self.addresses
            .extend(address.map(|address| address.to_canonical()));
    }

    /// Its values that were written as texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(|text| &**text)
    }

    /// Its values that were written as numbers.
    pub(super) fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// Whether it holds no value.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.numbers.is_empty()
    }

    /// A value that is written as number.
    pub(super) fn insert_number(&mut self, number: Number) {
        self.numbers.push(number);
    }

    fn holds_for(&self, value: Argument<'_>) -> bool {
        match value {
            Argument::Address(address) => self.addresses.contains(&address.to_canonical()),
            Argument::Text(text) => self.texts.contains(text) || self.has_number(value),
            Argument::Number(_) => {
                self.has_number(value) || value.text().is_some_and(|text| self.texts.contains(&*text))
            }
            _ => false,
        }
    }

    fn has_number(&self, value: Argument<'_>) -> bool {
        !self.numbers.is_empty()
            && value
                .number()
                .is_some_and(|number| self.numbers.contains(&number))
    }
}
