//! The directory of a log in the hands of its only writer.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::process;

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat};
use rustix::io::Errno;

use super::error::LogError;
use super::read::{CHECKPOINTS_FILE, HEAD_FILE, segment_file};
use crate::disk;
use crate::format::TOKEN_BYTES_MAX;

const LOCK_FILE: &str = "LOCK";
/// What ends a checkpoint in its file.
const NOTE_END: &[u8] = b"%%\n";

/// The directory of a log, locked.
pub(super) struct WriterDirectory {
    path: PathBuf,
    fd: OwnedFd,
    /// Locked as long as it is open.
    _lock: File,
}

impl WriterDirectory {
    /// Opens and locks a directory; makes it first if it does not exist.
    pub(super) fn open_or_make(path: &Path) -> Result<Self, LogError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        if let Err(error) = made
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(LogError::io("make the directory", path)(error));
        }
        Self::open(path)
    }

    /// Opens and locks a directory.
    pub(super) fn open(path: &Path) -> Result<Self, LogError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(CWD, path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => exposed(path, "is no directory, or a symbolic link"),
            Errno::NOENT => LogError::NoLog {
                directory: path.to_owned(),
            },
            error => LogError::io("open", path)(error),
        })?;
        let stat = fstat(&fd).map_err(LogError::io("examine", path))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(exposed(path, "belongs to another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(exposed(path, "can be written by others"));
        }
        let lock = lock(path, &fd)?;
        Ok(WriterDirectory {
            path: path.to_owned(),
            fd,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file of a segment, which must not be there.
    pub(super) fn make_segment(&self, segment: u64) -> Result<File, LogError> {
        let name = segment_file(segment);
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        self.open_file(&name, flags)
    }

    /// Opens the head file, which always has the same length, and gives it the content of a log's birth.
    pub(super) fn head(&self, birth: Option<&[u8]>) -> Result<File, LogError> {
        let flags = OFlags::RDWR;
        // Deleted, or longer than it ever is: what was found is said in the next header, and it is made
        // again.
        let file = self.open_file(HEAD_FILE, flags | OFlags::CREATE)?;
        let path = self.path.join(HEAD_FILE);
        let length = file.metadata().map_err(LogError::io("examine", &path))?.len();
        if length > TOKEN_BYTES_MAX as u64 {
            file.set_len(TOKEN_BYTES_MAX as u64)
                .map_err(LogError::io("cut", &path))?;
        }
        let Some(content) = birth else {
            return Ok(file);
        };
        disk::overwrite(&file, content, 0).map_err(LogError::io("write", &path))?;
        disk::sync(&file).map_err(LogError::io("make durable", &path))?;
        Ok(file)
    }

    /// Opens the file of checkpoints for adding to it. A note that a crash tore is cut off: nobody has it.
    pub(super) fn checkpoints(&self) -> Result<File, LogError> {
        let path = self.path.join(CHECKPOINTS_FILE);
        let file = self.open_file(CHECKPOINTS_FILE, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let length = file.metadata().map_err(LogError::io("examine", &path))?.len();
        let start = length.saturating_sub(CHECKPOINT_TAIL_BYTES);
        let mut tail = vec![0; usize::try_from(length - start).unwrap_or_default()];
        file.read_exact_at(&mut tail, start)
            .map_err(LogError::io("read", &path))?;
        let whole = tail
            .windows(NOTE_END.len())
            .rposition(|bytes| bytes == NOTE_END)
            .map_or(0, |at| at + NOTE_END.len());
        // Longer than any note, and no end of one: not of this writer's making, so not this writer's to cut.
        let is_torn = whole < tail.len() && (whole > 0 || start == 0);
        if is_torn {
            file.set_len(start + whole as u64)
                .map_err(LogError::io("cut the torn note of", &path))?;
        }
        Ok(file)
    }

    /// Adds a checkpoint, durably.
    pub(super) fn add_checkpoint(&self, file: &File, note: &str) -> Result<(), LogError> {
        let path = self.path.join(CHECKPOINTS_FILE);
        let bytes = [note.as_bytes(), NOTE_END].concat();
        disk::append(file, &bytes).map_err(LogError::io("write", &path))?;
        disk::sync(file).map_err(LogError::io("make durable", &path))
    }

    /// Makes a segment of an earlier writer durable. One that was killed may have left its last lines in the
    /// page cache only, and the next header is chained to them.
    pub(super) fn sync_segment(&self, segment: u64) -> Result<(), LogError> {
        let name = segment_file(segment);
        let file = self.open_file(&name, OFlags::RDONLY)?;
        disk::sync(&file).map_err(LogError::io("make durable", &self.path.join(&name)))
    }

    /// Removes a segment in which no event can be.
    pub(super) fn remove_segment(&self, segment: u64) -> Result<(), LogError> {
        let name = segment_file(segment);
        disk::remove(&self.fd, &name).map_err(LogError::io("remove", &self.path.join(&name)))?;
        self.sync()
    }

    /// Makes the names in it durable.
    pub(super) fn sync(&self) -> Result<(), LogError> {
        disk::sync_directory(&self.fd).map_err(LogError::io("make durable", &self.path))
    }

    fn open_file(&self, name: &str, flags: OFlags) -> Result<File, LogError> {
        open_regular(&self.path, &self.fd, name, flags)
    }
}

/// The end of the file of checkpoints that is looked at: more than the longest note of a writer.
const CHECKPOINT_TAIL_BYTES: u64 = 8192;

fn exposed(path: &Path, why: &'static str) -> LogError {
    LogError::Exposed {
        path: path.to_owned(),
        why,
    }
}

fn open_regular(directory: &Path, fd: &OwnedFd, name: &str, flags: OFlags) -> Result<File, LogError> {
    let path = directory.join(name);
    // Opening a FIFO would wait for its other end; NONBLOCK changes nothing for a regular file.
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = match openat(fd, name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file,
        Err(Errno::LOOP) => return Err(exposed(&path, "is a symbolic link")),
        Err(error) => return Err(LogError::io("open", &path)(error)),
    };
    let stat = fstat(&file).map_err(LogError::io("examine", &path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(exposed(&path, "is no regular file"));
    }
    Ok(file.into())
}

/// Takes the lock and leaves this process's id in it.
fn lock(path: &Path, fd: &OwnedFd) -> Result<File, LogError> {
    let mut file = open_regular(path, fd, LOCK_FILE, OFlags::RDWR | OFlags::CREATE)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut text = String::new();
            // Whoever holds it may be about to write it.
            let _ = file.by_ref().take(32).read_to_string(&mut text);
            return Err(LogError::Locked {
                directory: path.to_owned(),
                pid: text.trim().parse().ok(),
            });
        }
        Err(error) => return Err(LogError::io("lock", &path.join(LOCK_FILE))(error)),
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.write_all_at(format!("{}\n", process::id()).as_bytes(), 0));
    written.map_err(LogError::io("write", &path.join(LOCK_FILE)))?;
    Ok(file)
}
