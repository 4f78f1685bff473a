//! What was lost by the kernel side's counters, and how much of that was the observed container's.
//!
//! The counters by CPU are of every watched scope together: while a container is awaited, others' are among
//! them. Each scope has counters of its own, by kind but not by CPU. The verdict is about ours: what other
//! containers' scopes account for is told and does not count, and what no scope accounts for counts.

use std::collections::{BTreeMap, BTreeSet};

use rei_ebpf_common::header::EventKind;

use crate::attach::{Loss, LossCause, LostByKind};
use crate::report::reason::Reason;

/// Whose events were lost, by the scopes' own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Of the scopes that are observed.
    pub ours: LostByKind,
    /// Of scopes that turned out to be other containers', until they were forgotten.
    pub others: LostByKind,
}

/// The counters by CPU, as they stand.
#[derive(Debug, Default)]
pub(super) struct Counters {
    counts: BTreeMap<(Option<u32>, Option<EventKind>, LossCause), u64>,
}

/// What was full when events of a kind found no room. The order is that of the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Full {
    Ring,
    Map,
    Either,
}

impl Full {
    const fn words(self) -> &'static str {
        match self {
            Full::Ring => "the event buffer was full",
            Full::Map => "a table of the kernel side was full",
            Full::Either => "the event buffer or a table of the kernel side was full",
        }
    }
}

impl Counters {
    /// Takes a counter as it stands; gives how far it moved.
    pub(super) fn take(&mut self, loss: &Loss) -> u64 {
        let before = self.counts.entry((loss.cpu, loss.kind, loss.cause)).or_default();
        let moved = loss.count.saturating_sub(*before);
        *before += moved;
        moved
    }

    /// Everything that was lost, whoever's it was.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The part of [`Self::total`] that other containers' scopes account for.
    pub(super) fn of_others(&self, attribution: &Attribution) -> u64 {
        let kinds = self.kinds().into_iter();
        kinds
            .map(|kind| {
                let counted =
                    self.count(Some(kind), LossCause::RingFull) + self.count(Some(kind), LossCause::MapFull);
                counted.saturating_sub(self.counting(kind, attribution))
            })
            .sum()
    }

    /// Records of this CPU that found no room in the ring.
    pub(super) fn ring_full_on(&self, cpu: u32) -> u64 {
        let of_cpu = self
            .counts
            .iter()
            .filter(|((on, _, cause), _)| *on == Some(cpu) && *cause == LossCause::RingFull);
        of_cpu.map(|(_, count)| count).sum()
    }

    /// What counts for the verdict, one reason for each cause.
    pub(super) fn reasons(&self, attribution: &Attribution) -> Vec<Reason> {
        let mut by_cause: BTreeMap<Full, Vec<(u64, &str)>> = BTreeMap::new();
        for kind in self.kinds() {
            let count = self.counting(kind, attribution);
            if count > 0 {
                let name = kind.map_or("kind unknown", EventKind::name);
                by_cause.entry(self.full(kind)).or_default().push((count, name));
            }
        }
        let mut reasons: Vec<Reason> = by_cause
            .into_iter()
            .map(|(full, kinds)| lost(full.words(), &kinds))
            .collect();
        // The kernel does not say whose the skipped event was: it may be ours.
        let nested = self.count(None, LossCause::Nested);
        if nested > 0 {
            let words = "the kernel skipped a sensor that was already running";
            reasons.push(lost(words, &[(nested, "kind unknown")]));
        }
        reasons
    }

    /// Events of the kind that found no room and were ours, or nobody's that is known.
    fn counting(&self, kind: Option<EventKind>, attribution: &Attribution) -> u64 {
        let counted =
            self.count(Some(kind), LossCause::RingFull) + self.count(Some(kind), LossCause::MapFull);
        let unexplained = counted.saturating_sub(attribution.others.of_kind(kind));
        unexplained.max(attribution.ours.of_kind(kind))
    }

    fn full(&self, kind: Option<EventKind>) -> Full {
        let is_counted = |cause| self.count(Some(kind), cause) > 0;
        match (is_counted(LossCause::RingFull), is_counted(LossCause::MapFull)) {
            (true, false) => Full::Ring,
            (false, true) => Full::Map,
            _ => Full::Either,
        }
    }

