//! The vectors of `tests/vectors`: one log for each possible mistake, and what a verifier has to find in it.
//!
//! What is in the tree is what is made here, byte for byte. `cargo xtask vectors` adds what is missing; it never
//! changes what is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rei::verify::{Report, Violation};
use serde_json::{Value, json};

use crate::files::{Files, Numbers, With, codes};
use crate::writer::{Host, Writer};
use crate::{Auditor, closed_log};

#[path = "vectors/ends.rs"]
mod ends;
#[path = "vectors/honest.rs"]
mod honest;
#[path = "vectors/keys.rs"]
mod keys;
#[path = "vectors/lines.rs"]
mod lines;

/// Set by `cargo xtask vectors`.
const ADD: &str = "REI_VECTORS_ADD";

/// A log, what a verifier holds, and what it has to say.
struct Vector {
    name: &'static str,
    about: &'static str,
    writer: Writer,
    files: Files,
    held: Held,
    verdict: &'static str,
    /// The violation that must be found, beside what follows from it.
    violation: Option<&'static str>,
}

/// What a verifier holds.
#[derive(Clone, Copy, Default)]
struct Held {
    public: bool,
    key: bool,
    trusted: Option<fn() -> String>,
    state: bool,
}

const NOTHING: Held = Held {
    public: false,
    key: false,
    trusted: None,
    state: false,
};
const PUBLIC: Held = Held {
    public: true,
    ..NOTHING
};
const BOTH: Held = Held { key: true, ..PUBLIC };
const ON_HOST: Held = Held { state: true, ..BOTH };

/// The checkpoint that the auditor kept of the closed log.
fn kept() -> String {
    closed_log().1.note()
}

fn vector(
    name: &'static str,
    about: &'static str,
    held: Held,
    found: &'static str,
    files: impl FnOnce(&Writer) -> Files,
) -> Vector {
    let writer = closed_log().1;
    with_writer(name, about, held, found, writer, files)
}

/// `found` is a violation's code, or a verdict.
fn with_writer(
    name: &'static str,
    about: &'static str,
    held: Held,
    found: &'static str,
    writer: Writer,
    files: impl FnOnce(&Writer) -> Files,
) -> Vector {
    let files = files(&writer);
    let is_verdict = ["ok", "incomplete", "unverifiable"].contains(&found);
    Vector {
        name,
        about,
        writer,
        files,
        held,
        verdict: if is_verdict { found } else { "tampered" },
        violation: (!is_verdict).then_some(found),
    }
}

/// One line of the closed log replaced, all hashes made right, no checkpoints.
fn replaced(writer: &Writer, from: &str, to: &str) -> Files {
    let mut files = Files {
        checkpoints: None,
        ..writer.files.clone()
    };
    files.edit(0, 3, |line| line.replacen(from, to, 1));
    files.rechain(writer.genesis(), Numbers::Kept);
    files
}

fn without(writer: &Writer, segment: usize, lines: std::ops::Range<usize>) -> Files {
    let mut files = writer.files.clone();
    let mut left = files.lines(segment);
    left.drain(lines);
    files.set_lines(segment, &left);
    files
}

fn with_notes(writer: &Writer, notes: &str) -> Files {
    Files {
        checkpoints: Some(format!("{notes}%%\n").into_bytes()),
        ..writer.files.clone()
    }
}

