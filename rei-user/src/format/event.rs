//! `event`: a raw event, with everything that the kernel side reported and everything that was derived from it.
//!
//! The fields are those of docs/events.md.

use serde::{Deserialize, Serialize};

use super::lineage::{ProcessKey, Shortened};
use super::run::Ending;
use super::value::{Base64, Count, Decimal, Text, Word};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its kind.
    pub kind: String,
    /// Its number in its CPU's stream.
    pub kseq: KernelSequence,
    /// Boot time in ns.
    pub at: Decimal,
    /// cgroup v2 id of the container's root cgroup.
    pub scope: Decimal,
    /// cgroup v2 id of the acting thread.
    pub cgroup: Decimal,
    /// The acting process.
    pub process: ProcessKey,
    /// The acting thread.
    pub tid: Count,
    /// The process in its own pid namespace.
    pub ns_pid: Count,
    /// User id, in the initial user namespace.
    pub uid: Count,
    /// Group id, in the initial user namespace.
    pub gid: Count,
    /// The thread's name, chosen by the program; absent if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm_b64: Option<Base64>,
    /// Path of the program that the acting process ran, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_b64: Option<Base64>,
    /// `runtime`, `workload`, `operator`, `outside`.
    pub phase: String,
    /// Where in the kernel the evidence was taken.
    pub hook: String,
    /// How sure the object is.
    pub confidence: String,
    /// `ok`, `in_progress`, or the errno's name.
    pub outcome: String,
    /// What else is true: `present_at_attach`, `left_scope`, `entry_not_seen`.
    pub flags: Vec<String>,
    /// Fields that were cut by the kernel side.
    pub cut: Vec<String>,
    /// Fields that it could not read.
    pub unreadable: Vec<String>,
    /// What was done.
    pub act: Act,
    /// The kernel's object, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileFacts>,
    /// What is said about it; absent if it is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Fields that are longer than a line may be, and were shortened here.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shortened: Vec<Shortened>,
}

/// The number of a record: without gaps in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSequence {
    /// The CPU.
    pub cpu: Count,
    /// The stream of this CPU.
    pub stream: Count,
    /// The number.
    pub n: Decimal,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// A file was opened, or should have been.
    Open(Named),
    /// An address was contacted, or should have been.
    Contact(Contact),
    /// A program was executed.
    Exec(Box<Executed>),
    /// A program should have been executed.
    ExecAttempt(Attempted),
    /// A process was made.
    Fork(Forked),
    /// A process ended.
    Exit(Ending),
    /// A cgroup was made or removed.
    Cgroup(CgroupFacts),
    /// A process moved to another cgroup.
    Moved(Moved),
}

/// A path, and the text that asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The path, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Base64>,
    /// What was done with it.
    pub access: Vec<String>,
    /// The argument text, where it differs from the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_b64: Option<Base64>,
    /// The argument text at entry, where it differed from that at exit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_entry: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_entry_b64: Option<Base64>,
    /// Whether the path is text that nobody resolved.
    pub lexical: bool,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contact {
    /// `inet`, `inet6`, `unix`, ..., or the number.
    pub family: String,
    /// `stream`, `dgram`, ..., or the number; absent where the socket is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_type: Option<String>,
    /// `tcp`, `udp`, ..., or the number; absent where the socket is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The address, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_b64: Option<Base64>,
    /// Where the address was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executed {
    /// The program.
    pub name: Named,
    /// Arguments.
    pub argv: Vec<Word>,
    /// How many there were.
    pub argc: Count,
    /// Names of the environment's variables.
    pub env_names: Vec<Word>,
    /// The script, where the program is its interpreter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
    /// Its place in the entrypoint chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// The process's parent.
    pub parent: ProcessKey,
    /// Effective user id.
    pub euid: Count,
    /// Effective group id.
    pub egid: Count,
    /// Inode of its mount namespace.
    pub mnt_ns: Decimal,
    /// Inode of its pid namespace.
    pub pid_ns: Decimal,
}

/// A script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Its path, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Base64>,
    /// How sure that is.
    pub confidence: String,
    /// The interpreter, as the script's first line names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter_b64: Option<Base64>,
}

/// An execution that did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempted {
    /// The program.
    pub name: Named,
    /// Whether the caller only asked.
    pub check: bool,
}

/// A new process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forked {
    /// The child.
    pub child: ProcessKey,
    /// The child in its own pid namespace.
    pub child_ns_pid: Count,
    /// cgroup v2 id of the child.
    pub child_cgroup: Decimal,
}

/// A cgroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CgroupFacts {
    /// Its path below the cgroup v2 root, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Text>,
    /// The same, where it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<Base64>,
    /// Its id.
    pub id: Decimal,
    /// Its parent's.
    pub parent: Decimal,
    /// Whether it is the root of a new scope.
    pub new_scope: bool,
}

/// A move between cgroups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// `placed`, `within`, `left`, `returned`; absent if it is none of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// Where to.
    pub to_cgroup: Decimal,
    /// By whom.
    pub mover_pid: Count,
}

/// What the kernel's object is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Where it comes from.
    pub origin: String,
    /// Name of the file system, or its magic number.
    pub fs: String,
    /// `major:minor`.
    pub dev: String,
    /// Inode.
    pub ino: Decimal,
    /// Mode in octal, type included.
    pub mode: String,
    /// Of device nodes: `major:minor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdev: Option<String>,
    /// `upper` or `lower`; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
    /// `deleted`, `detached`, `foreign_mount_namespace`, `disconnected`.
    pub flags: Vec<String>,
}

/// What tripwires and gate say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Tripwires that fired.
    pub trips: Vec<Trip>,
    /// The ground on which none did: `ambient`, `declared`, `chain`, `harmless`, with the class or the rule's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// The gate: `no-objection`, `allowed`, `caution`, `blocked`; absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The gate rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What that rule says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// `caution`, `tripped`, `blocked`; absent if it is no finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
}

/// A tripwire that fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trip {
    /// `I1`, `I2`, `I3`.
    pub wire: String,
    /// Why, for a person.
    pub why: String,
    /// The errno's name, where the act failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempted: Option<String>,
    /// What to do, where rei knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The ground on which no tripwire fired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ground {
    /// `ambient`, `declared`, `chain`, `harmless`.
    pub kind: String,
    /// The ambient class, the rule's name, or why it is harmless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