    /// Every kind that there is: a scope may count what no CPU does.
    fn kinds(&self) -> BTreeSet<Option<EventKind>> {
        EventKind::ALL.into_iter().map(Some).chain([None]).collect()
    }

    /// Of one cause on every CPU; of one kind, or of all.
    fn count(&self, of_kind: Option<Option<EventKind>>, of_cause: LossCause) -> u64 {
        let counts = self.counts.iter().filter(|((_, kind, cause), _)| {
            *cause == of_cause && of_kind.is_none_or(|wanted| wanted == *kind)
        });
        counts.map(|(_, count)| count).sum()
    }
}

fn lost(words: &str, kinds: &[(u64, &str)]) -> Reason {
    let list: Vec<String> = kinds
        .iter()
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    Reason::Lost {
        count: kinds.iter().map(|(count, _)| count).sum(),
        text: format!("{words} ({})", list.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Option<EventKind> = Some(EventKind::Open);
    const EXEC: Option<EventKind> = Some(EventKind::Exec);

    fn counters(counts: &[(Option<EventKind>, LossCause, u64)]) -> Counters {
        let mut counters = Counters::default();
        for (cpu, (kind, cause, count)) in (0u32..).zip(counts) {
            counters.take(&Loss {
                cpu: Some(cpu),
                kind: *kind,
                cause: *cause,
                count: *count,
            });
        }
        counters
    }

    fn attribution(ours: &[(EventKind, u64)], others: &[(EventKind, u64)]) -> Attribution {
        Attribution {
            ours: LostByKind::from_counts(ours),
            others: LostByKind::from_counts(others),
        }
    }

    #[test]
    fn only_what_others_do_not_account_for_counts() {
        use LossCause::{MapFull, RingFull};
        // Opens that the CPUs counted, ours, others': counting, of others.
        let table = [
            (10, 0, 10, 0, 10),
            (10, 4, 6, 4, 6),
            // Lost before any scope was known, or after one was forgotten.
            (10, 4, 3, 7, 3),
            (10, 0, 0, 10, 0),
            // The scope's own counter is believed whatever the others say.
            (10, 9, 6, 9, 1),
            (0, 2, 0, 2, 0),
            (0, 0, 5, 0, 0),
        ];
        for (counted, ours, others, counting, of_others) in table {
            let counters = counters(&[(OPEN, RingFull, counted)]);
            let of = attribution(&[(EventKind::Open, ours)], &[(EventKind::Open, others)]);
            let reasons = counters.reasons(&of);
            let count: u64 = reasons.iter().filter_map(Reason::count).sum();
            assert_eq!(
                (count, counters.of_others(&of)),
                (counting, of_others),
                "{reasons:?}"
            );
            assert_eq!(counters.total(), counted);
        }
        // Other containers' opens account for no exec of ours.
        let counters = counters(&[(EXEC, MapFull, 1), (OPEN, RingFull, 5)]);
        let of = attribution(&[], &[(EventKind::Open, 9)]);
        let texts: Vec<String> = counters.reasons(&of).iter().map(Reason::text).collect();
        assert_eq!(
            texts,
            ["1 event lost: a table of the kernel side was full (1 exec)"]
        );
    }

    #[test]
    fn each_cause_is_told_with_its_kinds() {
        use LossCause::{MapFull, Nested, RingFull};
        let mut counters = counters(&[
            (OPEN, RingFull, 2),
            (OPEN, RingFull, 3),
            (EXEC, RingFull, 1),
            (EXEC, MapFull, 1),
            (None, RingFull, 1),
        ]);
        counters.take(&Loss {
            cpu: None,
            kind: None,
            cause: Nested,
            count: 4,
        });
        let reasons = counters.reasons(&Attribution::default());
        let texts: Vec<String> = reasons.iter().map(Reason::text).collect();
        assert_eq!(
            texts,
            [
                "6 events lost: the event buffer was full (1 kind unknown, 5 open)",
                "2 events lost: the event buffer or a table of the kernel side was full (2 exec)",
                "4 events lost: the kernel skipped a sensor that was already running (4 kind unknown)",
            ]
        );
        assert_eq!((counters.ring_full_on(1), counters.ring_full_on(3)), (3, 0));
    }
}
