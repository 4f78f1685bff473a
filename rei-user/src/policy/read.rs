//! Policy text → rules: every key is known, every pattern can match.

use std::ops::{Range, RangeInclusive};

use toml::de::DeValue;

use crate::glob::Glob;
use crate::glob::Pattern;
use crate::policy::document::{Reader, Value};
use crate::policy::network::{self, Endpoint, Ports, Transport};
use crate::policy::rule::{Program, Rule};
use crate::policy::{DynamicCode, Mode, Severity, Unresolved};

use super::ambient_rows;
use super::gate_section::{self, GateSection};
use super::program_rules;
use super::rule::AmbientRow;

/// Keys of a policy file.
pub(super) const KEYS: [&str; 15] = [
    "name",
    "description",
    "mode",
    "fail_on",
    "dynamic_code",
    "unresolved",
    "exec_is_workload",
    "inputs",
    "outputs",
    "network",
    "accept",
    "programs",
    "env",
    "ambient",
    "gate",
];

/// Everything that a policy file declares, with the places of rules.
#[derive(Debug, Default)]
pub(super) struct Declared {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) mode: Mode,
    pub(super) fail_on: Severity,
    pub(super) dynamic_code: DynamicCode,
    pub(super) unresolved: Unresolved,
    pub(super) exec_is_workload: bool,
    pub(super) inputs: Vec<Placed<Rule<Pattern>>>,
    pub(super) outputs: Vec<Placed<Rule<Pattern>>>,
    pub(super) network: Vec<Placed<Rule<Endpoint>>>,
    pub(super) unix: Vec<Placed<Rule<Pattern>>>,
    pub(super) accept: Vec<Placed<Rule<RangeInclusive<u16>>>>,
    pub(super) programs: Vec<Placed<Rule<Program>>>,
    pub(super) env: Option<Vec<Placed<Rule<Glob>>>>,
    pub(super) ambient: Vec<Placed<AmbientRow>>,
    pub(super) gate: GateSection,
}

/// A rule with the place where it is written.
#[derive(Debug)]
pub(super) struct Placed<T> {
    pub(super) rule: T,
    pub(super) at: Range<usize>,
}

/// Reads a whole policy. What is wrong is in the reader afterwards.
pub(super) fn policy(reader: &mut Reader<'_>) -> Declared {
    let mut declared = Declared::default();
    let Some(document) = reader.document() else {
        return declared;
    };
    for (key, value) in document.get_ref() {
        match key.get_ref().as_ref() {
            "name" => declared.name = name(reader, value),
            "description" => declared.description = reader.string(value, "`description`").map(str::to_owned),
            "mode" => {
                let words = [("safe", Mode::Safe), ("unsafe", Mode::Unsafe)];
                declared.mode = reader.word(value, "`mode`", &words).unwrap_or_default();
            }
            "fail_on" => {
                let words = Severity::ALL.map(|severity| (severity.name(), severity));
                declared.fail_on = reader.word(value, "`fail_on`", &words).unwrap_or_default();
            }
            "dynamic_code" => {
                let words = DynamicCode::ALL.map(|word| (word.name(), word));
                declared.dynamic_code = reader.word(value, "`dynamic_code`", &words).unwrap_or_default();
            }
            "unresolved" => {
                let words = [("incomplete", Unresolved::Incomplete), ("trip", Unresolved::Trip)];
                declared.unresolved = reader.word(value, "`unresolved`", &words).unwrap_or_default();
            }
            "exec_is_workload" => {
                declared.exec_is_workload = reader.boolean(value, "`exec_is_workload`").unwrap_or_default();
            }
            "inputs" => declared.inputs = list(reader, value, "inputs", path_rule),
            "outputs" => declared.outputs = list(reader, value, "outputs", path_rule),
            "network" => {
                for contact in list(reader, value, "network", network_rule) {
                    match contact.rule {
                        Contact::Net(rule) => declared.network.push(Placed { rule, at: contact.at }),
                        Contact::Unix(rule) => declared.unix.push(Placed { rule, at: contact.at }),
                    }
                }
            }
            "accept" => declared.accept = list(reader, value, "accept", accept_rule),
            "programs" => declared.programs = list(reader, value, "programs", program_rules::rule),
            "env" => declared.env = Some(list(reader, value, "env", env_rule)),
            "ambient" => declared.ambient = list(reader, value, "ambient", ambient_rows::row),
            "gate" => declared.gate = gate_section::read(reader, value),
            _ => reader.unknown_key(key, "a policy", &KEYS),
        }
    }
    declared
}

