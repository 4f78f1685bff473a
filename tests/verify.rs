//! Black-box tests of `rei verify`: exit codes, what it says and does not say, its JSON.

#[path = "schema.rs"]
mod json_schema;
mod second;
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ended, run};
use tempfile::TempDir;

use json_schema::Schema;
use second::{Answer, second_report};

const SCHEMA: &str = include_str!("../docs/verify.schema.json");

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

/// A directory of our own with the auditor's keys: a checkout does not keep the mode of a secret.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Desk(tempfile::tempdir().expect("a temporary directory"));
        for (name, mode) in [("verification.key", 0o600), ("host.pub", 0o644)] {
            fs::copy(vectors().join("keys").join(name), desk.path(name)).expect("a key");
            fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).expect("our file");
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn word(&self, name: &str) -> String {
        self.path(name).to_str().expect("a plain path").to_owned()
    }

    /// `rei verify` with these words; `KEY`, `PUB` and `@name` stand for the auditor's files and for vectors. The
    /// keys of the machine that runs the test are left out.
    fn verify(&self, words: &[&str]) -> Ended {
        let mut all = vec!["verify".to_owned()];
        for word in words {
            all.push(match *word {
                "KEY" => self.word("verification.key"),
                "PUB" => self.word("host.pub"),
                word => match word.strip_prefix('@') {
                    Some(name) => vectors().join(name).to_str().expect("a plain path").to_owned(),
                    None => word.to_owned(),
                },
            });
        }
        run(&all)
    }

    fn json(&self, words: &[&str]) -> Value {
        let ended = self.verify(&[&["--json"], words].concat());
        let value: Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        assert_eq!(
            Schema { root: &schema }.fault(&schema, &value, "report"),
            None,
            "{value:#}"
        );
        value
    }
}

/// A vector, and what both verifiers are given with it.
struct Vector {
    name: String,
    expected: Value,
    words: Vec<String>,
    /// The same for the second verifier, whose option for key state differs.
    second_words: Vec<String>,
}

/// Every vector of the tree.
fn every_vector(desk: &Desk) -> Vec<Vector> {
    let mut all = Vec::new();
    for entry in fs::read_dir(vectors()).expect("the vectors") {
        let directory = entry.expect("an entry").path();
        let Ok(expected) = fs::read(directory.join("expected.json")) else {
            continue;
        };
        all.push(vector(
            desk,
            &directory,
            serde_json::from_slice(&expected).expect("JSON"),
        ));
    }
    assert!(all.len() > 50, "{} vectors", all.len());
    all
}

fn vector(desk: &Desk, directory: &Path, expected: Value) -> Vector {
    let word = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let file = directory.file_name().expect("a name");
    let name = file.to_str().expect("a plain name").to_owned();
    let mut words = vec![word(directory)];
    let mut state = Vec::new();
    for what in expected["with"].as_array().expect("a list") {
        match what.as_str() {
            Some("pub") => words.extend(["--pub".to_owned(), desk.word("host.pub")]),
            Some("key") => words.extend(["--key".to_owned(), desk.word("verification.key")]),
            Some("trusted") => {
                words.extend([
                    "--trusted-checkpoint".to_owned(),
                    word(&directory.join("trusted")),
                ]);
            }
            Some("state") => {
                let keys = desk.path(&format!("keys-{name}"));
                fs::create_dir(&keys).expect("a directory");
                let file = keys.join("07".repeat(16));
                fs::copy(directory.join("key-state"), &file).expect("a key state");
                fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("our file");
                state = vec![word(&keys), word(&file)];
            }
            other => panic!("{name} holds {other:?}"),
        }
    }
    let mut second_words = words.clone();
    if let [keys, file] = &state[..] {
        words.extend(["--keys".to_owned(), keys.clone()]);
        second_words.extend(["--host-state".to_owned(), file.clone()]);
    }
    Vector {
        name,
        expected,
        words,
        second_words,
    }
}

