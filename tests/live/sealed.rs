//! The sealed log of a run: beside the JSON lines, and against them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;

use crate::docker::{Container, Image};
use crate::host::{Host, stdout_of, wait_for};
use crate::rei::{Done, Rei};
use crate::second::{Answer, second_report};

/// The lines of a log of one segment.
fn lines(log: &Path) -> Result<Vec<Value>> {
    let segment = log.join("seg-00000000000000000000.jsonl");
    let text = fs::read_to_string(&segment).with_context(|| format!("no {}", segment.display()))?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}")))
        .collect()
}

fn of_kind<'a>(lines: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    lines
        .iter()
        .filter(move |line| line["k"] == kind)
        .map(|line| &line["d"])
}

/// How often each object was touched, by kind and name, over all `fold` lines.
fn touched(lines: &[Value]) -> BTreeMap<(String, String), u64> {
    let mut touched = BTreeMap::new();
    for object in of_kind(lines, "fold").flat_map(|fold| fold["objects"].as_array().into_iter().flatten()) {
        let word = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let count = object["n"].as_u64().unwrap_or_default();
        *touched.entry((word("kind"), word("object"))).or_default() += count;
    }
    touched
}

/// The log holds every event of the JSON lines, in one way or another, and says so itself.
fn check_against_records(done: &Done) -> Result<Vec<Value>> {
    let lines = lines(&done.log())?;
    let end = of_kind(&lines, "run").last().context("no last line")?;
    let counts = end["end"]["counts"].as_array().context("no counts")?;
    let mut sealed: BTreeMap<String, u64> = BTreeMap::new();
    for ((kind, _), count) in touched(&lines) {
        *sealed.entry(kind).or_default() += count;
    }
    for count in counts {
        let kind = count["kind"].as_str().context("no kind")?;
        let n = count["n"].as_u64().context("no count")?;
        ensure!(
            matches!(kind, "fork" | "exit") || sealed.get(kind) == Some(&n),
            "{n} {kind} recorded, {:?} sealed: {}",
            sealed.get(kind),
            done.story()
        );
    }
    let records = done.records()?;
    let last = records.of_type("end").next().context("no end")?;
    for count in counts {
        let kind = count["kind"].as_str().context("no kind")?;
        ensure!(last["counts"][kind] == count["n"], "{kind}: {last}");
    }
    ensure!(
        done.stderr.contains("verified: ok, local") && done.stderr.contains("head "),
        "{}",
        done.story()
    );
    Ok(lines)
}

/// What rei's writer made, both verifiers judge alike: by nothing, by what an auditor has, on the host itself.
fn check_both_verifiers(done: &Done) -> Result<()> {
    let (log, keys) = (done.log(), done.keys());
    let file = |name: &str| keys.join(name).to_string_lossy().into_owned();
    let log_word = log.to_string_lossy().into_owned();
    let verify = |words: &[String]| -> Result<Value> {
        let mut rei = Command::new(env!("CARGO_BIN_EXE_rei"));
        let output = rei.args(["verify", "--json"]).args(words).output()?;
        serde_json::from_slice(&output.stdout).with_context(|| format!("no report: {output:?}"))
    };
    let bare = [log_word];
    // A directory without keys: those of the run are named one by one.
    let empty = tempfile::tempdir()?;
    let none = ["--keys".to_owned(), empty.path().to_string_lossy().into_owned()];
    let auditor = ["--key", "verification.key", "--pub", "host.pub"].map(|word| {
        if word.starts_with("--") {
            word.to_owned()
        } else {
            file(word)
        }
    });
    let report = verify(&[&bare[..], &none].concat())?;
    let id = report["log_id"].as_str().context("no id of the log")?;
    for (ours, second, completeness) in [
        (none.to_vec(), Vec::new(), "unproven"),
        ([&auditor[..], &none].concat(), auditor.to_vec(), "local"),
        (
            [&auditor[..], &["--keys".to_owned(), file("")]].concat(),
            [&auditor[..], &["--host-state".to_owned(), file(id)]].concat(),
            "local",
        ),
    ] {
        let ours = verify(&[&bare[..], &ours].concat())?;
        let second = second_report(&[&bare[..], &second].concat());
        ensure!(
            Answer::of(&ours) == Answer::of(&second) && ours["root"] == second["root"],
            "the verifiers disagree: {ours:#} {second:#}"
        );
        ensure!(
            ours["verdict"] == "ok" && ours["completeness"] == completeness && second["size"] == ours["size"],
            "{ours:#}"
        );
    }
    Ok(())
}