fn name(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<String> {
    let text = reader.string(value, "`name`")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || text.len() > 64 || !text.bytes().all(is_plain) {
        let message = "a policy's `name` is 1 to 64 letters, digits, `-`, `_` and `.`";
        reader.problem(&value.span(), message);
        return None;
    }
    Some(text.to_owned())
}

fn list<T>(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    key: &'static str,
    read: fn(&mut Reader<'_>, &Value<'_>, &'static str) -> Option<T>,
) -> Vec<Placed<T>> {
    let Some(items) = reader.array(value, &format!("`{key}`")) else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| {
            let rule = read(reader, item, key)?;
            Some(Placed {
                rule,
                at: item.span(),
            })
        })
        .collect()
}

/// The name of a rule that was given none.
pub(super) fn default_name(key: &str, text: &str) -> String {
    format!("{key} {text:?}")
}

/// Says what is wrong with a value, if something is.
pub(super) fn checked<T>(reader: &mut Reader<'_>, value: &Value<'_>, result: Result<T, String>) -> Option<T> {
    result
        .map_err(|message| reader.problem(&value.span(), message))
        .ok()
}

/// `"/data/**"` or `{ path = "/data/**", name = "data" }`.
fn path_rule(reader: &mut Reader<'_>, value: &Value<'_>, key: &'static str) -> Option<Rule<Pattern>> {
    if let Some(text) = value.get_ref().as_str() {
        let what = checked(reader, value, Pattern::parse(text))?;
        return Some(Rule {
            name: default_name(key, text),
            what,
        });
    }
    let mut rule_name = None;
    let mut path = None;
    for (field, value) in reader.table(value, &item_words(key))? {
        match field.get_ref().as_ref() {
            "name" => rule_name = rule_name_of(reader, value),
            "path" => path = reader.string(value, "`path`").map(|text| (text, value)),
            _ => reader.unknown_key(field, &item_words(key), &["name", "path"]),
        }
    }
    let Some((text, at)) = path else {
        reader.problem(&value.span(), format!("{} has no `path`", item_words(key)));
        return None;
    };
    let what = checked(reader, at, Pattern::parse(text))?;
    Some(Rule {
        name: rule_name.unwrap_or_else(|| default_name(key, text)),
        what,
    })
}

pub(super) fn item_words(key: &str) -> String {
    format!("an entry of `{key}`")
}

pub(super) fn rule_name_of(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<String> {
    let text = reader.string(value, "`name`")?;
    if text.trim().is_empty() {
        reader.problem(&value.span(), "the name of a rule is not empty");
        return None;
    }
    Some(text.to_owned())
}

/// Either kind of contact: both stand in `network`.
#[derive(Debug)]
enum Contact {
    Net(Rule<Endpoint>),
    Unix(Rule<Pattern>),
}

/// `"10.0.0.0/8:443"`, `"db.example:5432"`, `"unix:/run/x.sock"`, or a table with `to`, `ports`, `protocol`, or `unix`.
fn network_rule(reader: &mut Reader<'_>, value: &Value<'_>, key: &'static str) -> Option<Contact> {
    if let Some(text) = value.get_ref().as_str() {
        let name = default_name(key, text);
        if let Some(path) = text.strip_prefix("unix:") {
            let what = checked(reader, value, unix_pattern(path))?;
            return Some(Contact::Unix(Rule { name, what }));
        }
        let what = checked(reader, value, Endpoint::parse(text))?;
        return Some(Contact::Net(Rule { name, what }));
    }
    let mut fields = NetworkFields::default();
    for (field, value) in reader.table(value, &item_words(key))? {
        match field.get_ref().as_ref() {
            "name" => fields.name = rule_name_of(reader, value),
            "to" => fields.to = reader.string(value, "`to`").map(|text| (text, value)),
            "unix" => fields.unix = reader.string(value, "`unix`").map(|text| (text, value)),
            "ports" => fields.ports = Some(port_list(reader, value)),
            "protocol" => {
                let words = [("tcp", Transport::Tcp), ("udp", Transport::Udp)];
                fields.transport = reader.word(value, "`protocol`", &words);
            }
            _ => reader.unknown_key(
                field,
                &item_words(key),
                &["name", "to", "ports", "protocol", "unix"],
            ),
        }
    }
    fields.rule(reader, value, key)
}

fn unix_pattern(text: &str) -> Result<Pattern, String> {
    if text == "**" || text.starts_with(['/', '@', '$']) {
        return Pattern::parse(text);
    }
    Err(format!(
        "{text:?} can never match: a unix socket's path begins with `/`, an abstract name with `@`"
    ))
}

#[derive(Default)]
struct NetworkFields<'v, 'i> {
    name: Option<String>,
    to: Option<(&'v str, &'v Value<'i>)>,
    unix: Option<(&'v str, &'v Value<'i>)>,
    ports: Option<Vec<RangeInclusive<u16>>>,
    transport: Option<Transport>,
}

impl NetworkFields<'_, '_> {
    fn rule(self, reader: &mut Reader<'_>, value: &Value<'_>, key: &str) -> Option<Contact> {
        let named = |text: &str| self.name.clone().unwrap_or_else(|| default_name(key, text));
        match (self.to, self.unix) {
            (Some((text, at)), None) => {
                let mut what = checked(reader, at, Endpoint::parse(text))?;
                if let Some(ports) = self.ports {
                    if what.ports != Ports::all() {
                        reader.problem(
                            &at.span(),
                            "the port stands both in `to` and in `ports`; take it out of one",
                        );
                    }
                    what.ports = Ports::of(ports);
                }
                what.transport = self.transport;
                Some(Contact::Net(Rule {
                    name: named(text),
                    what,
                }))
            }
            (None, Some((text, at))) => {
                if self.ports.is_some() || self.transport.is_some() {
                    reader.problem(&value.span(), "a unix socket has neither `ports` nor `protocol`");
                }
                let what = checked(reader, at, unix_pattern(text))?;
                Some(Contact::Unix(Rule {
                    name: named(text),
                    what,
                }))
            }
            _ => {
                reader.problem(&value.span(), "an entry of `network` has either `to` or `unix`");
                None
            }
        }
    }
}

fn port_list(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<RangeInclusive<u16>> {
    let Some(items) = reader.array(value, "`ports`") else {
        return Vec::new();
    };
    if items.iter().next().is_none() {
        let message = "it can never match: `ports` is empty; leave it out for every port";
        reader.problem(&value.span(), message);
    }
    items.iter().filter_map(|item| port(reader, item)).collect()
}

/// A number, or a string with a number or a range.
fn port(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<RangeInclusive<u16>> {
    let text = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::String(text) => text.to_string(),
        _ => {
            reader.wants(
                value,
                "a port",
                "a number, or a range in a string (\"8000-8999\")",
            );
            return None;
        }
    };
    checked(reader, value, network::ports(&text))
}

fn accept_rule(
    reader: &mut Reader<'_>,
    value: &Value<'_>,
    key: &'static str,
) -> Option<Rule<RangeInclusive<u16>>> {
    if let Some(table) = value.get_ref().as_table() {
        let mut rule_name = None;
        let mut what = None;
        for (field, value) in table {
            match field.get_ref().as_ref() {
                "name" => rule_name = rule_name_of(reader, value),
                "port" => what = port(reader, value),
                _ => reader.unknown_key(field, &item_words(key), &["name", "port"]),
            }
        }
        let Some(what) = what else {
            reader.problem(&value.span(), "an entry of `accept` has no `port`");
            return None;
        };
        let name = rule_name.unwrap_or_else(|| default_name(key, &port_words(&what)));
        return Some(Rule { name, what });
    }
    let what = port(reader, value)?;
    Some(Rule {
        name: default_name(key, &port_words(&what)),
        what,
    })
}

fn port_words(ports: &RangeInclusive<u16>) -> String {
    if ports.start() == ports.end() {
        ports.start().to_string()
    } else {
        format!("{}-{}", ports.start(), ports.end())
    }
}

fn env_rule(reader: &mut Reader<'_>, value: &Value<'_>, key: &'static str) -> Option<Rule<Glob>> {
    let text = reader.string(value, "an environment name")?;
    let what = checked(reader, value, env_name(text))?;
    Some(Rule {
        name: default_name(key, text),
        what,
    })
}

pub(super) fn env_name(text: &str) -> Result<Glob, String> {
    if text.is_empty() || text.contains('=') {
        return Err(format!(
            "{text:?} can never match: an environment name is not empty and holds no `=`; rei never sees values"
        ));
    }
    Glob::word(text)
}
