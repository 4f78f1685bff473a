//! What the workload did, counted for the summary, in bounded memory.
//!
//! Acts of the container runtime are one number; everything else counts for the workload or for an operator.

use rei_ebpf_common::evidence;
use rei_ebpf_common::header::Phase;

use crate::decode::Body;
use crate::enrich::{
    Access, AccessSet, Act, Chain, Contact, Enriched, Executed, File, Opened, Origin, Outcome, protocol_name,
};
use crate::report::tally::Tally;

/// How a file was used, as the summary groups it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
    /// Written, created, truncated or appended to.
    Changed,
    Read,
    Directory,
    PathOnly,
}

/// A file that was opened.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct UsedFile {
    pub(super) origin: Origin,
    pub(super) how: Use,
    pub(super) path: Vec<u8>,
}

/// A program that was executed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Program {
    pub(super) path: Vec<u8>,
    pub(super) script: Option<Vec<u8>>,
    pub(super) chain: Option<Chain>,
    pub(super) is_operator: bool,
}

/// An address that was contacted.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) protocol: String,
    pub(super) address: Vec<u8>,
    pub(super) outcome: Outcome,
    pub(super) is_send: bool,
}

/// A file or program that could not be opened or executed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    pub(super) is_exec: bool,
    pub(super) path: Vec<u8>,
}

/// Everything that the summary counts.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) runtime_events: u64,
    pub(super) entrypoints: u64,
    pub(super) forks: u64,
    pub(super) programs: Tally<Program>,
    pub(super) files: Tally<UsedFile>,
    pub(super) addresses: Tally<Address>,
    pub(super) failures: Tally<Failure>,
}

/// Stands for an object whose name could not be read.
pub(super) const NAMELESS: &[u8] = b"?";

impl Account {
    pub(super) fn new() -> Self {
        Account {
            runtime_events: 0,
            entrypoints: 0,
            forks: 0,
            programs: Tally::new(),
            files: Tally::new(),
            addresses: Tally::new(),
            failures: Tally::new(),
        }
    }

    pub(super) fn add(&mut self, enriched: &Enriched) {
        match enriched.event().phase() {
            Phase::Runtime => self.runtime_events += 1,
            Phase::Outside => {}
            Phase::Workload | Phase::Operator => self.add_act(enriched),
        }
    }

    fn add_act(&mut self, enriched: &Enriched) {
        let outcome = enriched.outcome();
        match enriched.act() {
            Act::Open(opened) => match outcome {
                Outcome::Failed(_) => self.add_failure(outcome, false, opened.path.as_deref(), enriched),
                Outcome::Ok | Outcome::InProgress => self.add_file(opened),
            },
            Act::ExecAttempt(attempted) if outcome != Outcome::Ok => {
                self.add_failure(outcome, true, attempted.path.as_deref(), enriched);
            }
            Act::Contact(contact) => self.add_contact(contact, enriched),
            Act::Exec(executed) => self.add_program(executed, enriched),
            Act::ExecAttempt(_) => {}
            Act::Life => {
                if matches!(enriched.event().body(), Body::Fork(_)) {
                    self.forks += 1;
                }
            }
        }
    }

    fn add_file(&mut self, opened: &Opened) {
        let path = name_of(opened.path.as_deref());
        let origin = opened
            .file
            .as_ref()
            .map_or(Origin::Unknown, |file| file.origin().clone());
        let len = path.len();
        self.files.add(
            UsedFile {
                origin,
                how: how(opened.access),
                path,
            },
            len,
        );
    }

    /// A failed call without a path is known by its text, or by nothing.
    fn add_failure(&mut self, outcome: Outcome, is_exec: bool, path: Option<&[u8]>, enriched: &Enriched) {
        let text = match enriched.act() {
            Act::Open(opened) => opened.text.best(),
            Act::ExecAttempt(attempted) => attempted.text.best(),
            Act::Contact(_) | Act::Exec(_) | Act::Life => None,
        };
        let path = name_of(path.or(text));
        let len = path.len();
        self.failures.add(
            Failure {
                outcome,
                is_exec,
                path,
            },
            len,
        );
    }

    fn add_contact(&mut self, contact: &Contact, enriched: &Enriched) {
        let (Body::Connect(body) | Body::Send(body)) = enriched.event().body() else {
            return;
        };
        let protocol = if body.socket_type != 0 {
            protocol_name(body.protocol)
        } else {
            None
        };
        let family = contact
            .family_name()
            .map_or_else(|| format!("family {}", contact.family), str::to_owned);
        let protocol = protocol.map_or(family, str::to_owned);
        let address = name_of(contact.address.as_deref());
        let len = address.len();
        let is_send = matches!(enriched.event().body(), Body::Send(_));
        let outcome = enriched.outcome();
        self.addresses.add(
            Address {
                protocol,
                address,
                outcome,
                is_send,
            },
            len,
        );
    }

    fn add_program(&mut self, executed: &Executed, enriched: &Enriched) {
        if let Body::Exec(body) = enriched.event().body()
            && body.evidence & evidence::ENTRYPOINT != 0
        {
            self.entrypoints += 1;
        }
        let path = name_of(executed.file.as_ref().and_then(File::path));
        let script = executed.script.clone();
        let len = path.len() + script.as_ref().map_or(0, Vec::len);
        let is_operator = enriched.event().phase() == Phase::Operator;
        self.programs.add(
            Program {
                path,
                script,
                chain: executed.chain,
                is_operator,
            },
            len,
        );
    }

    /// Events whose objects were not kept apart any more.
    pub(super) fn not_kept_apart(&self) -> u64 {
        self.programs.not_kept_apart()
            + self.files.not_kept_apart()
            + self.addresses.not_kept_apart()
            + self.failures.not_kept_apart()
    }
}

fn name_of(path: Option<&[u8]>) -> Vec<u8> {
    path.unwrap_or(NAMELESS).to_vec()
}

fn how(access: AccessSet) -> Use {
    if access.changes() {
        Use::Changed
    } else if access.has(Access::PathOnly) {
        Use::PathOnly
    } else if access.has(Access::Directory) {
        Use::Directory
    } else {
        Use::Read
    }
}
