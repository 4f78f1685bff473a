//! Why keys cannot be used, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why keys cannot be used. Never silently replaced by new keys: that would break the series.
#[derive(Debug)]
pub enum KeyError {
    /// The system refused something.
    Io {
        /// What was attempted, as in "cannot ... PATH".
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file or directory that somebody else could read, write or exchange.
    Exposed {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        next: String,
    },
    /// The content is not what rei wrote.
    Damaged {
        /// Of which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// There are keys already.
    Exists {
        /// The file that is there.
        path: PathBuf,
    },
    /// There is no series, but something that a series left.
    SeriesMissing {
        /// The directory of the keys.
        directory: PathBuf,
        /// What tells of the series.
        trace: PathBuf,
    },
    /// A log whose keys are not in the directory.
    LogUnknown {
        /// Where they should be.
        path: PathBuf,
    },
    /// Another rei holds the directory.
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// An origin that no checkpoint could carry.
    Origin {
        /// As it was given.
        origin: String,
    },
}

impl KeyError {
    /// For `map_err`: the system's error with what was attempted.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> KeyError {
        move |source| KeyError::Io {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    pub(super) fn damaged(path: &Path, why: impl Into<String>) -> KeyError {
        KeyError::Damaged {
            path: path.to_owned(),
            why: why.into(),
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Io { doing, path, source } => {
                write!(formatter, "cannot {doing} {}: {source}; ", path.display())?;
                formatter.write_str(match source.kind() {
                    io::ErrorKind::PermissionDenied => {
                        "run rei as root, or give --keys a directory of your own"
                    }
                    io::ErrorKind::StorageFull => "make room there, then start again",
                    _ => "check the file system, then start again",
                })
            }
            KeyError::Exposed { path, why, next } => {
                write!(formatter, "refusing the keys: {} {why}; {next}", path.display())
            }
            KeyError::Damaged { path, why } => write!(
                formatter,
                "{} is not as rei wrote it: {why}; nothing is recorded with it. Restore it, or move the whole \
                 directory away and start a new series with `rei keygen`",
                path.display()
            ),
            KeyError::Exists { path } => write!(
                formatter,
                "{} exists: these keys are not overwritten. To start a new series, move the directory away first",
                path.display()
            ),
            KeyError::SeriesMissing { directory, trace } => write!(
                formatter,
                "{} holds no series, but {} tells that there was one; no new one is begun beside it. Restore the \
                 file `series`, or move the old logs and the old directory of keys away and run `rei keygen`",
                directory.display(),
                trace.display()
            ),
            KeyError::LogUnknown { path } => write!(
                formatter,
                "{} is missing: the keys of this log are not there (its birth was cut short, or it comes from \
                 another host). Give --log a new directory",
                path.display()
            ),
            KeyError::Busy { directory } => write!(
                formatter,
                "{} has been locked by another rei for too long; see who holds it with `fuser {}`",
                directory.display(),
                directory.display()
            ),
            KeyError::Origin { origin } => write!(
                formatter,
                "{origin:?} cannot be an origin: give --origin a name without spaces and `+`, such as \
                 host.example.org/rei"
            ),
        }
    }
}

impl std::error::Error for KeyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            KeyError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
