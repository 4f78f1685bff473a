//! Lineage records: who descends from whom, and what each process image touched how often.

use serde::{Deserialize, Serialize};

use super::run::Ending;
use super::tree::Hash;
use super::value::{Base64, Count, Decimal, Text, Word};

/// `lineage`: a process image. It begins with an exec, with a fork, or with the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lineage {
    /// Its number in this log, from 0.
    pub node: Count,
    /// The image that forked its process, or that it replaced; absent if it is not in this log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Count>,
    /// How it began: `exec`, `fork` (the same program as its parent), `present` (before the recording), `unknown` (its
    /// beginning was not seen).
    pub how: String,
    /// The process.
    pub process: ProcessKey,
    /// cgroup v2 id of the container's root cgroup.
    pub scope: Decimal,
    /// `runtime`, `workload`, `operator`, `outside`.
    pub phase: String,
    /// User id, in the initial user namespace.
    pub uid: Count,
    /// Group id, in the initial user namespace.
    pub gid: Count,
    /// Boot time in ns at which the image began: of an exec, of a fork, or when it was first seen.
    pub begin: Decimal,
    /// Path of the program, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_b64: Option<Base64>,
    /// Where the program's file comes from, as of a touched object; only of an exec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The script, where the program is its interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_b64: Option<Base64>,
    /// Its place in the entrypoint chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Arguments of an exec; of other beginnings those of the exec before are in its parent.
    pub argv: Vec<Word>,
    /// Names of the environment's variables; never their values.
    pub env_names: Vec<Word>,
    /// How sure the program is.
    pub confidence: String,
    /// Fields of the kernel's record that were cut or could not be read.
    pub missing: Vec<String>,
    /// Fields that are longer than a line may be, and were shortened here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shortened: Vec<Shortened>,
}

/// What identifies a process on one boot of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessKey {
    /// What users call pid (the kernel's tgid), in the initial pid namespace.
    pub pid: Count,
    /// Boot time of its start in ns; 0 if it is not known.
    pub start: Decimal,
}

/// A field that was shortened before it was sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortened {
    /// The field.
    pub field: String,
    /// Its whole length in bytes; of an array, of its elements each with a NUL after it.
    pub len: Count,
    /// SHA-256 of those bytes.
    pub sha256: Hash,
}

/// `fold`: what a process image touched since the last such line about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fold {
    /// The image.
    pub node: Count,
    /// The objects, in the order of first sight.
    pub objects: Vec<Touched>,
    /// The end of the image, where it has ended: nothing comes after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<NodeEnd>,
}

/// One object, touched in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touched {
    /// Kind of the events, as docs/events.md names them; `exec`: the image's own program.
    pub kind: String,
    /// Path or address, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_b64: Option<Base64>,
    /// What was done with it; empty where the kind says it all.
    pub access: Vec<String>,
    /// Where a file comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `ok`, `in_progress`, or the errno's name.
    pub outcome: String,
    /// How sure the object is.
    pub confidence: String,
    /// `not_judged`, `allowed`, `caution`, `tripped`, `blocked`.
    pub decision: String,
    /// On what ground: tripwire and rule names, ambient class, name of the declaring rule, `chain`, `harmless`.
    pub by: Vec<String>,
    /// How often.
    pub n: Count,
    /// Boot time of the first one in ns.
    pub first: Decimal,
    /// And of the last.
    pub last: Decimal,
    /// Whether the object was shortened here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shortened: Vec<Shortened>,
}

/// How a process image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeEnd {
    /// Boot time in ns.
    pub at: Decimal,
    /// How.
    pub how: NodeEnding,
}

/// Ways in which a process image ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum NodeEnding {
    /// Another image took its process by exec.
    Exec,
    /// The process ended.
    Exit(Ending),
    /// The recording ended before it.
    Recording,
    /// It was forgotten to keep memory bounded; it may go on.
    Forgotten,
}

/// `finding`: a tripwire or the gate objected. Its id is the log's id, a colon, and the number of its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What objected.
    pub rule: RuleFacts,
    /// `caution`, `tripped`, `blocked`.
    pub sev: String,
    /// How sure the object is.
    pub conf: String,
    /// Scope of the container.
    pub container: Decimal,
    /// Who did it.
    pub subject: Subject,
    /// What it was done to.
    pub object: ObjectFacts,
    /// How often; with `of`, how often since the last line about the same finding.
    pub n: Count,
    /// Boot time of the first one in ns.
    pub first: Decimal,
    /// And of the last.
    pub last: Decimal,
    /// Lines of this log that hold the raw events; empty if they are not kept.
    pub evidence: Vec<Count>,
    /// The line of the finding that this one repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<Count>,
    /// `recorded`: rei observes, it does not prevent.
    pub action: String,
}

/// What objected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFacts {
    /// `I1`, `I2`, `I3`, or the gate rule's name.
    pub id: String,
    /// `tripwire` or `gate`.
    pub by: String,
    /// The policy's digest.
    pub sha256: Hash,
    /// Why, for a person.
    pub why: String,
    /// What to do, where rei knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its process image; of an exec the image that it made.
    pub node: Count,
    /// Its process.
    pub process: ProcessKey,
    /// Path of its program, where it is known; of an exec the program that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_b64: Option<Base64>,
    /// Images that it descends from, the nearest first.
    pub ancestors: Vec<Count>,
}

/// What it was done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectFacts {
    /// Kind of the event, as docs/events.md names it.
    pub kind: String,
    /// Path or address, where it is known; a pattern where the finding stands for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_b64: Option<Base64>,
    /// The first object, where the finding stands for several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_b64: Option<Base64>,
    /// What was done with it.
    pub access: Vec<String>,
    /// Where a file comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// `ok`, `in_progress`, or the errno's name of an attempt.
    pub outcome: String,
    /// Whether names were shortened here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shortened: Vec<Shortened>,
}
