//! A Docker engine: the one that answers, or one that is started here and stopped again.

use std::fs::{self, File};
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::command::{Process, children, display, output, program, succeeds, work_dir};

/// How long a daemon may take until it answers; 5 s is usual.
const START: Duration = Duration::from_secs(60);
/// How long a daemon may take to stop its containers and itself.
const STOP: Duration = Duration::from_secs(30);
/// How much of the log is shown when the daemon does not start.
const LOG_LINES: usize = 20;

/// How to start a daemon, and how to ask it.
#[derive(Clone, Debug)]
struct Daemon {
    /// The program, with what stands before its own arguments.
    program: Vec<String>,
    /// Its API socket, if not the usual one.
    socket: Option<PathBuf>,
    /// Further arguments.
    args: Vec<String>,
    /// Where its output goes.
    log: PathBuf,
}

/// A Docker engine that answers. Dropping it stops the daemon, if it was started here.
pub(crate) struct Engine {
    version: String,
    started: Option<Started>,
}

/// A daemon of ours.
struct Started {
    daemon: Child,
    /// The containerd that belongs to it.
    children: Vec<Process>,
}

impl Engine {
    /// Finds an engine that answers, or starts one.
    pub(crate) fn ready(deadline: Instant) -> Result<Self> {
        let daemon = Daemon {
            program: vec!["dockerd".to_owned()],
            socket: None,
            args: Vec::new(),
            log: work_dir()?.join("dockerd.log"),
        };
        if let Some(version) = daemon.version() {
            return Ok(Self {
                version,
                started: None,
            });
        }
        clear_leftovers(Path::new("/var/run"))?;
        daemon.start(deadline)
    }

    /// For the person who reads along.
    pub(crate) fn text(&self) -> String {
        let origin = if self.started.is_some() {
            "started for this run"
        } else {
            "was there"
        };
        format!("Docker engine {} ({origin})", self.version)
    }

    /// Whether the daemon was started here.
    pub(crate) fn is_ours(&self) -> bool {
        self.started.is_some()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(started) = self.started.take() {
            eprintln!("xtask: stopping the Docker engine");
            started.stop();
        }
    }
}

impl Daemon {
    /// The version of the daemon, if it answers.
    fn version(&self) -> Option<String> {
        let mut command = program("docker");
        if let Some(socket) = &self.socket {
            command.arg("--host").arg(format!("unix://{}", socket.display()));
        }
        output(command.args(["version", "--format", "{{.Server.Version}}"])).ok()
    }

    fn start(&self, deadline: Instant) -> Result<Engine> {
        let log = File::create(&self.log).with_context(|| format!("cannot write {}", self.log.display()))?;
        let (first, more) = self.program.split_first().context("no program to start")?;
        let mut command = program(first);
        command.args(more);
        if let Some(socket) = &self.socket {
            command.arg("--host").arg(format!("unix://{}", socket.display()));
        }
        command.args(&self.args).stdin(std::process::Stdio::null());
        command
            .stdout(log.try_clone().context("cannot copy the log's descriptor")?)
            .stderr(log);
        eprintln!(
            "xtask: starting {} in the background, log in {}",
            display(&command),
            self.log.display()
        );
        end_with_us(&mut command);
        let child = command
            .spawn()
            .context("cannot start dockerd; is it installed?")?;
        let mut started = Started {
            daemon: child,
            children: Vec::new(),
        };
        match self.wait_until_it_answers(&mut started, deadline.min(Instant::now() + START)) {
            Ok(version) => {
                started.note_children();
                Ok(Engine {
                    version,
                    started: Some(started),
                })
            }
            Err(error) => {
                started.stop();
                Err(error)
            }
        }
    }

    fn wait_until_it_answers(&self, started: &mut Started, deadline: Instant) -> Result<String> {
        loop {
            if let Some(version) = self.version() {
                return Ok(version);
            }
            let ended = started.daemon.try_wait().context("cannot ask after dockerd")?;
            let late = Instant::now() > deadline;
            if ended.is_some() || late {
                let what = ended.map_or("did not answer in time".to_owned(), |status| {
                    format!("ended ({status})")
                });
                bail!(
                    "dockerd {what}; the end of {}:\n{}",
                    self.log.display(),
                    self.log_end()
                );
            }
            thread::sleep(Duration::from_millis(250));
        }
    }

