//! Whose scope is it? Settles which scopes belong to the observed container, and keeps events until that is
//! known.
//!
//! While a new container is awaited the kernel side arms every cgroup that is named as one. Takes events as
//! they come. Gives back those of scopes that are ours, drops those of other containers, and holds those of
//! scopes that nobody can tell yet. The name of the cgroup decides; the expected id comes from the engine.

use std::collections::HashMap;

use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::scope::cgroup_flag;

use crate::cgroup;
use crate::decode::{Body, Event};

/// Events that are held over all undecided scopes together. One container's start is some hundred events, and
/// the id is known before it starts: this is reached only when other containers are busy while an image is
/// pulled.
pub const HELD_EVENTS_MAX: usize = 16_384;

/// Which scopes are ours.
#[derive(Debug)]
pub struct Identity {
    /// The container that is awaited, once its id is known.
    expected: Option<String>,
    scopes: HashMap<u64, Standing>,
    held_total: usize,
    awaits_container: bool,
}

#[derive(Debug)]
enum Standing {
    Ours,
    Foreign,
    Undecided(Undecided),
}

#[derive(Debug, Default)]
struct Undecided {
    path: Option<String>,
    held: Vec<Event>,
    dropped: u64,
}

/// What became of an event, or of a scope.
#[derive(Debug, PartialEq, Eq)]
pub enum Settled {
    /// A scope turned out to be ours. Comes before its events.
    Ours {
        /// The scope.
        scope: u64,
        /// Its cgroup's path below the cgroup v2 root.
        path: String,
        /// Events of it that found no room while it was undecided.
        dropped: u64,
    },
    /// A scope turned out to be another container's: the kernel side may forget it.
    Foreign {
        /// The scope.
        scope: u64,
    },
    /// Events of a scope whose cgroup was never reported: somebody has to look for its path.
    Unnamed {
        /// The scope.
        scope: u64,
    },
    /// An event of ours.
    Event(Box<Event>),
}

impl Identity {
    /// Every scope that matters is named with [`Self::own`].
    #[must_use]
    pub fn of_known_scopes() -> Self {
        Self {
            expected: None,
            scopes: HashMap::new(),
            held_total: 0,
            awaits_container: false,
        }
    }

    /// One container that does not exist yet is ours: see [`Self::expect`].
    #[must_use]
    pub fn of_awaited_container() -> Self {
        Self {
            awaits_container: true,
            ..Self::of_known_scopes()
        }
    }

    /// This scope is ours, whatever its name.
    pub fn own(&mut self, scope: u64) {
        self.scopes.insert(scope, Standing::Ours);
    }

    /// The awaited container has this id: decides every scope whose name is known.
    pub fn expect(&mut self, id: &str, out: &mut Vec<Settled>) {
        self.expected = Some(id.to_owned());
        let mut undecided: Vec<(u64, String)> = Vec::new();
        for (scope, standing) in &self.scopes {
            if let Standing::Undecided(Undecided { path: Some(path), .. }) = standing {
                undecided.push((*scope, path.clone()));
            }
        }
        undecided.sort_unstable();
        for (scope, path) in undecided {
            self.decide(scope, &path, out);
        }
    }

    /// The cgroup of a scope was found at this path.
    pub fn named(&mut self, scope: u64, path: &str, out: &mut Vec<Settled>) {
        if let Some(Standing::Undecided(undecided)) = self.scopes.get_mut(&scope) {
            undecided.path = Some(path.to_owned());
            self.decide(scope, path, out);
        }
    }

    /// Takes one event.
    pub fn take(&mut self, event: Event, out: &mut Vec<Settled>) {
        let scope = event.header().scope;
        match self.scopes.get(&scope) {
            Some(Standing::Ours) => out.push(Settled::Event(Box::new(event))),
            Some(Standing::Foreign) => {}
            Some(Standing::Undecided(_)) => self.hold(scope, event),
            None if !self.awaits_container => {}
            None => {
                let path = new_scope_path(&event);
                if path.is_none() {
                    out.push(Settled::Unnamed { scope });
                }
                let undecided = Undecided {
                    path: path.clone(),
                    ..Undecided::default()
                };
                self.scopes.insert(scope, Standing::Undecided(undecided));
                self.hold(scope, event);
                if let Some(path) = path {
                    self.decide(scope, &path, out);
                }
            }
        }
    }

