//! Images with real programs, made of the machine's own files: a program, the libraries that it is linked
//! with, and whatever else it was seen to need. Made once and kept under a tag that changes with what is in
//! it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::docker::{Image, Layout, docker};
use crate::host::stdout_of;

/// Directories of a root that are symbolic links where `/usr` holds everything.
const MERGED: [&str; 5] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// What goes into an image, by path.
pub(crate) struct Recipe {
    name: &'static str,
    entries: BTreeMap<PathBuf, Entry>,
    has_python_caches: bool,
}

#[derive(Debug)]
enum Entry {
    /// The machine's own file of that path.
    Host,
    Link(PathBuf),
    Text(String),
    Folder,
    /// `tests/live/judged/NAME.c`, compiled.
    Program(&'static str),
}

impl Recipe {
    /// An image without any program.
    pub(crate) fn new(name: &'static str) -> Result<Self> {
        let mut recipe = Self {
            name,
            entries: BTreeMap::new(),
            has_python_caches: false,
        };
        for folder in MERGED.map(Path::new) {
            if let Ok(target) = std::fs::read_link(folder) {
                recipe.entries.insert(folder.to_owned(), Entry::Link(target));
            }
        }
        // Names of users, from files alone.
        Ok(recipe
            .text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
            .text("/etc/group", "root:x:0:\n")
            .text("/etc/nsswitch.conf", "passwd: files\ngroup: files\n")
            .folder("/root"))
    }

    /// A program or library of the machine and every library that it is linked with.
    pub(crate) fn program(mut self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        self = self.file(path)?;
        let listed = stdout_of(Command::new("ldd").arg(path))
            .with_context(|| format!("{} is needed: run `cargo xtask setup`", path.display()))?;
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            self = self.file(library)?;
        }
        Ok(self)
    }

    /// A file of the machine, and the symbolic links on the way to it.
    pub(crate) fn file(mut self, path: impl AsRef<Path>) -> Result<Self> {
        let mut path = path.as_ref().to_owned();
        loop {
            let missing = || format!("{} is needed: run `cargo xtask setup`", path.display());
            let name = path.file_name().with_context(missing)?.to_owned();
            let parent = path.parent().with_context(missing)?;
            let here = parent.canonicalize().with_context(missing)?.join(name);
            if !here.symlink_metadata().with_context(missing)?.is_symlink() {
                self.entries.insert(here, Entry::Host);
                return Ok(self);
            }
            let target = std::fs::read_link(&here).with_context(missing)?;
            path = here.parent().unwrap_or(Path::new("/")).join(&target);
            self.entries.insert(here, Entry::Link(target));
        }
    }

    /// A file with that text.
    pub(crate) fn text(self, path: &str, text: &str) -> Self {
        self.entry(path, Entry::Text(text.to_owned()))
    }

    /// An empty directory.
    pub(crate) fn folder(self, path: &str) -> Self {
        self.entry(path, Entry::Folder)
    }

    /// A static program made of `tests/live/judged/NAME.c`.
    pub(crate) fn compiled(self, path: &str, name: &'static str) -> Self {
        self.entry(path, Entry::Program(name))
    }

    /// With the caches of every Python module.
    pub(crate) fn python_caches(mut self) -> Self {
        self.has_python_caches = true;
        self
    }

    fn entry(mut self, path: &str, entry: Entry) -> Self {
        self.entries.insert(PathBuf::from(path), entry);
        self
    }

    /// The image: the one that is there, if it was made of the same files.
    pub(crate) fn image(self) -> Result<Image> {
        let repository = format!("rei-judged-{}", self.name);
        let name = format!("{repository}:{}", self.digest()?);
        let listed = docker(&["images", "--format", "{{.Repository}}:{{.Tag}}", &repository])?;
        if listed.lines().any(|line| line == name) {
            return Ok(Image::kept(&name));
        }
        for old in listed.lines() {
            docker(&["rmi", "-f", old])?;
        }
        let layout = Layout::bare()?;
        for (path, entry) in &self.entries {
            let inside = path.strip_prefix("/").context("a path in an image is absolute")?;
            match entry {
                Entry::Host => {
                    layout.folder(inside.parent().unwrap_or(Path::new("")))?;
                    std::fs::copy(path, layout.root().join(inside))
                        .with_context(|| format!("cannot copy {}", path.display()))?;
                }
                Entry::Link(target) => layout.link(inside, &target.to_string_lossy())?,
                Entry::Text(text) => layout.file(inside, text.as_bytes(), 0o644)?,
                Entry::Folder => layout.folder(inside)?,
                Entry::Program(source) => compile(&layout, inside, source)?,
            }
        }
        if self.has_python_caches {
            compile_python(layout.root())?;
        }
        layout.import_kept(&name)
    }

    /// Changes when the image has to be made anew.
    fn digest(&self) -> Result<String> {
        let mut digest = Sha256::new();
        digest.update([u8::from(self.has_python_caches)]);
        for (path, entry) in &self.entries {
            digest.update(format!("{}\0{entry:?}\0", path.display()));
            match entry {
                Entry::Host => {
                    let facts = path.metadata()?;
                    digest.update(format!("{} {} {}", facts.len(), facts.mtime(), facts.mode()));
                }
                Entry::Program(source) => digest.update(std::fs::read(source_of(source))?),
                Entry::Link(_) | Entry::Text(_) | Entry::Folder => {}
            }
        }
        let bytes = digest.finalize();
        Ok(bytes[..8].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn source_of(name: &str) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/live/judged");
    sources.join(name).with_extension("c")
}

fn compile(layout: &Layout, inside: &Path, name: &str) -> Result<()> {
    layout.folder(inside.parent().unwrap_or(Path::new("")))?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-static", "-s", "-pthread", "-Wall", "-Wextra", "-o"])
        .arg(layout.root().join(inside))
        .arg(source_of(name));
    stdout_of(&mut gcc).with_context(|| format!("cannot compile {name}.c: run `cargo xtask setup`"))?;
    Ok(())
}

/// Caches that hold whatever time the files have, under the names that they will have in the image.
fn compile_python(root: &Path) -> Result<()> {
    let mut python = Command::new("/usr/bin/python3");
    python
        .args([
            "-I",
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "unchecked-hash",
            "-s",
        ])
        .arg(root)
        .args(["-p", "/"])
        .arg(root.join("usr/lib"));
    stdout_of(&mut python).context("cannot compile Python's modules")?;
    Ok(())
}

/// What a program of the machine prints, line by line: paths of files that it used.
pub(crate) fn paths_from(command: &mut Command) -> Result<Vec<PathBuf>> {
    command.env_clear().env(
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    );
    let listed = stdout_of(command).context("a program is needed: run `cargo xtask setup`")?;
    let paths: Vec<PathBuf> = listed
        .lines()
        .filter(|line| line.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    ensure!(!paths.is_empty(), "{command:?} named no file");
    Ok(paths)
}
