//! Counts what was lost: in the kernel side's own counters, and by the kernel skipping nested programs.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Context, Result};
use aya::Ebpf;
use aya::maps::PerCpuArray;
use rei_ebpf_common::header::{EventKind, KIND_SLOTS};
use rei_ebpf_common::hooks::PROGRAMS;
use rei_ebpf_common::maps::{CpuStats, ScopeState};

use super::{Loss, LossCause, map};

/// Events that found no room, by kind: of one scope, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostByKind {
    counts: [u64; KIND_SLOTS],
}

impl LostByKind {
    /// What the scope counted itself.
    #[must_use]
    pub fn of(state: &ScopeState) -> Self {
        Self { counts: state.lost }
    }

    /// Adds what another scope counted.
    pub fn add(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// How many of this kind; `None`: of every slot that stands for no kind.
    #[must_use]
    pub fn of_kind(&self, kind: Option<EventKind>) -> u64 {
        let slots = (0u16..).zip(self.counts);
        slots
            .filter(|(slot, _)| EventKind::from_raw(*slot) == kind)
            .map(|(_, count)| count)
            .sum()
    }

    /// So many of each kind.
    #[cfg(test)]
    pub(crate) fn from_counts(counts: &[(EventKind, u64)]) -> Self {
        let mut lost = Self::default();
        for (kind, count) in counts {
            lost.counts[*kind as usize] = *count;
        }
        lost
    }
}

/// Every loss so far, counts above zero only.
pub(super) fn all(ebpf: &Ebpf) -> Result<Vec<Loss>> {
    let stats: PerCpuArray<_, CpuStats> =
        PerCpuArray::try_from(map(ebpf, "CPU_STATS")?).context("map CPU_STATS")?;
    let per_cpu = stats
        .get(&0, 0)
        .context("the loss counters (map CPU_STATS) cannot be read")?;
    let mut losses = Vec::new();
    for (cpu, stats) in (0u32..).zip(per_cpu.iter()) {
        losses.extend(by_kind(cpu, LossCause::RingFull, &stats.ring_full));
        losses.extend(by_kind(cpu, LossCause::MapFull, &stats.map_full));
    }
    let nested = skipped(ebpf)?;
    if nested > 0 {
        losses.push(Loss {
            cpu: None,
            kind: None,
            cause: LossCause::Nested,
            count: nested,
        });
    }
    Ok(losses)
}

fn by_kind(cpu: u32, cause: LossCause, counts: &[u64; KIND_SLOTS]) -> impl Iterator<Item = Loss> {
    (0u16..)
        .zip(*counts)
        .filter(|(_, count)| *count > 0)
        .map(move |(slot, count)| Loss {
            cpu: Some(cpu),
            kind: EventKind::from_raw(slot),
            cause,
            count,
        })
}

/// How often the kernel skipped one of our programs because it was already running on that CPU.
fn skipped(ebpf: &Ebpf) -> Result<u64> {
    let mut total = 0;
    for program in &PROGRAMS {
        // A program that was refused has no descriptor and runs nowhere.
        let Some(Ok(fd)) = ebpf.program(program.name).map(aya::programs::Program::fd) else {
            continue;
        };
        let path = format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd());
        let text =
            fs::read_to_string(&path).with_context(|| format!("{path} cannot be read: mount /proc"))?;
        let count = recursion_misses(&text).with_context(|| {
            format!(
                "{path} (program {}) has no recursion_misses: rei needs Linux 5.12 or newer",
                program.name
            )
        })?;
        total += count;
    }
    Ok(total)
}

fn recursion_misses(fdinfo: &str) -> Option<u64> {
    fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("recursion_misses:"))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_reported_by_kind_and_zero_is_not() {
        let mut counts = [0; KIND_SLOTS];
        counts[EventKind::Open as usize] = 3;
        counts[0] = 1;
        counts[KIND_SLOTS - 1] = 2;
        let losses: Vec<Loss> = by_kind(7, LossCause::RingFull, &counts).collect();
        let loss = |kind, count| Loss {
            cpu: Some(7),
            kind,
            cause: LossCause::RingFull,
            count,
        };
        assert_eq!(
            losses,
            [loss(None, 1), loss(Some(EventKind::Open), 3), loss(None, 2)]
        );
    }

    #[test]
    fn scopes_are_added_up_by_kind() {
        let mut lost = LostByKind::from_counts(&[(EventKind::Open, 3)]);
        lost.add(LostByKind::from_counts(&[
            (EventKind::Open, u64::MAX),
            (EventKind::Fork, 2),
        ]));
        lost.add(LostByKind {
            counts: {
                let mut counts = [0; KIND_SLOTS];
                (counts[0], counts[KIND_SLOTS - 1]) = (1, 4);
                counts
            },
        });
        assert_eq!(lost.of_kind(Some(EventKind::Open)), u64::MAX);
        assert_eq!(lost.of_kind(Some(EventKind::Fork)), 2);
        assert_eq!(lost.of_kind(Some(EventKind::Exec)), 0);
        assert_eq!(lost.of_kind(None), 5);
    }

    #[test]
    fn the_kernels_line_is_found_among_others() {
        let fdinfo = "pos:\t0\nflags:\t02000002\nprog_type:\t26\nrun_cnt:\t9\nrecursion_misses:\t17\nverified_insns:\t5\n";
        assert_eq!(recursion_misses(fdinfo), Some(17));
        assert_eq!(recursion_misses("pos:\t0\n"), None);
    }
}