/// One byte less than the writer's: both say where it shows.
fn check_both_find_a_change(done: &Done) -> Result<()> {
    let segment = done.log().join("seg-00000000000000000000.jsonl");
    let whole = fs::read(&segment)?;
    let mut changed = whole.clone();
    let at = changed
        .windows(6)
        .position(|bytes| bytes == b"/data/")
        .context("no name in the log")?;
    changed[at + 1] ^= 1;
    fs::set_permissions(&segment, fs::Permissions::from_mode(0o600))?;
    fs::write(&segment, &changed)?;
    let output = Command::new(env!("CARGO_BIN_EXE_rei"))
        .args(["verify", "--json"])
        .arg(done.log())
        .output()?;
    let ours: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let second = second_report(&[done.log()]);
    ensure!(
        output.status.code() == Some(1) && Answer::of(&ours) == Answer::of(&second),
        "{ours:#} {second:#}"
    );
    fs::write(&segment, &whole)?;
    Ok(())
}

#[test]
#[ignore = "root"]
fn a_container_is_sealed_as_it_is_recorded() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("sealed");
    let script = "for i in 1 2 3 4 5; do cat /data/one; done; echo x > /tmp/x; cat /nowhere; true";
    let command = image.run(container.name(), &[], &["sh", "-c", script]);
    let done = Rei::run(&["--policy", "ambient-only"], &command)?.finish()?;
    ensure!(done.status.code() == Some(101), "{}", done.story());
    let lines = check_against_records(&done)?;
    check_both_verifiers(&done)?;
    check_both_find_a_change(&done)?;

    let reads = touched(&lines);
    let one = reads.get(&("open".to_owned(), "/data/one".to_owned()));
    ensure!(one == Some(&5), "{reads:?}");
    let told = of_kind(&lines, "container").next().context("no container")?;
    ensure!(
        told["name"] == container.name() && told["learned"]["facts"] == "engine",
        "{told}"
    );
    let finding = of_kind(&lines, "finding")
        .find(|finding| finding["object"]["name"] == "/tmp/x")
        .context("no finding about /tmp/x")?;
    let evidence = finding["evidence"][0].as_u64().context("no evidence")?;
    let event = &lines[usize::try_from(evidence)?];
    ensure!(
        event["k"] == "event" && event["d"]["act"]["open"]["path"] == "/tmp/x",
        "{event}"
    );
    // Who did it, and who that descends from.
    let node = |number: &Value| {
        of_kind(&lines, "lineage")
            .find(|lineage| lineage["node"] == *number)
            .with_context(|| format!("no image {number}"))
    };
    let shell = node(&finding["subject"]["node"])?;
    ensure!(
        shell["phase"] == "workload" && shell["chain"] == "entrypoint",
        "{shell}"
    );
    for lineage in of_kind(&lines, "lineage").filter(|lineage| !lineage["parent"].is_null()) {
        node(&lineage["parent"])?;
    }
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn many_short_processes_are_one_image_each() -> Result<()> {
    let host = Host::take()?;
    let script = "i=0; while [ $i -lt 300 ]; do /bin/busybox true; i=$((i+1)); done";
    let done = Rei::plain(&["/bin/busybox", "sh", "-c", script])?.finish()?;
    done.whole(0)?;
    let lines = check_against_records(&done)?;
    check_both_verifiers(&done)?;
    let shell = of_kind(&lines, "lineage")
        .find(|lineage| lineage["chain"] == "entrypoint")
        .context("no entrypoint")?;
    let children = of_kind(&lines, "lineage").filter(|lineage| lineage["parent"] == shell["node"]);
    ensure!(children.count() == 300, "not 300 children");
    let ended = of_kind(&lines, "fold").filter(|fold| fold["end"]["how"]["exit"]["code"] == 0);
    ensure!(ended.count() >= 301, "not every image has an end");
    host.check_nothing_left()
}

