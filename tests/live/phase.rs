//! Whose act is it: the runtime's, the workload's, the operator's; and what belongs to the entrypoint.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::docker::{Container, Image, Layout, docker};
use crate::host::Host;
use crate::record::Records;
use crate::rei::Rei;

/// Runs one container of `image` and gives its records.
fn records_of(image: &Image, options: &[&str], command: &[&str]) -> Result<Records> {
    let container = Container::named("phase");
    Rei::run(&[], &image.run(container.name(), options, command))?
        .finish()?
        .whole(0)
}

/// The execs that are no act of the runtime, in order: program, script, chain.
fn execs(records: &Records) -> Vec<(&str, Option<&str>, Option<&str>)> {
    records
        .acts("exec")
        .map(|exec| {
            (
                exec.text("path").unwrap_or(""),
                exec.text("script"),
                exec.text("chain"),
            )
        })
        .collect()
}

#[test]
#[ignore = "root"]
fn workload_begins_with_the_entrypoint() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let records = records_of(&image, &[], &["sh", "-c", "cat /data/one; /bin/true"])?;
    let entrypoint = records
        .workload("exec")
        .find(|exec| exec.text("chain") == Some("entrypoint"));
    let begin = entrypoint.context("no entrypoint")?.number("boot_ns");
    for event in records.events() {
        let is_before = event.number("boot_ns") < begin;
        match event.text("phase") {
            Some("workload") => ensure!(!is_before, "workload before the entrypoint: {event:?}"),
            Some("runtime") => ensure!(
                is_before || !event.is("open"),
                "runtime after the entrypoint: {event:?}"
            ),
            Some("operator") => anyhow::bail!("nobody entered this container: {event:?}"),
            _ => {}
        }
    }
    ensure!(
        records
            .events()
            .any(|event| event.text("phase") == Some("runtime")),
        "the runtime did something"
    );
    let expected = [
        ("/bin/busybox", None, Some("entrypoint")),
        ("/bin/busybox", None, None),
        ("/bin/busybox", None, None),
    ];
    ensure!(execs(&records) == expected, "{:?}", execs(&records));
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn docker_exec_is_an_act_of_the_operator() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("operator");
    let script = "cat /data/one; until [ -e /tmp/go ]; do sleep 0.1; done; cat /data/one";
    let rei = Rei::run(&[], &image.run(container.name(), &[], &["sh", "-c", script]))?.start()?;
    container.wait_running()?;
    let said = docker(&["exec", container.name(), "sh", "-c", "cat /data/two; : > /tmp/go"])?;
    ensure!(said == "2\n", "docker exec was disturbed: {said}");
    let records = rei.wait()?.whole(0)?;
    let entered: Vec<_> = records.opens_of("/data/two").collect();
    ensure!(
        entered.len() == 1 && entered[0].text("phase") == Some("operator"),
        "{entered:?}"
    );
    ensure!(
        records
            .opens_of("/tmp/go")
            .all(|open| open.text("phase") == Some("operator")),
        "the shell is the operator's"
    );
    ensure!(
        records
            .opens_of("/data/one")
            .all(|open| open.text("phase") == Some("workload")),
        "cat is the workload's"
    );
    ensure!(
        records.opens_of("/data/one").count() == 2,
        "{}",
        records.opens_of("/data/one").count()
    );
    let entrypoints = records
        .acts("exec")
        .filter(|exec| exec.text("chain") == Some("entrypoint"))
        .count();
    ensure!(entrypoints == 1, "{:?}", execs(&records));
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_chain_of_a_script() -> Result<()> {
    let host = Host::take()?;
    let layout = Layout::new()?;
    layout.file(Path::new("data/one"), b"1\n", 0o644)?;
    layout.file(
        Path::new("entry.sh"),
        b"#!/bin/sh\ncat /data/one\nexec \"$@\"\n",
        0o755,
    )?;
    layout.file(
        Path::new("entry.env"),
        b"#!/usr/bin/env sh\ncat /data/one\n",
        0o755,
    )?;
    let image = layout.import()?;

    // The script execs what Cmd names without forking: that is `named`; `cat` is a child and is not of the chain.
    let records = records_of(&image, &["--entrypoint", "/entry.sh"], &["/bin/true"])?;
    let shell = records.workload("exec").next().context("no exec")?;
    ensure!(
        shell.text("script") == Some("/entry.sh") && shell.text("path") == Some("/bin/busybox"),
        "{shell:?}"
    );
    ensure!(shell.text("chain") == Some("entrypoint"), "{shell:?}");
    let chains: Vec<_> = execs(&records).into_iter().map(|(_, _, chain)| chain).collect();
    ensure!(
        chains == [Some("entrypoint"), None, Some("named")],
        "{:?}",
        execs(&records)
    );

    // `env` is the kernel's interpreter; its target, started without a fork, still belongs to the entrypoint.
    let records = records_of(&image, &["--entrypoint", "/entry.env"], &[])?;
    let chains: Vec<_> = execs(&records).into_iter().map(|(_, _, chain)| chain).collect();
    ensure!(
        chains == [Some("entrypoint"), Some("interpreter"), None],
        "{:?}",
        execs(&records)
    );
    ensure!(
        records
            .workload("exec")
            .next()
            .is_some_and(|exec| exec.text("script") == Some("/entry.env")),
        "script"
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_chain_under_init() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let records = records_of(&image, &["--init"], &["sh", "-c", "cat /data/one; exit 0"])?;
    let found = execs(&records);
    ensure!(found.len() == 3, "{found:?}");
    ensure!(
        found[0].2 == Some("entrypoint") && found[0].0 != "/bin/busybox",
        "docker-init comes first: {found:?}"
    );
    ensure!(
        found[1] == ("/bin/busybox", None, Some("init_child")),
        "{found:?}"
    );
    ensure!(found[2] == ("/bin/busybox", None, None), "{found:?}");
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn an_entrypoint_from_a_bind_mount_is_workload() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let folder = tempfile::tempdir()?;
    std::fs::copy("/bin/busybox", folder.path().join("busybox"))?;
    let mount = format!("{}:/mounted:ro", folder.path().display());
    let records = records_of(
        &image,
        &["-v", &mount, "--entrypoint", "/mounted/busybox"],
        &["cat", "/data/one"],
    )?;
    let first = records.workload("exec").next().context("no exec")?;
    ensure!(
        first.text("path") == Some("/mounted/busybox") && first.text("chain") == Some("entrypoint"),
        "{first:?}"
    );
    ensure!(
        first
            .text("origin")
            .is_some_and(|origin| origin.starts_with("bind:")),
        "{first:?}"
    );
    ensure!(
        records
            .opens_of("/data/one")
            .all(|open| open.text("phase") == Some("workload")),
        "{first:?}"
    );
    host.check_nothing_left()
}
