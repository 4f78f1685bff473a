//! What every line has to keep, whatever its kind: no key twice, no float, no integer that a reader could round, no
//! deep nesting, no white space, one spelling of each string. Kinds that this rei does not know are checked by this alone.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::line::LineError;
use super::value::INTEGER_MAX;

/// Deepest nesting of objects and arrays, the line's own object counted.
pub const DEPTH_MAX: usize = 16;

/// Checks a text.
///
/// # Errors
/// [`LineError::DuplicateKey`] for a key that stands twice, [`LineError::NotCanonical`] for other bytes than the format
/// writes, [`LineError::Parse`] for everything else.
pub(super) fn check(text: &str) -> Result<(), LineError> {
    check_within(text, 0)
}

/// [`check`] of a text that stands within this many objects and arrays.
///
/// # Errors
/// As [`check`].
pub(super) fn check_within(text: &str, depth: usize) -> Result<(), LineError> {
    let duplicate = RefCell::new(None);
    let written = RefCell::new(Vec::with_capacity(text.len()));
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let walked = Walk {
        depth,
        duplicate: &duplicate,
        written: &written,
    }
    .deserialize(&mut deserializer)
    .and_then(|()| deserializer.end());
    match (walked, duplicate.into_inner()) {
        (Ok(()), _) if written.borrow().as_slice() != text.as_bytes() => Err(LineError::NotCanonical),
        (Ok(()), _) => Ok(()),
        (Err(_), Some(key)) => Err(LineError::DuplicateKey { key }),
        (Err(error), None) => Err(LineError::Parse {
            why: error.to_string(),
        }),
    }
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    depth: usize,
    duplicate: &'a RefCell<Option<String>>,
    /// What was read, as the format writes it.
    written: &'a RefCell<Vec<u8>>,
}

impl Walk<'_> {
    fn write(self, bytes: &[u8]) {
        self.written.borrow_mut().extend_from_slice(bytes);
    }

    fn write_string(self, text: &str) {
        // A string, into memory: this cannot fail.
        let _ = serde_json::to_writer(&mut *self.written.borrow_mut(), text);
    }

    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            return Err(E::custom("nested too deep"));
        }
        Ok(Walk {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "strings, integers within 2^53 - 1, booleans, null, arrays and objects"
        )
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.write(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.write(b"null");
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.write_string(text);
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        if number > INTEGER_MAX {
            return Err(E::custom("an integer beyond 2^53 - 1"));
        }
        self.write(number.to_string().as_bytes());
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        if number < 0 {
            self.write(b"-");
        }
        self.visit_u64(number.unsigned_abs())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        self.write(b"[");
        let mut is_first = true;
        while array
            .next_element_seed(Element {
                is_first,
                walk: inner,
            })?
            .is_some()
        {
            is_first = false;
        }
        self.write(b"]");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        // Objects are small; a set pays only for those that are not.
        let mut few: Vec<String> = Vec::new();
        let mut many: HashSet<String> = HashSet::new();
        self.write(b"{");
        while let Some(key) = object.next_key::<String>()? {
            let is_known = few.contains(&key) || many.contains(&key);
            if is_known {
                let why = de::Error::custom("a key stands twice");
                self.duplicate.borrow_mut().get_or_insert(key);
                return Err(why);
            }
            if !few.is_empty() {
                self.write(b",");
            }
            self.write_string(&key);
            self.write(b":");
            object.next_value_seed(inner)?;
            if few.len() < 32 {
                few.push(key);
            } else {
                many.insert(key);
            }
        }
        self.write(b"}");
        Ok(())
    }
}

/// An element of an array: a comma stands before all but the first.
struct Element<'a> {
    is_first: bool,
    walk: Walk<'a>,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if !self.is_first {
            self.walk.write(b",");
        }
        self.walk.deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, LineError, check, check_within};

    #[test]
    fn keys_stand_once_at_every_depth() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":{"a":1,"a":1}}"#,
            r#"{"x":[{"y":{"a":1,"b":2,"a":1}}]}"#,
        ] {
            assert_eq!(
                check(text),
                Err(LineError::DuplicateKey { key: "a".to_owned() }),
                "{text}"
            );
        }
        assert_eq!(check(r#"{"a":{"a":1},"A":[{"a":1},{"a":2}]}"#), Ok(()));
        let many: Vec<String> = (0..100).map(|number| format!("\"k{number}\":0")).collect();
        assert_eq!(check(&format!("{{{}}}", many.join(","))), Ok(()));
        let twice = format!("{{{},\"k77\":1}}", many.join(","));
        assert!(matches!(check(&twice), Err(LineError::DuplicateKey { key }) if key == "k77"));
    }

    #[test]
    fn numbers_are_integers_that_every_reader_has_exactly() {
        for text in ["9007199254740991", "-9007199254740991", "0"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in [
            "9007199254740992",
            "-9007199254740992",
            "18446744073709551616",
            "1.0",
            "1e0",
            "-0",
            "01",
            "NaN",
        ] {
            assert!(matches!(check(text), Err(LineError::Parse { .. })), "{text}");
        }
    }

    #[test]
    fn nesting_ends() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(DEPTH_MAX)), Ok(()));
        assert!(check(&nested(DEPTH_MAX + 1)).is_err());
        assert_eq!(check_within(&nested(DEPTH_MAX - 1), 1), Ok(()));
        assert!(check_within(&nested(DEPTH_MAX), 1).is_err());
        assert!(check(&"[".repeat(60_000)).is_err());
        assert!(check(&"{\"a\":".repeat(10_000)).is_err());
    }

    #[test]
    fn there_is_one_spelling() {
        for text in [
            r#"{"a":[1,-2,"x\n\u0001é",null,true,false,{},[]],"b":{"c":[[],[{"d":0}]]}}"#,
            "null",
            r#""\"\\\b\f\t\r""#,
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in [
            " {}",
            "{} ",
            "{\"a\" :1}",
            "[1, 2]",
            r#""\u0061""#,
            r#""\/""#,
            r#""\u000a""#,
            r#""\u001F""#,
            r#""\u00e9""#,
        ] {
            assert_eq!(check(text), Err(LineError::NotCanonical), "{text}");
        }
        for text in ["[1,]", "[,1]", "{,}", "{\"a\":1,}", r#""\ud800""#, "\"a\nb\""] {
            assert!(matches!(check(text), Err(LineError::Parse { .. })), "{text}");
        }
    }

    #[test]
    fn nothing_may_follow() {
        assert!(check("{} {}").is_err());
        assert!(check("").is_err());
        assert!(check("\u{feff}{}").is_err());
    }
}
