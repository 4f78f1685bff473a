//! The three tripwires: I1 files, I2 network, I3 programs.
//!
//! Takes one operation as the kernel saw it, and the policy bound to its container. Gives the wires that fire, or the
//! ground on which none does. What is ambient is a table (`ambient.toml`), what is declared is the policy.

use std::fmt;

use crate::enrich::Errno;
use crate::policy::AmbientClass;

pub use self::matcher::{Bindings, Matcher};
pub use self::operation::{Circumstance, Contact, Execution, ExecutionAttempt, FileUse, Peer};

mod ambient;
mod contact;
mod execution;
mod file;
mod lexical;
mod matcher;
mod operation;

/// A tripwire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// The file system.
    I1,
    /// The network.
    I2,
    /// Programs.
    I3,
}

impl Wire {
    /// The name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Wire::I1 => "I1",
            Wire::I2 => "I2",
            Wire::I3 => "I3",
        }
    }
}

/// A tripwire that fired.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    /// Which.
    pub wire: Wire,
    /// The error, where the act failed: trying is evidence.
    pub attempted: Option<Errno>,
    /// Why, in words without untrusted strings.
    pub why: String,
    /// What a person may want to do about it.
    pub hint: Option<&'static str>,
}

/// Why an operation trips nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// It is ambient.
    Ambient {
        /// The class.
        class: AmbientClass,
        /// The table's reason.
        why: String,
    },
    /// A rule of the policy declares it.
    Declared {
        /// The rule's name.
        rule: String,
    },
    /// It belongs to the entrypoint chain.
    Chain,
    /// It reaches nothing.
    Harmless(&'static str),
}

impl fmt::Display for Ground {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ground::Ambient { class, why } => write!(out, "ambient ({}): {why}", class.name()),
            Ground::Declared { rule } => write!(out, "declared: {rule}"),
            Ground::Chain => out.write_str("the entrypoint chain"),
            Ground::Harmless(why) => out.write_str(why),
        }
    }
}

/// What the tripwires say to one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Those that fired.
    pub trips: Vec<Trip>,
    /// Why none fired; `None` if one did.
    pub ground: Option<Ground>,
    /// A rule needed a field that was cut or could not be read: the record is incomplete.
    pub lacks: Option<&'static str>,
}

impl Answer {
    fn allowed(ground: Ground) -> Self {
        Answer {
            ground: Some(ground),
            ..Answer::default()
        }
    }

    fn tripped(wire: Wire, circumstance: &Circumstance, why: impl Into<String>) -> Self {
        Answer {
            trips: vec![Trip {
                wire,
                attempted: circumstance.errno(),
                why: why.into(),
                hint: None,
            }],
            ..Answer::default()
        }
    }
}

#[cfg(test)]
mod tests;
