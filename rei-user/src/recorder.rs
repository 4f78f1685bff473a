//! The recorder: one plain thread that takes every record through the corridor.
//!
//! Takes records from the reader and instructions from the command that observes. For each record: decode →
//! sequence check → settle whose it is → enrich → judge → report and ledger. Gives notices about scopes, and the
//! report's summary and the closed log at the end. It owns its state alone: no lock anywhere.

use std::collections::VecDeque;
use std::io;
use std::thread;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::decode::{self, Body, Event};
use crate::identity::Settled;
use crate::report::{End, Reason, Sequence};

pub use self::message::{Closing, Container, Instruction, Notice, Outcome, Rooms, Wires};

mod message;

/// Instructions that wait for the recorder. They are few: losses every 100 ms, facts per container.
pub const INSTRUCTIONS: usize = 256;
/// Notices that wait for the observing command; more wait inside the recorder.
pub const NOTICES: usize = 1024;
/// Records that are taken at once, between two looks at the instructions.
const BATCH: usize = 256;

/// Starts the recorder's thread. What is left comes by the channel, when the
/// recorder has ended; it is closed without a word if the thread panicked. Nobody has to join the thread: it
/// may hang in a write.
///
/// # Errors
/// If the system gives no thread.
pub fn spawn(rooms: Rooms, wires: Wires, runtime: Handle) -> io::Result<oneshot::Receiver<Outcome>> {
    let recorder = Recorder {
        rooms,
        sequence: Sequence::default(),
        container: None,
        settled: Vec::new(),
        unsent: VecDeque::new(),
        notices: wires.notices,
        failure: None,
        has_told_log_failure: false,
    };
    let (left, outcome) = oneshot::channel();
    thread::Builder::new()
        .name("rei-recorder".to_owned())
        .spawn(move || {
            let outcome = runtime.block_on(recorder.run(wires.records, wires.instructions));
            // Who gave up waiting needs it no more.
            let _ = left.send(outcome);
        })?;
    Ok(outcome)
}

struct Recorder {
    rooms: Rooms,
    sequence: Sequence,
    /// The awaited container, once it is known.
    container: Option<Container>,
    /// Reused between events.
    settled: Vec<Settled>,
    /// Notices that found the channel full: the recorder never waits for its reader's other half.
    unsent: VecDeque<Notice>,
    notices: mpsc::Sender<Notice>,
    failure: Option<io::Error>,
    has_told_log_failure: bool,
}

