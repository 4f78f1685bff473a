//! Judged events → bodies of lines: who descends from whom, what each process image touched, what was
//! objected to.
//!
//! Takes events in order; gives [`Item`]s that the caller takes out and writes. A process image is a *node*;
//! repetition costs a counter. What a line says came since the last line about the same image: an object that
//! was not seen before is told within [`TICK_NS`], repetitions within [`AGAIN_NS`], and everything at the
//! image's end. Memory is bounded, whatever the container does, and what is given up for that is said.

use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;

use crate::format::event::{Act, Event};
use crate::format::{Body, Count, Ending, Hash, NodeEnding, ProcessKey};
use crate::judge::Judged;

pub use self::item::{Citations, FindingNumber, Item, Role};
pub use self::keep::KeepEvents;
pub use self::run::{LossCounters, container, control, run_begin, undecodable};

use self::finding::{Actor, Findings};
use self::node::{Node, program_of};
use self::object::{Addition, Part};
use self::seen::{Life, Seen};

mod event;
mod finding;
mod item;
mod keep;
mod name;
mod node;
mod object;
mod run;
mod seen;
mod telling;

/// A new object is told after this long, in ns of boot time: as long as a batch waits for its seal.
pub const TICK_NS: u64 = 250_000_000;
/// Repetitions are told after this long, in ns of boot time.
pub const AGAIN_NS: u64 = 10_000_000_000;
/// Most memory for objects of all images, roughly. Beyond, what was counted is written, and the objects
/// forgotten.
const OBJECT_BYTES_MAX: usize = 64 << 20;

/// How a recording is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Digest of the policy that judges.
    pub policy: Hash,
    /// Whether tripwires make findings: the policy's mode is safe.
    pub is_safe: bool,
    /// Which raw events are kept.
    pub keep_events: KeepEvents,
}

/// Folds the events of a recording.
#[derive(Debug)]
pub struct Fold {
    settings: Settings,
    /// The image that each process runs.
    nodes: HashMap<ProcessKey, Node>,
    /// Lines about images that were written.
    written: u64,
    hasher: RandomState,
    /// Images with objects that were never told, and when the first of them came.
    fresh: Vec<ProcessKey>,
    fresh_ns: u64,
    /// Images with repetitions, by when those are to be told.
    again: VecDeque<(u64, ProcessKey)>,
    object_bytes: usize,
    findings: Findings,
    findings_ns: u64,
    items: Vec<Item>,
    /// When [`Fold::tick`] was last called. Events may come late: what they bring is due from here, not from
    /// then.
    ticked_ns: u64,
}

