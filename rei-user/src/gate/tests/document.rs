//! The examples of docs/policy.md: each block of rules, with the decisions that are written below it.

use super::*;
use crate::glob::Variable;

const DOCUMENT: &str = include_str!("../../../../docs/policy.md");

/// `<!-- planned NAME {ARGS} -> HAZARD RULE -->`; an observed one may have `with {VARIABLES}` after its arguments.
fn check(gate: &SafetyGate, line: &str) {
    let (call, expected) = line
        .split_once(" -> ")
        .unwrap_or_else(|| panic!("no decision: {line}"));
    let (kind, call) = call.split_once(' ').unwrap();
    let (tool_name, args) = call.split_once(' ').unwrap();
    let (args, variables) = args.split_once(" with ").unwrap_or((args, "{}"));
    let variables: Map<String, Value> = serde_json::from_str(variables).unwrap();
    let variables: Vec<Variable<'_>> = variables
        .iter()
        .map(|(name, value)| Variable(name, value.as_str().map(str::as_bytes)))
        .collect();
    let gate = gate.bind(&variables);
    let args: Map<String, Value> =
        serde_json::from_str(args).unwrap_or_else(|error| panic!("{line}: {error}"));
    let decided = match kind {
        "planned" => said(&gate.evaluate(tool_name, &args)),
        "observed" => see(&gate, tool_name, &args),
        _ => panic!("{line}"),
    };
    assert_eq!(decided, expected, "{line}");
}

fn see(gate: &SafetyGate, tool_name: &str, args: &Map<String, Value>) -> String {
    let texts = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap_or_default() };
    let lists: Vec<Vec<String>> = args.values().map(texts).collect();
    let lists: Vec<Vec<&[u8]>> = lists
        .iter()
        .map(|list| list.iter().map(String::as_bytes).collect())
        .collect();
    let mut seen = Args::new();
    for ((name, value), list) in args.iter().zip(&lists) {
        let name = ArgName::of_name(name).unwrap();
        seen = seen.with(
            name,
            if value.is_array() {
                Argument::Texts(list)
            } else {
                value.into()
            },
        );
    }
    said(&gate.evaluate_observed(tool_name, &seen))
}

#[test]
fn examples_of_the_document_do_what_it_says() {
    let mut blocks = 0;
    let mut decisions = 0;
    for section in DOCUMENT.split("```toml\n").skip(1) {
        let (rules, after) = section.split_once("```").unwrap();
        if !rules.contains("[[gate.rule]]") {
            continue;
        }
        let rules = rules_in(rules).unwrap_or_else(|error| panic!("{error}:\n{rules}"));
        let rules: Result<Vec<Rule>, RuleError> = rules.into_iter().collect();
        let gate = SafetyGate::production(rules.unwrap_or_else(|error| panic!("{error}")));
        blocks += 1;
        let comments = after
            .lines()
            .filter_map(|line| line.strip_prefix("<!-- ")?.strip_suffix(" -->"));
        let here = comments.map(|line| check(&gate, line)).count();
        assert!(here >= 2, "an example shows both ways:\n{section}");
        decisions += here;
    }
    assert!(blocks >= 14 && decisions >= 35, "{blocks} {decisions}");
}

#[test]
fn every_operator_and_operation_has_its_place_in_the_document() {
    for operator in [
        "equals", "in", "prefix", "glob", "regex", "above", "below", "at_least", "at_most", "cidr", "not",
        "all", "any", "capture",
    ] {
        assert!(
            DOCUMENT
                .lines()
                .any(|line| line.starts_with("#### ") && line.contains(&format!("`{operator}`"))),
            "{operator}"
        );
    }
    for operation in Operation::ALL {
        let name = operation
            .tool_name()
            .map_or("an exec".to_owned(), |name| format!("`{name}`"));
        let row = DOCUMENT
            .lines()
            .find(|line| line.starts_with('|') && line.contains(&name));
        assert!(row.is_some(), "{name}");
    }
}

#[test]
fn a_damaged_rule_is_refused_or_read_but_never_a_panic() {
    let text = DOCUMENT
        .split("```toml\n")
        .find(|block| block.contains("capture ="))
        .unwrap();
    let text = text.split("```").next().unwrap();
    let mut read = 0;
    for (at, character) in text.char_indices().step_by(3) {
        let (before, after) = (&text[..at], &text[at + character.len_utf8()..]);
        read += usize::from(rules_in(before).is_ok());
        for other in ["", "\u{0}", "\"", "{", "]", "é", "\n"] {
            read += usize::from(rules_in(&format!("{before}{other}{after}")).is_ok());
        }
    }
    assert!(read > 100, "{read}");
}
