//! Findings: what a tripwire or the gate objected to, the same one counted and not repeated.

use std::collections::HashMap;
use std::fmt::Write as _;

use rei_ebpf_common::header::EventKind;

use crate::enrich::{Access, AccessSet, Confidence, Origin};
use crate::judge::{Ancestor, FindingKey, Judged, Objection};
use crate::policy::Severity;
use crate::quote::shorten;
use crate::report::line::Line;

/// Most findings that are kept apart.
const FINDINGS_MAX: usize = 10_000;
/// Most bytes of names in them.
const NAME_BYTES_MAX: usize = 4 << 20;
/// Columns of names in a person's line.
const NAME_COLUMNS: usize = 40;

/// One finding.
#[derive(Clone, Debug)]
struct Finding {
    order: usize,
    is_gates: bool,
    hint: Option<String>,
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
    kept: HashMap<FindingKey<Vec<u8>>, Finding>,
    name_bytes: usize,
    not_kept_apart: u64,
    worst: Option<Severity>,
}

impl Findings {
    pub(super) fn add(&mut self, judged: &Judged) {
        let Some(verdict) = judged.verdict() else { return };
        let Some(severity) = verdict.severity else { return };
        self.worst = self.worst.max(Some(severity));
        for objection in verdict.objections(judged.enriched().outcome()) {
            self.note(judged, &objection);
        }
    }

    fn note(&mut self, judged: &Judged, objection: &Objection<'_>) {
        let enriched = judged.enriched();
        let header = enriched.event().header();
        let found = enriched.object();
        let name = found.name.unwrap_or(super::account::NAMELESS);
        let key = FindingKey::new(
            objection,
            (header.scope, enriched.event().kind()),
            name.to_vec(),
            enriched.program().map(<[u8]>::to_vec),
            <[u8]>::to_vec,
        );
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
            is_gates: objection.is_gates,
            hint: objection.hint.as_deref().map(str::to_owned),
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
    fn in_order(&self) -> Vec<(&FindingKey<Vec<u8>>, &Finding)> {
        let mut findings: Vec<(&FindingKey<Vec<u8>>, &Finding)> = self.kept.iter().collect();
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

/// `I1 write /tmp/x (upper) by /bin/sh ×3`
fn sentence(key: &FindingKey<Vec<u8>>, finding: &Finding) -> String {
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
    if let Some(errno) = &key.attempted {
        let _ = write!(words, " attempted, {errno}");
    }
    if let Some(program) = &key.program {
        let _ = write!(words, " by {}", shorten(program, 24));
    }
    if finding.count > 1 {
        let _ = write!(words, " ×{}", finding.count);
    }
    if let Some(hint) = &finding.hint {
        let _ = write!(words, ": {hint}");
    }
    words
}

fn write_finding(object: &mut Line, key: &FindingKey<Vec<u8>>, finding: &Finding) {
    object.text("severity", key.severity.name());
    object.text(if finding.is_gates { "rule" } else { "tripwire" }, &key.cause);
    object.text("why", &key.why);
    if let Some(hint) = &finding.hint {
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
    if let Some(errno) = &key.attempted {
        object.boolean("attempted", true);
        object.text("errno", errno);
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
