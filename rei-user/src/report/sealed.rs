//! How the recording ended, as the log says it: the same facts as the last JSON line.

use super::{CommandExit, End, Report, Summary, names_of};
use crate::format::{Count, Decimal, Ending, KindCount, ReasonFacts, RunEnd};

/// Most reasons that are written; each is a few hundred bytes.
const REASONS_MAX: usize = 64;

impl Report {
    /// The body of the `run` line that ends a log. `findings`: those that are kept apart, and events whose
    /// finding had no room any more.
    #[must_use]
    pub fn sealed_end(&self, end: &End, summary: &Summary, findings: (u64, u64)) -> RunEnd {
        let completeness = if summary.is_complete() {
            "complete"
        } else {
            "incomplete"
        };
        RunEnd {
            command: end.command.map(ending),
            exit_code: Count::new(summary.exit_code().into()),
            judgement: self.judgement().to_owned(),
            completeness: completeness.to_owned(),
            reasons: summary
                .reasons()
                .iter()
                .take(REASONS_MAX)
                .map(|reason| ReasonFacts {
                    kind: reason.kind().to_owned(),
                    text: reason.text(),
                    count: reason.count().map(Count::new),
                    next_step: reason.next_step(),
                })
                .collect(),
            counts: self
                .counts
                .iter()
                .map(|(kind, count)| KindCount {
                    kind: kind.name().to_owned(),
                    n: Count::new(*count),
                })
                .collect(),
            lost: Decimal(self.losses.total()),
            lost_of_others: Decimal(self.losses.of_others(&end.attribution)),
            syscalls_without_sensor: names_of(&end.gaps),
            findings: Count::new(findings.0),
            findings_not_kept_apart: Count::new(findings.1),
        }
    }
}

fn ending(exit: CommandExit) -> Ending {
    match exit {
        CommandExit::Code(code) => Ending::Code(code),
        CommandExit::Signal(signal) => Ending::Signal(signal),
    }
}
