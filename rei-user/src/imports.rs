//! Who may import whom: the corridor goes one way, and this test holds it to that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each module, and what it may take from others in code that is not a test. The corridor first, in its order; a room
/// takes what rooms to its left give, and helpers. Rows of rooms that are still to come stand here already.
const MAY_IMPORT: [(&str, &[&str]); 35] = [
    ("attach", &["btf", "cgroup"]),
    ("ring", &["sys"]),
    ("decode", &[]),
    ("identity", &["cgroup", "decode", "engine"]),
    ("enrich", &["decode", "engine"]),
    (
        "judge",
        &[
            "decode", "engine", "enrich", "found", "gate", "policy", "tripwire",
        ],
    ),
    (
        "report",
        &[
            "attach", "coverage", "decode", "engine", "enrich", "format", "found", "gate", "judge", "policy",
            "quote", "tripwire",
        ],
    ),
    (
        "fold",
        &[
            "attach", "coverage", "decode", "engine", "enrich", "format", "found", "gate", "judge", "policy",
            "tripwire",
        ],
    ),
    ("seal", &["format", "keys"]),
    ("log", &["disk", "format", "keys", "seal"]),
    (
        "ledger",
        &[
            "attach", "decode", "engine", "fold", "format", "found", "judge", "log", "seal",
        ],
    ),
    ("export", &["format", "quote", "verify"]),
    // Beside the corridor.
    ("btf", &[]),
    ("cgroup", &[]),
    ("cidr", &[]),
    ("coverage", &["attach"]),
    ("disk", &[]),
    ("engine", &["cgroup"]),
    ("format", &[]),
    ("found", &["engine", "glob", "image", "policy"]),
    ("gate", &["cidr", "glob", "paths"]),
    ("glob", &[]),
    ("image", &["engine"]),
    ("keys", &["disk", "format", "sys"]),
    ("output", &[]),
    ("paths", &["glob"]),
    ("policy", &["cidr", "enrich", "gate", "glob", "quote"]),
    ("quote", &[]),
    ("sys", &[]),
    (
        "tripwire",
        &["cidr", "enrich", "found", "glob", "paths", "policy", "quote"],
    ),
    // The second building: the format, the keys and the reading half of the log.
    ("verify", &["format", "keys", "log"]),
    // What wires the rooms.
    ("cli", &["attach", "enrich", "fold", "format", "keys", "policy"]),
    (
        "recorder",
        &[
            "attach", "coverage", "decode", "engine", "enrich", "found", "identity", "judge", "ledger",
            "log", "policy", "report", "tripwire",
        ],
    ),
    ("commands", &["*"]),
    ("lib", &[]),
];

/// Modules that know nothing of the kernel side: neither its bytes nor how it is loaded.
const WITHOUT_KERNEL: [&str; 14] = [
    "gate", "policy", "tripwire", "format", "keys", "seal", "log", "verify", "export", "glob", "paths",
    "cidr", "quote", "output",
];

/// A file of the crate: its path below `src` and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many times `super` leads from here to the crate's root.
    fn depth(&self) -> usize {
        let names = self.path.split('/').count();
        names - usize::from(self.path.ends_with("/mod.rs"))
    }

    /// Without comments and without the test module, which stands last.
    fn code(&self) -> String {
        let text = self
            .text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// Modules of the crate that the code names.
    fn imports(&self, modules: &BTreeSet<String>) -> BTreeSet<String> {
        let code = self.code();
        let root_by_super = "super::".repeat(self.depth());
        let mut names = named_after(&code, "crate::");
        names.extend(
            named_after(&code, &root_by_super)
                .into_iter()
                .filter(|name| modules.contains(name)),
        );
        names.remove(self.module());
        names
    }
}

/// The names that follow `prefix`; of a group in braces, the first name of each path in it.
fn named_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        if code[..at].ends_with(is_part) || (prefix != "crate::" && code[..at].ends_with("super::")) {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(in_group(group)),
            None => names.extend(first_name(rest)),
        }
    }
    names
}

fn first_name(text: &str) -> Option<String> {
    let text = text.trim_start();
    if text.starts_with('*') {
        return Some("*".to_owned());
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The first name of each path of a group whose opening brace is behind.
fn in_group(text: &str) -> Vec<String> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut names = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                names.extend(first_name(&text[start..at]));
                break;
            }
            ',' if depth == 0 => {
                names.extend(first_name(&text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// Files of modules that exist in tests only.
fn is_of_tests(path: &str, all: &[Source]) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    if path.contains("tests/") || name == "tests.rs" {
        return true;
    }
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let parents = match dir {
        "" => ["lib.rs".to_owned(), "main.rs".to_owned()],
        dir => [format!("{dir}/mod.rs"), format!("{dir}.rs")],
    };
    let is_declared = |source: &Source| {
        ["mod", "pub(crate) mod"]
            .iter()
            .any(|word| source.text.contains(&format!("#[cfg(test)]\n{word} {stem};")))
    };
    all.iter()
        .any(|source| parents.contains(&source.path) && is_declared(source))
}

/// What is wrong with the imports of these files, in words.
fn faults(sources: &[Source]) -> Vec<String> {
    let table: BTreeMap<&str, &[&str]> = MAY_IMPORT.into_iter().collect();
    let modules: BTreeSet<String> = sources.iter().map(|source| source.module().to_owned()).collect();
    let mut faults = Vec::new();
    for source in sources
        .iter()
        .filter(|source| !is_of_tests(&source.path, sources))
    {
        let Some(allowed) = table.get(source.module()) else {
            faults.push(format!("{}: give the module a row in MAY_IMPORT", source.path));
            continue;
        };
        for import in source.imports(&modules) {
            if !allowed.contains(&"*") && !allowed.contains(&import.as_str()) {
                faults.push(format!(
                    "{}: {} may not import {import}",
                    source.path,
                    source.module()
                ));
            }
        }
        let code = source.code();
        for kernel in ["rei_ebpf_common::", "aya::", "aya_log::"] {
            if WITHOUT_KERNEL.contains(&source.module()) && code.contains(kernel) {
                faults.push(format!(
                    "{}: {} may not use {kernel}",
                    source.path,
                    source.module()
                ));
            }
        }
    }
    faults
}

/// Every file below `src` but the program's.
fn sources(dir: &Path, root: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let below = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { path: below, text });
        }
    }
}

