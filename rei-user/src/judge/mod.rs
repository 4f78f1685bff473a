//! [`Enriched`] + policy → [`Judged`]: which tripwires fired, what the gate decided, and how bad that is.
//!
//! Takes events in order; owns a policy bound to each container, a memo of what was decided before, and who descends
//! from whom. It cannot fail: the policy was checked when it was loaded. Only acts of the workload are judged.

use std::collections::HashMap;
use std::sync::Arc;

use rei_ebpf_common::header::Phase;

use crate::engine::ContainerFacts;
use crate::enrich::{Act, Chain, Enriched, File, Origin, Outcome};
use crate::found::FoundProgram;
use crate::gate::{Decision, HazardLevel, NO_OBJECTION, SafetyGate};
use crate::policy::{Mode, Policy, Severity};
use crate::tripwire::{Answer, Bindings, Matcher};

pub use self::ancestry::Ancestor;
pub use self::objection::{FindingKey, Objection};
pub use self::peer::{KnownSocket, engine_sockets};
pub use self::place::{Place, process_of, program_name};

use self::ancestry::Ancestry;
use self::memo::Memo;

mod ancestry;
mod memo;
mod objection;
mod observed;
mod operation;
mod peer;
mod place;

/// Judges events by one policy.
#[derive(Debug)]
pub struct Judge {
    policy: Arc<Policy>,
    gate: SafetyGate,
    sockets: Vec<KnownSocket>,
    fallback: Bindings,
    scopes: HashMap<u64, Bound>,
    memo: Memo,
    ancestry: Ancestry,
}

/// The policy, bound to what is known of one scope.
#[derive(Debug)]
struct Bound {
    matcher: Matcher,
    gate: SafetyGate,
}

impl Verdict {
    /// The gate's decision, where some rule objected.
    #[must_use]
    pub fn objection(&self) -> Option<&Decision> {
        self.decision
            .as_ref()
            .filter(|decision| *decision.rule_name != *NO_OBJECTION && gate_severity(decision).is_some())
    }

    /// What the gate decided, in a word: `no-objection`, `allowed` (a rule of the policy says so), `caution`, `blocked`;
    /// `None` if it was not asked.
    #[must_use]
    pub fn decision_word(&self) -> Option<&'static str> {
        let decision = self.decision.as_ref()?;
        Some(match self.objection_severity() {
            Some(severity) => severity.name(),
            None if *decision.rule_name == *NO_OBJECTION => NO_OBJECTION,
            None => "allowed",
        })
    }

    /// The gate's decision, where some rule made it.
    #[must_use]
    pub fn ruling(&self) -> Option<&Decision> {
        self.decision
            .as_ref()
            .filter(|decision| *decision.rule_name != *NO_OBJECTION)
    }

    /// How bad the gate's objection is.
    #[must_use]
    pub fn objection_severity(&self) -> Option<Severity> {
        self.objection().and_then(gate_severity)
    }
}

/// What is said about one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What the tripwires say.
    pub answer: Answer,
    /// What the gate decided; `None` if the act has no tool name.
    pub decision: Option<Decision>,
    /// Whether tripwires make findings: the policy's mode is safe.
    pub is_judged_by_tripwires: bool,
    /// How bad it is; `None` if it is no finding.
    pub severity: Option<Severity>,
}

/// An event with its verdict. Only this module makes one.
#[derive(Clone, Debug)]
pub struct Judged {
    enriched: Enriched,
    verdict: Option<Arc<Verdict>>,
    ancestors: Vec<Ancestor>,
}

impl Judged {
    /// The event.
    #[must_use]
    pub fn enriched(&self) -> &Enriched {
        &self.enriched
    }

    /// What is said about it; `None` if it is not judged: the runtime's act, an operator's, or no act at all.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_deref()
    }

    /// Who the acting process descends from, the nearest first; only where there is a finding or a tripwire.
    #[must_use]
    pub fn ancestors(&self) -> &[Ancestor] {
        &self.ancestors
    }
}

impl Judge {
    /// A judge by this policy. `fallback` is what is known of scopes that are no containers.
    ///
    /// # Errors
    /// If the policy's patterns together are too large.
    pub fn new(policy: Arc<Policy>, fallback: Bindings) -> Result<Self, String> {
        // What cannot be bound is found out before anything starts.
        Matcher::bind(&policy, fallback.clone())?;
        Ok(Judge {
            gate: policy.gate.gate(),
            sockets: Vec::new(),
            policy,
            fallback,
            scopes: HashMap::new(),
            memo: Memo::default(),
            ancestry: Ancestry::default(),
        })
    }

