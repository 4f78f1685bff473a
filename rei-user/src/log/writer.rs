//! The writer of a log: batches into segments, durably, in the order that survives every crash.
//!
//! Time is given with every call. An error of a write or a sync stops the writer for good: what is on the
//! disk then is what a crash would have left, and the next writer goes on from there.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Mode, fchmod};

use super::directory::WriterDirectory;
use super::error::LogError;
use super::facts::{Facts, Limits};
use super::opening::{Introduction, Opened, open_segment, write_head};
use super::read::{LogDirectory, segment_file};
use super::recovery::{self, Recovered};
use crate::disk;
use crate::format::{Body, Count, Hash, Previous, PreviousState, Token, log_origin};
use crate::keys::birth::Birth;
use crate::keys::error::KeyError;
use crate::keys::host::{HostKey, HostKeys};
use crate::keys::id::LogId;
use crate::keys::state::LogKeys;
use crate::seal::{Clock, Position, Reason, Sealer, checkpoint};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// The only writer of a log.
pub struct Writer {
    directory: WriterDirectory,
    host: HostKey,
    keys: LogKeys,
    introduction: Introduction,
    sealer: Sealer,
    segment: File,
    segment_bytes: u64,
    head: File,
    checkpoints: File,
    times: Times,
    newest: Option<Newest>,
    damage: Option<String>,
    is_stopped: bool,
}

/// Moments by `CLOCK_BOOTTIME`, in ns.
struct Times {
    opened: u64,
    first_line: Option<u64>,
    last_seal: u64,
    last_checkpoint: u64,
}

impl Times {
    const fn opened(now: Clock) -> Self {
        Times {
            opened: now.boot_ns,
            first_line: None,
            last_seal: now.boot_ns,
            last_checkpoint: now.boot_ns,
        }
    }
}

/// The newest checkpoint of a log: worth keeping elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Lines that it covers.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
    /// The signed note.
    pub note: String,
}

impl Writer {
    /// Begins a new log in a directory that holds none, with the next number of the host's series.
    ///
    /// # Errors
    /// If there is a log, another process writes there, or files or keys cannot be used.
    pub fn create(
        path: &Path,
        host: HostKeys,
        facts: Facts,
        limits: Limits,
        now: Clock,
    ) -> Result<Self, LogError> {
        let directory = WriterDirectory::open_or_make(path)?;
        let read = LogDirectory::open(path)?;
        if read.highest_segment()?.is_some() || recovery::log_of(&read)?.is_some() {
            return Err(LogError::HoldsLog {
                directory: path.to_owned(),
            });
        }
        let birth = host.begin_birth()?;
        Self::be_born(directory, birth, host.into_key(), facts, limits, now)
    }

    /// Goes on with a log, whatever its last writer left, in a new segment.
    ///
    /// # Errors
    /// If there is none, another process writes it, its keys are gone or say that segments are missing, or
    /// files cannot be used.
    pub fn reopen(
        path: &Path,
        host: HostKeys,
        facts: Facts,
        limits: Limits,
        now: Clock,
    ) -> Result<Self, LogError> {
        let directory = WriterDirectory::open(path)?;
        let read = LogDirectory::open(path)?;
        let log = recovery::log_of(&read)?.ok_or_else(|| LogError::NoLog {
            directory: path.to_owned(),
        })?;
        let keys = match host.log_keys(log) {
            Err(KeyError::LogUnknown { .. }) if !recovery::is_opened(&read, 0)? => {
                return Err(stillborn(path));
            }
            other => other?,
        };
        let Some(top) = without_torn_opening(&directory, &read, &keys)? else {
            let birth = host.resume_birth(log)?.ok_or_else(|| stillborn(path))?;
            return Self::be_born(directory, birth, host.into_key(), facts, limits, now);
        };
        directory.sync_segment(top)?;
        let found = recovery::scan(&read, log, top)?;
        if found
            .birth
            .as_ref()
            .is_some_and(|birth| birth.hk != host.key().public())
        {
            return Err(LogError::OtherHost {
                directory: path.to_owned(),
            });
        }
        Self::go_on(directory, keys, found, host.into_key(), facts, limits, now)
    }

