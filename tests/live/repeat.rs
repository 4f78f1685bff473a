//! Many runs, one after the other and at once: each is recorded whole, in the right container, and nothing stays.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::docker::{Container, Image};
use crate::host::Host;
use crate::record::Records;
use crate::rei::{Done, Rei, Running};

const IN_A_ROW: usize = 200;
const AT_ONCE: usize = 50;

/// One container, one entrypoint, nothing of anybody else: what `cat /data/one` must leave in the records.
fn check(done: &Done, name: &str) -> Result<String> {
    let records = done.whole(0)?;
    ensure!(done.stdout == "1\n", "the command's output is {:?}", done.stdout);
    ensure!(
        records.end()["completeness"] == "complete",
        "{}",
        records.completeness()
    );
    let containers: Vec<_> = records.of_type("container").collect();
    ensure!(
        containers.len() == 1 && containers[0]["name"] == name,
        "containers: {containers:?}"
    );
    let id = containers[0]["id"]
        .as_str()
        .context("a container without an id")?
        .to_owned();
    check_acts(&records, &id).with_context(|| format!("in container {id}"))?;
    Ok(id)
}

fn check_acts(records: &Records, id: &str) -> Result<()> {
    let entrypoints = records
        .acts("exec")
        .filter(|exec| exec.text("chain") == Some("entrypoint"));
    let entrypoints: Vec<_> = entrypoints.collect();
    ensure!(entrypoints.len() == 1, "entrypoints: {entrypoints:?}");
    let execs: Vec<_> = records.acts("exec").collect();
    ensure!(execs.len() == 1, "an exec that is not the command's: {execs:?}");
    ensure!(execs[0].text("path") == Some("/bin/busybox"), "{execs:?}");
    ensure!(execs[0].text("phase") == Some("workload"), "{execs:?}");
    ensure!(
        records.opens_of("/data/one").count() == 1,
        "opens: {:?}",
        records.acts("open").collect::<Vec<_>>()
    );
    for event in records
        .events()
        .filter(|event| event.text("phase") == Some("workload"))
    {
        ensure!(
            event.text("container") == id.get(..12),
            "in another container: {event:?}"
        );
    }
    Ok(())
}

#[test]
#[ignore = "root"]
fn two_hundred_in_a_row() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let started = Instant::now();
    for turn in 0..IN_A_ROW {
        let container = Container::named("row");
        let done = Rei::run(&[], &image.run(container.name(), &[], &["cat", "/data/one"]))?.finish()?;
        check(&done, container.name()).with_context(|| format!("run {turn}"))?;
    }
    eprintln!("{IN_A_ROW} runs in a row: {:?}", started.elapsed());
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn fifty_at_once() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let started = Instant::now();
    let mut running: Vec<(Container, Running)> = Vec::new();
    for _ in 0..AT_ONCE {
        let container = Container::named("once");
        let rei = Rei::run(&[], &image.run(container.name(), &[], &["cat", "/data/one"]))?;
        running.push((container, rei.start()?));
    }
    let mut ids = Vec::new();
    for (container, rei) in running {
        ids.push(check(&rei.wait()?, container.name()).with_context(|| container.name().to_owned())?);
    }
    eprintln!("{AT_ONCE} runs at once: {:?}", started.elapsed());
    ids.sort();
    ids.dedup();
    ensure!(ids.len() == AT_ONCE, "{} different containers", ids.len());
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn runs_at_once_do_not_mix() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let script = "i=0; while [ $i -lt 100 ]; do : < $0; i=$((i+1)); done; sleep 1; exec cat $0";
    let files = ["/data/one", "/data/two", "/data/secret"];
    let mut running = Vec::new();
    for file in files {
        let container = Container::named("mix");
        let words = image.run(container.name(), &[], &["sh", "-c", script, file]);
        running.push((file, Rei::run(&[], &words)?.start()?, container));
    }
    let plain = Rei::plain(&["/bin/busybox", "sh", "-c", script, "/etc/passwd"])?.start()?;
    for (file, rei, _container) in running {
        let records = rei.wait()?.whole(0)?;
        ensure!(
            records.opens_of(file).count() == 101,
            "{file}: {}",
            records.opens_of(file).count()
        );
        for other in files
            .into_iter()
            .chain(["/etc/passwd"])
            .filter(|other| *other != file)
        {
            ensure!(
                records.opens_of(other).count() == 0,
                "{other} is in the records of {file}"
            );
        }
    }
    let records = plain.wait()?.whole(0)?;
    ensure!(
        records.opens_of("/etc/passwd").count() == 101,
        "{}",
        records.opens_of("/etc/passwd").count()
    );
    ensure!(
        files.iter().all(|file| records.opens_of(file).count() == 0),
        "a container's file in the plain run"
    );
    host.check_nothing_left()
}
