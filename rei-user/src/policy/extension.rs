//! Options that extend a policy for one run. The record names each of them.

use std::fmt;

use crate::glob::Pattern;
use crate::policy::Policy;
use crate::policy::network::Endpoint;
use crate::policy::program_rules::program_name;
use crate::policy::read::env_name;
use crate::policy::rule::{Program, Rule};

/// What an option adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExtensionKind {
    /// An input.
    Read,
    /// An output.
    Write,
    /// An address or unix socket.
    Connect,
    /// A program.
    Exec,
    /// An environment name.
    Env,
}

impl ExtensionKind {
    /// The option, without the dashes.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            ExtensionKind::Read => "allow-read",
            ExtensionKind::Write => "allow-write",
            ExtensionKind::Connect => "allow-connect",
            ExtensionKind::Exec => "allow-exec",
            ExtensionKind::Env => "allow-env",
        }
    }
}

/// One option with its value. `Display` gives it as it is written: `--allow-read=/x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Which option.
    pub kind: ExtensionKind,
    /// Its value.
    pub value: String,
}

impl fmt::Display for Extension {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "--{}={}", self.kind.option(), self.value)
    }
}

impl Policy {
    /// Adds what the option declares. An environment name changes nothing where names are not judged.
    ///
    /// # Errors
    /// In words, if the value can never match.
    pub fn extend(&mut self, extension: Extension) -> Result<(), String> {
        let name = extension.to_string();
        let value = extension.value.as_str();
        let wrong = |message: String| format!("{name}: {message}");
        match extension.kind {
            ExtensionKind::Read => {
                let what = Pattern::parse(value).map_err(wrong)?;
                self.inputs.push(Rule { name, what });
            }
            ExtensionKind::Write => {
                let what = Pattern::parse(value).map_err(wrong)?;
                self.outputs.push(Rule { name, what });
            }
            ExtensionKind::Connect => match value.strip_prefix("unix:") {
                Some(path) => {
                    let what = Pattern::parse(path).map_err(wrong)?;
                    self.unix.push(Rule { name, what });
                }
                None => {
                    let what = Endpoint::parse(value).map_err(wrong)?;
                    self.network.push(Rule { name, what });
                }
            },
            ExtensionKind::Exec => {
                let what = Program {
                    name: program_name(value).map_err(wrong)?,
                    argv: None,
                    sha256: None,
                    origins: Vec::new(),
                };
                self.programs.push(Rule { name, what });
            }
            ExtensionKind::Env => {
                let what = env_name(value).map_err(wrong)?;
                if let Some(env) = &mut self.env {
                    env.push(Rule { name, what });
                }
            }
        }
        self.extensions.push(extension);
        Ok(())
    }
}
