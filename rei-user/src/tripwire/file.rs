//! I1: files.

use crate::enrich::Origin;
use crate::policy::{AmbientClass, Unresolved};
use crate::tripwire::ambient::{self, with_hint};
use crate::tripwire::lexical::{own_proc, plain};
use crate::tripwire::matcher::{Matcher, PathRule};
use crate::tripwire::operation::{Circumstance, FileUse};
use crate::tripwire::{Answer, Ground, Wire};

impl Matcher {
    /// Whether opening the file trips I1.
    pub fn file(&mut self, file: &FileUse<'_>, circumstance: &Circumstance) -> Answer {
        let mut answer = if !circumstance.is_settled() {
            self.unsettled_file(file, circumstance)
        } else if circumstance.is_path_cut {
            Answer::tripped(
                Wire::I1,
                circumstance,
                "its path is cut, and a cut path is never allowed",
            )
        } else {
            match file.path {
                None => Answer::tripped(Wire::I1, circumstance, "its path is not known"),
                Some(path) if file.is_lexical => self.failed_file(path, file, circumstance),
                Some(path) => self.opened_file(path, file, circumstance),
            }
        };
        answer.trips = answer
            .trips
            .into_iter()
            .map(|trip| with_hint(trip, file))
            .collect();
        answer
    }

    /// Unresolved or contested: never allowed, but inside a declared output it may be a mere gap.
    fn unsettled_file(&mut self, file: &FileUse<'_>, circumstance: &Circumstance) -> Answer {
        if circumstance.reached_nothing {
            return Answer::allowed(Ground::Harmless(
                "the kernel itself could not read what was asked",
            ));
        }
        let rule = file
            .path
            .filter(|_| !circumstance.is_path_cut)
            .and_then(|path| self.output_for(path));
        let is_inside = match file.other_text {
            None => rule.is_some(),
            Some(text) => rule.is_some() && self.output_for(text).is_some(),
        };
        match rule.filter(|_| is_inside && self.policy.unresolved == Unresolved::Incomplete) {
            Some(rule) => Answer::allowed(Ground::Declared { rule }),
            None => Answer::tripped(
                Wire::I1,
                circumstance,
                format!(
                    "its object is {}, and that is never allowed",
                    circumstance.confidence.name()
                ),
            ),
        }
    }

    /// The output rule for a text without `..`.
    fn output_for(&mut self, path: &[u8]) -> Option<String> {
        let plain = plain(path);
        if plain.has_parents {
            return None;
        }
        let rules = self.rules_for(&plain.path);
        rules.into_iter().find_map(|rule| match rule {
            PathRule::Output(place) => Some(self.policy.outputs[place].name.clone()),
            _ => None,
        })
    }

    fn opened_file(&mut self, path: &[u8], file: &FileUse<'_>, circumstance: &Circumstance) -> Answer {
        if let Some(ground) = self.bundled(path, file) {
            return Answer::allowed(ground);
        }
        let own = own_proc(path, circumstance.own_pid);
        let rules = self.rules_for(&own);
        for place in ambient_places(&rules) {
            let row = &self.policy.ambient[place];
            match ambient::objection(self, row, file) {
                None => return Answer::allowed(ambient::ground(row)),
                Some(objection) => {
                    let words = format!("ambient row {:?}: no: {objection}", row.pattern.text());
                    self.note(|| words);
                }
            }
        }
        match self.declared(&rules, file) {
            Some(rule) => Answer::allowed(Ground::Declared { rule }),
            None => Answer::tripped(Wire::I1, circumstance, undeclared(file)),
        }
    }

    /// Files of the image, and directories of the image whatever was written into them.
    fn bundled(&mut self, path: &[u8], file: &FileUse<'_>) -> Option<Ground> {
        let is_changed = file.access.changes();
        let is_image = *file.origin == Origin::Image;
        let is_merged = *file.origin == Origin::Upper && file.is_directory && self.is_lower_directory(path);
        let ground = |why: &str| {
            Some(Ground::Ambient {
                class: AmbientClass::Bundled,
                why: why.to_owned(),
            })
        };
        match (is_image || is_merged, is_changed) {
            (true, false) if is_image => ground("a file of the image, unmodified"),
            (true, false) => ground("a directory of the image"),
            (true, true) => {
                self.note(|| "bundled: no: only reading is".to_owned());
                None
            }
            (false, _) => {
                let words = format!("bundled: no: its origin is {}", origin_word(file.origin));
                self.note(|| words);
                None
            }
        }
    }

