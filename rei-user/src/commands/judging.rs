//! The policy of a run: found, extended, resolved and approved before anything starts.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use sha2::{Digest, Sha256};

use super::say;
use crate::cli::PolicyArgs;
use crate::enrich::Target;
use crate::policy::{Approval, Checked, Extension, Policy, Terminal, approval};
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
    if target == Target::Container && policy.programs.iter().any(|rule| rule.what.sha256.is_some()) {
        say(
            "rei cannot read programs of an image yet: a program rule with sha256 allows nothing in a container",
        );
    }
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
    Bindings {
        entrypoint: None,
        workdir: workdir.map(|path| path.as_os_str().as_bytes().to_vec()),
        mounts,
        read_only_mounts: Vec::new(),
        verified: verified_programs(policy),
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

/// Files that have the SHA-256 of the rule that names them.
fn verified_programs(policy: &Policy) -> Vec<PathBuf> {
    let wanted = policy.programs.iter().filter_map(|rule| {
        let path = rule.what.path.fixed().filter(|glob| glob.is_literal())?;
        Some((PathBuf::from(path.text()), rule.what.sha256?))
    });
    wanted
        .filter(|(path, digest)| {
            let is_same = sha256(path).is_ok_and(|found| found == *digest);
            if !is_same {
                say(format_args!(
                    "{} does not have the SHA-256 that the policy names: the rule allows nothing",
                    path.display()
                ));
            }
            is_same
        })
        .map(|(path, _)| path)
        .collect()
}

fn sha256(path: &Path) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let mut file = fs::File::open(path)?;
    let mut chunk = vec![0; 64 << 10];
    loop {
        match io::Read::read(&mut file, &mut chunk)? {
            0 => return Ok(digest.finalize().into()),
            count => digest.update(&chunk[..count]),
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

    #[test]
    fn programs_are_verified_by_their_content() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("empty");
        fs::write(&file, "").unwrap();
        let text = |digest: &str| {
            format!(
                "programs = [{{ path = {:?}, sha256 = \"{digest}\" }}]",
                file.display()
            )
        };
        let verified =
            |digest: &str| verified_programs(&Policy::parse(&text(digest), Source::Shipped).unwrap().policy);
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(verified(empty), std::slice::from_ref(&file));
        assert!(verified(&empty.replace('e', "0")).is_empty());
    }
}
