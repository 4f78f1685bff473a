//! The operators as a policy file writes them, and how they become a matcher.
//!
//! A value alone means `equals`, a list alone means `in`, a table holds operators that must all hold.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::cidr::Cidr;

use super::condition::{Matcher, OneOf, Test};
use super::expectation::{Expected, Place};
use super::pattern;
use super::range;
use super::spec::RuleError;
use super::variable::{self, Text};

/// What is asked of one argument.
#[derive(Clone, Debug)]
pub enum MatcherSpec {
    /// `arg = "value"`
    Equals(Scalar),
    /// `arg = ["one", "two"]`
    In(Vec<Scalar>),
    /// `arg = { operator = …, … }`
    Operators(Box<Operators>),
}

/// A single value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Yes or no: compared as the text `true` or `false`.
    Bool(bool),
}

/// The operators. All that are given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operators {
    /// The value itself.
    pub equals: Option<Spanned<Scalar>>,
    /// One of these values.
    #[serde(rename = "in")]
    pub one_of: Option<Spanned<Vec<Scalar>>>,
    /// Text that starts like this.
    pub prefix: Option<Spanned<String>>,
    /// Text that matches this glob as a whole.
    pub glob: Option<Spanned<String>>,
    /// Text in which this regular expression matches somewhere.
    pub regex: Option<Spanned<String>>,
    /// A number greater than this.
    pub above: Option<Spanned<Scalar>>,
    /// A number less than this.
    pub below: Option<Spanned<Scalar>>,
    /// A number not less than this.
    pub at_least: Option<Spanned<Scalar>>,
    /// A number not greater than this.
    pub at_most: Option<Spanned<Scalar>>,
    /// An IP address in one of these networks.
    pub cidr: Option<Spanned<Cidrs>>,
    /// A part of the text of which something is asked.
    pub capture: Option<Spanned<Capture>>,
    /// This does not hold.
    pub not: Option<Spanned<MatcherSpec>>,
    /// All of these hold.
    pub all: Option<Spanned<Vec<MatcherSpec>>>,
    /// One of these holds.
    pub any: Option<Spanned<Vec<MatcherSpec>>>,
}

/// `capture = { regex = 'COND (\S+)', is = { above = 1 } }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// A regular expression with one group.
    pub regex: String,
    /// What is asked of the text in the group.
    pub is: MatcherSpec,
}

/// One network or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a network such as \"10.0.0.0/8\", or a list of them")]
pub enum Cidrs {
    /// `cidr = "10.0.0.0/8"`
    One(String),
    /// `cidr = ["10.0.0.0/8", "fd00::/8"]`
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for MatcherSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MatcherVisitor)
    }
}

struct MatcherVisitor;

