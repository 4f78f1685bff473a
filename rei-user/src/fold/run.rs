//! Bodies about the recording as a whole, from what the observing command and the recorder know.
//!
//! The lists in them are the operator's and the engine's own. One that is longer than a line may be ends in
//! `… and N more`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use rei_ebpf_common::header::EventKind;

use super::keep::KeepEvents;
use super::name::{Name, brief, cut, put_known, words};
use crate::attach::{Loss, LossCause, SensorState};
use crate::coverage::NEVER_COVERED;
use crate::decode::Undecodable;
use crate::engine::{ContainerFacts, Mount, MountKind};
use crate::format::{
    self, Body, Container, Control, Count, Decimal, DeclaredProgram, Hex, Label, Learned, MountFacts,
    PolicyFacts, Raw, ResolvedName, Run, RunBegin, SensorFacts, Word,
};
use crate::found::FoundProgram;
use crate::policy::{Extension, Policy, Source};

/// Most bytes that one of the operator's or the engine's texts takes.
const TEXT_BYTES_MAX: usize = 2 << 10;
/// Most bytes that a list of them takes.
const LIST_BYTES_MAX: usize = 8 << 10;
/// What an element of a list takes beside its texts, at most: the keys of a mount.
const ELEMENT_BYTES: usize = 80;
/// Most bytes of the kernel side that a line keeps where they are no record; base64 makes four of three.
const UNDECODABLE_BYTES_MAX: usize = 40 << 10;

/// `run`, `begin`.
#[must_use]
pub fn run_begin(
    command: &[OsString],
    target: &str,
    policy: &Policy,
    keep_events: KeepEvents,
    sensors: &[SensorState],
    programs: &[FoundProgram],
) -> Body {
    let command: Vec<&[u8]> = command.iter().map(|word| word.as_bytes()).collect();
    let mut shortened = Vec::new();
    let mut kept = words(&command, "command", &mut shortened);
    if !shortened.is_empty() {
        let more = format!("… and {} more", command.len() - kept.len());
        kept.push(Word::new(more.as_bytes()));
    }
    Body::Run(Run::Begin(Box::new(RunBegin {
        command: kept,
        target: target.to_owned(),
        policy: policy_facts(policy),
        keep_events: keep_events.name().to_owned(),
        sensors: sensors
            .iter()
            .map(|state| SensorFacts {
                name: state.sensor.name().to_owned(),
                live: state.gap.is_none(),
                reason: state.gap.as_deref().map(|gap| text(gap, TEXT_BYTES_MAX)),
            })
            .collect(),
        never_covered: NEVER_COVERED.map(str::to_owned).to_vec(),
        programs: declared(programs),
    })))
}

fn policy_facts(policy: &Policy) -> PolicyFacts {
    let is_shipped = policy.source == Source::Shipped;
    let extensions: Vec<String> = policy.extensions.iter().map(Extension::to_string).collect();
    PolicyFacts {
        name: text(&policy.name, TEXT_BYTES_MAX),
        source: if is_shipped { "shipped" } else { "file" }.to_owned(),
        sha256: Hex(policy.sha256()),
        mode: policy.mode.name().to_owned(),
        fail_on: policy.fail_on.name().to_owned(),
        extensions: texts(&extensions),
        resolved: fitting(
            policy.resolved.iter().map(|(name, addresses)| {
                let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                ResolvedName {
                    name: text(name, TEXT_BYTES_MAX),
                    addresses: texts(&addresses),
                }
            }),
            |resolved| {
                resolved.name.len()
                    + resolved
                        .addresses
                        .iter()
                        .map(|text| text.len() + 3)
                        .sum::<usize>()
            },
            |more| ResolvedName {
                name: more,
                addresses: Vec::new(),
            },
        ),
    }
}

/// `container`. `source` says who told the facts: `engine` or `cgroup`.
#[must_use]
pub fn container(
    scope: u64,
    facts: &ContainerFacts,
    programs: &[FoundProgram],
    cgroup_path: &str,
    source: &str,
) -> Body {
    let known = |text_or_none: Option<&str>| text_or_none.map(|known| text(known, TEXT_BYTES_MAX));
    let path = Some(cgroup_path).filter(|path| !path.is_empty());
    // A cgroup's path is no longer than PATH_MAX, and fits.
    let (cgroup_path, cgroup_path_b64) = put_known(
        path.map(|path| Name::new(path.as_bytes())),
        "cgroup_path",
        &mut Vec::new(),
    );
    Body::Container(Box::new(Container {
        scope: Decimal(scope),
        id: known(Some(facts.id.as_str()).filter(|id| !id.is_empty())),
        name: known(facts.name.as_deref()),
        image: known(facts.image.as_deref()),
        image_id: known(facts.image_id.as_deref()),
        labels: labels(&facts.labels),
        argv: texts(&facts.argv),
        mounts: fitting(
            facts.mounts.iter().map(mount),
            |mount| mount.destination.len() + mount.source.as_ref().map_or(0, String::len),
            |more| MountFacts {
                kind: more,
                source: None,
                destination: String::new(),
                read_only: false,
            },
        ),
        cgroup_path,
        cgroup_path_b64,
        learned: Learned {
            facts: source.to_owned(),
            cgroup: "kernel".to_owned(),
        },
        programs: declared(programs),
    }))
}

