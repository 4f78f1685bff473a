//! A policy bound to one container: every pattern in one automaton, every prefix in one trie.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::cidr::{Cidr, CidrTrie};
use crate::found::FoundProgram;
use crate::glob::{Glob, Variable};
use crate::paths::PathMatcher;
use crate::policy::{Destination, Policy};
use crate::tripwire::lexical::is_below;

/// Directories of the image that are remembered. Beyond that, listing a directory that was written to trips.
const LOWER_DIRECTORIES_MAX: usize = 65_536;

/// Mounts that every container has beside its root.
const USUAL_MOUNTS: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// What is known of the place where the policy applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Path of the entrypoint's program or script.
    pub entrypoint: Option<Vec<u8>>,
    /// The working directory.
    pub workdir: Option<Vec<u8>>,
    /// Mount points beside the root; `None` if nobody knows them.
    pub mounts: Option<Vec<Vec<u8>>>,
    /// Those of them that cannot be written from inside.
    pub read_only_mounts: Vec<Vec<u8>>,
    /// Declared programs, as they were found when the run started.
    pub programs: Vec<FoundProgram>,
}

/// A rule that a path can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathRule {
    Input(usize),
    Output(usize),
    Unix(usize),
    Program(usize),
    Ambient(usize),
}

/// A policy, ready to answer for one container.
#[derive(Debug)]
pub struct Matcher {
    pub(super) policy: Arc<Policy>,
    bindings: Bindings,
    paths: PathMatcher,
    path_rules: Vec<PathRule>,
    networks: CidrTrie,
    /// Names and files of declared programs that were found → places of their rules.
    found: HashMap<Vec<u8>, Vec<usize>>,
    /// Directories that are known to exist in the image.
    lower: HashSet<Vec<u8>>,
    /// What was tried, if somebody wants to know.
    trace: Option<Vec<String>>,
}

impl Bindings {
    /// The variables of patterns and gate rules.
    #[must_use]
    pub fn variables(&self) -> [Variable<'_>; 2] {
        [
            Variable("entrypoint", self.entrypoint.as_deref()),
            Variable("workdir", self.workdir.as_deref()),
        ]
    }
}

impl Matcher {
    /// Binds the policy.
    ///
    /// # Errors
    /// If its patterns together are too large.
    pub fn bind(policy: &Arc<Policy>, bindings: Bindings) -> Result<Self, String> {
        let variables = bindings.variables();
        let inputs = policy.inputs.iter().map(|rule| &rule.what).enumerate();
        let outputs = policy.outputs.iter().map(|rule| &rule.what).enumerate();
        let unix = policy.unix.iter().map(|rule| &rule.what).enumerate();
        let programs = policy.programs.iter().enumerate();
        let programs = programs.filter_map(|(place, rule)| Some((place, rule.what.name.pattern()?)));
        let ambient = policy.ambient.iter().map(|row| &row.pattern).enumerate();
        let all = inputs
            .map(|(place, pattern)| (PathRule::Input(place), pattern))
            .chain(outputs.map(|(place, pattern)| (PathRule::Output(place), pattern)))
            .chain(unix.map(|(place, pattern)| (PathRule::Unix(place), pattern)))
            .chain(programs.map(|(place, pattern)| (PathRule::Program(place), pattern)))
            .chain(ambient.map(|(place, pattern)| (PathRule::Ambient(place), pattern)));
        let bound: Vec<(PathRule, Glob)> = all
            .filter_map(|(rule, pattern)| Some((rule, pattern.bind(&variables)?)))
            .collect();
        let paths = PathMatcher::new(bound.iter().map(|(_, glob)| glob))?;
        Ok(Matcher {
            paths,
            path_rules: bound.into_iter().map(|(rule, _)| rule).collect(),
            networks: networks(policy),
            found: found(&bindings.programs),
            lower: HashSet::from([b"/".to_vec()]),
            trace: None,
            policy: Arc::clone(policy),
            bindings,
        })
    }

