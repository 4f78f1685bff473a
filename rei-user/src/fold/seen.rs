//! [`Seen`]: what the fold looks at of an event, borrowed.
//!
//! It is made of a judged event or of the body of an `event` line. Both ways give the same: folding a log's
//! raw events again gives the same lines.

use std::borrow::Cow;

use rei_ebpf_common::header::{EventKind, task_flag};

use super::event::{
    self, NOTE_BYTES_MAX, ORIGIN_BYTES_MAX, RULE_BYTES_MAX, WHY_BYTES_MAX, ending, ground_words, process,
};
use super::name::{Name, brief};
use crate::decode::Body;
use crate::enrich::{Access, AccessSet, Origin, Outcome, moved_name, phase_name};
use crate::format::event::{Act, Event, Named, Trip, Verdict};
use crate::format::{Count, Ending, ProcessKey};
use crate::gate::NO_OBJECTION;
use crate::judge::{self, Judged, Objection};
use crate::policy::Severity;

/// The word for an act that nobody judged.
const NOT_JUDGED: &str = "not_judged";
/// The word for an act that is no finding.
const ALLOWED: &str = "allowed";
/// Most grounds of one decision: the three tripwires, a rule of the gate, and the ground on which no wire
/// fired.
const GROUNDS_MAX: usize = 5;

/// What the fold looks at of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen<'a> {
    pub(super) kind: EventKind,
    pub(super) boot_ns: u64,
    pub(super) scope: u64,
    pub(super) process: ProcessKey,
    pub(super) uid: Count,
    pub(super) gid: Count,
    pub(super) phase: &'a str,
    pub(super) program: Option<Name<'a>>,
    pub(super) is_present: bool,
    pub(super) object: Option<Name<'a>>,
    pub(super) access: Accesses<'a>,
    pub(super) origin: Option<Cow<'a, str>>,
    pub(super) outcome: Cow<'a, str>,
    pub(super) confidence: &'a str,
    pub(super) decision: &'a str,
    pub(super) by: Grounds<'a>,
    pub(super) objections: Vec<Objection<'a>>,
    pub(super) life: Life<'a>,
}

/// What was done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Accesses<'a> {
    /// An open's accesses; none where the kind says it all.
    Of(AccessSet),
    /// Where a process moved to.
    Move(&'a str),
}

impl<'a> Accesses<'a> {
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let (set, word) = match self {
            Accesses::Of(set) => (set, None),
            Accesses::Move(word) => (AccessSet::default(), Some(word)),
        };
        set.iter().map(|access| access.name()).chain(word)
    }
}

/// The grounds of a decision, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Grounds<'a>([Option<Cow<'a, str>>; GROUNDS_MAX]);

impl<'a> Grounds<'a> {
    /// One that is there already is not added.
    fn add(&mut self, ground: Cow<'a, str>) {
        for place in &mut self.0 {
            match place {
                Some(before) if *before == ground => return,
                Some(_) => {}
                None => {
                    *place = Some(ground);
                    return;
                }
            }
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(AsRef::as_ref)
    }
}

/// Beginnings and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life<'a> {
    /// Neither.
    Goes,
    /// A process was made.
    Fork(ProcessKey),
    /// The process ended.
    Exit(Ending),
    /// The process runs another program; the whole event tells which.
    Exec(&'a Event),
}

impl<'a> Seen<'a> {
    /// Of a judged event. `None` for an execution: its facts are many, and only the body of its line has them
    /// all.
    pub(super) fn of_judged(judged: &'a Judged) -> Option<Self> {
        let enriched = judged.enriched();
        let event = enriched.event();
        let header = event.header();
        let object = enriched.object();
        let mut seen = Seen {
            kind: event.kind(),
            boot_ns: header.boot_ns,
            scope: header.scope,
            process: process(header.pid, header.start_ns),
            uid: Count::new(header.uid.into()),
            gid: Count::new(header.gid.into()),
            phase: phase_name(event.phase()),
            program: enriched.program().map(Name::new),
            is_present: header.task_flags & task_flag::PRESENT_AT_ATTACH != 0,
            object: object.name.map(Name::new),
            access: Accesses::Of(object.access),
            origin: object.origin.map(origin_words),
            outcome: outcome_words(enriched.outcome()),
            confidence: enriched.confidence().name(),
            decision: NOT_JUDGED,
            by: Grounds::default(),
            objections: Vec::new(),
            life: Life::Goes,
        };
        match event.body() {
            Body::Exec(_) => return None,
            Body::Fork(fork) => seen.life = Life::Fork(process(fork.child_pid, fork.child_start_ns)),
            Body::Exit(exit) => seen.life = Life::Exit(ending(exit.status)),
            Body::TaskMoved(body) => {
                let word = moved_name(body.what);
                seen.access = word.map_or(Accesses::Of(AccessSet::default()), Accesses::Move);
            }
            Body::CgroupMade(_) | Body::CgroupRemoved(_) => {
                seen.object = event::cgroup_path(event).map(Name::new);
            }
            Body::Open(_) | Body::Connect(_) | Body::Send(_) | Body::ExecAttempt(_) => {}
        }
        if let Some(verdict) = judged.verdict() {
            seen.decision = verdict.severity.map_or(ALLOWED, Severity::name);
            seen.by = grounds(verdict);
            seen.objections = objections(verdict, enriched.outcome());
        }
        Some(seen)
    }

