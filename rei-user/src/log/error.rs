//! Why a log cannot be written, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::read::ReadError;
use crate::format::TooLong;
use crate::keys::error::KeyError;

/// Why a log cannot be written.
#[derive(Debug)]
pub enum LogError {
    /// The system refused something. After a failed write or sync nothing more is written to this log by this
    /// writer.
    Io {
        /// What was attempted, as in "cannot ... PATH".
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is there cannot be read.
    Read(ReadError),
    /// The keys cannot be used.
    Keys(KeyError),
    /// Another process writes this log.
    Locked {
        /// The log's directory.
        directory: PathBuf,
        /// That process; `None` if it has not said so yet.
        pid: Option<u32>,
    },
    /// Somebody else could exchange what is written.
    Exposed {
        /// The directory or file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A new log was asked for where there is one.
    HoldsLog {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no log to go on with.
    NoLog {
        /// The directory.
        directory: PathBuf,
    },
    /// The birth of this log was cut short, and its number is void.
    Stillborn {
        /// The directory.
        directory: PathBuf,
    },
    /// The keys have opened more segments than there are.
    Cut {
        /// The directory.
        directory: PathBuf,
        /// The segment that would be the next.
        next: u64,
    },
    /// The host's log key is not the one that this log was born with.
    OtherHost {
        /// The directory.
        directory: PathBuf,
    },
    /// An earlier write failed: nothing is written any more.
    Stopped {
        /// The log's directory.
        directory: PathBuf,
    },
    /// A record does not fit a line; nothing was written, and the log goes on.
    TooLong(TooLong),
}

impl LogError {
    /// For `map_err`: the system's error with what was attempted.
    pub(super) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> LogError {
        move |source| LogError::Io {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

impl From<KeyError> for LogError {
    fn from(error: KeyError) -> Self {
        LogError::Keys(error)
    }
}

impl From<ReadError> for LogError {
    fn from(error: ReadError) -> Self {
        LogError::Read(error)
    }
}

impl From<TooLong> for LogError {
    fn from(error: TooLong) -> Self {
        LogError::TooLong(error)
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Io { doing, path, source } => {
                write!(formatter, "cannot {doing} {path:?}: {source}; ")?;
                formatter.write_str(match source.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "run rei as root, or give --log a directory of your own"
                    }
                    io::ErrorKind::StorageFull => "make room there, then start again",
                    _ => "check the file system, then start again: what was sealed before stays good",
                })
            }
            LogError::Read(error) => error.fmt(formatter),
            LogError::Keys(error) => error.fmt(formatter),
            LogError::Locked { directory, pid } => {
                write!(formatter, "{directory:?} is written by another rei")?;
                if let Some(pid) = pid {
                    write!(formatter, ", process {pid}")?;
                }
                formatter.write_str("; stop it, or give --log another directory")
            }
            LogError::Exposed { path, why } => write!(
                formatter,
                "{path:?} {why}: others could exchange what is written there; give --log a directory that is yours alone"
            ),
            LogError::HoldsLog { directory } => write!(
                formatter,
                "{directory:?} holds a log already, and a run has one of its own; give --log a new directory"
            ),
            LogError::NoLog { directory } => {
                write!(
                    formatter,
                    "{directory:?} holds no log; give --log the directory of one"
                )
            }
            LogError::Stillborn { directory } => write!(
                formatter,
                "the log in {directory:?} was never born (a crash came first): it holds no event and has no keys; \
                 move it away and start again"
            ),
            LogError::Cut { directory, next } => write!(
                formatter,
                "the keys of the log in {directory:?} do not open segment {next}: segments are missing. Nothing is \
                 added; run `rei verify` on it, keep it, and start a new log elsewhere"
            ),
            LogError::OtherHost { directory } => write!(
                formatter,
                "the log in {directory:?} was born with another host key; give --keys the directory with that key, \
                 or --log a new directory"
            ),
            LogError::Stopped { directory } => write!(
                formatter,
                "nothing more is written to {directory:?}, since an earlier write failed; start rei again"
            ),
            LogError::TooLong(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LogError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
