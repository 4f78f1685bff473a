//! JSON Schema, the part of it that the schemas in docs/ use, and a panic at any other word.

use regex_automata::meta::Regex;
use serde_json::{Map, Value};

/// A schema, or a part of one.
pub(crate) struct Schema<'s> {
    /// The whole of it: what `$ref` refers to.
    pub(crate) root: &'s Value,
}

impl Schema<'_> {
    /// What is wrong with a value, if something is.
    pub(crate) fn fault(&self, schema: &Value, value: &Value, place: &str) -> Option<String> {
        let words = schema.as_object().expect("a schema is an object");
        words
            .iter()
            .find_map(|(word, asked)| self.word(words, word, asked, value, place))
    }

    fn word(
        &self,
        schema: &Map<String, Value>,
        word: &str,
        asked: &Value,
        value: &Value,
        place: &str,
    ) -> Option<String> {
        let is_right = match word {
            "$schema" | "title" | "description" | "$defs" => true,
            "$ref" => {
                let pointer = asked.as_str().expect("a reference").trim_start_matches('#');
                return self.fault(
                    self.root.pointer(pointer).expect("what is referred to"),
                    value,
                    place,
                );
            }
            "type" => match asked.as_str().expect("a type") {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "null" => value.is_null(),
                "integer" => value.is_i64(),
                other => panic!("type {other}"),
            },
            "enum" => asked.as_array().expect("a list").contains(value),
            "pattern" => {
                let regex = Regex::new(asked.as_str().expect("a pattern")).expect("a regular expression");
                value.as_str().is_none_or(|text| regex.is_match(text))
            }
            "minimum" => value.as_i64().is_none_or(|number| Some(number) >= asked.as_i64()),
            "maximum" => value.as_i64().is_none_or(|number| Some(number) <= asked.as_i64()),
            "required" => {
                let names = asked.as_array().expect("a list");
                value.as_object().is_none_or(|object| {
                    names
                        .iter()
                        .all(|name| object.contains_key(name.as_str().expect("a name")))
                })
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object().expect("the properties");
                value
                    .as_object()
                    .is_none_or(|object| object.keys().all(|key| known.contains_key(key)))
            }
            "properties" => {
                let known = asked.as_object().expect("the properties");
                return value
                    .as_object()?
                    .iter()
                    .find_map(|(key, value)| self.fault(known.get(key)?, value, &format!("{place}.{key}")));
            }
            "items" => {
                return value
                    .as_array()?
                    .iter()
                    .find_map(|item| self.fault(asked, item, &format!("{place}[]")));
            }
            "anyOf" => asked
                .as_array()
                .expect("a list")
                .iter()
                .any(|one| self.fault(one, value, place).is_none()),
            other => panic!("the schema uses {other}, which this test does not know"),
        };
        (!is_right).then(|| format!("{place}: {word} does not hold for {value}"))
    }
}
