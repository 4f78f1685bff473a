//! Black-box tests of `rei gate`: what it prints, and how it ends.

use std::path::PathBuf;

use support::{Ended, run};

mod support;

/// A policy file that lives as long as the directory.
fn policy(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("rei.toml");
    std::fs::write(&file, text).expect("a directory of ours");
    (directory, file)
}

fn gate_with(text: &str, words: &[&str]) -> Ended {
    let (_directory, file) = policy(text);
    let file = file.to_str().expect("a plain path");
    run(&[&["gate", "--policy", file], words].concat())
}

fn says(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let said = if code == 2 { &ended.stderr } else { &ended.stdout };
    for word in words {
        assert!(said.contains(word), "{word} is missing: {ended:?}");
    }
}

#[test]
fn approved_not_approved_and_error() {
    let ended = run(&["gate", "read_data"]);
    says(&ended, 0, &["read_data: approved (safe) by allow-read-only"]);
    assert_eq!(ended.stderr, "");
    let probe = "benchtop_probe_temp: approved (caution) by benchtop-probe-read: privileged probe read — approved with caution\n";
    assert_eq!(run(&["gate", "benchtop_probe_temp"]).stdout, probe);
    says(
        &run(&["gate", "benchtop_power_off"]),
        1,
        &["not approved (blocked) by block-benchtop-destructive"],
    );
    says(&run(&["gate", "unknown"]), 1, &["default-deny-unknown"]);
    says(&run(&["gate"]), 2, &["NAME"]);
    says(&run(&["gate", "x", "--arg", "y"]), 2, &["key=text"]);
    says(&run(&["gate", "x", "--arg", "y:={"]), 2, &["no JSON"]);
    says(
        &run(&["gate", "x", "--arg", "y=1", "--arg", "y=2"]),
        2,
        &["y is given twice"],
    );
    says(&run(&["gate", "x", "--nope"]), 2, &["--nope"]);
    says(
        &run(&["gate", "--help"]),
        0,
        &["--arg", "--policy", "--json", "1 not approved"],
    );
}

#[test]
fn json_is_one_object() {
    let ended = run(&["gate", "--json", "unknown\u{1b}[2J"]);
    assert_eq!(
        ended.stdout,
        "{\"approved\":false,\"hazard_level\":\"blocked\",\"rule_name\":\"default-deny-unknown\",\
         \"note\":\"no rule knows this tool; add one that allows it\"}\n"
    );
    says(&run(&["gate", "unknown\u{1b}[2J"]), 1, &[r#""unknown\x1b[2J""#]);
    assert_eq!(run(&["gate", "read_x", "--json"]).code, Some(0));
}

#[test]
fn policy_rules_come_first() {
    let text =
        "[[gate.rule]]\nname = 'mine'\non = 'deploy'\nargs.to = { not = 'production' }\ndecision = 'allow'\n";
    says(
        &gate_with(text, &["deploy", "--arg", "to=staging"]),
        0,
        &["by mine"],
    );
    says(
        &gate_with(text, &["deploy", "--arg", "to=production"]),
        1,
        &["default-deny-unknown"],
    );
    says(
        &gate_with(text, &["deploy", "--arg", "to:=[\"staging\",\"production\"]"]),
        1,
        &["default-deny"],
    );
    let silenced =
        "[[gate.rule]]\nname = 'bench'\non = 'benchtop_power_on'\ndecision = 'caution'\nnote = \"a\\nb\"\n";
    says(
        &gate_with(silenced, &["benchtop_power_on"]),
        0,
        &[r#"(caution) by bench: "a\nb""#],
    );
}

#[test]
fn a_hundred_siemens() {
    let text = "[[gate.rule]]\nuse = 'plz5w-conductance'\n\n\
                [[gate.rule]]\nname = 'bench'\non = 'scpi_send'\ndecision = 'caution'\n";
    let send = |body: &str| gate_with(text, &["scpi_send", "--arg", &format!("body={body}")]);
    says(
        &send("COND 100"),
        1,
        &[
            "plz5w-conductance",
            "100 S is 0.01 ohm",
            "for 100 ohm send COND 0.01",
        ],
    );
    says(&send("FUNC CR;:SOUR:COND 2E2"), 1, &["send COND 0.005"]);
    says(&send("COND 0.01"), 0, &["by bench"]);
    says(&send("COND?"), 0, &["by bench"]);
}

#[test]
fn policies_that_are_wrong_are_refused_with_their_line() {
    let head = "[[gate.rule]]\nname = 'r'\ndecision = 'block'\n";
    for (rest, words) in [
        (
            "on = 'connect_tcp'\nargs.path = '/x'\n",
            ["line 5, column 6: args.path: ", "connect_tcp has no argument"],
        ),
        (
            "on = 't'\nargs.a = { regex = '(' }\n",
            ["line 5, column 20: args.a.regex: ", "unclosed group"],
        ),
        (
            "on = 't'\nargs.a = { equal = 'x' }\n",
            ["line 5, column ", "unknown field `equal`"],
        ),
        ("on = \n", ["line 4, column ", "no TOML"]),
    ] {
        says(&gate_with(&format!("{head}{rest}"), &["t"]), 2, &words);
    }
    says(
        &run(&["gate", "x", "--policy", "/nonexistent/rei.toml"]),
        2,
        &["/nonexistent/rei.toml"],
    );
}

#[test]
fn any_policy_will_do() {
    says(
        &run(&["gate", "read_x", "--policy", "ambient-only"]),
        0,
        &["allow-read-only"],
    );
    let whole = "name = 'bench'\ninputs = ['/data/**']\n\n[gate]\nobserved_default = 'deny'\n\n\
                 [[gate.rule]]\nname = 'mine'\non = 'deploy'\ndecision = 'caution'\n";
    says(&gate_with(whole, &["deploy"]), 0, &["by mine"]);
    says(&gate_with("inptus = []\n", &["deploy"]), 2, &["line 1", "inputs"]);
}
