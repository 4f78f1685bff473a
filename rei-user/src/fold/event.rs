//! [`Judged`] → the body of an `event` line. Its fields are those of docs/events.md.
//!
//! Whatever a container does, the line fits: names and lists are cut at limits of their own, texts of the
//! policy and the engine end in `…`.

use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::ExecBody;
use rei_ebpf_common::header::task_flag;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::scope::{CgroupBody, cgroup_flag};

use super::name::{Name, brief, put_known, words};
use crate::decode::{self, Body};
use crate::enrich::{
    self, Access, Enriched, File, Text, moved_name, phase_name, protocol_words, socket_type_words,
};
use crate::format::event::{
    Act, Attempted, CgroupFacts, Contact, Event, Executed, FileFacts, Forked, Ground, KernelSequence, Moved,
    Named, Script, Trip, Verdict,
};
use crate::format::{Count, Decimal, Ending, ProcessKey, Shortened, split_known};
use crate::judge::{self, Judged};
use crate::tripwire;

/// Most bytes that an origin takes: it holds a path of the host, or the name of a volume.
pub(super) const ORIGIN_BYTES_MAX: usize = 4 << 10;
/// Most bytes that a name given by the policy takes.
pub(super) const RULE_BYTES_MAX: usize = 512;
/// Most bytes that a tripwire's reason, or its hint, takes.
pub(super) const WHY_BYTES_MAX: usize = 512;
/// Most bytes that a note of the policy takes.
pub(super) const NOTE_BYTES_MAX: usize = 1 << 10;
/// Most firings of tripwires that a line holds: an execution has two at most, everything else one.
const TRIPS_MAX: usize = 4;

/// The body of an event's line.
pub(super) fn event(judged: &Judged) -> Event {
    let enriched = judged.enriched();
    let event = enriched.event();
    let header = event.header();
    let mut shortened = Vec::new();
    let comm = header.comm.split(|byte| *byte == 0).next();
    let (comm, comm_b64) = split_known(comm);
    let program = enriched.program().map(Name::new);
    let (program, program_b64) = put_known(program, "program", &mut shortened);
    Event {
        kind: event.kind().name().to_owned(),
        kseq: KernelSequence {
            cpu: Count::new(header.cpu.into()),
            stream: Count::new(header.stream.into()),
            n: Decimal(header.seq),
        },
        at: Decimal(header.boot_ns),
        scope: Decimal(header.scope),
        cgroup: Decimal(header.cgroup),
        process: process(header.pid, header.start_ns),
        tid: Count::new(header.tid.into()),
        ns_pid: Count::new(header.ns_pid.into()),
        uid: Count::new(header.uid.into()),
        gid: Count::new(header.gid.into()),
        comm,
        comm_b64,
        program,
        program_b64,
        phase: phase_name(event.phase()).to_owned(),
        hook: event.hook().name().to_owned(),
        confidence: enriched.confidence().name().to_owned(),
        outcome: enriched.outcome().to_string(),
        flags: flags(enriched),
        cut: enriched.cut_fields().map(str::to_owned).collect(),
        unreadable: enriched.unreadable_fields().map(str::to_owned).collect(),
        act: act(enriched, &mut shortened),
        file: file_of(enriched.act()).map(file),
        verdict: judged.verdict().map(verdict),
        shortened,
    }
}

pub(super) fn process(pid: u32, start_ns: u64) -> ProcessKey {
    ProcessKey {
        pid: Count::new(pid.into()),
        start: Decimal(start_ns),
    }
}

/// How a process ended, from the status that `wait` would give.
pub(super) fn ending(status: u32) -> Ending {
    match status & 0x7f {
        0 => Ending::Code((status >> 8 & 0xff).cast_signed()),
        signal => Ending::Signal(signal.cast_signed()),
    }
}

