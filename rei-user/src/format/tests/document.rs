//! docs/format.md says what the code does: its grammar takes every sample of every kind, field by field, and its
//! worked example is what the code makes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::samples;

const DOCUMENT: &str = include_str!("../../../../docs/format.md");

/// The text between two lines of the document.
pub(super) fn block(after: &str, end: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(after).expect("the heading");
    rest.split_once(end).expect("its end").0
}

/// The rules of the grammar, by name.
fn grammar() -> BTreeMap<String, Vec<String>> {
    let text = block("exactly one of the keys.\n\n```\n", "```");
    let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        let is_head = line.chars().next().is_some_and(char::is_alphabetic);
        let body = if is_head {
            let (left, right) = line.split_once('=').expect("a rule");
            left.trim().clone_into(&mut name);
            right
        } else {
            line
        };
        let rule = rules.entry(name.clone()).or_default();
        // Marks stand alone, so that a token is a word or a mark.
        let mut spaced = String::new();
        for char in body.chars() {
            if "{}[]|".contains(char) {
                spaced.extend([' ', char, ' ']);
            } else {
                spaced.push(char);
            }
        }
        rule.extend(spaced.split_whitespace().map(str::to_owned));
    }
    rules
}

/// Something that a value can be.
#[derive(Debug)]
enum Shape {
    Name(String),
    Array(Box<Shape>),
    Fields(Vec<(String, bool, Shape)>),
    /// Exactly one of these keys, or one of these strings.
    One(Vec<(String, Option<Shape>)>),
}

struct Reader<'a> {
    tokens: std::iter::Peekable<std::slice::Iter<'a, String>>,
}

impl Reader<'_> {
    /// `a:int b?:{...}` up to `}` or the end; `a:int | b:int` is a choice.
    fn fields(&mut self) -> Shape {
        let mut fields = Vec::new();
        let mut choices = Vec::new();
        while let Some(token) = self.tokens.peek().map(|token| token.as_str()) {
            if token == "}" || token == "]" {
                break;
            }
            self.tokens.next();
            if token == "|" {
                choices.append(&mut fields);
                continue;
            }
            if let Some(word) = token.strip_prefix('"') {
                fields.push((word.trim_end_matches('"').to_owned(), false, None));
                continue;
            }
            let (key, inline) = token.split_once(':').expect("key:shape");
            let shape = if inline.is_empty() {
                self.shape()
            } else {
                Shape::Name(inline.to_owned())
            };
            fields.push((
                key.trim_end_matches('?').to_owned(),
                key.ends_with('?'),
                Some(shape),
            ));
        }
        if choices.is_empty() {
            let fields = fields.into_iter();
            return Shape::Fields(
                fields
                    .map(|(key, is_optional, shape)| (key, is_optional, shape.expect("a shape")))
                    .collect(),
            );
        }
        choices.append(&mut fields);
        Shape::One(choices.into_iter().map(|(key, _, shape)| (key, shape)).collect())
    }

    fn shape(&mut self) -> Shape {
        match self.tokens.next().expect("a shape").as_str() {
            "{" => {
                let fields = self.fields();
                assert_eq!(self.tokens.next().map(String::as_str), Some("}"));
                fields
            }
            "[" => {
                let inner = self.shape();
                assert_eq!(self.tokens.next().map(String::as_str), Some("]"));
                Shape::Array(Box::new(inner))
            }
            name => Shape::Name(name.to_owned()),
        }
    }
}

struct Grammar {
    rules: BTreeMap<String, Shape>,
    /// Fields that some sample had.
    seen: BTreeSet<String>,
}

impl Grammar {
    fn read() -> Self {
        let rules = grammar().into_iter().map(|(name, tokens)| {
            let tokens = tokens.iter().peekable();
            (name, Reader { tokens }.fields())
        });
        Grammar {
            rules: rules.collect(),
            seen: BTreeSet::new(),
        }
    }

    fn take(&mut self, rule: &str, value: &Value) {
        let Some((name, shape)) = self.rules.remove_entry(rule) else {
            panic!("no rule {rule}")
        };
        self.check(rule, &shape, value);
        self.rules.insert(name, shape);
    }

    fn check(&mut self, at: &str, shape: &Shape, value: &Value) {
        match shape {
            Shape::Name(name) => self.named(at, name, value),
            Shape::Array(inner) => {
                for element in value.as_array().unwrap_or_else(|| panic!("{at} is no array")) {
                    self.check(&format!("{at}[]"), inner, element);
                }
            }
            Shape::Fields(fields) => self.object(at, fields, value),
            Shape::One(choices) => {
                let key = match value {
                    Value::String(word) => word.as_str(),
                    Value::Object(object) if object.len() == 1 => {
                        object.keys().next().map_or("", String::as_str)
                    }
                    _ => panic!("{at}: {value} is not one of a choice"),
                };
                let chosen = choices.iter().find(|(name, _)| name == key);
                let (name, shape) = chosen.unwrap_or_else(|| panic!("{at} has no {key}"));
                self.seen.insert(format!("{at}.{name}"));
                match shape {
                    Some(shape) => self.check(&format!("{at}.{name}"), shape, &value[name]),
                    None => assert!(value.is_string(), "{at}.{name}"),
                }
            }
        }
    }