fn declared(programs: &[FoundProgram]) -> Vec<DeclaredProgram> {
    let told = programs.iter().map(|found| {
        let named = |path: Option<&[u8]>| put_known(path.map(Name::new), "path", &mut Vec::new());
        let (name, name_b64) = named(found.name.as_deref());
        let (path, path_b64) = named(found.path.as_deref());
        DeclaredProgram {
            rule: text(&found.rule, TEXT_BYTES_MAX),
            declared: text(&found.declared, TEXT_BYTES_MAX),
            name,
            name_b64,
            path,
            path_b64,
            read_from: found.source.name().to_owned(),
            sha256: found.sha256.map(Hex),
            fault: found.fault.as_deref().map(|fault| text(fault, TEXT_BYTES_MAX)),
        }
    });
    // Paths have up to six bytes for one: what counts is what is written.
    let size =
        |program: &DeclaredProgram| serde_json::to_string(program).map_or(usize::MAX / 2, |text| text.len());
    fitting(told, size, |more| DeclaredProgram {
        rule: more,
        declared: String::new(),
        name: None,
        name_b64: None,
        path: None,
        path_b64: None,
        read_from: String::new(),
        sha256: None,
        fault: None,
    })
}

fn labels(labels: &[(String, String)]) -> Vec<Label> {
    let short = labels.iter().map(|(name, value)| Label {
        name: text(name, TEXT_BYTES_MAX),
        value: text(value, TEXT_BYTES_MAX),
    });
    let size = |label: &Label| label.name.len() + label.value.len();
    fitting(short, size, |more| Label {
        name: more,
        value: String::new(),
    })
}

fn mount(mount: &Mount) -> MountFacts {
    let (kind, source) = match &mount.kind {
        MountKind::Bind { source } => ("bind", Some(source.as_str())),
        MountKind::Volume { name } => ("volume", Some(name.as_str())),
        MountKind::Tmpfs => ("tmpfs", None),
        MountKind::Engine => ("engine", None),
    };
    MountFacts {
        kind: kind.to_owned(),
        source: source.map(|source| text(source, TEXT_BYTES_MAX)),
        destination: text(&mount.destination, TEXT_BYTES_MAX),
        read_only: mount.read_only,
    }
}

/// `undecodable`.
#[must_use]
pub fn undecodable(bad: &Undecodable) -> Body {
    let mut shortened = Vec::new();
    let kept = cut(&bad.bytes, UNDECODABLE_BYTES_MAX, "bytes", &mut shortened);
    let mut why = bad.why.to_string();
    if let Some(whole) = shortened.first() {
        why = format!(
            "{why}; {} bytes, of which the first are kept here, SHA-256 of all {}",
            whole.len.value(),
            whole.sha256
        );
    }
    Body::Undecodable(format::Undecodable {
        why,
        bytes_b64: Raw(kept.to_vec()),
    })
}

/// `ctl`: `what` is `attach`, `detach`, `reload`, `mode` or `operator`, `words` a sentence for a person.
#[must_use]
pub fn control(what: &str, scope: Option<u64>, words: &str) -> Body {
    Body::Control(Control {
        what: what.to_owned(),
        scope: scope.map(Decimal),
        text: text(words, TEXT_BYTES_MAX),
    })
}

/// The kernel side's counters of lost events, as they stood when they were last looked at.
#[derive(Clone, Debug)]
pub struct LossCounters {
    before: BTreeMap<(Option<u32>, Option<EventKind>, LossCause), u64>,
    looked_ns: u64,
}

impl LossCounters {
    /// Counters that stand at 0 at this boot time in ns.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        LossCounters {
            before: BTreeMap::new(),
            looked_ns: now_ns,
        }
    }

    /// Takes all losses so far. Gives a `loss` for each counter that moved.
    pub fn take(&mut self, all_so_far: &[Loss], now_ns: u64) -> Vec<Body> {
        let mut bodies = Vec::new();
        for loss in all_so_far {
            let before = self.before.entry((loss.cpu, loss.kind, loss.cause)).or_default();
            let moved = loss.count.saturating_sub(*before);
            *before += moved;
            if moved > 0 {
                bodies.push(Body::Loss(format::Loss {
                    why: loss.cause.name().to_owned(),
                    kind: loss.kind.map(|kind| kind.name().to_owned()),
                    n: Decimal(moved),
                    cpu: loss.cpu.map(|cpu| Count::new(cpu.into())),
                    from: Decimal(self.looked_ns),
                    to: Decimal(now_ns),
                }));
            }
        }
        self.looked_ns = now_ns;
        bodies
    }

    /// Everything that was lost so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.before.values().sum()
    }
}

/// A text without NUL, not longer than it may be.
fn text(text: &str, max_bytes: usize) -> String {
    brief(text, max_bytes).into_owned()
}

fn texts(list: &[String]) -> Vec<String> {
    let short = list.iter().map(|element| text(element, TEXT_BYTES_MAX));
    fitting(short, String::len, |more| more)
}

/// The elements that fit; `rest` makes one of `… and N more`.
fn fitting<T>(
    list: impl ExactSizeIterator<Item = T>,
    size: impl Fn(&T) -> usize,
    rest: impl FnOnce(String) -> T,
) -> Vec<T> {
    let total = list.len();
    let mut left = LIST_BYTES_MAX;
    let mut kept = Vec::new();
    for element in list {
        match left.checked_sub(size(&element) + ELEMENT_BYTES) {
            Some(room) => left = room,
            None => {
                kept.push(rest(format!("… and {} more", total - kept.len())));
                break;
            }
        }
        kept.push(element);
    }
    kept
}
