//! The file that docker writes a new container's id to: after it was created, before it is started.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::docker_command::DockerRun;
use super::none;
use crate::cgroup;

/// Where the directory of a file of ours is made: gone after a reboot, and root's alone.
const RUNTIME_DIRECTORY: &str = "/run";
/// Name of the file in its directory.
const FILE_NAME: &str = "cid";

/// The user's file, or one of ours that is removed on drop.
#[derive(Debug)]
pub struct CidFile {
    path: PathBuf,
    /// The directory made for it.
    own_directory: Option<PathBuf>,
    /// The user's file was there before: docker will refuse to write it, and what it holds is an older
    /// container.
    is_stale: bool,
}

impl CidFile {
    /// Takes the user's file, or prepares a place for one.
    ///
    /// # Errors
    /// If no directory can be made for it.
    pub fn prepare(users: Option<&Path>) -> Result<Self> {
        if let Some(path) = users {
            return Ok(Self {
                path: path.to_owned(),
                own_directory: None,
                is_stale: path.exists(),
            });
        }
        let runtime = Path::new(RUNTIME_DIRECTORY);
        sweep(runtime);
        match Self::make_in(runtime) {
            Err(_) => Self::make_in(&env::temp_dir()),
            made => made,
        }
    }

    fn make_in(parent: &Path) -> Result<Self> {
        let directory = parent.join(none::own_name()?);
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .with_context(|| {
                format!(
                    "cannot make the directory {} for the container's id; is its parent writable?",
                    directory.display()
                )
            })?;
        Ok(Self {
            path: directory.join(FILE_NAME),
            own_directory: Some(directory),
            is_stale: false,
        })
    }

    /// The command line that makes docker write the file.
    #[must_use]
    pub fn add_to(&self, run: &DockerRun) -> Vec<OsString> {
        match self.own_directory {
            Some(_) => run.with_cidfile(&self.path),
            None => run.words().to_vec(),
        }
    }

    /// The container's id, once it is there whole.
    #[must_use]
    pub fn read(&self) -> Option<String> {
        if self.is_stale {
            return None;
        }
        let text = fs::read_to_string(&self.path).ok()?;
        cgroup::container_id(text.trim()).map(str::to_owned)
    }
}

impl Drop for CidFile {
    fn drop(&mut self) {
        if let Some(directory) = &self.own_directory {
            remove(directory);
        }
    }
}

/// Removes a directory of ours. What else may be in it is not ours, and keeps it.
fn remove(directory: &Path) {
    for removed in [
        fs::remove_file(directory.join(FILE_NAME)),
        fs::remove_dir(directory),
    ] {
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("cannot remove {}: {error}", directory.display());
            }
            _ => {}
        }
    }
}

/// Removes the directories of reis that were killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.filter_map(io::Result::ok) {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && entry.file_name().to_str().is_some_and(none::is_name_of_the_dead) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_users_file_is_used_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("id");
        let file = CidFile::prepare(Some(&path)).unwrap();
        assert_eq!(file.read(), None);
        fs::write(&path, &ID[..20]).unwrap();
        assert_eq!(file.read(), None, "not whole yet");
        fs::write(&path, ID).unwrap();
        assert_eq!(file.read().as_deref(), Some(ID));
        drop(file);
        assert!(path.exists());
    }

    #[test]
    fn an_older_containers_id_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("id");
        fs::write(&path, ID).unwrap();
        assert_eq!(CidFile::prepare(Some(&path)).unwrap().read(), None);
    }

    #[test]
    fn a_file_of_ours_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let file = CidFile::make_in(parent.path()).unwrap();
        fs::write(&file.path, ID).unwrap();
        assert_eq!(file.read().as_deref(), Some(ID));
        drop(file);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn sweeps_what_the_dead_left() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join("rei-4294967295-1");
        let alive = parent.path().join(none::own_name().unwrap());
        for directory in [&dead, &alive] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join(FILE_NAME), ID).unwrap();
        }
        sweep(parent.path());
        assert!(!dead.exists() && alive.exists());
    }
}
