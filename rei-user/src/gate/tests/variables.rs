//! `${entrypoint}` and `${workdir}`.

use super::*;
use crate::glob::Variable;

const DIRECTORY: &[u8] = b"/job [1]";
const PROGRAM: &[u8] = b"/app/run";

/// The first rule that answers, or that could not be decided.
fn seen(gate: &SafetyGate, path: &str) -> String {
    let args = Args::new().with(ArgName::Path, text(path));
    let observed = gate.observe("write_file", &args);
    match observed.undecided_rule {
        Some(rule) => format!("undecided {rule}"),
        None => said(&observed.decision),
    }
}

fn one(condition: &str) -> SafetyGate {
    gate(&format!(
        "[[rule]]\nname = \"r\"\non = \"write_file\"\ndecision = \"block\"\nargs.path = {condition}"
    ))
}

#[test]
fn a_path_operator_takes_the_containers_values() {
    let table = [
        ("\"${workdir}/x\"", "/job [1]/x", "/job 1/x"),
        ("[\"/a\", \"${entrypoint}\"]", "/app/run", "/app/run/x"),
        ("[\"/a\", \"${entrypoint}\"]", "/a", "/b"),
        (
            "{ prefix = \"${workdir}/.git/\" }",
            "/job [1]/.git/HEAD",
            "/job [1]/.github/x",
        ),
        (
            "{ glob = \"${workdir}/**/*.key\" }",
            "/job [1]/a/b.key",
            "/job 1/b.key",
        ),
        ("{ not = { prefix = \"${workdir}\" } }", "/etc/x", "/job [1]/x"),
        (
            "{ any = [{ equals = \"${entrypoint}\" }, { glob = \"/b/*\" }] }",
            "/app/run",
            "/a",
        ),
    ];
    let values = [
        Variable("entrypoint", Some(PROGRAM)),
        Variable("workdir", Some(DIRECTORY)),
    ];
    for (condition, yes, no) in table {
        let bound = one(condition).bind(&values);
        assert_eq!(seen(&bound, yes), "blocked r", "{condition} {yes}");
        assert_eq!(seen(&bound, no), "safe no-objection", "{condition} {no}");
    }
}

#[test]
fn the_root_directory_is_a_working_directory() {
    let values = [Variable("workdir", Some(&b"/"[..]))];
    for (condition, path) in [
        ("\"${workdir}\"", "/"),
        ("{ glob = \"${workdir}\" }", "/"),
        ("{ prefix = \"${workdir}/etc/\" }", "/etc/x"),
        ("{ glob = \"${workdir}/etc/*\" }", "/etc/x"),
    ] {
        assert_eq!(
            seen(&one(condition).bind(&values), path),
            "blocked r",
            "{condition}"
        );
    }
}

#[test]
fn without_a_value_nothing_is_decided() {
    for condition in [
        "\"${workdir}/x\"",
        "{ prefix = \"${workdir}/\" }",
        "{ glob = \"${workdir}/*\" }",
        "{ not = { glob = \"${workdir}/*\" } }",
    ] {
        let gate = one(condition);
        assert_eq!(seen(&gate, "/x"), "undecided r", "{condition}");
        let other = gate.bind(&[Variable("entrypoint", Some(PROGRAM)), Variable("workdir", None)]);
        assert_eq!(seen(&other, "/x"), "undecided r", "{condition}");
    }
    // What can be told without it is told.
    assert_eq!(seen(&one("[\"/a\", \"${workdir}\"]"), "/a"), "blocked r");
    // A planned call belongs to no container.
    let allow = gate(
        "[[rule]]\nname = \"r\"\non = \"write_file\"\ndecision = \"allow\"\nargs.path = { glob = \"${workdir}/**\" }",
    );
    let call = json!({ "path": "/job/x" });
    assert_eq!(
        said(&allow.evaluate("write_file", call.as_object().unwrap())),
        "blocked default-deny-unknown"
    );
}

#[test]
fn the_index_knows_bound_rules() {
    let rules: String = (0..40)
        .map(|index| {
            format!(
                "[[rule]]\nname = \"r{index}\"\non = \"write_file\"\ndecision = \"block\"\n\
                 args.path = {{ glob = \"${{workdir}}/{index}/*\" }}\n"
            )
        })
        .collect();
    let unbound = gate(&rules);
    assert_eq!(seen(&unbound, "/job/7/x"), "undecided r0");
    let bound = unbound.bind(&[Variable("workdir", Some(&b"/job"[..]))]);
    assert_eq!(seen(&bound, "/job/7/x"), "blocked r7");
    assert_eq!(seen(&bound, "/job/40/x"), "safe no-objection");
}

#[test]
fn a_variable_that_can_have_no_value_is_refused() {
    let table = [
        (
            "on = \"write_file\"\nargs.path = { glob = \"${home}/x\" }",
            "there is no variable",
        ),
        (
            "on = \"write_file\"\nargs.path = \"${home}/x\"",
            "there is no variable",
        ),
        (
            "on = \"write_file\"\nargs.path = { glob = \"x${workdir}\" }",
            "begins with `/`",
        ),
        (
            "on = \"write_file\"\nargs.path = { regex = '^${workdir}/x' }",
            "use `glob` or `prefix`",
        ),
        (
            "on = \"write_file\"\nargs.origin = { prefix = \"bind:${workdir}\" }",
            "`path` of observed operations",
        ),
        (
            "on = \"deploy\"\nargs.path = { prefix = \"${workdir}\" }",
            "`path` of observed operations",
        ),
        (
            "on = \"deploy\"\nargs.to = { glob = \"${entrypoint}*\" }",
            "`path` of observed operations",
        ),
        (
            "on = { prefix = \"${workdir}\" }",
            "`path` of observed operations",
        ),
        (
            "on = { glob = \"*\" }\nargs.path = { not = { equals = \"${workdir}\" } }",
            "write `calls = \"observed\"`",
        ),
    ];
    for (text, expected) in table {
        let text = format!("name = \"r\"\ndecision = \"block\"\n{text}");
        let spec: RuleSpec = toml::from_str(&text).unwrap();
        let error = spec.compile().unwrap_err();
        assert!(error.reason().contains(expected), "{text}: {error}");
        assert!(error.span().is_some(), "{text}");
    }
    let planned = "name = \"r\"\ndecision = \"block\"\non = \"deploy\"\nargs.to = \"${HOME}/x\"";
    assert!(toml::from_str::<RuleSpec>(planned).unwrap().compile().is_ok());
}
