//! Why a record is incomplete, in plain words, with the next step.

use crate::coverage::Route;

/// One reason why a record is incomplete. Texts hold untrusted strings in quoted form only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The container ran before rei came.
    StartedLate,
    /// rei ended before the container did.
    EndedEarly,
    /// The kernel side counted events that it could not report.
    Lost {
        /// How many.
        count: u64,
        /// Why, and which kinds.
        text: String,
    },
    /// Numbered records did not come, and no counter says so.
    SequenceGap {
        /// How many.
        count: u64,
    },
    /// Records that are not what their header says.
    Undecodable {
        /// How many.
        count: u64,
        /// What was wrong with the first one.
        first: String,
    },
    /// A route was used that no live sensor covers.
    RouteWithoutSensor {
        /// Which.
        route: Route,
        /// The system calls.
        syscalls: Vec<String>,
        /// The sensor that would have covered it, had it been live.
        sensor: Option<&'static str>,
    },
    /// Objects that another thread may have exchanged during the call.
    Contested {
        /// How many events.
        count: u64,
        /// The first one.
        first: String,
    },
    /// Objects that could not be read or whose text did not stay the same.
    Unresolved {
        /// How many events.
        count: u64,
        /// The first one.
        first: String,
    },
    /// Paths longer than a record holds.
    PathCut {
        /// How many events.
        count: u64,
        /// The first one.
        first: String,
    },
    /// Found by somebody else.
    Other {
        /// A word for machines.
        kind: &'static str,
        /// What happened.
        text: String,
        /// What to do.
        next_step: String,
    },
}

impl Reason {
    /// A word for machines.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Reason::StartedLate => "started_late",
            Reason::EndedEarly => "ended_early",
            Reason::Lost { .. } => "lost",
            Reason::SequenceGap { .. } => "sequence_gap",
            Reason::Undecodable { .. } => "undecodable",
            Reason::RouteWithoutSensor { .. } => "route_without_sensor",
            Reason::Contested { .. } => "contested",
            Reason::Unresolved { .. } => "unresolved",
            Reason::PathCut { .. } => "path_cut",
            Reason::Other { kind, .. } => kind,
        }
    }

    /// How many events or records, where there is a number.
    #[must_use]
    pub const fn count(&self) -> Option<u64> {
        match self {
            Reason::Lost { count, .. }
            | Reason::SequenceGap { count }
            | Reason::Undecodable { count, .. }
            | Reason::Contested { count, .. }
            | Reason::Unresolved { count, .. }
            | Reason::PathCut { count, .. } => Some(*count),
            Reason::StartedLate
            | Reason::EndedEarly
            | Reason::RouteWithoutSensor { .. }
            | Reason::Other { .. } => None,
        }
    }

    /// What happened.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Reason::StartedLate => {
                "the recording started after the container: what it did before is not here".to_owned()
            }
            Reason::EndedEarly => {
                "the recording ended before the container: what it did since is not here".to_owned()
            }
            Reason::Lost { count, text } => format!("{} lost: {text}", events(*count)),
            Reason::SequenceGap { count } => {
                format!("{count} numbered records never came, and no counter says why")
            }
            Reason::Undecodable { count, first } => {
                format!("{count} records could not be decoded; the first: {first}")
            }
            Reason::RouteWithoutSensor { route, syscalls, .. } => {
                format!("{} ({})", route.words(), syscalls.join(", "))
            }
            Reason::Contested { count, first } => {
                format!(
                    "{} where another thread changed the descriptor during the call; the first: {first}",
                    events(*count)
                )
            }
            Reason::Unresolved { count, first } => {
                format!(
                    "{} whose object could not be settled; the first: {first}",
                    events(*count)
                )
            }
            Reason::PathCut { count, first } => {
                format!(
                    "{} with a path longer than a record holds; the first: {first}",
                    events(*count)
                )
            }
            Reason::Other { text, .. } => text.clone(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn next_step(&self) -> String {
        let fixed = match self {
            Reason::StartedLate => "start the container with `rei run -- docker run ...`",
            Reason::EndedEarly => "let rei run until the container ends",
            Reason::Lost { .. } => "run again with a larger --ring-bytes, or with less load on the host",
            Reason::SequenceGap { .. } => "report it as a bug of rei",
            Reason::Undecodable { .. } => "build rei anew, so that both of its halves match",
            Reason::RouteWithoutSensor {
                sensor: Some(sensor), ..
            } => {
                return format!("see `rei doctor` for why the sensor {sensor} is not live");
            }
            Reason::RouteWithoutSensor { sensor: None, .. } => {
                "rei has no sensor for it yet: judge by other means"
            }
            Reason::Contested { .. } | Reason::Unresolved { .. } | Reason::PathCut { .. } => {
                "look at these events with --json -o FILE"
            }
            Reason::Other { next_step, .. } => return next_step.clone(),
        };
        fixed.to_owned()
    }
}

fn events(count: u64) -> String {
    if count == 1 {
        "1 event".to_owned()
    } else {
        format!("{count} events")
    }
}
