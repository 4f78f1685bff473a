//! The directory of the keys: only its owner can look into it, and only one process changes it at a time.
//!
//! Every file is opened relative to the directory, never through a symbolic link, and is refused if anybody
//! else could read it, write it, or reach it by another name.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat};
use rustix::io::Errno;
use zeroize::Zeroizing;

use super::error::KeyError;
use crate::disk;

/// Longest key file that is read, in bytes; rei writes none that is longer than 8 KiB but its list of births,
/// which is not read through this.
const FILE_BYTES_MAX: u64 = 8192;
/// How long a birth waits for another one. A birth takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// An open directory of keys.
pub struct KeyDirectory {
    path: PathBuf,
    fd: OwnedFd,
}

impl KeyDirectory {
    /// Opens it; `None` if it does not exist.
    ///
    /// # Errors
    /// If it is no directory, or others could get at what is in it.
    pub fn open(path: &Path) -> Result<Option<Self>, KeyError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(KeyError::Exposed {
                    path: path.to_owned(),
                    why: "is no directory, or a symbolic link".to_owned(),
                    next: "give --keys the directory itself".to_owned(),
                });
            }
            Err(error) => return Err(KeyError::io("open", path)(error)),
        };
        let stat = fstat(&fd).map_err(KeyError::io("examine", path))?;
        refuse_exposed(path, &stat, "700")?;
        Ok(Some(KeyDirectory {
            path: path.to_owned(),
            fd,
        }))
    }

    /// Opens it, and makes it first if it does not exist, with every directory above that is missing.
    ///
    /// # Errors
    /// As [`KeyDirectory::open`], and if it cannot be made.
    pub fn open_or_make(path: &Path) -> Result<Self, KeyError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        if let Err(error) = made
            && error.kind() != ErrorKind::AlreadyExists
        {
            return Err(KeyError::io("make the directory", path)(error));
        }
        let directory = Self::open(path)?.ok_or_else(|| {
            let gone: std::io::Error = ErrorKind::NotFound.into();
            KeyError::io("open", path)(gone)
        })?;
        Ok(directory)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of it is.
    #[must_use]
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Waits until no other process changes the keys, then keeps them out until the result is dropped.
    ///
    /// # Errors
    /// If another process does not let go.
    pub(super) fn lock(&self) -> Result<LockedDirectory, KeyError> {
        // The lock belongs to an open file: a descriptor of its own ends it when it is closed.
        let Some(own) = Self::open(&self.path)? else {
            let gone: std::io::Error = ErrorKind::NotFound.into();
            return Err(KeyError::io("open", &self.path)(gone));
        };
        let end = Instant::now() + LOCK_WAIT;
        loop {
            match flock(&own.fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(LockedDirectory(own)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    return Err(KeyError::Busy {
                        directory: self.path.clone(),
                    });
                }
                Err(error) => return Err(KeyError::io("lock", &self.path)(error)),
            }
        }
    }

    /// Whether there is something of this name.
    pub(super) fn has(&self, name: &str) -> Result<bool, KeyError> {
        match rustix::fs::statat(&self.fd, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(KeyError::io("examine", &self.path_of(name))(error)),
        }
    }

    /// Opens a file of it; `None` if it does not exist.
    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> Result<Option<File>, KeyError> {
        let path = self.path_of(name);
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        match openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => {
                refuse_exposed_file(&path, &fd)?;
                Ok(Some(fd.into()))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(KeyError::Exposed {
                path,
                why: "is a symbolic link".to_owned(),
                next: "put the file itself there".to_owned(),
            }),
            Err(error) => Err(KeyError::io("open", &path)(error)),
        }
    }

    /// Reads a small file of it; `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, KeyError> {
        self.open_file(name, OFlags::RDONLY)?
            .map(|file| read_bounded(file, &self.path_of(name)))
            .transpose()
    }

    /// Makes a file that was not there, with this content, durably.
    ///
    /// The mode is given with the call; a umask can only take more away.
    pub(super) fn create(&self, name: &str, mode: u32, content: &[u8]) -> Result<File, KeyError> {
        let path = self.path_of(name);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = match openat(&self.fd, name, flags, Mode::from_raw_mode(mode)) {
            Ok(fd) => fd.into(),
            Err(Errno::EXIST) => return Err(KeyError::Exists { path }),
            Err(error) => return Err(KeyError::io("make", &path)(error)),
        };
        disk::append(&file, content).map_err(KeyError::io("write", &path))?;
        disk::sync(&file).map_err(KeyError::io("make durable", &path))?;
        disk::sync_directory(&self.fd).map_err(KeyError::io("make durable", &self.path))?;
        Ok(file)
    }

    /// Removes a file of it, durably.
    pub(super) fn remove(&self, name: &str) -> Result<(), KeyError> {
        disk::remove(&self.fd, name).map_err(KeyError::io("remove", &self.path_of(name)))?;
        disk::sync_directory(&self.fd).map_err(KeyError::io("make durable", &self.path))
    }
}

impl AsFd for KeyDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A directory of keys that no other process changes.
pub(super) struct LockedDirectory(KeyDirectory);

impl std::ops::Deref for LockedDirectory {
    type Target = KeyDirectory;

    fn deref(&self) -> &KeyDirectory {
        &self.0
    }
}

/// Reads a secret file from anywhere, such as the auditor's verification key.
///
/// # Errors
/// If it cannot be read, or others could get at it.
pub fn read_secret_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let fd = match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::LOOP) => {
            return Err(KeyError::Exposed {
                path: path.to_owned(),
                why: "is a symbolic link".to_owned(),
                next: "give the path of the file itself".to_owned(),
            });
        }
        Err(error) => return Err(KeyError::io("read", path)(error)),
    };
    refuse_exposed_file(path, &fd)?;
    read_bounded(fd.into(), path)
}

fn read_bounded(file: File, path: &Path) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    // Room at once: growing would leave copies behind.
    let mut content = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize + 1));
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut content)
        .map_err(KeyError::io("read", path))?;
    if content.len() as u64 > FILE_BYTES_MAX {
        return Err(KeyError::damaged(
            path,
            format!("longer than {FILE_BYTES_MAX} bytes"),
        ));
    }
    Ok(content)
}

fn refuse_exposed_file(path: &Path, fd: &OwnedFd) -> Result<(), KeyError> {
    let stat = fstat(fd).map_err(KeyError::io("examine", path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(KeyError::Exposed {
            path: path.to_owned(),
            why: "is no regular file".to_owned(),
            next: "put a regular file there".to_owned(),
        });
    }
    if stat.st_nlink > 1 {
        return Err(KeyError::Exposed {
            path: path.to_owned(),
            why: format!("has {} names (hard links)", stat.st_nlink),
            next: "find the others with `find -samefile` and remove them".to_owned(),
        });
    }
    refuse_exposed(path, &stat, "600")
}

/// Owner and mode; `mode` is what to set.
fn refuse_exposed(path: &Path, stat: &Stat, mode: &str) -> Result<(), KeyError> {
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(KeyError::Exposed {
            path: path.to_owned(),
            why: format!(
                "belongs to user {}, not to user {user}, who runs rei",
                stat.st_uid
            ),
            next: "see who made it; `chown` it only if that is right".to_owned(),
        });
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(KeyError::Exposed {
            path: path.to_owned(),
            why: format!("is open to others (mode {:o})", stat.st_mode & 0o7777),
            next: format!(
                "`chmod {mode} {}`, and think of who may have read it",
                path.display()
            ),
        });
    }
    Ok(())
}
