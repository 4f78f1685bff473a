//! Counts of distinct objects, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;

/// Most distinct objects that one tally keeps apart.
pub(super) const DISTINCT_MAX: usize = 10_000;
/// Most bytes of names that one tally keeps: paths can be 32 KiB each.
const NAME_BYTES_MAX: usize = 4 << 20;

/// How often each object occurred. When memory is used up, objects not seen before are only counted together.
#[derive(Debug)]
pub(super) struct Tally<K> {
    counts: HashMap<K, Entry>,
    name_bytes: usize,
    not_kept_apart: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    count: u64,
    /// Place in the order of first sight.
    order: usize,
}

impl<K: Eq + Hash> Tally<K> {
    pub(super) fn new() -> Self {
        Tally {
            counts: HashMap::new(),
            name_bytes: 0,
            not_kept_apart: 0,
        }
    }

    /// Counts `key`, whose name takes `name_bytes`.
    pub(super) fn add(&mut self, key: K, name_bytes: usize) {
        if let Some(entry) = self.counts.get_mut(&key) {
            entry.count += 1;
        } else if self.counts.len() < DISTINCT_MAX && self.name_bytes + name_bytes <= NAME_BYTES_MAX {
            self.name_bytes += name_bytes;
            let order = self.counts.len();
            self.counts.insert(key, Entry { count: 1, order });
        } else {
            self.not_kept_apart += 1;
        }
    }

    /// Objects with their counts, in the order of first sight.
    pub(super) fn in_order(&self) -> Vec<(&K, u64)> {
        let mut entries: Vec<(&K, &Entry)> = self.counts.iter().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.order);
        entries
            .into_iter()
            .map(|(key, entry)| (key, entry.count))
            .collect()
    }

    /// Occurrences of objects that were not kept apart.
    pub(super) fn not_kept_apart(&self) -> u64 {
        self.not_kept_apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_counted_in_the_order_of_first_sight() {
        let mut tally = Tally::new();
        for key in ["b", "a", "b", "c", "b"] {
            tally.add(key, 1);
        }
        assert_eq!(tally.in_order(), [(&"b", 3), (&"a", 1), (&"c", 1)]);
        assert_eq!(tally.not_kept_apart(), 0);
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_uncounted() {
        let mut tally = Tally::new();
        for key in 0..DISTINCT_MAX + 5 {
            tally.add(key, 1);
        }
        tally.add(0, 1);
        assert_eq!(
            (tally.in_order().len(), tally.not_kept_apart()),
            (DISTINCT_MAX, 5)
        );
        assert_eq!(tally.in_order()[0], (&0, 2));
        let mut tally = Tally::new();
        for key in 0..200 {
            tally.add(key, 32 << 10);
        }
        assert_eq!((tally.in_order().len(), tally.not_kept_apart()), (128, 72));
    }
}