    /// Events of scopes that nobody could decide on.
    #[must_use]
    pub fn undecided_events(&self) -> u64 {
        let undecided = self.scopes.values().filter_map(|standing| match standing {
            Standing::Undecided(undecided) => Some(undecided.held.len() as u64 + undecided.dropped),
            Standing::Ours | Standing::Foreign => None,
        });
        undecided.sum()
    }

    fn hold(&mut self, scope: u64, event: Event) {
        if let Some(Standing::Undecided(undecided)) = self.scopes.get_mut(&scope) {
            if self.held_total < HELD_EVENTS_MAX {
                undecided.held.push(event);
                self.held_total += 1;
            } else {
                undecided.dropped += 1;
            }
        }
    }

    /// Decides on an undecided scope by its cgroup's name, if that is possible by now.
    fn decide(&mut self, scope: u64, path: &str, out: &mut Vec<Settled>) {
        let id = path.rsplit('/').next().and_then(cgroup::container_id);
        let is_ours = match (&self.expected, id) {
            (Some(expected), Some(id)) => expected == id,
            (Some(_), None) => false,
            (None, _) => return,
        };
        let standing = if is_ours {
            Standing::Ours
        } else {
            Standing::Foreign
        };
        let Some(Standing::Undecided(undecided)) = self.scopes.insert(scope, standing) else {
            return;
        };
        self.held_total -= undecided.held.len();
        if is_ours {
            out.push(Settled::Ours {
                scope,
                path: path.to_owned(),
                dropped: undecided.dropped,
            });
            out.extend(
                undecided
                    .held
                    .into_iter()
                    .map(|event| Settled::Event(Box::new(event))),
            );
        } else {
            out.push(Settled::Foreign { scope });
        }
    }
}

