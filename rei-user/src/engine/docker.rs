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
use super::http;
use super::inspect::{Answer, Inspected};

/// Where docker listens if nobody says otherwise.
const DEFAULT_HOST: &str = "unix:///var/run/docker.sock";
/// How long one question may take. A busy engine on a small machine needs seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A Docker engine on this machine.
#[derive(Clone, Debug)]
pub struct Docker {
    socket: PathBuf,
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
