//! Runs a probe: its container waits at a gate until rei is attached, then the probe acts and says what it did.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::docker::{Container, Image, Layout, docker};
use crate::host::{cgroup_of, stdout_of, wait_for};
use crate::probe::{Driver, Fixture, Probe, folder, token};
use crate::record::Records;
use crate::rei::Leashed;

/// A probe ends by itself within 10 s.
const LIMIT: Duration = Duration::from_secs(20);
/// Where the probe `handle` and `hostroot` look on the host; the probes and their expectations name them.
const HOST_VOLUME: &str = "/tmp/rei-ev-vol";
const HOST_FOLDER: &str = "/tmp/rei-ev-host";

/// The compiled probes and the image that holds them.
pub(crate) struct Lab {
    image: Image,
    programs: PathBuf,
}

/// What a probe did and what rei said of it.
pub(crate) struct Observed {
    /// The probe's own line.
    pub(crate) truth: Value,
    /// What rei reported.
    pub(crate) records: Records,
}

/// A container at its gate.
struct Gated {
    container: Container,
    docker: Leashed,
    folder: TempDir,
    id: String,
    pid: u32,
}

impl Lab {
    /// Compiles every probe into `REI_EVASIONS_BIN` (default `target/evasions`) and makes the image.
    pub(crate) fn build(probes: &[Probe]) -> Result<Self> {
        let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/evasions");
        let programs = std::env::var_os("REI_EVASIONS_BIN").map_or_else(default, PathBuf::from);
        stdout_of(Command::new("sh").arg(folder().join("build.sh")).arg(&programs))
            .context("cannot compile the probes: run `cargo xtask setup` for gcc and gcc-multilib")?;
        let layout = Layout::new()?;
        let program = |name: &str| {
            let path = programs.join(name);
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        for library in ["lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/libc.so.6"] {
            let path = Path::new("/").join(library);
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            layout.file(Path::new(library), &bytes, 0o755)?;
        }
        layout.folder(Path::new("vol"))?;
        layout.file(Path::new("probes/gate"), &program("gate")?, 0o755)?;
        for probe in probes {
            layout.file(&Path::new("probes").join(&probe.id), &program(&probe.id)?, 0o755)?;
            let root = Path::new("t").join(&probe.id);
            layout.folder(&root)?;
            for fixture in &probe.fixtures {
                match fixture {
                    Fixture::Dir { name } => layout.folder(&root.join(name))?,
                    Fixture::Symlink { name, target } => layout.link(&root.join(name), target)?,
                    Fixture::Program {
                        name,
                        program: source,
                        mode,
                    } => {
                        layout.file(&root.join(name), &program(source)?, u32::from_str_radix(mode, 8)?)?;
                    }
                    Fixture::File(file) => {
                        let path = root.join(OsStr::from_bytes(&file.name()?));
                        layout.file(
                            &path,
                            &file.content(&probe.id)?,
                            u32::from_str_radix(&file.mode, 8)?,
                        )?;
                    }
                }
            }
        }
        Ok(Self {
            image: layout.import()?,
            programs,
        })
    }

    /// Runs one probe under `rei attach`.
    pub(crate) fn observe(&self, probe: &Probe) -> Result<Observed> {
        let helper = Leashed(
            Command::new("sleep")
                .arg("60")
                .spawn()
                .context("cannot run sleep")?,
        );
        let mut gated = self.gate(probe, helper.0.id())?;
        // These probes are under way before rei comes; they wait for SIGUSR2 before they act.
        let early = if probe.driver == Driver::ChildCg {
            Some(gated.let_through_early(&probe.id)?)
        } else {
            None
        };
        let records = gated.folder.path().join("records.jsonl");
        let mut rei = attach(&gated.id, &records, gated.folder.path())?;
        let mut moved_to = None;
        match early {
            Some(pid) => {
                moved_to = Some(move_into_child(pid)?);
                signal(pid, Signal::USR2)?;
            }
            None => signal(gated.pid, Signal::USR1)?,
        }
        let truth = gated.truth(probe)?;
        std::thread::sleep(Duration::from_millis(100));
        signal(rei.0.id(), Signal::INT)?;
        wait_for("rei attach to end", LIMIT, || Ok(rei.0.try_wait()?))?;
        if let Some(path) = moved_to {
            let _ = std::fs::remove_dir(path);
        }
        Ok(Observed {
            truth,
            records: Records::read(&records)?,
        })
    }

    /// Starts the probe's container, whose first process waits at the gate.
    fn gate(&self, probe: &Probe, helper: u32) -> Result<Gated> {
        let container = Container::named(probe.short());
        let folder = tempfile::tempdir().context("cannot make a directory for a probe")?;
        let mut options: Vec<String> = probe.docker_args.clone();
        options.extend(["-e".to_owned(), "REI_GATE=1".to_owned()]);
        options.extend(self.host_side(probe, helper)?);
        let probe_program = format!("/probes/{}", probe.id);
        let command = match probe.driver {
            Driver::DockerExec | Driver::Nsenter => vec!["/probes/gate", "/bin/busybox", "sleep", "20"],
            _ => vec!["/probes/gate", probe_program.as_str()],
        };
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let words = self.image.run(container.name(), &options, &command);
        let docker = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(File::create(folder.path().join("stdout"))?)
            .stderr(File::create(folder.path().join("stderr"))?)
            .spawn()
            .context("cannot run docker")?;
        let docker = Leashed(docker);
        wait_for_text(&folder.path().join("stderr"), "GATE-READY")?;
        let pid = container.wait_running()?;
        let id = container.inspect()?["Id"]
            .as_str()
            .context("docker inspect gave no id")?
            .to_owned();
        Ok(Gated {
            container,
            docker,
            folder,
            id,
            pid,
        })
    }

    /// What some probes need on the host, and how they learn of it.
    fn host_side(&self, probe: &Probe, helper: u32) -> Result<Vec<String>> {
        let secret = |root: &str| -> Result<PathBuf> {
            let folder = Path::new(root).join(&probe.id);
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            std::fs::write(folder.join("secret"), token(&probe.id))?;
            Ok(folder.join("secret"))
        };
        let mut words = Vec::new();
        match probe.driver {
            Driver::Handle => {
                let handle = stdout_of(Command::new(self.programs.join("handle")).arg(secret(HOST_VOLUME)?))?;
                let (digits, kind) = handle
                    .trim()
                    .split_once(' ')
                    .context("handle printed no two words")?;
                words.extend(["-v".to_owned(), format!("{HOST_VOLUME}:/vol:ro")]);
                words.extend(["-e".to_owned(), format!("REI_HANDLE={digits}")]);
                words.extend(["-e".to_owned(), format!("REI_HTYPE={kind}")]);
            }
            Driver::HostRoot => {
                secret(HOST_FOLDER)?;
                words.extend(["-e".to_owned(), format!("REI_HOSTPID={helper}")]);
            }
            Driver::Container | Driver::DockerExec | Driver::Nsenter | Driver::ChildCg => {}
        }
        Ok(words)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(HOST_VOLUME);
        let _ = std::fs::remove_dir_all(HOST_FOLDER);
    }
}

impl Gated {
    /// Opens the gate before rei comes; gives the pid of the probe, which waits for SIGUSR2.
    fn let_through_early(&self, probe: &str) -> Result<u32> {
        signal(self.pid, Signal::USR1)?;
        wait_for_text(&self.folder.path().join("stderr"), "PRE-READY")?;
        let wanted = OsStr::new(probe);
        let children = format!("/proc/{0}/task/{0}/children", self.pid);
        wait_for("the probe behind the gate", LIMIT, || {
            let listed = std::fs::read_to_string(&children)?;
            let runs = |pid: &u32| {
                std::fs::read_link(format!("/proc/{pid}/exe"))
                    .is_ok_and(|exe| exe.file_name() == Some(wanted))
            };
            Ok(listed
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .find(runs))
        })
    }

