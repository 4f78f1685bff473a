//! What follows from what: a condition that holds whenever another one does, and conditions that never hold.
//!
//! Both are told only where it is plain; `false` means that nobody knows. Of a list each operator asks for one element,
//! and an element that fulfils the narrower test fulfils the wider one too: so it is true of lists as well.

use std::ops::Bound;

use super::argument::{Argument, Number};
use super::condition::{Condition, Matcher, Test, Truth};

impl Condition {
    /// Whether `wide` holds whenever this one does.
    pub(super) fn implies(&self, wide: &Condition) -> bool {
        if let Condition::All(wide) = wide {
            return wide.iter().all(|wide| self.implies(wide));
        }
        let by_parts = match self {
            Condition::Any(any) => !any.is_empty() && any.iter().all(|one| one.implies(wide)),
            Condition::All(all) => all.iter().any(|one| one.implies(wide)),
            Condition::Not(_) | Condition::Argument(..) => false,
        };
        by_parts
            || match (self, wide) {
                (_, Condition::Any(wide)) => wide.iter().any(|wide| self.implies(wide)),
                (Condition::Not(own), Condition::Not(wide)) => wide.implies(own),
                (Condition::Argument(own_key, own), Condition::Argument(wide_key, wide)) => {
                    own_key.name() == wide_key.name() && own.implies(wide)
                }
                _ => false,
            }
    }

    /// Whether it never holds. `is_single` says of an argument that it never is a list.
    pub(super) fn is_never(&self, is_single: &impl Fn(&str) -> bool) -> bool {
        let mut parts = Vec::new();
        self.parts(&mut parts);
        let is_plain = |part: &&&Condition| !matches!(part, Condition::Any(_));
        let plain: Vec<Condition> = parts
            .iter()
            .filter(is_plain)
            .map(|part| (*part).clone())
            .collect();
        let is_denied = |part: &&Condition| match part {
            Condition::Not(not) => self.implies(not),
            // Each choice together with what must hold anyway.
            Condition::Any(any) => any.iter().all(|one| {
                let together = [plain.as_slice(), std::slice::from_ref(one)].concat();
                Condition::All(together).is_never(is_single)
            }),
            Condition::All(_) | Condition::Argument(..) => false,
        };
        if parts.iter().any(is_denied) {
            return true;
        }
        let arguments = parts.iter().filter_map(|part| match part {
            Condition::Argument(key, matcher) => Some((key.name(), matcher)),
            _ => None,
        });
        let arguments: Vec<(&str, &Matcher)> = arguments.collect();
        arguments.iter().any(|(name, _)| {
            let own = arguments.iter().filter(|(other, _)| other == name);
            let own: Vec<&Matcher> = own.map(|(_, matcher)| *matcher).collect();
            is_never(&own, is_single(name))
        })
    }

    /// What must hold beside each other.
    fn parts<'c>(&'c self, parts: &mut Vec<&'c Condition>) {
        match self {
            Condition::All(all) => all.iter().for_each(|one| one.parts(parts)),
            other => parts.push(other),
        }
    }
}

impl Matcher {
    /// Whether `wide` holds whenever this one does.
    pub(super) fn implies(&self, wide: &Matcher) -> bool {
        if let Matcher::All(wide) = wide {
            return wide.iter().all(|wide| self.implies(wide));
        }
        let by_parts = match self {
            Matcher::Any(any) => !any.is_empty() && any.iter().all(|one| one.implies(wide)),
            Matcher::All(all) => all.iter().any(|one| one.implies(wide)),
            Matcher::Not(_) | Matcher::Test(_) => false,
        };
        by_parts
            || match (self, wide) {
                (_, Matcher::Any(wide)) => wide.iter().any(|wide| self.implies(wide)),
                (Matcher::Not(own), Matcher::Not(wide)) => wide.implies(own),
                (Matcher::Test(own), Matcher::Test(wide)) => own.implies(wide),
                _ => false,
            }
    }

    fn parts<'m>(&'m self, parts: &mut Vec<&'m Matcher>) {
        match self {
            Matcher::All(all) => all.iter().for_each(|one| one.parts(parts)),
            other => parts.push(other),
        }
    }
}

