//! A container that runs the workload on request (`docker/bench/workload.c` in its `serve` mode, over two FIFOs).

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::fs::{CWD, FileType, Mode as Permissions, mknodat};
use tempfile::TempDir;

use crate::command::{display, program, succeeds};
use crate::image;

/// How long one measurement may take; the longest takes about a second.
const ANSWER: Duration = Duration::from_secs(120);
/// How long the end of a container, and of the rei that observes it, may take.
const END: Duration = Duration::from_secs(60);

/// What the workload is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Job {
    /// The mode's name, as the workload knows it.
    pub(crate) mode: &'static str,
    /// Operations of each thread.
    pub(crate) operations: u32,
    /// Threads, each on a CPU of its own.
    pub(crate) threads: u32,
}

/// What the workload says it did: the truth that a record is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Done {
    /// Wall-clock nanoseconds per operation, as one thread sees it.
    pub(crate) ns_per_op: f64,
    /// Opens, failed ones too.
    pub(crate) opens: u64,
    /// Connects.
    pub(crate) connects: u64,
    /// Programs executed.
    pub(crate) execs: u64,
}

/// A running container with the workload in it.
pub(crate) struct Workload {
    name: String,
    launcher: Child,
    requests: File,
    answers: Receiver<String>,
    _fifos: TempDir,
}

impl Workload {
    /// Starts a container of that name; `observer` is the command that `docker run ...` is given to, if any.
    pub(crate) fn start(name: &str, observer: Option<(&Path, &Path)>) -> Result<Self> {
        remove(name);
        let fifos = tempfile::tempdir().context("cannot make a temporary directory")?;
        let (requests, answers) = (fifo(fifos.path(), "in")?, fifo(fifos.path(), "out")?);
        let mut command = match observer {
            Some((rei, record)) => {
                let mut command = program(rei);
                command
                    .args(["run", "--policy", "observe", "--json", "-o"])
                    .arg(record)
                    .arg("--")
                    .arg("docker");
                command
            }
            None => program("docker"),
        };
        let mount = format!("{}:/io", fifos.path().display());
        command.args(["run", "--rm", "--network", "none", "--name", name, "-v", &mount]);
        command.args([image::BENCH, "/wl/workload", "serve", "/io/in", "/io/out"]);
        command.stdin(Stdio::null());
        let launcher = launch(&mut command)?;
        Ok(Self {
            name: name.to_owned(),
            launcher,
            requests,
            answers: read_lines(answers),
            _fifos: fifos,
        })
    }

    /// Has one job done.
    pub(crate) fn run(&mut self, job: Job) -> Result<Done> {
        writeln!(self.requests, "{} {} {}", job.mode, job.operations, job.threads)
            .with_context(|| format!("cannot ask the container {}", self.name))?;
        let deadline = Instant::now() + ANSWER;
        loop {
            if let Ok(line) = self.answers.recv_timeout(Duration::from_millis(500)) {
                return done(&line).ok_or_else(|| anyhow!("the workload answered `{line}`"));
            }
            if let Some(status) = self
                .launcher
                .try_wait()
                .context("cannot ask after the container")?
            {
                bail!(
                    "the container {} ended in the middle of {job:?} ({status})",
                    self.name
                );
            }
            if Instant::now() > deadline {
                bail!(
                    "the container {} did not finish {job:?} in {} s",
                    self.name,
                    ANSWER.as_secs()
                );
            }
        }
    }

    /// Ends the container, and waits for the program that started it.
    pub(crate) fn end(mut self) -> Result<()> {
        remove(&self.name);
        let deadline = Instant::now() + END;
        while self
            .launcher
            .try_wait()
            .context("cannot ask after the container")?
            .is_none()
        {
            if Instant::now() > deadline {
                bail!(
                    "the container {} is gone, and what started it did not end",
                    self.name
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        if matches!(self.launcher.try_wait(), Ok(None)) {
            remove(&self.name);
            // It has lost its container; if it has ended meanwhile, the error does not matter.
            let _ = self.launcher.kill();
            let _ = self.launcher.wait();
        }
    }
}

fn launch(command: &mut Command) -> Result<Child> {
    command.stderr(Stdio::null()).stdout(Stdio::null());
    command
        .spawn()
        .with_context(|| format!("cannot run `{}`", display(command)))
}

/// Removes a container, running or not, if it is there.
fn remove(name: &str) {
    succeeds(program("docker").args(["rm", "--force", name]));
}

/// Makes a FIFO and opens it for both directions, so that neither side ever waits for the other or sees its end.
fn fifo(dir: &Path, name: &str) -> Result<File> {
    let path: PathBuf = dir.join(name);
    mknodat(CWD, &path, FileType::Fifo, Permissions::from_raw_mode(0o666), 0)
        .with_context(|| format!("cannot make the FIFO {}", path.display()))?;
    let file = OpenOptions::new().read(true).write(true).open(&path);
    file.with_context(|| format!("cannot open the FIFO {}", path.display()))
}

/// Reads lines in a thread of its own, which ends with this process: a FIFO that we hold open never ends.
fn read_lines(file: File) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

/// Reads a line like `mode=open threads=1 ops=10 ns_per_op=1.5 wall_ns=15 opens=10 connects=0 execs=0`.
fn done(line: &str) -> Option<Done> {
    let field = |name: &str| {
        line.split(' ')
            .find_map(|word| word.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    };
    Some(Done {
        ns_per_op: field("ns_per_op")?.parse().ok()?,
        opens: field("opens")?.parse().ok()?,
        connects: field("connects")?.parse().ok()?,
        execs: field("execs")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read() {
        let line = "mode=mix threads=2 ops=4 ns_per_op=2000.5 wall_ns=8 opens=244 connects=1 execs=4";
        assert_eq!(
            done(line),
            Some(Done {
                ns_per_op: 2000.5,
                opens: 244,
                connects: 1,
                execs: 4
            })
        );
        assert_eq!(done("unknown mode"), None);
    }

    #[test]
    fn a_fifo_is_open_for_both_directions() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = fifo(dir.path(), "in").unwrap();
        let lines = read_lines(file.try_clone().unwrap());
        writeln!(file, "hello").unwrap();
        assert_eq!(lines.recv_timeout(Duration::from_secs(10)).unwrap(), "hello");
    }
}
