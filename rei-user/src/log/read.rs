//! The reading half: the bytes of a log's directory, whatever they are.
//!
//! Takes a directory that anybody may have written. Gives lines, notes and small files, each within a limit; follows
//! no symbolic link, waits for no FIFO, and holds no more than one line in memory. Judges nothing: that is `verify`.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::notes::Notes;
use crate::format::{Hash, Hex, LINE_BYTES_MAX};

/// The file of the head token.
pub const HEAD_FILE: &str = "head";
/// The file of the checkpoints.
pub const CHECKPOINTS_FILE: &str = "checkpoints";
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 128 * 1024;

/// The name of a segment's file.
#[must_use]
pub fn segment_file(segment: u64) -> String {
    format!("seg-{segment:020}.jsonl")
}

/// What could not be read, and why.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug)]
enum Why {
    System(io::Error),
    NotRegular,
    NotADirectory,
    TooLong { bytes_max: usize },
    Exposed { how: &'static str },
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::System(error) => write!(formatter, "cannot read {path:?}: {error}"),
            Why::NotRegular => write!(
                formatter,
                "{path:?} is no regular file, and nothing else is read: copy its content to a file of that name"
            ),
            Why::NotADirectory => write!(
                formatter,
                "{path:?} is no directory: give the directory that holds the segments of a log"
            ),
            Why::TooLong { bytes_max } => write!(
                formatter,
                "{path:?} is longer than {bytes_max} bytes, which is no such file: give the one that rei wrote"
            ),
            Why::Exposed { how } => write!(
                formatter,
                "{path:?} is a secret, but {how}: make it yours alone (chown, chmod 600) and ask whether it has leaked"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(&self.why, Why::System(error) if error.kind() == io::ErrorKind::NotFound)
    }

    fn system(path: &Path, error: impl Into<io::Error>) -> Self {
        ReadError {
            path: path.to_owned(),
            why: Why::System(error.into()),
        }
    }
}

/// An open directory of a log.
pub struct LogDirectory {
    path: PathBuf,
    directory: OwnedFd,
}

impl LogDirectory {
    /// Opens it.
    ///
    /// # Errors
    /// If it is no directory, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(directory) => Ok(LogDirectory {
                path: path.to_owned(),
                directory,
            }),
            Err(Errno::NOTDIR) => Err(ReadError {
                path: path.to_owned(),
                why: Why::NotADirectory,
            }),
            Err(error) => Err(ReadError::system(path, error)),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The highest segment that is there; `None` if there is none.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn highest_segment(&self) -> Result<Option<u64>, ReadError> {
        let mut highest = None;
        for entry in Dir::read_from(&self.directory).map_err(|error| ReadError::system(&self.path, error))? {
            let entry = entry.map_err(|error| ReadError::system(&self.path, error))?;
            highest = highest.max(segment_number(entry.file_name().to_bytes()));
        }
        Ok(highest)
    }

    /// A segment's lines; `None` if there is no such file. A file that grows meanwhile is read up to where it ended
    /// when it was opened.
    ///
    /// # Errors
    /// If it cannot be read, or is no regular file.
    pub fn segment(&self, segment: u64) -> Result<Option<Lines>, ReadError> {
        self.lines(&segment_file(segment), u64::MAX)
    }

    /// The lines of another file of the directory, as [`LogDirectory::segment`].
    ///
    /// # Errors
    /// If it cannot be read, or is no regular file.
    pub fn lines_of(&self, name: &str) -> Result<Option<Lines>, ReadError> {
        self.lines(name, u64::MAX)
    }

    /// Whether there is something that only the directory of a log has.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn looks_like_a_log(&self) -> Result<bool, ReadError> {
        for name in [HEAD_FILE, CHECKPOINTS_FILE] {
            if rustix::fs::statat(&self.directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Ok(true);
            }
        }
        Ok(self.highest_segment()?.is_some())
    }

    fn lines(&self, name: &str, bytes_max: u64) -> Result<Option<Lines>, ReadError> {
        let path = self.path.join(name);
        let Some(file) = open_regular(&self.directory, name, &path)? else {
            return Ok(None);
        };
        let len_bytes = file
            .metadata()
            .map_err(|error| ReadError::system(&path, error))?
            .len();
        Ok(Some(Lines {
            path,
            reader: BufReader::with_capacity(BUFFER_BYTES, file).take(len_bytes.min(bytes_max)),
            offset: 0,
            line: Vec::new(),
            is_done: false,
        }))
    }

    /// The content of a small file; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, is no regular file, or is longer than `bytes_max`.
    pub fn small_file(&self, name: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, ReadError> {
        let path = self.path.join(name);
        let file = open_regular(&self.directory, name, &path)?;
        file.map(|file| read_bounded(file, &path, bytes_max)).transpose()
    }

    /// The checkpoints in their order, up to `bytes_max` or where the file ends now; `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read, or is no regular file.
    pub fn checkpoints(&self, bytes_max: u64) -> Result<Option<Notes>, ReadError> {
        let lines = self.lines(CHECKPOINTS_FILE, bytes_max)?;
        Ok(lines.map(Notes::new))
    }
}

fn segment_number(name: &[u8]) -> Option<u64> {
    let digits = name.strip_prefix(b"seg-")?.strip_suffix(b".jsonl")?;
    let text = std::str::from_utf8(digits).ok()?;
    (text.len() == 20 && digits.iter().all(u8::is_ascii_digit))
        .then(|| text.parse().ok())
        .flatten()
}