    /// The policy that is bound.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// What it is bound to.
    #[must_use]
    pub fn bindings(&self) -> &Bindings {
        &self.bindings
    }

    /// From now on [`Self::take_trace`] tells what was tried.
    pub fn start_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// What was tried since [`Self::start_trace`].
    pub fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }

    pub(super) fn note(&mut self, words: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(words());
        }
    }

    /// Every rule whose pattern matches the path.
    pub(super) fn rules_for(&mut self, path: &[u8]) -> Vec<PathRule> {
        let places = self.paths.matching(path);
        places.into_iter().map(|place| self.path_rules[place]).collect()
    }

    pub(super) fn network_rules_for(&self, address: std::net::IpAddr) -> Vec<usize> {
        let mut rules = self.networks.matching(address);
        rules.sort_unstable();
        rules
    }

    /// Whether the text lies under no mount but the container's own root.
    pub(super) fn is_on_root(&self, path: &[u8]) -> bool {
        let Some(mounts) = &self.bindings.mounts else {
            return false;
        };
        path.starts_with(b"/")
            && !USUAL_MOUNTS.iter().any(|mount| is_below(path, mount))
            && !mounts.iter().any(|mount| is_below(path, mount))
    }

    pub(super) fn is_on_read_only_mount(&self, path: &[u8]) -> bool {
        let mounts = self.bindings.mounts.iter().flatten();
        // The innermost mount counts.
        let innermost = mounts
            .filter(|mount| is_below(path, mount))
            .max_by_key(|mount| mount.len());
        innermost.is_some_and(|mount| self.bindings.read_only_mounts.contains(mount))
    }

    /// An object of the image was seen at this path: every directory above it is in the image too.
    pub fn saw_image(&mut self, path: &[u8], is_directory: bool) {
        let mut end = if is_directory {
            Some(path.len())
        } else {
            parent(path)
        };
        while let Some(length) = end {
            let directory = &path[..length];
            if directory.is_empty()
                || self.lower.len() >= LOWER_DIRECTORIES_MAX
                || !self.lower.insert(directory.to_vec())
            {
                return;
            }
            end = parent(directory);
        }
    }

    /// Whether a directory is known to be in the image, whatever was written into it since.
    #[must_use]
    pub fn is_lower_directory(&self, path: &[u8]) -> bool {
        self.lower.contains(path)
    }

    /// Places of the program rules that mean this path: by their patterns, and by what they were found to lead to.
    pub(super) fn program_rules_for(&mut self, path: &[u8]) -> Vec<usize> {
        let mut places: Vec<usize> = self
            .rules_for(path)
            .into_iter()
            .filter_map(|rule| match rule {
                PathRule::Program(place) => Some(place),
                _ => None,
            })
            .collect();
        places.extend(self.found.get(path).into_iter().flatten());
        places.sort_unstable();
        places.dedup();
        places
    }

    /// What was found for a program rule; `None` if nothing was looked for.
    pub(super) fn found_for(&self, place: usize) -> Option<&FoundProgram> {
        self.bindings.programs.iter().find(|found| found.place == place)
    }
}

fn found(programs: &[FoundProgram]) -> HashMap<Vec<u8>, Vec<usize>> {
    let mut places: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for program in programs {
        for path in [&program.name, &program.path].into_iter().flatten() {
            places.entry(path.clone()).or_default().push(program.place);
        }
    }
    places
}

/// Length of the directory's path.
fn parent(path: &[u8]) -> Option<usize> {
    path.iter().rposition(|byte| *byte == b'/')
}

fn networks(policy: &Policy) -> CidrTrie {
    let mut trie = CidrTrie::default();
    for (place, rule) in policy.network.iter().enumerate() {
        match &rule.what.to {
            Destination::Net(cidr) => trie.insert(*cidr, place),
            Destination::Name(name) => {
                for address in policy.resolved.get(name).into_iter().flatten() {
                    trie.insert(Cidr::of(*address), place);
                }
            }
        }
    }
    trie
}
