//! What the Docker engine answers about one container → [`Inspected`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::{ContainerFacts, Mount, MountKind};

/// Files that the engine mounts into every container, unless the user mounts something there.
const ENGINE_FILES: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];
/// Where the engine puts docker-init.
const INIT_FILE: &str = "/sbin/docker-init";

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

/// The parts of GET /containers/{id}/json that rei reads (Engine API 1.41 and later).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Answer {
    id: String,
    name: Option<String>,
    image: Option<String>,
    path: Option<String>,
    args: Option<Vec<String>>,
    driver: Option<String>,
    graph_driver: Option<AnswerGraphDriver>,
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
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerGraphDriver {
    name: Option<String>,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AnswerHostConfig {
    init: Option<bool>,
    tmpfs: Option<BTreeMap<String, String>>,
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
    pub(super) fn into_inspected(self) -> Inspected {
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
            labels: self.config.labels.into_iter().flatten().collect(),
            image_id: self.image,
            argv: self
                .path
                .into_iter()
                .chain(self.args.into_iter().flatten())
                .collect(),
            init: self.host_config.init.unwrap_or(false),
            workdir: self.config.working_dir.filter(|directory| !directory.is_empty()),
            layers: self
                .graph_driver
                .as_ref()
                .map_or_else(Vec::new, AnswerGraphDriver::layers),
            storage_driver: self.driver,
            named: None,
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

impl AnswerGraphDriver {
    /// Of drivers that put the layers together by overlayfs.
    fn layers(&self) -> Vec<PathBuf> {
        let is_overlay = self
            .name
            .as_deref()
            .is_some_and(|name| name.starts_with("overlay"));
        let lower = self.data.iter().filter_map(|data| data.get("LowerDir"));
        lower
            .filter(|_| is_overlay)
            .flat_map(|lower| lower.split(':'))
            .filter(|layer| layer.starts_with('/'))
            .map(PathBuf::from)
            .collect()
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
    fn reads_an_answer() {
        let text = br#"{"Id":"ab","Name":"/web","Image":"sha256:1","Path":"sh","Args":["-c","true"],"Driver":"overlay2",
            "GraphDriver":{"Name":"overlay2","Data":{"LowerDir":"/l/2-init/diff:/l/1/diff","UpperDir":"/l/2/diff"}},
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
        assert_eq!(facts.layers, ["/l/2-init/diff", "/l/1/diff"].map(PathBuf::from));
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
        let text = br#"{"Id":"ab","Args":null,"Mounts":null,"HostConfig":{"Init":null,"Tmpfs":null},"GraphDriver":null,
            "Config":{"Env":null},"State":{"StartedAt":"0001-01-01T00:00:00Z"}}"#;
        let inspected = serde_json::from_slice::<Answer>(text).unwrap().into_inspected();
        assert!(!inspected.alive && !inspected.started);
        let facts = inspected.facts;
        assert!(facts.argv.is_empty() && !facts.init && facts.layers.is_empty());
    }
}
