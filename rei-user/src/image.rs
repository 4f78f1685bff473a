//! The files that a container's image holds: path → file, symlinks followed.
//!
//! Looks into the image's layers below the container's own one, which nobody in the container can change, and puts
//! them together as overlayfs does. A path that leads below a mount, or that only overlayfs itself could tell, is not
//! answered. Every component is looked at by itself, so no symlink leads out of a layer.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::engine::ContainerFacts;

/// As many symlinks as the kernel follows: `MAXSYMLINKS`, include/linux/namei.h.
const SYMLINKS_MAX: usize = 40;
/// Mounts that every container has beside its root.
const USUAL_MOUNTS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Where files are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Root directories, the topmost layer first.
    layers: Vec<PathBuf>,
    /// Mount points: what is below them is not the image's.
    mounts: Vec<Vec<u8>>,
    source: Source,
}

/// Whose files they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A container's image, read from its layers.
    Image,
    /// This machine, as it is now.
    Host,
}

impl Source {
    /// The word in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Source::Image => "image",
            Source::Host => "host",
        }
    }
}

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// Its path without symlinks, as the kernel writes it.
    pub path: Vec<u8>,
    /// Whether anybody may execute it.
    pub is_executable: bool,
    /// Where it lies on this machine.
    place: PathBuf,
}

/// Why a path leads to no file.
#[derive(Debug)]
pub enum Absence {
    /// Nothing is there.
    NotThere,
    /// It is no regular file.
    NoFile,
    /// It leads below this mount point.
    Mounted(Vec<u8>),
    /// It has too many symlinks.
    Loop,
    /// Only overlayfs can tell: the layer says so of this file.
    Redirected(PathBuf),
    /// A file of a layer cannot be read.
    Unreadable(PathBuf, io::Error),
}

impl std::fmt::Display for Absence {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Absence::NotThere => out.write_str("there is no such file"),
            Absence::NoFile => out.write_str("it is no regular file"),
            Absence::Mounted(mount) => write!(
                out,
                "it leads below the mount {}, where the image has no say",
                String::from_utf8_lossy(mount)
            ),
            Absence::Loop => out.write_str("it has too many symlinks"),
            Absence::Redirected(path) => write!(out, "{} stands for another file", path.display()),
            Absence::Unreadable(path, error) => write!(
                out,
                "cannot read {}: {error}; rei needs the engine's directory where the engine has it",
                path.display()
            ),
        }
    }
}

impl Image {
    /// The files of this machine.
    #[must_use]
    pub fn host() -> Self {
        Image {
            layers: vec![PathBuf::from("/")],
            mounts: Vec::new(),
            source: Source::Host,
        }
    }

    /// The image of a container, as its engine describes it.
    ///
    /// # Errors
    /// In words, if the engine does not tell the layers.
    pub fn of_container(facts: &ContainerFacts) -> Result<Self, String> {
        if facts.layers.is_empty() {
            let driver = facts.storage_driver.as_deref().unwrap_or("unknown");
            return Err(format!(
                "the engine does not tell where the image's layers are (storage driver {driver})"
            ));
        }
        let mounts = facts.mounts.iter().map(|mount| mount.destination.as_str());
        Ok(Image {
            layers: facts.layers.clone(),
            mounts: mounts
                .chain(USUAL_MOUNTS)
                .map(|mount| mount.trim_end_matches('/').as_bytes().to_vec())
                .collect(),
            source: Source::Image,
        })
    }

    /// Whose files they are.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// The file that an absolute path leads to.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self, path: &[u8]) -> Result<ImageFile, Absence> {
        let mut walk = Walk {
            image: self,
            names: Vec::new(),
            directories: vec![self.layers.clone()],
            rest: Vec::new(),
            links: 0,
        };
        walk.ask(path);
        walk.file()
    }

    /// The program that a shell with this PATH finds under a name, with the name's own path.
    ///
    /// # Errors
    /// Why there is none.
    pub fn look_up(&self, name: &[u8], search_path: &str) -> Result<(Vec<u8>, ImageFile), Absence> {
        let mut absence = Absence::NotThere;
        for directory in search_path
            .split(':')
            .filter(|directory| directory.starts_with('/'))
        {
            let path = [directory.trim_end_matches('/').as_bytes(), b"/", name].concat();
            match self.find(&path) {
                Ok(file) if file.is_executable => return Ok((path, file)),
                Ok(_) | Err(Absence::NotThere) => {}
                Err(other) => absence = other,
            }
        }
        Err(absence)
    }
}

impl ImageFile {
    /// Opens it for reading.
    ///
    /// # Errors
    /// Those of the system call.
    pub fn open(&self) -> io::Result<File> {
        // NONBLOCK: should it be a FIFO by now, nobody waits.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&self.place)?;
        // The file's data may lie in a lower layer; then these bytes are not it.
        if has_mark(&self.place, "metacopy")? {
            return Err(io::Error::other("the layer holds its attributes only"));
        }
        Ok(file)
    }
}

