//! `rei run -- COMMAND` without an engine.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;

use crate::host::{Host, wait_for};
use crate::rei::Rei;

/// A shell of one static program: nothing but the script opens or executes anything.
fn shell(script: &str) -> Result<Rei> {
    Rei::plain(&["/bin/busybox", "sh", "-c", script])
}

#[test]
#[ignore = "root"]
fn opens_and_failures_and_programs_are_there() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("made").display().to_string();
    let script = format!(
        "echo x > {path}; echo x >> {path}; : < {path}; echo x > {path}; true < /nowhere/at/all; /bin/busybox true; /nowhere/program; exit 0"
    );
    let records = shell(&script)?.finish()?.whole(0)?;
    let all: Vec<_> = records.opens_of(&path).collect();
    ensure!(all.len() == 4, "{all:?}");
    ensure!(
        all[0].lists("access", "write") && all[0].lists("access", "create"),
        "{:?}",
        all[0]
    );
    ensure!(
        !all[0].lists("access", "truncate"),
        "there was nothing to cut: {:?}",
        all[0]
    );
    ensure!(all[1].lists("access", "append"), "{:?}", all[1]);
    ensure!(
        all[2].lists("access", "read") && !all[2].lists("access", "write"),
        "{:?}",
        all[2]
    );
    ensure!(
        all.iter().all(|open| open.text("phase") == Some("workload")),
        "{all:?}"
    );
    ensure!(
        all.iter().all(|open| open.field("container").is_null()),
        "{all:?}"
    );

    let failed: Vec<_> = records
        .workload("open")
        .filter(|open| open.text("path") == Some("/nowhere/at/all"))
        .collect();
    ensure!(failed.len() == 1, "{failed:?}");
    ensure!(
        failed[0].text("outcome") == Some("ENOENT") && failed[0].flag("lexical"),
        "{failed:?}"
    );

    let execs: Vec<_> = records.workload("exec").collect();
    ensure!(execs.len() == 2, "{execs:?}");
    ensure!(
        execs[0].text("chain") == Some("entrypoint") && execs[1].field("chain").is_null(),
        "{execs:?}"
    );
    ensure!(execs[1].lists("argv", "true"), "{:?}", execs[1]);
    let attempts: Vec<_> = records.workload("exec_attempt").collect();
    ensure!(
        attempts
            .iter()
            .any(|attempt| attempt.text("path") == Some("/nowhere/program")),
        "{attempts:?}"
    );
    ensure!(
        attempts
            .iter()
            .all(|attempt| attempt.text("outcome") == Some("ENOENT")),
        "{attempts:?}"
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_refused_connect_names_its_address() -> Result<()> {
    let host = Host::take()?;
    // Port 1 of the loopback: nobody listens there.
    let done = shell("/bin/busybox nc -w 2 127.0.0.1 1 < /dev/null; exit 0")?.finish()?;
    let records = done.records()?;
    let refused: Vec<_> = records
        .workload("connect")
        .filter(|connect| connect.text("address") == Some("127.0.0.1:1"))
        .collect();
    ensure!(refused.len() == 1, "{refused:?}");
    ensure!(refused[0].text("outcome") == Some("ECONNREFUSED"), "{refused:?}");
    ensure!(
        refused[0].text("protocol") == Some("tcp") && refused[0].text("family") == Some("inet"),
        "{refused:?}"
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn exit_codes_are_the_commands() -> Result<()> {
    let host = Host::take()?;
    for code in [0, 1, 42] {
        let records = shell(&format!("exit {code}"))?.finish()?.whole(code)?;
        ensure!(records.end()["command_exit"]["code"] == code, "{}", records.end());
    }
    let done = shell("kill -TERM $$")?.finish()?;
    ensure!(
        done.status.code() == Some(128 + 15),
        "as a shell tells it: {}",
        done.story()
    );
    ensure!(
        done.records()?.end()["command_exit"]["signal"].is_number(),
        "{}",
        done.records()?.end()
    );
    let missing = Rei::plain(&["/nowhere/program"])?.finish()?;
    ensure!(missing.status.code() == Some(127), "{}", missing.story());
    ensure!(missing.stderr.contains("/nowhere/program"), "{}", missing.story());
    let no_program = Rei::plain(&["/etc/passwd"])?.finish()?;
    ensure!(no_program.status.code() == Some(126), "{}", no_program.story());
    ensure!(
        no_program.stderr.contains("/etc/passwd"),
        "{}",
        no_program.story()
    );
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_background_child_is_said() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let pid_file = folder.path().join("pid");
    let script = format!("/bin/busybox sleep 3 & echo $! > {}; exit 0", pid_file.display());
    let done = shell(&script)?.finish()?;
    let records = done.records()?;
    let pid = std::fs::read_to_string(&pid_file)?.trim().to_owned();
    let ended = records
        .workload("exit")
        .any(|exit| exit.number("pid").to_string() == pid);
    let said =
        done.stderr.contains(&pid) || done.stderr.contains("background") || done.stderr.contains("still run");
    ensure!(ended || said, "neither waited for nor said: {}", done.story());
    wait_for("the child to end", Duration::from_secs(10), || {
        Ok((!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(()))
    })?;
    // A cgroup that a living child kept from being removed is swept at the next start.
    shell("exit 0")?.finish()?.whole(0)?;
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn signals_end_a_plain_command() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let ready = folder.path().join("ready");
    let script = format!(
        "trap 'exit 9' TERM INT; echo > {}; while :; do /bin/busybox sleep 0.1; done",
        ready.display()
    );
    for signal in [Signal::TERM, Signal::INT] {
        let _ = std::fs::remove_file(&ready);
        let rei = shell(&script)?.start()?;
        wait_for("the command to be ready", Duration::from_secs(20), || {
            Ok(ready.exists().then_some(()))
        })?;
        rei.signal(signal)?;
        let done = rei.wait()?;
        done.whole(9).with_context(|| format!("{signal:?}"))?;
        ensure!(done.stderr.contains("complete"), "no summary: {}", done.story());
    }
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn input_output_and_environment_are_the_commands() -> Result<()> {
    let host = Host::take()?;
    let done = shell("cat; echo $REI_TEST_VALUE; echo err >&2")?
        .env("REI_TEST_VALUE", "seen")
        .stdin("in\n")?
        .finish()?;
    let records = done.whole(0)?;
    ensure!(
        done.stdout == "in\nseen\n" && done.stderr.contains("err\n"),
        "{}",
        done.story()
    );
    let exec = records.workload("exec").next().context("no exec")?;
    ensure!(exec.lists("env_names", "REI_TEST_VALUE"), "{exec:?}");
    ensure!(
        !exec.field("env_names").to_string().contains("seen"),
        "a value of the environment: {exec:?}"
    );
    host.check_nothing_left()
}