fn all() -> Vec<Vector> {
    [honest::all(), lines::all(), keys::all(), ends::all()]
        .into_iter()
        .flatten()
        .collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

impl Vector {
    /// Every file of the vector, by its path.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for (number, file) in self.files.segments.iter().enumerate() {
            files.extend(file.clone().map(|file| (format!("seg-{number:020}.jsonl"), file)));
        }
        files.extend(self.files.head.clone().map(|head| ("head".to_owned(), head)));
        files.extend(
            self.files
                .checkpoints
                .clone()
                .map(|notes| ("checkpoints".to_owned(), notes)),
        );
        files.extend(
            self.held
                .trusted
                .map(|trusted| ("trusted".to_owned(), trusted().into_bytes())),
        );
        files.extend(
            self.held
                .state
                .then(|| ("key-state".to_owned(), self.writer.key_state())),
        );
        files.insert("expected.json".to_owned(), self.expected());
        files
    }

    fn expected(&self) -> Vec<u8> {
        let held: Vec<&str> = [
            ("pub", self.held.public),
            ("key", self.held.key),
            ("trusted", self.held.trusted.is_some()),
            ("state", self.held.state),
        ]
        .into_iter()
        .filter_map(|(name, is_held)| is_held.then_some(name))
        .collect();
        let text = json!({
            "about": self.about,
            "with": held,
            "verdict": self.verdict,
            "violation": self.violation.map_or(Value::Null, Value::from),
        });
        format!("{text:#}\n").into_bytes()
    }

    fn judge(&self, auditor: &Auditor) -> Report {
        let trusted = self.held.trusted.map(|trusted| trusted());
        let with = With {
            public: self.held.public,
            key: self.held.key,
            trusted: trusted.as_deref(),
            state: self.held.state.then_some(&self.writer),
        };
        auditor.judge(&self.files, with)
    }
}

#[test]
fn each_vector_is_judged_as_it_says() {
    let auditor = closed_log().0;
    for vector in all() {
        let report = vector.judge(&auditor);
        assert_eq!(
            report.verdict.word(),
            vector.verdict,
            "{}: {report:#?}",
            vector.name
        );
        match vector.violation {
            Some(code) => assert!(codes(&report).contains(&code), "{}: {report:#?}", vector.name),
            None => assert_eq!(codes(&report), Vec::<&str>::new(), "{}", vector.name),
        }
    }
}

#[test]
fn there_is_a_vector_for_each_violation() {
    let named: Vec<_> = all().into_iter().filter_map(|vector| vector.violation).collect();
    for violation in Violation::ALL {
        // Of a series, there is no single log.
        let is_of_series = violation.code().starts_with("SERIES_");
        assert!(
            is_of_series || named.contains(&violation.code()),
            "{}",
            violation.code()
        );
    }
    let mut names: Vec<_> = all().into_iter().map(|vector| vector.name).collect();
    let number = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), number);
}

/// What is made here against what is in the tree; with [`ADD`], what is missing there is written first.
#[test]
fn the_vectors_in_the_tree_are_these() {
    let host = Host::new(1);
    let mut wanted = BTreeMap::new();
    wanted.insert(
        "keys/verification.key".to_owned(),
        host.verification_key().into_bytes(),
    );
    wanted.insert("keys/host.pub".to_owned(), host.public_key().into_bytes());
    for vector in all() {
        wanted.extend(
            vector
                .files()
                .into_iter()
                .map(|(file, bytes)| (format!("{}/{file}", vector.name), bytes)),
        );
    }
    if env::var_os(ADD).is_some() {
        for (name, bytes) in &wanted {
            let path = directory().join(name);
            if !path.exists() {
                fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
                fs::write(&path, bytes).expect("a file");
                eprintln!("added {name}");
            }
        }
    }
    let mut found = files_below(&directory(), "");
    for ours in ["README.md", ".gitattributes"] {
        found.remove(ours);
    }
    let (wanted_names, found_names): (Vec<_>, Vec<_>) = (wanted.keys().collect(), found.keys().collect());
    assert_eq!(
        found_names, wanted_names,
        "run `cargo xtask vectors` to add what is missing; remove by hand what is too much"
    );
    for (name, bytes) in &wanted {
        assert!(
            found[name] == *bytes,
            "tests/vectors/{name} is not what is made any more: a vector never changes silently. If the format really \
             changed, remove the file by hand and run `cargo xtask vectors`"
        );
    }
}

fn files_below(directory: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return files;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path(), &format!("{name}/")));
        } else {
            files.insert(name, fs::read(entry.path()).expect("a file"));
        }
    }
    files
}