/// What `rei verify` says of a log, with every key there is.
fn verified(log: &Path, keys: &Path) -> Result<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_rei"))
        .args(["verify", "--json", "--key"])
        .arg(keys.join("verification.key"))
        .arg("--pub")
        .arg(keys.join("host.pub"))
        .arg("--keys")
        .arg(keys)
        .arg(log)
        .output()?;
    let story = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).with_context(|| format!("no JSON: {story}"))
}

#[test]
#[ignore = "root"]
fn a_log_is_never_an_alarm_while_it_is_written_nor_after_its_writer_was_killed() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    // New objects all the time, so that lines are written all the time.
    let script = "i=0; while :; do : < /proc/self/fdinfo/$((i % 3)); /bin/busybox echo $i; i=$((i+1)); done";
    let command = ["/bin/busybox", "sh", "-c", script].map(str::to_owned);
    let log_word = log.to_str().context("a plain name")?;
    let rei = Rei::run(&["--log", log_word, "--keep-events", "all"], &command)?.start()?;
    let keys = rei.keys();
    wait_for("the log to be born", Duration::from_secs(20), || {
        Ok(log.join("head").exists().then_some(()))
    })?;
    let began = Instant::now();
    let mut sizes = BTreeSet::new();
    while began.elapsed() < Duration::from_secs(4) {
        let report = verified(&log, &keys)?;
        ensure!(report["verdict"] == "incomplete", "{report}");
        sizes.insert(report["size"].as_u64().context("no size")?);
    }
    ensure!(sizes.len() > 10, "it hardly grew: {sizes:?}");
    rei.signal(Signal::KILL)?;
    // Its directory, with the keys, lives as long as this.
    let _done = rei.wait()?;
    // The command lives on without rei.
    let is_ours = |line: &[u8]| line.windows(20).any(|words| words == b"/proc/self/fdinfo/$(");
    for pid in processes(is_ours) {
        stdout_of(Command::new("kill").args(["-9", &pid.to_string()]))?;
    }
    let report = verified(&log, &keys)?;
    ensure!(
        report["verdict"] == "incomplete" && report["violations"] == serde_json::json!([]),
        "{report}"
    );
    // The next run sweeps what the killed one left.
    Rei::plain(&["/bin/busybox", "true"])?.finish()?.whole(0)?;
    host.check_nothing_left()
}

/// Processes whose command line is like this.
fn processes(is_ours: impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            is_ours(&line).then_some(pid)
        })
        .collect()
}

#[test]
#[ignore = "root"]
fn without_a_log_nothing_starts() -> Result<()> {
    let host = Host::take()?;
    let done = Rei::plain(&["/bin/busybox", "echo", "first"])?.finish()?;
    done.whole(0)?;
    let log = done.log();
    let log = log.to_str().context("a plain name")?;
    for (taken, word) in [(log, "holds a log already"), ("/dev/null/x", "/dev/null/x")] {
        let command = ["/bin/busybox", "echo", "ran"].map(str::to_owned);
        let refused = Rei::run(&["--log", taken], &command)?.finish()?;
        ensure!(
            refused.status.code() == Some(125) && refused.stderr.contains(word) && refused.stdout.is_empty(),
            "{}",
            refused.story()
        );
    }
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_log_that_finds_no_room_is_said_and_the_command_goes_on() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    stdout_of(
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder.path()),
    )?;
    let log = folder.path().join("log");
    let script = "i=0; while [ $i -lt 2000 ]; do : < /etc/passwd; i=$((i+1)); done; echo done";
    let command = ["/bin/busybox", "sh", "-c", script].map(str::to_owned);
    let log_word = log.to_str().context("a plain name")?;
    let run = Rei::run(&["--log", log_word, "--keep-events", "all"], &command);
    let done = run.and_then(Rei::finish);
    stdout_of(Command::new("umount").arg(folder.path()))?;
    let done = done?;
    ensure!(
        done.status.code() == Some(125) && done.stderr.contains("THE LOG FAILED"),
        "{}",
        done.story()
    );
    ensure!(
        done.stdout == "done\n",
        "the command was disturbed: {}",
        done.story()
    );
    host.check_nothing_left()
}
