//! docs/policy.schema.json, applied: the part of JSON Schema that it uses, and a panic at any other word.

use regex_automata::meta::Regex;
use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../../docs/policy.schema.json");

/// What is wrong with a policy's form, if something is.
pub(crate) fn fault(toml: &str) -> Option<String> {
    let root: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    match toml::from_str::<Value>(toml) {
        Ok(policy) => Schema { root: &root }.fault(&root, &policy, "policy"),
        Err(error) => Some(error.to_string()),
    }
}

struct Schema<'s> {
    root: &'s Value,
}

impl Schema<'_> {
    fn fault(&self, schema: &Value, value: &Value, place: &str) -> Option<String> {
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