    /// [`Writer::reopen`] where there is a log, [`Writer::create`] where there is none.
    ///
    /// # Errors
    /// As both.
    pub fn open(
        path: &Path,
        host: HostKeys,
        facts: Facts,
        limits: Limits,
        now: Clock,
    ) -> Result<Self, LogError> {
        let holds_log = match LogDirectory::open(path) {
            Ok(read) => recovery::log_of(&read)?.is_some() || read.highest_segment()?.is_some(),
            Err(_) => false,
        };
        if holds_log {
            Self::reopen(path, host, facts, limits, now)
        } else {
            Self::create(path, host, facts, limits, now)
        }
    }

    fn be_born(
        directory: WriterDirectory,
        mut birth: Birth,
        host: HostKey,
        facts: Facts,
        limits: Limits,
        now: Clock,
    ) -> Result<Self, LogError> {
        let log = birth.log();
        let first = birth
            .keys_mut()
            .segment(0)
            .ok_or_else(|| stillborn(directory.path()))?;
        let token = Token::of_birth(log.0);
        let tag = first.master.birth_key(log).tag(&token.bytes());
        drop(first);
        let introduction = Introduction {
            origin: log_origin(host.origin(), &log.0),
            birth: Some(birth.certificate().clone()),
            facts,
            limits,
        };
        let head = directory.head(Some(&token.file(&tag)))?;
        let checkpoints = directory.checkpoints()?;
        directory.sync()?;
        let start = (Position::genesis(log), Previous::NONE, 0);
        let opened = open_segment(&directory, &head, birth.keys_mut(), &introduction, start, now)?;
        let keys = birth.finish()?;
        Ok(Self::of(
            directory,
            host,
            keys,
            introduction,
            (head, checkpoints),
            opened,
            now,
        ))
    }

    fn go_on(
        directory: WriterDirectory,
        mut keys: LogKeys,
        found: Recovered,
        host: HostKey,
        facts: Facts,
        limits: Limits,
        now: Clock,
    ) -> Result<Self, LogError> {
        let introduction = Introduction {
            origin: log_origin(host.origin(), &keys.log().0),
            birth: found.birth,
            facts,
            limits,
        };
        let head = directory.head(None)?;
        let checkpoints = directory.checkpoints()?;
        let start = (found.position, found.previous, found.lost);
        let opened = open_segment(&directory, &head, &mut keys, &introduction, start, now)?;
        let mut writer = Self::of(
            directory,
            host,
            keys,
            introduction,
            (head, checkpoints),
            opened,
            now,
        );
        writer.damage = found.damage;
        Ok(writer)
    }

    fn of(
        directory: WriterDirectory,
        host: HostKey,
        keys: LogKeys,
        introduction: Introduction,
        (head, checkpoints): (File, File),
        opened: Opened,
        now: Clock,
    ) -> Self {
        Writer {
            directory,
            host,
            keys,
            introduction,
            sealer: opened.sealer,
            segment: opened.file,
            segment_bytes: opened.len_bytes,
            head,
            checkpoints,
            times: Times::opened(now),
            newest: None,
            damage: None,
            is_stopped: false,
        }
    }

    /// Adds a record and gives the number of its line. A full batch is sealed at once.
    ///
    /// # Errors
    /// [`LogError::TooLong`] if it does not fit a line: then nothing was added, and the log goes on. Any
    /// other error ends the writing.
    pub fn append(&mut self, now: Clock, body: &Body) -> Result<u64, LogError> {
        self.refuse_stopped()?;
        let sequence = self.sealer.append(now, body)?;
        self.times.first_line.get_or_insert(now.boot_ns);
        if self.sealer.lines() >= self.introduction.limits.batch_lines {
            self.seal(now, Reason::Regular)?;
        }
        Ok(sequence)
    }

    /// Counts events that were lost; every seal from here on says so.
    pub fn add_lost(&mut self, events: u64) {
        self.sealer.add_lost(events);
    }

