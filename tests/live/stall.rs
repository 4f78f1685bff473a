//! What rei waits for can wait for ever: it hears signals all the same, and ends.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};

use crate::host::{Host, wait_for};
use crate::rei::Leashed;

/// Within this a `rei` that is told to give up has ended, also on a busy machine. The engine may be silent
/// for longer.
const SOON: Duration = Duration::from_secs(10);

/// `rei` with these words; what it says goes to `talk`, and log and keys lie beside that.
fn start(words: &[&str], talk: &Path, environment: &[(&str, &str)]) -> Result<Leashed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rei"));
    command
        .args(&words[..1])
        .arg("--log")
        .arg(talk.with_extension("log"))
        .arg("--keys")
        .arg(talk.with_extension("keys"))
        .args(&words[1..])
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(talk)?);
    Ok(Leashed(command.spawn().context("cannot start rei")?))
}

fn terminate(rei: &Leashed) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(rei.0.id())?).context("a pid is above zero")?;
    kill_process(pid, Signal::TERM).context("cannot signal rei")
}

fn end_of(rei: &mut Leashed) -> Result<ExitStatus> {
    wait_for("rei to end", SOON, || Ok(rei.0.try_wait()?))
}

#[test]
#[ignore = "root"]
fn a_reader_that_stalls_is_given_up_at_the_second_signal() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let [fifo, talk, done] = ["fifo", "talk", "done"].map(|name| folder.path().join(name));
    mkfifoat(CWD, &fifo, Mode::RWXU)?;
    let fifo = fifo.to_str().context("a plain name")?;
    // It holds the other end, and reads nothing.
    let _reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(fifo)?;
    // Many times what a pipe holds.
    let script = format!(
        "i=0; while [ $i -lt 3000 ]; do : < /etc/passwd; i=$((i+1)); done; : > {}",
        done.display()
    );
    let words = ["run", "--json", "-o", fifo, "--", "/bin/sh", "-c", &script];
    let mut rei = start(&words, &talk, &[])?;
    wait_for("the command to end", SOON, || Ok(done.exists().then_some(())))?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(
        rei.0.try_wait()?.is_none(),
        "nothing was held up: the test shows nothing"
    );

    terminate(&rei)?;
    let said = |word: &str| fs::read_to_string(&talk).is_ok_and(|talk| talk.contains(word));
    wait_for("the first signal to be heard", SOON, || {
        Ok(said("another signal ends rei").then_some(()))
    })?;
    ensure!(rei.0.try_wait()?.is_none(), "one signal does not cost the record");
    terminate(&rei)?;
    let status = end_of(&mut rei)?;
    ensure!(
        status.code() == Some(125),
        "{status}: {}",
        fs::read_to_string(&talk)?
    );
    ensure!(
        said("before the record was closed") && said(fifo),
        "{}",
        fs::read_to_string(&talk)?
    );
    host.check_nothing_left()
}

/// A docker command that tells an id and then does nothing.
const DOCKER: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --cidfile) shift; file=$1 ;;
        --cidfile=*) file=${1#--cidfile=} ;;
    esac
    shift
done
printf %064d 5 > "$file"
exec sleep 60
"#;

/// An engine that is alive and answers nothing else.
fn serve(listener: &UnixListener) {
    let mut asked = Vec::new();
    for stream in listener.incoming().flatten() {
        if !is_ping(&stream) {
            // Kept open: the question stays without an answer.
            asked.push(stream);
        }
    }
}

fn is_ping(mut stream: &UnixStream) -> bool {
    let mut line = String::new();
    let _ = BufReader::new(stream.take(4096)).read_line(&mut line);
    let is_ping = line.is_empty() || line.contains("/_ping");
    if is_ping {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK";
        let _ = stream.write_all(answer.as_bytes());
    }
    is_ping
}

#[test]
#[ignore = "root"]
fn an_engine_that_does_not_answer_keeps_no_signal_from_rei() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let [docker, socket, talk, cid] =
        ["docker", "engine.sock", "talk", "cid"].map(|name| folder.path().join(name));
    fs::write(&docker, DOCKER)?;
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755))?;
    let listener = UnixListener::bind(&socket)?;
    std::thread::spawn(move || serve(&listener));
    let engine = format!("unix://{}", socket.display());
    let [docker, cid] = [&docker, &cid].map(|path| path.to_str().unwrap_or_default());
    let words = ["run", "--", docker, "run", "--cidfile", cid, "image"];
    let mut rei = start(&words, &talk, &[("DOCKER_HOST", &engine)])?;
    wait_for("the container's id", SOON, || {
        Ok(fs::read(cid).ok().filter(|id| id.len() == 64))
    })?;
    std::thread::sleep(Duration::from_millis(500));

    let began = Instant::now();
    terminate(&rei)?;
    let heard = || fs::read_to_string(&talk).is_ok_and(|talk| talk.contains("SIGTERM passed on"));
    wait_for("the first signal to be heard", SOON, || Ok(heard().then_some(())))?;
    std::thread::sleep(Duration::from_millis(500));
    terminate(&rei)?;
    let status = end_of(&mut rei)?;
    let said = fs::read_to_string(&talk)?;
    ensure!(status.code() == Some(103), "{status}: {said}");
    ensure!(began.elapsed() < SOON, "it took {:?}: {said}", began.elapsed());
    host.check_nothing_left()
}
