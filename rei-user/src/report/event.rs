//! An event as a JSON line: docs/events.md says what each field means.

use rei_ebpf_common::connect::ConnectBody;
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::ExecBody;
use rei_ebpf_common::header::task_flag;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::scope::{CgroupBody, cgroup_flag};

use crate::decode::{Body, Event};
use crate::enrich::{
    Access, Act, Attempted, Contact, Enriched, Executed, File, Opened, moved_name, phase_name,
    protocol_words, socket_type_words,
};
use crate::judge::{Judged, Verdict};
use crate::report::line::Line;
use crate::tripwire::Ground;

/// The line of one event.
pub(super) fn line(judged: &Judged) -> Vec<u8> {
    let enriched = judged.enriched();
    let mut line = Line::of_type("event");
    common(&mut line, enriched);
    match enriched.act() {
        Act::Open(opened) => open(&mut line, opened),
        Act::Contact(contacted) => {
            if let Body::Connect(body) | Body::Send(body) = enriched.event().body() {
                contact(&mut line, contacted, body);
            }
        }
        Act::Exec(executed) => {
            if let Body::Exec(body) = enriched.event().body() {
                exec(&mut line, enriched, executed, body);
            }
        }
        Act::ExecAttempt(attempted) => attempt(&mut line, enriched.event(), attempted),
        Act::Life => life(&mut line, enriched.event()),
    }
    if let Some(verdict) = judged.verdict() {
        judgement(&mut line, verdict);
    }
    line.end()
}

/// What tripwires and gate say.
fn judgement(line: &mut Line, verdict: &Verdict) {
    let trips = &verdict.answer.trips;
    if !trips.is_empty() {
        let mut wires: Vec<&str> = trips.iter().map(|trip| trip.wire.name()).collect();
        wires.dedup();
        line.texts("tripwires", wires);
        line.texts("why", trips.iter().map(|trip| trip.why.as_str()));
        line.flag("attempted", trips.iter().any(|trip| trip.attempted.is_some()));
    }
    match &verdict.answer.ground {
        Some(Ground::Ambient { class, .. }) => line.text("ambient", class.name()),
        Some(Ground::Declared { rule }) => line.text("declared", rule),
        Some(Ground::Chain | Ground::Harmless(_)) | None => {}
    }
    if let Some(word) = verdict.decision_word() {
        line.text("decision", word);
    }
    if let Some(decision) = verdict.ruling() {
        line.text("rule", &decision.rule_name);
        line.optional_text("note", decision.note.as_deref());
    }
    if let Some(severity) = verdict.severity {
        line.text("finding", severity.name());
    }
}

fn common(line: &mut Line, enriched: &Enriched) {
    let event = enriched.event();
    let header = event.header();
    line.text("kind", event.kind().name());
    line.number("boot_ns", header.boot_ns);
    line.number("cpu", header.cpu);
    line.number("stream", header.stream);
    line.number("seq", header.seq);
    line.number("scope", header.scope);
    line.number("cgroup", header.cgroup);
    line.optional_text("container", enriched.container());
    line.number("pid", header.pid);
    line.number("tid", header.tid);
    line.number("ns_pid", header.ns_pid);
    line.number("start_ns", header.start_ns);
    line.number("uid", header.uid);
    line.number("gid", header.gid);
    line.bytes(
        "comm",
        header.comm.split(|byte| *byte == 0).next().unwrap_or_default(),
    );
    line.optional_bytes("program", enriched.program());
    line.text("phase", phase_name(event.phase()));
    line.flag(
        "present_at_attach",
        header.task_flags & task_flag::PRESENT_AT_ATTACH != 0,
    );
    line.flag("left_scope", header.task_flags & task_flag::LEFT_SCOPE != 0);
    line.text("hook", event.hook().name());
    line.text("confidence", enriched.confidence().name());
    line.text("outcome", &enriched.outcome().to_string());
    if !enriched.entry_seen() {
        line.boolean("entry_seen", false);
    }
    gaps(line, enriched);
}

/// Names of the fields that were cut or could not be read.
fn gaps(line: &mut Line, enriched: &Enriched) {
    let cut: Vec<&str> = enriched.cut_fields().collect();
    let unreadable: Vec<&str> = enriched.unreadable_fields().collect();
    for (key, names) in [("cut", cut), ("unreadable", unreadable)] {
        if !names.is_empty() {
            line.texts(key, names);
        }
    }
}

fn open(line: &mut Line, opened: &Opened) {
    line.optional_bytes("path", opened.path.as_deref());
    line.texts("access", opened.access.iter().map(Access::name));
    requested(line, opened.text.best(), opened.path.as_deref());
    if opened.lexical {
        lexical(line, opened.text.differing_entry());
    }
    file(line, opened.file.as_ref());
}

