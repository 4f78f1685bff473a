//! The files of a log, in memory: what an attacker changes, and what a verifier is shown.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rei::keys::derive::VerificationKey;
use rei::verify::{HostKey, HostState, Key, Report, Request, verify};
use tempfile::TempDir;

use crate::writer::{Host, Writer, hex, root, sha256};

/// The files of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// By number; a segment may be missing.
    pub(crate) segments: Vec<Option<Vec<u8>>>,
    pub(crate) head: Option<Vec<u8>>,
    pub(crate) checkpoints: Option<Vec<u8>>,
}

impl Files {
    /// The lines of a segment, without line feeds.
    pub(crate) fn lines(&self, segment: usize) -> Vec<String> {
        let file = self.segments[segment].as_ref().expect("the segment");
        let text = String::from_utf8(file.clone()).expect("text");
        let whole = text.strip_suffix('\n').unwrap_or(&text);
        whole.split('\n').map(str::to_owned).collect()
    }

    pub(crate) fn set_lines(&mut self, segment: usize, lines: &[String]) {
        self.segments[segment] = Some(
            lines
                .iter()
                .flat_map(|line| [line, "\n"])
                .collect::<String>()
                .into_bytes(),
        );
    }

    /// Changes one line.
    pub(crate) fn edit(&mut self, segment: usize, line: usize, change: impl FnOnce(&str) -> String) {
        let mut lines = self.lines(segment);
        let changed = change(&lines[line]);
        assert_ne!(changed, lines[line], "the edit changes nothing");
        lines[line] = changed;
        self.set_lines(segment, &lines);
    }

    /// Every hash that needs no key, made right again: chain, roots; and if wished, numbers of lines, of seals, and
    /// counts of lines in seals.
    pub(crate) fn rechain(&mut self, genesis: [u8; 32], numbers: Numbers) {
        let mut leaves = Vec::new();
        let mut previous = genesis;
        for segment in 0..self.segments.len() {
            let Some(_) = self.segments[segment] else { continue };
            let (mut lines, mut epoch, mut count) = (self.lines(segment), 0, 0);
            for line in &mut lines {
                put(line, "\"p\":\"", &hex(&previous));
                if numbers != Numbers::Kept {
                    put_number(line, "\"seq\":", leaves.len());
                }
                if line.contains("\"k\":\"seal\"") {
                    put(line, "\"r\":\"", &hex(&root(&leaves)));
                    if numbers != Numbers::Kept {
                        put_number(line, "\"n\":", count);
                    }
                    if numbers == Numbers::All {
                        put_number(line, "\"e\":", epoch);
                    }
                    (epoch, count) = (epoch + 1, 0);
                } else {
                    count += 1;
                }
                previous = sha256(&[&[0], line.as_bytes()]);
                leaves.push(previous);
            }
            self.set_lines(segment, &lines);
        }
    }

    /// Puts them into a directory.
    pub(crate) fn write(&self, directory: &Path) {
        fs::create_dir_all(directory).expect("a directory");
        for (number, file) in self.segments.iter().enumerate() {
            let path = directory.join(format!("seg-{number:020}.jsonl"));
            match file {
                Some(bytes) => fs::write(path, bytes).expect("a file"),
                None => drop(fs::remove_file(path)),
            }
        }
        for (name, file) in [("head", &self.head), ("checkpoints", &self.checkpoints)] {
            match file {
                Some(bytes) => fs::write(directory.join(name), bytes).expect("a file"),
                None => drop(fs::remove_file(directory.join(name))),
            }
        }
    }
}

/// Which numbers [`Files::rechain`] makes right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// None.
    Kept,
    /// Of lines, and of lines in a batch.
    Lines,
    /// These, and of seals.
    All,
}

fn put(line: &mut String, key: &str, value: &str) {
    let at = line.find(key).expect("the key") + key.len();
    line.replace_range(at..at + value.len(), value);
}

fn put_number(line: &mut String, key: &str, value: usize) {
    let at = line.find(key).expect("the key") + key.len();
    let end = at + line[at..].find(|c: char| !c.is_ascii_digit()).expect("its end");
    line.replace_range(at..end, &value.to_string());
}

/// What the auditor holds.
pub(crate) struct Auditor {
    key: VerificationKey,
    host: HostKey,
}

/// What of it is used.
#[derive(Clone, Copy, Default)]
pub(crate) struct With<'a> {
    pub(crate) public: bool,
    pub(crate) key: bool,
    pub(crate) trusted: Option<&'a str>,
    /// The key state of the host that this writer works on.
    pub(crate) state: Option<&'a Writer>,
}

/// Nothing at all.
pub(crate) const L0: With<'static> = With {
    public: false,
    key: false,
    trusted: None,
    state: None,
};
/// The host's public key.
pub(crate) const L1: With<'static> = With { public: true, ..L0 };
/// The public key and the verification key.
pub(crate) const L2: With<'static> = With { key: true, ..L1 };

impl Auditor {
    /// Of a host that has no log yet.
    pub(crate) fn of(host: &Host) -> Self {
        Auditor {
            key: VerificationKey::read(host.verification_key().as_bytes()).expect("a key"),
            host: HostKey::read(host.public_key().as_bytes()).expect("a key"),
        }
    }

    pub(crate) fn judge(&self, files: &Files, with: With<'_>) -> Report {
        let scratch = Scratch::new();
        files.write(&scratch.log());
        self.judge_in(&scratch, with)
    }

    pub(crate) fn judge_in(&self, scratch: &Scratch, with: With<'_>) -> Report {
        let keys = scratch.keys();
        if let Some(writer) = with.state {
            scratch.put_key_state(writer);
        }
        let request = Request {
            key: with.key.then_some(Key::Series(&self.key)),
            host: with.public.then_some(&self.host),
            trusted: with.trusted.map(str::as_bytes),
            log: None,
            keys: if with.state.is_some() {
                HostState::Expected(&keys)
            } else {
                HostState::Ignored
            },
        };
        verify(&scratch.log(), &request)
    }
}

/// A directory for one log and the keys of its host.
pub(crate) struct Scratch(TempDir);

impl Scratch {
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() {
            TempDir::new_in(memory)
        } else {
            TempDir::new()
        };
        Scratch(made.expect("a temporary directory"))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.path().join("log")
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.0.path().join("keys")
    }

    fn put_key_state(&self, writer: &Writer) {
        fs::create_dir_all(self.keys()).expect("a directory");
        let path = self.keys().join(hex(&writer.log));
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(path)
            .expect("a file");
        file.write_all(&writer.key_state()).expect("written");
    }
}

/// The codes of a report's violations, sorted.
pub(crate) fn codes(report: &Report) -> Vec<&'static str> {
    let mut codes: Vec<_> = report
        .violations
        .entries()
        .iter()
        .map(|found| found.code.code())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
