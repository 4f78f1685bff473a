//! The user's command keeps its flags, its input and output, its terminal, its signals and its exit code.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::docker::{Container, Image, docker};
use crate::host::{Host, wait_for};
use crate::rei::Rei;

#[test]
#[ignore = "root"]
fn exit_codes_and_output_pass_through() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    for (command, code) in [
        (vec!["sh", "-c", "echo out; echo err >&2; exit 7"], 7),
        (vec!["true"], 0),
        (vec!["sh", "-c", "sh -c 'kill -9 $$'; exit $?"], 137),
        (vec!["/nowhere"], 127),
        (vec!["/data/one"], 126),
    ] {
        let container = Container::named("exit");
        let done = Rei::run(&[], &image.run(container.name(), &[], &command))?.finish()?;
        let records = done.whole(code).with_context(|| format!("{command:?}"))?;
        ensure!(records.end()["command_exit"]["code"] == code, "{}", records.end());
        ensure!(records.end()["exit_code"] == code, "{}", records.end());
        if code == 7 {
            ensure!(
                done.stdout == "out\n" && done.stderr.contains("err\n"),
                "{}",
                done.story()
            );
        }
    }
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn input_passes_through() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("stdin");
    let rei = Rei::run(&[], &image.run(container.name(), &["-i"], &["cat"]))?.stdin("one\ntwo\n")?;
    let done = rei.finish()?;
    done.whole(0)?;
    ensure!(done.stdout == "one\ntwo\n", "{}", done.story());
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn the_terminal_passes_through() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("tty");
    let script = "tty; [ -t 0 ] && [ -t 1 ] && echo both; exit 4";
    let done = Rei::run(&[], &image.run(container.name(), &["-it"], &["sh", "-c", script]))?
        .in_terminal()
        .finish()?;
    done.whole(4)?;
    ensure!(
        done.stdout.contains("/dev/pts/0") && done.stdout.contains("both"),
        "{}",
        done.story()
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_detached_run_ends_with_its_container() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("detached");
    let mut words = image.run(
        container.name(),
        &["-d"],
        &["sh", "-c", "sleep 1; cat /data/one; exit 3"],
    );
    words.retain(|word| word != "--rm");
    let done = Rei::run(&[], &words)?.finish()?;
    // rei stays until the container ends, so the code is the container's: docker itself said 0 long before.
    let records = done.whole(3)?;
    ensure!(
        records.opens_of("/data/one").count() == 1,
        "ended before its container did: {}",
        done.story()
    );
    let id = container.inspect()?["Id"]
        .as_str()
        .context("docker inspect gave no id")?
        .to_owned();
    ensure!(done.stdout.trim() == id, "{}", done.story());
    ensure!(
        records.of_type("container").any(|line| line["id"] == id.as_str()),
        "not this container: {}",
        done.story()
    );
    drop(container);
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn name_cidfile_and_rm_are_kept() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("cidfile");
    let folder = tempfile::tempdir()?;
    let cidfile = folder.path().join("cid");
    let cidfile_word = cidfile.to_str().context("a temporary path that is not UTF-8")?;
    let words = image.run(
        container.name(),
        &["--cidfile", cidfile_word],
        &["cat", "/data/one"],
    );
    let done = Rei::run(&[], &words)?.finish()?;
    let records = done.whole(0)?;
    let id = std::fs::read_to_string(&cidfile).context("the user's cidfile is not there")?;
    let line = records.of_type("container").next().context("no container line")?;
    ensure!(
        line["id"] == id.trim() && line["name"] == container.name(),
        "{line} for {id}"
    );
    ensure!(line["image"] == image.name(), "{line}");
    ensure!(
        docker(&["ps", "-aq", "--filter", &format!("name={}", container.name())])?.is_empty(),
        "--rm was lost"
    );

    // Without any of them: rei has to find the container by itself, and --rm stays the user's choice.
    let words = [
        "docker",
        "run",
        "--network",
        "none",
        image.name(),
        "cat",
        "/data/two",
    ]
    .map(str::to_owned);
    let records = Rei::run(&[], &words)?.finish()?.whole(0)?;
    let line = records.of_type("container").next().context("no container line")?;
    let id = line["id"].as_str().context("no id")?;
    ensure!(
        records.opens_of("/data/two").count() == 1,
        "{}",
        records.completeness()
    );
    docker(&["rm", id]).context("a container without --rm is still there afterwards")?;
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn signals_reach_the_container_and_the_end_is_clean() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let script = "trap 'cat /data/two; exit 9' TERM INT; cat /data/one; while :; do sleep 0.1; done";
    for signal in [Signal::TERM, Signal::INT] {
        let container = Container::named("signal");
        let rei = Rei::run(&[], &image.run(container.name(), &[], &["sh", "-c", script]))?.start()?;
        wait_for("the container to be at work", Duration::from_secs(20), || {
            let logs = docker(&["logs", container.name()]).unwrap_or_default();
            Ok(logs.contains('1').then_some(()))
        })?;
        rei.signal(signal)?;
        let done = rei.wait()?;
        let records = done.whole(9).with_context(|| format!("{signal:?}"))?;
        ensure!(
            records.opens_of("/data/two").count() == 1,
            "the trap is not in the record: {}",
            done.story()
        );
        ensure!(done.stderr.contains("complete"), "no summary: {}", done.story());
        host.check_nothing_left()
            .with_context(|| format!("after {signal:?}"))?;
    }
    Ok(())
}
