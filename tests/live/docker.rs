//! Images, containers and volumes that are gone when the test is over.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::host::{stdout_of, unique, wait_for};

/// Programs of the small image; all of them are the one static busybox.
const APPLETS: [&str; 15] = [
    "cat", "echo", "env", "false", "head", "id", "ls", "mkdir", "nc", "rm", "sh", "sleep", "touch", "true",
    "tty",
];

/// An image made without any registry, removed on drop unless it is kept.
pub(crate) struct Image {
    name: String,
    is_kept: bool,
}

/// The files of an image before it is made.
pub(crate) struct Layout {
    root: TempDir,
}

impl Layout {
    /// The empty directories that a container needs.
    pub(crate) fn bare() -> Result<Self> {
        let root = tempfile::tempdir().context("cannot make a directory for an image")?;
        let layout = Self { root };
        for folder in ["usr/bin", "proc", "sys", "dev", "etc", "tmp"] {
            layout.folder(Path::new(folder))?;
        }
        Ok(layout)
    }

    /// The same with a static busybox under its usual names.
    pub(crate) fn new() -> Result<Self> {
        let layout = Self::bare()?;
        layout.folder(Path::new("bin"))?;
        let busybox = std::fs::read("/bin/busybox").context("no /bin/busybox: run `cargo xtask setup`")?;
        let interpreter = b"/lib64/ld-linux-x86-64.so.2\0";
        let is_dynamic = busybox
            .windows(interpreter.len())
            .any(|window| window == interpreter);
        ensure!(!is_dynamic, "/bin/busybox is not static: run `cargo xtask setup`");
        layout.file(Path::new("bin/busybox"), &busybox, 0o755)?;
        for applet in APPLETS {
            layout.link(&Path::new("bin").join(applet), "busybox")?;
        }
        layout.link(Path::new("usr/bin/env"), "../../bin/busybox")?;
        Ok(layout)
    }

    /// Adds a directory and its parents.
    pub(crate) fn folder(&self, path: &Path) -> Result<()> {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))
    }

    /// Adds a file and its parents.
    pub(crate) fn file(&self, path: &Path, content: &[u8], mode: u32) -> Result<()> {
        self.folder(path.parent().unwrap_or(Path::new("")))?;
        let path = self.root.path().join(path);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        std::fs::set_permissions(&path, Permissions::from_mode(mode))
            .with_context(|| format!("cannot set the mode of {}", path.display()))
    }

    /// Compiles `tests/live/NAME.c` to `/bin/NAME`.
    pub(crate) fn program(&self, name: &str) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join(name);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/live");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-static", "-s", "-pthread", "-Wall", "-Wextra", "-o"])
            .arg(&program)
            .arg(sources.join(name).with_extension("c"));
        stdout_of(&mut gcc)
            .with_context(|| format!("cannot compile {name}.c: run `cargo xtask setup` for gcc"))?;
        self.file(&Path::new("bin").join(name), &std::fs::read(program)?, 0o755)
    }

    /// Adds a symbolic link and its parents.
    pub(crate) fn link(&self, path: &Path, target: &str) -> Result<()> {
        self.folder(path.parent().unwrap_or(Path::new("")))?;
        let path = self.root.path().join(path);
        symlink(target, &path).with_context(|| format!("cannot link {}", path.display()))
    }

    /// Where the files are.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Makes the image.
    pub(crate) fn import(self) -> Result<Image> {
        let name = format!("{}:1", unique("image"));
        self.import_as(&name)?;
        Ok(Image { name, is_kept: false })
    }

    /// Makes an image of that name, to be used again.
    pub(crate) fn import_kept(self, name: &str) -> Result<Image> {
        self.import_as(name)?;
        Ok(Image::kept(name))
    }

    fn import_as(self, name: &str) -> Result<()> {
        std::fs::set_permissions(self.root.path(), Permissions::from_mode(0o755))?;
        let mut tar = Command::new("tar")
            .args(["-c", "-C"])
            .arg(self.root.path())
            .args(["--owner=0", "--group=0", "--numeric-owner", "."])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run tar")?;
        let archive = tar.stdout.take().context("tar has no output")?;
        stdout_of(Command::new("docker").args(["import", "-", name]).stdin(archive))?;
        ensure!(
            tar.wait()?.success(),
            "tar could not pack {}",
            self.root.path().display()
        );
        Ok(())
    }
}

impl Image {
    /// The small image with the files `/data/one`, `/data/two` and `/data/secret` (mode 600).
    pub(crate) fn small() -> Result<Self> {
        let layout = Layout::new()?;
        layout.file(Path::new("data/one"), b"1\n", 0o644)?;
        layout.file(Path::new("data/two"), b"2\n", 0o644)?;
        layout.file(Path::new("data/secret"), b"3\n", 0o600)?;
        layout.import()
    }

    /// The image with one more layer: what the shell script changes in it.
    pub(crate) fn changed_by(&self, script: &str) -> Result<Self> {
        let container = Container::named("layer");
        let words = ["run", "--network", "none", "--name", container.name(), &self.name];
        docker(&[&words[..], &["sh", "-ec", script]].concat())?;
        let name = format!("{}:2", unique("image"));
        docker(&["commit", container.name(), &name])?;
        Ok(Self { name, is_kept: false })
    }

    /// One that is there and stays.
    pub(crate) fn kept(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_kept: true,
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// `docker run --rm --network none --name NAME OPTIONS... IMAGE COMMAND...`
    pub(crate) fn run(&self, name: &str, options: &[&str], command: &[&str]) -> Vec<String> {
        let mut words = vec!["docker", "run", "--rm", "--network", "none", "--name", name];
        words.extend(options);
        words.push(&self.name);
        words.extend(command);
        words.into_iter().map(str::to_owned).collect()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = docker(&["rmi", "-f", &self.name]);
        }
    }
}

/// The name of a container that a test makes, removed on drop if it is still there.
pub(crate) struct Container {
    name: String,
}

impl Container {
    /// A new name.
    pub(crate) fn named(what: &str) -> Self {
        Self { name: unique(what) }
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What the engine knows of it.
    pub(crate) fn inspect(&self) -> Result<Value> {
        let text = docker(&["inspect", "--type", "container", &self.name])?;
        let mut found: Vec<Value> = serde_json::from_str(&text).context("docker inspect gave no JSON")?;
        found
            .pop()
            .with_context(|| format!("docker knows no {}", self.name))
    }

    /// Waits until it runs; gives the host pid of its first process.
    pub(crate) fn wait_running(&self) -> Result<u32> {
        wait_for(
            &format!("container {} to run", self.name),
            Duration::from_secs(20),
            || {
                let pid = self
                    .inspect()
                    .ok()
                    .and_then(|facts| facts["State"]["Pid"].as_u64())
                    .unwrap_or(0);
                Ok(u32::try_from(pid).ok().filter(|pid| *pid != 0))
            },
        )
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = docker(&["rm", "-f", &self.name]);
    }
}

/// A named volume, removed on drop.
pub(crate) struct Volume {
    name: String,
}

impl Volume {
    /// Makes one.
    pub(crate) fn make() -> Result<Self> {
        let name = unique("volume");
        docker(&["volume", "create", &name])?;
        Ok(Self { name })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = docker(&["volume", "rm", "-f", &self.name]);
    }
}

/// Standard output of a docker command that must succeed.
pub(crate) fn docker(words: &[&str]) -> Result<String> {
    stdout_of(Command::new("docker").args(words))
}
