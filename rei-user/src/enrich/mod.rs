//! Event + process table + container facts → [`Enriched`]: absolute path, origin, program, chain, confidence.
//!
//! Takes decoded events in the order of the ring. Gives each one with what can be derived from it and from
//! those before it. Nothing observed is changed; what is not known stays unknown.

use std::sync::Arc;

use rei_ebpf_common::exec::ExecBody;
use rei_ebpf_common::file::{FileFacts, file_flag};
use rei_ebpf_common::header::{EventHeader, Phase};
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::scope::moved;

use crate::decode::{Body, Event};
use crate::engine::ContainerFacts;

pub use self::access::{Access, AccessSet};
pub use self::act::{Act, Attempted, Executed, Opened};
pub use self::chain::Chain;
pub use self::confidence::Confidence;
pub use self::contact::{Contact, protocol_name, protocol_words, socket_type_words};
pub use self::file::File;
pub use self::file_system::name as file_system_name;
pub use self::object::Object;
pub use self::origin::Origin;
pub use self::outcome::{Errno, Outcome};
pub use self::text::Text;

use self::chain::Execution;
use self::process::ProcessTable;
use self::scope::Scopes;

mod access;
mod act;
mod chain;
mod confidence;
mod contact;
mod file;
mod file_system;
mod gap;
mod object;
mod origin;
mod outcome;
mod process;
mod scope;
mod text;

/// The name of a phase.
#[must_use]
pub const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Runtime => "runtime",
        Phase::Workload => "workload",
        Phase::Operator => "operator",
        Phase::Outside => "outside",
    }
}

/// The name of a way in which a process moves between cgroups: one of [`moved`].
#[must_use]
pub const fn moved_name(what: u32) -> Option<&'static str> {
    match what {
        moved::PLACED => Some("placed"),
        moved::WITHIN => Some("within"),
        moved::LEFT => Some("left"),
        moved::RETURNED => Some("returned"),
        _ => None,
    }
}

/// What is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A plain command: its files are the host's.
    Plain,
    /// One or more containers.
    Container,
}

/// Turns events into [`Enriched`] ones. It owns the process table and what is known of each container.
#[derive(Debug)]
pub struct Enricher {
    target: Target,
    processes: ProcessTable,
    scopes: Scopes,
}

/// An event with everything that was derived from it. Only this module makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enriched {
    event: Event,
    container: Option<Arc<str>>,
    program: Option<Arc<[u8]>>,
    outcome: Outcome,
    confidence: Confidence,
    act: Act,
}

impl Enriched {
    /// The event as the kernel side reported it.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// First digits of the container's id, where it is known.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// The program that the acting process ran when it acted: for an exec the one that called it.
    #[must_use]
    pub fn program(&self) -> Option<&[u8]> {
        self.program.as_deref()
    }

    /// How it ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// How sure the object is.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }

    /// Whether the entry of the call was seen; true of what is no call by itself.
    #[must_use]
    pub fn entry_seen(&self) -> bool {
        confidence::entry_seen(&self.event)
    }

    /// What was done.
    #[must_use]
    pub fn act(&self) -> &Act {
        &self.act
    }

    /// `argv` of an exec; empty for other kinds.
    #[must_use]
    pub fn argv(&self) -> Vec<&[u8]> {
        act::strings(&self.event, PartTag::Argv)
    }

    /// Environment names of an exec; empty for other kinds.
    #[must_use]
    pub fn env_names(&self) -> Vec<&[u8]> {
        act::strings(&self.event, PartTag::EnvNames)
    }

    /// Whether the call can have reached nothing, because the kernel itself could not read what was asked: an
    /// unreadable text then hides no object.
    #[must_use]
    pub fn reached_nothing(&self) -> bool {
        let is_blank = match &self.act {
            Act::Open(open) => open.text.is_unreadable(),
            Act::Contact(contact) => contact.address.is_none(),
            Act::Exec(_) | Act::ExecAttempt(_) | Act::Life => false,
        };
        is_blank && self.outcome == Outcome::Failed(Errno::EFAULT)
    }
}

