//! Bodies about a run as a whole: how it began and ended, its containers, what was lost.

use serde::{Deserialize, Serialize};

use super::tree::Hash;
use super::value::{Base64, Count, Decimal, Hex, Text, Word};

/// `run`: the first line after the head, and the last before the closing seal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Run {
    /// Recording begins.
    Begin(Box<RunBegin>),
    /// Recording has ended.
    End(Box<RunEnd>),
}

/// What is known when a recording begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunBegin {
    /// The command, or the targets of an attach.
    pub command: Vec<Word>,
    /// `plain`, `docker`, `attach`.
    pub target: String,
    /// The policy that judges.
    pub policy: PolicyFacts,
    /// Which raw events are kept: `findings`, `all`, `none`.
    pub keep_events: String,
    /// The sensors, and why one is not live.
    pub sensors: Vec<SensorFacts>,
    /// What no record of rei covers, whatever the sensors.
    pub never_covered: Vec<String>,
    /// Of a plain command: what the policy's program rules were found to mean.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<DeclaredProgram>,
}

/// The policy of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFacts {
    /// Its name.
    pub name: String,
    /// `shipped` or `file`.
    pub source: String,
    /// Its digest (docs/policy.md says of what).
    pub sha256: Hash,
    /// `safe` or `unsafe`.
    pub mode: String,
    /// Findings from this severity on make the run fail.
    pub fail_on: String,
    /// Options that extend it for this run.
    pub extensions: Vec<String>,
    /// Host names of the policy with the addresses that they had when the run began.
    pub resolved: Vec<ResolvedName>,
}

/// A host name and its addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolvedName {
    /// The name.
    pub name: String,
    /// The addresses.
    pub addresses: Vec<String>,
}

/// A sensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SensorFacts {
    /// Its name.
    pub name: String,
    /// Whether it is live.
    pub live: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a recording ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEnd {
    /// How the command ended; absent if there was none or it still runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Ending>,
    /// rei's own exit code.
    pub exit_code: Count,
    /// `clean`, `caution`, `tripped`, `blocked`.
    pub judgement: String,
    /// `complete` or `incomplete`.
    pub completeness: String,
    /// Why it is incomplete, the gravest first.
    pub reasons: Vec<ReasonFacts>,
    /// Events by kind.
    pub counts: Vec<KindCount>,
    /// Events lost.
    pub lost: Decimal,
    /// The part of them that other containers' own counters account for.
    pub lost_of_others: Decimal,
    /// System calls used that no live sensor covers.
    pub syscalls_without_sensor: Vec<String>,
    /// Findings that were kept apart.
    pub findings: Count,
    /// Events whose finding had no room any more: they count for the judgement.
    pub findings_not_kept_apart: Count,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Ending {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Why a record is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonFacts {
    /// A word for it.
    pub kind: String,
    /// A sentence for a person.
    pub text: String,
    /// How many events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// What to do.
    pub next_step: String,
}

/// How many events of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindCount {
    /// The kind.
    pub kind: String,
    /// How many.
    pub n: Count,
}

/// `container`: a container whose scope is observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// cgroup v2 id of its root cgroup.
    pub scope: Decimal,
    /// The engine's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The engine's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Image as the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Image id (`sha256:...`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// Labels.
    pub labels: Vec<Label>,
    /// Resolved Entrypoint followed by Cmd.
    pub argv: Vec<String>,
    /// Mounts that the user or the engine asked for.
    pub mounts: Vec<MountFacts>,
    /// Path below the cgroup v2 root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_path: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup_path_b64: Option<Base64>,
    /// Who told what.
    pub learned: Learned,
    /// What the policy's program rules were found to mean in this container.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<DeclaredProgram>,
}

/// A program that the policy declares, and the file that it was found to mean when the run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredProgram {
    /// The rule's name.
    pub rule: String,
    /// The path or the bare name, as declared.
    pub declared: String,
    /// Its path, before symlinks were followed; absent if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_b64: Option<Base64>,
    /// The file, without symlinks; absent if nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Base64>,
    /// Whose files were looked at: `image`, `host`.
    pub read_from: String,
    /// Its SHA-256 as rei read it, where the rule names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Hash>,
    /// Why there is no file, or no SHA-256, or the wrong one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Who told the facts of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Id, name, image, labels, argv and mounts: `engine`, or `cgroup` if only the path of its cgroup told the id.
    pub facts: String,
    /// Scope and path of the cgroup: `kernel`.
    pub cgroup: String,
}

/// A label of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A mount of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountFacts {
    /// `bind`, `volume`, `tmpfs`, `engine`.
    pub kind: String,
    /// Path on the host, or name of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Path in the container.
    pub destination: String,
    /// Whether it cannot be written from inside.
    pub read_only: bool,
}

/// `loss`: a counter of lost events moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loss {
    /// `ring_full`, `map_full`, `nested` (a program that the kernel skipped), or of the recorder itself `oversize`,
    /// `fault`, `enospc`.
    pub why: String,
    /// Kind of the events, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How many since the last line about the same counter.
    pub n: Decimal,
    /// The CPU, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Count>,
    /// They were lost after this boot time in ns.
    pub from: Decimal,
    /// And before this one.
    pub to: Decimal,
}

/// `clock`: the two clocks moved against each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Wall clock minus boot time before, in ns.
    pub old: Decimal,
    /// And now.
    pub new: Decimal,
    /// How it was noticed.
    pub source: String,
}

/// `ctl`: something that an operator or rei itself did to the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// `attach`, `detach`, `reload`, `mode`, `operator`.
    pub what: String,
    /// The scope that it is about, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Decimal>,
    /// A sentence for a person.
    pub text: String,
}

/// `decision`: the gate's answer to a planned tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The tool.
    pub tool: String,
    /// Its arguments: JSON as text.
    pub args: String,
    /// Whether it may be called.
    pub approved: bool,
    /// `safe`, `caution`, `blocked`.
    pub hazard_level: String,
    /// The rule that answered.
    pub rule_name: String,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The policy whose rules were asked before the catalog; absent if the catalog alone was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_sha256: Option<Hash>,
}

/// `anchor`: an answer from outside the host to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Lines of the checkpoint.
    pub size: Count,
    /// Its root.
    pub root: Hash,
    /// Who answered.
    pub sink: String,
    /// The answer.
    pub receipt: String,
    /// Whether it was accepted.
    pub ok: bool,
}

/// `prune`: old segments are about to be deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// The last segment that goes.
    pub upto_seg: Count,
    /// Lines up to its end.
    pub size: Count,
    /// [`super::leaf`] of its last line.
    pub last_h: Hash,
    /// [`super::Frontier`] at that size.
    pub frontier: Vec<Hex<32>>,
    /// The reason.
    pub why: String,
}
