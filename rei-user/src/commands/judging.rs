//! The policy of a run: found, extended, resolved and approved before anything starts.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};

use super::say;
use crate::cli::PolicyArgs;
use crate::engine::ContainerFacts;
use crate::enrich::Target;
use crate::found::{self, FoundProgram, Search};
use crate::policy::{Approval, Checked, Extension, Policy, ProgramName, Terminal, approval};
use crate::quote::quote;
use crate::recorder::Container;
use crate::tripwire::Bindings;

/// The policy for containers if none is named.
const DEFAULT_FOR_CONTAINERS: &str = "ambient-only";
/// The policy for plain commands if none is named: they have no image, so nothing is bundled.
const DEFAULT_FOR_COMMANDS: &str = "observe";

/// The policy that was asked for, ready to judge.
pub(super) fn policy(args: &PolicyArgs, target: Target) -> Result<Arc<Policy>> {
    let default = match target {
        Target::Container => DEFAULT_FOR_CONTAINERS,
        Target::Plain => DEFAULT_FOR_COMMANDS,
    };
    if target == Target::Plain && args.policy.is_none() {
        say("a plain command has no image: policy observe, tripwires are recorded and not judged");
    }
    let named = args.policy.clone().unwrap_or_else(|| PathBuf::from(default));
    let Checked { mut policy, warnings } = Policy::load(&named)?;
    for warning in warnings {
        say(format_args!("warning: {}: {warning}", named.display()));
    }
    for extension in args.extensions() {
        let is_silent = extension.kind == crate::policy::ExtensionKind::Env && policy.env.is_none();
        if is_silent {
            say(format_args!(
                "{extension} changes nothing: the policy does not judge environment names"
            ));
        }
        policy.extend(extension).map_err(|message| anyhow!(message))?;
    }
    if let Some(severity) = args.fail_on {
        policy.fail_on = severity;
    }
    policy.resolve_names(look_up).map_err(|(name, error)| {
        anyhow!("cannot look up {name:?} of the policy: {error}; write its addresses instead")
    })?;
    let terminal = if io::stdin().is_terminal() && io::stderr().is_terminal() {
        Terminal::Interactive
    } else {
        Terminal::Absent
    };
    approve(&policy, args.allow_unsafe, terminal, ask)?;
    Ok(Arc::new(policy))
}

fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut addresses: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    Ok(addresses)
}

fn approve(
    policy: &Policy,
    is_allowed: bool,
    terminal: Terminal,
    ask: impl FnOnce(&Policy) -> Result<bool>,
) -> Result<()> {
    match approval(policy, is_allowed, terminal) {
        Approval::Start => Ok(()),
        Approval::Ask if ask(policy)? => Ok(()),
        Approval::Ask => bail!(
            "the unsafe policy {} was not approved; nothing was started",
            policy.name
        ),
        Approval::Refuse => bail!(
            "the policy {} is unsafe and nobody can be asked; give --allow-unsafe, or set mode = \"safe\"",
            policy.name
        ),
    }
}

