//! The ledger: what the recorder learns → a sealed log. It owns the fold and the log's writer.
//!
//! Nothing here fails in the middle: an error of the log ends the writing, is kept, and is asked for. What is
//! observed goes on without a log, and whoever observes says so.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::attach::Loss;
use crate::decode::Undecodable;
use crate::engine::ContainerFacts;
use crate::fold::{self, Citations, Fold, Item, LossCounters, Settings};
use crate::format::{self, Body, Decimal, Run, RunEnd};
use crate::found::FoundProgram;
use crate::judge::Judged;
use crate::log::error::LogError;
use crate::log::writer::{Newest, Writer};
use crate::seal::{Clock, Reason};

/// A jump of the wall clock that is told, in ns.
const JUMP_NS: i128 = 100_000_000;

/// A log while it is written; or none.
pub struct Ledger {
    state: State,
}

enum State {
    Off,
    Open(Box<Open>),
    Failed(LogError),
}

struct Open {
    writer: Writer,
    fold: Fold,
    citations: Citations,
    losses: LossCounters,
    /// Wall clock minus boot time, in ns, as it was last told.
    offset_ns: i128,
    is_urgent: bool,
}

/// A log that was closed.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Where it is.
    pub directory: PathBuf,
    /// Its last checkpoint.
    pub newest: Newest,
}

impl Ledger {
    /// No log: everything is taken, and nothing kept.
    #[must_use]
    pub const fn off() -> Self {
        Ledger { state: State::Off }
    }

    /// Begins a log with this first record, durably.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(writer: Writer, settings: Settings, begin: &Body) -> Result<Self, LogError> {
        let now = now();
        let mut open = Open {
            writer,
            fold: Fold::new(settings),
            citations: Citations::new(),
            losses: LossCounters::new(now.boot_ns),
            offset_ns: offset_ns(now),
            is_urgent: false,
        };
        open.fold.tick(now.boot_ns);
        open.writer.append(now, begin)?;
        open.writer.seal(now, Reason::Regular)?;
        Ok(Ledger {
            state: State::Open(Box::new(open)),
        })
    }

    /// A container whose scope is observed. `source` says who told the facts.
    pub fn container(
        &mut self,
        scope: u64,
        facts: &ContainerFacts,
        programs: &[FoundProgram],
        cgroup_path: &str,
        source: &str,
    ) {
        let body = fold::container(scope, facts, programs, cgroup_path, source);
        self.write(|open| open.append(&body));
    }

    /// Something that rei or an operator did to the recording.
    pub fn control(&mut self, what: &str, scope: Option<u64>, words: &str) {
        self.write(|open| open.append(&fold::control(what, scope, words)));
    }

    /// An event of an observed scope.
    pub fn event(&mut self, judged: &Judged) {
        self.write(|open| {
            open.fold.take(judged);
            open.take_items()
        });
    }

    /// A record that could not be decoded.
    pub fn undecodable(&mut self, bad: &Undecodable) {
        self.write(|open| open.append(&fold::undecodable(bad)));
    }

    /// All losses so far, as the counters stand.
    pub fn losses(&mut self, all_so_far: &[Loss]) {
        self.write(|open| open.take_losses(all_so_far));
    }

    /// Seals what should not wait, and does what is due. To be called whenever there is a pause, and at
    /// [`Ledger::pause`] at the latest.
    pub fn settle(&mut self) {
        self.write(Open::settle);
    }

    /// How long nothing is due; `None` if nothing ever will be.
    #[must_use]
    pub fn pause(&self) -> Option<Duration> {
        let State::Open(open) = &self.state else {
            return None;
        };
        let due_ns = open.fold.due_ns().unwrap_or(u64::MAX).min(open.writer.deadline());
        Some(Duration::from_nanos(due_ns.saturating_sub(now().boot_ns)))
    }

    /// Why nothing is written any more; `None` if all is well.
    #[must_use]
    pub fn failure(&self) -> Option<&LogError> {
        match &self.state {
            State::Failed(error) => Some(error),
            State::Off | State::Open(_) => None,
        }
    }

    /// Findings that are kept apart, and events whose finding had no room any more.
    #[must_use]
    pub fn findings(&self) -> (u64, u64) {
        match &self.state {
            State::Open(open) => (open.fold.findings(), open.fold.findings_not_kept_apart()),
            State::Off | State::Failed(_) => (0, 0),
        }
    }

    /// Tells what is left, and ends the log. `None` if there is none.
    ///
    /// # Errors
    /// If it could not be written, now or before.
    pub fn close(self, end: RunEnd) -> Result<Option<Closed>, LogError> {
        match self.state {
            State::Off => Ok(None),
            State::Failed(error) => Err(error),
            State::Open(open) => open.close(end).map(Some),
        }
    }

    fn write(&mut self, action: impl FnOnce(&mut Open) -> Result<(), LogError>) {
        if let State::Open(open) = &mut self.state
            && let Err(error) = action(open)
        {
            self.state = State::Failed(error);
        }
    }
}