    /// Of the body of an `event` line. `is_safe`: tripwires make findings. `None` for a kind that this rei
    /// does not know.
    pub(super) fn of_event(event: &'a Event, is_safe: bool) -> Option<Self> {
        let kind = EventKind::ALL
            .into_iter()
            .find(|kind| kind.name() == event.kind)?;
        let written = |text, base64, field| Name::written(text, base64, field, &event.shortened);
        let program = written(event.program.as_ref(), event.program_b64.as_ref(), "program");
        let mut seen = Seen {
            kind,
            boot_ns: event.at.0,
            scope: event.scope.0,
            process: event.process,
            uid: event.uid,
            gid: event.gid,
            phase: &event.phase,
            program,
            is_present: event.flags.iter().any(|flag| flag == "present_at_attach"),
            object: None,
            access: Accesses::Of(AccessSet::default()),
            origin: event
                .file
                .as_ref()
                .map(|file| Cow::Borrowed(file.origin.as_str())),
            outcome: Cow::Borrowed(&event.outcome),
            confidence: &event.confidence,
            decision: NOT_JUDGED,
            by: Grounds::default(),
            objections: Vec::new(),
            life: Life::Goes,
        };
        match &event.act {
            Act::Open(named) => {
                seen.object = asked(event, named);
                seen.access = Accesses::Of(access_set(&named.access));
            }
            Act::Contact(contact) => {
                seen.object = written(contact.address.as_ref(), contact.address_b64.as_ref(), "address");
            }
            Act::Exec(executed) => {
                let script = executed.script.as_ref();
                seen.object = script
                    .and_then(|script| written(script.path.as_ref(), script.path_b64.as_ref(), "script"))
                    .or_else(|| path(event, &executed.name));
                seen.life = Life::Exec(event);
            }
            Act::ExecAttempt(attempted) => seen.object = asked(event, &attempted.name),
            Act::Fork(forked) => seen.life = Life::Fork(forked.child),
            Act::Exit(ending) => seen.life = Life::Exit(*ending),
            Act::Cgroup(cgroup) => {
                seen.object = written(cgroup.path.as_ref(), cgroup.path_b64.as_ref(), "path");
            }
            Act::Moved(moved) => {
                let word = moved.what.as_deref();
                seen.access = word.map_or(Accesses::Of(AccessSet::default()), Accesses::Move);
            }
        }
        if let Some(verdict) = &event.verdict {
            seen.decision = verdict.severity.as_deref().unwrap_or(ALLOWED);
            seen.by = written_grounds(verdict);
            seen.objections = written_objections(verdict, &event.outcome, is_safe);
        }
        Some(seen)
    }
}

fn path<'a>(event: &'a Event, named: &'a Named) -> Option<Name<'a>> {
    Name::written(
        named.path.as_ref(),
        named.path_b64.as_ref(),
        "path",
        &event.shortened,
    )
}

/// The path, or what was asked for where there is none.
fn asked<'a>(event: &'a Event, named: &'a Named) -> Option<Name<'a>> {
    let requested = (named.requested.as_ref(), named.requested_b64.as_ref());
    path(event, named).or_else(|| Name::written(requested.0, requested.1, "requested", &event.shortened))
}

fn access_set(names: &[String]) -> AccessSet {
    Access::ALL
        .into_iter()
        .filter(|access| names.iter().any(|name| name == access.name()))
        .collect()
}

fn origin_words(origin: &Origin) -> Cow<'_, str> {
    let word = match origin {
        Origin::Image => "image",
        Origin::Upper => "upper",
        Origin::Proc => "proc",
        // The others are rarer, and some hold a path.
        origin => return Cow::Owned(brief(&origin.to_string(), ORIGIN_BYTES_MAX).into_owned()),
    };
    Cow::Borrowed(word)
}

