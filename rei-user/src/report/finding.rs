//! Findings: what a tripwire or the gate objected to, the same one counted and not repeated.

use std::collections::HashMap;
use std::fmt::Write as _;

use rei_ebpf_common::header::EventKind;

use crate::enrich::{Access, AccessSet, Act, Confidence, Enriched, Errno, File, Origin};
use crate::judge::{Ancestor, Judged};
use crate::policy::Severity;
use crate::quote::shorten;
use crate::report::line::Line;

/// Most findings that are kept apart.
const FINDINGS_MAX: usize = 10_000;
/// Most bytes of names in them.
const NAME_BYTES_MAX: usize = 4 << 20;
/// What stands for all files of Python's caches: one finding, not one for each module.
const PYTHON_CACHES: &[u8] = b"**/__pycache__/*";
/// Columns of names in a person's line.
const NAME_COLUMNS: usize = 40;

/// What makes two findings the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    scope: u64,
    severity: Severity,
    /// `I1`, `I2`, `I3`, or the gate's rule.
    cause: String,
    kind: EventKind,
    object: Vec<u8>,
    why: String,
    attempted: Option<Errno>,
    program: Option<Vec<u8>>,
}

/// One finding.
#[derive(Clone, Debug)]
struct Finding {
    order: usize,
    is_gates: bool,
    hint: Option<&'static str>,
    container: Option<String>,
    /// The first object, where the finding stands for several.
    first_object: Vec<u8>,
    access: AccessSet,
    origin: Option<Origin>,
    confidence: Confidence,
    pid: u32,
    start_ns: u64,
    ancestors: Vec<Ancestor>,
    count: u64,
    first_boot_ns: u64,
    last_boot_ns: u64,
}

/// All findings of a run, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: HashMap<Key, Finding>,
    name_bytes: usize,
    not_kept_apart: u64,
    worst: Option<Severity>,
}

impl Findings {
    pub(super) fn add(&mut self, judged: &Judged) {
        let Some(verdict) = judged.verdict() else { return };
        let Some(severity) = verdict.severity else { return };
        self.worst = self.worst.max(Some(severity));
        let gates = verdict.objection_severity();
        // In unsafe mode tripwires are recorded and are no findings.
        if verdict.is_judged_by_tripwires {
            for trip in &verdict.answer.trips {
                self.note(
                    judged,
                    Severity::Tripped,
                    trip.wire.name(),
                    &trip.why,
                    trip.attempted,
                    trip.hint,
                    false,
                );
            }
        }
        if let (Some(severity), Some(decision)) = (gates, verdict.objection()) {
            let note = decision.note.as_deref().unwrap_or("the rule says so");
            let enriched = judged.enriched();
            let attempted = match enriched.outcome() {
                crate::enrich::Outcome::Failed(errno) => Some(errno),
                _ => None,
            };
            self.note(judged, severity, &decision.rule_name, note, attempted, None, true);
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is one field of the finding, named where it is read"
    )]
    fn note(
        &mut self,
        judged: &Judged,
        severity: Severity,
        cause: &str,
        why: &str,
        attempted: Option<Errno>,
        hint: Option<&'static str>,
        is_gates: bool,
    ) {
        let enriched = judged.enriched();
        let header = enriched.event().header();
        let found = object(enriched);
        let name = found.name.unwrap_or(super::account::NAMELESS);
        let key = Key {
            scope: header.scope,
            severity,
            cause: cause.to_owned(),
            kind: enriched.event().kind(),
            object: if hint.is_some() { PYTHON_CACHES } else { name }.to_vec(),
            why: why.to_owned(),
            attempted,
            program: enriched.program().map(<[u8]>::to_vec),
        };
        if let Some(finding) = self.kept.get_mut(&key) {
            finding.count += 1;
            finding.last_boot_ns = header.boot_ns;
            finding.access = finding.access.iter().chain(found.access.iter()).collect();
            return;
        }
        let bytes = key.object.len() + key.program.as_ref().map_or(0, Vec::len) + name.len();
        if self.kept.len() >= FINDINGS_MAX || self.name_bytes + bytes > NAME_BYTES_MAX {
            self.not_kept_apart += 1;
            return;
        }
        self.name_bytes += bytes;
        let finding = Finding {
            order: self.kept.len(),
            is_gates,
            hint,
            container: enriched.container().map(str::to_owned),
            first_object: name.to_vec(),
            access: found.access,
            origin: found.origin.cloned(),
            confidence: enriched.confidence(),
            pid: header.pid,
            start_ns: header.start_ns,
            ancestors: judged.ancestors().to_vec(),
            count: 1,
            first_boot_ns: header.boot_ns,
            last_boot_ns: header.boot_ns,
        };
        self.kept.insert(key, finding);
    }

    /// The worst severity of all; `None` if there are no findings.
    pub(super) fn worst(&self) -> Option<Severity> {
        self.worst
    }

    /// Findings that were counted only.
    pub(super) fn not_kept_apart(&self) -> u64 {
        self.not_kept_apart
    }

