//! The values that bodies are made of, each with exactly one spelling.
//!
//! Reading refuses every other spelling, so that a line that was read and written again has the same bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap as _, Serializer};
use serde::{Deserialize, Serialize};

/// The largest integer that a plain JSON number may hold: every reader has it exactly.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// A number that may be too large for a JSON number (times in ns, inodes, devices, cgroups, counters of losses): a
/// string of decimal digits without sign or leading zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Decimal(pub u64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Spelled("a decimal number in a string", |text: &str| {
            let is_plain = text == "0" || !text.starts_with('0');
            let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            (is_plain && is_digits)
                .then(|| text.parse().ok().map(Decimal))
                .flatten()
        }))
    }
}

/// A count that fits a JSON number; a larger one is held at [`INTEGER_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Count(u64);

impl Count {
    /// One.
    pub const ONE: Self = Count(1);

    /// This many.
    #[must_use]
    pub fn new(count: u64) -> Self {
        Count(count.min(INTEGER_MAX))
    }

    /// How many.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = u64::deserialize(deserializer)?;
        if count > INTEGER_MAX {
            return Err(de::Error::custom("an integer beyond 2^53 - 1"));
        }
        Ok(Count(count))
    }
}

/// `N` bytes as lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> Hex<N> {
    /// From `2 N` lower-case digits; `None` if it is anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 2 * N {
            return None;
        }
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [nibble(pair[0])?, nibble(pair[1])?];
            *byte = high << 4 | low;
        }
        Some(Hex(bytes))
    }
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0_u8; 128];
        let mut length = 0;
        for byte in self.0 {
            if length + 2 > text.len() {
                formatter.write_str(std::str::from_utf8(&text[..length]).unwrap_or_default())?;
                length = 0;
            }
            text[length] = DIGITS[usize::from(byte >> 4)];
            text[length + 1] = DIGITS[usize::from(byte & 15)];
            length += 2;
        }
        formatter.write_str(std::str::from_utf8(&text[..length]).unwrap_or_default())
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Spelled("lower-case hexadecimal digits", Hex::parse))
    }
}

/// Whether bytes are written as text: valid UTF-8 without NUL.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// Bytes that cannot be written as text, in base64 (RFC 4648 section 4, padded).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Base64(Vec<u8>);

impl Base64 {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Spelled("base64 of bytes that are no text", |text: &str| {
            let bytes = STANDARD.decode(text).ok()?;
            (!is_text(&bytes)).then_some(Base64(bytes))
        }))
    }
}

/// Any bytes, always in base64: where even text is to be kept as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw(pub Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Spelled("base64", |text: &str| {
            STANDARD.decode(text).ok().map(Raw)
        }))
    }
}

/// Text: valid UTF-8 without NUL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Text(String);

impl Text {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Spelled("text without NUL", |text: &str| {
            is_text(text.as_bytes()).then(|| Text(text.to_owned()))
        }))
    }
}

/// Bytes for the two fields `x` and `x_b64`: exactly one of them is there.
#[must_use]
pub fn split(bytes: &[u8]) -> (Option<Text>, Option<Base64>) {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.contains(&0) => (Some(Text(text.to_owned())), None),
        _ => (None, Some(Base64(bytes.to_vec()))),
    }
}

/// [`split`] of something that may be unknown: then neither is there.
#[must_use]
pub fn split_known(bytes: Option<&[u8]>) -> (Option<Text>, Option<Base64>) {
    bytes.map_or((None, None), split)
}

/// The bytes that the two fields `x` and `x_b64` hold; `None` if neither is there.
#[must_use]
pub fn join<'a>(text: Option<&'a Text>, base64: Option<&'a Base64>) -> Option<&'a [u8]> {
    text.map(|text| text.0.as_bytes())
        .or(base64.map(|base64| base64.0.as_slice()))
}

/// Bytes as an element of an array: a string, or `{"b64":"..."}` if they are no text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// Valid UTF-8 without NUL.
    Text(Text),
    /// Anything else.
    Bytes(Base64),
}