impl Recorder {
    async fn run(
        mut self,
        mut records: mpsc::Receiver<Bytes>,
        mut instructions: mpsc::Receiver<Instruction>,
    ) -> Outcome {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let pause = self.rooms.ledger.pause();
            tokio::select! {
                biased;
                instruction = instructions.recv() => match instruction {
                    Some(Instruction::End(closing)) => return self.end(closing),
                    Some(instruction) => self.obey(instruction),
                    None => break,
                },
                count = records.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        break;
                    }
                    batch.drain(..).for_each(|record| self.record(&record));
                    if records.is_empty() {
                        let flushed = self.rooms.report.flush();
                        self.note(flushed);
                    }
                }
                () = sleep(pause.unwrap_or_default()), if pause.is_some() => {}
            }
            self.settle_ledger();
            self.send_notices();
        }
        self.drained(instructions).await
    }

    /// Every record was taken: what is asked for from here on ends the run.
    async fn drained(mut self, mut instructions: mpsc::Receiver<Instruction>) -> Outcome {
        self.unsent.push_back(Notice::Drained);
        self.send_every_notice().await;
        while let Some(instruction) = instructions.recv().await {
            match instruction {
                Instruction::End(closing) => return self.end(closing),
                instruction => self.obey(instruction),
            }
            self.send_every_notice().await;
        }
        Outcome {
            summary: None,
            failure: self.failure,
            log: Ok(None),
        }
    }

    fn end(mut self, closing: Closing) -> Outcome {
        let undecided = self.rooms.identity.undecided_events();
        if undecided > 0 {
            self.rooms.report.reason(unidentified(undecided));
        }
        let Closing {
            command,
            exit_codes,
            gaps,
            attribution,
        } = closing;
        let end = End {
            command,
            exit_codes,
            gaps,
            sequence: self.sequence,
            attribution,
        };
        let Rooms { report, ledger, .. } = self.rooms;
        let sealed_end = report.sealed_end(&end, &report.summary(&end), ledger.findings());
        let log = ledger.close(sealed_end);
        let (summary, failure) = match report.finish(end) {
            Ok(summary) => (Some(summary), self.failure),
            Err(error) => (None, self.failure.or(Some(error))),
        };
        Outcome {
            summary,
            failure,
            log,
        }
    }

    fn obey(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Own { scope, container } => {
                self.attached(scope);
                self.rooms.identity.own(scope);
                if let Some(container) = container {
                    let path = container.cgroup_path.clone().unwrap_or_default();
                    self.meet(scope, &path, &container);
                }
            }
            Instruction::Expect(container) => {
                let id = container.facts.id.clone();
                self.container = Some(container);
                let mut settled = std::mem::take(&mut self.settled);
                self.rooms.identity.expect(&id, &mut settled);
                self.settle(settled);
            }
            Instruction::Named { scope, path } => {
                let mut settled = std::mem::take(&mut self.settled);
                self.rooms.identity.named(scope, &path, &mut settled);
                self.settle(settled);
            }
            Instruction::Present {
                scope,
                pid,
                start_ns,
                program,
            } => {
                self.rooms
                    .judge
                    .process_present(pid, start_ns, program.as_deref());
                self.rooms.enricher.process_present(scope, pid, start_ns, program);
            }
            Instruction::Losses(losses) => {
                self.rooms.ledger.losses(&losses);
                let written = self.rooms.report.losses(&losses);
                self.note(written);
            }
            Instruction::Reason(reason) => self.rooms.report.reason(reason),
            Instruction::Settle => self.unsent.push_back(Notice::Settled),
            // Both callers took it out before.
            Instruction::End(_) => {}
        }
    }

    fn record(&mut self, record: &Bytes) {
        match decode::decode(record) {
            Ok(event) => {
                self.sequence.observe(event.header());
                let mut settled = std::mem::take(&mut self.settled);
                self.rooms.identity.take(event, &mut settled);
                self.settle(settled);
            }
            Err(undecodable) => {
                self.rooms.ledger.undecodable(&undecodable);
                let written = self.rooms.report.undecodable(&undecodable);
                self.note(written);
            }
        }
    }

    fn settle(&mut self, mut settled: Vec<Settled>) {
        for outcome in settled.drain(..) {
            match outcome {
                Settled::Event(event) => self.event(*event),
                Settled::Ours { scope, path, dropped } => {
                    self.attached(scope);
                    if let Some(container) = self.container.clone() {
                        self.meet(scope, &path, &container);
                    }
                    if dropped > 0 {
                        self.rooms.report.reason(unidentified(dropped));
                    }
                    self.unsent.push_back(Notice::Ours { scope, path });
                }
                Settled::Foreign { scope } => self.unsent.push_back(Notice::Foreign { scope }),
                Settled::Unnamed { scope } => self.unsent.push_back(Notice::Unnamed { scope }),
            }
        }
        self.settled = settled;
    }

    fn attached(&mut self, scope: u64) {
        let ledger = &mut self.rooms.ledger;
        ledger.control("attach", Some(scope), "the scope is observed");
    }

    fn meet(&mut self, scope: u64, path: &str, container: &Container) {
        self.rooms
            .enricher
            .container_known(scope, container.facts.clone());
        let is_engines_word = container.source == "engine";
        self.rooms.judge.container_known(
            scope,
            &container.facts,
            container.programs.clone(),
            is_engines_word,
        );
        let written = self.rooms.report.container(
            scope,
            &container.facts,
            &container.programs,
            path,
            container.source,
        );
        self.note(written);
        let ledger = &mut self.rooms.ledger;
        ledger.container(
            scope,
            &container.facts,
            &container.programs,
            path,
            container.source,
        );
    }

    fn event(&mut self, event: Event) {
        let scope = event.header().scope;
        if let Body::CgroupRemoved(body) = event.body()
            && body.cgroup == scope
        {
            let ledger = &mut self.rooms.ledger;
            ledger.control("detach", Some(scope), "the scope's cgroup is gone");
            self.unsent.push_back(Notice::Gone { scope });
        }
        let enriched = self.rooms.enricher.take(event);
        let judged = self.rooms.judge.take(enriched);
        self.rooms.ledger.event(&judged);
        let written = self.rooms.report.event(&judged);
        self.note(written);
    }

    /// Seals what is due. That the log has failed is told once, and at once.
    fn settle_ledger(&mut self) {
        self.rooms.ledger.settle();
        if let Some(error) = self.rooms.ledger.failure().filter(|_| !self.has_told_log_failure) {
            self.has_told_log_failure = true;
            self.unsent.push_back(Notice::LogFailed(error.to_string()));
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
    }

    /// With nothing else left to do, the recorder may wait for its listener.
    async fn send_every_notice(&mut self) {
        while let Some(notice) = self.unsent.pop_front() {
            // Nobody listening means that the observing command failed; its instructions end as well then.
            let _ = self.notices.send(notice).await;
        }
    }

    fn send_notices(&mut self) {
        while let Some(notice) = self.unsent.pop_front() {
            match self.notices.try_send(notice) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(notice)) => {
                    self.unsent.push_front(notice);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return,
            }
        }
    }
}

/// Events that may be ours and are not in the record.
fn unidentified(count: u64) -> Reason {
    Reason::Other {
        kind: "unidentified",
        text: format!("{count} event(s) of a container that could not be told from others in time"),
        next_step: "run again with less going on: start no other containers meanwhile, pull the image before"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