    /// Seals what was added, durably. An urgent seal is followed by a checkpoint.
    ///
    /// # Errors
    /// If it cannot be made durable; that ends the writing.
    pub fn seal(&mut self, now: Clock, reason: Reason) -> Result<(), LogError> {
        self.guarded(|writer| {
            let bytes = writer.segment_bytes + writer.sealer.batch().len() as u64;
            let limits = writer.introduction.limits;
            let is_old = now.boot_ns >= writer.times.opened.saturating_add(limits.roll_s * S);
            if bytes >= limits.roll_bytes || is_old {
                return writer.roll(now);
            }
            writer.commit(now, reason)?;
            if reason == Reason::Urgent || writer.is_checkpoint_due(now) {
                writer.add_checkpoint(now)?;
            }
            Ok(())
        })
    }

    /// When [`Writer::tick`] has something to do, by `CLOCK_BOOTTIME` in ns.
    #[must_use]
    pub fn deadline(&self) -> u64 {
        let limits = self.introduction.limits;
        let times = &self.times;
        let seal = match times.first_line {
            Some(first) => first.saturating_add(limits.delay_ms * MS),
            None => times.last_seal.saturating_add(limits.idle_s * S),
        };
        let roll = times.opened.saturating_add(limits.roll_s * S);
        let checkpoint = if self.has_grown() {
            times.last_checkpoint.saturating_add(limits.checkpoint_s * S)
        } else {
            u64::MAX
        };
        seal.min(roll).min(checkpoint)
    }

    /// Does what is due: the seal of a batch that is old enough, or of nothing when nothing came for long; a
    /// checkpoint; a new segment.
    ///
    /// # Errors
    /// If it cannot be made durable; that ends the writing.
    pub fn tick(&mut self, now: Clock) -> Result<(), LogError> {
        self.refuse_stopped()?;
        let limits = self.introduction.limits;
        let since = self
            .times
            .first_line
            .map_or(self.times.last_seal.saturating_add(limits.idle_s * S), |first| {
                first.saturating_add(limits.delay_ms * MS)
            });
        let is_old = now.boot_ns >= self.times.opened.saturating_add(limits.roll_s * S);
        if now.boot_ns >= since || is_old {
            self.seal(now, Reason::Regular)?;
        }
        if self.is_checkpoint_due(now) {
            self.guarded(|writer| writer.add_checkpoint(now))?;
        }
        Ok(())
    }

    /// Ends the log: a closing seal and a checkpoint, durably. Gives the checkpoint.
    ///
    /// # Errors
    /// If it cannot be made durable.
    pub fn close(mut self, now: Clock) -> Result<Newest, LogError> {
        self.refuse_stopped()?;
        self.end_segment(now)?;
        self.newest.ok_or_else(|| LogError::Stopped {
            directory: self.directory.path().to_owned(),
        })
    }

    /// Where the log is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The log.
    #[must_use]
    pub const fn log(&self) -> LogId {
        self.sealer.log()
    }