fn outcome_words(outcome: Outcome) -> Cow<'static, str> {
    match outcome {
        Outcome::Ok => Cow::Borrowed("ok"),
        outcome => Cow::Owned(outcome.to_string()),
    }
}

fn grounds(verdict: &judge::Verdict) -> Grounds<'_> {
    let mut grounds = Grounds::default();
    for trip in &verdict.answer.trips {
        grounds.add(Cow::Borrowed(trip.wire.name()));
    }
    if let Some(decision) = verdict.ruling() {
        grounds.add(brief(&decision.rule_name, RULE_BYTES_MAX));
    }
    if let Some(ground) = &verdict.answer.ground {
        grounds.add(match ground_words(ground) {
            (kind @ ("chain" | "harmless"), _) | (kind, None) => Cow::Borrowed(kind),
            (_, Some(name)) => brief(name, RULE_BYTES_MAX),
        });
    }
    grounds
}

fn written_grounds(verdict: &Verdict) -> Grounds<'_> {
    let mut grounds = Grounds::default();
    for trip in &verdict.trips {
        grounds.add(Cow::Borrowed(&trip.wire));
    }
    if let Some(rule) = &verdict.rule {
        grounds.add(Cow::Borrowed(rule));
    }
    if let Some(ground) = &verdict.ground {
        grounds.add(match (ground.kind.as_str(), &ground.name) {
            (kind @ ("chain" | "harmless"), _) | (kind, None) => Cow::Borrowed(kind),
            (_, Some(name)) => Cow::Borrowed(name),
        });
    }
    grounds
}

/// As they stand in lines.
fn objections(verdict: &judge::Verdict, outcome: Outcome) -> Vec<Objection<'_>> {
    let mut objections = verdict.objections(outcome);
    for objection in &mut objections {
        let max_bytes = if objection.is_gates {
            NOTE_BYTES_MAX
        } else {
            WHY_BYTES_MAX
        };
        objection.why = shorter(&objection.why, max_bytes);
        objection.cause = shorter(&objection.cause, RULE_BYTES_MAX);
        objection.hint = objection.hint.as_ref().map(|hint| shorter(hint, WHY_BYTES_MAX));
    }
    objections
}

fn shorter<'a>(text: &Cow<'a, str>, max_bytes: usize) -> Cow<'a, str> {
    match brief(text, max_bytes) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(short) => Cow::Owned(short),
    }
}

fn written_objections<'a>(verdict: &'a Verdict, outcome: &'a str, is_safe: bool) -> Vec<Objection<'a>> {
    let mut objections = Vec::new();
    if is_safe {
        objections.extend(verdict.trips.iter().map(written_trip));
    }
    let decision = verdict.decision.as_deref().filter(|word| *word != NO_OBJECTION);
    let severity = Severity::ALL
        .into_iter()
        .find(|severity| Some(severity.name()) == decision);
    if let (Some(severity), Some(rule)) = (severity, &verdict.rule) {
        let note = verdict.note.as_deref().map(Cow::Borrowed);
        let is_failure = !matches!(outcome, "ok" | "in_progress");
        let attempted = is_failure.then_some(Cow::Borrowed(outcome));
        objections.push(Objection::of_gate(severity, Cow::Borrowed(rule), note, attempted));
    }
    objections
}

fn written_trip(trip: &Trip) -> Objection<'_> {
    Objection {
        severity: Severity::Tripped,
        cause: Cow::Borrowed(&trip.wire),
        is_gates: false,
        why: Cow::Borrowed(&trip.why),
        attempted: trip.attempted.as_deref().map(Cow::Borrowed),
        hint: trip.hint.as_deref().map(Cow::Borrowed),
    }
}