    /// The rule that declares this use.
    fn declared(&mut self, rules: &[PathRule], file: &FileUse<'_>) -> Option<String> {
        let policy = std::sync::Arc::clone(&self.policy);
        for rule in rules {
            match rule {
                PathRule::Output(place) => return Some(policy.outputs[*place].name.clone()),
                PathRule::Input(place) if !file.access.changes() => {
                    return Some(policy.inputs[*place].name.clone());
                }
                PathRule::Input(place) => {
                    self.note(|| format!("{}: no: an input is only read", policy.inputs[*place].name));
                }
                PathRule::Unix(_) | PathRule::Program(_) | PathRule::Ambient(_) => {}
            }
        }
        self.note(|| {
            format!(
                "no rule of {} input(s) and {} output(s) matches",
                policy.inputs.len(),
                policy.outputs.len()
            )
        });
        None
    }

    /// A failed open: only text is known.
    fn failed_file(&mut self, path: &[u8], file: &FileUse<'_>, circumstance: &Circumstance) -> Answer {
        let plain = plain(path);
        let creates = file.access.has(crate::enrich::Access::Create);
        if circumstance.is_absence() && !creates && self.is_on_root(&plain.path) {
            return Answer::allowed(absent());
        }
        if plain.has_parents {
            self.note(|| {
                "the text holds `..`: through a symlink it may mean another file, so no pattern allows it"
                    .to_owned()
            });
            return Answer::tripped(Wire::I1, circumstance, undeclared_attempt(circumstance));
        }
        let own = own_proc(&plain.path, circumstance.own_pid);
        let rules = self.rules_for(&own);
        if let Some(place) = ambient_places(&rules).next() {
            return Answer::allowed(ambient::ground(&self.policy.ambient[place]));
        }
        match self.declared(&rules, file) {
            Some(rule) => Answer::allowed(Ground::Declared { rule }),
            None => Answer::tripped(Wire::I1, circumstance, undeclared_attempt(circumstance)),
        }
    }
}

pub(super) fn absent() -> Ground {
    Ground::Ambient {
        class: AmbientClass::Absent,
        why: "nothing is there, and no mount could have put it there".to_owned(),
    }
}

fn ambient_places(rules: &[PathRule]) -> impl Iterator<Item = usize> {
    rules.iter().filter_map(|rule| match rule {
        PathRule::Ambient(place) => Some(*place),
        _ => None,
    })
}

/// The origin's kind, without the name that a user gave.
pub(super) fn origin_word(origin: &Origin) -> &'static str {
    match origin {
        Origin::Image => "image",
        Origin::Upper => "upper",
        Origin::Bind(_) => "bind",
        Origin::Volume(_) => "volume",
        Origin::Tmpfs => "tmpfs",
        Origin::Proc => "proc",
        Origin::Sys => "sys",
        Origin::Dev => "dev",
        Origin::Memfd => "memfd",
        Origin::Engine => "engine",
        Origin::Host => "host",
        Origin::Unknown => "unknown",
    }
}

fn undeclared(file: &FileUse<'_>) -> String {
    let what = match file.origin {
        Origin::Image => "a file of the image is changed",
        Origin::Upper => "the container's own layer, not the image",
        Origin::Bind(_) => "a host path that was mounted",
        Origin::Volume(_) => "a volume",
        Origin::Tmpfs => "a tmpfs",
        Origin::Proc => "procfs, and no ambient row holds",
        Origin::Sys => "the kernel's state, and no ambient row holds",
        Origin::Dev => "a device or what is mounted for devices, and no ambient row holds",
        Origin::Memfd => "anonymous memory that is opened by name",
        Origin::Engine => "a file that the engine mounts: an operator can change it",
        Origin::Host => "a file of the host",
        Origin::Unknown => "its origin is not known",
    };
    format!("neither declared nor ambient: {what}")
}

fn undeclared_attempt(circumstance: &Circumstance) -> &'static str {
    if circumstance.is_absence() {
        "neither declared nor ambient: looked for below a mount, or to make it"
    } else {
        "neither declared nor ambient, and refused: trying is evidence"
    }
}
