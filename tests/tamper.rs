//! Attacks on a sealed log, each with what finds it: the rows of the table, every small change of a small log, and
//! whoever owns the host from some moment on.
//!
//! The logs are made by a second writer that shares no line with rei's own.

#[path = "tamper/exhaustive.rs"]
mod exhaustive;
#[path = "tamper/files.rs"]
mod files;
#[path = "tamper/honest.rs"]
mod honest;
#[path = "tamper/host.rs"]
mod host;
#[path = "tamper/impostor.rs"]
mod impostor;
#[path = "tamper/owner.rs"]
mod owner;
#[path = "tamper/rows.rs"]
mod rows;
#[path = "tamper/vectors.rs"]
mod vectors;
#[path = "tamper/writer.rs"]
mod writer;

use files::Auditor;
use writer::{Host, Writer};

/// A closed log of two segments, and the auditor of its host.
fn closed_log() -> (Auditor, Writer) {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    writer.event();
    writer.seal(0);
    writer.event();
    writer.seal(2);
    writer.checkpoint();
    writer.event();
    writer.close();
    writer.roll();
    writer.event();
    writer.seal(0);
    writer.event();
    writer.close();
    (auditor, writer)
}

/// The same log, not closed: the last line is sealed.
fn open_log() -> (Auditor, Writer) {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    writer.close();
    writer.roll();
    writer.event();
    writer.seal(0);
    writer.checkpoint();
    writer.event();
    writer.event();
    writer.seal(0);
    (auditor, writer)
}

/// The smallest closed log of two segments with an event in each.
fn small_log() -> (Auditor, Writer) {
    let mut host = Host::new(1);
    let auditor = Auditor::of(&host);
    let mut writer = Writer::new(&mut host, 7);
    writer.event();
    writer.close();
    writer.roll();
    writer.event();
    writer.close();
    (auditor, writer)
}