impl Fold {
    /// A fold that has seen nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Fold {
            settings,
            nodes: HashMap::new(),
            written: 0,
            hasher: RandomState::new(),
            fresh: Vec::new(),
            fresh_ns: 0,
            again: VecDeque::new(),
            object_bytes: 0,
            findings: Findings::new(settings.policy),
            findings_ns: 0,
            items: Vec::new(),
            ticked_ns: 0,
        }
    }

    /// Takes the next event.
    pub fn take(&mut self, judged: &Judged) {
        match Seen::of_judged(judged) {
            Some(seen) => self.see(&seen, || event::event(judged)),
            None => self.take_event(&event::event(judged)),
        }
    }

    /// Takes a raw event of a log. One of a kind that this rei does not know is passed over.
    pub fn take_event(&mut self, event: &Event) {
        if let Some(seen) = Seen::of_event(event, self.settings.is_safe) {
            self.see(&seen, || event.clone());
        }
    }

    /// What is to be written, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Item> + '_ {
        self.items.drain(..)
    }

    /// When [`Fold::tick`] has something to tell, in ns of boot time; `None` if it has nothing.
    #[must_use]
    pub fn due_ns(&self) -> Option<u64> {
        let fresh = (!self.fresh.is_empty()).then_some(self.fresh_ns);
        let again = self.again.front().map(|(due_ns, _)| *due_ns);
        let findings = self.findings.has_repeated().then_some(self.findings_ns);
        [fresh, again, findings].into_iter().flatten().min()
    }

    /// Tells what is due at this boot time in ns.
    pub fn tick(&mut self, now_ns: u64) {
        self.ticked_ns = now_ns;
        if self.fresh_ns <= now_ns {
            for process in std::mem::take(&mut self.fresh) {
                self.tell(process, Part::Fresh);
            }
        }
        while let Some((_, process)) = self.again.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
            self.tell(process, Part::Again);
        }
        if self.findings_ns <= now_ns {
            self.tell_repeated_findings();
        }
    }

    /// The recording ends at this boot time in ns: tells everything that is left. Images that run on end
    /// here.
    pub fn end(&mut self, now_ns: u64) {
        self.tell_repeated_findings();
        for (_, process) in self.in_order() {
            self.end_node(process, now_ns, NodeEnding::Recording);
        }
        self.nodes.clear();
    }

    /// Findings that are kept apart.
    #[must_use]
    pub fn findings(&self) -> u64 {
        self.findings.kept_apart()
    }

    /// Events whose finding had no room any more.
    #[must_use]
    pub fn findings_not_kept_apart(&self) -> u64 {
        self.findings.not_kept_apart()
    }

    fn see(&mut self, seen: &Seen<'_>, raw: impl FnOnce() -> Event) {
        self.make_room(seen);
        match seen.life {
            Life::Exec(event) => self.exec(seen, event),
            Life::Fork(child) => self.fork(seen, child),
            Life::Goes | Life::Exit(_) => {
                self.written_node(seen);
            }
        }
        self.object(seen);
        let is_kept = self.settings.keep_events == KeepEvents::All;
        let told = self.object_to(seen);
        if is_kept || !told.is_empty() && self.settings.keep_events == KeepEvents::Findings {
            self.items.push(Item {
                body: Body::Event(Box::new(raw())),
                role: Role::Evidence,
            });
        }
        self.items.extend(told);
        if let Life::Exit(ending) = seen.life {
            self.exit(seen, ending);
        }
    }

    /// The acting image, with its line written.
    fn written_node(&mut self, seen: &Seen<'_>) -> &mut Node {
        let node = self
            .nodes
            .entry(seen.process)
            .or_insert_with(|| Node::found(seen));
        node.last_ns = seen.boot_ns;
        if node.number.is_none() {
            let lineage = node.write(&mut self.written, seen.program, None);
            self.items.push(Item::plain(Body::Lineage(Box::new(lineage))));
        }
        node
    }

    /// A parent's fork is an act of its own: its line comes before its child's.
    fn fork(&mut self, seen: &Seen<'_>, child: ProcessKey) {
        let node = self.written_node(seen).child(child, seen);
        self.nodes.entry(child).or_insert(node);
    }

    /// An exec takes the place of an image that did nothing, and ends one that did something.
    fn exec(&mut self, seen: &Seen<'_>, event: &Event) {
        let ancestors = match self.nodes.get(&seen.process) {
            Some(before) => before.descendants_ancestors(),
            None => self.parents(event),
        };
        self.end_node(seen.process, seen.boot_ns, NodeEnding::Exec);
        let mut node = Node::executed(seen, ancestors);
        let lineage = node.write(&mut self.written, program_of(event), Some(event));
        self.items.push(Item::plain(Body::Lineage(Box::new(lineage))));
        self.nodes.insert(seen.process, node);
    }

    /// Ancestors of an image whose process was not seen to begin, by the exec's own word.
    fn parents(&self, event: &Event) -> Vec<Count> {
        let Act::Exec(executed) = &event.act else {
            return Vec::new();
        };
        let parent = self.nodes.get(&executed.parent);
        parent.map(Node::descendants_ancestors).unwrap_or_default()
    }

    fn exit(&mut self, seen: &Seen<'_>, ending: Ending) {
        self.end_node(seen.process, seen.boot_ns, NodeEnding::Exit(ending));
    }

    /// Counts what the act was about. Forks and exits are told by the lines of the images themselves.
    fn object(&mut self, seen: &Seen<'_>) {
        if matches!(seen.life, Life::Fork(_) | Life::Exit(_)) {
            return;
        }
        let Some(node) = self.nodes.get_mut(&seen.process) else {
            return;
        };
        let now_ns = seen.boot_ns.max(self.ticked_ns);
        let (had_fresh, had_again) = (node.objects.has_fresh(), node.objects.has_again());
        match node.objects.add(seen, &self.hasher) {
            Addition::Counted => {}
            Addition::Again => {
                if !had_again {
                    self.again
                        .push_back((now_ns.saturating_add(AGAIN_NS), seen.process));
                }
            }
            Addition::Fresh(bytes) => {
                self.object_bytes += bytes;
                if self.fresh.is_empty() {
                    self.fresh_ns = now_ns.saturating_add(TICK_NS);
                }
                if !had_fresh {
                    self.fresh.push(seen.process);
                }
                if node.objects.is_full() {
                    self.forget_objects(seen.process);
                } else if self.object_bytes > OBJECT_BYTES_MAX {
                    self.forget_all_objects();
                }
            }
        }
    }

    /// Lines of findings that are new.
    fn object_to(&mut self, seen: &Seen<'_>) -> Vec<Item> {
        if seen.objections.is_empty() {
            return Vec::new();
        }
        let Some((node, number)) = self
            .nodes
            .get(&seen.process)
            .and_then(|node| Some((node, node.number?)))
        else {
            return Vec::new();
        };
        let actor = Actor {
            node: number,
            ancestors: node.ancestors(),
        };
        let had_repeated = self.findings.has_repeated();
        let mut told = Vec::new();
        for objection in &seen.objections {
            if let Some((number, finding)) = self.findings.add(seen, objection, actor) {
                told.push(Item {
                    body: Body::Finding(Box::new(finding)),
                    role: Role::Finding(number),
                });
            }
        }
        if !had_repeated && self.findings.has_repeated() {
            self.findings_ns = seen.boot_ns.max(self.ticked_ns).saturating_add(AGAIN_NS);
        }
        told
    }
}

#[cfg(test)]
pub(crate) mod tests;