impl Word {
    /// These bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        match split(bytes) {
            (Some(text), _) => Word::Text(text),
            (None, base64) => Word::Bytes(base64.unwrap_or(Base64(bytes.to_vec()))),
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Word::Text(text) => text.0.as_bytes(),
            Word::Bytes(base64) => &base64.0,
        }
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Word::Text(text) => text.serialize(serializer),
            Word::Bytes(base64) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("b64", base64)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl<'de> Visitor<'de> for WordVisitor {
    type Value = Word;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string without NUL, or an object with the one field b64")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Word, E> {
        if !is_text(text.as_bytes()) {
            return Err(E::invalid_value(de::Unexpected::Str(text), &self));
        }
        Ok(Word::Text(Text(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Word, A::Error> {
        let Some(("b64", bytes)) = map.next_entry::<&str, Base64>()? else {
            return Err(de::Error::missing_field("b64"));
        };
        if map.next_key::<&str>()?.is_some() {
            return Err(de::Error::custom("a word has one field"));
        }
        Ok(Word::Bytes(bytes))
    }
}

/// Reads a string by a function; what it does not take is refused with these words.
struct Spelled<F>(&'static str, F);

impl<T, F: Fn(&str) -> Option<T>> Visitor<'_> for Spelled<F> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::{Base64, Count, Decimal, Hex, Raw, Text, Word, join, split};

    fn takes<T: DeserializeOwned + serde::Serialize>(json: &str) -> bool {
        let Ok(value) = serde_json::from_str::<T>(json) else {
            return false;
        };
        // What is taken has one spelling.
        assert_eq!(serde_json::to_string(&value).expect("plain data"), json);
        true
    }

    #[test]
    fn every_value_has_one_spelling() {
        for (json, is_right) in [
            (r#""0""#, true),
            (r#""18446744073709551615""#, true),
            (r#""18446744073709551616""#, false),
            (r#""00""#, false),
            (r#""+1""#, false),
            (r#""-1""#, false),
            (r#""""#, false),
            ("1", false),
        ] {
            assert_eq!(takes::<Decimal>(json), is_right, "{json}");
        }
        for (json, is_right) in [
            ("0", true),
            ("9007199254740991", true),
            ("9007199254740992", false),
            ("-1", false),
            ("1.0", false),
            ("1e0", false),
            (r#""1""#, false),
        ] {
            assert_eq!(takes::<Count>(json), is_right, "{json}");
        }
        for (json, is_right) in [
            (r#""00ff""#, true),
            (r#""00FF""#, false),
            (r#""00f""#, false),
            (r#""00ff0""#, false),
            (r#""00fg""#, false),
        ] {
            assert_eq!(takes::<Hex<2>>(json), is_right, "{json}");
        }
        for (json, is_right) in [
            (r#""/w==""#, true),
            (r#""/w""#, false),
            (r#""/x==""#, false),
            // `a`, which is text.
            (r#""YQ==""#, false),
            // NUL is no text.
            (r#""AA==""#, true),
        ] {
            assert_eq!(takes::<Base64>(json), is_right, "{json}");
        }
        assert!(takes::<Raw>(r#""YQ==""#) && !takes::<Raw>(r#""YQ""#));
        assert!(takes::<Text>(r#""é\n""#) && !takes::<Text>(r#""a\u0000""#));
        for (json, is_right) in [
            (r#""a""#, true),
            (r#"{"b64":"/w=="}"#, true),
            (r#"{"b64":"YQ=="}"#, false),
            (r#"{"b64":"/w==","b64":"/w=="}"#, false),
            (r#"{"b65":"/w=="}"#, false),
            ("{}", false),
            ("[]", false),
            ("1", false),
        ] {
            assert_eq!(takes::<Word>(json), is_right, "{json}");
        }
    }

    #[test]
    fn bytes_survive() {
        for bytes in [&b""[..], b"/etc/passwd", b"a\0b", b"\xff\xfe", "Ünï".as_bytes()] {
            let (text, base64) = split(bytes);
            assert!(text.is_some() != base64.is_some());
            assert_eq!(join(text.as_ref(), base64.as_ref()), Some(bytes));
            assert_eq!(Word::new(bytes).bytes(), bytes);
        }
    }

    #[test]
    fn long_hexadecimal_is_whole() {
        let bytes = [0xa5_u8; 200];
        assert_eq!(Hex(bytes).to_string(), "a5".repeat(200));
    }

    #[test]
    fn a_count_beyond_the_limit_is_held() {
        assert_eq!(Count::new(u64::MAX).value(), (1 << 53) - 1);
    }
}
