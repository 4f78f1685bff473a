//! rei is killed in the middle: the container does not notice, nothing of rei stays in the kernel, the next run works.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use crate::docker::{Container, Image, docker};
use crate::host::{Host, stdout_of, wait_for};
use crate::rei::Rei;

#[test]
#[ignore = "root"]
fn a_container_survives_the_death_of_rei() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("crash");
    let script = "cat /data/one; sleep 3; cat /data/two; exit 5";
    let mut words = image.run(container.name(), &[], &["sh", "-c", script]);
    words.retain(|word| word != "--rm");
    let rei = Rei::run(&[], &words)?.start()?;
    wait_for("the container to be at work", Duration::from_secs(20), || {
        Ok(docker(&["logs", container.name()])
            .unwrap_or_default()
            .contains('1')
            .then_some(()))
    })?;
    host.check_something_loaded()?;
    rei.signal(Signal::KILL)?;
    let done = rei.wait()?;
    ensure!(done.status.code().is_none(), "killed: {}", done.story());
    ensure!(
        container.inspect()?["State"]["Running"] == true,
        "the container died with rei: {}",
        done.story()
    );
    ensure!(
        docker(&["wait", container.name()])?.trim() == "5",
        "the container did not end as it should"
    );
    ensure!(
        docker(&["logs", container.name()])?.ends_with("2\n"),
        "the container's work was disturbed"
    );
    drop(container);
    host.check_nothing_left()?;

    let container = Container::named("rerun");
    let done = Rei::run(&[], &image.run(container.name(), &[], &["cat", "/data/one"]))?.finish()?;
    ensure!(
        done.whole(0)?.opens_of("/data/one").count() == 1,
        "{}",
        done.story()
    );
    drop(container);
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_cgroup_of_a_killed_plain_run_is_swept_at_the_next_start() -> Result<()> {
    let host = Host::take()?;
    let rei = Rei::plain(&["/bin/busybox", "sleep", "61.25"])?.start()?;
    wait_for("the command to run", Duration::from_secs(20), || Ok(sleeper()))?;
    rei.signal(Signal::KILL)?;
    rei.wait()?;
    let survivor = sleeper();
    if let Some(pid) = survivor {
        ensure!(
            !host.new_cgroups()?.is_empty(),
            "the command survives, so its cgroup must"
        );
        stdout_of(Command::new("kill").args(["-9", &pid.to_string()]))?;
        wait_for("the command to die", Duration::from_secs(5), || {
            Ok(sleeper().is_none().then_some(()))
        })?;
    }
    Rei::plain(&["/bin/busybox", "true"])?.finish()?.whole(0)?;
    host.check_nothing_left()
}

/// The pid of the command above.
fn sleeper() -> Option<u32> {
    let entries = std::fs::read_dir(Path::new("/proc")).ok()?;
    entries.flatten().find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        (line == b"/bin/busybox\0sleep\x0061.25\0").then_some(pid)
    })
}
