//! A route that the container used and no live sensor covers makes the record incomplete, by name.

use anyhow::{Result, ensure};

use crate::docker::{Container, Image};
use crate::host::Host;
use crate::rei::{Done, Rei};

fn run(options: &[&str], script: &str) -> Result<Done> {
    let image = Image::small()?;
    let container = Container::named("route");
    Rei::run(options, &image.run(container.name(), &[], &["sh", "-c", script]))?.finish()
}

#[test]
#[ignore = "root"]
fn a_used_route_without_a_sensor_is_named() -> Result<()> {
    let host = Host::take()?;
    let done = run(&[], "rm /data/two")?;
    ensure!(
        done.status.code() == Some(103),
        "an incomplete record must show: {}",
        done.story()
    );
    let records = done.whole(103)?;
    ensure!(records.end()["completeness"] == "incomplete", "{}", records.end());
    let named = records.end()["syscalls_without_sensor"].to_string();
    ensure!(named.contains("unlink"), "{named}");
    ensure!(
        done.stderr.contains("incomplete") && done.stderr.contains("unlink"),
        "{}",
        done.story()
    );
    ensure!(records.end()["command_exit"]["code"] == 0, "{}", records.end());

    let allowed = run(&["--allow-incomplete"], "rm /data/two; exit 6")?;
    ensure!(allowed.status.code() == Some(6), "{}", allowed.story());
    ensure!(
        allowed.stderr.contains("incomplete"),
        "the words stay: {}",
        allowed.story()
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn what_the_runtime_did_makes_nothing_incomplete() -> Result<()> {
    let host = Host::take()?;
    let done = run(&[], "cat /data/one; /bin/true; true < /nowhere; exit 0")?;
    let records = done.whole(0)?;
    ensure!(
        records.end()["completeness"] == "complete",
        "{}",
        records.completeness()
    );
    ensure!(
        records.end()["syscalls_without_sensor"]
            .as_array()
            .is_some_and(Vec::is_empty),
        "{}",
        records.end()
    );
    ensure!(!done.stderr.contains("incomplete"), "{}", done.story());
    host.check_nothing_left()
}