/// Path of the cgroup, if the event says that a new scope was armed.
fn new_scope_path(event: &Event) -> Option<String> {
    match event.body() {
        Body::CgroupMade(body) if body.flags & cgroup_flag::NEW_SCOPE != 0 => event
            .part(PartTag::CgroupPath)
            .map(|path| String::from_utf8_lossy(path).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rei_ebpf_common::header::EventKind;
    use rei_ebpf_common::process::ExitBody;
    use rei_ebpf_common::scope::CgroupBody;

    use super::*;
    use crate::decode::record;

    const OURS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const OTHER: &str = "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn made(scope: u64, path: &str, flags: u32) -> Event {
        let mut header = record::header(EventKind::CgroupMade);
        header.scope = scope;
        let body = Body::CgroupMade(CgroupBody {
            cgroup: scope,
            parent: 1,
            flags,
            level: 2,
        });
        record::event(&header, &body, &[(PartTag::CgroupPath, path.as_bytes())])
    }

    fn armed(scope: u64, id: &str) -> Event {
        made(scope, &format!("/docker/{id}"), cgroup_flag::NEW_SCOPE)
    }

    fn acted(scope: u64) -> Event {
        let mut header = record::header(EventKind::Exit);
        header.scope = scope;
        record::event(&header, &Body::Exit(ExitBody::default()), &[])
    }

    fn take(identity: &mut Identity, event: Event) -> Vec<Settled> {
        let mut out = Vec::new();
        identity.take(event, &mut out);
        out
    }

    fn expect(identity: &mut Identity, id: &str) -> Vec<Settled> {
        let mut out = Vec::new();
        identity.expect(id, &mut out);
        out
    }

    /// Short words for what came out.
    fn words(settled: &[Settled]) -> Vec<String> {
        let word = |one: &Settled| match one {
            Settled::Ours { scope, dropped, .. } => format!("ours {scope} {dropped}"),
            Settled::Foreign { scope } => format!("foreign {scope}"),
            Settled::Unnamed { scope } => format!("unnamed {scope}"),
            Settled::Event(event) => format!("{} {}", event.kind().name(), event.header().scope),
        };
        settled.iter().map(word).collect()
    }

    #[test]
    fn known_scopes_pass_and_others_do_not() {
        let mut identity = Identity::of_known_scopes();
        identity.own(7);
        assert_eq!(words(&take(&mut identity, acted(7))), ["exit 7"]);
        assert!(take(&mut identity, acted(8)).is_empty());
        assert!(take(&mut identity, armed(9, OURS)).is_empty());
        assert_eq!(identity.undecided_events(), 0);
    }

    #[test]
    fn an_id_that_is_known_first_decides_at_once() {
        let mut identity = Identity::of_awaited_container();
        assert!(expect(&mut identity, OURS).is_empty());
        assert_eq!(
            words(&take(&mut identity, armed(7, OURS))),
            ["ours 7 0", "cgroup_made 7"]
        );
        assert_eq!(words(&take(&mut identity, armed(8, OTHER))), ["foreign 8"]);
        assert_eq!(words(&take(&mut identity, acted(7))), ["exit 7"]);
        assert!(take(&mut identity, acted(8)).is_empty());
        // Restarted: the same container in a new cgroup.
        assert_eq!(
            words(&take(&mut identity, armed(9, OURS))),
            ["ours 9 0", "cgroup_made 9"]
        );
    }

    #[test]
    fn events_are_held_in_order_until_the_id_is_known() {
        let mut identity = Identity::of_awaited_container();
        for event in [armed(7, OURS), armed(8, OTHER), acted(7), acted(8), acted(7)] {
            assert!(take(&mut identity, event).is_empty());
        }
        assert_eq!(identity.undecided_events(), 5);
        let settled = expect(&mut identity, OURS);
        assert_eq!(
            words(&settled),
            ["ours 7 0", "cgroup_made 7", "exit 7", "exit 7", "foreign 8"]
        );
        assert_eq!(identity.undecided_events(), 0);
        assert_eq!(identity.held_total, 0);
    }

    #[test]
    fn what_cannot_be_held_is_counted_for_its_scope() {
        let mut identity = Identity::of_awaited_container();
        assert!(take(&mut identity, armed(8, OTHER)).is_empty());
        for _ in 0..HELD_EVENTS_MAX {
            assert!(take(&mut identity, acted(8)).is_empty());
        }
        for event in [armed(7, OURS), acted(7)] {
            assert!(take(&mut identity, event).is_empty());
        }
        assert_eq!(identity.undecided_events(), HELD_EVENTS_MAX as u64 + 3);
        assert_eq!(words(&expect(&mut identity, OURS)), ["ours 7 2", "foreign 8"]);
    }

    #[test]
    fn a_scope_whose_beginning_was_lost_is_asked_for_once() {
        let mut identity = Identity::of_awaited_container();
        assert!(expect(&mut identity, OURS).is_empty());
        assert_eq!(words(&take(&mut identity, acted(7))), ["unnamed 7"]);
        assert!(take(&mut identity, acted(7)).is_empty());
        assert_eq!(identity.undecided_events(), 2);
        let mut out = Vec::new();
        identity.named(7, &format!("/system.slice/docker-{OURS}.scope"), &mut out);
        assert_eq!(words(&out), ["ours 7 0", "exit 7", "exit 7"]);
        out.clear();
        identity.named(99, "/x", &mut out);
        assert!(out.is_empty());
    }

    #[test]
    fn a_cgroup_that_is_no_container_is_not_ours() {
        let mut identity = Identity::of_awaited_container();
        assert!(expect(&mut identity, OURS).is_empty());
        assert_eq!(
            words(&take(&mut identity, made(7, "/docker/x", cgroup_flag::NEW_SCOPE))),
            ["foreign 7"]
        );
    }
}