    fn log_end(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

impl Started {
    fn note_children(&mut self) {
        self.children = children(self.daemon.id())
            .into_iter()
            .filter_map(Process::of)
            .collect();
    }

    /// Asks the daemon to end, which ends its containers; what is left of it afterwards is ended too.
    fn stop(mut self) {
        self.note_children();
        if let Some(process) = Process::of(self.daemon.id()) {
            process.signal(Signal::TERM);
        }
        let deadline = Instant::now() + STOP;
        while matches!(self.daemon.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(50));
        }
        // If it has ended, this is an error that does not matter.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        for signal in [Signal::TERM, Signal::KILL] {
            self.children.iter().for_each(|child| child.signal(signal));
            let deadline = Instant::now() + Duration::from_secs(5);
            while self.children.iter().any(|child| child.lives()) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// A daemon in a process group of its own (Ctrl-C must not reach it before its containers have ended), which is
/// asked to end when this process ends in whatever way.
fn end_with_us(command: &mut Command) {
    command.process_group(0);
    let ask =
        || rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from);
    // SAFETY: between fork and exec the closure makes one system call (prctl) and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Takes away what a daemon that was killed left in `run`: pid files whose process is another program by now (dockerd
/// would believe that it runs already), and the socket of a containerd that is gone (dockerd would wait for it).
fn clear_leftovers(run: &Path) -> Result<()> {
    let pid_files = [
        ("docker.pid", "dockerd"),
        ("docker/containerd/containerd.pid", "containerd"),
    ];
    for (file, program) in pid_files.map(|(file, program)| (run.join(file), program)) {
        let Ok(pid) = fs::read_to_string(&file) else {
            continue;
        };
        let comm = fs::read_to_string(format!("/proc/{}/comm", pid.trim())).unwrap_or_default();
        if comm.trim() != program {
            remove(&file)?;
        }
    }
    for socket in
        ["docker/containerd/containerd.sock", "containerd/containerd.sock"].map(|name| run.join(name))
    {
        let answer = UnixStream::connect(&socket);
        if answer.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            remove(&socket)?;
        }
    }
    Ok(())
}

fn remove(file: &Path) -> Result<()> {
    eprintln!(
        "xtask: removing {}, left by a daemon that is gone",
        file.display()
    );
    fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))
}

/// Removes an image, if it is there.
pub(crate) fn remove_image(name: &str) {
    succeeds(program("docker").args(["image", "rm", "--force", name]));
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A daemon beside the machine's own, with everything of its own. It needs namespaces too: a daemon without a
    /// bridge removes the bridge of the other one, and one that does not start leaves mounts.
    fn apart(dir: &Path) -> Daemon {
        let at = |name: &str| dir.join(name).display().to_string();
        let program = ["unshare", "--net", "--mount", "dockerd"].map(str::to_owned);
        let args = [
            "--data-root",
            &at("data"),
            "--exec-root",
            &at("exec"),
            "--pidfile",
            &at("pid"),
        ];
        let mut args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
        args.extend(["--bridge=none", "--iptables=false"].map(str::to_owned));
        Daemon {
            program: program.to_vec(),
            socket: Some(dir.join("sock")),
            args,
            log: dir.join("log"),
        }
    }

    fn soon() -> Instant {
        Instant::now() + START
    }

    #[test]
    #[ignore = "root"]
    fn a_daemon_is_started_and_nothing_of_it_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let daemon = apart(dir.path());
        for _ in 0..2 {
            let engine = daemon.start(soon()).unwrap();
            assert!(engine.is_ours() && daemon.version().is_some());
            let started = engine.started.as_ref().unwrap();
            let mut all = started.children.clone();
            all.extend(Process::of(started.daemon.id()));
            assert!(!all.is_empty());
            drop(engine);
            assert!(daemon.version().is_none());
            assert!(all.iter().all(|process| !process.lives()), "{all:?}");
        }
    }

    #[test]
    #[ignore = "root"]
    fn a_daemon_that_does_not_start_shows_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut daemon = apart(dir.path());
        daemon.args.push("--storage-driver=none-of-that-name".to_owned());
        let error = daemon.start(soon()).err().unwrap().to_string();
        assert!(
            error.contains("dockerd ended") && error.contains("none-of-that-name"),
            "{error}"
        );
    }

    #[test]
    fn leftovers_of_a_daemon_that_is_gone_are_removed() {
        let run = tempfile::tempdir().unwrap();
        let dir = run.path().join("docker/containerd");
        fs::create_dir_all(&dir).unwrap();
        let own_pid = std::process::id().to_string();
        fs::write(run.path().join("docker.pid"), &own_pid).unwrap();
        fs::write(dir.join("containerd.pid"), "0").unwrap();
        drop(UnixListener::bind(dir.join("containerd.sock")).unwrap());
        clear_leftovers(run.path()).unwrap();
        assert!(!run.path().join("docker.pid").exists());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        clear_leftovers(run.path()).unwrap();
    }

    #[test]
    fn the_socket_of_a_daemon_that_lives_stays() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir_all(run.path().join("containerd")).unwrap();
        let socket = run.path().join("containerd/containerd.sock");
        let _alive = UnixListener::bind(&socket).unwrap();
        clear_leftovers(run.path()).unwrap();
        assert!(socket.exists());
    }
}
