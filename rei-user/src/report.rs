//! To be written.
#![expect(missing_docs, reason = "stub")]
use crate::coverage::RouteGap;
use crate::engine::ContainerFacts;
use crate::enrich::Enriched;
use crate::{attach, decode};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
pub struct RunStart {
    pub command: Vec<OsString>,
    pub target: &'static str,
    pub sensors: Vec<attach::SensorState>,
}
pub struct Report {
    json: Option<Box<dyn Write + Send>>,
    counts: u64,
}
#[derive(Clone, Debug)]
pub enum Reason {
    AttachedAfterStart,
    EndedBefore(u64),
    Route(RouteGap),
    Unidentified(u64),
    NeverSeen,
}
pub enum CommandExit {
    Code(i64),
    Signal(i32),
}
pub struct End {
    pub command_exit: Option<CommandExit>,
    pub exit_code: u8,
}
pub struct Summary {
    text: String,
    complete: bool,
}
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl Summary {
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}
#[derive(Default)]
pub struct Sequence;
impl Sequence {
    pub fn observe(&mut self, _h: &rei_ebpf_common::header::EventHeader) {}
}
impl Report {
    pub fn new(json: Option<Box<dyn Write + Send>>) -> Self {
        Self { json, counts: 0 }
    }
    pub fn begin(&mut self, _s: &RunStart) -> io::Result<()> {
        self.line("begin")
    }
    fn line(&mut self, what: &str) -> io::Result<()> {
        if let Some(j) = &mut self.json {
            writeln!(j, "{{\"x\":{what:?}}}")?;
        }
        Ok(())
    }
    pub fn container(
        &mut self,
        scope: u64,
        facts: &ContainerFacts,
        cgroup_path: &str,
        source: &str,
    ) -> io::Result<()> {
        self.line(&format!("container {scope} {} {cgroup_path} {source}", facts.id))
    }
    pub fn event(&mut self, e: &Enriched) -> io::Result<()> {
        self.counts += 1;
        self.line(&format!(
            "{:?} {:?} {:?} {}",
            e.0.kind(),
            e.0.path(rei_ebpf_common::part::PartTag::Path)
                .map(|p| String::from_utf8_lossy(&p).into_owned()),
            e.0.phase(),
            e.0.header().pid
        ))
    }
    pub fn losses(&mut self, l: &[attach::Loss]) -> io::Result<()> {
        self.line(&format!("{l:?}"))
    }
    pub fn undecodable(&mut self, u: &decode::Undecodable) -> io::Result<()> {
        self.line(&format!("{u:?}"))
    }
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(j) = &mut self.json {
            j.flush()?;
        }
        Ok(())
    }
    pub fn reason(&mut self, r: Reason) {
        let _ = self.line(&format!("{r:?}"));
    }
    pub fn finish(mut self, end: End) -> io::Result<Summary> {
        let n = self.counts;
        self.line("end")?;
        if let Some(j) = &mut self.json {
            j.flush()?;
        }
        Ok(Summary {
            text: format!("{n} events, {}", end.exit_code),
            complete: true,
        })
    }
}
