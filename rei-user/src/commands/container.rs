//! `rei run -- docker run ...`: the container that this docker command creates, from its cgroup's making to
//! its end.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval, sleep};

use super::observation::{Observation, Plan};
use super::run::ending;
use super::signals::{Farewell, Signals};
use super::{judging, reached, say, terminal};
use crate::cgroup;
use crate::cli::RunArgs;
use crate::engine::cidfile::CidFile;
use crate::engine::docker::Docker;
use crate::engine::docker_command::DockerRun;
use crate::engine::inspect::Inspected;
use crate::enrich::Target;
use crate::identity::Identity;
use crate::output::{Output, OutputHealth};
use crate::policy::Policy;
use crate::recorder::{Container, Instruction};
use crate::report::CommandExit;
use crate::tripwire::Bindings;

/// How often the file with the container's id is looked at. Docker writes it tens of milliseconds before the
/// container's cgroup is made; nothing is lost if it is seen later.
const CIDFILE_PAUSE: Duration = Duration::from_millis(2);
/// How long a container's cgroup may outlive the container's end as the engine sees it.
const CGROUP_PATIENCE: Duration = Duration::from_secs(3);
/// Pause before the engine is asked again, after an error or a restart of the container.
const ENGINE_PAUSE: Duration = Duration::from_millis(500);
/// How often an engine that does not answer is asked again: it may be restarting.
const ENGINE_TRIES: u32 = 60;
/// Exit codes of the docker CLI that mean: the container was not started.
const NOT_STARTED: [i32; 3] = [125, 126, 127];

/// The engine behind the command line. Needs no privileges and starts nothing.
pub(super) fn find_engine(docker_run: &DockerRun) -> Result<Docker> {
    if !docker_run.is_installed() {
        bail!(
            "cannot find {:?}; install the docker CLI (Debian: apt-get install docker.io), or give its full path",
            docker_run.program()
        );
    }
    let docker = Docker::of_command(docker_run)?;
    docker.exists()?;
    Ok(docker)
}

/// Runs the docker command and gives its exit code, or rei's own.
pub(super) async fn run(
    args: &RunArgs,
    docker_run: &DockerRun,
    docker: Docker,
    policy: Arc<Policy>,
    output: Option<(Output, OutputHealth)>,
) -> Result<u8> {
    docker.ping().await?;
    let root = cgroup::mount_point()?;
    let plan = Plan {
        command: args.command.clone(),
        target: "docker",
        kind: Target::Container,
        identity: Identity::of_awaited_container(),
        bindings: Bindings::default(),
        policy: Arc::clone(&policy),
    };
    let mut observation = Observation::start(&root, &args.recording, plan, output)?;
    // Not before: until here a signal ends rei, whatever holds it up.
    let signals = Signals::listen()?;
    let cidfile = CidFile::prepare(docker_run.cidfile())?;
    observation.sensors().arm_new_containers(None)?;
    let words = cidfile.add_to(docker_run);
    let cli = tokio::process::Command::new(docker_run.program())
        .args(words.iter().skip(1))
        .spawn()
        .with_context(|| format!("cannot start {:?}", docker_run.program()))?;
    let run = ContainerRun {
        observation,
        policy,
        docker,
        cidfile,
        cli,
        is_detached: docker_run.is_detached(),
        cli_status: None,
        id: None,
        facts: None,
        fate: None,
        follower: None,
        last_word: None,
        container_exit: None,
        has_started: false,
        is_over: false,
        terminal: terminal::Settings::keep(),
    };
    run.observe(args, signals).await
}

/// A docker command under way. Whatever the engine is asked runs as a task: an engine that does not answer
/// must not keep rei from hearing signals.
struct ContainerRun {
    observation: Observation,
    policy: Arc<Policy>,
    docker: Docker,
    cidfile: CidFile,
    cli: Child,
    is_detached: bool,
    /// How the docker command ended, once it has.
    cli_status: Option<ExitStatus>,
    /// Id of the container, once docker has told it.
    id: Option<String>,
    /// Asks who the container is.
    facts: Option<JoinHandle<Described>>,
    /// Asks whether the container goes on without the docker command.
    fate: Option<JoinHandle<Result<Option<Inspected>>>>,
    /// Waits for the container's end.
    follower: Option<JoinHandle<Result<Option<i32>>>>,
    /// Until then the follower may tell the exit code of a container that is gone.
    last_word: Option<Instant>,
    /// Exit code of the container as the engine tells it.
    container_exit: Option<i32>,
    has_started: bool,
    /// Nothing more is to happen.
    is_over: bool,
    terminal: terminal::Settings,
}

