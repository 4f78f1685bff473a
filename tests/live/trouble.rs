//! Bad situations: a clear message that names the object and the next step, and the exit code 125.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::docker::{Container, Image};
use crate::host::{Host, stdout_of};
use crate::rei::{Done, Rei};

/// `rei` could not do its work and says why.
fn check_refused(done: &Done, object: &str) -> Result<()> {
    ensure!(done.status.code() == Some(125), "{}", done.story());
    ensure!(
        done.stderr.contains(object),
        "the message does not name {object}: {}",
        done.story()
    );
    ensure!(!done.stderr.contains("panicked"), "{}", done.story());
    Ok(())
}

fn words(command: &[&str]) -> Vec<String> {
    command.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
#[ignore = "root"]
fn the_engine_is_down() -> Result<()> {
    let host = Host::take()?;
    let command = words(&["docker", "run", "--rm", "nothing", "true"]);
    let done = Rei::run(&[], &command)?
        .env("DOCKER_HOST", "unix:///nonexistent.sock")
        .finish()?;
    check_refused(&done, "/nonexistent.sock")?;
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_remote_engine_is_refused() -> Result<()> {
    let host = Host::take()?;
    let command = words(&["docker", "run", "--rm", "nothing", "true"]);
    let done = Rei::run(&[], &command)?
        .env("DOCKER_HOST", "ssh://somebody@host.invalid")
        .finish()?;
    check_refused(&done, "ssh://somebody@host.invalid")?;
    ensure!(
        !done.stderr.contains("resolve"),
        "it was asked before it was refused: {}",
        done.story()
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_image_is_missing() -> Result<()> {
    let host = Host::take()?;
    let command = words(&[
        "docker",
        "run",
        "--rm",
        "--pull",
        "never",
        "--network",
        "none",
        "rei-nowhere:1",
        "true",
    ]);
    let done = Rei::run(&[], &command)?.finish()?;
    check_refused(&done, "rei-nowhere:1")?;
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_disk_is_full() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let mounted = Tmpfs::mount(folder.path())?;
    let target = folder.path().join("records.jsonl");
    let target_word = target.to_str().context("a temporary path that is not UTF-8")?;
    let script = "i=0; while [ $i -lt 2000 ]; do : < /etc/passwd; i=$((i+1)); done; echo done";
    let done = bare(&[
        "run",
        "--json",
        "-o",
        target_word,
        "--",
        "/bin/busybox",
        "sh",
        "-c",
        script,
    ])?;
    ensure!(done.status.code() == Some(125), "{done:?}");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(
        errors.contains(target_word) && errors.contains("space"),
        "{errors}"
    );
    ensure!(done.stdout == b"done\n", "the command was disturbed: {done:?}");
    drop(mounted);

    let missing = bare(&[
        "run",
        "--json",
        "-o",
        "/nowhere/records.jsonl",
        "--",
        "/bin/busybox",
        "echo",
        "ran",
    ])?;
    let errors = String::from_utf8_lossy(&missing.stderr).into_owned();
    ensure!(
        missing.status.code() == Some(125) && errors.contains("/nowhere/records.jsonl"),
        "{errors}"
    );
    ensure!(
        missing.stdout.is_empty(),
        "the command ran although nothing can be recorded: {missing:?}"
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_full_disk_does_not_harm_the_container() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("full");
    let mut command = words(&["run", "--json", "-o", "/dev/full", "--"]);
    command.extend(image.run(
        container.name(),
        &[],
        &["sh", "-c", "cat /data/one; sleep 1; cat /data/two"],
    ));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let done = bare(&command)?;
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(
        done.status.code() == Some(125) && errors.contains("/dev/full"),
        "{errors}"
    );
    // Refused before it began, or observed to its end: never stopped half-way.
    ensure!(done.stdout.is_empty() || done.stdout == b"1\n2\n", "{done:?}");
    drop(container);
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_kernel_without_type_information_is_named() -> Result<()> {
    let host = Host::take()?;
    // Hidden from this rei alone, in a mount namespace of its own.
    let script = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" run -- echo started";
    let done = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_rei")])
        .output()
        .context("cannot run unshare")?;
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    ensure!(done.status.code() == Some(125), "{done:?}");
    ensure!(
        errors.contains("/sys/kernel/btf/vmlinux") && errors.contains("CONFIG_DEBUG_INFO_BTF"),
        "{errors}"
    );
    ensure!(
        done.stdout.is_empty(),
        "the command ran although nothing can be recorded: {done:?}"
    );
    host.check_nothing_left()
}

/// `rei` with these words, and a log that nobody keeps.
fn bare(arguments: &[&str]) -> Result<std::process::Output> {
    let folder = tempfile::tempdir()?;
    Command::new(env!("CARGO_BIN_EXE_rei"))
        .args(&arguments[..1])
        .arg("--log")
        .arg(folder.path().join("log"))
        .arg("--keys")
        .arg(folder.path().join("keys"))
        .args(&arguments[1..])
        .output()
        .context("cannot run rei")
}

/// A file system of 16 KiB, unmounted on drop.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(at: &'a Path) -> Result<Self> {
        stdout_of(
            Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
                .arg(at),
        )?;
        Ok(Self(at))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = stdout_of(Command::new("umount").arg(self.0));
    }
}
