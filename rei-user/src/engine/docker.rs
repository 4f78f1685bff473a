//! The Docker engine: where it listens, whether it answers, and what it knows of a container.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hyper::{Method, StatusCode};
use serde::Deserialize;

use super::docker_command::DockerRun;
use super::{ContainerFacts, Mount, MountKind, http};

/// Where docker listens if nobody says otherwise.
const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";
/// How long one question may take. A busy engine on a small machine needs seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Files that the engine mounts into every container, unless the user mounts something there.
const ENGINE_FILES: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];
/// Where the engine puts docker-init.
const INIT_FILE: &str = "/sbin/docker-init";

/// A Docker engine on this machine.
#[derive(Clone, Debug)]
pub struct Docker {
    socket: PathBuf,
}

/// What the engine says about a container at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// Who it is.
    pub facts: ContainerFacts,
    /// Whether it runs, is paused, or is about to be restarted.
    pub alive: bool,
    /// Whether it ever ran.
    pub started: bool,
    /// Exit code of its last run; meaningless while it is alive.
    pub exit_code: i32,
}

impl Docker {
    /// The engine that this command line talks to.
    ///
    /// # Errors
    /// If that is not a unix socket on this machine, or the docker context cannot be read.
    pub fn of_command(run: &DockerRun) -> Result<Self> {
        if let Some(context) = run.context() {
            return Self::at(&host_of_context(run, Some(context))?);
        }
        if let Some(host) = run.host() {
            return Self::at(&host.to_string_lossy());
        }
        if env::var_os("DOCKER_HOST").is_none_or(|host| host.is_empty()) && uses_context(run) {
            return Self::at(&host_of_context(run, None)?);
        }
        Self::of_environment()
    }

    /// The engine that DOCKER_HOST names, or the usual one.
    ///
    /// # Errors
    /// If that is not a unix socket on this machine.
    pub fn of_environment() -> Result<Self> {
        match env::var_os("DOCKER_HOST") {
            Some(host) if !host.is_empty() => Self::at(&host.to_string_lossy()),
            _ => Self::at(DEFAULT_HOST),
        }
    }

    /// The engine at `host`, written as in DOCKER_HOST.
    pub(crate) fn at(host: &str) -> Result<Self> {
        match host.strip_prefix("unix://") {
            Some(socket) if socket.starts_with('/') => Ok(Self {
                socket: PathBuf::from(socket),
            }),
            _ => bail!(
                "docker host {host:?} is not a unix socket on this machine, and rei sees only containers that this \
                 kernel runs; run rei on that host, or set DOCKER_HOST={DEFAULT_HOST}"
            ),
        }
    }

