//! Findings: the first of its kind is told at once, repetitions are counted and told now and then.

use std::collections::HashMap;

use super::item::FindingNumber;
use super::name::{Name, NameBuf, put_known};
use super::seen::{Accesses, Seen};
use crate::enrich::{Access, AccessSet};
use crate::format::{Count, Decimal, Finding, Hash, ObjectFacts, RuleFacts, Subject};
use crate::judge::{FindingKey, Objection};

/// Most findings that are kept apart.
const FINDINGS_MAX: usize = 10_000;
/// Most bytes of names in them.
const NAME_BYTES_MAX: usize = 4 << 20;

/// All findings of a recording, in bounded memory.
#[derive(Debug)]
pub(super) struct Findings {
    policy: Hash,
    kept: HashMap<FindingKey<Option<NameBuf>>, Kept>,
    name_bytes: usize,
    not_kept_apart: u64,
    /// Repeated since their last line, in the order of the first repetition.
    repeated: Vec<FindingKey<Option<NameBuf>>>,
}

#[derive(Debug)]
struct Kept {
    number: FindingNumber,
    /// The line that was written first.
    told: Finding,
    /// Since the last line.
    count: u64,
    access: AccessSet,
    first_ns: u64,
    last_ns: u64,
}

/// Who did it, as the fold knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor<'a> {
    pub(super) node: Count,
    pub(super) ancestors: &'a [Count],
}

impl Findings {
    /// Findings by the policy of this digest.
    pub(super) fn new(policy: Hash) -> Self {
        Findings {
            policy,
            kept: HashMap::new(),
            name_bytes: 0,
            not_kept_apart: 0,
            repeated: Vec::new(),
        }
    }

    /// Takes an objection to an act. Gives the line of a finding that is new.
    pub(super) fn add(
        &mut self,
        seen: &Seen<'_>,
        objection: &Objection<'_>,
        actor: Actor<'_>,
    ) -> Option<(FindingNumber, Finding)> {
        let key = key(seen, objection);
        if let Some(kept) = self.kept.get_mut(&key) {
            if kept.count == 0 {
                kept.first_ns = seen.boot_ns;
                kept.access = AccessSet::default();
                self.repeated.push(key);
            }
            kept.count += 1;
            kept.last_ns = seen.boot_ns;
            kept.access = kept.access.iter().chain(accesses(seen)).collect();
            return None;
        }
        let names = [key.object.as_ref(), key.program.as_ref().and_then(Option::as_ref)];
        let name_bytes: usize = names.into_iter().flatten().map(NameBuf::len_bytes).sum();
        if self.kept.len() >= FINDINGS_MAX || self.name_bytes + name_bytes > NAME_BYTES_MAX {
            self.not_kept_apart += 1;
            return None;
        }
        self.name_bytes += name_bytes;
        let told = finding(seen, objection, &key, actor, self.policy);
        let number = FindingNumber(self.kept.len());
        let kept = Kept {
            number,
            told: told.clone(),
            count: 0,
            access: AccessSet::default(),
            first_ns: 0,
            last_ns: 0,
        };
        self.kept.insert(key, kept);
        Some((number, told))
    }

    pub(super) fn has_repeated(&self) -> bool {
        !self.repeated.is_empty()
    }

    /// A line for each finding that was repeated since its last one.
    pub(super) fn take_repeated(&mut self) -> Vec<(FindingNumber, Finding)> {
        let mut lines = Vec::new();
        for key in std::mem::take(&mut self.repeated) {
            let Some(kept) = self.kept.get_mut(&key) else {
                continue;
            };
            let mut line = kept.told.clone();
            line.n = Count::new(kept.count);
            line.first = Decimal(kept.first_ns);
            line.last = Decimal(kept.last_ns);
            line.object.access = kept.access.iter().map(Access::name).map(str::to_owned).collect();
            lines.push((kept.number, line));
            kept.count = 0;
        }
        lines
    }

    /// Findings that are kept apart.
    pub(super) fn kept_apart(&self) -> u64 {
        self.kept.len() as u64
    }

    /// Events whose finding had no room any more.
    pub(super) fn not_kept_apart(&self) -> u64 {
        self.not_kept_apart
    }
}

fn key(seen: &Seen<'_>, objection: &Objection<'_>) -> FindingKey<Option<NameBuf>> {
    FindingKey::new(
        objection,
        (seen.scope, seen.kind),
        seen.object.map(Name::to_owned),
        seen.program.map(|program| Some(program.to_owned())),
        |pattern| Some(Name::new(pattern).to_owned()),
    )
}

fn accesses(seen: &Seen<'_>) -> impl Iterator<Item = Access> {
    match seen.access {
        Accesses::Of(set) => set,
        Accesses::Move(_) => AccessSet::default(),
    }
    .iter()
}

fn finding(
    seen: &Seen<'_>,
    objection: &Objection<'_>,
    key: &FindingKey<Option<NameBuf>>,
    actor: Actor<'_>,
    policy: Hash,
) -> Finding {
    Finding {
        rule: RuleFacts {
            id: key.cause.clone(),
            by: if objection.is_gates { "gate" } else { "tripwire" }.to_owned(),
            sha256: policy,
            why: key.why.clone(),
            hint: objection.hint.as_deref().map(str::to_owned),
        },
        sev: objection.severity.name().to_owned(),
        conf: seen.confidence.to_owned(),
        container: Decimal(seen.scope),
        subject: subject(seen, actor),
        object: object(seen, key),
        n: Count::new(1),
        first: Decimal(seen.boot_ns),
        last: Decimal(seen.boot_ns),
        evidence: Vec::new(),
        of: None,
        action: "recorded".to_owned(),
    }
}

fn subject(seen: &Seen<'_>, actor: Actor<'_>) -> Subject {
    // A shortened program has its hash in the event's own line.
    let (program, program_b64) = put_known(seen.program, "program", &mut Vec::new());
    Subject {
        node: actor.node,
        process: seen.process,
        program,
        program_b64,
        ancestors: actor.ancestors.to_vec(),
    }
}

fn object(seen: &Seen<'_>, key: &FindingKey<Option<NameBuf>>) -> ObjectFacts {
    let mut shortened = Vec::new();
    let named = key.object.as_ref().map(NameBuf::as_name);
    let (name, name_b64) = put_known(named, "name", &mut shortened);
    let first = seen.object.filter(|object| Some(*object) != named);
    let (first, first_b64) = put_known(first, "first", &mut shortened);
    ObjectFacts {
        kind: seen.kind.name().to_owned(),
        name,
        name_b64,
        first,
        first_b64,
        access: seen.access.names().map(str::to_owned).collect(),
        origin: seen.origin.as_deref().map(str::to_owned),
        outcome: seen.outcome.clone().into_owned(),
        shortened,
    }
}