fn flags(enriched: &Enriched) -> Vec<String> {
    let task_flags = enriched.event().header().task_flags;
    let flags = [
        (
            task_flags & task_flag::PRESENT_AT_ATTACH != 0,
            "present_at_attach",
        ),
        (task_flags & task_flag::LEFT_SCOPE != 0, "left_scope"),
        (!enriched.entry_seen(), "entry_not_seen"),
    ];
    flags
        .into_iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn act(enriched: &Enriched, shortened: &mut Vec<Shortened>) -> Act {
    match (enriched.act(), enriched.event().body()) {
        (enrich::Act::Open(opened), _) => {
            let access = opened
                .access
                .iter()
                .map(Access::name)
                .map(str::to_owned)
                .collect();
            let path = opened.path.as_deref();
            Act::Open(Named {
                access,
                ..named(path, &opened.text, opened.lexical, shortened)
            })
        }
        (enrich::Act::Contact(contact), Body::Connect(body) | Body::Send(body)) => {
            let address = contact.address.as_deref().map(Name::new);
            let (address, address_b64) = put_known(address, "address", shortened);
            Act::Contact(Contact {
                family: contact.family_words().into_owned(),
                socket_type: socket_type_words(body).map(Into::into),
                protocol: protocol_words(body).map(Into::into),
                address,
                address_b64,
                source: contact.source_name().map(str::to_owned),
            })
        }
        (enrich::Act::Exec(executed), Body::Exec(body)) => {
            Act::Exec(Box::new(exec(enriched, executed, body, shortened)))
        }
        (enrich::Act::ExecAttempt(attempted), Body::ExecAttempt(body)) => Act::ExecAttempt(Attempted {
            name: named(
                attempted.path.as_deref(),
                &attempted.text,
                attempted.lexical,
                shortened,
            ),
            check: body.evidence & evidence::EXEC_CHECK != 0,
        }),
        (_, body) => life(enriched.event(), body, shortened),
    }
}

/// A path, and what was asked for where that differs; of text that nobody resolved also what stood there at
/// entry.
fn named(path: Option<&[u8]>, text: &Text, is_lexical: bool, shortened: &mut Vec<Shortened>) -> Named {
    let named = asked(path, text.best(), is_lexical, shortened);
    let entry = text.differing_entry().filter(|_| is_lexical).map(Name::new);
    let (requested_entry, requested_entry_b64) = put_known(entry, "requested_entry", shortened);
    Named {
        requested_entry,
        requested_entry_b64,
        ..named
    }
}

/// A path, and what was asked for where that differs.
fn asked(
    path: Option<&[u8]>,
    requested: Option<&[u8]>,
    is_lexical: bool,
    shortened: &mut Vec<Shortened>,
) -> Named {
    let requested = requested.filter(|text| Some(*text) != path).map(Name::new);
    let (path, path_b64) = put_known(path.map(Name::new), "path", shortened);
    let (requested, requested_b64) = put_known(requested, "requested", shortened);
    Named {
        path,
        path_b64,
        requested,
        requested_b64,
        lexical: is_lexical,
        ..Named::default()
    }
}

fn exec(
    enriched: &Enriched,
    executed: &enrich::Executed,
    body: &ExecBody,
    shortened: &mut Vec<Shortened>,
) -> Executed {
    let path = executed.file.as_ref().and_then(File::path);
    Executed {
        name: asked(path, executed.requested.as_deref(), false, shortened),
        argv: words(&enriched.argv(), "argv", shortened),
        argc: Count::new(body.argc.into()),
        env_names: words(&enriched.env_names(), "env_names", shortened),
        script: (body.evidence & evidence::SCRIPT != 0).then(|| script(executed, shortened)),
        chain: executed.chain.map(|chain| chain.name().to_owned()),
        parent: process(body.parent_pid, body.parent_start_ns),
        euid: Count::new(body.euid.into()),
        egid: Count::new(body.egid.into()),
        mnt_ns: Decimal(body.mnt_ns.into()),
        pid_ns: Decimal(body.pid_ns.into()),
    }
}

fn script(executed: &enrich::Executed, shortened: &mut Vec<Shortened>) -> Script {
    let path = executed.script.as_deref().map(Name::new);
    let (path, path_b64) = put_known(path, "script", shortened);
    let interpreter = executed.interpreter.as_deref().map(Name::new);
    let (interpreter, interpreter_b64) = put_known(interpreter, "interpreter", shortened);
    Script {
        path,
        path_b64,
        confidence: executed.script_confidence().name().to_owned(),
        interpreter,
        interpreter_b64,
    }
}

/// Beginnings, ends and moves. The enricher gives no other bodies without an act of their own.
fn life(event: &decode::Event, body: &Body, shortened: &mut Vec<Shortened>) -> Act {
    match body {
        Body::Fork(fork) => Act::Fork(Forked {
            child: process(fork.child_pid, fork.child_start_ns),
            child_ns_pid: Count::new(fork.child_ns_pid.into()),
            child_cgroup: Decimal(fork.child_cgroup),
        }),
        Body::Exit(exit) => Act::Exit(ending(exit.status)),
        Body::CgroupMade(body) | Body::CgroupRemoved(body) => Act::Cgroup(cgroup(event, body, shortened)),
        Body::TaskMoved(body) => Act::Moved(Moved {
            what: moved_name(body.what).map(str::to_owned),
            to_cgroup: Decimal(body.to_cgroup),
            mover_pid: Count::new(body.mover_pid.into()),
        }),
        Body::Open(_) | Body::Connect(_) | Body::Send(_) | Body::Exec(_) | Body::ExecAttempt(_) => {
            Act::Open(Named::default())
        }
    }
}

/// Path of the cgroup that an event is about, below the cgroup v2 root.
pub(super) fn cgroup_path(event: &decode::Event) -> Option<&[u8]> {
    event.part(PartTag::CgroupPath).map(AsRef::as_ref)
}

fn cgroup(event: &decode::Event, body: &CgroupBody, shortened: &mut Vec<Shortened>) -> CgroupFacts {
    let path = cgroup_path(event).map(Name::new);
    let (path, path_b64) = put_known(path, "path", shortened);
    CgroupFacts {
        path,
        path_b64,
        id: Decimal(body.cgroup),
        parent: Decimal(body.parent),
        new_scope: body.flags & cgroup_flag::NEW_SCOPE != 0,
    }
}

fn file_of(act: &enrich::Act) -> Option<&File> {
    match act {
        enrich::Act::Open(opened) => opened.file.as_ref(),
        enrich::Act::Contact(contact) => contact.file.as_ref(),
        enrich::Act::Exec(executed) => executed.file.as_ref(),
        enrich::Act::ExecAttempt(attempted) => attempted.file.as_ref(),
        enrich::Act::Life => None,
    }
}

fn file(file: &File) -> FileFacts {
    FileFacts {
        origin: brief(&file.origin().to_string(), ORIGIN_BYTES_MAX).into_owned(),
        fs: file.fs_words().into_owned(),
        dev: file.dev_words(),
        ino: Decimal(file.facts().ino),
        mode: file.mode_words(),
        rdev: file.rdev_words(),
        overlay: file.overlay_name().map(str::to_owned),
        flags: file.flag_names().map(str::to_owned).collect(),
    }
}

fn verdict(verdict: &judge::Verdict) -> Verdict {
    let ruling = verdict.ruling();
    let note = ruling.and_then(|decision| decision.note.as_deref());
    Verdict {
        trips: verdict.answer.trips.iter().take(TRIPS_MAX).map(trip).collect(),
        ground: verdict.answer.ground.as_ref().map(ground),
        decision: verdict.decision_word().map(str::to_owned),
        rule: ruling.map(|decision| brief(&decision.rule_name, RULE_BYTES_MAX).into_owned()),
        note: note.map(|note| brief(note, NOTE_BYTES_MAX).into_owned()),
        severity: verdict.severity.map(|severity| severity.name().to_owned()),
    }
}

fn trip(trip: &tripwire::Trip) -> Trip {
    Trip {
        wire: trip.wire.name().to_owned(),
        why: brief(&trip.why, WHY_BYTES_MAX).into_owned(),
        attempted: trip.attempted.map(|errno| errno.to_string()),
        hint: trip.hint.map(|hint| brief(hint, WHY_BYTES_MAX).into_owned()),
    }
}

fn ground(ground: &tripwire::Ground) -> Ground {
    let (kind, name) = ground_words(ground);
    Ground {
        kind: kind.to_owned(),
        name: name.map(|name| brief(name, RULE_BYTES_MAX).into_owned()),
    }
}

/// A ground's kind, and the ambient class, the rule's name, or why it is harmless.
pub(super) fn ground_words(ground: &tripwire::Ground) -> (&'static str, Option<&str>) {
    match ground {
        tripwire::Ground::Ambient { class, .. } => ("ambient", Some(class.name())),
        tripwire::Ground::Declared { rule } => ("declared", Some(rule)),
        tripwire::Ground::Chain => ("chain", None),
        tripwire::Ground::Harmless(why) => ("harmless", Some(why)),
    }
}
