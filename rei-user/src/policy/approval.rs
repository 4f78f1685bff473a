//! Whether a policy may be used at all: an unsafe one of the user's own has to be wanted.

use crate::policy::{Mode, Policy, Source};

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// A person sits there.
    Interactive,
    /// Nobody does.
    Absent,
}

/// What has to happen before a run with this policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Nothing.
    Start,
    /// The person at the terminal has to say yes.
    Ask,
    /// It is refused: `--allow-unsafe` was not given and nobody can be asked.
    Refuse,
}

/// `safe` starts. `unsafe` starts if it ships with rei or was allowed; else the person at the terminal decides.
#[must_use]
pub fn approval(policy: &Policy, is_allowed: bool, terminal: Terminal) -> Approval {
    match (policy.mode, &policy.source, terminal) {
        (Mode::Safe, _, _) | (Mode::Unsafe, Source::Shipped, _) => Approval::Start,
        (Mode::Unsafe, Source::File(_), _) if is_allowed => Approval::Start,
        (Mode::Unsafe, Source::File(_), Terminal::Interactive) => Approval::Ask,
        (Mode::Unsafe, Source::File(_), Terminal::Absent) => Approval::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table() {
        let parse = |text: &str, source| Policy::parse(text, source).unwrap().policy;
        let own = || Source::File("mine.toml".into());
        let (safe, unsafe_) = ("mode = \"safe\"", "mode = \"unsafe\"");
        use Approval::{Ask, Refuse, Start};
        use Terminal::{Absent, Interactive};
        let table = [
            // policy, source, --allow-unsafe, terminal, answer
            (safe, Source::Shipped, false, Absent, Start),
            (safe, Source::Shipped, false, Interactive, Start),
            (safe, Source::Shipped, true, Absent, Start),
            (safe, Source::Shipped, true, Interactive, Start),
            (safe, own(), false, Absent, Start),
            (safe, own(), false, Interactive, Start),
            (safe, own(), true, Absent, Start),
            (safe, own(), true, Interactive, Start),
            (unsafe_, Source::Shipped, false, Absent, Start),
            (unsafe_, Source::Shipped, false, Interactive, Start),
            (unsafe_, Source::Shipped, true, Absent, Start),
            (unsafe_, Source::Shipped, true, Interactive, Start),
            (unsafe_, own(), false, Absent, Refuse),
            (unsafe_, own(), false, Interactive, Ask),
            (unsafe_, own(), true, Absent, Start),
            (unsafe_, own(), true, Interactive, Start),
        ];
        for (text, source, is_allowed, terminal, expected) in table {
            let policy = parse(text, source.clone());
            assert_eq!(
                approval(&policy, is_allowed, terminal),
                expected,
                "{text} {source:?} {is_allowed} {terminal:?}"
            );
        }
    }
}
