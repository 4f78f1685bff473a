//! What goes to the recorder and comes from it.

use std::io;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::attach::Loss;
use crate::coverage::RouteGap;
use crate::engine::ContainerFacts;
use crate::enrich::Enricher;
use crate::found::FoundProgram;
use crate::identity::Identity;
use crate::judge::Judge;
use crate::ledger::{Closed, Ledger};
use crate::log::error::LogError;
use crate::report::{Attribution, CommandExit, ExitCodes, Reason, Report, Summary};

/// What the observing command tells the recorder.
pub enum Instruction {
    /// A scope is ours; with its container, if it is one.
    Own {
        /// The scope.
        scope: u64,
        /// The container that it belongs to.
        container: Option<Container>,
    },
    /// The awaited container is this one.
    Expect(Container),
    /// The cgroup of a scope is at this path.
    Named {
        /// The scope.
        scope: u64,
        /// Path below the cgroup v2 root.
        path: String,
    },
    /// A process was there before rei.
    Present {
        /// Its scope.
        scope: u64,
        /// The process.
        pid: u32,
        /// Its start, 0 if unknown.
        start_ns: u64,
        /// The program that it runs.
        program: Option<Vec<u8>>,
    },
    /// Losses so far.
    Losses(Vec<Loss>),
    /// Something makes the record incomplete.
    Reason(Reason),
    /// Everything before has been told: answer with [`Notice::Settled`] when what follows from it has been
    /// told, too.
    Settle,
    /// Nothing comes any more: close the report.
    End(Closing),
}

/// What is known when nothing comes any more.
#[derive(Clone, Debug)]
pub struct Closing {
    /// How the command ended; `None` if there was none or it still runs.
    pub command: Option<CommandExit>,
    /// rei's own exit code.
    pub exit_codes: ExitCodes,
    /// Routes that were used and that no live sensor covers.
    pub gaps: Vec<RouteGap>,
    /// Whose events were lost.
    pub attribution: Attribution,
}

/// A container as the observing command knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Who it is.
    pub facts: ContainerFacts,
    /// Programs that the policy declares, as they were found in the image.
    pub programs: Vec<FoundProgram>,
    /// Its cgroup's path below the cgroup v2 root, where it is known beforehand.
    pub cgroup_path: Option<String>,
    /// How the facts were learned: `engine` or `cgroup`.
    pub source: &'static str,
}

/// What the recorder tells the observing command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A scope is ours; its cgroup is at this path below the cgroup v2 root.
    Ours {
        /// The scope.
        scope: u64,
        /// Path below the cgroup v2 root.
        path: String,
    },
    /// A scope is another container's and can be forgotten.
    Foreign {
        /// The scope.
        scope: u64,
    },
    /// The path of this scope's cgroup is wanted.
    Unnamed {
        /// The scope.
        scope: u64,
    },
    /// The cgroup of this scope of ours is gone.
    Gone {
        /// The scope.
        scope: u64,
    },
    /// Every record that the reader gave has been taken.
    Drained,
    /// Every instruction before [`Instruction::Settle`] has been obeyed.
    Settled,
    /// Nothing is written to the log any more, for this reason.
    LogFailed(String),
}

/// What is left when the recorder has ended.
pub struct Outcome {
    /// The summary; `None` if the recorder was never told to end.
    pub summary: Option<Summary>,
    /// The first error of the report.
    pub failure: Option<io::Error>,
    /// The closed log, if there is one, or why it could not be written.
    pub log: Result<Option<Closed>, LogError>,
}

/// What the recorder starts with.
pub struct Rooms {
    /// Begun already.
    pub report: Report,
    /// Begun already.
    pub ledger: Ledger,
    /// Knows nothing yet.
    pub enricher: Enricher,
    /// Knows the policy.
    pub judge: Judge,
    /// Which scopes matter.
    pub identity: Identity,
}

/// The three channels that lead to and from the recorder.
pub struct Wires {
    /// Records from the reader; closed when there are no more.
    pub records: mpsc::Receiver<Bytes>,
    /// Instructions from the observing command.
    pub instructions: mpsc::Receiver<Instruction>,
    /// Notices to the observing command.
    pub notices: mpsc::Sender<Notice>,
}
