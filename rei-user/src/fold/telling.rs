//! Writing what was folded, and forgetting what there is no room for.

use super::Fold;
use super::item::{Item, Role};
use super::object::Part;
use super::seen::Seen;
use crate::format::{Body, Count, Decimal, Fold as FoldBody, NodeEnd, NodeEnding, ProcessKey, Touched};

/// Most process images that are followed at once: twice the kernel's default `pid_max` on small machines.
pub(super) const NODES_MAX: usize = 65_536;
/// Those that go when there are too many: the ones that did nothing for the longest time.
const NODES_FORGOTTEN: usize = NODES_MAX / 16;
/// Most entries of what is due: images that have ended meanwhile are taken out then.
const DUE_MAX: usize = 2 * NODES_MAX;
/// Most bytes of objects in one line: the envelope, the node and its end take a few hundred.
const FOLD_BYTES_MAX: usize = 60 << 10;

impl Fold {
    /// Tells what a part of an image's objects has to say.
    pub(super) fn tell(&mut self, process: ProcessKey, part: Part) {
        let Some(node) = self.nodes.get_mut(&process) else {
            return;
        };
        let Some(number) = node.number else { return };
        let objects = node.objects.take(part);
        if !objects.is_empty() {
            self.push_folds(number, objects, None);
        }
    }

    /// The image ends: tells everything that is left of it. One that was never written did nothing, and is
    /// nothing.
    pub(super) fn end_node(&mut self, process: ProcessKey, at_ns: u64, how: NodeEnding) {
        let Some(mut node) = self.nodes.remove(&process) else {
            return;
        };
        let Some(number) = node.number else { return };
        self.object_bytes = self.object_bytes.saturating_sub(node.objects.memory_bytes());
        let objects = node.objects.take(Part::All);
        let end = NodeEnd {
            at: Decimal(at_ns),
            how,
        };
        self.push_folds(number, objects, Some(end));
    }

    /// As many lines as the objects need; the end stands in the last one.
    fn push_folds(&mut self, node: Count, objects: Vec<Touched>, end: Option<NodeEnd>) {
        let mut line = FoldBody {
            node,
            objects: Vec::new(),
            end: None,
        };
        let mut line_bytes = 0;
        for object in objects {
            // Plain data into memory: this cannot fail.
            let bytes = serde_json::to_vec(&object).map_or(0, |json| json.len() + 1);
            if line_bytes + bytes > FOLD_BYTES_MAX {
                let full = std::mem::take(&mut line.objects);
                self.items.push(Item::plain(Body::Fold(FoldBody {
                    node,
                    objects: full,
                    end: None,
                })));
                line_bytes = 0;
            }
            line_bytes += bytes;
            line.objects.push(object);
        }
        line.end = end;
        self.items.push(Item::plain(Body::Fold(line)));
    }

    pub(super) fn tell_repeated_findings(&mut self) {
        for (number, finding) in self.findings.take_repeated() {
            self.items.push(Item {
                body: Body::Finding(Box::new(finding)),
                role: Role::Repeated(number),
            });
        }
    }

    /// Forgets the objects of an image, once they are told: a later line about the same one counts what came
    /// since.
    pub(super) fn forget_objects(&mut self, process: ProcessKey) {
        self.tell(process, Part::All);
        if let Some(node) = self.nodes.get_mut(&process) {
            self.object_bytes = self.object_bytes.saturating_sub(node.objects.memory_bytes());
            node.objects.clear();
        }
    }

    pub(super) fn forget_all_objects(&mut self) {
        for (_, process) in self.in_order() {
            self.forget_objects(process);
        }
    }

    /// Images with a line, in the order of their numbers.
    pub(super) fn in_order(&self) -> Vec<(Count, ProcessKey)> {
        let mut images: Vec<(Count, ProcessKey)> = self
            .nodes
            .iter()
            .filter_map(|(process, node)| Some((node.number?, *process)))
            .collect();
        images.sort_unstable_by_key(|(number, _)| *number);
        images
    }

    /// Keeps memory bounded before an event is taken: it brings two images at most.
    pub(super) fn make_room(&mut self, seen: &Seen<'_>) {
        if self.again.len() >= DUE_MAX {
            self.again.retain(|(_, process)| self.nodes.contains_key(process));
        }
        if self.fresh.len() >= DUE_MAX {
            self.fresh.retain(|process| self.nodes.contains_key(process));
        }
        if self.nodes.len() + 2 <= NODES_MAX {
            return;
        }
        let others = self.nodes.iter().filter(|(process, _)| **process != seen.process);
        let mut oldest: Vec<(u64, ProcessKey)> =
            others.map(|(process, node)| (node.last_ns, *process)).collect();
        oldest.sort_unstable_by_key(|(last_ns, process)| (*last_ns, process.pid, process.start));
        for (_, process) in oldest.into_iter().take(NODES_FORGOTTEN) {
            self.forget_node(process, seen.boot_ns);
        }
    }

    /// Even an image that did nothing is told before it is forgotten: its process may do something later, and
    /// then begins in the log as one that nobody saw begin.
    fn forget_node(&mut self, process: ProcessKey, at_ns: u64) {
        if let Some(node) = self.nodes.get_mut(&process)
            && node.number.is_none()
        {
            let lineage = node.write(&mut self.written, None, None);
            self.items.push(Item::plain(Body::Lineage(Box::new(lineage))));
        }
        self.end_node(process, at_ns, NodeEnding::Forgotten);
    }
}
