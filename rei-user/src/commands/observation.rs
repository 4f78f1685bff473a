//! What every recording command shares: sensors, reader and recorder, wired together from start to summary.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep};

use super::say;
use crate::attach::{Loss, Sensors, Settings};
use crate::cgroup;
use crate::cli::RecordingArgs;
use crate::coverage::{self, RouteGap};
use crate::enrich::{Enricher, Target};
use crate::identity::Identity;
use crate::judge::{self, Judge};
use crate::output::{Output, OutputHealth};
use crate::policy::Policy;
use crate::recorder::{self, Closing, Container, Instruction, Notice, Outcome, Wires};
use crate::report::{CommandExit, ExitCodes, Reason, Report, RunStart, Summary};
use crate::ring;
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

/// How it ended.
pub(super) struct Ending {
    /// The command's own end, if it is known.
    pub(super) command: Option<CommandExit>,
    /// Exit code by completeness.
    pub(super) exit_codes: ExitCodes,
    /// Exit code if the output failed.
    pub(super) exit_failed: u8,
    /// Whether something ran that must have had a scope.
    pub(super) expects_scope: bool,
    /// Whether processes that are left make the record incomplete. The kernel side counts those that it saw start.
    pub(super) counts_processes: bool,
    /// What the command knows to be missing.
    pub(super) reasons: Vec<Reason>,
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
    reader: JoinHandle<()>,
    stop_reader: Option<oneshot::Sender<()>>,
    instructions: mpsc::Sender<Instruction>,
    notices: mpsc::Receiver<Notice>,
    recorder: Option<thread::JoinHandle<Outcome>>,
    health: Option<OutputHealth>,
    output_failure: Option<io::Error>,
    ours: BTreeMap<u64, OwnScope>,
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
            })
            .context("the report cannot be begun")?;
        if let Some(error) = health.as_ref().and_then(OutputHealth::failure) {
            bail!("cannot write events: {error}; nothing was started. Make room, or give -o another file");
        }

        let (to_recorder, records) = mpsc::channel(ring::CHANNEL_RECORDS);
        let (instructions, orders) = mpsc::channel(recorder::INSTRUCTIONS);
        let (told, notices) = mpsc::channel(recorder::NOTICES);
        let wires = Wires {
            records,
            instructions: orders,
            notices: told,
        };
        let recorder = recorder::spawn(
            report,
            Enricher::new(plan.kind),
            judge,
            plan.identity,
            wires,
            Handle::current(),
        )
        .context("the system gives no thread for the recorder")?;

        let (stop_reader, mut stop) = oneshot::channel();
        let stall = Duration::from_millis(args.stall_reader.unwrap_or(0));
        let reader = tokio::spawn(async move {
            // A test aid: the ring is left alone for a while, but never beyond the end.
            let is_stopped = tokio::select! {
                _ = &mut stop, if !stall.is_zero() => true,
                () = sleep(stall) => false,
            };
            if is_stopped {
                let (_, stopped) = oneshot::channel();
                return ring::read(ring, to_recorder, stopped).await;
            }
            ring::read(ring, to_recorder, stop).await;
        });
        let mut look = interval(LOOK_PAUSE);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            sensors,
            root: root.to_owned(),
            reader,
            stop_reader: Some(stop_reader),
            instructions,
            notices,
            recorder: Some(recorder),
            health,
            output_failure: None,
            ours: BTreeMap::new(),
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

    /// Tells the recorder something. A recorder that is gone is noticed at the end.
    pub(super) async fn instruct(&mut self, instruction: Instruction) {
        let _ = self.instructions.send(instruction).await;
    }

    /// Does one piece of housekeeping, when there is one. Safe to cancel.
    pub(super) async fn tend(&mut self) {
        tokio::select! {
            Some(notice) = self.notices.recv() => self.heed(&notice),
            _ = self.look.tick() => self.look(),
        }
    }

    /// Whether at least one scope is ours and all of them are gone.
    pub(super) fn is_all_gone(&self) -> bool {
        !self.ours.is_empty() && self.ours.values().all(|scope| scope.is_gone)
    }

    /// Whether the output failed.
    pub(super) fn has_output_failed(&self) -> bool {
        self.output_failure.is_some()
    }

    /// Waits until every scope of ours is gone, but not for long.
    pub(super) async fn await_gone(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        while !self.ours.is_empty() && !self.is_all_gone() && Instant::now() < end {
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
            Notice::Foreign { scope } => {
                if let Err(error) = self.sensors.forget(*scope) {
                    tracing::warn!("another container's cgroup {scope} stays watched: {error:#}");
                }
            }
            Notice::Unnamed { scope } => {
                if let Some(path) = path_of_scope(&self.root, *scope) {
                    // If the recorder has no room for it, the scope stays undecided and is reported as that.
                    let _ = self
                        .instructions
                        .try_send(Instruction::Named { scope: *scope, path });
                }
            }
            Notice::Gone { scope } => {
                if let Some(scope) = self.ours.get_mut(scope) {
                    scope.is_gone = true;
                }
            }
            Notice::Drained => {}
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
                if self
                    .instructions
                    .try_send(Instruction::Losses(losses.clone()))
                    .is_ok()
                {
                    self.losses = losses;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("the loss counters cannot be read: {error:#}"),
        }
    }

    fn look_at_output(&mut self) {
        if let Some(error) = self.health.as_ref().and_then(OutputHealth::failure) {
            say(format_args!(
                "writing events failed: {error}; nothing more is written, what is observed goes on. The file ends \
                 with its last whole line"
            ));
            self.output_failure = Some(error);
        }
    }

    /// Detaches, drains, closes the report, prints the summary. Gives the exit code.
    pub(super) async fn finish(mut self, ending: Ending) -> Result<u8> {
        self.sensors.detach();
        if let Some(stop) = self.stop_reader.take() {
            // If nobody listens the reader has ended, because the recorder is gone: seen below.
            let _ = stop.send(());
        }
        (&mut self.reader)
            .await
            .context("the reader of the event buffer failed")?;
        while let Some(notice) = self.notices.recv().await {
            match notice {
                Notice::Drained => break,
                notice => self.heed(&notice),
            }
        }
        let losses = self
            .sensors
            .losses()
            .context("the loss counters cannot be read at the end")?;
        self.instruct(Instruction::Losses(losses)).await;
        let (reasons, gaps) = self.account(&ending)?;
        for reason in reasons {
            self.instruct(Instruction::Reason(reason)).await;
        }
        let closing = Closing {
            command: ending.command,
            exit_codes: ending.exit_codes,
            gaps,
        };
        self.instruct(Instruction::End(closing)).await;
        let outcome = self.recorder.take().map(thread::JoinHandle::join);
        let Some(Ok(outcome)) = outcome else {
            bail!("the recorder failed; this is a bug in rei")
        };
        if let Some(error) = outcome.failure {
            return Err(error).context("the report could not be written");
        }
        let Some(summary) = outcome.summary else {
            bail!("the recorder ended without a summary; this is a bug in rei")
        };
        print_summary(&summary);
        self.look_at_output();
        Ok(if self.has_output_failed() {
            ending.exit_failed
        } else {
            summary.exit_code()
        })
    }

    /// What makes the record incomplete, as far as the kernel side and the command know.
    fn account(&self, ending: &Ending) -> Result<(Vec<Reason>, Vec<RouteGap>)> {
        let mut reasons = ending.reasons.clone();
        let mut gaps = Vec::new();
        let mut processes = 0;
        let mut is_unseen = ending.expects_scope && self.ours.is_empty();
        for scope in self.ours.keys() {
            match self.sensors.scope_state(*scope)? {
                Some(state) => {
                    processes += state.processes;
                    gaps.extend(coverage::gaps(&state, self.sensors.states()));
                }
                None => is_unseen = true,
            }
        }
        if is_unseen {
            reasons.push(unseen());
        }
        if ending.counts_processes && processes > 0 {
            reasons.push(ended_early(processes));
        }
        Ok((reasons, gaps))
    }
}

fn unseen() -> Reason {
    Reason::Other {
        kind: "scope_not_seen",
        text: "what ran was not seen by the kernel side: its cgroup was never reported, or there was no room for it"
            .to_owned(),
        next_step: "see `rei doctor` about the cgroup v2 tree".to_owned(),
    }
}

fn ended_early(processes: u64) -> Reason {
    Reason::Other {
        kind: "ended_early",
        text: format!(
            "{processes} process(es) still ran when the recording ended: what they did since is not here"
        ),
        next_step: "let the command wait for its background processes".to_owned(),
    }
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