/// Whether these never hold of one argument together.
fn is_never(matchers: &[&Matcher], is_single: bool) -> bool {
    let mut parts = Vec::new();
    for matcher in matchers {
        matcher.parts(&mut parts);
    }
    let is_denied = |part: &&Matcher| match part {
        Matcher::Not(not) => parts.iter().any(|other| other.implies(not)),
        Matcher::Any(any) => any.iter().all(|one| is_never(&[one], is_single)),
        Matcher::All(_) | Matcher::Test(_) => false,
    };
    let tests: Vec<&Test> = parts
        .iter()
        .filter_map(|part| match part {
            Matcher::Test(test) => Some(test),
            _ => None,
        })
        .collect();
    parts.iter().any(is_denied)
        || is_single
            && (tests.iter().any(|test| has_no_value(test, &parts))
                || tests.iter().any(|one| tests.iter().any(|two| exclude(one, two))))
}

/// Whether each of the test's values is refused by something else.
fn has_no_value(test: &Test, parts: &[&Matcher]) -> bool {
    let Test::OneOf(one_of) = test else { return false };
    let is_refused = |argument: Argument<'_>| parts.iter().any(|part| part.holds(argument) == Truth::No);
    // A number may be written in several ways, which only a range does not tell apart.
    let is_out_of_range = |number: &Number| {
        parts.iter().any(|part| {
            let is_range = matches!(part, Matcher::Test(Test::Range(..)));
            is_range && part.holds(Argument::Number(*number)) == Truth::No
        })
    };
    one_of.numbers().iter().all(is_out_of_range)
        && one_of
            .texts()
            .all(|text| readings(text).into_iter().all(is_refused))
}

/// What an argument that equals this text can be.
fn readings(text: &[u8]) -> Vec<Argument<'_>> {
    let text = Argument::Text(text);
    let address = text.address().map(Argument::Address);
    let number = text.number().map(Argument::Number);
    [Some(text), address, number].into_iter().flatten().collect()
}

/// Whether no single value fulfils both.
fn exclude(one: &Test, two: &Test) -> bool {
    match (one, two) {
        (Test::Prefix(one), Test::Prefix(two)) => !one.starts_with(two) && !two.starts_with(one),
        (Test::Range(_, high), Test::Range(low, _)) => match (high, low) {
            (Bound::Included(high), Bound::Included(low)) => high < low,
            (Bound::Included(high) | Bound::Excluded(high), Bound::Included(low) | Bound::Excluded(low)) => {
                high <= low
            }
            _ => false,
        },
        _ => false,
    }
}

impl Test {
    /// Whether `wide` holds of every value that fulfils this one.
    fn implies(&self, wide: &Test) -> bool {
        if let Test::Glob(_, glob) = wide
            && glob.text() == "**"
        {
            return !matches!(self, Test::Unbound);
        }
        match (self, wide) {
            (Test::OneOf(own), _) => {
                let is_held = |argument: Argument<'_>| wide.holds(argument) == Truth::Yes;
                own.texts().all(|text| readings(text).into_iter().all(is_held))
                    && own.numbers().iter().all(|number| wide.takes_number(*number))
            }
            (Test::Prefix(own), Test::Prefix(wide)) => own.starts_with(wide),
            (Test::Glob(_, own), Test::Glob(_, wide)) => wide.covers(own),
            (Test::Regex(_, own), Test::Regex(_, wide)) => own == wide,
            (Test::Range(own_low, own_high), Test::Range(low, high)) => {
                is_above(*own_low, *low) && is_below(*own_high, *high)
            }
            (Test::Cidr(own), Test::Cidr(wide)) => {
                own.iter().all(|own| wide.iter().any(|wide| wide.covers(own)))
            }
            _ => false,
        }
    }

    /// Whether it holds of a number, however it is written.
    fn takes_number(&self, number: Number) -> bool {
        match self {
            Test::OneOf(one_of) => one_of.numbers().contains(&number),
            Test::Range(..) => self.holds(Argument::Number(number)) == Truth::Yes,
            _ => false,
        }
    }
}

fn is_above(own: Bound<Number>, wide: Bound<Number>) -> bool {
    match (own, wide) {
        (_, Bound::Unbounded) => true,
        (Bound::Unbounded, _) => false,
        (Bound::Included(own), Bound::Excluded(wide)) => own > wide,
        (Bound::Included(own) | Bound::Excluded(own), Bound::Included(wide) | Bound::Excluded(wide)) => {
            own >= wide
        }
    }
}

fn is_below(own: Bound<Number>, wide: Bound<Number>) -> bool {
    match (own, wide) {
        (_, Bound::Unbounded) => true,
        (Bound::Unbounded, _) => false,
        (Bound::Included(own), Bound::Excluded(wide)) => own < wide,
        (Bound::Included(own) | Bound::Excluded(own), Bound::Included(wide) | Bound::Excluded(wide)) => {
            own <= wide
        }
    }
}
