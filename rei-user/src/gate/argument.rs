//! The arguments of a call, planned or observed, as the conditions see them.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;

use serde_json::{Map, Value};

use super::operation::ArgName;

/// A number: whole ones are compared exactly.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// Any other.
    Float(f64),
}

impl Number {
    /// Reads a text that is a decimal number and nothing else.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        // Not `inf` and `nan`, which the standard library takes for numbers.
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let whole = text.parse().ok().map(Number::Int);
        whole.or_else(|| text.parse().ok().map(Number::Float))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a whole number is compared with a broken one: no type holds both exactly"
    )]
    fn as_float(self) -> f64 {
        match self {
            Number::Int(whole) => whole as f64,
            Number::Float(float) => float,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(one), Number::Int(two)) => Some(one.cmp(two)),
            _ => self.as_float().partial_cmp(&other.as_float()),
        }
    }
}

/// One argument.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Argument<'a> {
    /// The call has no such argument.
    #[default]
    Absent,
    /// The call has it, and its value is not known: cut, unreadable, unresolved or contested. No rule that approves
    /// answers because of it.
    Unknown,
    /// Text, as bytes.
    Text(&'a [u8]),
    /// A list of texts.
    Texts(&'a [&'a [u8]]),
    /// A list of texts that goes on with texts that are not known.
    CutTexts(&'a [&'a [u8]]),
    /// A number.
    Number(Number),
    /// An IP address.
    Address(IpAddr),
    /// A value of a planned call.
    Json(&'a Value),
}

impl<'a> Argument<'a> {
    /// A single value as text; `None` for what is no single value.
    pub(super) fn text(self) -> Option<Cow<'a, [u8]>> {
        match self {
            Argument::Text(text) => Some(Cow::Borrowed(text)),
            Argument::Number(Number::Int(whole)) => Some(whole.to_string().into_bytes().into()),
            Argument::Number(Number::Float(float)) => Some(float.to_string().into_bytes().into()),
            Argument::Address(address) => Some(address.to_canonical().to_string().into_bytes().into()),
            _ => None,
        }
    }

    /// A single value as number, if it is one or a text that is one.
    pub(super) fn number(self) -> Option<Number> {
        match self {
            Argument::Number(number) => Some(number),
            Argument::Text(text) => Number::parse(text),
            _ => None,
        }
    }

    /// A single value as IP address, if it is one or a text that is one, with or without port.
    pub(super) fn address(self) -> Option<IpAddr> {
        match self {
            Argument::Address(address) => Some(address.to_canonical()),
            Argument::Text(text) => parse_address(str::from_utf8(text).ok()?),
            _ => None,
        }
    }
}

pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse::<IpAddr>().ok();
    let address = address.or_else(|| Some(text.parse::<std::net::SocketAddr>().ok()?.ip()));
    address.map(|address| address.to_canonical())
}

impl<'a> From<&'a Value> for Argument<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Argument::Absent,
            Value::Bool(true) => Argument::Text(b"true"),
            Value::Bool(false) => Argument::Text(b"false"),
            Value::String(text) => Argument::Text(text.as_bytes()),
            Value::Number(number) => Argument::Number(of_json(number)),
            Value::Array(_) | Value::Object(_) => Argument::Json(value),
        }
    }
}

fn of_json(number: &serde_json::Number) -> Number {
    let whole = number.as_i64().map(i128::from);
    let whole = whole.or_else(|| number.as_u64().map(i128::from));
    whole.map_or_else(|| Number::Float(number.as_f64().unwrap_or(f64::NAN)), Number::Int)
}

/// The arguments of an observed operation. What is not set is absent; what is not known must be set
/// [`Argument::Unknown`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Args<'a> {
    values: [Argument<'a>; ArgName::ALL.len()],
}

impl<'a> Args<'a> {
    /// No arguments.
    #[must_use]
    pub fn new() -> Self {
        Args::default()
    }

    /// With this argument.
    #[must_use]
    pub fn with(mut self, name: ArgName, value: Argument<'a>) -> Self {
        self.values[name as usize] = value;
        self
    }

    /// With this text, which is not known if it is `None`.
    #[must_use]
    pub fn with_text(self, name: ArgName, value: Option<&'a [u8]>) -> Self {
        self.with(name, value.map_or(Argument::Unknown, Argument::Text))
    }

    /// The argument's value.
    #[must_use]
    pub fn value(&self, name: ArgName) -> Argument<'a> {
        self.values[name as usize]
    }

    /// Whether the operation is an exec, whose tool name the workload chooses.
    #[must_use]
    pub(super) fn is_exec(&self) -> bool {
        self.value(ArgName::Op) == Argument::Text(b"exec")
    }
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub enum Arguments<'a> {
    /// Of a planned call: a JSON object.
    Planned(&'a Map<String, Value>),
    /// Of an observed operation.
    Observed(&'a Args<'a>),
}

impl<'a> Arguments<'a> {
    /// The argument of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Argument<'a> {
        match self {
            Arguments::Planned(map) => map.get(name).map_or(Argument::Absent, Argument::from),
            Arguments::Observed(args) => {
                ArgName::of_name(name).map_or(Argument::Absent, |name| args.value(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_only() {
        assert_eq!(Number::parse(b"100"), Some(Number::Int(100)));
        assert_eq!(Number::parse(b"1e2"), Some(Number::Int(100)));
        assert_eq!(Number::parse(b"-.5"), Some(Number::Float(-0.5)));
        for text in [
            &b""[..],
            b"inf",
            b"nan",
            b"infinity",
            b"1 ",
            b"0x10",
            b"1_000",
            b"\xff1",
        ] {
            assert_eq!(Number::parse(text), None, "{text:?}");
        }
        assert!(Number::Int(9_007_199_254_740_993) > Number::Int(9_007_199_254_740_992));
        assert!(Number::parse(b"1e999") > Some(Number::Int(i128::MAX)));
    }

    #[test]
    fn addresses_with_and_without_port() {
        let four: IpAddr = "10.0.0.1".parse().unwrap();
        for text in [
            "10.0.0.1",
            "10.0.0.1:80",
            "::ffff:10.0.0.1",
            "[::ffff:10.0.0.1]:80",
        ] {
            assert_eq!(parse_address(text), Some(four), "{text}");
        }
        assert_eq!(parse_address("[::1]"), Some("::1".parse().unwrap()));
        assert_eq!(parse_address("localhost"), None);
    }

    #[test]
    fn what_is_not_set_is_absent() {
        let args = Args::new().with_text(ArgName::Path, None);
        assert_eq!(args.value(ArgName::Path), Argument::Unknown);
        assert_eq!(args.value(ArgName::Port), Argument::Absent);
        assert_eq!(Arguments::Observed(&args).named("body"), Argument::Absent);
    }
}