    /// Lines so far, sealed or not: the number of the next one.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.sealer.position().sequence
    }

    /// The newest checkpoint of this writer.
    #[must_use]
    pub const fn newest_checkpoint(&self) -> Option<&Newest> {
        self.newest.as_ref()
    }

    /// The first thing in the log that was not as a writer leaves it when this one came, in words. It is kept
    /// as it is, and worth a finding.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Whether the kernel keeps the keys from being swapped out.
    #[must_use]
    pub const fn is_locked_in_memory(&self) -> bool {
        self.sealer.is_locked()
    }

    /// The batch, its seal and the head token, durably and in this order; then the key is forgotten.
    fn commit(&mut self, now: Clock, reason: Reason) -> Result<(), LogError> {
        let sealed = self.sealer.seal(now, reason)?;
        let segment = self.sealer.position().segment;
        let path = || self.directory.path().join(segment_file(segment));
        disk::append(&self.segment, self.sealer.batch())
            .map_err(|error| LogError::io("write", &path())(error))?;
        disk::sync(&self.segment).map_err(|error| LogError::io("make durable", &path())(error))?;
        self.segment_bytes += self.sealer.batch().len() as u64;
        write_head(&self.directory, &self.head, &sealed.head_file)?;
        self.sealer.step();
        self.times.first_line = None;
        self.times.last_seal = now.boot_ns;
        Ok(())
    }

    fn end_segment(&mut self, now: Clock) -> Result<(), LogError> {
        self.commit(now, Reason::Close)?;
        self.add_checkpoint(now)?;
        let path = self
            .directory
            .path()
            .join(segment_file(self.sealer.position().segment));
        fchmod(&self.segment, Mode::RUSR).map_err(LogError::io("close for writing", &path))
    }

    /// Ends the segment and opens the next.
    fn roll(&mut self, now: Clock) -> Result<(), LogError> {
        let last_e = self.sealer.epoch();
        self.end_segment(now)?;
        let mut position = self.sealer.position().clone();
        let previous = Previous {
            seg: Some(Count::new(position.segment)),
            state: PreviousState::Closed,
            last_seq: position.sequence.checked_sub(1).map(Count::new),
            last_e: Some(Count::new(last_e)),
            ..Previous::NONE
        };
        position.segment += 1;
        let start = (position, previous, self.sealer.lost());
        let opened = open_segment(
            &self.directory,
            &self.head,
            &mut self.keys,
            &self.introduction,
            start,
            now,
        )?;
        self.sealer = opened.sealer;
        self.segment = opened.file;
        self.segment_bytes = opened.len_bytes;
        self.times = Times::opened(now);
        Ok(())
    }

    /// Whether the disk holds lines that no checkpoint covers.
    fn has_grown(&self) -> bool {
        let durable = self.sealer.durable_size();
        self.newest.as_ref().is_none_or(|newest| newest.size < durable)
    }

    fn is_checkpoint_due(&self, now: Clock) -> bool {
        let due = self
            .times
            .last_checkpoint
            .saturating_add(self.introduction.limits.checkpoint_s * S);
        now.boot_ns >= due && self.has_grown()
    }

    /// Signs what is durable: to be called right after a commit, or with an empty batch.
    fn add_checkpoint(&mut self, now: Clock) -> Result<(), LogError> {
        if self.sealer.lines() > 0 {
            // Its seal is not far: a checkpoint is of durable lines only.
            return Ok(());
        }
        let position = self.sealer.position();
        let (size, root) = (position.sequence, position.frontier.root());
        let note = checkpoint(
            &self.introduction.origin,
            (size, root),
            &self.host,
            position.segment,
            &self.sealer.signing(),
        );
        self.directory.add_checkpoint(&self.checkpoints, &note)?;
        self.newest = Some(Newest { size, root, note });
        self.times.last_checkpoint = now.boot_ns;
        Ok(())
    }

    fn refuse_stopped(&self) -> Result<(), LogError> {
        if self.is_stopped {
            return Err(LogError::Stopped {
                directory: self.directory.path().to_owned(),
            });
        }
        Ok(())
    }

    /// After an error nothing more is written: a second sync of the same file could report a success that is
    /// none.
    fn guarded<T>(&mut self, action: impl FnOnce(&mut Self) -> Result<T, LogError>) -> Result<T, LogError> {
        self.refuse_stopped()?;
        let result = action(self);
        self.is_stopped = result.is_err();
        result
    }
}

fn stillborn(directory: &Path) -> LogError {
    LogError::Stillborn {
        directory: directory.to_owned(),
    }
}

/// The highest segment, once an opening that was cut short is removed: its key still exists, so no event is
/// in it.
fn without_torn_opening(
    directory: &WriterDirectory,
    read: &LogDirectory,
    keys: &LogKeys,
) -> Result<Option<u64>, LogError> {
    let Some(top) = read.highest_segment()? else {
        return Ok(None);
    };
    if keys.segment(top).is_some() && !recovery::is_opened(read, top)? {
        directory.remove_segment(top)?;
        return Ok(top.checked_sub(1));
    }
    Ok(Some(top))
}
