//! `tests/evasions/expectations.json`: what each probe does, needs, and what an observer must say of it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// One probe.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    pub(crate) id: String,
    pub(crate) class: String,
    pub(crate) what: String,
    pub(crate) driver: Driver,
    #[serde(default)]
    pub(crate) docker_args: Vec<String>,
    pub(crate) expect: Vec<Expectation>,
    #[serde(default)]
    pub(crate) must_not_report: Vec<FalseClaim>,
    pub(crate) fixtures: Vec<Fixture>,
}

/// How a probe is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Driver {
    /// By the gate.
    Container,
    /// By `docker exec` while the gate's program sleeps.
    DockerExec,
    /// By `nsenter` on the host.
    Nsenter,
    /// By the gate, then moved into a sub-cgroup before it goes on.
    ChildCg,
    /// By the gate, with a file handle that was made on the host.
    Handle,
    /// By the gate, with the id of a host process.
    HostRoot,
}

/// One thing that must be reported.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    pub(crate) object: String,
    object_b64: Option<String>,
    #[serde(default)]
    pub(crate) alt: Vec<String>,
    pub(crate) access: String,
    #[serde(default)]
    pub(crate) alt_access: Vec<String>,
    pub(crate) result: String,
    required: Value,
    pub(crate) count_from: Option<String>,
    pub(crate) actor: Option<String>,
    pub(crate) actor_comm: Option<String>,
    pub(crate) proto: Option<String>,
    pub(crate) scope: Option<String>,
    /// The other name of a rename or a link; no event carries one yet.
    #[expect(dead_code, reason = "read so that unknown fields stay an error")]
    to: Option<String>,
    #[expect(dead_code, reason = "for people")]
    note: Option<String>,
}

/// One thing that must not be claimed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FalseClaim {
    pub(crate) object: String,
    pub(crate) access: String,
    pub(crate) reason: String,
}

/// Something under `/t/ID` in the image.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Fixture {
    /// A directory; `.` is `/t/ID` itself.
    Dir { name: String },
    /// A file.
    File(File),
    /// A symbolic link.
    Symlink { name: String, target: String },
    /// One of the compiled programs.
    Program {
        name: String,
        program: String,
        mode: String,
    },
}

/// A file: exactly one of `text`, `content_b64` and `content` says what is in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    name: Option<String>,
    name_b64: Option<String>,
    content: Option<String>,
    content_b64: Option<String>,
    text: Option<String>,
    at: Option<usize>,
    size: Option<usize>,
    pub(crate) mode: String,
}

/// The folder of the probes in the source tree.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/evasions")
}

/// Every probe.
pub(crate) fn all() -> Result<Vec<Probe>> {
    #[derive(Deserialize)]
    struct Battery {
        probes: Vec<Probe>,
    }
    let path = folder().join("expectations.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let battery: Battery = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    Ok(battery.probes)
}

impl Probe {
    /// The short name: `f01` of `f01_open_legacy`.
    pub(crate) fn short(&self) -> &str {
        self.id.split('_').next().unwrap_or(&self.id)
    }
}

impl Expectation {
    /// Whether a missing report makes the probe wrong (`"should"` does not).
    pub(crate) fn is_required(&self) -> bool {
        self.required == true
    }

    /// The object's names, as bytes: any of them is right.
    pub(crate) fn names(&self) -> Result<Vec<Vec<u8>>> {
        let exact = match &self.object_b64 {
            Some(encoded) => STANDARD.decode(encoded)?,
            None => self.object.as_bytes().to_vec(),
        };
        Ok(std::iter::once(exact)
            .chain(self.alt.iter().map(|name| name.as_bytes().to_vec()))
            .collect())
    }

    /// The access and its other names.
    pub(crate) fn accesses(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.access)
            .chain(&self.alt_access)
            .map(String::as_str)
    }
}

impl File {
    /// The name as bytes.
    pub(crate) fn name(&self) -> Result<Vec<u8>> {
        match (&self.name, &self.name_b64) {
            (Some(name), None) => Ok(name.as_bytes().to_vec()),
            (None, Some(encoded)) => Ok(STANDARD.decode(encoded)?),
            _ => anyhow::bail!("a file has either `name` or `name_b64`"),
        }
    }

    /// What is in it.
    pub(crate) fn content(&self, probe: &str) -> Result<Vec<u8>> {
        let bytes = match (&self.content, &self.content_b64, &self.text) {
            (Some(word), None, None) if word == "token" => token(probe).into_bytes(),
            (None, Some(encoded), None) => STANDARD.decode(encoded)?,
            (None, None, Some(text)) => text.as_bytes().to_vec(),
            _ => anyhow::bail!("a file of {probe} has not exactly one content"),
        };
        let mut content = vec![0; self.at.unwrap_or(0)];
        content.extend(bytes);
        content.resize(self.size.unwrap_or(content.len()), 0);
        Ok(content)
    }
}

/// What a probe looks for in the file that it reads.
pub(crate) fn token(probe: &str) -> String {
    format!("REI-TOKEN {probe}\n")
}

#[test]
fn every_probe_has_a_source_and_every_source_a_probe() -> Result<()> {
    let mut named: Vec<String> = all()?.into_iter().map(|probe| probe.id).collect();
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(folder().join("src"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_probe = name.as_bytes().get(1).is_some_and(u8::is_ascii_digit) && name.contains('_');
        sources.extend(name.strip_suffix(".c").filter(|_| is_probe).map(str::to_owned));
    }
    named.sort();
    sources.sort();
    assert_eq!(named, sources);
    assert_eq!(named.len(), 82);
    Ok(())
}

#[test]
fn every_fixture_has_a_name_and_a_content() -> Result<()> {
    for probe in all()? {
        assert!(!probe.expect.is_empty(), "{}", probe.id);
        for fixture in &probe.fixtures {
            if let Fixture::File(file) = fixture {
                assert!(!file.name()?.is_empty(), "{}", probe.id);
                assert!(!file.content(&probe.id)?.is_empty(), "{}", probe.id);
            }
        }
    }
    Ok(())
}