    /// With these sockets told by their inode, whatever they are called inside a container.
    #[must_use]
    pub fn with_sockets(mut self, sockets: Vec<KnownSocket>) -> Self {
        self.sockets = sockets;
        self
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is known about the container of a scope, and its declared programs. `is_engines_word`: the engine told its
    /// mounts.
    pub fn container_known(
        &mut self,
        scope: u64,
        facts: &ContainerFacts,
        programs: Vec<FoundProgram>,
        is_engines_word: bool,
    ) {
        let path = |text: &str| text.trim_end_matches('/').as_bytes().to_vec();
        let workdir = facts.workdir.as_deref().unwrap_or("/");
        let read_only = facts.mounts.iter().filter(|mount| mount.read_only);
        let bindings = Bindings {
            entrypoint: None,
            workdir: is_engines_word.then(|| workdir.as_bytes().to_vec()),
            mounts: is_engines_word.then(|| {
                facts
                    .mounts
                    .iter()
                    .map(|mount| path(&mount.destination))
                    .collect()
            }),
            read_only_mounts: read_only.map(|mount| path(&mount.destination)).collect(),
            programs,
        };
        self.bind(scope, bindings);
        self.memo.clear();
    }

    /// A process that was there before rei.
    pub fn process_present(&mut self, pid: u32, start_ns: u64, program: Option<&[u8]>) {
        self.ancestry.present(pid, start_ns, program);
    }

    fn bind(&mut self, scope: u64, bindings: Bindings) {
        let gate = self.gate.bind(&bindings.variables());
        match Matcher::bind(&self.policy, bindings) {
            Ok(matcher) => {
                self.scopes.insert(scope, Bound { matcher, gate });
            }
            // Values of variables are literals and make no pattern much larger than the trial in `new`. If it should
            // happen all the same, the patterns without variables stand.
            Err(error) => tracing::error!("the policy cannot be bound to the container: {error}"),
        }
    }

    /// Takes the next event.
    #[must_use]
    pub fn take(&mut self, enriched: Enriched) -> Judged {
        self.ancestry.follow(&enriched);
        let phase = enriched.event().phase();
        let is_judged = phase == Phase::Workload || phase == Phase::Operator && self.policy.exec_is_workload;
        let verdict = if is_judged { self.judge(&enriched) } else { None };
        let is_tripped = verdict
            .as_ref()
            .is_some_and(|verdict| verdict.severity.is_some() || !verdict.answer.trips.is_empty());
        let ancestors = if is_tripped {
            let header = enriched.event().header();
            self.ancestry.of(header.pid, header.start_ns)
        } else {
            Vec::new()
        };
        Judged {
            enriched,
            verdict,
            ancestors,
        }
    }

    fn judge(&mut self, enriched: &Enriched) -> Option<Arc<Verdict>> {
        let scope = enriched.event().header().scope;
        if !self.scopes.contains_key(&scope) {
            self.bind(scope, self.fallback.clone());
        }
        self.entrypoint_known(scope, enriched);
        let Bound { matcher, gate } = self.scopes.get_mut(&scope)?;
        remember_image(matcher, enriched);
        let key = memo::key(enriched, matcher);
        if let Some(verdict) = key.as_ref().and_then(|key| self.memo.recall(key)) {
            return Some(verdict);
        }
        let mut answer = operation::answer(matcher, enriched)?;
        let observed = observed::ask(gate, &self.sockets, enriched);
        if observed
            .as_ref()
            .is_some_and(|observed| observed.undecided_rule.is_some())
        {
            answer.lacks = answer.lacks.or(Some("what a gate rule asks for"));
        }
        let decision = observed.map(|observed| observed.decision);
        let verdict = Arc::new(Verdict {
            severity: severity(&self.policy, &answer, decision.as_ref()),
            is_judged_by_tripwires: self.policy.mode == Mode::Safe,
            answer,
            decision,
        });
        if let Some(key) = key {
            self.memo.keep(key, &verdict);
        }
        Some(verdict)
    }

    /// The first execution of the workload gives `${entrypoint}` its value.
    fn entrypoint_known(&mut self, scope: u64, enriched: &Enriched) {
        let Act::Exec(executed) = enriched.act() else {
            return;
        };
        if executed.chain != Some(Chain::Entrypoint) || !self.policy.has_variables() {
            return;
        }
        let path = executed
            .script
            .as_deref()
            .or(executed.file.as_ref().and_then(File::path));
        if let (Some(bound), Some(path)) = (self.scopes.get(&scope), path) {
            let bindings = Bindings {
                entrypoint: Some(path.to_vec()),
                ..bound.matcher.bindings().clone()
            };
            self.bind(scope, bindings);
            self.memo.clear();
        }
    }
}

fn severity(policy: &Policy, answer: &Answer, decision: Option<&Decision>) -> Option<Severity> {
    let tripped = (policy.mode == Mode::Safe && !answer.trips.is_empty()).then_some(Severity::Tripped);
    tripped.max(decision.and_then(gate_severity))
}

fn gate_severity(decision: &Decision) -> Option<Severity> {
    match decision.hazard_level {
        _ if !decision.approved => Some(Severity::Blocked),
        HazardLevel::Caution => Some(Severity::Caution),
        _ => None,
    }
}

/// What comes from the image shows which directories are in it.
fn remember_image(matcher: &mut Matcher, enriched: &Enriched) {
    let file = match enriched.act() {
        Act::Open(opened) if enriched.outcome() == Outcome::Ok => opened.file.as_ref(),
        Act::Exec(executed) => executed.file.as_ref(),
        _ => None,
    };
    if let Some(file) = file.filter(|file| *file.origin() == Origin::Image)
        && let Some(path) = file.path().filter(|path| path.starts_with(b"/"))
    {
        matcher.saw_image(path, operation::is_directory(file));
    }
}

#[cfg(test)]
mod tests;
