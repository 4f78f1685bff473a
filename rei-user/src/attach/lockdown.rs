//! How far the kernel is locked down against its own root user.

use std::{fmt, fs};

/// Where the kernel says it (securityfs).
pub const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// The kernel's lockdown mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lockdown {
    /// Not locked down.
    None,
    /// Locked down; the value is the mode (`integrity`, `confidentiality`).
    Active(String),
    /// The kernel does not say: no lockdown module, or securityfs is not mounted.
    Unknown,
}

impl Lockdown {
    /// Whether the kernel is known to be locked down.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, Lockdown::Active(_))
    }
}

impl fmt::Display for Lockdown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lockdown::None => out.write_str("none"),
            Lockdown::Active(mode) => out.write_str(mode),
            Lockdown::Unknown => out.write_str("unknown"),
        }
    }
}

/// The running kernel's mode.
#[must_use]
pub fn mode() -> Lockdown {
    fs::read_to_string(LOCKDOWN).map_or(Lockdown::Unknown, |text| parse(&text))
}

/// The mode in brackets is the one in force: `none [integrity] confidentiality`.
fn parse(text: &str) -> Lockdown {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    match chosen {
        Some(("none", _)) => Lockdown::None,
        Some((mode, _)) => Lockdown::Active(mode.to_owned()),
        None => Lockdown::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_in_brackets_is_in_force() {
        assert_eq!(parse("[none] integrity confidentiality\n"), Lockdown::None);
        assert_eq!(
            parse("none [integrity] confidentiality\n"),
            Lockdown::Active("integrity".to_owned())
        );
        assert_eq!(parse(""), Lockdown::Unknown);
        assert_eq!(parse("nonsense"), Lockdown::Unknown);
    }
}
