//! Black-box tests of policies: `rei policy`, the options of `rei run`, the examples of docs/policy.md, the schema.

mod support;

#[path = "schema.rs"]
mod json_schema;
#[path = "policy/schema.rs"]
mod schema;

use std::fs;
use std::path::PathBuf;

use rei::policy::{Policy, Source};
use support::{Ended, run};
use tempfile::TempDir;

const DOCUMENT: &str = include_str!("../docs/policy.md");

/// Files of our own in a directory of our own.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Files(tempfile::tempdir().expect("a temporary directory"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("a writable directory");
        path
    }
}

fn check(text: &str) -> Ended {
    let files = Files::new();
    let path = files.write("mine.toml", text);
    run(&["policy", "check", path.to_str().expect("a plain path")])
}

/// The TOML blocks of the document.
fn examples() -> impl Iterator<Item = &'static str> {
    DOCUMENT
        .split("```toml\n")
        .skip(1)
        .filter_map(|section| section.split("```").next())
}

#[test]
fn every_example_of_the_document_is_a_right_policy() {
    let mut count = 0;
    for example in examples() {
        let checked = Policy::parse(example, Source::Shipped)
            .unwrap_or_else(|problems| panic!("{problems}\n{example}"));
        assert!(checked.warnings.is_empty(), "{example}: {:?}", checked.warnings);
        count += 1;
    }
    assert!(count > 8, "only {count} examples");
}