fn attempt(line: &mut Line, event: &Event, attempted: &Attempted) {
    line.optional_bytes("path", attempted.path.as_deref());
    requested(line, attempted.text.best(), attempted.path.as_deref());
    if attempted.lexical {
        lexical(line, attempted.text.differing_entry());
    }
    if let Body::ExecAttempt(body) = event.body() {
        line.flag("check", body.evidence & evidence::EXEC_CHECK != 0);
    }
    file(line, attempted.file.as_ref());
}

fn lexical(line: &mut Line, differing_entry: Option<&[u8]>) {
    line.boolean("lexical", true);
    if let Some(entry) = differing_entry {
        line.bytes("requested_entry", entry);
    }
}

/// What was asked for, where that is not the path.
fn requested(line: &mut Line, requested: Option<&[u8]>, path: Option<&[u8]>) {
    if let Some(text) = requested.filter(|text| Some(*text) != path) {
        line.bytes("requested", text);
    }
}

fn file(line: &mut Line, file: Option<&File>) {
    let Some(file) = file else { return };
    line.text("origin", &file.origin().to_string());
    line.text("fs", &file.fs_words());
    line.text("dev", &file.dev_words());
    line.number("ino", file.facts().ino);
    line.text("mode", &file.mode_words());
    if let Some(rdev) = file.rdev_words() {
        line.text("rdev", &rdev);
    }
    if let Some(layer) = file.overlay_name() {
        line.text("overlay", layer);
    }
    for flag in file.flag_names() {
        line.boolean(flag, true);
    }
}

fn contact(line: &mut Line, contact: &Contact, body: &ConnectBody) {
    line.text("family", &contact.family_words());
    if let Some(socket_type) = socket_type_words(body) {
        line.text("socket_type", &socket_type);
    }
    if let Some(protocol) = protocol_words(body) {
        line.text("protocol", &protocol);
    }
    line.optional_bytes("address", contact.address.as_deref());
    line.optional_text("source", contact.source_name());
    file(line, contact.file.as_ref());
}

fn exec(line: &mut Line, enriched: &Enriched, executed: &Executed, body: &ExecBody) {
    let path = executed.file.as_ref().and_then(File::path);
    line.optional_bytes("path", path);
    line.byte_strings("argv", &enriched.argv());
    line.number("argc", body.argc);
    line.byte_strings("env_names", &enriched.env_names());
    requested(line, executed.requested.as_deref(), path);
    if body.evidence & evidence::SCRIPT != 0 {
        line.optional_bytes("script", executed.script.as_deref());
        line.text("script_confidence", executed.script_confidence().name());
        line.optional_bytes("interpreter", executed.interpreter.as_deref());
    }
    if let Some(chain) = executed.chain {
        line.text("chain", chain.name());
    }
    line.number("parent_pid", body.parent_pid);
    line.number("parent_start_ns", body.parent_start_ns);
    line.number("euid", body.euid);
    line.number("egid", body.egid);
    line.number("mnt_ns", body.mnt_ns);
    line.number("pid_ns", body.pid_ns);
    file(line, executed.file.as_ref());
}

fn life(line: &mut Line, event: &Event) {
    match event.body() {
        Body::Fork(fork) => {
            line.number("child_pid", fork.child_pid);
            line.number("child_start_ns", fork.child_start_ns);
            line.number("child_ns_pid", fork.child_ns_pid);
            line.number("child_cgroup", fork.child_cgroup);
        }
        Body::Exit(exit) => match exit.status & 0x7f {
            0 => line.number("code", exit.status >> 8 & 0xff),
            signal => line.number("signal", signal),
        },
        Body::CgroupMade(body) | Body::CgroupRemoved(body) => cgroup(line, event, body),
        Body::TaskMoved(body) => {
            line.optional_text("what", moved_name(body.what));
            line.number("to_cgroup", body.to_cgroup);
            line.number("mover_pid", body.mover_pid);
        }
        Body::Open(_) | Body::Connect(_) | Body::Send(_) | Body::Exec(_) | Body::ExecAttempt(_) => {}
    }
}

fn cgroup(line: &mut Line, event: &Event, body: &CgroupBody) {
    line.optional_bytes("path", event.part(PartTag::CgroupPath).map(AsRef::as_ref));
    line.number("id", body.cgroup);
    line.number("parent", body.parent);
    line.boolean("new_scope", body.flags & cgroup_flag::NEW_SCOPE != 0);
}