    /// The worst first, then in the order of first sight.
    fn in_order(&self) -> Vec<(&Key, &Finding)> {
        let mut findings: Vec<(&Key, &Finding)> = self.kept.iter().collect();
        findings.sort_unstable_by_key(|(key, finding)| (std::cmp::Reverse(key.severity), finding.order));
        findings
    }

    /// `3 tripped, 1 blocked`
    pub(super) fn counts(&self) -> String {
        let mut words = Vec::new();
        for severity in Severity::ALL.into_iter().rev() {
            let count = self.kept.keys().filter(|key| key.severity == severity).count();
            if count > 0 {
                words.push(format!("{count} {}", severity.name()));
            }
        }
        if self.not_kept_apart > 0 {
            words.push(format!("{} more events counted only", self.not_kept_apart));
        }
        words.join(", ")
    }

    /// One line for a person for each finding.
    pub(super) fn sentences(&self) -> Vec<String> {
        self.in_order()
            .into_iter()
            .map(|(key, finding)| sentence(key, finding))
            .collect()
    }

    /// The array `findings` of the last line.
    pub(super) fn write(&self, line: &mut Line) {
        line.objects("findings", self.in_order(), |object, (key, finding)| {
            write_finding(object, key, finding)
        });
    }
}

/// What an act is about.
struct Object<'a> {
    name: Option<&'a [u8]>,
    access: AccessSet,
    origin: Option<&'a Origin>,
}

fn object(enriched: &Enriched) -> Object<'_> {
    let (name, access, file) = match enriched.act() {
        Act::Open(opened) => (
            opened.path.as_deref().or(opened.text.best()),
            opened.access,
            opened.file.as_ref(),
        ),
        Act::Contact(contact) => (
            contact.address.as_deref(),
            AccessSet::default(),
            contact.file.as_ref(),
        ),
        Act::Exec(executed) => {
            let path = executed.file.as_ref().and_then(File::path);
            (
                executed.script.as_deref().or(path),
                AccessSet::default(),
                executed.file.as_ref(),
            )
        }
        Act::ExecAttempt(attempted) => {
            let name = attempted.path.as_deref().or(attempted.text.best());
            (name, AccessSet::default(), attempted.file.as_ref())
        }
        Act::Life => (None, AccessSet::default(), None),
    };
    Object {
        name,
        access,
        origin: file.map(File::origin),
    }
}

/// `I1 write /tmp/x (upper) by /bin/sh ×3`
fn sentence(key: &Key, finding: &Finding) -> String {
    let verb = match key.kind {
        EventKind::Open if finding.access.changes() => "write",
        EventKind::Open => "read",
        EventKind::ExecAttempt => "exec",
        kind => kind.name(),
    };
    let mut words = format!(
        "{} {verb} {}",
        shorten(key.cause.as_bytes(), NAME_COLUMNS),
        shorten(&key.object, NAME_COLUMNS)
    );
    if let Some(origin) = &finding.origin {
        let _ = write!(words, " ({})", shorten(origin.to_string().as_bytes(), 24));
    }
    if let Some(errno) = key.attempted {
        let _ = write!(words, " attempted, {errno}");
    }
    if let Some(program) = &key.program {
        let _ = write!(words, " by {}", shorten(program, 24));
    }
    if finding.count > 1 {
        let _ = write!(words, " ×{}", finding.count);
    }
    if let Some(hint) = finding.hint {
        let _ = write!(words, ": {hint}");
    }
    words
}

fn write_finding(object: &mut Line, key: &Key, finding: &Finding) {
    object.text("severity", key.severity.name());
    object.text(if finding.is_gates { "rule" } else { "tripwire" }, &key.cause);
    object.text("why", &key.why);
    if let Some(hint) = finding.hint {
        object.text("hint", hint);
    }
    object.text("kind", key.kind.name());
    object.bytes("object", &key.object);
    if finding.first_object != key.object {
        object.bytes("first_object", &finding.first_object);
    }
    if key.kind == EventKind::Open {
        object.texts("access", finding.access.iter().map(Access::name));
    }
    object.optional_text(
        "origin",
        finding.origin.as_ref().map(Origin::to_string).as_deref(),
    );
    object.text("confidence", finding.confidence.name());
    if let Some(errno) = key.attempted {
        object.boolean("attempted", true);
        object.text("errno", &errno.to_string());
    }
    object.number("scope", key.scope);
    object.optional_text("container", finding.container.as_deref());
    object.object("process", |process| {
        process.number("pid", finding.pid);
        process.number("start_ns", finding.start_ns);
        process.optional_bytes("program", key.program.as_deref());
    });
    object.objects("ancestors", &finding.ancestors, |object, ancestor| {
        object.number("pid", ancestor.pid);
        object.number("start_ns", ancestor.start_ns);
        object.optional_bytes("program", ancestor.program.as_deref());
    });
    object.number("count", finding.count);
    object.number("first_boot_ns", finding.first_boot_ns);
    object.number("last_boot_ns", finding.last_boot_ns);
}