impl<'de> Visitor<'de> for MatcherVisitor {
    type Value = MatcherSpec;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value, a list of values, or a table of operators")
    }

    fn visit_str<E>(self, text: &str) -> Result<MatcherSpec, E> {
        Ok(MatcherSpec::Equals(Scalar::Text(text.to_owned())))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<MatcherSpec, E> {
        Ok(MatcherSpec::Equals(Scalar::Int(whole)))
    }

    fn visit_f64<E>(self, float: f64) -> Result<MatcherSpec, E> {
        Ok(MatcherSpec::Equals(Scalar::Float(float)))
    }

    fn visit_bool<E>(self, yes: bool) -> Result<MatcherSpec, E> {
        Ok(MatcherSpec::Equals(Scalar::Bool(yes)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MatcherSpec, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(MatcherSpec::In(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MatcherSpec, A::Error> {
        Operators::deserialize(MapAccessDeserializer::new(map))
            .map(|operators| MatcherSpec::Operators(operators.into()))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text, a number, true or false")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(whole))
    }

    fn visit_f64<E>(self, float: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(float))
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(yes))
    }
}

impl MatcherSpec {
    /// Compiles it.
    pub(super) fn compile(&self, place: &Place, expected: Expected<'_>) -> Result<Matcher, RuleError> {
        match self {
            MatcherSpec::Equals(value) => one_of(std::slice::from_ref(value), place, expected),
            MatcherSpec::In(values) => one_of(values, place, expected),
            MatcherSpec::Operators(operators) => operators.compile(place, expected),
        }
    }
}

impl Operators {
    fn compile(&self, place: &Place, expected: Expected<'_>) -> Result<Matcher, RuleError> {
        let mut all = Vec::new();
        if let Some(value) = &self.equals {
            all.push(one_of(
                std::slice::from_ref(value.get_ref()),
                &place.at("equals", value),
                expected,
            )?);
        }
        if let Some(values) = &self.one_of {
            all.push(one_of(values.get_ref(), &place.at("in", values), expected)?);
        }
        self.compile_text(place, expected, &mut all)?;
        self.compile_range(place, expected, &mut all)?;
        if let Some(cidrs) = &self.cidr {
            all.push(cidr(cidrs.get_ref(), &place.at("cidr", cidrs), expected)?);
        }
        if let Some(not) = &self.not {
            let matcher = not.get_ref().compile(&place.at("not", not), expected)?;
            all.push(Matcher::Not(Box::new(matcher)));
        }
        if let Some(list) = &self.all {
            all.push(Matcher::All(compile_list(
                list,
                &place.at("all", list),
                expected,
            )?));
        }
        if let Some(list) = &self.any {
            all.push(Matcher::Any(compile_list(
                list,
                &place.at("any", list),
                expected,
            )?));
        }
        match all.len() {
            0 => Err(place.error("there is no operator; write one, such as `equals` or `prefix`")),
            1 => Ok(all.remove(0)),
            _ => Ok(Matcher::All(all)),
        }
    }

    fn compile_text(
        &self,
        place: &Place,
        expected: Expected<'_>,
        all: &mut Vec<Matcher>,
    ) -> Result<(), RuleError> {
        if let Some(prefix) = &self.prefix {
            let here = place.at("prefix", prefix);
            expected.can_be_text(&here)?;
            if prefix.get_ref().is_empty() {
                return Err(here.error("every text starts with nothing; write a prefix"));
            }
            all.push(Matcher::Test(
                match variable::text(prefix.get_ref(), &here, expected)? {
                    Text::Known(prefix) => Test::Prefix(prefix.into()),
                    Text::Unbound => Test::Unbound,
                },
            ));
        }
        if let Some(glob) = &self.glob {
            let here = place.at("glob", glob);
            expected.can_be_text(&here)?;
            all.push(Matcher::Test(variable::glob(glob.get_ref(), &here, expected)?));
        }
        if let Some(regex) = &self.regex {
            let here = place.at("regex", regex);
            expected.can_be_text(&here)?;
            variable::refuse_in_regex(regex.get_ref(), &here)?;
            let pattern = pattern::regex(regex.get_ref()).map_err(|reason| here.error(reason))?;
            all.push(Matcher::Test(Test::Regex(
                pattern,
                regex.get_ref().as_str().into(),
            )));
        }
        if let Some(capture) = &self.capture {
            let here = place.at("capture", capture);
            expected.can_be_text(&here)?;
            all.push(Matcher::Test(compile_capture(capture.get_ref(), &here)?));
        }
        Ok(())
    }

    fn compile_range(
        &self,
        place: &Place,
        expected: Expected<'_>,
        all: &mut Vec<Matcher>,
    ) -> Result<(), RuleError> {
        let low = [("above", &self.above), ("at_least", &self.at_least)];
        let high = [("below", &self.below), ("at_most", &self.at_most)];
        if let Some(test) = range::test(place, low, high)? {
            expected.can_be_number(place)?;
            all.push(Matcher::Test(test));
        }
        Ok(())
    }
}

fn compile_list(
    list: &Spanned<Vec<MatcherSpec>>,
    place: &Place,
    expected: Expected<'_>,
) -> Result<Vec<Matcher>, RuleError> {
    if list.get_ref().is_empty() {
        return Err(place.error("the list is empty; write what it should hold"));
    }
    list.get_ref()
        .iter()
        .map(|matcher| matcher.compile(place, expected))
        .collect()
}

fn one_of(values: &[Scalar], place: &Place, expected: Expected<'_>) -> Result<Matcher, RuleError> {
    if values.is_empty() {
        return Err(place.error("the list is empty; it can never match"));
    }
    let mut one_of = OneOf::default();
    let mut is_unbound = false;
    for value in values {
        expected.can_equal(value, place)?;
        match value {
            Scalar::Text(text) => match variable::text(text, place, expected)? {
                Text::Known(text) => one_of.insert_text(&text),
                Text::Unbound => is_unbound = true,
            },
            Scalar::Bool(yes) => one_of.insert_text(yes.to_string().as_bytes()),
            Scalar::Int(_) | Scalar::Float(_) => one_of.insert_number(range::number(value, place)?),
        }
    }
    let tests = [
        (!one_of.is_empty()).then_some(Test::OneOf(one_of)),
        is_unbound.then_some(Test::Unbound),
    ];
    let mut tests: Vec<Matcher> = tests.into_iter().flatten().map(Matcher::Test).collect();
    Ok(match tests.len() {
        1 => tests.remove(0),
        _ => Matcher::Any(tests),
    })
}

fn compile_capture(capture: &Capture, place: &Place) -> Result<Test, RuleError> {
    let pattern = pattern::regex(&capture.regex).map_err(|reason| place.error(reason))?;
    // The whole match counts as a group.
    if pattern.captures_len() != 2 {
        return Err(place.error("the regex must have one group, the part of which `is` asks something"));
    }
    let inner = Place {
        field: format!("{}.is", place.field),
        span: place.span.clone(),
    };
    Ok(Test::Capture(
        pattern,
        Box::new(capture.is.compile(&inner, Expected::ANY)?),
    ))
}

fn cidr(cidrs: &Cidrs, place: &Place, expected: Expected<'_>) -> Result<Matcher, RuleError> {
    expected.can_be_address(place)?;
    let texts = match cidrs {
        Cidrs::One(text) => std::slice::from_ref(text),
        Cidrs::Several(texts) => texts.as_slice(),
    };
    if texts.is_empty() {
        return Err(place.error("the list is empty; it can never match"));
    }
    let nets: Result<Box<[Cidr]>, RuleError> = texts.iter().map(|text| net(text, place)).collect();
    Ok(Matcher::Test(Test::Cidr(nets?)))
}

fn net(text: &str, place: &Place) -> Result<Cidr, RuleError> {
    let net = Cidr::parse(text).unwrap_or_else(|| {
        Err(format!(
            "{text:?} is no network; write it like 10.0.0.0/8 or fd00::/8"
        ))
    });
    net.map_err(|reason| place.error(reason))
}
