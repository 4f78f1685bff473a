//! Programs that try to be recorded wrongly: odd arguments, and a second thread that changes what the first acts on.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::docker::{Container, Image, Layout};
use crate::host::Host;
use crate::record::Records;
use crate::rei::{Done, Rei};

fn image(program: &str) -> Result<Image> {
    let layout = Layout::new()?;
    layout.program(program)?;
    layout.file(Path::new("etc/asked"), b"asked\n", 0o644)?;
    layout.file(Path::new("etc/decoy"), b"decoy\n", 0o644)?;
    layout.import()
}

fn done(image: &Image, options: &[&str], words: &[&str]) -> Result<Done> {
    let container = Container::named("attack");
    let words = image.run(container.name(), options, words);
    Rei::run(&["--allow-incomplete", "--ring-bytes", "67108864"], &words)?.finish()
}

fn records(image: &Image, words: &[&str]) -> Result<Records> {
    done(image, &[], words)?.whole(0)
}

#[test]
#[ignore = "root"]
fn the_upper_half_of_an_argument_hides_nothing() -> Result<()> {
    let _host = Host::take()?;
    let image = image("dirty")?;
    let opened = records(&image, &["dirty", "open"])?;
    ensure!(opened.opens_of("/etc/asked").filter(|open| open.is_ok()).count() == 1);
    ensure!(opened.completeness() == "complete", "{}", opened.end());
    let packet = records(&image, &["dirty", "family"])?;
    ensure!(packet.end()["completeness"] == "incomplete", "{}", packet.end());
    // ICMP by a datagram socket: the type is that of UDP, the way is not.
    let group = ["--sysctl", "net.ipv4.ping_group_range=0 2147483647"];
    let echo = done(&image, &group, &["dirty", "icmp"])?.whole(0)?;
    ensure!(echo.end()["completeness"] == "incomplete", "{}", echo.end());
    Ok(())
}

/// The two numbers that `races` prints.
fn numbers(done: &Done) -> Result<(u64, u64)> {
    let (first, second) = done.stdout.trim().split_once(' ').context("two numbers")?;
    Ok((first.parse()?, second.parse()?))
}

#[test]
#[ignore = "root"]
fn a_swapped_descriptor_is_never_claimed() -> Result<()> {
    let _host = Host::take()?;
    let done = done(&image("races")?, &[], &["races", "descriptor"])?;
    let records = done.whole(0)?;
    let (opens, _) = numbers(&done)?;
    ensure!(records.lost_at_all() == 0, "{}", records.end());
    let asked = records.workload("open").filter(|open| {
        open.is_ok()
            && (open.text("requested") == Some("/etc/asked") || open.text("path") == Some("/etc/asked"))
    });
    let asked: Vec<_> = asked.collect();
    ensure!(asked.len() as u64 >= opens, "{} of {opens}", asked.len());
    let contested = asked
        .iter()
        .filter(|open| open.text("confidence") == Some("contested"));
    ensure!(
        contested.count() > 0,
        "the other thread never came in between: the test shows nothing"
    );
    let claimed = asked
        .iter()
        .find(|open| open.text("path") == Some("/etc/decoy") && open.text("confidence") != Some("contested"));
    ensure!(claimed.is_none(), "{claimed:?}");
    Ok(())
}

#[test]
#[ignore = "root"]
fn a_socket_that_two_threads_connect_keeps_each_address() -> Result<()> {
    let _host = Host::take()?;
    let done = done(&image("races")?, &[], &["races", "datagram"])?;
    let records = done.whole(0)?;
    let (first, second) = numbers(&done)?;
    ensure!(records.lost_at_all() == 0, "{}", records.end());
    let to = |address: &str| {
        let connects = records.workload("connect");
        connects
            .filter(|event| event.is_ok() && event.text("address") == Some(address))
            .count() as u64
    };
    let counted = (to("127.0.0.1:1111"), to("127.0.0.1:2222"));
    ensure!(counted == (first, second), "{counted:?} and not {first} {second}");
    Ok(())
}

#[test]
#[ignore = "root"]
fn a_path_is_of_one_moment() -> Result<()> {
    let _host = Host::take()?;
    let done = done(&image("races")?, &[], &["races", "rename"])?;
    let records = done.whole(0)?;
    let (opens, moves) = numbers(&done)?;
    ensure!(moves > 0, "nothing was moved: the test shows nothing");
    ensure!(records.lost_at_all() == 0, "{}", records.end());
    let mut known = 0;
    for open in records
        .workload("open")
        .filter(|open| open.text("requested") == Some("f"))
    {
        if open.text("confidence") == Some("kernel_object") {
            known += 1;
            let path = open.text("path").unwrap_or_default();
            ensure!(["/tmp/a/x/f", "/tmp/b/y/f"].contains(&path), "{open:?}");
        }
    }
    ensure!(known > opens / 2, "only {known} of {opens} paths are known");
    Ok(())
}
