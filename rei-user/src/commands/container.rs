//! `rei run -- docker run ...`: the container that this docker command creates, from its cgroup's making to its end.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::{interval, sleep};

use super::observation::{Observation, Plan};
use super::run::ending;
use super::say;
use super::signals::{Farewell, Signals};
use super::terminal;
use crate::cgroup;
use crate::cli::RunArgs;
use crate::engine::ContainerFacts;
use crate::engine::cidfile::CidFile;
use crate::engine::docker::Docker;
use crate::engine::docker_command::DockerRun;
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
    let cidfile = CidFile::prepare(docker_run.cidfile())?;
    let signals = Signals::listen()?;
    let plan = Plan {
        command: args.command.clone(),
        target: "docker",
        kind: Target::Container,
        identity: Identity::of_awaited_container(),
        bindings: Bindings::default(),
        policy,
    };
    let mut observation = Observation::start(&root, &args.recording, plan, output)?;
    observation.sensors().arm_new_containers(None)?;
    let words = cidfile.add_to(docker_run);
    let cli = tokio::process::Command::new(docker_run.program())
        .args(words.iter().skip(1))
        .spawn()
        .with_context(|| format!("cannot start {:?}", docker_run.program()))?;
    let run = ContainerRun {
        observation,
        docker,
        cidfile,
        cli,
        is_detached: docker_run.is_detached(),
        id: None,
        follower: None,
        container_exit: None,
        has_started: false,
        terminal: terminal::Settings::keep(),
    };
    run.observe(args, signals).await
}

/// A docker command under way.
struct ContainerRun {
    observation: Observation,
    docker: Docker,
    cidfile: CidFile,
    cli: Child,
    is_detached: bool,
    /// Id of the container, once docker has told it.
    id: Option<String>,
    /// Waits for the container's end.
    follower: Option<JoinHandle<Result<Option<i32>>>>,
    /// Exit code of the container as the engine tells it.
    container_exit: Option<i32>,
    has_started: bool,
    terminal: terminal::Settings,
}

impl ContainerRun {
    async fn observe(mut self, args: &RunArgs, mut signals: Signals) -> Result<u8> {
        let mut farewell = Farewell::default();
        let mut look = interval(CIDFILE_PAUSE);
        let mut cli_status: Option<ExitStatus> = None;
        let is_over = loop {
            tokio::select! {
                status = self.cli.wait(), if cli_status.is_none() => {
                    let status = status.context("cannot wait for docker")?;
                    cli_status = Some(status);
                    if !self.outlives_cli(status, &farewell).await {
                        break true;
                    }
                    if farewell.first().is_some() {
                        break false;
                    }
                }
                _ = look.tick(), if self.id.is_none() && cli_status.is_none() => self.look_for_id().await?,
                followed = ended(&mut self.follower) => {
                    self.follower = None;
                    self.note_end(followed);
                    if cli_status.is_some() {
                        break true;
                    }
                }
                caught = signals.next() => farewell.heed(caught, self.cli.id()),
                () = farewell.is_due() => break false,
                () = self.observation.tend() => {}
            }
        };
        if is_over && self.has_started {
            self.observation.await_gone(CGROUP_PATIENCE).await;
        }
        if let Some(follower) = self.follower.take() {
            follower.abort();
        }
        if cli_status.is_none() {
            self.let_go().await;
        }
        let exit = if is_over { self.exit(cli_status) } else { None };
        let mut ending = ending(exit, &farewell, &args.recording);
        ending.expects_scope = self.has_started;
        self.observation.finish(ending).await
    }

    /// Ends the docker client, which rei started: the container runs on without both.
    async fn let_go(&mut self) {
        // It may end by itself meanwhile.
        let _ = self.cli.kill().await;
        self.terminal.put_back();
        if let Some(id) = &self.id {
            say(format_args!(
                "container {id} runs on, unobserved; `docker attach {id}` reaches it",
                id = short(id)
            ));
        }
    }

    /// Whether the container goes on after the docker CLI has ended.
    async fn outlives_cli(&mut self, status: ExitStatus, farewell: &Farewell) -> bool {
        if let Err(error) = self.look_for_id().await {
            say(format_args!("{error:#}"));
        }
        let Some(id) = self.id.clone() else { return false };
        match self.docker.inspect(&id).await {
            Ok(Some(inspected)) => {
                self.has_started |= inspected.started;
                if !inspected.alive {
                    self.container_exit.get_or_insert(inspected.exit_code);
                    return false;
                }
                if farewell.first().is_none() {
                    say(format_args!(
                        "container {} runs in the background; observing until it ends (Ctrl-C stops observing)",
                        short(&id)
                    ));
                }
                true
            }
            Ok(None) => {
                // Removed already: docker's own exit code tells whether it had been started.
                self.has_started |= !status.code().is_some_and(|code| NOT_STARTED.contains(&code));
                self.take_finished_follower().await;
                false
            }
            Err(error) => {
                say(format_args!("{error:#}"));
                false
            }
        }
    }

    /// A container that is removed has ended: whoever waits for that is about to know its exit code.
    async fn take_finished_follower(&mut self) {
        if let Some(mut follower) = self.follower.take() {
            match tokio::time::timeout(ENGINE_PAUSE, &mut follower).await {
                Ok(followed) => self.note_end(followed.unwrap_or_else(|error| Err(error.into()))),
                Err(_) => follower.abort(),
            }
        }
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
    async fn look_for_id(&mut self) -> Result<()> {
        if self.id.is_some() {
            return Ok(());
        }
        let Some(id) = self.cidfile.read() else {
            return Ok(());
        };
        self.observation.sensors().arm_new_containers(Some(&id))?;
        self.follower = Some(tokio::spawn(until_end(self.docker.clone(), id.clone())));
        let container = self.describe(&id).await;
        self.observation.instruct(Instruction::Expect(container)).await;
        self.id = Some(id);
        Ok(())
    }

    async fn describe(&mut self, id: &str) -> Container {
        let unknown = ContainerFacts {
            id: id.to_owned(),
            ..ContainerFacts::default()
        };
        match self.docker.inspect(id).await {
            Ok(Some(inspected)) => {
                self.has_started |= inspected.started;
                Container {
                    facts: inspected.facts,
                    cgroup_path: None,
                    source: "engine",
                }
            }
            Ok(None) => Container {
                facts: unknown,
                cgroup_path: None,
                source: "cgroup",
            },
            Err(error) => {
                say(format_args!(
                    "container {} is known by its id only: {error:#}",
                    short(id)
                ));
                Container {
                    facts: unknown,
                    cgroup_path: None,
                    source: "cgroup",
                }
            }
        }
    }

    /// The exit of what was run: docker's, or the container's if docker let go of it.
    fn exit(&self, cli_status: Option<ExitStatus>) -> Option<CommandExit> {
        let cli_status = cli_status?;
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

/// Resolves when the follower has ended; never, if there is none.
async fn ended(follower: &mut Option<JoinHandle<Result<Option<i32>>>>) -> Result<Option<i32>> {
    match follower {
        Some(follower) => follower.await.unwrap_or_else(|error| Err(error.into())),
        None => std::future::pending().await,
    }
}

/// Waits until the container has ended for good: restarts do not count. Gives its exit code, if the engine knows it.
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
