//! The real binary: started, signalled, waited for; never left running.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::host::wait_for;
use crate::record::Records;

/// No run of these tests takes longer, also when fifty of them load their programs at once on two busy CPUs.
const LIMIT: Duration = Duration::from_secs(240);

/// A `rei` that runs. Output goes to files, so that nothing waits for a reader.
pub(crate) struct Running {
    child: Leashed,
    folder: TempDir,
    started: Instant,
}

/// A process that is killed if nobody waited for it.
pub(crate) struct Leashed(pub(crate) Child);

/// A `rei` that has ended.
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    folder: TempDir,
}

/// `rei run --policy observe --json -o FILE OPTIONS... -- COMMAND...`, not started yet. These tests are about what is
/// recorded: under this policy tripwires are not judged, and exit codes tell of completeness alone.
pub(crate) struct Rei {
    command: Command,
    folder: TempDir,
}

impl Rei {
    /// Observes `command`.
    pub(crate) fn run(options: &[&str], command: &[String]) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a directory for records")?;
        let mut rei = Command::new(env!("CARGO_BIN_EXE_rei"));
        rei.args(["run", "--json", "-o"])
            .arg(folder.path().join("records.jsonl"));
        // What these tests ask is what was recorded; a judgement would change the exit code.
        if !options.contains(&"--policy") {
            rei.args(["--policy", "observe"]);
        }
        // Nothing of these tests stays on the machine.
        if !options.contains(&"--log") {
            rei.arg("--log").arg(folder.path().join("log"));
        }
        rei.arg("--keys").arg(folder.path().join("keys"));
        rei.args(options);
        rei.arg("--").args(command).stdin(Stdio::null());
        Ok(Self { command: rei, folder })
    }

    /// Observes a plain command.
    pub(crate) fn plain(command: &[&str]) -> Result<Self> {
        Self::run(
            &[],
            &command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(),
        )
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it something to read.
    pub(crate) fn stdin(mut self, text: &str) -> Result<Self> {
        let path = self.folder.path().join("stdin");
        std::fs::write(&path, text).context("cannot write the input")?;
        self.command.stdin(File::open(path)?);
        Ok(self)
    }

    /// The same run inside a terminal that `script` makes.
    pub(crate) fn in_terminal(self) -> Self {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let line: Vec<String> = words
            .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
            .collect();
        let mut script = Command::new("script");
        script
            .args(["-qec", &line.join(" "), "/dev/null"])
            .stdin(Stdio::null());
        Self {
            command: script,
            folder: self.folder,
        }
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Result<Running> {
        for name in ["stdout", "stderr"] {
            let file = File::create(self.folder.path().join(name)).context("cannot make an output file")?;
            if name == "stdout" {
                self.command.stdout(file)
            } else {
                self.command.stderr(file)
            };
        }
        let child = self
            .command
            .spawn()
            .with_context(|| format!("cannot start {:?}", self.command))?;
        Ok(Running {
            child: Leashed(child),
            folder: self.folder,
            started: Instant::now(),
        })
    }

    /// Starts it and waits for its end.
    pub(crate) fn finish(self) -> Result<Done> {
        self.start()?.wait()
    }
}

impl Running {
    /// Where its keys are.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.0.id())
            .ok()
            .and_then(Pid::from_raw)
            .context("a pid is above zero")?;
        kill_process(pid, signal).with_context(|| format!("cannot signal rei ({})", self.child.0.id()))
    }

    /// Waits for its end; the files stay until the result is dropped.
    pub(crate) fn wait(mut self) -> Result<Done> {
        let status = wait_for("rei to end", LIMIT, || Ok(self.child.0.try_wait()?));
        let took = self.started.elapsed();
        let read = |name: &str| {
            let bytes = std::fs::read(self.folder.path().join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let status = status.with_context(|| format!("standard error so far:\n{stderr}"))?;
        Ok(Done {
            status,
            stdout,
            stderr,
            took,
            folder: self.folder,
        })
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

impl Done {
    /// The records, whose frame must be whole.
    pub(crate) fn records(&self) -> Result<Records> {
        let records = Records::read(&self.path()).with_context(|| self.story())?;
        records.check_frame().with_context(|| self.story())?;
        Ok(records)
    }

    /// The records of a run that must have ended with `code` and lost nothing.
    pub(crate) fn whole(&self, code: i32) -> Result<Records> {
        ensure!(
            self.status.code() == Some(code),
            "exit code {code} was expected: {}",
            self.story()
        );
        let records = self.records()?;
        ensure!(records.lost_at_all() == 0, "a loss is declared: {}", self.story());
        Ok(records)
    }

    /// Where the records are.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("records.jsonl")
    }

    /// Where the sealed log is.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// The host's keys, made for this run.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    /// How it ended, for the reader of a failed test.
    pub(crate) fn story(&self) -> String {
        let signal = self
            .status
            .signal()
            .map(|signal| format!(", signal {signal}"))
            .unwrap_or_default();
        format!(
            "{}{signal} after {:?}\nstdout:\n{}\nstderr:\n{}",
            self.status, self.took, self.stdout, self.stderr
        )
    }
}