    /// Whether somebody could listen at the socket: needs no privileges.
    ///
    /// # Errors
    /// If there is no such socket.
    pub fn exists(&self) -> Result<()> {
        match fs::metadata(&self.socket) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("{}", self.unreachable("there is no such socket"))
            }
            _ => Ok(()),
        }
    }

    /// Asks the engine for a sign of life.
    ///
    /// # Errors
    /// If it gives none.
    pub async fn ping(&self) -> Result<()> {
        if let Err(error) = http::connect(&self.socket).await {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "there is no such socket".to_owned(),
                io::ErrorKind::ConnectionRefused => "the socket is there but nobody listens".to_owned(),
                io::ErrorKind::PermissionDenied => {
                    bail!(
                        "may not talk to the Docker engine at {}; run rei as root (sudo)",
                        self.socket.display()
                    )
                }
                _ => error.to_string(),
            };
            bail!("{}", self.unreachable(why));
        }
        let (status, _) = http::ask(&self.socket, Method::GET, "/_ping", Some(PATIENCE)).await?;
        if !status.is_success() {
            bail!("{}", self.unreachable(format!("it answers {status} to /_ping")));
        }
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The engine's version, in its own words.
    ///
    /// # Errors
    /// If it does not answer, or answers something else.
    pub async fn version(&self) -> Result<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Answer {
            version: String,
        }
        let (status, body) = http::ask(&self.socket, Method::GET, "/version", Some(PATIENCE)).await?;
        if !status.is_success() {
            bail!(
                "the engine answers {status} when asked for its version: {}",
                message(&body)
            );
        }
        let answer: Answer = serde_json::from_slice(&body)
            .context("the engine's answer about its version is not understood; is it Docker?")?;
        Ok(answer.version)
    }

    fn unreachable(&self, why: impl std::fmt::Display) -> String {
        format!(
            "cannot reach the Docker engine at {}: {why}; start it (`systemctl start docker`, or `dockerd`), or set \
             DOCKER_HOST to its socket",
            self.socket.display()
        )
    }

    /// What the engine knows of the container `name` (a name, an id, or a prefix of one); `None` if nothing.
    ///
    /// # Errors
    /// If the engine does not answer, or answers something else.
    pub async fn inspect(&self, name: &str) -> Result<Option<Inspected>> {
        let path = format!("/containers/{}/json", path_segment(name));
        let (status, body) = http::ask(&self.socket, Method::GET, &path, Some(PATIENCE)).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => {
                let answer: Answer = serde_json::from_slice(&body).with_context(|| {
                    format!("the engine's answer about container {name:?} is not understood")
                })?;
                Ok(Some(answer.into_inspected()))
            }
            _ => bail!(
                "the engine answers {status} when asked about container {name:?}: {}",
                message(&body)
            ),
        }
    }

    /// Waits until the container ends once more and gives the exit code; `None` if the engine knows it no longer.
    ///
    /// # Errors
    /// If the engine goes away, or answers something else.
    pub async fn next_exit(&self, id: &str) -> Result<Option<i32>> {
        self.wait(id, "next-exit").await
    }

    /// Waits until the container does not run and gives its exit code; `None` if the engine knows it no longer.
    ///
    /// # Errors
    /// If the engine goes away, or answers something else.
    pub async fn not_running(&self, id: &str) -> Result<Option<i32>> {
        self.wait(id, "not-running").await
    }

    async fn wait(&self, id: &str, condition: &str) -> Result<Option<i32>> {
        let path = format!("/containers/{}/wait?condition={condition}", path_segment(id));
        let (status, body) = http::ask(&self.socket, Method::POST, &path, None).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => {
                let ended: Ended = serde_json::from_slice(&body).with_context(|| {
                    format!("the engine's answer about the end of container {id} is not understood")
                })?;
                Ok(Some(ended.status_code))
            }
            _ => bail!(
                "the engine answers {status} when asked to wait for container {id}: {}",
                message(&body)
            ),
        }
    }
}

/// Whether a docker context is chosen by DOCKER_CONTEXT or by docker's configuration file.
fn uses_context(run: &DockerRun) -> bool {
    if env::var_os("DOCKER_CONTEXT").is_some_and(|context| !context.is_empty()) {
        return true;
    }
    let directory = run
        .config()
        .map(Path::to_owned)
        .or_else(|| env::var_os("DOCKER_CONFIG").map(PathBuf::from))
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".docker")));
    let Some(text) = directory.and_then(|directory| fs::read(directory.join("config.json")).ok()) else {
        return false;
    };
    let config: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    config
        .get("currentContext")
        .and_then(|name| name.as_str())
        .is_some_and(|name| !matches!(name, "" | "default"))
}