/// A walk along a path.
struct Walk<'i> {
    image: &'i Image,
    /// Names of the directories that were entered.
    names: Vec<Vec<u8>>,
    /// Their places in the layers, the root's first; one more than names.
    directories: Vec<Vec<PathBuf>>,
    /// Components that are still to be walked, the last one first.
    rest: Vec<Vec<u8>>,
    links: usize,
}

/// What a name stands for.
enum Entry {
    Directory(Vec<PathBuf>),
    Symlink(Vec<u8>),
    Regular(PathBuf, Metadata),
    Other,
}

impl Walk<'_> {
    fn ask(&mut self, path: &[u8]) {
        if path.starts_with(b"/") {
            self.names.clear();
            self.directories.truncate(1);
        }
        let components = path.split(|byte| *byte == b'/').rev();
        self.rest.extend(components.map(<[u8]>::to_vec));
    }

    fn file(mut self) -> Result<ImageFile, Absence> {
        while let Some(name) = self.rest.pop() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    if self.names.pop().is_some() {
                        self.directories.pop();
                    }
                    continue;
                }
                _ => {}
            }
            let path = self.path_of(&name);
            if self.image.mounts.contains(&path) {
                return Err(Absence::Mounted(path));
            }
            let directories = self.directories.last().map(Vec::as_slice).unwrap_or_default();
            match entry(directories, &name)? {
                Entry::Directory(places) => {
                    self.names.push(name);
                    self.directories.push(places);
                }
                Entry::Symlink(target) => {
                    self.links += 1;
                    if self.links > SYMLINKS_MAX {
                        return Err(Absence::Loop);
                    }
                    self.ask(&target);
                }
                // A file has nothing below it.
                Entry::Regular(..) | Entry::Other if !self.rest.is_empty() => return Err(Absence::NotThere),
                Entry::Other => return Err(Absence::NoFile),
                Entry::Regular(place, metadata) => {
                    return Ok(ImageFile {
                        path,
                        is_executable: metadata.permissions().mode() & 0o111 != 0,
                        place,
                    });
                }
            }
        }
        Err(Absence::NoFile)
    }

    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::new();
        for name in self.names.iter().map(Vec::as_slice).chain([name]) {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        path
    }
}

/// A name in a directory that lies in several layers.
fn entry(directories: &[PathBuf], name: &[u8]) -> Result<Entry, Absence> {
    let mut merged = Vec::new();
    for directory in directories {
        let place = directory.join(OsStr::from_bytes(name));
        let unreadable = |error| Absence::Unreadable(place.clone(), error);
        let metadata = match fs::symlink_metadata(&place) {
            Ok(metadata) => metadata,
            // A layer that is not there at all must not pass for an empty one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => continue,
            Err(error) => return Err(unreadable(error)),
        };
        if is_whiteout(&place, &metadata).map_err(unreadable)? {
            break;
        }
        if !metadata.is_dir() {
            if !merged.is_empty() {
                break;
            }
            return other(place, metadata);
        }
        if has_mark(&place, "redirect").map_err(unreadable)? {
            return Err(Absence::Redirected(place));
        }
        let is_opaque = has_mark(&place, "opaque").map_err(unreadable)?;
        merged.push(place);
        if is_opaque {
            break;
        }
    }
    if merged.is_empty() {
        return Err(Absence::NotThere);
    }
    Ok(Entry::Directory(merged))
}

fn other(place: PathBuf, metadata: Metadata) -> Result<Entry, Absence> {
    if metadata.is_symlink() {
        return match fs::read_link(&place) {
            Ok(target) => Ok(Entry::Symlink(target.into_os_string().into_vec())),
            Err(error) => Err(Absence::Unreadable(place, error)),
        };
    }
    Ok(if metadata.is_file() {
        Entry::Regular(place, metadata)
    } else {
        Entry::Other
    })
}

/// Whether it says that the layers below do not count: Documentation/filesystems/overlayfs.rst, "whiteouts and opaque
/// directories".
fn is_whiteout(place: &Path, metadata: &Metadata) -> io::Result<bool> {
    if metadata.file_type().is_char_device() {
        return Ok(metadata.rdev() == 0);
    }
    Ok(metadata.is_file() && metadata.len() == 0 && has_mark(place, "whiteout")?)
}

/// Whether overlayfs left a mark on it. Its marks can be read by root only, and set by nobody in a container.
fn has_mark(place: &Path, mark: &str) -> io::Result<bool> {
    let mut value = [0_u8; 1];
    match rustix::fs::lgetxattr(place, format!("trusted.overlay.{mark}"), &mut value) {
        // Some layers say `x` of a directory that holds whiteouts and hides nothing else.
        Ok(_) => Ok(mark != "opaque" || value[0] != b'x'),
        Err(rustix::io::Errno::RANGE) => Ok(true),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