impl Open {
    fn append(&mut self, body: &Body) -> Result<(), LogError> {
        self.writer.append(now(), body).map(drop)
    }

    /// Writes what the fold has to say.
    fn take_items(&mut self) -> Result<(), LogError> {
        let items: Vec<Item> = self.fold.drain().collect();
        if items.is_empty() {
            return Ok(());
        }
        let now = now();
        for item in items {
            let role = item.role;
            self.is_urgent |= item.is_urgent();
            let body = self.citations.cite(item);
            match self.writer.append(now, &body) {
                Ok(sequence) => self.citations.written(role, sequence),
                // The fold keeps to the limit. Should a line not fit all the same, that is told in its place.
                Err(LogError::TooLong(error)) => self.too_long(&body, &error)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn too_long(&mut self, body: &Body, error: &format::TooLong) -> Result<(), LogError> {
        let now = now();
        let at = Decimal(now.boot_ns);
        tracing::error!(
            "{} cannot be written: {error}; this is a bug in rei: report it",
            body.kind()
        );
        self.writer.add_lost(1);
        let loss = Body::Loss(format::Loss {
            why: "oversize".to_owned(),
            kind: None,
            n: Decimal(1),
            cpu: None,
            from: at,
            to: at,
        });
        self.writer.append(now, &loss).map(drop)
    }

    fn take_losses(&mut self, all_so_far: &[Loss]) -> Result<(), LogError> {
        let before = self.losses.total();
        let moved = self.losses.take(all_so_far, now().boot_ns);
        self.writer.add_lost(self.losses.total() - before);
        moved.iter().try_for_each(|body| self.append(body))
    }

    fn settle(&mut self) -> Result<(), LogError> {
        let now = now();
        self.tell_jump(now)?;
        self.fold.tick(now.boot_ns);
        self.take_items()?;
        if std::mem::take(&mut self.is_urgent) {
            self.writer.seal(now, Reason::Urgent)?;
        }
        if self.writer.deadline() <= now.boot_ns {
            self.writer.tick(now)?;
        }
        Ok(())
    }

    /// The wall clock is only informative, but that it jumped is said.
    fn tell_jump(&mut self, now: Clock) -> Result<(), LogError> {
        let offset_ns = offset_ns(now);
        if (offset_ns - self.offset_ns).abs() <= JUMP_NS {
            return Ok(());
        }
        let body = Body::Clock(format::Clock {
            old: Decimal(u64::try_from(self.offset_ns).unwrap_or_default()),
            new: Decimal(u64::try_from(offset_ns).unwrap_or_default()),
            source: "compared".to_owned(),
        });
        self.offset_ns = offset_ns;
        self.append(&body)
    }

    fn close(mut self: Box<Self>, end: RunEnd) -> Result<Closed, LogError> {
        self.fold.end(now().boot_ns);
        self.take_items()?;
        self.append(&Body::Run(Run::End(Box::new(end))))?;
        let directory = self.writer.directory().to_owned();
        let newest = self.writer.close(now())?;
        Ok(Closed { directory, newest })
    }
}

impl Closed {
    /// Who signed the checkpoint.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.newest.note.lines().next().unwrap_or_default()
    }

    /// Where the log is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// The moment, by both clocks.
#[must_use]
pub fn now() -> Clock {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let boot = clock_gettime(ClockId::Boottime);
    let boot = Duration::new(
        boot.tv_sec.try_into().unwrap_or_default(),
        boot.tv_nsec.try_into().unwrap_or_default(),
    );
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Clock {
        wall_ns: ns(wall),
        boot_ns: ns(boot),
    }
}

fn offset_ns(now: Clock) -> i128 {
    i128::from(now.wall_ns) - i128::from(now.boot_ns)
}

#[cfg(test)]
mod tests;
