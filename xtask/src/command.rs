//! Child programs: said before they run, stopped with all their descendants when their time is over.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The checkout's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// A directory of our own below the target directory, made if absent.
pub(crate) fn work_dir() -> Result<PathBuf> {
    let dir = target().join("xtask");
    fs::create_dir_all(&dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    Ok(dir)
}

/// A program to be run at the checkout's root, with the places where set-up installs programs in its PATH.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).env("PATH", path());
    command
}

/// `cargo` at the checkout's root. Rust's own variables of the outer cargo are not handed on.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program("cargo");
    command.args(args);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO" {
            command.env_remove(&name);
        }
    }
    command
}

/// Where a program of that name lies, if it is anywhere in PATH.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&path())
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Whether the program runs and ends well; its output is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What the program prints, without the last line end.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = display(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Says what it runs, runs it, and fails if it fails or is not done at `deadline`.
pub(crate) fn run(command: &mut Command, deadline: Instant) -> Result<()> {
    let shown = display(command);
    eprintln!("+ {shown}");
    let child = command.spawn().with_context(|| format!("cannot run `{shown}`"))?;
    settle(child, &shown, deadline)
}

/// Like [`run`], for a command that may fail: gives how it ended.
pub(crate) fn run_to_its_end(command: &mut Command, deadline: Instant) -> Result<ExitStatus> {
    let shown = display(command);
    eprintln!("+ {shown}");
    let child = command.spawn().with_context(|| format!("cannot run `{shown}`"))?;
    end_of(child, &shown, deadline)
}

/// Like [`run`]; every line that it prints, on stdout or stderr, goes to `take` in the order in which it came.
pub(crate) fn run_lines(command: &mut Command, deadline: Instant, mut take: impl FnMut(&str)) -> Result<()> {
    let shown = display(command);
    eprintln!("+ {shown}");
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    command
        .stdout(writer.try_clone().context("cannot copy a pipe")?)
        .stderr(writer);
    let child = command.spawn().with_context(|| format!("cannot run `{shown}`"))?;
    // The command holds our ends of the pipe: without them gone, the pipe would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let waiting = thread::spawn({
        let shown = shown.clone();
        move || settle(child, &shown, deadline)
    });
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .with_context(|| format!("cannot read from `{shown}`"))?
        > 0
    {
        take(String::from_utf8_lossy(&line).trim_end_matches('\n'));
        line.clear();
    }
    waiting
        .join()
        .unwrap_or_else(|_| bail!("the thread that waited for `{shown}` died"))
}

/// Waits for the child; at the deadline it is stopped with all its descendants.
fn settle(child: Child, shown: &str, deadline: Instant) -> Result<()> {
    let status = end_of(child, shown, deadline)?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

fn end_of(mut child: Child, shown: &str, deadline: Instant) -> Result<ExitStatus> {
    let id = child.id();
    let (done, over) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        let late = over.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let late = matches!(late, Err(RecvTimeoutError::Timeout));
        if late {
            stop_tree(id);
        }
        late
    });
    let status = child.wait().with_context(|| format!("cannot wait for `{shown}`"));
    drop(done);
    if watchdog.join().unwrap_or(false) {
        bail!("`{shown}` was stopped: its time was over");
    }
    status
}

/// Asks a process and all its descendants to end, and ends those that have not after a while.
fn stop_tree(pid: u32) {
    let mut tree = vec![pid];
    let mut next = 0;
    while next < tree.len() {
        tree.extend(children(tree[next]));
        next += 1;
    }
    let tree: Vec<_> = tree.into_iter().filter_map(Process::of).collect();
    tree.iter().for_each(|process| process.signal(Signal::TERM));
    thread::sleep(Duration::from_secs(5));
    tree.iter().for_each(|process| process.signal(Signal::KILL));
}

/// A process, known by its id and the time of its start: ids are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
    start_ticks: u64,
}

impl Process {
    /// The process that has this id now.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Some(Self {
            pid,
            start_ticks: stat_field(pid, 19)?,
        })
    }

    /// Whether it has not ended yet.
    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends a signal, if it has not ended yet.
    pub(crate) fn signal(self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
            && self.lives()
        {
            // An error means that it has ended meanwhile, which is what we want.
            let _ = kill_process(pid, signal);
        }
    }
}

/// The processes whose parent is `pid`.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| parent(*child) == Some(pid)).collect()
}

/// The parent of a process.
fn parent(pid: u32) -> Option<u32> {
    stat_field(pid, 1)?.try_into().ok()
}

/// A field of `/proc/PID/stat`, counted from the one after the program's name.
fn stat_field(pid: u32, field: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(field)?.parse().ok()
}

/// The command as a person would type it.
pub(crate) fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| quoted(&word.to_string_lossy()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell would want it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

/// PATH, with the directories where cargo and the system's package manager put programs that we need.
fn path() -> std::ffi::OsString {
    let given = env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = env::split_paths(&given).collect();
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let more = cargo_home.map(|home| home.join("bin")).into_iter();
    for dir in more.chain(["/usr/sbin", "/sbin"].map(PathBuf::from)) {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    env::join_paths(dirs).unwrap_or(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn lines_of_both_streams_arrive_in_order() {
        let mut seen = Vec::new();
        let script = "echo one; echo two >&2; printf three";
        run_lines(program("sh").args(["-c", script]), soon(), |line| {
            seen.push(line.to_owned())
        })
        .unwrap();
        assert_eq!(seen, ["one", "two", "three"]);
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = run(program("sh").args(["-c", "exit 3"]), soon())
            .unwrap_err()
            .to_string();
        assert!(error.contains("sh -c 'exit 3'") && error.contains('3'), "{error}");
    }

    #[test]
    fn what_outlives_its_time_is_stopped_with_its_descendants() {
        let started = Instant::now();
        let mut inner = String::new();
        let script = "sh -c 'echo $$; exec sleep 60' & wait";
        let deadline = started + Duration::from_secs(1);
        let error = run_lines(program("sh").args(["-c", script]), deadline, |line| {
            inner = line.to_owned()
        });
        assert!(error.unwrap_err().to_string().contains("its time was over"));
        assert!(started.elapsed() < Duration::from_secs(20));
        let pid: u32 = inner.parse().unwrap();
        assert_ne!(
            fs::read_to_string(format!("/proc/{pid}/comm")).ok().as_deref(),
            Some("sleep\n")
        );
    }

    #[test]
    fn words_with_blanks_are_quoted() {
        assert_eq!(display(Command::new("echo").args(["a b", "c"])), "echo 'a b' c");
    }
}
