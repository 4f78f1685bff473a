//! I3: programs.

use std::sync::Arc;

use crate::enrich::{Chain, Origin};
use crate::policy::{Program, ProgramName, Rule};
use crate::tripwire::file::{absent, origin_word};
use crate::tripwire::lexical::plain;
use crate::tripwire::matcher::Matcher;
use crate::tripwire::operation::{Circumstance, Execution, ExecutionAttempt};
use crate::tripwire::{Answer, Ground, Trip, Wire};

impl Matcher {
    /// Whether the execution trips I3: by its program, and by the names in its environment.
    pub fn execution(&mut self, execution: &Execution<'_>, circumstance: &Circumstance) -> Answer {
        let mut answer = self.program(execution, circumstance);
        if let Some(why) = self.undeclared_names(execution) {
            answer.ground = None;
            answer.trips.push(Trip {
                wire: Wire::I3,
                attempted: None,
                why,
                hint: None,
            });
        }
        if self.policy.env.is_some() && !execution.is_env_whole {
            answer.lacks = Some("env_names");
        }
        answer
    }

    fn program(&mut self, execution: &Execution<'_>, circumstance: &Circumstance) -> Answer {
        if !circumstance.is_settled() {
            let why = format!(
                "the program is {}, and that is never allowed",
                circumstance.confidence.name()
            );
            return Answer::tripped(Wire::I3, circumstance, why);
        }
        let Some(path) = execution.path.filter(|_| !circumstance.is_path_cut) else {
            return Answer::tripped(
                Wire::I3,
                circumstance,
                "its path is cut or not known, and that is never allowed",
            );
        };
        if let Some(chain) = execution.chain {
            if is_chain_origin(chain, execution.origin) {
                return Answer::allowed(Ground::Chain);
            }
            self.note(|| "the entrypoint chain: no: the program is not from the image".to_owned());
        }
        match self.declared_program(path, execution) {
            Declared::By(rule) => Answer::allowed(Ground::Declared { rule }),
            Declared::Not { why, lacks } => {
                let why = why.unwrap_or_else(|| self.undeclared(execution));
                Answer {
                    lacks,
                    ..Answer::tripped(Wire::I3, circumstance, why)
                }
            }
        }
    }

    /// The rule that declares the program, or why the nearest one does not.
    fn declared_program(&mut self, path: &[u8], execution: &Execution<'_>) -> Declared {
        // What was asked for is a name that the workload chose; of a script nothing else is known, and what it is
        // shows when its interpreter opens it.
        let name = execution.script.unwrap_or(path);
        let plain = plain(name);
        let places = if plain.has_parents {
            Vec::new()
        } else {
            self.program_rules_for(&plain.path)
        };
        let policy = Arc::clone(&self.policy);
        let (mut lacks, mut why) = (None, None);
        for place in places {
            let rule = &policy.programs[place];
            let other = self.is_other_name(place, execution).then_some(OTHER_NAME);
            let objection = match other.or_else(|| self.program_objection(&rule.what, execution)) {
                Some(objection) => objection.to_owned(),
                None => match self.digest_objection(place, &rule.what, path, execution) {
                    Some(objection) => {
                        why.get_or_insert_with(|| format!("{}: {objection}", rule.name));
                        objection
                    }
                    None => return Declared::By(rule.name.clone()),
                },
            };
            if objection == ARGV_IS_CUT {
                lacks = Some("argv");
            }
            self.note(|| format!("{}: no: {objection}", rule.name));
        }
        self.note(|| format!("no other rule of {} for programs matches", policy.programs.len()));
        let is_bare = |rule: &&Rule<Program>| matches!(rule.what.name, ProgramName::Command(_));
        let bare = policy.programs.iter().filter(is_bare).count();
        if bare > 0 && self.bindings().programs.is_empty() {
            self.note(|| format!("{bare} bare name(s) are looked up when a run starts, and were not here"));
        }
        Declared::Not { why, lacks }
    }

    /// Whether the program was asked for by another name than the symlink that the rule means.
    fn is_other_name(&self, place: usize, execution: &Execution<'_>) -> bool {
        let found = self.found_for(place).map(|found| (&found.name, &found.path));
        let (Some((Some(name), Some(path))), Some(asked), None) = (found, execution.asked, execution.script)
        else {
            return false;
        };
        name != path
            && ![name, path]
                .into_iter()
                .any(|own| base_name(own) == base_name(asked))
    }

    /// What is against a rule's SHA-256.
    fn digest_objection(
        &self,
        place: usize,
        program: &Program,
        path: &[u8],
        execution: &Execution<'_>,
    ) -> Option<String> {
        program.sha256?;
        if execution.script.is_some() {
            return Some(
                "what a script holds when it runs is not known, so its SHA-256 proves nothing".to_owned(),
            );
        }
        let Some(found) = self.found_for(place) else {
            return Some("rei did not read the file when the run started".to_owned());
        };
        match &found.fault {
            Some(fault) => Some(fault.clone()),
            None if found.path.as_deref() != Some(path) => {
                Some("another file than the one that rei read when the run started".to_owned())
            }
            None if found.sha256 != program.sha256 => Some("rei has not read its SHA-256".to_owned()),
            None => None,
        }
    }