fn of_the_crate() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &root, &mut found);
    found.retain(|source| source.path != "main.rs");
    found
}

#[test]
fn every_module_imports_only_what_it_may() {
    let sources = of_the_crate();
    let modules: BTreeSet<&str> = sources.iter().map(Source::module).collect();
    for room in [
        "decode", "enrich", "judge", "report", "gate", "policy", "commands",
    ] {
        assert!(modules.contains(room), "{room} was not looked at");
    }
    let faults = faults(&sources);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_has_no_way_back() {
    let table: BTreeMap<&str, &[&str]> = MAY_IMPORT.into_iter().collect();
    assert_eq!(table.len(), MAY_IMPORT.len(), "a module has two rows");
    let mut left: BTreeSet<&str> = table.keys().copied().collect();
    while !left.is_empty() {
        let free = |name: &&&str| table[**name].iter().all(|other| !left.contains(other));
        let done: Vec<&str> = left.iter().filter(free).copied().collect();
        assert!(!done.is_empty(), "a cycle among {left:?}");
        left.retain(|name| !done.contains(name));
    }
    for name in MAY_IMPORT.iter().flat_map(|(_, others)| others.iter()) {
        assert!(
            *name == "*" || table.contains_key(name),
            "{name} is imported and has no row"
        );
        assert_ne!(*name, "commands");
    }
}

/// What the test says of a crate that has these files besides.
fn faults_with(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources = of_the_crate();
    for (path, text) in files {
        sources.push(Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        });
    }
    faults(&sources)
}

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    for (path, text, fault) in [
        (
            "gate/x.rs",
            "use crate::policy::Policy;",
            "gate may not import policy",
        ),
        (
            "gate/x.rs",
            "use crate::enrich::Act;",
            "gate may not import enrich",
        ),
        (
            "gate/x.rs",
            "use crate::{\n    glob::{Glob, Variable},\n    policy,\n};",
            "gate may not import policy",
        ),
        (
            "gate/x.rs",
            "use super::super::policy::Policy;",
            "gate may not import policy",
        ),
        ("gate/mod.rs", "use super::policy;", "gate may not import policy"),
        (
            "gate/x.rs",
            "fn f(_: &crate::judge::Judged) {}",
            "gate may not import judge",
        ),
        ("gate/x.rs", "use crate::*;", "gate may not import *"),
        (
            "gate/x.rs",
            "use rei_ebpf_common::header::Phase;",
            "gate may not use rei_ebpf_common::",
        ),
        (
            "decode.rs",
            "use crate::enrich::Act;",
            "decode may not import enrich",
        ),
        (
            "enrich/x.rs",
            "use crate::judge::Judge;",
            "enrich may not import judge",
        ),
        (
            "judge/x.rs",
            "use crate::report::Report;",
            "judge may not import report",
        ),
        (
            "report/x.rs",
            "use crate::commands::Failure;",
            "report may not import commands",
        ),
        (
            "verify.rs",
            "use crate::seal::Sealer;",
            "verify may not import seal",
        ),
        (
            "verify/x.rs",
            "use crate::enrich::Act;",
            "verify may not import enrich",
        ),
        (
            "seal.rs",
            "use crate::judge::Judged;",
            "seal may not import judge",
        ),
        (
            "format/x.rs",
            "use crate::keys::Key;",
            "format may not import keys",
        ),
        ("newroom.rs", "", "give the module a row in MAY_IMPORT"),
    ] {
        assert_eq!(
            faults_with(&[(path, text)]),
            [format!("{path}: {fault}")],
            "{text}"
        );
    }
}

#[test]
fn what_is_allowed_or_only_for_tests_is_no_fault() {
    for (path, text) in [
        ("verify.rs", "use crate::{format, keys};\nuse crate::log::Reader;"),
        ("seal/mod.rs", "use crate::format::Line;\nuse crate::keys::Key;"),
        ("log.rs", "use crate::format::Line;"),
        (
            "gate/x.rs",
            "// use crate::policy::Policy;\nuse super::rule::Rule;",
        ),
        (
            "gate/x.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::policy::Policy;\n}",
        ),
        ("gate/tests/x.rs", "use crate::policy::Policy;"),
        (
            "commands/x.rs",
            "use crate::report::Report;\nuse crate::gate::SafetyGate;",
        ),
        (
            "gate/x.rs",
            "use other_crate::policy::Policy;\nuse super::policy::Policy;",
        ),
    ] {
        let none: [&str; 0] = [];
        assert_eq!(faults_with(&[(path, text)]), none, "{path} {text}");
    }
}
