//! A real Python.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::case::{Case, Expected, executed, finding, opened};
use super::recipe::{Recipe, paths_from};
use crate::docker::Image;
use crate::host::Host;

const PYTHON: &str = "/usr/bin/python3";
/// What the scripts import.
const MODULES: &str = "import json, socket, subprocess, sys";

/// Reads a mounted file, a file that the engine mounts and one that it wrote a moment ago, contacts an
/// address and runs a shell.
const STEP: &str = r#"
import socket, subprocess
open("/data/input.txt").read()
open("/etc/resolv.conf").read()
with open("/tmp/made", "w") as made:
    made.write("made\n")
open("/tmp/made").read()
try:
    socket.socket().connect(("192.0.2.1", 80))
except OSError as error:
    print(error.strerror)
subprocess.run(["/bin/sh", "-c", "exit 0"], check=True)
"#;

/// Every module that the scripts load, its caches left out.
fn recipe(name: &'static str) -> Result<Recipe> {
    let mut recipe = Recipe::new(name)?
        .program(PYTHON)?
        .program("/bin/sh")?
        .text("/app/step.py", STEP);
    let program = format!(
        "{MODULES}, os, sysconfig\n\
         print(os.__file__)\n\
         for module in list(sys.modules.values()):\n    print(getattr(module, '__file__', None))\n\
         print(sysconfig.get_path('stdlib') + '/lib-dynload')"
    );
    for path in paths_from(Command::new(PYTHON).args(["-c", &program]))? {
        if path.is_dir() {
            recipe = recipe.folder(&path.to_string_lossy());
        } else if path.extension().is_some_and(|extension| extension == "so") {
            recipe = recipe.program(path)?;
        } else if !is_site(&path) {
            recipe = recipe.file(path)?;
        }
    }
    Ok(recipe)
}

/// What the machine's administrator added, which Python's own start does not need.
fn is_site(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == "dist-packages" || part.as_os_str() == "site-packages")
}

fn image() -> Result<Image> {
    recipe("python")?.python_caches().image()
}

#[test]
#[ignore = "root"]
fn python_that_needs_only_its_image_is_clean_and_complete() -> Result<()> {
    let host = Host::take()?;
    let case = Case {
        image: &image()?,
        rei: &["--policy", "ambient-only"],
        docker: &[],
        command: &["python3", "-c", "print(1)"],
    };
    let printed = case.must_be(&Expected::clean())?;
    assert_eq!(printed, "1\n");
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn python_that_reaches_out_trips_each_wire_it_should() -> Result<()> {
    let host = Host::take()?;
    let shell = Path::new("/bin/sh").canonicalize()?;
    let expected = Expected::findings([
        opened("/data/input.txt"),
        opened("/etc/resolv.conf"),
        // Written and read: one object, one finding.
        opened("/tmp/made").times(2),
        finding("I2", "connect", "192.0.2.1:80").attempted("ENETUNREACH"),
        executed(shell.to_string_lossy()),
    ]);
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("input.txt"), "input\n")?;
    let mount = format!("{}:/data:ro", folder.path().display());
    let case = Case {
        image: &image()?,
        rei: &["--policy", "ambient-only"],
        docker: &["-v", &mount],
        command: &["python3", "/app/step.py"],
    };
    let printed = case.must_be(&expected)?;
    assert_eq!(printed, "Network is unreachable\n");
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn python_without_its_caches_writes_them_and_is_told_how_not_to() -> Result<()> {
    let host = Host::take()?;
    // The program counts what it caches: modules from files, those from frozen code have no cache.
    let program = format!(
        "{MODULES}\n\
         print(sum(1 for module in sys.modules.values() if getattr(module.__spec__, 'cached', None)))"
    );
    let image = recipe("python-bare")?.image()?;
    let mut case = Case {
        image: &image,
        rei: &["--policy", "ambient-only"],
        docker: &[],
        command: &["python3", "-c", &program],
    };
    case.run(|printed| {
        let caches: u64 = printed
            .trim()
            .parse()
            .with_context(|| format!("no number: {printed:?}"))?;
        assert!(caches > 10, "{caches} modules");
        let hint = "set PYTHONDONTWRITEBYTECODE=1, or compile the modules when the image is built";
        let folded = opened("**/__pycache__/*").times(caches).hinted(hint);
        Ok(Expected::findings([folded]).with_gaps(&["mkdir", "rename"]))
    })?;
    // The hint holds.
    case.docker = &["-e", "PYTHONDONTWRITEBYTECODE=1"];
    case.must_be(&Expected::clean())?;
    host.check_nothing_left()
}