/// What the engine says of a container that was just made.
struct Described {
    container: Container,
    has_started: bool,
}

impl ContainerRun {
    async fn observe(mut self, args: &RunArgs, mut signals: Signals) -> Result<u8> {
        let mut farewell = Farewell::default();
        self.follow(&mut signals, &mut farewell).await?;
        if self.is_over && self.has_started {
            tokio::select! {
                () = self.observation.await_gone(CGROUP_PATIENCE) => {}
                caught = signals.next() => farewell.heed(caught, None),
            }
        }
        self.stop_asking().await;
        if self.cli_status.is_none() {
            self.let_go().await;
        }
        if let (false, Some(id)) = (self.is_over, self.id.as_deref().map(short)) {
            say(format_args!(
                "container {id} runs on, unobserved; `docker attach {id}` reaches it"
            ));
        }
        let exit = if self.is_over { self.exit() } else { None };
        let mut ending = ending(exit, &farewell, &args.recording);
        ending.expects_scope = self.has_started;
        ending.expects_entrypoint = self.has_started;
        self.observation.finish(ending, &mut signals, &farewell).await
    }

    /// Until it is over, or observing has to stop before.
    async fn follow(&mut self, signals: &mut Signals, farewell: &mut Farewell) -> Result<()> {
        let mut look = interval(CIDFILE_PAUSE);
        loop {
            let has_answers = self.facts.is_none() && self.fate.is_none();
            if self.observation.is_broken() || (self.is_over && has_answers) {
                return Ok(());
            }
            tokio::select! {
                status = self.cli.wait(), if self.cli_status.is_none() => {
                    self.cli_status = Some(status.context("cannot wait for docker")?);
                    self.ask_for_fate();
                }
                _ = look.tick(), if self.id.is_none() && self.cli_status.is_none() => self.look_for_id()?,
                described = answer(&mut self.facts) => {
                    self.facts = None;
                    self.meet(described?).await;
                }
                fate = answer(&mut self.fate) => {
                    self.fate = None;
                    if self.lives_on(fate.and_then(|inspected| inspected)) {
                        if farewell.first().is_some() {
                            return Ok(());
                        }
                        say(format_args!(
                            "container {} runs in the background; observing until it ends (Ctrl-C stops observing)",
                            self.id.as_deref().map_or("", short)
                        ));
                    }
                }
                followed = answer(&mut self.follower) => {
                    self.follower = None;
                    self.note_end(followed.and_then(|code| code));
                    self.is_over |= self.cli_status.is_some();
                }
                () = reached(self.last_word), if !self.is_over => self.is_over = true,
                caught = signals.next() => farewell.heed(caught, self.cli.id()),
                () = farewell.is_due() => return Ok(()),
                () = self.observation.tend() => {}
            }
        }
    }

    /// Nothing that the engine has still to say matters any more.
    async fn stop_asking(&mut self) {
        if let Some(fate) = self.fate.take() {
            fate.abort();
        }
        if let Some(follower) = self.follower.take() {
            follower.abort();
        }
        if let (Some(facts), Some(id)) = (self.facts.take(), self.id.as_deref()) {
            facts.abort();
            let described = Described::by_id_alone(&self.policy, id);
            self.meet(described).await;
        }
    }

    /// Ends the docker client, which rei started: the container runs on without both.
    async fn let_go(&mut self) {
        // It may end by itself meanwhile.
        let _ = self.cli.kill().await;
        self.terminal.put_back();
    }

    /// The docker command has ended; its container may go on.
    fn ask_for_fate(&mut self) {
        if let Err(error) = self.look_for_id() {
            say(format_args!("{error:#}"));
        }
        let Some(id) = self.id.clone() else {
            self.is_over = true;
            return;
        };
        let docker = self.docker.clone();
        self.fate = Some(tokio::spawn(async move { docker.inspect(&id).await }));
    }