    fn program_objection(&self, program: &Program, execution: &Execution<'_>) -> Option<&'static str> {
        if !program.is_from(origin_word(execution.origin)) {
            return Some("the program comes from elsewhere than the rule allows");
        }
        if program.argv.is_some() {
            if !execution.is_argv_whole {
                return Some(ARGV_IS_CUT);
            }
            if !program.takes(execution.argv.get(1..).unwrap_or_default()) {
                return Some("other arguments than the rule allows");
            }
        }
        None
    }

    fn undeclared(&mut self, execution: &Execution<'_>) -> String {
        let name = execution
            .asked
            .filter(|asked| execution.script.is_none() && Some(*asked) != execution.path);
        if let Some(why) = name.and_then(|name| self.misled(name, execution)) {
            return why;
        }
        if execution.chain.is_some() {
            return format!(
                "the entrypoint is not from the image (origin {})",
                origin_word(execution.origin)
            );
        }
        let what = if execution.script.is_some() {
            "script"
        } else {
            "program"
        };
        match execution.origin {
            Origin::Image => format!("a {what} outside the entrypoint chain that is not declared"),
            origin => format!(
                "a {what} that is not declared; what runs is not from the image (origin {})",
                origin_word(origin)
            ),
        }
    }

    /// Why a rule for the name that was asked for does not mean the program that runs.
    fn misled(&mut self, name: &[u8], execution: &Execution<'_>) -> Option<String> {
        let place = self.program_rules_for(name).first().copied()?;
        let rule = &self.policy.programs[place].name;
        match self.found_for(place).map(|found| (&found.path, &found.fault)) {
            // It is the very file; something else is wrong with it.
            Some((Some(found), _)) if Some(found.as_slice()) == execution.path => None,
            Some((Some(_), _)) => Some(format!("{rule} led to another program when the run started")),
            Some((None, Some(fault))) => Some(format!(
                "{rule} names a symlink, and rei did not find where it leads: {fault}"
            )),
            _ => Some(format!(
                "{rule} names a symlink: declare the program that it leads to"
            )),
        }
    }

    /// Names that are not declared, where any are.
    fn undeclared_names(&self, execution: &Execution<'_>) -> Option<String> {
        let env = self.policy.env.as_ref()?;
        let is_declared = |name: &[u8]| env.iter().any(|rule: &Rule<_>| rule.what.matches(name));
        let mut names: Vec<String> = execution
            .env_names
            .iter()
            .filter(|name| !is_declared(name))
            .map(|name| crate::quote::shorten(name, 40))
            .collect();
        names.sort_unstable();
        names.dedup();
        (!names.is_empty()).then(|| format!("environment names that are not declared: {}", names.join(", ")))
    }

    /// Whether an execution that did not happen trips I3.
    pub fn execution_attempt(
        &mut self,
        attempt: &ExecutionAttempt<'_>,
        circumstance: &Circumstance,
    ) -> Answer {
        if attempt.is_check {
            return Answer::allowed(Ground::Harmless(
                "the caller only asked whether it might execute it",
            ));
        }
        if circumstance.reached_nothing {
            return Answer::allowed(Ground::Harmless(
                "the kernel itself could not read what was asked",
            ));
        }
        if !circumstance.is_settled() {
            let why = format!(
                "the program is {}, and that is never allowed",
                circumstance.confidence.name()
            );
            return Answer::tripped(Wire::I3, circumstance, why);
        }
        let Some(path) = attempt.path.filter(|_| !circumstance.is_path_cut) else {
            return Answer::tripped(
                Wire::I3,
                circumstance,
                "its path is cut or not known, and that is never allowed",
            );
        };
        let plain = plain(path);
        if attempt.is_lexical && circumstance.is_absence() && self.is_on_root(&plain.path) {
            return Answer::allowed(absent());
        }
        let places = if plain.has_parents {
            Vec::new()
        } else {
            self.program_rules_for(&plain.path)
        };
        match places.first().copied() {
            Some(place) => Answer::allowed(Ground::Declared {
                rule: self.policy.programs[place].name.clone(),
            }),
            None => Answer::tripped(
                Wire::I3,
                circumstance,
                "a program that is not declared, and was not executed: trying is evidence",
            ),
        }
    }
}

const OTHER_NAME: &str = "it was asked for by another name, and one file may hold several programs";

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

const ARGV_IS_CUT: &str = "its arguments are not all known, and the rule asks for them";

/// Whether a rule declares a program.
enum Declared {
    By(String),
    /// Why the nearest rule does not, and what a rule would have needed.
    Not {
        why: Option<String>,
        lacks: Option<&'static str>,
    },
}

/// The chain is the image's, the host's for a plain command, and docker-init's.
fn is_chain_origin(chain: Chain, origin: &Origin) -> bool {
    match origin {
        Origin::Image | Origin::Host => true,
        Origin::Engine => chain == Chain::Entrypoint,
        _ => false,
    }
}