fn ask(policy: &Policy) -> Result<bool> {
    let mut stderr = io::stderr();
    write!(
        stderr,
        "rei: the policy {} is unsafe: tripwires are recorded and not judged. Go on? [y/N] ",
        policy.name
    )
    .and_then(|()| stderr.flush())
    .context("cannot ask at the terminal")?;
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// What is known about the place of a plain command: the host.
pub(super) fn host_bindings(policy: &Policy) -> Bindings {
    let mounts = fs::read("/proc/self/mountinfo")
        .ok()
        .map(|table| mount_points(&table));
    let workdir = std::env::current_dir().ok();
    let workdir = workdir.map(|path| path.as_os_str().as_bytes().to_vec());
    let search_path = std::env::var_os("PATH").map(|path| path.to_string_lossy().into_owned());
    let search = Search {
        search_path: search_path.as_deref(),
        workdir: workdir.as_deref(),
    };
    let programs = found::on_host(policy, search);
    complain(policy, &programs);
    Bindings {
        entrypoint: None,
        workdir,
        mounts,
        read_only_mounts: Vec::new(),
        programs,
    }
}

/// Mount points beside the root.
fn mount_points(table: &[u8]) -> Vec<Vec<u8>> {
    let field = |line: &[u8]| line.split(|byte| *byte == b' ').nth(4).map(unescape);
    table
        .split(|byte| *byte == b'\n')
        .filter_map(field)
        .filter(|path| path != b"/")
        .collect()
}

/// `\040` and the like: proc_pid_mountinfo(5).
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = field;
    while let Some((byte, tail)) = rest.split_first() {
        let digits = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(value) if *byte == b'\\' => {
                out.push(value);
                rest = &tail[3..];
            }
            _ => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    out
}

/// A container that the engine described, with the programs of its image that the policy declares.
pub(super) async fn described(
    policy: &Arc<Policy>,
    facts: ContainerFacts,
    cgroup_path: Option<String>,
) -> Container {
    let own = (Arc::clone(policy), facts.clone());
    // Files are read; the signals that rei awaits meanwhile must not wait for them.
    let found =
        tokio::task::spawn_blocking(move || (found::named(&own.1), found::in_container(&own.0, &own.1)));
    let (named, programs) = found.await.unwrap_or_default();
    let facts = ContainerFacts { named, ..facts };
    complain(policy, &programs);
    Container {
        facts,
        programs,
        cgroup_path,
        source: "engine",
    }
}

/// A container of which nothing but its id is known.
pub(super) fn by_id_alone(policy: &Policy, id: &str, cgroup_path: Option<String>) -> Container {
    let facts = ContainerFacts {
        id: id.to_owned(),
        ..ContainerFacts::default()
    };
    Container {
        programs: found::in_container(policy, &facts),
        facts,
        cgroup_path,
        source: "cgroup",
    }
}

/// Says which rules allow nothing, because what they mean was not found.
fn complain(policy: &Policy, programs: &[FoundProgram]) {
    for found in programs {
        let Some(rule) = policy.programs.get(found.place) else {
            continue;
        };
        let is_needed = rule.what.sha256.is_some() || matches!(rule.what.name, ProgramName::Command(_));
        if let Some(fault) = found.fault.as_ref().filter(|_| is_needed) {
            say(format_args!(
                "{} allows nothing: {fault}",
                quote(found.rule.as_bytes())
            ));
        }
    }
}

impl PolicyArgs {
    /// The options that extend the policy, kind by kind.
    fn extensions(&self) -> Vec<Extension> {
        use crate::policy::ExtensionKind::{Connect, Env, Exec, Read, Write};
        let lists = [
            (Read, &self.allow_read),
            (Write, &self.allow_write),
            (Connect, &self.allow_connect),
            (Exec, &self.allow_exec),
            (Env, &self.allow_env),
        ];
        lists
            .into_iter()
            .flat_map(|(kind, values)| {
                values.iter().map(move |value| Extension {
                    kind,
                    value: value.clone(),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Source;

    #[test]
    fn an_unsafe_policy_of_ones_own_has_to_be_wanted() {
        let own = Policy::parse("mode = \"unsafe\"", Source::File("mine.toml".into()))
            .unwrap()
            .policy;
        let never = |_: &Policy| -> Result<bool> { panic!("nobody may be asked") };
        assert!(approve(&own, true, Terminal::Absent, never).is_ok());
        assert!(approve(&own, false, Terminal::Interactive, |_| Ok(true)).is_ok());
        let no = approve(&own, false, Terminal::Interactive, |_| Ok(false)).unwrap_err();
        assert!(no.to_string().contains("not approved"), "{no}");
        let nobody = approve(&own, false, Terminal::Absent, never).unwrap_err();
        assert!(nobody.to_string().contains("--allow-unsafe"), "{nobody}");
    }

    #[test]
    fn mount_points_are_read_from_the_kernels_table() {
        let table = b"21 1 8:1 / / rw - ext4 x rw\n22 21 0:5 / /proc rw - proc p rw\n23 21 0:6 / /a\\040b\\134c rw - tmpfs t rw\n";
        assert_eq!(mount_points(table), [b"/proc".to_vec(), b"/a b\\c".to_vec()]);
    }
}
