//! Container images made without a registry: a directory tree, packed by tar, taken in by `docker import`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::command::{display, output, program, root, run};
use crate::engine::remove_image;
use crate::host::static_busybox;

/// The image that `cargo xtask demo` observes.
pub(crate) const DEMO: &str = "rei-demo";
/// The image with the workload of `cargo xtask bench`.
pub(crate) const BENCH: &str = "rei-bench";

/// Programs of busybox in the demo's image.
const APPLETS: [&str; 8] = ["sh", "cat", "echo", "ls", "nc", "sleep", "true", "wc"];
/// Different files that the benchmark opens, per thread count.
const UNIQUE_FILES: &str = "10000";

/// A tree that becomes an image.
struct Tree {
    dir: TempDir,
}

impl Tree {
    /// An empty tree with the directories that a container expects.
    fn new() -> Result<Self> {
        let tree = Self {
            dir: tempfile::tempdir().context("cannot make a temporary directory")?,
        };
        fs::set_permissions(tree.dir.path(), fs::Permissions::from_mode(0o755))
            .context("cannot open the tree")?;
        for dir in ["proc", "sys", "dev", "etc", "tmp"] {
            tree.directory(dir)?;
        }
        Ok(tree)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn directory(&self, name: &str) -> Result<()> {
        fs::create_dir_all(self.path(name)).with_context(|| format!("cannot make {name} in the image's tree"))
    }

    /// Copies a file; it can be executed if its source can.
    fn copy(&self, from: &Path, name: &str) -> Result<()> {
        let to = self.path(name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        }
        fs::copy(from, &to).with_context(|| format!("cannot copy {} to {name}", from.display()))?;
        Ok(())
    }

    /// Takes the tree in as an image. The image that had the name before is removed, so that none piles up.
    fn import(&self, image: &str, changes: &[&str]) -> Result<()> {
        remove_image(image);
        let mut tar = program("tar");
        tar.arg("-C")
            .arg(self.dir.path())
            .args(["--owner=0", "--group=0", "-c", "."]);
        let mut tar_child = tar.stdout(Stdio::piped()).spawn().context("cannot run tar")?;
        let mut import = program("docker");
        import.arg("import");
        for change in changes {
            import.args(["--change", change]);
        }
        import.args(["-", image]).stdout(Stdio::null());
        if let Some(stream) = tar_child.stdout.take() {
            import.stdin(stream);
        }
        let imported = import
            .status()
            .with_context(|| format!("cannot run `{}`", display(&import)))?;
        let packed = tar_child.wait().context("cannot wait for tar")?;
        if !imported.success() || !packed.success() {
            bail!(
                "making the image {image} failed: `{}` {imported}, tar {packed}",
                display(&import)
            );
        }
        Ok(())
    }
}

/// Makes the demo's image: a static busybox under several names, `docker/demo/etc` as `/etc/demo` and a script.
pub(crate) fn demo() -> Result<()> {
    let tree = Tree::new()?;
    let busybox = static_busybox().context("no static busybox; run `cargo xtask setup`")?;
    tree.copy(&busybox, "bin/busybox")?;
    for applet in APPLETS {
        // Hard links: the kernel then reports each program by the name that was executed.
        fs::hard_link(tree.path("bin/busybox"), tree.path(&format!("bin/{applet}")))
            .with_context(|| format!("cannot link {applet} in the image's tree"))?;
    }
    let sources = root().join("docker/demo");
    for name in ["greeting", "settings"] {
        tree.copy(&sources.join("etc").join(name), &format!("etc/demo/{name}"))?;
    }
    tree.copy(&sources.join("step.sh"), "bin/step")?;
    tree.import(DEMO, &["ENV PATH=/bin", "CMD [\"/bin/step\"]"])
}

/// Makes the benchmark's image: the static workload and the files that it opens.
pub(crate) fn bench(deadline: Instant) -> Result<()> {
    let tree = Tree::new()?;
    let sources = root().join("docker/bench");
    tree.directory("wl")?;
    tree.directory("io")?;
    let (workload, tiny) = (tree.path("wl/workload"), tree.path("tiny"));
    let mut gcc = program("gcc");
    gcc.args(["-O2", "-Wall", "-Wextra", "-static", "-pthread", "-o"])
        .arg(&workload);
    run(gcc.arg(sources.join("workload.c")), deadline)?;
    let mut gcc = program("gcc");
    gcc.args(["-nostdlib", "-static", "-o"]).arg(&tiny);
    run(gcc.arg(sources.join("tiny.S")), deadline)?;
    output(
        program(&workload)
            .arg("prep")
            .arg(tree.path("wl"))
            .arg(UNIQUE_FILES),
    )?;
    for threads in [1, 2] {
        tree.copy(&tiny, &format!("wl/{threads}/exec/true"))?;
        tree.copy(&workload, &format!("wl/{threads}/mix/cc"))?;
    }
    fs::remove_file(&tiny).context("cannot remove the tiny program from the tree")?;
    tree.import(BENCH, &[])
}
