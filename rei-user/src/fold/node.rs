//! A process image: where it comes from, and what it touched.

use super::event::ORIGIN_BYTES_MAX;
use super::name::{Name, brief, put_known};
use super::object::Objects;
use super::seen::Seen;
use crate::format::event::{Act, Event, Executed};
use crate::format::{Count, Decimal, Lineage, ProcessKey};

/// Most ancestors that a finding names.
const ANCESTORS_MAX: usize = 16;

/// How an image began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// A fork: it runs its parent's program.
    Fork,
    /// An exec.
    Exec,
    /// Before the recording.
    Present,
    /// Nobody saw it.
    Unknown,
}

impl Beginning {
    const fn name(self) -> &'static str {
        match self {
            Beginning::Fork => "fork",
            Beginning::Exec => "exec",
            Beginning::Present => "present",
            Beginning::Unknown => "unknown",
        }
    }
}

/// A process image while it runs.
#[derive(Debug)]
pub(super) struct Node {
    /// Its number in the log, once its line is written.
    pub(super) number: Option<Count>,
    pub(super) objects: Objects,
    /// When it last did something, boot time in ns.
    pub(super) last_ns: u64,
    how: Beginning,
    process: ProcessKey,
    scope: u64,
    phase: String,
    uid: Count,
    gid: Count,
    begin_ns: u64,
    confidence: String,
    ancestors: Vec<Count>,
}

impl Node {
    /// An image that acts before anything told of it.
    pub(super) fn found(seen: &Seen<'_>) -> Self {
        // Of a process that was there before, the kernel's word in procfs says what it runs.
        let (how, confidence) = match (seen.is_present, seen.program) {
            (true, Some(_)) => (Beginning::Present, "kernel_text"),
            (true, None) => (Beginning::Present, "unresolved"),
            (false, _) => (Beginning::Unknown, "unresolved"),
        };
        Node::new(how, seen.process, seen, confidence, Vec::new())
    }

    /// The child that `self`, the parent, forks.
    pub(super) fn child(&self, child: ProcessKey, seen: &Seen<'_>) -> Self {
        let ancestors = self.descendants_ancestors();
        Node::new(Beginning::Fork, child, seen, &self.confidence, ancestors)
    }

    /// The image that an exec makes; `ancestors` are its own, the nearest first.
    pub(super) fn executed(seen: &Seen<'_>, ancestors: Vec<Count>) -> Self {
        Node::new(Beginning::Exec, seen.process, seen, seen.confidence, ancestors)
    }

    fn new(
        how: Beginning,
        process: ProcessKey,
        seen: &Seen<'_>,
        confidence: &str,
        ancestors: Vec<Count>,
    ) -> Self {
        Node {
            number: None,
            objects: Objects::default(),
            last_ns: seen.boot_ns,
            how,
            process,
            scope: seen.scope,
            phase: seen.phase.to_owned(),
            uid: seen.uid,
            gid: seen.gid,
            begin_ns: seen.boot_ns,
            confidence: confidence.to_owned(),
            ancestors,
        }
    }

    /// Images that it descends from, the nearest first.
    pub(super) fn ancestors(&self) -> &[Count] {
        &self.ancestors
    }

    /// Those of an image that descends from it directly: itself and its own, if it is written.
    pub(super) fn descendants_ancestors(&self) -> Vec<Count> {
        let all = self.number.into_iter().chain(self.ancestors.iter().copied());
        all.take(ANCESTORS_MAX).collect()
    }

    /// Gives it the next number, and its line. `program` is what its process runs, where that is known;
    /// `event` is the exec that made it.
    pub(super) fn write(
        &mut self,
        written: &mut u64,
        program: Option<Name<'_>>,
        event: Option<&Event>,
    ) -> Lineage {
        let number = Count::new(*written);
        *written += 1;
        self.number = Some(number);
        let mut shortened = Vec::new();
        let (program, program_b64) = put_known(program, "program", &mut shortened);
        let lineage = Lineage {
            node: number,
            parent: self.ancestors.first().copied(),
            how: self.how.name().to_owned(),
            process: self.process,
            scope: Decimal(self.scope),
            phase: self.phase.clone(),
            uid: self.uid,
            gid: self.gid,
            begin: Decimal(self.begin_ns),
            program,
            program_b64,
            origin: None,
            script: None,
            script_b64: None,
            chain: None,
            argv: Vec::new(),
            env_names: Vec::new(),
            confidence: self.confidence.clone(),
            missing: Vec::new(),
            shortened,
        };
        match event {
            Some(event) => with_exec(lineage, event),
            None => lineage,
        }
    }
}

/// The program that an exec made its process run.
pub(super) fn program_of(event: &Event) -> Option<Name<'_>> {
    let Act::Exec(executed) = &event.act else {
        return None;
    };
    let name = &executed.name;
    Name::written(
        name.path.as_ref(),
        name.path_b64.as_ref(),
        "path",
        &event.shortened,
    )
}

/// What only an exec tells.
fn with_exec(mut lineage: Lineage, event: &Event) -> Lineage {
    let Act::Exec(executed) = &event.act else {
        return lineage;
    };
    let Executed {
        argv,
        env_names,
        script,
        chain,
        ..
    } = executed.as_ref();
    let kept = event
        .shortened
        .iter()
        .filter(|entry| ["argv", "env_names", "script"].contains(&entry.field.as_str()));
    lineage.shortened.extend(kept.cloned());
    if let Some(script) = script {
        lineage.script.clone_from(&script.path);
        lineage.script_b64.clone_from(&script.path_b64);
    }
    let origin = event
        .file
        .as_ref()
        .map(|file| brief(&file.origin, ORIGIN_BYTES_MAX));
    lineage.origin = origin.map(Into::into);
    lineage.chain.clone_from(chain);
    lineage.argv.clone_from(argv);
    lineage.env_names.clone_from(env_names);
    lineage.missing.clone_from(&event.cut);
    for field in &event.unreadable {
        if !lineage.missing.contains(field) {
            lineage.missing.push(field.clone());
        }
    }
    lineage
}
