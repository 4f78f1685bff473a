//! Who descends from whom, and which program each of them ran: for findings.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decode::Body;
use crate::enrich::{Act, Enriched, File};

/// Most ancestors that a finding names.
const ANCESTORS_MAX: usize = 16;
/// Most processes that are remembered; those that have ended go first.
const PROCESSES_MAX: usize = 65_536;

/// A process that another one descends from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its number in the initial pid namespace.
    pub pid: u32,
    /// Its start, `CLOCK_BOOTTIME` in nanoseconds; with `pid` it names the process.
    pub start_ns: u64,
    /// The program that it ran last, if that is known.
    pub program: Option<Arc<[u8]>>,
}

#[derive(Clone, Debug)]
struct Process {
    parent: Option<(u32, u64)>,
    program: Option<Arc<[u8]>>,
    has_ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Ancestry {
    processes: HashMap<(u32, u64), Process>,
}

impl Ancestry {
    pub(super) fn present(&mut self, pid: u32, start_ns: u64, program: Option<&[u8]>) {
        let process = Process {
            parent: None,
            program: program.map(Arc::from),
            has_ended: false,
        };
        self.set((pid, start_ns), process);
    }

    /// Processes that begin, change their program, and end.
    pub(super) fn follow(&mut self, enriched: &Enriched) {
        let header = enriched.event().header();
        let id = (header.pid, header.start_ns);
        match (enriched.event().body(), enriched.act()) {
            (Body::Fork(fork), _) => {
                let child = Process {
                    parent: Some(id),
                    program: enriched.program().map(Arc::from),
                    has_ended: false,
                };
                self.set((fork.child_pid, fork.child_start_ns), child);
            }
            (Body::Exec(exec), Act::Exec(executed)) => {
                let known = self.processes.get(&id).and_then(|process| process.parent);
                let parent = (exec.parent_pid != 0).then_some((exec.parent_pid, exec.parent_start_ns));
                let process = Process {
                    parent: known.or(parent),
                    program: executed.file.as_ref().and_then(File::path).map(Arc::from),
                    has_ended: false,
                };
                self.set(id, process);
            }
            (Body::Exit(_), _) => {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.has_ended = true;
                }
            }
            _ => {}
        }
    }

    /// The ancestors of a process, the nearest first.
    pub(super) fn of(&self, pid: u32, start_ns: u64) -> Vec<Ancestor> {
        let mut ancestors = Vec::new();
        let mut next = self
            .processes
            .get(&(pid, start_ns))
            .and_then(|process| process.parent);
        while let Some((pid, start_ns)) = next {
            if ancestors.len() == ANCESTORS_MAX {
                break;
            }
            let process = self.processes.get(&(pid, start_ns));
            ancestors.push(Ancestor {
                pid,
                start_ns,
                program: process.and_then(|process| process.program.clone()),
            });
            next = process.and_then(|process| process.parent);
        }
        ancestors
    }

    fn set(&mut self, id: (u32, u64), process: Process) {
        if self.processes.len() >= PROCESSES_MAX {
            self.processes.retain(|_, process| !process.has_ended);
        }
        if self.processes.len() < PROCESSES_MAX || self.processes.contains_key(&id) {
            self.processes.insert(id, process);
        }
    }
}
