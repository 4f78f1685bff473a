//! Bytes that nobody wrote on purpose: no input makes a reader of evidence panic, hang, or call changed bytes good.
//!
//! A mutation fuzzer of our own, without coverage: the same seed gives the same inputs. It starts from the vectors and
//! from `tests/fuzz/corpus`. Here it runs for a moment; `cargo xtask fuzz` runs it for minutes, with a new seed.

#[path = "fuzz/mutate.rs"]
mod mutate;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use rei::format::{Note, Token, leaf, read_line, read_vkey, split_file, write_line};
use rei::keys::derive::VerificationKey;
use rei::keys::entry::Entry;
use rei::verify::{HostKey, HostState, Key, Request, SeriesCheck, Verdict, verify};

use mutate::Mutator;

/// Seconds for each target; set by `cargo xtask fuzz`.
const SECONDS: &str = "REI_FUZZ_SECONDS";
/// The seed; set by `cargo xtask fuzz`.
const SEED: &str = "REI_FUZZ_SEED";
/// How long a target runs within the tests.
const SMOKE: Duration = Duration::from_secs(2);
/// No input may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

/// The files of the corpus whose path holds this word.
fn corpus(word: &str) -> Vec<Vec<u8>> {
    let mut pending = vec![tests().join("vectors"), tests().join("fuzz/corpus")];
    let mut files = Vec::new();
    while let Some(directory) = pending.pop() {
        let mut entries: Vec<_> = fs::read_dir(directory)
            .expect("the corpus")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().contains(word) {
                files.push(fs::read(path).expect("a file"));
            }
        }
    }
    assert!(!files.is_empty(), "no file of the corpus is called {word}");
    files
}

/// Tries mutated inputs until the time is over. An input that fails is kept in a file.
fn fuzz(target: &str, corpus: &[Vec<u8>], mut check: impl FnMut(&[u8])) {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number(SEED).unwrap_or(1);
    let time = number(SECONDS).map_or(SMOKE, Duration::from_secs);
    let mut mutator = Mutator::new(seed);
    let (started, mut inputs) = (Instant::now(), 0_u64);
    let kept = env::temp_dir().join(format!("rei-fuzz-{target}-{}", std::process::id()));
    for input in corpus {
        check(input);
    }
    while started.elapsed() < time {
        let input = mutator.mutate(corpus);
        let began = Instant::now();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&input)));
        let is_slow = began.elapsed() > PATIENCE;
        if outcome.is_err() || is_slow {
            fs::write(&kept, &input).expect("a file");
            panic!("{target}: input {inputs} of seed {seed} (slow: {is_slow}) is kept in {kept:?}");
        }
        inputs += 1;
    }
    eprintln!("{target}: {inputs} inputs, seed {seed}");
}

/// Otherwise the mutations of bodies begin with what is refused at once.
#[test]
fn the_corpus_holds_a_line_of_each_kind() {
    let file = fs::read(tests().join("fuzz/corpus/kinds.jsonl")).expect("a file");
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let kinds: Vec<String> = lines
        .map(|line| {
            let read =
                read_line(line).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)));
            read.1.kind().to_owned()
        })
        .collect();
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

/// A line that is taken is written again with the same bytes.
#[test]
fn line() {
    let lines: Vec<Vec<u8>> = corpus("jsonl")
        .iter()
        .flat_map(|file| {
            file.split(|byte| *byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        })
        .filter(|line| line.len() < 5000)
        .collect();
    let mut taken = 0;
    fuzz("line", &lines, |input| {
        if let Ok((place, body)) = read_line(input) {
            assert_eq!(write_line(&place, &body).expect("it was short"), input);
            taken += 1;
        }
    });
    assert!(taken > 0, "no input is a line: nothing was tried");
}

/// Small texts: notes, tokens, keys, entries.
#[test]
fn texts() {
    let mut texts = corpus("checkpoints");
    for word in ["head", "verification.key", "host.pub", "entry", "trusted"] {
        texts.extend(corpus(word));
    }
    fuzz("texts", &texts, |input| {
        let text = String::from_utf8_lossy(input);
        if let Some(note) = Note::read(&text) {
            let again = Note::write(&note.checkpoint, &note.signatures);
            assert_eq!(Note::read(&again), Some(note), "what was read is read again");
        }
        if let Some((token, _)) = split_file(input)
            && let Some(read) = Token::read(token.as_bytes())
        {
            assert_eq!(read.bytes(), token.as_bytes());
        }
        let _ = read_vkey(&text);
        let _ = HostKey::read(input);
        let _ = VerificationKey::read(input);
        let _ = Entry::read(input);
    });
}

/// A whole log: whatever one of its files says, the verifier ends, and a changed segment is never called good.
#[test]
fn log() {
    let vector = tests().join("vectors/honest-closed");
    let keys = tests().join("vectors/keys");
    let key = fs::read(keys.join("verification.key")).expect("a key");
    let key = VerificationKey::read(&key).expect("a key");
    let host = HostKey::read(&fs::read(keys.join("host.pub")).expect("a key")).expect("a key");
    let names = [
        "seg-00000000000000000000.jsonl",
        "seg-00000000000000000001.jsonl",
        "head",
        "checkpoints",
    ];
    let honest: Vec<Vec<u8>> = names
        .iter()
        .map(|name| fs::read(vector.join(name)).expect("a file"))
        .collect();
    let directory = tempfile::tempdir().expect("a directory");
    let put = |at: usize, bytes: &[u8]| fs::write(directory.path().join(names[at]), bytes).expect("a file");
    (0..names.len()).for_each(|at| put(at, &honest[at]));
    let request = Request {
        key: Some(Key::Series(&key)),
        host: Some(&host),
        trusted: None,
        log: None,
        keys: HostState::Ignored,
    };
    let mut turn = 0;
    fuzz("log", &honest, |input| {
        turn = (turn + 1) % names.len();
        put(turn, input);
        let report = verify(directory.path(), &request);
        serde_json::to_string(&report).expect("JSON");
        let is_segment = turn < 2;
        if is_segment && leaf(input) != leaf(&honest[turn]) {
            assert_ne!(report.verdict, Verdict::Ok, "{report:#?}");
        }
        put(turn, &honest[turn]);
    });
    assert_eq!(verify(directory.path(), &request).verdict, Verdict::Ok);
}

/// The list of a series.
#[test]
fn series() {
    let key = fs::read(tests().join("vectors/keys/verification.key")).expect("a key");
    let key = VerificationKey::read(&key).expect("a key");
    let directory = tempfile::tempdir().expect("a directory");
    fuzz("series", &corpus("entry"), |input| {
        fs::write(directory.path().join("series.log"), input).expect("a file");
        let mut check = SeriesCheck::new(&key);
        let _ = check.add_host(directory.path());
        let _ = check.report();
    });
}
