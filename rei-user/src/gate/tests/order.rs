//! What holds for every list of rules: the order decides, and a rule that approves denies nothing.

use super::*;
use crate::draw::Draw;

const TOOLS: [&str; 6] = [
    "deploy",
    "deploy_all",
    "read_x",
    "benchtop_wipe",
    "log_x",
    "scpi_send",
];
const ON: [&str; 6] = [
    "'deploy'",
    "['deploy', 'scpi_send']",
    "{ prefix = 'deploy' }",
    "{ glob = '*_*' }",
    "{ regex = '^(read|log)_' }",
    "{ not = 'log_x' }",
];
const CONDITIONS: [&str; 6] = [
    "",
    "args.n = 1",
    "args.n = { above = 0, at_most = 2 }",
    "args.to = { cidr = '10.0.0.0/8' }",
    "args.to = { not = { prefix = '10.' } }",
    "any = [{ n = 2 }, { to = { regex = '[.]1$' } }]",
];
const DECISIONS: [&str; 3] = ["allow", "caution", "block"];

/// A rule with this name.
fn rule(draw: &mut Draw, name: &str) -> Rule {
    let (on, condition, decision) = (draw.of(&ON), draw.of(&CONDITIONS), draw.of(&DECISIONS));
    let text = format!("[[rule]]\nname = \"{name}\"\non = {on}\n{condition}\ndecision = \"{decision}\"");
    rules(&text).remove(0)
}

fn list(draw: &mut Draw, most: usize) -> Vec<Rule> {
    (0..draw.below(most + 1))
        .map(|place| rule(draw, &format!("r{place}")))
        .collect()
}

fn call(draw: &mut Draw) -> (&'static str, Value) {
    let args = draw.of(&[
        json!({}),
        json!({"n": 1}),
        json!({"n": 2, "to": "10.0.0.1"}),
        json!({"to": "192.0.2.1"}),
        json!({"n": null, "to": ["10.1.1.1", "x"]}),
    ]);
    (draw.of(&TOOLS), args)
}

fn decide(rules: &[Rule], (tool_name, args): &(&'static str, Value)) -> Decision {
    SafetyGate::production(rules.to_vec()).evaluate(tool_name, args.as_object().unwrap())
}

/// Whether the rule answers, asked alone.
fn answers(rule: &Rule, call: &(&'static str, Value)) -> bool {
    decide(std::slice::from_ref(rule), call)
        .rule_name
        .starts_with('r')
}

#[test]
fn the_first_rule_that_answers_wins() {
    let mut draw = Draw(0x1234_5678_9abc_def1);
    let (mut by_extra, mut by_catalog, mut of_several) = (0, 0, 0);
    for _ in 0..600 {
        let (rules, call) = (list(&mut draw, 24), call(&mut draw));
        let willing: Vec<&Rule> = rules.iter().filter(|rule| answers(rule, &call)).collect();
        let decision = decide(&rules, &call);
        match willing.first() {
            Some(first) => assert_eq!(&*decision.rule_name, first.name(), "{call:?} {rules:?}"),
            None => assert_eq!(decision, decide(&[], &call), "{call:?} {rules:?}"),
        }
        by_extra += usize::from(!willing.is_empty());
        by_catalog += usize::from(willing.is_empty());
        of_several += usize::from(willing.len() > 1);
    }
    assert!(
        by_extra > 100 && by_catalog > 50 && of_several > 100,
        "{by_extra} {by_catalog} {of_several}"
    );
}

#[test]
fn one_more_rule_that_approves_denies_no_planned_call_and_the_reverse() {
    let mut draw = Draw(77);
    let mut changed = [0, 0];
    for _ in 0..1_500 {
        let (rules, call, more) = (list(&mut draw, 5), call(&mut draw), rule(&mut draw, "r_more"));
        let mut longer = rules.clone();
        longer.insert(draw.below(rules.len() + 1), more.clone());
        let (was, is) = (decide(&rules, &call).approved, decide(&longer, &call).approved);
        if more.blocks() {
            assert!(was >= is, "{call:?} {longer:?}");
        } else {
            assert!(was <= is, "{call:?} {longer:?}");
        }
        changed[usize::from(more.blocks())] += usize::from(was != is);
    }
    assert!(changed.iter().all(|count| *count > 25), "{changed:?}");
}

#[test]
fn the_order_of_rules_is_respected_for_what_was_observed() {
    let both = |first: &str, second: &str| {
        let rule = |decision: &str| {
            format!(
                "[[rule]]\nname = \"{decision}\"\non = \"write_file\"\nargs.path = {{ prefix = \"/d/\" }}\n\
                 decision = \"{decision}\"\n"
            )
        };
        // Enough rules about other things for an index.
        let others: String = (0..20)
            .map(|n| format!("[[rule]]\non = \"read_file\"\nname = \"o{n}\"\nargs.path = \"/o/{n}\"\ndecision = \"block\"\n"))
            .collect();
        [String::new(), others].map(|others| gate(&format!("{}{others}{}", rule(first), rule(second))))
    };
    for first in DECISIONS {
        for second in DECISIONS.into_iter().filter(|second| *second != first) {
            for gate in both(first, second) {
                let said = observed(&gate, "write_file", &[(ArgName::Path, text("/d/x"))]);
                assert!(
                    said.ends_with(&format!(" {first}")),
                    "{first} before {second}: {said}"
                );
                let other = observed(&gate, "write_file", &[(ArgName::Path, text("/e/x"))]);
                assert_eq!(other, "safe no-objection");
            }
        }
    }
}
