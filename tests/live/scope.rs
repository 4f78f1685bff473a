//! What belongs to a run: sub-cgroups, and processes that leave.

use std::path::Path;
use std::time::Duration;

use ::rei::cgroup::mount_point;
use anyhow::{Context, Result, ensure};

use crate::docker::{Container, Image, docker};
use crate::host::{Host, wait_for};
use crate::lab::move_into_child;
use crate::rei::{Rei, Running};

/// Reads a file each time that the test says `go`.
const SCRIPT: &str = "cat /data/one; until [ -e /tmp/go1 ]; do sleep 0.05; done; cat /data/two; \
    until [ -e /tmp/go2 ]; do sleep 0.05; done; cat /data/secret";

/// A container that waits for `go1`, and its first process.
fn waiting(image: &Image, container: &Container) -> Result<(Running, u32)> {
    let rei = Rei::run(&[], &image.run(container.name(), &[], &["sh", "-c", SCRIPT]))?.start()?;
    wait_for("the container to be at work", Duration::from_secs(20), || {
        Ok(docker(&["logs", container.name()])
            .unwrap_or_default()
            .contains('1')
            .then_some(()))
    })?;
    Ok((rei, container.wait_running()?))
}

/// Makes a file in the container from the host, so that no act of an operator is in the record.
fn say(pid: u32, word: &str) -> Result<()> {
    let path = format!("/proc/{pid}/root/tmp/{word}");
    std::fs::write(&path, "").with_context(|| format!("cannot make {path}"))
}

#[test]
#[ignore = "root"]
fn a_sub_cgroup_is_in_scope() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("child");
    let (rei, pid) = waiting(&image, &container)?;
    let child = move_into_child(pid)?;
    say(pid, "go1")?;
    say(pid, "go2")?;
    let records = rei.wait()?.whole(0)?;
    let _ = std::fs::remove_dir(&child);
    let scope = records
        .opens_of("/data/one")
        .next()
        .context("no open of /data/one")?
        .number("scope");
    let inside: Vec<_> = records.opens_of("/data/two").collect();
    ensure!(inside.len() == 1, "{inside:?}");
    ensure!(
        inside[0].number("scope") == scope && inside[0].number("cgroup") != scope,
        "{inside:?} in {scope}"
    );
    ensure!(
        records.opens_of("/data/secret").count() == 1,
        "{}",
        records.completeness()
    );
    let made: Vec<_> = records
        .acts("cgroup_made")
        .filter(|made| made.number("id") == inside[0].number("cgroup"))
        .collect();
    ensure!(made.len() == 1, "the sub-cgroup's making is no event: {made:?}");
    let moved: Vec<_> = records
        .acts("task_moved")
        .filter(|moved| moved.text("what") == Some("within"))
        .collect();
    ensure!(
        moved.len() == 1 && moved[0].number("pid") == u64::from(pid),
        "{moved:?}"
    );
    drop(container);
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_process_that_leaves_stays_followed() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("leaver");
    let (rei, pid) = waiting(&image, &container)?;
    let own = crate::host::cgroup_of(pid)?;
    move_to(pid, &mount_point()?)?;
    say(pid, "go1")?;
    wait_for("the second file", Duration::from_secs(10), || {
        Ok(docker(&["logs", container.name()])?.contains('2').then_some(()))
    })?;
    move_to(pid, &own)?;
    say(pid, "go2")?;
    let records = rei.wait()?.whole(0)?;
    let what: Vec<_> = records
        .acts("task_moved")
        .filter_map(|moved| moved.text("what"))
        .collect();
    ensure!(what.contains(&"left") && what.contains(&"returned"), "{what:?}");
    let outside: Vec<_> = records.opens_of("/data/two").collect();
    ensure!(outside.len() == 1 && outside[0].flag("left_scope"), "{outside:?}");
    ensure!(
        outside[0].text("phase") == Some("workload"),
        "leaving makes nobody an operator: {outside:?}"
    );
    let back: Vec<_> = records.opens_of("/data/secret").collect();
    ensure!(
        back.len() == 1 && back[0].text("phase") == Some("workload"),
        "{back:?}"
    );
    drop(container);
    host.check_nothing_left()
}

fn move_to(pid: u32, cgroup: &Path) -> Result<()> {
    std::fs::write(cgroup.join("cgroup.procs"), pid.to_string())
        .with_context(|| format!("cannot move {pid} to {}", cgroup.display()))
}
