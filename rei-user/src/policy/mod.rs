//! The policy file → [`Policy`]: what a step may read, write, contact and execute. docs/policy.md is its manual.
//!
//! Takes TOML text. Gives a policy in which every rule can match, or every problem with its line and column. Nothing
//! is left to find out while events come in.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::glob::{Glob, Pattern};

pub use self::approval::{Approval, Terminal, approval};
pub use self::extension::{Extension, ExtensionKind};
pub use self::gate_section::GateSection;
pub use self::network::{Destination, Endpoint, Ports, Transport};
pub use self::problem::{Problem, Problems};
pub use self::rule::{AmbientClass, AmbientRow, Program, ProgramName, Rule};
pub use self::shipped::SHIPPED;

use crate::gate;

use self::document::Reader;
use self::read::Placed;

mod ambient_rows;
mod approval;
mod check;
mod document;
mod extension;
mod gate_section;
mod network;
mod problem;
mod program_rules;
mod read;
mod rule;
mod shipped;

/// Largest policy file that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Who judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Tripwires and gate.
    #[default]
    Safe,
    /// The gate alone; tripwires are recorded.
    Unsafe,
}

impl Mode {
    /// The word in a policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Safe => "safe",
            Mode::Unsafe => "unsafe",
        }
    }
}

/// How bad a finding is. Later is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Privileged, or to be looked at.
    Caution,
    /// A tripwire fired.
    #[default]
    Tripped,
    /// The gate refused it.
    Blocked,
}

impl Severity {
    /// Every severity, the mildest first.
    pub const ALL: [Severity; 3] = [Severity::Caution, Severity::Tripped, Severity::Blocked];

    /// The word in policy files and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Caution => "caution",
            Severity::Tripped => "tripped",
            Severity::Blocked => "blocked",
        }
    }
}

/// What anonymous executable memory is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DynamicCode {
    /// Nothing to report: a JIT.
    Allow,
    /// A caution.
    #[default]
    Caution,
    /// I3.
    Trip,
}

impl DynamicCode {
    /// Every choice.
    pub const ALL: [DynamicCode; 3] = [DynamicCode::Allow, DynamicCode::Caution, DynamicCode::Trip];

    /// The word in a policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DynamicCode::Allow => "allow",
            DynamicCode::Caution => "caution",
            DynamicCode::Trip => "trip",
        }
    }
}

/// What an unresolved or contested object inside a declared output is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unresolved {
    /// A gap in the record.
    #[default]
    Incomplete,
    /// I1, and a gap in the record.
    Trip,
}

/// Where a policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It ships with rei.
    Shipped,
    /// A user's file.
    File(PathBuf),
}

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name: declared, or the file's name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// What it is for.
    pub description: Option<String>,
    /// Who judges.
    pub mode: Mode,
    /// The mildest finding that makes a run fail.
    pub fail_on: Severity,
    /// What anonymous executable memory is.
    pub dynamic_code: DynamicCode,
    /// What an unresolved object inside a declared output is.
    pub unresolved: Unresolved,
    /// Whether `docker exec` is judged like the workload.
    pub exec_is_workload: bool,
    /// What may be read.
    pub inputs: Vec<Rule<Pattern>>,
    /// What may be read and changed.
    pub outputs: Vec<Rule<Pattern>>,
    /// Addresses that may be contacted.
    pub network: Vec<Rule<Endpoint>>,
    /// Unix sockets that may be contacted.
    pub unix: Vec<Rule<Pattern>>,
    /// Ports on which connections may be accepted.
    pub accept: Vec<Rule<RangeInclusive<u16>>>,
    /// Programs that may be executed.
    pub programs: Vec<Rule<Program>>,
    /// Environment names that programs may be given; `None`: names are not judged.
    pub env: Option<Vec<Rule<Glob>>>,
    /// The shipped ambient table, and the policy's own rows after it.
    pub ambient: Vec<AmbientRow>,
    /// What it says to the gate.
    pub gate: GateSection,
    /// Options of this run that extend it.
    pub extensions: Vec<Extension>,
    /// Addresses of the host names, as they were found when the run started.
    pub resolved: BTreeMap<String, Vec<IpAddr>>,
    digest: Sha256,
}

/// A policy with what is worth saying about it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The policy.
    pub policy: Policy,
    /// Rules that change nothing.
    pub warnings: Vec<Problem>,
}

