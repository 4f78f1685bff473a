//! What every recording command shares: sensors, reader and recorder, wired together from start to summary.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rei_ebpf_common::maps::ScopeState;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep};

use super::account::{self, Account, Ending};
use super::log;
use super::recording::Recording;
use super::say;
use super::signals::{Farewell, Signals};
use crate::attach::{Loss, LostByKind, Sensors, Settings};
use crate::cgroup;
use crate::cli::RecordingArgs;
use crate::enrich::{Enricher, Target};
use crate::identity::Identity;
use crate::judge::{self, Judge};
use crate::ledger::Closed;
use crate::log::error::LogError;
use crate::output::{Output, OutputHealth};
use crate::policy::Policy;
use crate::recorder::{Closing, Container, Instruction, Notice, Rooms};
use crate::report::{Attribution, Report, RunStart, Summary};
use crate::tripwire::Bindings;

/// How often the loss counters and the output are looked at.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// What is to be observed.
pub(super) struct Plan {
    /// Command line for the report.
    pub(super) command: Vec<OsString>,
    /// Word for the report: `plain`, `docker`, `attach`.
    pub(super) target: &'static str,
    /// For the enricher.
    pub(super) kind: Target,
    /// Which scopes matter.
    pub(super) identity: Identity,
    /// Who judges.
    pub(super) policy: Arc<Policy>,
    /// What is known of scopes that are no containers.
    pub(super) bindings: Bindings,
}

/// A cgroup that is ours.
struct OwnScope {
    /// Path below the cgroup v2 root.
    path: String,
    is_gone: bool,
}

/// Sensors, reader and recorder while they run.
pub(super) struct Observation {
    sensors: Sensors,
    root: PathBuf,
    recording: Recording,
    health: Option<OutputHealth>,
    output_failure: Option<io::Error>,
    keys: PathBuf,
    has_log_failed: bool,
    ours: BTreeMap<u64, OwnScope>,
    /// What scopes that are not ours had lost when they were forgotten.
    lost_by_others: LostByKind,
    losses: Vec<Loss>,
    look: Interval,
}

