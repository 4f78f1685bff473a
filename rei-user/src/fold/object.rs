//! The objects that one process image touched, each with how often and when.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::name::{Name, put_known};
use super::seen::Seen;
use crate::format::{Count, Decimal, Touched};

/// Most objects that one image keeps apart in memory. Beyond, what was counted is written and forgotten:
/// lines carry what came since the last one, so nothing is lost but the compactness.
pub(super) const OBJECTS_MAX: usize = 16_384;
/// What an object takes in memory beside its name, roughly: a dozen short strings, and its place in the
/// index.
const OBJECT_BYTES: usize = 600;

/// The objects of one image, in the order of first sight.
#[derive(Debug, Default)]
pub(super) struct Objects {
    kept: Vec<Kept>,
    /// The newest object of a hash; the older ones follow by [`Kept::next`].
    index: HashMap<u64, usize>,
    /// Never written so far.
    fresh: Vec<usize>,
    /// Written before, and touched again since.
    again: Vec<usize>,
    memory_bytes: usize,
}

#[derive(Debug)]
struct Kept {
    touched: Touched,
    /// Since the last line.
    count: u64,
    next: Option<usize>,
}

/// What an act was to the objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addition {
    /// The object was not there before; it takes so many bytes.
    Fresh(usize),
    /// The first repetition since the last line.
    Again,
    /// One more of what is to be written anyway.
    Counted,
}

/// Which objects are to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Those that were never written.
    Fresh,
    /// Those that were written before.
    Again,
    /// All that have something to say.
    All,
}

impl Objects {
    /// Counts an act.
    pub(super) fn add(&mut self, seen: &Seen<'_>, hasher: &RandomState) -> Addition {
        let hash = hash(seen, hasher);
        let mut next = self.index.get(&hash).copied();
        while let Some(place) = next {
            let kept = &mut self.kept[place];
            if !is_same(&kept.touched, seen) {
                next = kept.next;
                continue;
            }
            kept.count += 1;
            kept.touched.last = Decimal(seen.boot_ns);
            if kept.count > 1 {
                return Addition::Counted;
            }
            kept.touched.first = Decimal(seen.boot_ns);
            self.again.push(place);
            return Addition::Again;
        }
        let place = self.kept.len();
        self.kept.push(Kept {
            touched: touched(seen),
            count: 1,
            next: self.index.insert(hash, place),
        });
        self.fresh.push(place);
        let bytes = OBJECT_BYTES + seen.object.map_or(0, |name| name.bytes().len());
        self.memory_bytes += bytes;
        Addition::Fresh(bytes)
    }

    /// What they take, roughly.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= OBJECTS_MAX
    }

    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty()
    }

    pub(super) fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// What is to be said, in the order of first sight; from here on it counts as written.
    pub(super) fn take(&mut self, part: Part) -> Vec<Touched> {
        let mut places = match part {
            Part::Fresh => std::mem::take(&mut self.fresh),
            Part::Again => std::mem::take(&mut self.again),
            Part::All => {
                let mut places = std::mem::take(&mut self.fresh);
                places.append(&mut self.again);
                places
            }
        };
        places.sort_unstable();
        let said = places.into_iter().map(|place| {
            let kept = &mut self.kept[place];
            let touched = Touched {
                n: Count::new(kept.count),
                ..kept.touched.clone()
            };
            kept.count = 0;
            touched
        });
        said.collect()
    }

    /// Forgets every object. What was not taken is lost: take [`Part::All`] before.
    pub(super) fn clear(&mut self) {
        *self = Objects::default();
    }
}

fn hash(seen: &Seen<'_>, hasher: &RandomState) -> u64 {
    hasher.hash_one((
        seen.kind as u16,
        seen.object,
        seen.access,
        seen.origin.as_deref(),
        &seen.outcome,
        seen.confidence,
        seen.decision,
        &seen.by,
    ))
}

/// Everything but times and counts.
fn is_same(touched: &Touched, seen: &Seen<'_>) -> bool {
    let object = Name::written(
        touched.object.as_ref(),
        touched.object_b64.as_ref(),
        "object",
        &touched.shortened,
    );
    object == seen.object
        && touched.kind == seen.kind.name()
        && touched.outcome == seen.outcome
        && touched.confidence == seen.confidence
        && touched.decision == seen.decision
        && touched.origin.as_deref() == seen.origin.as_deref()
        && touched.access.iter().map(String::as_str).eq(seen.access.names())
        && touched.by.iter().map(String::as_str).eq(seen.by.names())
}

fn touched(seen: &Seen<'_>) -> Touched {
    let mut shortened = Vec::new();
    let (object, object_b64) = put_known(seen.object, "object", &mut shortened);
    Touched {
        kind: seen.kind.name().to_owned(),
        object,
        object_b64,
        access: seen.access.names().map(str::to_owned).collect(),
        origin: seen.origin.as_deref().map(str::to_owned),
        outcome: seen.outcome.clone().into_owned(),
        confidence: seen.confidence.to_owned(),
        decision: seen.decision.to_owned(),
        by: seen.by.names().map(str::to_owned).collect(),
        n: Count::new(0),
        first: Decimal(seen.boot_ns),
        last: Decimal(seen.boot_ns),
        shortened,
    }
}