fn open_regular(
    directory: impl std::os::fd::AsFd,
    name: impl rustix::path::Arg,
    path: &Path,
) -> Result<Option<File>, ReadError> {
    // A FIFO without a writer would be waited for; NONBLOCK changes nothing for a regular file.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let not_regular = || ReadError {
        path: path.to_owned(),
        why: Why::NotRegular,
    };
    match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => {
            let stat = fstat(&file).map_err(|error| ReadError::system(path, error))?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                Ok(Some(file.into()))
            } else {
                Err(not_regular())
            }
        }
        Err(Errno::NOENT) => Ok(None),
        // A symbolic link; a socket.
        Err(Errno::LOOP | Errno::NXIO) => Err(not_regular()),
        Err(error) => Err(ReadError::system(path, error)),
    }
}

fn read_bounded(file: File, path: &Path, bytes_max: usize) -> Result<Vec<u8>, ReadError> {
    let mut content = Vec::new();
    file.take(bytes_max as u64 + 1)
        .read_to_end(&mut content)
        .map_err(|error| ReadError::system(path, error))?;
    if content.len() > bytes_max {
        return Err(ReadError {
            path: path.to_owned(),
            why: Why::TooLong { bytes_max },
        });
    }
    Ok(content)
}

/// Whether a file is somebody's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// Anybody may read it.
    Public,
    /// It must be the caller's own, with no other name, and closed to everybody else.
    Secret,
}

/// The content of a small file anywhere, which must be a regular file and no symbolic link.
///
/// # Errors
/// If it is not there, cannot be read, is no regular file, is longer than `bytes_max`, or is a secret that others
/// could reach.
pub fn read_file(path: &Path, bytes_max: usize, secrecy: Secrecy) -> Result<Vec<u8>, ReadError> {
    let file = open_regular(CWD, path, path)?.ok_or_else(|| ReadError::system(path, Errno::NOENT))?;
    if secrecy == Secrecy::Secret {
        let stat = fstat(&file).map_err(|error| ReadError::system(path, error))?;
        let how = if stat.st_uid != rustix::process::geteuid().as_raw() {
            Some("belongs to somebody else")
        } else if stat.st_mode & 0o077 != 0 {
            Some("others may read or write it")
        } else if stat.st_nlink != 1 {
            Some("has a second name")
        } else {
            None
        };
        if let Some(how) = how {
            return Err(ReadError {
                path: path.to_owned(),
                why: Why::Exposed { how },
            });
        }
    }
    read_bounded(file, path, bytes_max)
}

/// A piece of a file of lines.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A line, without its line feed.
    Line {
        /// Its bytes.
        bytes: &'a [u8],
        /// Where it begins, in bytes from the beginning of the file.
        offset: u64,
    },
    /// A line that is longer than a line may be: its bytes are not kept.
    TooLong {
        /// Where it begins.
        offset: u64,
        /// The hash of the whole line, as [`crate::format::leaf`] gives it.
        hash: Hash,
    },
    /// The end of the file: what follows the last line feed.
    Tail {
        /// Where it begins.
        offset: u64,
        /// How many bytes it has; usually none.
        len_bytes: u64,
        /// Their SHA-256.
        sha256: Hash,
    },
}

/// The lines of a file.
pub struct Lines {
    path: PathBuf,
    reader: io::Take<BufReader<File>>,
    offset: u64,
    line: Vec<u8>,
    is_done: bool,
}

impl Lines {
    /// Bytes that were read so far.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next piece; `None` after the tail.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, ReadError> {
        if self.is_done {
            return Ok(None);
        }
        let offset = self.offset;
        self.line.clear();
        let path = &self.path;
        let failed = |error| ReadError::system(path, error);
        let room = LINE_BYTES_MAX as u64 + 1;
        (&mut self.reader)
            .take(room)
            .read_until(b'\n', &mut self.line)
            .map_err(failed)?;
        self.offset += self.line.len() as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            return Ok(Some(Piece::Line {
                bytes: &self.line,
                offset,
            }));
        }
        if (self.line.len() as u64) < room {
            return Ok(Some(self.tail(offset)));
        }
        let mut hasher = Sha256::new();
        hasher.update([0]);
        let mut plain = Sha256::new();
        loop {
            let is_whole = self.line.pop_if(|byte| *byte == b'\n').is_some();
            hasher.update(&self.line);
            plain.update(&self.line);
            if is_whole {
                let hash = Hex(hasher.finalize().into());
                return Ok(Some(Piece::TooLong { offset, hash }));
            }
            self.line.clear();
            let read = (&mut self.reader)
                .take(room)
                .read_until(b'\n', &mut self.line)
                .map_err(|error| ReadError::system(&self.path, error))?;
            self.offset += read as u64;
            if read == 0 {
                self.is_done = true;
                return Ok(Some(Piece::Tail {
                    offset,
                    len_bytes: self.offset - offset,
                    sha256: Hex(plain.finalize().into()),
                }));
            }
        }
    }

    fn tail(&mut self, offset: u64) -> Piece<'static> {
        self.is_done = true;
        Piece::Tail {
            offset,
            len_bytes: self.line.len() as u64,
            sha256: Hex(Sha256::digest(&self.line).into()),
        }
    }
}
