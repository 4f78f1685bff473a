//! The process table: which program a process runs, and whether it stands for the container's entrypoint.

use std::collections::HashMap;
use std::sync::Arc;

use crate::enrich::chain::Standing;

/// Most processes that are remembered. The kernel reports each end, and a reused pid replaces its
/// predecessor, so this is only reached by that many processes at once (or losses); further ones have an
/// unknown program.
const PROCESSES_MAX: usize = 65_536;

/// One process.
#[derive(Clone, Debug)]
pub(super) struct Process {
    start_ns: u64,
    pub(super) program: Option<Arc<[u8]>>,
    pub(super) standing: Standing,
}

impl Process {
    /// A process that was found rather than seen to start (0) is taken for the one that acts under its pid:
    /// its end, or a successor's start, is reported before the pid means somebody else.
    fn is(&self, start_ns: u64) -> bool {
        self.start_ns == start_ns || self.start_ns == 0
    }
}

/// Processes by pid; the start time tells a reused pid from its predecessor.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    processes: HashMap<u32, Process>,
}

impl ProcessTable {
    pub(super) fn program(&self, pid: u32, start_ns: u64) -> Option<Arc<[u8]>> {
        self.processes
            .get(&pid)
            .filter(|process| process.is(start_ns))?
            .program
            .clone()
    }

    pub(super) fn standing(&self, pid: u32, start_ns: u64) -> Standing {
        let process = self.processes.get(&pid).filter(|process| process.is(start_ns));
        process
            .map(|process| process.standing.clone())
            .unwrap_or_default()
    }

    /// Sets what the process runs and stands for from now on.
    pub(super) fn set(&mut self, pid: u32, start_ns: u64, program: Option<Arc<[u8]>>, standing: Standing) {
        if self.processes.len() < PROCESSES_MAX || self.processes.contains_key(&pid) {
            self.processes.insert(
                pid,
                Process {
                    start_ns,
                    program,
                    standing,
                },
            );
        }
    }

    /// A process that was found running. What events have told of it meanwhile is newer and stays.
    pub(super) fn found(&mut self, pid: u32, start_ns: u64, program: Option<Arc<[u8]>>) {
        if !self.processes.contains_key(&pid) {
            self.set(pid, start_ns, program, Standing::default());
        }
    }

    pub(super) fn remove(&mut self, pid: u32, start_ns: u64) {
        if self
            .processes
            .get(&pid)
            .is_some_and(|process| process.is(start_ns))
        {
            self.processes.remove(&pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &[u8]) -> Option<Arc<[u8]>> {
        Some(path.into())
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let mut table = ProcessTable::default();
        table.set(1, 10, program(b"/a"), Standing::default());
        assert_eq!(table.program(1, 10), program(b"/a"));
        assert_eq!(table.program(1, 11), None);
        table.remove(1, 11);
        assert_eq!(table.program(1, 10), program(b"/a"));
        table.set(1, 12, program(b"/b"), Standing::default());
        assert_eq!(table.program(1, 10), None);
        table.remove(1, 12);
        assert!(table.processes.is_empty());
    }

    #[test]
    fn a_process_that_was_found_is_the_one_that_acts() {
        let mut table = ProcessTable::default();
        table.found(1, 0, program(b"/a"));
        assert_eq!(table.program(1, 10), program(b"/a"));
        table.set(1, 10, program(b"/b"), Standing::default());
        table.found(1, 0, program(b"/a"));
        assert_eq!(table.program(1, 10), program(b"/b"));
        table.found(2, 0, program(b"/c"));
        table.remove(2, 11);
        assert_eq!(table.program(2, 11), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut table = ProcessTable::default();
        for pid in 0..u32::try_from(PROCESSES_MAX).unwrap() + 10 {
            table.set(pid, 1, None, Standing::default());
        }
        assert_eq!(table.processes.len(), PROCESSES_MAX);
        table.set(5, 2, program(b"/new"), Standing::default());
        assert_eq!(table.program(5, 2), program(b"/new"));
    }
}