impl Enricher {
    /// An enricher that knows nothing yet.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Enricher {
            target,
            processes: ProcessTable::default(),
            scopes: Scopes::default(),
        }
    }

    /// What the engine says about the container of a scope. Call it before the scope's events are taken where
    /// that is possible; what cannot be told without it stays unknown until then.
    pub fn container_known(&mut self, scope: u64, facts: ContainerFacts) {
        self.scopes.known(scope, facts);
    }

    /// A process that was there before rei; `start_ns` is 0 if it is not known.
    pub fn process_present(&mut self, scope: u64, pid: u32, start_ns: u64, program: Option<Vec<u8>>) {
        // Made known here, so that a scope has its place even if it never acts.
        let _ = self.scopes.scope(scope);
        self.processes.found(pid, start_ns, program.map(Arc::from));
    }

    /// Takes the next event.
    #[must_use]
    pub fn take(&mut self, event: Event) -> Enriched {
        let EventHeader {
            scope, pid, start_ns, ..
        } = *event.header();
        let container = self.scopes.scope(scope).short_id();
        let program = self.processes.program(pid, start_ns);
        let (mut act, confidence) = self.act(&event);
        let confidence = confidence.within(&event);
        if let (Act::Exec(executed), Body::Exec(body)) = (&mut act, event.body()) {
            executed.chain = self.exec(&event, body, executed);
        }
        self.follow(&event);
        let outcome = outcome(&event);
        Enriched {
            event,
            container,
            program,
            outcome,
            confidence,
            act,
        }
    }

    fn act(&mut self, event: &Event) -> (Act, Confidence) {
        match event.body() {
            Body::Open(body) => {
                let file = self.file(event, &body.file);
                let (opened, confidence) = act::opened(event, body, file);
                (Act::Open(opened), confidence)
            }
            Body::Connect(body) | Body::Send(body) => {
                let file = self.file(event, &body.unix_peer);
                let (contact, confidence) = contact::contact(event, body, file);
                (Act::Contact(contact), confidence)
            }
            Body::Exec(body) => {
                let file = self.file(event, &body.file);
                let (executed, confidence) = act::executed(event, body, file);
                (Act::Exec(executed), confidence)
            }
            Body::ExecAttempt(body) => {
                let file = self.file(event, &body.file);
                let (attempted, confidence) = act::attempted(event, body, file);
                (Act::ExecAttempt(attempted), confidence)
            }
            Body::Fork(_) | Body::Exit(_) | Body::TaskMoved(_) => (Act::Life, Confidence::KernelObject),
            Body::CgroupMade(_) | Body::CgroupRemoved(_) => (Act::Life, Confidence::KernelText),
        }
    }

    /// The object that the record names, if it names one.
    fn file(&mut self, event: &Event, facts: &FileFacts) -> Option<File> {
        if facts.flags & file_flag::PRESENT == 0 {
            return None;
        }
        let path = file::render_path(event, facts);
        let mount_point = file::mount_point(event, facts);
        let scope = self.scopes.scope(event.header().scope);
        let origin = origin::origin(
            self.target,
            scope,
            event.phase(),
            facts,
            path.as_deref(),
            mount_point.as_deref(),
        );
        Some(File {
            facts: *facts,
            path,
            origin,
        })
    }

    /// An execution: the process runs another program now, and may be part of the entrypoint chain.
    fn exec(&mut self, event: &Event, body: &ExecBody, executed: &Executed) -> Option<Chain> {
        let EventHeader {
            scope, pid, start_ns, ..
        } = *event.header();
        let asked = executed
            .requested
            .as_deref()
            .and_then(|text| act::absolute(event, text));
        let program = executed.file.as_ref().and_then(File::path);
        let execution = Execution {
            evidence: body.evidence,
            asked: asked.as_deref(),
            program,
            origin: executed.file.as_ref().map_or(&Origin::Unknown, File::origin),
            interpreter: executed.interpreter.as_deref(),
            argv: &act::strings(event, PartTag::Argv),
        };
        let standing = self.processes.standing(pid, start_ns);
        let (chain, standing) = chain::follow(standing, &execution, self.scopes.scope(scope).facts());
        self.processes
            .set(pid, start_ns, program.map(Arc::from), standing);
        chain
    }

    /// Processes and cgroups that begin and end.
    fn follow(&mut self, event: &Event) {
        let EventHeader {
            scope, pid, start_ns, ..
        } = *event.header();
        match event.body() {
            Body::Fork(fork) => {
                let program = self.processes.program(pid, start_ns);
                let mut standing = self.processes.standing(pid, start_ns);
                let child = standing.fork();
                self.processes.set(pid, start_ns, program.clone(), standing);
                self.processes
                    .set(fork.child_pid, fork.child_start_ns, program, child);
            }
            Body::Exit(_) => self.processes.remove(pid, start_ns),
            Body::CgroupRemoved(cgroup) if cgroup.cgroup == scope => self.scopes.cgroup_removed(scope),
            _ => {}
        }
    }
}

fn outcome(event: &Event) -> Outcome {
    match event.body() {
        Body::Open(body) => Outcome::of_call(body.ret),
        Body::ExecAttempt(body) => Outcome::of_call(body.ret),
        Body::Send(body) if body.ret == 0 => Outcome::InProgress,
        // Outside a connect call (no number) nothing says how the attempt ended.
        Body::Connect(body) if body.ret == 0 && body.syscall == 0 => Outcome::InProgress,
        Body::Connect(body) | Body::Send(body) => Outcome::of_connect(body.ret),
        Body::Exec(_)
        | Body::Fork(_)
        | Body::Exit(_)
        | Body::CgroupMade(_)
        | Body::CgroupRemoved(_)
        | Body::TaskMoved(_) => Outcome::Ok,
    }
}

#[cfg(test)]
mod tests;
