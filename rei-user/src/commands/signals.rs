//! Signals while something is observed: what the command gets, and when rei stops observing.
//!
//! A terminal sends Ctrl-C to the command and to rei alike: the command decides what it means, and rei stays
//! until the command ends. A signal that was sent to rei alone is passed on once; if the command is not gone
//! soon after, or another signal comes, rei stops observing. It never ends what it observes; of a container
//! it ends only the docker client that it started itself.
//!
//! Closing the record can wait for ever, for an output that takes nothing: then the second signal ends rei
//! without that.

use std::fs;
use std::future::pending;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep, sleep_until};

use super::terminal::is_in_foreground;

/// How long a command may take to end after a signal was passed on. Who sends SIGTERM usually sends SIGKILL
/// after ten seconds: the summary has to be out by then.
const PATIENCE: Duration = Duration::from_secs(5);
/// Closing a record takes less unless something holds it up: an impatient second signal does not cost the
/// record.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Signals that ask for an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caught {
    Interrupt,
    Quit,
    Terminate,
    Hangup,
}

impl Caught {
    pub(super) fn name(self) -> &'static str {
        match self {
            Caught::Interrupt => "SIGINT",
            Caught::Quit => "SIGQUIT",
            Caught::Terminate => "SIGTERM",
            Caught::Hangup => "SIGHUP",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Caught::Interrupt => Signal::INT,
            Caught::Quit => Signal::QUIT,
            Caught::Terminate => Signal::TERM,
            Caught::Hangup => Signal::HUP,
        }
    }

    /// Exit code of a command that died of it, as a shell gives it.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Caught::Interrupt => 130,
            Caught::Quit => 131,
            Caught::Terminate => 143,
            Caught::Hangup => 129,
        }
    }

    /// Whether a terminal sent it to its whole foreground group, the command included. A keyboard and kill(1)
    /// cannot be told apart here: with a terminal in front of it, a keyboard is taken for granted.
    fn is_from_terminal(self) -> bool {
        matches!(self, Caught::Interrupt | Caught::Quit) && is_in_foreground()
    }
}

/// The signals, from now on.
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Catches them. A SIGHUP that nohup(1) set to be ignored stays ignored.
    pub(super) fn listen() -> Result<Self> {
        let catch = |kind| signal(kind).context("the system does not let rei catch signals");
        let hangup = if is_ignored(SignalKind::hangup()) {
            None
        } else {
            Some(catch(SignalKind::hangup())?)
        };
        Ok(Self {
            interrupt: catch(SignalKind::interrupt())?,
            quit: catch(SignalKind::quit())?,
            terminate: catch(SignalKind::terminate())?,
            hangup,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Caught {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Caught::Interrupt,
            _ = self.quit.recv() => Caught::Quit,
            _ = self.terminate.recv() => Caught::Terminate,
            _ = hangup => Caught::Hangup,
        }
    }
}

fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0);
    mask & (1 << (kind.as_raw_value() - 1)) != 0
}

/// What signals have led to so far.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    first: Option<Caught>,
    deadline: Option<Instant>,
    is_over: bool,
}

/// What a signal leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// The command has it already.
    Leave,
    /// The command gets it too.
    PassOn,
    /// Observing ends.
    End,
}

impl Farewell {
    /// Takes a signal; `child` is the command, if it is still there.
    pub(super) fn heed(&mut self, caught: Caught, child: Option<u32>) {
        let child = child
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        match self.answer(caught, child.is_some(), caught.is_from_terminal()) {
            Answer::Leave => {}
            Answer::End => self.is_over = true,
            Answer::PassOn => {
                let passed = child.map(|child| rustix::process::kill_process(child, caught.signal()));
                super::say(format_args!(
                    "{} passed on; rei stops observing in {} s, or at the next signal",
                    caught.name(),
                    PATIENCE.as_secs()
                ));
                if let Some(Err(error)) = passed {
                    super::say(format_args!("cannot pass on {}: {error}", caught.name()));
                }
            }
        }
    }

    fn answer(&mut self, caught: Caught, has_child: bool, is_from_terminal: bool) -> Answer {
        let is_first = self.first.is_none();
        self.first.get_or_insert(caught);
        if !has_child {
            return Answer::End;
        }
        if is_from_terminal {
            return Answer::Leave;
        }
        if self.deadline.is_none() || is_first {
            self.deadline = Some(Instant::now() + PATIENCE);
            return Answer::PassOn;
        }
        Answer::End
    }

    /// The first signal that came.
    pub(super) fn first(&self) -> Option<Caught> {
        self.first
    }

    /// While the record is closed: resolves at the second signal, those before included, but leaves the work
    /// its time.
    pub(super) async fn is_given_up(&self, signals: &mut Signals) -> Caught {
        sleep(CLOSING_TIME).await;
        let mut is_asked = self.first.is_some();
        loop {
            let caught = signals.next().await;
            if is_asked {
                return caught;
            }
            is_asked = true;
            super::say(format_args!(
                "{}: the record is still being closed; another signal ends rei without that",
                caught.name()
            ));
        }
    }

    /// Resolves when observing has to end; never, if nobody asked for it.
    pub(super) async fn is_due(&self) {
        match (self.is_over, self.deadline) {
            (true, _) => {}
            (false, Some(deadline)) => sleep_until(deadline).await,
            (false, None) => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn the_first_is_passed_on_and_the_second_ends() {
        let mut farewell = Farewell::default();
        assert_eq!(farewell.answer(Caught::Terminate, true, false), Answer::PassOn);
        assert_eq!(farewell.answer(Caught::Interrupt, true, false), Answer::End);
        assert_eq!(farewell.first(), Some(Caught::Terminate));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_terminals_signals_are_the_commands_business() {
        let mut farewell = Farewell::default();
        for _ in 0..5 {
            assert_eq!(farewell.answer(Caught::Interrupt, true, true), Answer::Leave);
        }
        assert_eq!(farewell.first(), Some(Caught::Interrupt));
        assert_eq!(farewell.answer(Caught::Terminate, true, false), Answer::PassOn);
        assert_eq!(farewell.answer(Caught::Terminate, true, false), Answer::End);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn without_a_command_any_signal_ends() {
        for is_from_terminal in [true, false] {
            let mut farewell = Farewell::default();
            assert_eq!(
                farewell.answer(Caught::Interrupt, false, is_from_terminal),
                Answer::End
            );
        }
        let mut farewell = Farewell::default();
        farewell.heed(Caught::Hangup, None);
        farewell.is_due().await;
    }
}