#[test]
fn the_schema_takes_what_rei_takes() {
    for example in examples() {
        assert_eq!(schema::fault(example), None, "{example}");
    }
    for name in ["ambient-only", "read-only", "observe"] {
        let path = format!("{}/policies/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).expect("a shipped policy");
        assert_eq!(schema::fault(&text), None, "{name}");
    }
}

#[test]
fn the_schema_refuses_what_rei_refuses() {
    for text in [
        "inptus = []",
        "mode = \"Safe\"",
        "fail_on = 1",
        "name = \"a b\"",
        "inputs = \"/a\"",
        "inputs = [\"relative\"]",
        "programs = [\"bin/sh\"]",
        "programs = [{ path = \"py*\" }]",
        "inputs = [{ name = \"x\" }]",
        "network = [{ to = \"::1\", unix = \"/x\" }]",
        "network = [{ to = \"::1\", ports = [0] }]",
        "accept = [70000]",
        "programs = [{ path = \"/a\", sha256 = \"abc\" }]",
        "programs = [{ path = \"/a\", origins = [\"img\"] }]",
        "env = [\"A=B\"]",
        "ambient = [{ pattern = \"/a\", access = [\"read\"] }]",
        "ambient = [{ pattern = \"/a\", access = [\"read\"], class = \"x\", why = \"y\" }]",
        "[gate]\nobserved_default = \"allow\"",
        "[[gate.rule]]\nnmae = \"x\"",
    ] {
        assert!(Policy::parse(text, Source::Shipped).is_err(), "rei takes {text}");
        assert!(schema::fault(text).is_some(), "the schema takes {text}");
    }
}

#[test]
fn a_right_policy_is_checked_and_named() {
    let ended = check("inputs = [\"/a/**\", \"/a/b\"]");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for word in [
        "mine.toml: warning: line 1, column 20",
        "in the shadow of",
        "policy mine is right (1 warning(s)); mode safe",
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    for name in ["ambient-only", "read-only", "observe"] {
        assert_eq!(run(&["policy", "check", name]).code, Some(0), "{name}");
    }
}

#[test]
fn a_wrong_policy_is_an_answer_with_places() {
    let ended = check("mode = \"safe\"\ninptus = []\ninputs = [\"x\"]");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for word in [
        "line 2, column 1",
        "did you mean \"inputs\"",
        "line 3, column 11",
        "  3 | inputs = [\"x\"]",
        "^^^",
    ] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    let gone = run(&["policy", "check", "no-such-file.toml"]);
    assert_eq!((gone.code, gone.stdout.as_str()), (Some(2), ""));
    assert!(
        gone.stderr.contains("no-such-file.toml") && gone.stderr.contains("ambient-only"),
        "{gone:?}"
    );
}

#[test]
fn a_policy_explains_its_answers() {
    let files = Files::new();
    let path = files.write(
        "mine.toml",
        "inputs = [\"/data/**\"]\nnetwork = [\"10.0.0.0/8:443\"]\nprograms = [{ path = \"/bin/dash\", argv = [\"-c\", \"date *\"] }]",
    );
    let policy = path.to_str().expect("a plain path");
    let table: [(&[&str], i32, &str); 12] = [
        (
            &[
                "--op",
                "open",
                "--path",
                "/etc/shadow",
                "--access",
                "read",
                "--origin",
                "image",
            ],
            0,
            "ambient (bundled)",
        ),
        (
            &["--op", "open", "--path", "/etc/shadow", "--origin", "upper"],
            1,
            "I1 fires",
        ),
        (
            &["--op", "open", "--path", "/data/x", "--origin", "bind:/srv"],
            0,
            "declared: inputs \"/data/**\"",
        ),
        (
            &[
                "--op",
                "open",
                "--path",
                "/data/x",
                "--access",
                "write,create",
                "--origin",
                "bind:/srv",
            ],
            1,
            "an input is only read",
        ),
        (
            &[
                "--op",
                "open",
                "--path",
                "/dev/urandom",
                "--origin",
                "dev",
                "--device",
                "1:9",
            ],
            0,
            "ambient (entropy)",
        ),
        (
            &["--op", "open", "--path", "/opt/x", "--errno", "ENOENT"],
            0,
            "ambient (absent)",
        ),
        (
            &[
                "--op", "open", "--path", "/opt/x", "--errno", "ENOENT", "--mount", "/opt",
            ],
            1,
            "I1 fires",
        ),
        (
            &["--op", "connect", "--address", "10.1.2.3:443"],
            0,
            "declared: network",
        ),
        (
            &["--op", "connect", "--address", "10.1.2.3:80"],
            1,
            "another port",
        ),
        (&["--op", "connect", "--path", "/run/x.sock"], 1, "I2 fires"),
        (
            &[
                "--op",
                "exec",
                "--path",
                "/bin/dash",
                "--arg",
                "-c",
                "--arg",
                "date +%s",
            ],
            0,
            "declared: programs",
        ),
        (
            &[
                "--op",
                "exec",
                "--path",
                "/bin/dash",
                "--arg",
                "-c",
                "--arg",
                "rm x",
            ],
            1,
            "other arguments",
        ),
    ];
    for (words, code, expected) in table {
        let ended = run(&[&["policy", "explain", policy], words].concat());
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        assert!(ended.stdout.contains(expected), "{words:?}: {}", ended.stdout);
    }
    for words in [
        &["--op", "open"][..],
        &["--op", "fly", "--path", "/x"],
        &["--op", "open", "--path", "/x", "--origin", "mars"],
    ] {
        assert_eq!(
            run(&[&["policy", "explain", policy], words].concat()).code,
            Some(2),
            "{words:?}"
        );
    }
}

/// What the gate says to an operation, which of its rules, why, and what was tried before.
#[test]
fn an_explanation_asks_the_gate_too() {
    let files = Files::new();
    let path = files.write(
        "mine.toml",
        r#"
        inputs = ["/data/**"]
        outputs = ["/dev/**", "/job/**"]
        programs = ["sh", "/bin/dash"]

        [[gate.rule]]
        name = "history"
        on = "write_file"
        args.path = { glob = "${workdir}/.git/**" }
        decision = "block"
        note = "the history is not yours"

        [[gate.rule]]
        name = "spare-disk"
        on = "write_device"
        args.device = "block 8:16"
        decision = "allow"

        [[gate.rule]]
        name = "no-eval"
        on = { glob = "*" }
        calls = "observed"
        args.op = "exec"
        args.argv = "-c"
        decision = "block"

        [[gate.rule]]
        name = "directly"
        on = "read_file"
        args.flags = 0x4000
        decision = "caution"
        "#,
    );
    let policy = path.to_str().expect("a plain path");
    // options, exit code, words of the answer
    let table: [(&str, i32, &[&str]); 11] = [
        (
            "--op open --path /job/.git/HEAD --access write --origin bind:/w --workdir /job",
            1,
            &[
                "no tripwire fires: declared",
                "the gate says blocked to write_file, by history: the history is not yours",
                "tried: history: yes: blocked",
            ],
        ),
        (
            "--op open --path /job/x --access write --origin bind:/w --workdir /job",
            0,
            &[
                "the gate says safe to write_file, by no-objection",
                "tried: history: no: what it asks of the arguments does not hold",
                "rule(s) of the gate are for other calls",
            ],
        ),
        (
            "--op open --path /job/x --access write --origin bind:/w",
            0,
            &["tried: history: undecided: it asks for something that is not known"],
        ),
        (
            "--op open --path /dev/sdb --access write --origin dev --block-device 8:16",
            0,
            &[
                "the gate says safe to write_device, by spare-disk",
                "spare-disk: yes: safe",
            ],
        ),
        (
            "--op open --path /dev/sda --access write --origin dev --block-device 8:0",
            1,
            &[
                "spare-disk: no: what it asks",
                "the gate says blocked to write_device, by container-destructive: writes",
            ],
        ),
        (
            "--op open --path /data/x --origin bind:/d",
            0,
            &[
                "tried: directly: undecided",
                "the gate says safe to read_file, by no-objection",
            ],
        ),
        (
            "--op open --path /proc/7/environ --origin proc",
            1,
            &[
                "I1 fires",
                "the gate says caution to read_kernel, by container-privileged",
            ],
        ),
        (
            "--op open --path /dev/mem --errno EACCES",
            0,
            &["the gate says caution to read_device, by container-privileged"],
        ),
        (
            "--op exec --path /bin/dash --arg -c --arg id",
            1,
            &[
                "no tripwire fires: declared: programs",
                "the gate says blocked to dash, by no-eval",
            ],
        ),
        (
            "--op connect --path /run/x.sock --peer container-engine",
            1,
            &[
                "I2 fires",
                "the gate says blocked to connect_unix, by container-destructive",
            ],
        ),
        (
            "--op connect --address 10.0.0.1:5025",
            1,
            &[
                "I2 fires",
                "the gate says blocked to connect_tcp, by container-destructive",
            ],
        ),
    ];
    for (words, code, expected) in table {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = run(&[&["policy", "explain", policy], words.as_slice()].concat());
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        for line in expected {
            assert!(ended.stdout.contains(line), "{words:?}: {line}: {}", ended.stdout);
        }
    }
    let bare = run(&["policy", "explain", policy, "--op", "exec", "--path", "/bin/sh"]);
    assert!(
        bare.stdout
            .contains("1 bare name(s) are looked up when a run starts"),
        "{bare:?}"
    );
}

/// What a run is refused for before anything starts, and with which words.
#[test]
fn a_run_with_a_policy_that_cannot_be_used_does_not_start() {
    let files = Files::new();
    let wrong = files.write("wrong.toml", "inptus = []");
    let unsafe_ = files.write("unsafe.toml", "mode = \"unsafe\"");
    let (wrong, unsafe_) = (wrong.to_str().expect("plain"), unsafe_.to_str().expect("plain"));
    let table: [(&[&str], &str); 9] = [
        (&["--policy", wrong], "did you mean \"inputs\""),
        (&["--policy", "nope"], "cannot read the policy nope"),
        (&["--policy", unsafe_], "--allow-unsafe"),
        (&["--allow-read", "relative"], "--allow-read=relative"),
        (&["--input", "relative"], "--allow-read=relative"),
        (&["--output", "relative"], "--allow-write=relative"),
        (&["--allow-connect", "10.0.0.1/8"], "write 10.0.0.0/8"),
        (&["--allow-exec", "bin/sh"], "a bare name"),
        (&["--fail-on", "never"], "caution, tripped or blocked"),
    ];
    for (options, expected) in table {
        let ended = run(&[&["run"], options, &["--", "/bin/echo", "started"]].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(125), ""),
            "{options:?}: {ended:?}"
        );
        assert!(ended.stderr.contains(expected), "{options:?}: {}", ended.stderr);
    }
    let attach = run(&["attach", "--policy", unsafe_, "1"]);
    assert_eq!(attach.code, Some(2), "{attach:?}");
    assert!(attach.stderr.contains("--allow-unsafe"), "{attach:?}");
}
