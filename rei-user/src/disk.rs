//! The durable steps of keys and logs: every write that must survive a power cut goes through here, one call
//! a step.
//!
//! Tests put a watcher before each step: it can look at the files as a crash at that moment would leave them,
//! or let the step fail.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;

#[cfg(test)]
pub(crate) mod crash;

/// Writes all bytes at the end of a file opened for appending. A failure may leave a part of them.
pub(crate) fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(test)]
    watch::before(watch::Step::Append)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = retried(|| rustix::io::write(file, rest))?;
        rest = advanced(rest, written)?;
    }
    Ok(())
}

/// Overwrites bytes in place. A failure may leave a part of them.
pub(crate) fn overwrite(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(test)]
    watch::before(watch::Step::Overwrite)?;
    let mut rest = bytes;
    let mut at = offset;
    while !rest.is_empty() {
        let written = retried(|| rustix::io::pwrite(file, rest, at))?;
        rest = advanced(rest, written)?;
        at += written as u64;
    }
    Ok(())
}

/// Makes the content of a file durable. After a failure nothing is known of what is on the disk: the kernel
/// may have dropped the pages and would report success the next time, so the caller must not try again on
/// this file.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    #[cfg(test)]
    watch::before(watch::Step::Sync)?;
    Ok(rustix::fs::fdatasync(file)?)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: impl AsFd) -> io::Result<()> {
    #[cfg(test)]
    watch::before(watch::Step::SyncDirectory)?;
    Ok(rustix::fs::fsync(directory)?)
}

/// Removes a name from a directory; one that is not there is as good as removed.
pub(crate) fn remove(directory: impl AsFd, name: &str) -> io::Result<()> {
    #[cfg(test)]
    watch::before(watch::Step::Remove)?;
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

fn retried(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

fn advanced(bytes: &[u8], written: usize) -> io::Result<&[u8]> {
    match bytes.get(written..) {
        Some(rest) if written > 0 => Ok(rest),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// The watcher of the steps of one test thread.
#[cfg(test)]
pub(crate) mod watch {
    use std::cell::RefCell;
    use std::io;

    /// What is about to happen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Step {
        /// Bytes at the end of a file.
        Append,
        /// Bytes in place.
        Overwrite,
        /// A file's content.
        Sync,
        /// A directory's names.
        SyncDirectory,
        /// A name goes.
        Remove,
    }

    type Watcher = Box<dyn FnMut(Step) -> io::Result<()>>;

    thread_local! {
        static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
    }

    /// Asks the watcher; its error becomes the step's.
    pub(crate) fn before(step: Step) -> io::Result<()> {
        // Taken out while it runs, so that what it does itself is not watched.
        let Some(mut watcher) = WATCHER.take() else {
            return Ok(());
        };
        let answer = watcher(step);
        WATCHER.set(Some(watcher));
        answer
    }

    /// Calls `watcher` before every durable step that `action` takes on this thread.
    pub(crate) fn with<T>(
        watcher: impl FnMut(Step) -> io::Result<()> + 'static,
        action: impl FnOnce() -> T,
    ) -> T {
        WATCHER.set(Some(Box::new(watcher)));
        let result = action();
        WATCHER.set(None);
        result
    }
}
