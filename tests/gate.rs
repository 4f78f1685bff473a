//! Black-box tests of `rei gate`: what it prints, and how it ends.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ended, run};

mod support;

/// A policy file that lives as long as the directory.
fn policy(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("rei.toml");
    fs::write(&file, text).expect("a directory of ours");
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

/// A call that is sealed: `--log` and `--keys` in a directory of their own.
fn sealed(directory: &Path, words: &[&str]) -> Ended {
    let (log, keys) = (directory.join("log"), directory.join("keys"));
    let place = [
        "--log",
        log.to_str().expect("text"),
        "--keys",
        keys.to_str().expect("text"),
    ];
    run(&[&["gate"][..], words, &place].concat())
}

/// Lines of the log of decisions, and what `rei verify` says of it.
fn decisions(directory: &Path) -> (Vec<Value>, Ended) {
    let log = directory.join("log");
    let mut lines = Vec::new();
    let mut names: Vec<PathBuf> = fs::read_dir(&log)
        .expect("a log")
        .map(|entry| entry.expect("a name").path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    names.sort();
    for path in names {
        let text = fs::read_to_string(path).expect("lines");
        lines.extend(
            text.lines()
                .map(|line| serde_json::from_str::<Value>(line).expect("JSON")),
        );
    }
    lines.retain(|line| line["k"] == "decision");
    let key = directory.join("keys/verification.key");
    let words = [
        "verify",
        log.to_str().expect("text"),
        "--key",
        key.to_str().expect("text"),
    ];
    let keys = directory.join("keys");
    let verified = run(&[&words[..], &["--keys", keys.to_str().expect("text")]].concat());
    (lines, verified)
}

#[test]
fn decisions_are_sealed_one_for_each_call() {
    let directory = tempfile::tempdir().expect("a directory");
    assert_eq!(
        sealed(directory.path(), &["read_sensor", "--arg", "id=7"]).code,
        Some(0)
    );
    assert_eq!(sealed(directory.path(), &["benchtop_wipe"]).code, Some(1));
    let (lines, verified) = decisions(directory.path());
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["d"]["tool"], "read_sensor");
    assert_eq!(lines[0]["d"]["args"], "{\"id\":\"7\"}");
    assert_eq!(lines[0]["d"]["approved"], true);
    assert_eq!(lines[1]["d"]["rule_name"], "block-benchtop-destructive");
    assert_eq!(lines[1]["d"]["approved"], false);
}

#[test]
fn calls_at_the_same_time_wait_for_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(sealed(directory.path(), &["list_things"]).code, Some(0)));
        }
    });
    let (lines, verified) = decisions(directory.path());
    assert_eq!((lines.len(), verified.code), (8, Some(0)), "{verified:?}");
}

#[test]
fn a_decision_that_cannot_be_sealed_is_not_given() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("log"), "in the way").expect("a file");
    let ended = sealed(directory.path(), &["list_things"]);
    says(&ended, 2, &["cannot be sealed"]);
    assert!(ended.stdout.is_empty());
    // Arguments that no line can hold.
    let directory = tempfile::tempdir().expect("a directory");
    let long = format!("text={}", "x".repeat(70_000));
    let ended = sealed(directory.path(), &["list_things", "--arg", &long]);
    says(&ended, 2, &["cannot be sealed", "65535"]);
    let (lines, verified) = decisions(directory.path());
    assert!(lines.is_empty());
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