    /// Whether the container goes on after the docker command has ended.
    fn lives_on(&mut self, fate: Result<Option<Inspected>>) -> bool {
        match fate {
            Ok(Some(inspected)) if inspected.alive => {
                self.has_started |= inspected.started;
                // Unless whoever waits for its end was faster.
                return !self.is_over;
            }
            Ok(Some(inspected)) => {
                self.has_started |= inspected.started;
                self.container_exit.get_or_insert(inspected.exit_code);
                self.is_over = true;
            }
            Ok(None) => {
                // Removed already: docker's own exit code tells whether it had been started.
                let code = self.cli_status.and_then(|status| status.code());
                self.has_started |= !code.is_some_and(|code| NOT_STARTED.contains(&code));
                // Whoever waits for its end is about to know its exit code.
                self.is_over |= self.follower.is_none();
                self.last_word = Some(Instant::now() + ENGINE_PAUSE);
            }
            Err(error) => {
                say(format_args!("{error:#}"));
                self.is_over = true;
            }
        }
        false
    }

    fn note_end(&mut self, followed: Result<Option<i32>>) {
        match followed {
            Ok(code) => self.container_exit = code.or(self.container_exit),
            Err(error) => say(format_args!(
                "the engine cannot tell when the container ends: {error:#}"
            )),
        }
    }

    /// Learns the container's id, once docker has written it.
    fn look_for_id(&mut self) -> Result<()> {
        if self.id.is_some() {
            return Ok(());
        }
        let Some(id) = self.cidfile.read() else {
            return Ok(());
        };
        self.observation.sensors().arm_new_containers(Some(&id))?;
        self.follower = Some(tokio::spawn(until_end(self.docker.clone(), id.clone())));
        self.facts = Some(tokio::spawn(Described::ask(
            self.docker.clone(),
            id.clone(),
            Arc::clone(&self.policy),
        )));
        self.id = Some(id);
        Ok(())
    }

    /// The awaited container is known.
    async fn meet(&mut self, described: Described) {
        self.has_started |= described.has_started;
        self.observation
            .instruct(Instruction::Expect(described.container))
            .await;
    }

    /// The exit of what was run: docker's, or the container's if docker let go of it.
    fn exit(&self) -> Option<CommandExit> {
        let cli_status = self.cli_status?;
        match self.container_exit {
            Some(code) if self.is_detached && cli_status.success() => Some(CommandExit::Code(code)),
            None if self.is_detached && cli_status.success() => None,
            _ => CommandExit::of(cli_status),
        }
    }
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

impl Described {
    /// Asks the engine. Without an answer the container is known by its id only.
    async fn ask(docker: Docker, id: String, policy: Arc<Policy>) -> Self {
        match docker.inspect(&id).await {
            Ok(Some(inspected)) => Described {
                container: judging::described(&policy, inspected.facts, None).await,
                has_started: inspected.started,
            },
            Ok(None) => Self::by_id_alone(&policy, &id),
            Err(error) => {
                say(format_args!(
                    "container {} is known by its id only: {error:#}",
                    short(&id)
                ));
                Self::by_id_alone(&policy, &id)
            }
        }
    }

    fn by_id_alone(policy: &Policy, id: &str) -> Self {
        Described {
            container: judging::by_id_alone(policy, id, None),
            has_started: false,
        }
    }
}

/// Resolves when the task has ended; never, if there is none. Safe to cancel.
async fn answer<T>(task: &mut Option<JoinHandle<T>>) -> Result<T> {
    match task {
        Some(task) => task
            .await
            .context("a question to the engine failed; this is a bug in rei"),
        None => std::future::pending().await,
    }
}

/// Waits until the container has ended for good: restarts do not count. Gives its exit code, if the engine
/// knows it.
async fn until_end(docker: Docker, id: String) -> Result<Option<i32>> {
    let mut code = docker.next_exit(&id).await.unwrap_or(None);
    let mut tries = 0;
    loop {
        match docker.inspect(&id).await {
            Ok(None) => return Ok(code),
            Ok(Some(inspected)) if !inspected.alive && inspected.started => {
                return Ok(Some(inspected.exit_code));
            }
            Ok(Some(_)) => {
                tries = 0;
                sleep(ENGINE_PAUSE).await;
                code = docker.not_running(&id).await.unwrap_or(code);
            }
            Err(error) if tries >= ENGINE_TRIES => return Err(error),
            Err(_) => {
                tries += 1;
                sleep(ENGINE_PAUSE).await;
            }
        }
    }
}
