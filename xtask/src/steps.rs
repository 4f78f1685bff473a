//! The steps of `cargo xtask test`, in their order, each with the time that it may take.

use std::time::Duration;

use clap::ValueEnum;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Toolchain, linker, Docker engine, compilers.
    Setup,
    /// rustfmt.
    Fmt,
    /// clippy for what runs on the host.
    Clippy,
    /// clippy for the eBPF crate.
    ClippyEbpf,
    /// rustdoc.
    Doc,
    /// The release build of everything, tests included, and a look at the eBPF object in it.
    Build,
    /// Unit tests and black-box tests.
    Test,
    /// The tests of the second verifier, in Python.
    SecondVerifier,
    /// Tests that need root: real containers, real kernel.
    Live,
}

impl Step {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::ClippyEbpf => "clippy-ebpf",
            Self::Doc => "doc",
            Self::Build => "build",
            Self::Test => "test",
            Self::SecondVerifier => "second-verifier",
            Self::Live => "live",
        }
    }

    /// Minutes after which the step is stopped and counts as failed: for a machine with two cores and empty caches.
    pub(crate) fn budget_minutes(self) -> u64 {
        match self {
            Self::Setup => 8,
            Self::Fmt => 1,
            Self::Clippy | Self::ClippyEbpf => 4,
            Self::Doc => 2,
            Self::Build => 8,
            Self::Test => 2,
            Self::SecondVerifier => 2,
            Self::Live => 13,
        }
    }

    /// The same as a duration.
    pub(crate) fn budget(self) -> Duration {
        Duration::from_secs(60 * self.budget_minutes())
    }

    /// Whether the step needs what set-up prepares.
    pub(crate) fn needs_setup(self) -> bool {
        matches!(
            self,
            Self::Setup | Self::ClippyEbpf | Self::Build | Self::Test | Self::SecondVerifier | Self::Live
        )
    }

    /// Whether the step is of no use when the build has failed.
    pub(crate) fn needs_build(self) -> bool {
        matches!(self, Self::Test | Self::Live)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_budgets_together_stay_under_45_minutes() {
        let total: u64 = Step::value_variants()
            .iter()
            .map(|step| step.budget_minutes())
            .sum();
        assert!(total < 45, "{total} minutes");
    }

    #[test]
    fn contributing_md_names_every_step_with_its_budget() {
        let text = include_str!("../../CONTRIBUTING.md");
        for step in Step::value_variants() {
            let row = format!("| `{}` | {} min |", step.name(), step.budget_minutes());
            assert!(text.contains(&row), "CONTRIBUTING.md lacks `{row}`");
            let value = step.to_possible_value();
            assert_eq!(value.unwrap().get_name(), step.name());
        }
    }
}