    fn object(&mut self, at: &str, fields: &[(String, bool, Shape)], value: &Value) {
        let object = value.as_object().unwrap_or_else(|| panic!("{at} is no object"));
        let mut keys: BTreeSet<&str> = object.keys().map(String::as_str).collect();
        for (name, is_optional, shape) in fields {
            let is_bytes = matches!(shape, Shape::Name(shape) if shape == "bytes");
            let b64 = format!("{name}_b64");
            let found = [name.as_str(), b64.as_str()]
                .into_iter()
                .filter(|key| keys.contains(key) && (is_bytes || *key == name))
                .collect::<Vec<_>>();
            assert!(found.len() < 2, "{at}.{name} stands twice");
            let Some(key) = found.first() else {
                assert!(is_optional, "{at}.{name} is missing: {value}");
                continue;
            };
            keys.remove(*key);
            self.seen.insert(format!("{at}.{name}"));
            self.check(&format!("{at}.{name}"), shape, &object[*key]);
        }
        assert!(keys.is_empty(), "{at} has more keys: {keys:?}");
    }

    fn named(&mut self, at: &str, name: &str, value: &Value) {
        let hex = |bytes: usize| {
            value.as_str().is_some_and(|text| {
                text.len() == 2 * bytes && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        };
        let is_right = match name {
            "int" => value.is_i64() || value.is_u64(),
            "int-or-null" => value.is_null() || value.is_u64(),
            "bool" => value.is_boolean(),
            "string" | "bytes" | "base64" => value.is_string(),
            "decimal" => value.as_str().is_some_and(|text| text.parse::<u64>().is_ok()),
            "word" => value.is_string() || value["b64"].is_string(),
            "hex16" => hex(16),
            "hex32" => hex(32),
            "hex64" => hex(64),
            rule => {
                self.take(rule, value);
                true
            }
        };
        assert!(is_right, "{at}: {value} is no {name}");
    }

    /// Every field of a rule, as `seen` names them.
    fn every(at: &str, shape: &Shape, all: &mut BTreeSet<String>) {
        match shape {
            Shape::Name(_) => {}
            Shape::Array(inner) => Self::every(&format!("{at}[]"), inner, all),
            Shape::Fields(fields) => {
                for (name, _, shape) in fields {
                    all.insert(format!("{at}.{name}"));
                    Self::every(&format!("{at}.{name}"), shape, all);
                }
            }
            Shape::One(choices) => {
                for (name, shape) in choices {
                    all.insert(format!("{at}.{name}"));
                    if let Some(shape) = shape {
                        Self::every(&format!("{at}.{name}"), shape, all);
                    }
                }
            }
        }
    }
}

/// The order of the fields of a rule, in the text of a sample.
fn keys_in_order(text: &str) -> Vec<String> {
    let value: OrderedKeys = serde_json::from_str(text).expect("JSON");
    value.0
}

/// All keys of a JSON text, in the order of the text.
struct OrderedKeys(Vec<String>);

impl<'de> serde::Deserialize<'de> for OrderedKeys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> serde::de::Visitor<'de> for Keys {
            type Value = OrderedKeys;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<OrderedKeys, A::Error> {
                let mut keys = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    map.next_value::<serde::de::IgnoredAny>()?;
                    keys.push(key.trim_end_matches("_b64").to_owned());
                }
                Ok(OrderedKeys(keys))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

#[test]
fn the_grammar_of_the_document_is_that_of_the_code() {
    let mut grammar = Grammar::read();
    let mut kinds = BTreeSet::new();
    for body in samples::all() {
        let text = serde_json::to_string(&body).expect("plain data");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        grammar.take(body.kind(), &value);
        kinds.insert(body.kind().to_owned());
        if let Some(Shape::Fields(fields)) = grammar.rules.get(body.kind()) {
            let found = keys_in_order(&text);
            let mut expected = fields
                .iter()
                .map(|(name, _, _)| name.trim_end_matches("_b64"))
                .filter(|name| found.iter().any(|key| key == name));
            assert!(
                found.iter().all(|key| expected.next() == Some(key)),
                "{}: {found:?}",
                body.kind()
            );
        }
    }
    let mut every = BTreeSet::new();
    for (rule, shape) in &grammar.rules {
        Grammar::every(rule, shape, &mut every);
    }
    let unseen: Vec<&String> = every.difference(&grammar.seen).collect();
    assert!(
        unseen.is_empty(),
        "fields of the document that no sample has: {unseen:?}"
    );
    let unnamed: Vec<&str> = samples::KINDS
        .into_iter()
        .filter(|kind| !kinds.contains(*kind))
        .collect();
    assert!(unnamed.is_empty(), "kinds without a sample: {unnamed:?}");
}