/// Asks docker itself which host a context stands for.
fn host_of_context(run: &DockerRun, context: Option<&OsStr>) -> Result<String> {
    let mut command = Command::new(run.program());
    if let Some(config) = run.config() {
        command.arg("--config").arg(config);
    }
    command
        .args(["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])
        .args(context);
    let output = command.stdin(Stdio::null()).output().with_context(|| {
        format!(
            "cannot run {:?} to read its context; is the docker CLI installed?",
            run.program()
        )
    })?;
    if !output.status.success() {
        bail!(
            "docker cannot read its context: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A name as one segment of a URL path: everything but unreserved characters is escaped.
fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

/// The engine's error text.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    match serde_json::from_slice::<Refusal>(body) {
        Ok(refusal) => refusal.message,
        Err(_) => String::from_utf8_lossy(body).trim().to_owned(),
    }
}

/// The answer to POST /containers/{id}/wait.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ended {
    status_code: i32,
}

/// The parts of GET /containers/{id}/json that rei reads (Engine API 1.41 and later).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Answer {
    id: String,
    name: Option<String>,
    image: Option<String>,
    path: Option<String>,
    args: Option<Vec<String>>,
    driver: Option<String>,
    state: AnswerState,
    config: AnswerConfig,
    host_config: AnswerHostConfig,
    mounts: Option<Vec<AnswerMount>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerState {
    running: bool,
    paused: bool,
    restarting: bool,
    pid: u32,
    exit_code: i32,
    started_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerConfig {
    image: Option<String>,
    working_dir: Option<String>,
    env: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerHostConfig {
    init: Option<bool>,
    tmpfs: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerMount {
    #[serde(rename = "Type")]
    kind: String,
    name: Option<String>,
    source: Option<String>,
    destination: String,
    #[serde(rename = "RW")]
    writable: Option<bool>,
}

impl Answer {
    fn into_inspected(self) -> Inspected {
        let state = &self.state;
        let alive = state.running || state.paused || state.restarting;
        let started = alive
            || state
                .started_at
                .as_deref()
                .is_some_and(|at| !at.is_empty() && !at.starts_with("0001-"));
        let exit_code = state.exit_code;
        Inspected {
            alive,
            started,
            exit_code,
            facts: self.into_facts(),
        }
    }

    fn into_facts(self) -> ContainerFacts {
        let mounts = self.mounts();
        let search_path = self
            .config
            .env
            .iter()
            .flatten()
            .find_map(|entry| entry.strip_prefix("PATH="));
        ContainerFacts {
            search_path: search_path.map(str::to_owned),
            mounts,
            name: self.name.map(|name| name.trim_start_matches('/').to_owned()),
            image: self.config.image,
            image_id: self.image,
            argv: self
                .path
                .into_iter()
                .chain(self.args.into_iter().flatten())
                .collect(),
            init: self.host_config.init.unwrap_or(false),
            workdir: self.config.working_dir.filter(|directory| !directory.is_empty()),
            storage_driver: self.driver,
            pid: self.state.pid,
            id: self.id,
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        let mut mounts: Vec<Mount> = self
            .mounts
            .iter()
            .flatten()
            .filter_map(AnswerMount::to_mount)
            .collect();
        let tmpfs = self.host_config.tmpfs.iter().flatten();
        let mut rest: Vec<(&str, MountKind)> =
            tmpfs.map(|(path, _)| (path.as_str(), MountKind::Tmpfs)).collect();
        rest.extend(ENGINE_FILES.map(|path| (path, MountKind::Engine)));
        if self.host_config.init == Some(true) {
            rest.push((INIT_FILE, MountKind::Engine));
        }
        for (destination, kind) in rest {
            if !mounts.iter().any(|mount| mount.destination == destination) {
                mounts.push(Mount {
                    destination: destination.to_owned(),
                    kind,
                    read_only: false,
                });
            }
        }
        mounts
    }
}

impl AnswerMount {
    /// `None` for kinds that Linux containers do not have (`npipe`, `cluster`): their origin stays unknown.
    fn to_mount(&self) -> Option<Mount> {
        let kind = match self.kind.as_str() {
            "bind" => MountKind::Bind {
                source: self.source.clone().unwrap_or_default(),
            },
            "volume" => MountKind::Volume {
                name: self.name.clone().unwrap_or_default(),
            },
            "tmpfs" => MountKind::Tmpfs,
            _ => return None,
        };
        Some(Mount {
            destination: self.destination.clone(),
            kind,
            read_only: self.writable == Some(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_sockets_are_accepted() {
        assert_eq!(
            Docker::at("unix:///x/y.sock").unwrap().socket,
            Path::new("/x/y.sock")
        );
        for host in [
            "tcp://1.2.3.4:2375",
            "ssh://me@there",
            "npipe:////./pipe/docker",
            "",
            "unix://relative",
            "/x",
        ] {
            let error = Docker::at(host).unwrap_err().to_string();
            assert!(
                error.contains("not a unix socket on this machine"),
                "{host}: {error}"
            );
        }
    }

    #[test]
    fn names_become_one_segment() {
        assert_eq!(path_segment("a-b_c.1"), "a-b_c.1");
        assert_eq!(path_segment("../x?y z"), "..%2Fx%3Fy%20z");
    }

    #[test]
    fn reads_an_answer() {
        let text = br#"{"Id":"ab","Name":"/web","Image":"sha256:1","Path":"sh","Args":["-c","true"],"Driver":"overlay2",
            "State":{"Running":false,"Restarting":true,"Pid":7,"ExitCode":3,"StartedAt":"2024-01-01T00:00:00Z"},
            "Config":{"Image":"busybox","WorkingDir":"/w","Env":["HOME=/","PATH=/bin:/sbin"]},
            "HostConfig":{"Init":true,"Tmpfs":{"/t":""}},
            "Mounts":[{"Type":"bind","Source":"/s","Destination":"/etc/hosts"},
                      {"Type":"volume","Name":"v","Destination":"/v"},{"Type":"npipe","Destination":"/n"}],"New":1}"#;
        let inspected = serde_json::from_slice::<Answer>(text).unwrap().into_inspected();
        assert!(inspected.alive && inspected.started);
        assert_eq!(inspected.exit_code, 3);
        let facts = inspected.facts;
        assert_eq!(
            (facts.id.as_str(), facts.name.as_deref(), facts.pid),
            ("ab", Some("web"), 7)
        );
        assert_eq!(facts.argv, ["sh", "-c", "true"]);
        assert_eq!(facts.search_path.as_deref(), Some("/bin:/sbin"));
        assert!(facts.init);
        let at = |path: &str| {
            facts
                .mounts
                .iter()
                .find(|mount| mount.destination == path)
                .map(|mount| &mount.kind)
        };
        assert_eq!(at("/etc/hosts"), Some(&MountKind::Bind { source: "/s".into() }));
        assert_eq!(at("/v"), Some(&MountKind::Volume { name: "v".into() }));
        assert_eq!(at("/t"), Some(&MountKind::Tmpfs));
        assert_eq!(at("/etc/resolv.conf"), Some(&MountKind::Engine));
        assert_eq!(at("/sbin/docker-init"), Some(&MountKind::Engine));
        assert_eq!(at("/n"), None);
    }

    #[test]
    fn reads_an_answer_full_of_nulls() {
        let text = br#"{"Id":"ab","Args":null,"Mounts":null,"HostConfig":{"Init":null,"Tmpfs":null},
            "Config":{"Env":null},"State":{"StartedAt":"0001-01-01T00:00:00Z"}}"#;
        let inspected = serde_json::from_slice::<Answer>(text).unwrap().into_inspected();
        assert!(!inspected.alive && !inspected.started);
        assert!(inspected.facts.argv.is_empty() && !inspected.facts.init);
    }

    #[test]
    fn says_what_the_engine_refused() {
        assert_eq!(message(br#"{"message":"no such thing"}"#), "no such thing");
        assert_eq!(message(b"plain\n"), "plain");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_engine_that_is_not_there_is_named() {
        let docker = Docker::at("unix:///nonexistent/docker.sock").unwrap();
        for error in [docker.exists().unwrap_err(), docker.ping().await.unwrap_err()] {
            let text = format!("{error:#}");
            assert!(
                text.contains("/nonexistent/docker.sock") && text.contains("no such socket"),
                "{text}"
            );
        }
    }
}
