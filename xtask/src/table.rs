//! Measurements → the table of docs/performance.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};

use anyhow::{Context, Result};

use crate::account::{Account, KINDS};
use crate::bench::jobs;
use crate::command::{output, program, root};
use crate::workload::{Done, Job};

/// A table of docs/performance.md: the name in the marks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// What rei costs a container.
    Bench,
    /// What rules cost.
    Rules,
    /// What evidence costs.
    Log,
}

impl Table {
    fn marks(self) -> [String; 2] {
        let name = match self {
            Table::Bench => "bench",
            Table::Rules => "rules",
            Table::Log => "log",
        };
        ["begin", "end"].map(|end| format!("<!-- {name}:{end} -->"))
    }
}

/// One round's measurements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// No rei on the machine.
    pub(crate) alone: BTreeMap<Job, Done>,
    /// rei observes another container.
    pub(crate) unobserved: BTreeMap<Job, Done>,
    /// rei observes this container.
    pub(crate) observed: BTreeMap<Job, Done>,
}

/// The table, with the machine that it was measured on.
pub(crate) fn text(rounds: &[Round], account: &Account) -> String {
    let mut text = facts(rounds.len());
    text.push_str("\n| mode | threads | no rei, ns per operation | not observed | observed |\n");
    text.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    for job in jobs() {
        let alone: Vec<f64> = rounds
            .iter()
            .filter_map(|round| round.alone.get(&job))
            .map(|d| d.ns_per_op)
            .collect();
        let row = format!(
            "| {} | {} | {:.0} | {} | {} |\n",
            job.mode,
            job.threads,
            median(&alone),
            ratios(rounds, job, |round| &round.unobserved),
            ratios(rounds, job, |round| &round.observed)
        );
        text.push_str(&row);
    }
    text.push_str("\nOf the observed container, all rounds together:\n\n");
    text.push_str(
        "| kind | happened | reported | declared lost | neither |\n| --- | ---: | ---: | ---: | ---: |\n",
    );
    for kind in KINDS {
        let line = account.line(kind);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {kind} | {} | {} | {} | {} |",
            line.happened,
            line.reported,
            line.lost,
            line.unaccounted()
        );
    }
    let _ = writeln!(text, "\nDeclared lost of other kinds: {}.", account.other_losses);
    text
}

/// Median, least and greatest ratio to the same round without rei.
fn ratios(rounds: &[Round], job: Job, of: fn(&Round) -> &BTreeMap<Job, Done>) -> String {
    let mut ratios: Vec<f64> = Vec::new();
    for round in rounds {
        if let (Some(with), Some(without)) = (of(round).get(&job), round.alone.get(&job)) {
            ratios.push(with.ns_per_op / without.ns_per_op);
        }
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = ratios.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({least:.2}–{greatest:.2})", median(&ratios))
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (len, half) if len % 2 == 1 => sorted[half],
        (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The machine, its engine and the state of the sources.
fn facts(rounds: usize) -> String {
    let docker = asked("docker", &["version", "--format", "{{.Server.Version}}"]);
    format!("{}, Docker {docker}; {rounds} rounds.\n", machine())
}

fn asked(name: &str, args: &[&str]) -> String {
    output(program(name).args(args)).unwrap_or_else(|_| "unknown".to_owned())
}

/// The machine and the state of the sources: the beginning of a sentence.
pub(crate) fn machine() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or(": unknown");
    let cpu = cpu.trim_start_matches([' ', '\t', ':']);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel_version(&kernel);
    let commit = asked("git", &["rev-parse", "--short", "HEAD"]);
    format!("Measured at commit {commit} on {cores} cores ({cpu}), Linux {kernel}")
}

/// The numbers of a kernel release, without what its builder added.
fn kernel_version(release: &str) -> &str {
    let end = release
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(release.len());
    &release[..end]
}

/// Prints the table on stdout.
pub(crate) fn print(text: &str) -> Result<()> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

/// Puts the table between its marks in docs/performance.md.
pub(crate) fn write(table: Table, text: &str) -> Result<()> {
    let file = root().join("docs/performance.md");
    let page = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let page = replaced(&page, table, text)
        .with_context(|| format!("{} lacks {}", file.display(), table.marks().join(" or ")))?;
    fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("xtask: the table is in {}", file.display());
    Ok(())
}

fn replaced(page: &str, table: Table, text: &str) -> Option<String> {
    let [begin, end] = table.marks();
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(alone: f64, unobserved: f64, observed: f64) -> Round {
        let all = |ns: f64| {
            jobs()
                .map(|job| {
                    (
                        job,
                        Done {
                            ns_per_op: ns,
                            ..Done::default()
                        },
                    )
                })
                .collect()
        };
        Round {
            alone: all(alone),
            unobserved: all(unobserved),
            observed: all(observed),
        }
    }

    #[test]
    fn a_result_is_the_median_of_the_ratios_within_rounds() {
        let rounds = [
            round(100.0, 100.0, 200.0),
            round(200.0, 220.0, 420.0),
            round(400.0, 480.0, 1600.0),
        ];
        let text = text(&rounds, &Account::default());
        assert!(
            text.contains("| open | 2 | 200 | 1.10 (1.00–1.20) | 2.10 (2.00–4.00) |"),
            "{text}"
        );
        assert!(text.contains("| exec | 0 | 0 | 0 | 0 |"), "{text}");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        for table in [Table::Bench, Table::Rules] {
            let [begin, end] = table.marks();
            let page = format!("a\n{begin}\nold\n{end}\nb\n");
            assert_eq!(
                replaced(&page, table, "new\n"),
                Some(format!("a\n{begin}\nnew\n{end}\nb\n"))
            );
            assert_eq!(replaced("no marks", table, "new"), None);
        }
    }

    #[test]
    fn the_page_has_its_marks() {
        let page = include_str!("../../docs/performance.md");
        assert!(replaced(page, Table::Bench, "").is_some());
        assert!(replaced(page, Table::Rules, "").is_some());
    }

    #[test]
    fn a_kernel_is_named_by_its_numbers() {
        assert_eq!(kernel_version("6.1.0-18-amd64\n"), "6.1.0");
        assert_eq!(kernel_version("6.18.2\n"), "6.18.2");
    }
}
