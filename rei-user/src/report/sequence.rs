//! Sequence numbers: a second account of what was lost, independent of the kernel side's counters.

use std::collections::BTreeMap;

use rei_ebpf_common::header::EventHeader;

/// Watches the numbers of every record that comes out of the ring, those of foreign containers included.
///
/// A CPU's records may swap places by a few (a task can be preempted between taking a number and a place in
/// the ring), so gaps are not looked at one by one: of the numbers up to the highest seen, all must have
/// come.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    streams: BTreeMap<(u16, u8), Stream>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    highest: u64,
    received: u64,
}

impl Sequence {
    /// Nothing was seen yet. Numbers start from 1; 0 means that a record has none.
    #[must_use]
    pub fn new() -> Self {
        Sequence::default()
    }

    /// Call it for every decoded record, before anything is discarded. A record without a number (0, the
    /// socket stream) says nothing here.
    pub fn observe(&mut self, header: &EventHeader) {
        if header.seq == 0 {
            return;
        }
        let stream = self.streams.entry((header.cpu, header.stream)).or_default();
        stream.highest = stream.highest.max(header.seq);
        stream.received += 1;
    }

    /// Records that were numbered and did not come, by CPU; only CPUs that miss any.
    #[must_use]
    pub fn missing(&self) -> BTreeMap<u16, u64> {
        let mut by_cpu = BTreeMap::new();
        for ((cpu, _), stream) in &self.streams {
            let missing = stream.highest.saturating_sub(stream.received);
            if missing > 0 {
                *by_cpu.entry(*cpu).or_default() += missing;
            }
        }
        by_cpu
    }
}

#[cfg(test)]
mod tests {
    use rei_ebpf_common::header::EventKind;

    use super::*;
    use crate::decode::record;

    fn missing_after(numbers: &[(u16, u8, u64)]) -> Vec<(u16, u64)> {
        let mut sequence = Sequence::new();
        for (cpu, stream, seq) in numbers {
            let mut header = record::header(EventKind::Exit);
            (header.cpu, header.stream, header.seq) = (*cpu, *stream, *seq);
            sequence.observe(&header);
        }
        sequence.missing().into_iter().collect()
    }

    #[test]
    fn gaps_are_counted_per_cpu() {
        assert_eq!(missing_after(&[]), []);
        assert_eq!(missing_after(&[(0, 0, 1), (0, 1, 1), (1, 0, 1), (0, 0, 2)]), []);
        assert_eq!(missing_after(&[(0, 0, 1), (0, 0, 4), (0, 1, 2)]), [(0, 3)]);
        assert_eq!(missing_after(&[(3, 0, 3), (4, 0, 1)]), [(3, 2)]);
        // Records without a number neither fill a gap nor make one.
        assert_eq!(
            missing_after(&[(0, 1, 0), (0, 0, 1), (0, 0, 0), (0, 0, 3), (0, 1, 0)]),
            [(0, 1)]
        );
        // Swapped places are no loss.
        assert_eq!(missing_after(&[(0, 0, 2), (0, 0, 1), (0, 0, 3)]), []);
    }
}
