//! The entrypoint chain: which executions are the container's own start and which are not.
//!
//! The entrypoint is decided in the kernel. From it follow, without any fork: the target of `#!/usr/bin/env
//! X`, and the programs of the image that Entrypoint or Cmd name; and, under `--init`, the first execution of
//! docker-init's first child, which then stands where the entrypoint stood.
//!
//! Not told, so not in the chain: a named script, because the kernel's object is its interpreter and the
//! script's own origin is not known; anything that only the engine's facts could tell while there are none.

use rei_ebpf_common::evidence;

use crate::engine::ContainerFacts;
use crate::enrich::origin::Origin;
use crate::enrich::text::join;

/// An execution's place in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chain {
    /// The first workload execution, with its interpreter where it is a script.
    Entrypoint,
    /// The target of the entrypoint's `#!/usr/bin/env`.
    Interpreter,
    /// What docker-init starts.
    InitChild,
    /// A program of the image that Entrypoint or Cmd name, executed by the entrypoint process itself.
    Named,
}

impl Chain {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Chain::Entrypoint => "entrypoint",
            Chain::Interpreter => "interpreter",
            Chain::InitChild => "init_child",
            Chain::Named => "named",
        }
    }
}

/// What a process is to the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    #[default]
    Other,
    /// The entrypoint process, or docker-init's child: what it executes itself may belong to the chain.
    Lead(Lead),
    /// The entrypoint process's first child, before its first execution.
    FirstChild,
}

/// What is awaited of a leading process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    /// The program that `env` was asked for by the script's first line.
    env_target: Option<Vec<u8>>,
    /// Its next child is its first one.
    is_childless_entrypoint: bool,
}

impl Standing {
    /// What the child of a fork stands for.
    pub(super) fn fork(&mut self) -> Standing {
        match self {
            Standing::Lead(lead) if lead.is_childless_entrypoint => {
                lead.is_childless_entrypoint = false;
                Standing::FirstChild
            }
            _ => Standing::Other,
        }
    }
}

/// One execution, as far as the chain is concerned.
pub(super) struct Execution<'a> {
    /// Bits of [`evidence`].
    pub(super) evidence: u32,
    /// What exec was asked for, absolute.
    pub(super) asked: Option<&'a [u8]>,
    /// The program's path.
    pub(super) program: Option<&'a [u8]>,
    /// The program's origin.
    pub(super) origin: &'a Origin,
    /// The interpreter's name, where it is a script.
    pub(super) interpreter: Option<&'a [u8]>,
    /// The new program's arguments.
    pub(super) argv: &'a [&'a [u8]],
}

/// The execution's place in the chain, and what the process stands for afterwards.
pub(super) fn follow(
    standing: Standing,
    execution: &Execution<'_>,
    facts: Option<&ContainerFacts>,
) -> (Option<Chain>, Standing) {
    let lead = |is_childless_entrypoint| {
        Standing::Lead(Lead {
            env_target: env_target(execution),
            is_childless_entrypoint,
        })
    };
    if execution.evidence & evidence::ENTRYPOINT != 0 {
        return (Some(Chain::Entrypoint), lead(true));
    }
    match standing {
        Standing::Other => (None, Standing::Other),
        Standing::FirstChild if facts.is_some_and(|facts| facts.init) => {
            (Some(Chain::InitChild), lead(false))
        }
        Standing::FirstChild => (None, Standing::Other),
        Standing::Lead(Lead {
            env_target,
            is_childless_entrypoint,
        }) => {
            let is_target = env_target.is_some_and(|target| is_found_as(&target, execution, facts));
            let chain = if is_target {
                Some(Chain::Interpreter)
            } else {
                is_named(execution, facts).then_some(Chain::Named)
            };
            (
                chain,
                Standing::Lead(Lead {
                    env_target: None,
                    is_childless_entrypoint,
                }),
            )
        }
    }
}

/// The program that `env` will look for, if the execution is a script whose first line names `env`.
///
/// The kernel makes argv of it: the interpreter, the rest of the line as one argument, the script's path.
fn env_target(execution: &Execution<'_>) -> Option<Vec<u8>> {
    if execution.evidence & evidence::SCRIPT == 0 || base_name(execution.interpreter?) != b"env" {
        return None;
    }
    let line = *execution.argv.get(1)?;
    let split = [&b"-S"[..], b"--split-string="]
        .into_iter()
        .find_map(|option| line.strip_prefix(option));
    let Some(split) = split else {
        return (!line.starts_with(b"-")).then(|| line.to_vec());
    };
    let mut words = split
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let target = words.find(|word| !word.contains(&b'='))?;
    (!target.starts_with(b"-")).then(|| target.to_vec())
}

/// Whether the execution is one of a program of the image that Entrypoint or Cmd name.
fn is_named(execution: &Execution<'_>, facts: Option<&ContainerFacts>) -> bool {
    let Some(known) = facts else { return false };
    let mut words = known.argv.iter().map(String::as_bytes);
    // One file may hold many programs: the name counts, and the file that it led to in the image.
    let is_word = words.any(|word| is_found_as(word, execution, facts));
    // Without layers nobody can tell a name that the container made lead elsewhere.
    let is_file = known.named.as_ref().is_none_or(|named| {
        let program = execution.program.unwrap_or_default();
        named.iter().any(|file| file == program)
    });
    *execution.origin == Origin::Image && execution.evidence & evidence::SCRIPT == 0 && is_word && is_file
}

/// Whether `word`, looked up as a shell would, is the execution's file. Lexically: symlinks were followed by
/// the kernel, so what was asked for is compared as well as what was found.
fn is_found_as(word: &[u8], execution: &Execution<'_>, facts: Option<&ContainerFacts>) -> bool {
    let is_file = |path: &[u8]| execution.asked == Some(path) || execution.program == Some(path);
    if word.is_empty() {
        return false;
    }
    if word.starts_with(b"/") {
        return is_file(word);
    }
    let Some(facts) = facts else { return false };
    if word.contains(&b'/') {
        let workdir = facts
            .workdir
            .as_deref()
            .filter(|directory| !directory.is_empty())
            .unwrap_or("/");
        return is_file(&join(
            workdir.as_bytes(),
            word.strip_prefix(b"./").unwrap_or(word),
        ));
    }
    let directories = facts.search_path.as_deref().unwrap_or_default().split(':');
    directories
        .filter(|directory| directory.starts_with('/'))
        .any(|directory| is_file(&join(directory.as_bytes(), word)))
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(first_line_rest: &'static [u8]) -> Option<Vec<u8>> {
        env_target(&Execution {
            evidence: evidence::SCRIPT,
            asked: None,
            program: None,
            origin: &Origin::Image,
            interpreter: Some(b"/usr/bin/env"),
            argv: &[b"/usr/bin/env", first_line_rest, b"/script"],
        })
    }

    #[test]
    fn the_target_of_env_is_read_from_the_first_line() {
        let table: [(&[u8], Option<&[u8]>); 7] = [
            (b"python3", Some(b"python3")),
            (b"/opt/x/python", Some(b"/opt/x/python")),
            (b"-S python3 -u", Some(b"python3")),
            (b"-S A=1 B=2 node --flag", Some(b"node")),
            (b"--split-string=perl -w", Some(b"perl")),
            (b"-i", None),
            (b"-S -i python3", None),
        ];
        for (line, target) in table {
            assert_eq!(script(line).as_deref(), target);
        }
    }
}
