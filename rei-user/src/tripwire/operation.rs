//! One operation, as far as tripwires look at it.

use std::net::SocketAddr;

use crate::enrich::{AccessSet, Chain, Confidence, Errno, Origin, Outcome};
use crate::policy::Transport;

/// How an operation came to be known, and how it ended.
#[derive(Clone, Copy, Debug)]
pub struct Circumstance {
    /// How it ended.
    pub outcome: Outcome,
    /// How sure its object is.
    pub confidence: Confidence,
    /// The path is cut.
    pub is_path_cut: bool,
    /// The kernel itself could not read what was asked.
    pub reached_nothing: bool,
    /// The acting process in its own pid namespace, 0 if unknown.
    pub own_pid: u32,
}

impl Circumstance {
    /// The error, if it failed.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self.outcome {
            Outcome::Failed(errno) => Some(errno),
            Outcome::Ok | Outcome::InProgress => None,
        }
    }

    /// Whether the object is settled.
    pub(super) fn is_settled(&self) -> bool {
        match self.confidence {
            Confidence::KernelObject | Confidence::KernelText | Confidence::ArgumentText => true,
            Confidence::Unresolved | Confidence::Contested => false,
        }
    }

    /// Nothing is there: `ENOENT`, `ENOTDIR`.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self.errno(), Some(Errno::ENOENT | Errno::ENOTDIR))
    }
}

/// A file is opened.
#[derive(Clone, Copy, Debug)]
pub struct FileUse<'a> {
    /// Its path, or what was asked for.
    pub path: Option<&'a [u8]>,
    /// The text at entry, where it differed: then the path is only one of two.
    pub other_text: Option<&'a [u8]>,
    /// Whether the path is text that nobody resolved.
    pub is_lexical: bool,
    /// What may be done with it.
    pub access: AccessSet,
    /// Where it comes from.
    pub origin: &'a Origin,
    /// Name of its file system.
    pub file_system: Option<&'a str>,
    /// Major and minor number of a device node.
    pub device: Option<(u32, u32)>,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// An address is contacted.
#[derive(Clone, Copy, Debug)]
pub struct Contact<'a> {
    /// Who.
    pub peer: Peer<'a>,
    /// How, where that is TCP or UDP.
    pub transport: Option<Transport>,
}

/// Who is contacted.
#[derive(Clone, Copy, Debug)]
pub enum Peer<'a> {
    /// IPv4 or IPv6.
    Inet(SocketAddr),
    /// A unix socket: path, or `@name`.
    Unix(&'a [u8]),
    /// The kernel's routing tables.
    Route,
    /// Nobody: the socket is disconnected.
    Nobody,
    /// Another family.
    Other(&'a str),
    /// The address is not known.
    Unknown,
}

/// A program was executed.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The program.
    pub path: Option<&'a [u8]>,
    /// What exec was asked for, absolute.
    pub asked: Option<&'a [u8]>,
    /// The script, if the program interprets one.
    pub script: Option<&'a [u8]>,
    /// Where the program comes from.
    pub origin: &'a Origin,
    /// Its place in the entrypoint chain.
    pub chain: Option<Chain>,
    /// Its arguments, the program's own name first.
    pub argv: &'a [&'a [u8]],
    /// Whether all arguments are there.
    pub is_argv_whole: bool,
    /// Names of its environment.
    pub env_names: &'a [&'a [u8]],
    /// Whether all names are there.
    pub is_env_whole: bool,
}

/// A program was not executed.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionAttempt<'a> {
    /// Its path, or what was asked for.
    pub path: Option<&'a [u8]>,
    /// Whether the path is text that nobody resolved.
    pub is_lexical: bool,
    /// The caller only asked whether it might.
    pub is_check: bool,
}