impl Observation {
    /// Loads the kernel side and starts reader and recorder. Nothing is watched yet.
    pub(super) fn start(
        root: &Path,
        args: &RecordingArgs,
        plan: Plan,
        output: Option<(Output, OutputHealth)>,
    ) -> Result<Self> {
        let programs = plan.bindings.programs.clone();
        let judge = Judge::new(Arc::clone(&plan.policy), plan.bindings)
            .map_err(|message| anyhow!("the policy {} cannot be used: {message}", plan.policy.name))?
            .with_sockets(judge::engine_sockets(None));
        let mut sensors = Sensors::load(
            &Settings {
                ring_bytes: args.ring_bytes,
            },
            root,
        )?;
        let ring = sensors.take_ring()?;
        let name = log::name_of(&plan.command, plan.target);
        let begin = log::first_record(
            args,
            &plan.policy,
            &plan.command,
            plan.target,
            sensors.states(),
            &programs,
        );
        let (json, health) = output.unzip();
        let mut report = Report::new(
            json.map(|output| Box::new(output) as Box<dyn Write + Send>),
            Arc::clone(&plan.policy),
        );
        report
            .begin(&RunStart {
                command: plan.command,
                target: plan.target,
                sensors: sensors.states().to_vec(),
                programs,
            })
            .context("the report cannot be begun")?;
        if let Some((health, error)) = failure(health.as_ref()) {
            bail!(
                "cannot write events to {}: {error}; nothing was started. Make room, or give -o another file",
                health.name()
            );
        }

        // Last: from here on only the command itself can fail to start.
        let ledger = log::begin(args, &plan.policy, &name, &begin)?;
        let rooms = Rooms {
            report,
            ledger,
            enricher: Enricher::new(plan.kind),
            judge,
            identity: plan.identity,
        };
        let stall = Duration::from_millis(args.stall_reader.unwrap_or(0));
        let recording = Recording::start(ring, rooms, stall)?;
        let mut look = interval(LOOK_PAUSE);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            sensors,
            root: root.to_owned(),
            recording,
            health,
            output_failure: None,
            keys: args.keys.directory.clone(),
            has_log_failed: false,
            ours: BTreeMap::new(),
            lost_by_others: LostByKind::default(),
            losses: Vec::new(),
            look,
        })
    }

    /// The kernel side.
    pub(super) fn sensors(&mut self) -> &mut Sensors {
        &mut self.sensors
    }

    /// From now on the scope is ours; `path` is its cgroup's path below the cgroup v2 root.
    pub(super) async fn own(&mut self, scope: u64, path: &str, container: Option<Container>) {
        self.ours.insert(
            scope,
            OwnScope {
                path: path.to_owned(),
                is_gone: false,
            },
        );
        self.instruct(Instruction::Own { scope, container }).await;
    }

    /// Tells the recorder something.
    pub(super) async fn instruct(&self, instruction: Instruction) {
        self.recording.instruct(instruction).await;
    }

    /// Does one piece of housekeeping, when there is one. Safe to cancel.
    pub(super) async fn tend(&mut self) {
        tokio::select! {
            notice = self.recording.heard() => {
                if let Some(notice) = notice {
                    self.heed(&notice);
                }
            }
            _ = self.look.tick() => self.look(),
        }
    }

    /// Whether at least one scope is ours and all of them are gone.
    pub(super) fn is_all_gone(&self) -> bool {
        !self.ours.is_empty() && self.ours.values().all(|scope| scope.is_gone)
    }

    /// Whether reader or recorder has ended: there is nothing to wait for any more.
    pub(super) fn is_broken(&self) -> bool {
        self.recording.is_broken()
    }

    /// Whether the output failed.
    pub(super) fn has_output_failed(&self) -> bool {
        self.output_failure.is_some()
    }

    /// Waits until every scope of ours is gone, but not for long.
    pub(super) async fn await_gone(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        let is_awaited = |this: &Self| !this.ours.is_empty() && !this.is_all_gone() && !this.is_broken();
        while is_awaited(self) && Instant::now() < end {
            tokio::select! {
                () = self.tend() => {}
                () = sleep(LOOK_PAUSE) => {}
            }
        }
    }

    fn heed(&mut self, notice: &Notice) {
        match notice {
            Notice::Ours { scope, path } => {
                self.ours.insert(
                    *scope,
                    OwnScope {
                        path: path.clone(),
                        is_gone: false,
                    },
                );
            }
            Notice::Foreign { scope } => match self.sensors.forget(*scope) {
                Ok(lost) => self.lost_by_others.add(lost),
                Err(error) => {
                    tracing::warn!("another container's cgroup {scope} stays watched: {error:#}");
                }
            },
            Notice::Unnamed { scope } => {
                if let Some(path) = path_of_scope(&self.root, *scope) {
                    // If the recorder has no room for it, the scope stays undecided and is reported as that.
                    self.recording.mention(Instruction::Named { scope: *scope, path });
                }
            }
            Notice::Gone { scope } => {
                if let Some(scope) = self.ours.get_mut(scope) {
                    scope.is_gone = true;
                }
            }
            Notice::LogFailed(why) => self.log_failed(why),
            Notice::Drained | Notice::Settled => {}
        }
    }

    fn log_failed(&mut self, why: &str) {
        if !self.has_log_failed {
            say(format_args!(
                "THE LOG FAILED: {why}. What is observed goes on, and nothing of it is sealed any more"
            ));
        }
        self.has_log_failed = true;
    }

    async fn heed_until(&mut self, last: &Notice) {
        while let Some(notice) = self.recording.heard_before(last).await {
            self.heed(&notice);
        }
    }

    fn look(&mut self) {
        self.look_at_output();
        for scope in self.ours.values_mut().filter(|scope| !scope.is_gone) {
            // The event of its removal may be lost, or not read yet.
            scope.is_gone = !self.root.join(scope.path.trim_start_matches('/')).exists();
        }
        match self.sensors.losses() {
            Ok(losses) if losses != self.losses => {
                // Without room it is told at the next look.
                if self.recording.mention(Instruction::Losses(losses.clone())) {
                    self.losses = losses;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("the loss counters cannot be read: {error:#}"),
        }
    }

    fn look_at_output(&mut self) {
        if let Some((health, error)) = failure(self.health.as_ref()) {
            say(format_args!(
                "writing events to {} failed: {error}; nothing more is written, what is observed goes on. A file ends \
                 with its last whole line. Make room and run again for a whole record",
                health.name()
            ));
            self.output_failure = Some(error);
        }
    }

    /// Detaches, drains, closes the report, prints the summary. Gives the exit code.
    ///
    /// # Errors
    /// If that failed, or somebody gave up waiting for it: an output that takes nothing can hold it up for
    /// ever.
    pub(super) async fn finish(
        self,
        ending: Ending,
        signals: &mut Signals,
        farewell: &Farewell,
    ) -> Result<u8> {
        let output = self.health.as_ref().map_or_else(String::new, |health| {
            format!(" Whoever reads {} has to go on reading", health.name())
        });
        tokio::select! {
            code = self.close(ending) => code,
            caught = farewell.is_given_up(signals) => bail!(
                "{} ended rei before the record was closed: it has no last line, and there is no summary.{output}",
                caught.name()
            ),
        }
    }

    async fn close(mut self, ending: Ending) -> Result<u8> {
        self.sensors.detach();
        self.recording.stop_reader().await?;
        self.heed_until(&Notice::Drained).await;
        // What was heeded last may have named a scope: only now all of ours are known.
        self.instruct(Instruction::Settle).await;
        self.heed_until(&Notice::Settled).await;
        let losses = self
            .sensors
            .losses()
            .context("the loss counters cannot be read at the end")?;
        self.instruct(Instruction::Losses(losses)).await;
        let Account { reasons, gaps, lost } = self.account(&ending)?;
        for reason in reasons {
            self.instruct(Instruction::Reason(reason)).await;
        }
        let closing = Closing {
            command: ending.command,
            exit_codes: ending.exit_codes,
            gaps,
            attribution: Attribution {
                ours: lost,
                others: self.lost_by_others,
            },
        };
        let outcome = self.recording.close(closing).await?;
        if let Some(error) = outcome.failure {
            return Err(error).context("the report could not be written");
        }
        let Some(summary) = outcome.summary else {
            bail!("the recorder ended without a summary; this is a bug in rei")
        };
        self.look_at_output();
        print_summary(&summary);
        self.say_farewell(&outcome.log);
        Ok(if self.has_output_failed() || self.has_log_failed {
            ending.exit_failed
        } else {
            summary.exit_code()
        })
    }

    /// Where the log is, how it verified, and what to keep of it.
    fn say_farewell(&mut self, log: &Result<Option<Closed>, LogError>) {
        match log {
            Ok(None) => {}
            Ok(Some(closed)) => {
                let farewell = log::farewell(closed, &self.keys);
                for line in farewell.lines {
                    let _ = writeln!(io::stderr(), "{line}");
                }
                if !farewell.is_good {
                    self.log_failed(
                        "it does not verify right after it was closed; keep it, and run `rei verify` on it",
                    );
                }
            }
            Err(error) => self.log_failed(&error.to_string()),
        }
    }

    /// What the kernel side and the command know of the scopes that are ours.
    fn account(&self, ending: &Ending) -> Result<Account> {
        let states = self.ours.keys().map(|scope| self.sensors.scope_state(*scope));
        let states = states.collect::<Result<Vec<Option<ScopeState>>>>()?;
        Ok(account::of(&states, self.sensors.states(), ending))
    }
}

fn failure(health: Option<&OutputHealth>) -> Option<(&OutputHealth, io::Error)> {
    health.and_then(|health| Some((health, health.failure()?)))
}

fn print_summary(summary: &Summary) {
    let _ = write!(io::stderr(), "{summary}");
}

/// Path of a cgroup below `root`, by its id.
fn path_of_scope(root: &Path, scope: u64) -> Option<String> {
    let found = cgroup::descendants(root)
        .into_iter()
        .find(|path| cgroup::id(path).is_ok_and(|id| id == scope))?;
    Some(format!("/{}", found.strip_prefix(root).ok()?.display()))
}
