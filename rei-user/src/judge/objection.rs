//! What makes an act a finding, and which findings are the same.

use std::borrow::Cow;

use rei_ebpf_common::header::EventKind;

use crate::enrich::Outcome;
use crate::judge::Verdict;
use crate::policy::Severity;

/// What stands for all files of Python's caches: one finding, not one for each module.
const PYTHON_CACHES: &[u8] = b"**/__pycache__/*";
/// What the gate says where its rule has no note.
const NO_NOTE: &str = "the rule says so";

/// One objection to an act: a tripwire's, or the gate's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection<'a> {
    /// How bad it is.
    pub severity: Severity,
    /// `I1`, `I2`, `I3`, or the gate's rule.
    pub cause: Cow<'a, str>,
    /// Whether it is the gate's.
    pub is_gates: bool,
    /// Why, for a person.
    pub why: Cow<'a, str>,
    /// The error's name, where the act failed.
    pub attempted: Option<Cow<'a, str>>,
    /// What to do about it, where rei knows.
    pub hint: Option<Cow<'a, str>>,
}

impl<'a> Objection<'a> {
    /// The gate's; a rule without a note objects because it says so.
    #[must_use]
    pub fn of_gate(
        severity: Severity,
        rule: Cow<'a, str>,
        note: Option<Cow<'a, str>>,
        attempted: Option<Cow<'a, str>>,
    ) -> Self {
        Objection {
            severity,
            cause: rule,
            is_gates: true,
            why: note.unwrap_or(Cow::Borrowed(NO_NOTE)),
            attempted,
            hint: None,
        }
    }
}

impl Verdict {
    /// Everything that makes the act a finding. In unsafe mode tripwires are recorded and make none.
    #[must_use]
    pub fn objections(&self, outcome: Outcome) -> Vec<Objection<'_>> {
        let mut objections = Vec::new();
        if self.is_judged_by_tripwires {
            objections.extend(self.answer.trips.iter().map(|trip| Objection {
                severity: Severity::Tripped,
                cause: Cow::Borrowed(trip.wire.name()),
                is_gates: false,
                why: Cow::Borrowed(&trip.why),
                attempted: trip.attempted.map(|errno| Cow::Owned(errno.to_string())),
                hint: trip.hint.map(Cow::Borrowed),
            }));
        }
        if let (Some(severity), Some(decision)) = (self.objection_severity(), self.objection()) {
            let attempted = match outcome {
                Outcome::Failed(errno) => Some(Cow::Owned(errno.to_string())),
                Outcome::Ok | Outcome::InProgress => None,
            };
            objections.push(Objection::of_gate(
                severity,
                Cow::Borrowed(&decision.rule_name),
                decision.note.as_deref().map(Cow::Borrowed),
                attempted,
            ));
        }
        objections
    }
}

/// What makes two findings the same. `N` is a name as its reader keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingKey<N> {
    /// The container.
    pub scope: u64,
    /// How bad it is.
    pub severity: Severity,
    /// `I1`, `I2`, `I3`, or the gate's rule.
    pub cause: String,
    /// What was done.
    pub kind: EventKind,
    /// To what.
    pub object: N,
    /// Why it is a finding.
    pub why: String,
    /// The error's name, where the act failed.
    pub attempted: Option<String>,
    /// The acting program.
    pub program: Option<N>,
}

impl<N> FindingKey<N> {
    /// The key of an objection to an act of `kind` on `object` by `program`. Where there is a hint, all
    /// objects that it is about are one; `pattern` makes their name.
    pub fn new(
        objection: &Objection<'_>,
        (scope, kind): (u64, EventKind),
        object: N,
        program: Option<N>,
        pattern: impl FnOnce(&'static [u8]) -> N,
    ) -> Self {
        FindingKey {
            scope,
            severity: objection.severity,
            cause: objection.cause.clone().into_owned(),
            kind,
            object: if objection.hint.is_some() {
                pattern(PYTHON_CACHES)
            } else {
                object
            },
            why: objection.why.clone().into_owned(),
            attempted: objection.attempted.as_deref().map(str::to_owned),
            program,
        }
    }
}