impl Policy {
    /// The policy with this name, or in this file: a shipped name, or anything with a slash or a dot in it.
    ///
    /// # Errors
    /// If there is none, or it has problems; the message names each with its place.
    pub fn load(name_or_file: &Path) -> Result<Checked, LoadError> {
        if let Some(shipped) = name_or_file.to_str().and_then(shipped::text) {
            return Self::parse(shipped, Source::Shipped).map_err(|problems| LoadError::Problems {
                file: name_or_file.to_owned(),
                problems,
            });
        }
        let unreadable = |error| LoadError::Unreadable {
            file: name_or_file.to_owned(),
            error,
        };
        let file = std::fs::File::open(name_or_file).map_err(unreadable)?;
        let mut text = String::new();
        let mut limited = std::io::Read::take(file, FILE_BYTES_MAX);
        std::io::Read::read_to_string(&mut limited, &mut text).map_err(unreadable)?;
        if text.len() as u64 == FILE_BYTES_MAX {
            return Err(unreadable(std::io::ErrorKind::FileTooLarge.into()));
        }
        Self::parse(&text, Source::File(name_or_file.to_owned())).map_err(|problems| LoadError::Problems {
            file: name_or_file.to_owned(),
            problems,
        })
    }

    /// Reads and checks a policy's text.
    ///
    /// # Errors
    /// Every problem, with its place.
    pub fn parse(text: &str, source: Source) -> Result<Checked, Problems> {
        let mut reader = Reader::new(text);
        let declared = read::policy(&mut reader);
        check::check(&declared, &mut reader);
        let (problems, warnings) = reader.finish();
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let stem = match &source {
            Source::File(path) => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
            Source::Shipped => None,
        };
        let mut ambient = shipped::ambient().to_vec();
        ambient.extend(declared.ambient.into_iter().map(|placed| placed.rule));
        let policy = Policy {
            name: declared.name.or(stem).unwrap_or_else(|| "policy".to_owned()),
            source,
            description: declared.description,
            mode: declared.mode,
            fail_on: declared.fail_on,
            dynamic_code: declared.dynamic_code,
            unresolved: declared.unresolved,
            exec_is_workload: declared.exec_is_workload,
            inputs: rules(declared.inputs),
            outputs: rules(declared.outputs),
            network: rules(declared.network),
            unix: rules(declared.unix),
            accept: rules(declared.accept),
            programs: rules(declared.programs),
            env: declared.env.map(rules),
            ambient,
            gate: declared.gate,
            extensions: Vec::new(),
            resolved: BTreeMap::new(),
            digest: Sha256::new_with_prefix(text),
        };
        Ok(Checked { policy, warnings })
    }

    /// Whether any pattern, or gate rule, holds a variable.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        let lists = [&self.inputs, &self.outputs, &self.unix];
        let mut patterns = lists.into_iter().flatten().map(|rule| &rule.what);
        patterns.any(|pattern| pattern.fixed().is_none())
            || self
                .programs
                .iter()
                .filter_map(|rule| rule.what.name.pattern())
                .any(|pattern| pattern.fixed().is_none())
            || self.ambient.iter().any(|row| row.pattern.fixed().is_none())
            || self.gate.rules.iter().any(gate::Rule::has_variables)
    }

    /// Looks up every host name of the network rules with `look_up`; the answers hold for the whole run.
    ///
    /// # Errors
    /// The name that has no address, with the reason.
    pub fn resolve_names(
        &mut self,
        look_up: impl Fn(&str) -> std::io::Result<Vec<IpAddr>>,
    ) -> Result<(), (String, std::io::Error)> {
        for rule in &self.network {
            if let Destination::Name(name) = &rule.what.to
                && !self.resolved.contains_key(name)
            {
                let addresses = look_up(name).map_err(|error| (name.clone(), error))?;
                self.resolved.insert(name.clone(), addresses);
            }
        }
        Ok(())
    }

    /// SHA-256 of the policy's text, followed by NUL, the option, `=` and its value for each extension; hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        self.sha256().iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }

    /// The bytes of [`Self::digest`].
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        let mut digest = self.digest.clone();
        for extension in &self.extensions {
            digest.update([0]);
            digest.update(extension.to_string());
        }
        digest.finalize().into()
    }
}

fn rules<T>(placed: Vec<Placed<T>>) -> Vec<T> {
    placed.into_iter().map(|placed| placed.rule).collect()
}

/// Why a policy could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is wrong.
    Problems {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problems: Problems,
    },
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Unreadable { file, error } => write!(
                out,
                "cannot read the policy {}: {error}; give a file, or one of the shipped {}",
                file.display(),
                SHIPPED.join(", ")
            ),
            LoadError::Problems { file, problems } => {
                let plural = if problems.0.len() == 1 {
                    "problem"
                } else {
                    "problems"
                };
                write!(
                    out,
                    "the policy {} has {} {plural}:\n{problems}",
                    file.display(),
                    problems.0.len()
                )
            }
        }
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests;
