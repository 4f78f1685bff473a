//! Black-box tests of `rei keygen`, and of what `rei doctor` says about keys.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use support::{Ended, run};

mod support;

fn home() -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let keys = temporary.path().join("keys");
    (temporary, keys)
}

fn keygen(keys: &Path, words: &[&str]) -> Ended {
    let keys = keys.to_str().expect("a plain path");
    run(&[&["keygen", "--keys", keys], words].concat())
}

#[test]
fn keys_are_made_once_and_the_person_is_told_what_to_do() {
    let (_temporary, keys) = home();
    let ended = keygen(&keys, &["--origin", "node-7/rei"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let public = fs::read_to_string(keys.join("host.pub")).expect("made");
    assert_eq!(ended.stdout, public);
    assert!(public.starts_with("node-7/rei+"), "{public}");
    for word in ["verification.key", "MOVE", "host.pub"] {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
    let before = fs::read(keys.join("verification.key")).expect("made");
    let again = keygen(&keys, &[]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(2), ""), "{again:?}");
    assert!(again.stderr.contains("series exists"), "{}", again.stderr);
    assert_eq!(
        fs::read(keys.join("verification.key")).expect("still there"),
        before
    );
}

#[test]
fn json_is_one_object_without_secrets() {
    let (_temporary, keys) = home();
    let ended = keygen(&keys, &["--json"]);
    let told: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let file = keys.join("verification.key");
    assert_eq!(
        told["verification_key_file"],
        file.to_str().expect("a plain path")
    );
    let public = fs::read_to_string(keys.join("host.pub")).expect("made");
    assert_eq!(told["host_public_key"], public.trim_end());
    assert!(
        told["origin"]
            .as_str()
            .is_some_and(|origin| origin.ends_with("/rei")),
        "{told}"
    );
    let text = fs::read_to_string(file).expect("made");
    let secret = text
        .lines()
        .find_map(|line| line.strip_prefix("r0 "))
        .expect("R_0");
    assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret));
    let series = text.lines().find_map(|line| line.strip_prefix("series "));
    assert_eq!(told["series"].as_str(), series);
    let seed = fs::read_to_string(keys.join("host.key")).expect("made");
    let seed = seed
        .lines()
        .find_map(|line| line.strip_prefix("seed "))
        .expect("a seed");
    assert!(!ended.stdout.contains(seed) && !ended.stderr.contains(seed));
}

#[test]
fn what_cannot_be_used_is_refused_with_a_next_step() {
    let (_temporary, keys) = home();
    let ended = keygen(&keys, &["--origin", "node 7"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--origin"), "{}", ended.stderr);
    assert!(!keys.exists());
    fs::create_dir(&keys).expect("ours");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o755)).expect("ours");
    let ended = keygen(&keys, &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("chmod 700"), "{}", ended.stderr);
    // A secret is never taken from the command line.
    let ended = keygen(&keys, &["--seed", "00"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("--seed"), "{}", ended.stderr);
}

#[test]
fn doctor_nags_until_the_verification_key_has_left() {
    let (_temporary, keys) = home();
    assert_eq!(keygen(&keys, &[]).code, Some(0));
    let doctor = || {
        let ended = run(&["doctor", "--json", "--keys", keys.to_str().expect("a plain path")]);
        let findings: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let of = |check: &str| {
            let findings = findings.as_array().expect("an array");
            findings
                .iter()
                .find(|finding| finding["check"] == check)
                .expect("a check")
                .clone()
        };
        (of("keys"), of("key storage"))
    };
    let (nagging, storage) = doctor();
    assert_eq!(nagging["status"], "gap", "{nagging}");
    assert!(
        nagging["next_step"]
            .as_str()
            .is_some_and(|step| step.contains("verification.key")),
        "{nagging}"
    );
    assert!(
        storage["found"].as_str().is_some_and(|found| !found.is_empty()),
        "{storage}"
    );
    fs::remove_file(keys.join("verification.key")).expect("ours");
    assert_eq!(doctor().0["status"], "ok");
}