    /// Waits for the probe's end; gives its line.
    fn truth(&mut self, probe: &Probe) -> Result<Value> {
        let program = format!("/probes/{}", probe.id);
        let from_outside = match probe.driver {
            Driver::DockerExec => {
                let words = ["exec", self.container.name(), program.as_str()];
                Some(Command::new("docker").args(words).output()?)
            }
            Driver::Nsenter => {
                let target = self.pid.to_string();
                let words = [
                    "-t",
                    target.as_str(),
                    "-m",
                    "-u",
                    "-i",
                    "-n",
                    "-p",
                    program.as_str(),
                ];
                Some(Command::new("nsenter").args(words).output()?)
            }
            _ => None,
        };
        let output = match from_outside {
            Some(output) => {
                docker(&["kill", self.container.name()])?;
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            None => {
                wait_for("the probe to end", LIMIT, || Ok(self.docker.0.try_wait()?))?;
                std::fs::read_to_string(self.folder.path().join("stdout"))?
            }
        };
        let line = output.lines().rfind(|line| line.starts_with('{'));
        let line = line.with_context(|| format!("the probe printed no line of JSON: {output}"))?;
        serde_json::from_str(line).with_context(|| format!("the probe's line is no JSON: {line}"))
    }
}

/// Starts `rei attach` and waits until it is armed.
fn attach(container: &str, records: &Path, folder: &Path) -> Result<Leashed> {
    let said = folder.join("attach-stdout");
    let errors = folder.join("attach-stderr");
    let child = Command::new(env!("CARGO_BIN_EXE_rei"))
        .args(["attach", container, "--policy", "observe", "--json", "-o"])
        .arg(records)
        .arg("--log")
        .arg(folder.join("log"))
        .arg("--keys")
        .arg(folder.join("keys"))
        .stdin(Stdio::null())
        .stdout(File::create(&said)?)
        .stderr(File::create(&errors)?)
        .spawn()
        .context("cannot run rei attach")?;
    let mut child = Leashed(child);
    wait_for("rei attach to say ATTACHED", LIMIT, || {
        if std::fs::read_to_string(&said)?
            .lines()
            .any(|line| line == "ATTACHED")
        {
            return Ok(Some(()));
        }
        let ended = child.0.try_wait()?;
        ensure!(
            ended.is_none(),
            "rei attach ended: {}",
            std::fs::read_to_string(&errors)?
        );
        Ok(None)
    })?;
    Ok(child)
}

/// Moves a process into a new cgroup below its own; gives that cgroup.
pub(crate) fn move_into_child(pid: u32) -> Result<PathBuf> {
    let child = cgroup_of(pid)?.join("child");
    std::fs::create_dir(&child).with_context(|| format!("cannot make {}", child.display()))?;
    std::fs::write(child.join("cgroup.procs"), pid.to_string())
        .with_context(|| format!("cannot move {pid} into {}", child.display()))?;
    Ok(child)
}

fn wait_for_text(path: &Path, wanted: &str) -> Result<()> {
    let read = || std::fs::read_to_string(path).unwrap_or_default();
    let seen = wait_for(wanted, LIMIT, || Ok(read().contains(wanted).then_some(())));
    seen.with_context(|| format!("{} says: {}", path.display(), read()))
}

fn signal(pid: u32, signal: Signal) -> Result<()> {
    let target = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .context("a pid is above zero")?;
    kill_process(target, signal).with_context(|| format!("cannot signal process {pid}"))
}