#[test]
fn every_vector_has_its_exit_code_and_fits_the_schema() {
    let desk = Desk::new();
    for Vector {
        name,
        expected,
        words,
        ..
    } in every_vector(&desk)
    {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let report = desk.json(&words);
        assert_eq!(report["verdict"], expected["verdict"], "{name}: {report:#}");
        if let Some(code) = expected["violation"].as_str() {
            let found = report["violations"].as_array().expect("a list");
            assert!(
                found.iter().any(|found| found["code"] == code),
                "{name}: {report:#}"
            );
        }
        let code = match report["verdict"].as_str() {
            Some("ok") => 0,
            Some("tampered") => 1,
            Some("unverifiable") => 2,
            Some("incomplete") => 3,
            other => panic!("{other:?}"),
        };
        let ended = desk.verify(&words);
        assert_eq!(ended.code, Some(code), "{name}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{name}: {ended:?}");
    }
}

/// Each vector with what belongs to it, and with nothing: verdict, completeness and the set of violations.
#[test]
fn the_second_verifier_agrees_about_every_vector() {
    let desk = Desk::new();
    let mut apart = Vec::new();
    for vector in every_vector(&desk) {
        for (words, second_words) in [
            (&vector.words[..], &vector.second_words[..]),
            (&vector.words[..1], &vector.second_words[..1]),
        ] {
            let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
            let ours = Answer::of(&desk.json(&borrowed));
            let second = Answer::of(&second_report(second_words));
            if ours != second {
                apart.push(format!(
                    "{words:?}\n  rei verify {ours:?}\n  verify.py  {second:?}"
                ));
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

#[test]
fn it_never_says_a_bare_ok_and_says_how_far_it_reaches() {
    let desk = Desk::new();
    for (words, says) in [
        (
            &["@honest-closed"][..],
            ["without any key", "nobody vouches that the log ends here"],
        ),
        (
            &["@honest-closed", "--pub", "PUB"],
            ["public key", "nobody vouches"],
        ),
        (
            &["@honest-closed", "--key", "KEY"],
            ["verification key", "the host itself vouches"],
        ),
        (
            &[
                "@honest-anchored",
                "--trusted-checkpoint",
                "@honest-anchored/trusted",
            ],
            ["kept checkpoint", "covers every line"],
        ),
        (
            &["@honest-crash", "--key", "KEY"],
            ["no closing seal", "are not sealed"],
        ),
        (
            &["@edited-byte"],
            ["TAMPERED", "violation CHAIN at segment 0, line 4, byte "],
        ),
        (
            &["@edited-byte"],
            [
                "everything up to line 1, sealed 2026-01-01T00:00:00Z, is intact",
                "5 times more later",
            ],
        ),
        (
            &["@checkpoint-of-another-log", "--pub", "PUB"],
            ["where they were changed, nobody can say", "CP_ROOT"],
        ),
    ] {
        let ended = desk.verify(words);
        for part in says {
            assert!(
                ended.stdout.contains(part),
                "{words:?} says no {part:?}: {}",
                ended.stdout
            );
        }
        let lines = ended.stdout.lines().map(str::trim);
        assert!(
            lines
                .clone()
                .all(|line| !line.to_lowercase().ends_with(": ok") && line.to_lowercase() != "ok")
        );
    }
}

#[test]
fn an_anchor_can_be_required() {
    let desk = Desk::new();
    for (words, code) in [
        (&["@honest-closed", "--key", "KEY", "--require-anchor"][..], 3),
        (&["@cut-segment-limit", "--pub", "PUB"], 0),
        (&["@cut-segment-limit", "--pub", "PUB", "--require-anchor"], 3),
        (
            &[
                "@honest-anchored",
                "--require-anchor",
                "--trusted-checkpoint",
                "@honest-anchored/trusted",
            ],
            0,
        ),
        (&["@edited-byte", "--require-anchor"], 1),
    ] {
        assert_eq!(desk.verify(words).code, Some(code), "{words:?}");
    }
}

/// The checkpoint that one report prints is what the next one trusts.
#[test]
fn a_checkpoint_can_be_kept_and_given_back() {
    let desk = Desk::new();
    let report = desk.json(&["@honest-closed", "--pub", "PUB"]);
    let note = report["newest_checkpoint"]["note"].as_str().expect("a note");
    fs::write(desk.path("kept"), note).expect("a file");
    let kept = desk.word("kept");
    let report = desk.json(&["@honest-closed", "--trusted-checkpoint", &kept]);
    assert_eq!(
        (&report["completeness"], &report["anchored_size"]),
        (&"anchored".into(), &report["size"])
    );
    let ended = desk.verify(&["@cut-segment-limit", "--trusted-checkpoint", &kept]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("LOG_SHORTER_THAN_CHECKPOINT"), "{ended:?}");
    // The whole file of checkpoints is as good.
    let notes = "@honest-closed/checkpoints";
    assert_eq!(
        desk.verify(&[
            "@honest-closed",
            "--trusted-checkpoint",
            notes,
            "--require-anchor"
        ])
        .code,
        Some(0)
    );
}

#[test]
fn several_logs_are_judged_together_by_the_worst() {
    let desk = Desk::new();
    let report = desk.json(&["@honest-closed", "@honest-open", "--key", "KEY"]);
    assert_eq!(report["verdict"], "incomplete");
    assert_eq!(report["logs"].as_array().map(Vec::len), Some(2));
    let runs = desk.path("runs");
    for name in ["honest-closed", "edited-byte"] {
        let to = runs.join(name);
        fs::create_dir_all(&to).expect("a directory");
        for entry in fs::read_dir(vectors().join(name)).expect("a vector") {
            let from = entry.expect("an entry").path();
            fs::copy(&from, to.join(from.file_name().expect("a name"))).expect("a copy");
        }
    }
    let report = desk.json(&[runs.to_str().expect("a plain path")]);
    assert_eq!(report["verdict"], "tampered");
    assert_eq!(report["logs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_series_says_what_is_missing() {
    let desk = Desk::new();
    let report = desk.json(&["@honest-closed", "--key", "KEY", "--series"]);
    let series = &report["series"];
    assert_eq!(
        (&series["verdict"], &series["known"], &series["present"]),
        (&"ok".into(), &1.into(), &1.into())
    );
    assert_eq!(series["host_list"], false);
    let ended = desk.verify(&["@honest-closed", "--series"]);
    assert_eq!(ended.code, Some(2), "a series needs its key: {ended:?}");
}

#[test]
fn what_cannot_be_read_is_2_and_names_the_next_step() {
    let desk = Desk::new();
    fs::write(desk.path("text"), "nothing\n").expect("a file");
    fs::create_dir(desk.path("empty")).expect("a directory");
    let exposed = desk.path("exposed.key");
    fs::copy(desk.path("verification.key"), &exposed).expect("a copy");
    fs::set_permissions(&exposed, fs::Permissions::from_mode(0o644)).expect("our file");
    std::os::unix::fs::symlink(desk.path("verification.key"), desk.path("link.key")).expect("a link");
    let [text, empty, exposed, link, missing] =
        ["text", "empty", "exposed.key", "link.key", "missing"].map(|name| desk.word(name));
    for (words, says) in [
        (&[][..], "PATH"),
        (&[missing.as_str()], "give the directory"),
        (&[text.as_str()], "no directory"),
        (&[empty.as_str()], "holds no log"),
        (&["@honest-closed", "--key", &exposed], "chmod 600"),
        (&["@honest-closed", "--key", &link], "no regular file"),
        (&["@honest-closed", "--key", &text, "--json"], "secret"),
        (&["@honest-closed", "--key", "PUB"], "secret"),
        (&["@honest-closed", "--pub", &text], "host.pub"),
        (&["@honest-closed", "--trusted-checkpoint", &text], "signed note"),
        (
            &[
                "@honest-closed",
                "@honest-open",
                "--trusted-checkpoint",
                "@honest-anchored/trusted",
            ],
            "of one log",
        ),
        (&["@honest-closed", "--log-id", "12"], "32 lower-case"),
        (&["@honest-closed", "--nope"], "--nope"),
    ] {
        let ended = desk.verify(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(says), "{words:?} says no {says:?}: {said}");
    }
}

#[test]
fn a_log_can_be_named() {
    let desk = Desk::new();
    let (right, wrong) = ("07".repeat(16), "08".repeat(16));
    assert_eq!(desk.verify(&["@honest-closed", "--log-id", &right]).code, Some(0));
    let ended = desk.verify(&["@honest-closed", "--log-id", &wrong]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("LOG_ID"), "{ended:?}");
}
