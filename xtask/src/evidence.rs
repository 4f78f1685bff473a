//! What evidence costs: runs the benchmark of the log, and makes the tables of writing and verifying.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, output};
use crate::table::{self, Table};

const HASHED: &str = "SHA-256 alone";

/// What the benchmark measured, in its order.
#[derive(Debug, Default, PartialEq)]
struct Measured {
    /// Of what is written: events and lines per second in memory, and on the disk, round by round.
    writing: Vec<(String, BTreeMap<String, Vec<Rate>>)>,
    /// Of who reads: bytes per second, round by round.
    reading: Vec<(String, Vec<f64>)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    events: f64,
    lines: f64,
}

/// Measures, and writes the tables or prints them.
pub(crate) fn run(is_dry: bool) -> Result<()> {
    let mut command = cargo(&["bench", "-p", "rei-user", "--bench", "log"]);
    // Nothing of the kernel side is measured.
    command.env("REI_EBPF_SKIP", "1");
    let text = parse(&output(&mut command)?)?.text()?;
    if is_dry {
        table::print(&text)
    } else {
        table::write(Table::Log, &text)
    }
}

fn parse(text: &str) -> Result<Measured> {
    let mut measured = Measured::default();
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |at: usize| -> Result<f64> {
            let number: f64 = fields[at]
                .parse()
                .with_context(|| format!("no number in {line:?}"))?;
            if number > 0.0 {
                Ok(number)
            } else {
                bail!("{line:?} measured nothing")
            }
        };
        match fields[..] {
            ["write", what, place, ..] if fields.len() == 6 => {
                let rate = Rate {
                    events: number(3)? / number(5)? * 1e9,
                    lines: number(4)? / number(5)? * 1e9,
                };
                let places = of(&mut measured.writing, what);
                places.entry(place.to_owned()).or_default().push(rate);
            }
            ["read", who, ..] if fields.len() == 4 => {
                of(&mut measured.reading, who).push(number(2)? / number(3)? * 1e9);
            }
            _ => bail!("{line:?} is no measurement of the log's benchmark"),
        }
    }
    Ok(measured)
}

/// The entry of that name: the last ones are new.
fn of<'a, T: Default>(entries: &'a mut Vec<(String, T)>, name: &str) -> &'a mut T {
    let at = entries.iter().position(|(known, _)| known == name);
    let at = at.unwrap_or_else(|| {
        entries.push((name.to_owned(), T::default()));
        entries.len() - 1
    });
    &mut entries[at].1
}

impl Measured {
    fn text(&self) -> Result<String> {
        let incomplete =
            "the benchmark of the log measured not everything; run `cargo bench -p rei-user --bench log`";
        let hashed = self.reading.iter().find(|(who, _)| who == HASHED);
        let (_, hashed) = hashed.context(incomplete)?;
        // Writing to a string cannot fail.
        let mut text = format!("{}; {} rounds.\n\n", table::machine(), hashed.len());
        text.push_str("| what happens | in memory: events/s | lines/s | on the disk: events/s | lines/s | disk / memory |\n");
        text.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
        for (what, places) in &self.writing {
            let (memory, disk) = (places.get("memory"), places.get("disk"));
            let (memory, disk) = memory.zip(disk).context(incomplete)?;
            let events = |rates: &[Rate]| rates.iter().map(|rate| rate.events).collect::<Vec<_>>();
            let lines = |rates: &[Rate]| rates.iter().map(|rate| rate.lines).collect::<Vec<_>>();
            let _ = writeln!(
                text,
                "| {what} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
                table::median(&events(memory)),
                table::median(&lines(memory)),
                table::median(&events(disk)),
                table::median(&lines(disk)),
                ratio(&events(disk), &events(memory)).context(incomplete)?
            );
        }
        text.push_str("\n| who reads | MB/s | of SHA-256 alone |\n| --- | ---: | ---: |\n");
        for (who, rates) in &self.reading {
            let _ = writeln!(
                text,
                "| {who} | {:.0} | {} |",
                table::median(rates) / 1e6,
                ratio(rates, hashed).context(incomplete)?
            );
        }
        Ok(text)
    }
}

/// Median, least and greatest ratio, each within a round; `None` if these are not as many rounds.
fn ratio(of: &[f64], to: &[f64]) -> Option<String> {
    if of.is_empty() || of.len() != to.len() {
        return None;
    }
    let ratios: Vec<f64> = of.iter().zip(to).map(|(of, to)| of / to).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = ratios.iter().copied().fold(0.0, f64::max);
    Some(format!(
        "{:.2} ({least:.2}–{greatest:.2})",
        table::median(&ratios)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "write\tfiles\tmemory\t100\t50\t1000000000\nwrite\tfiles\tdisk\t100\t50\t2000000000\n\
        read\tSHA-256 alone\t400000000\t1000000000\nread\tverify\t400000000\t4000000000\n\
        write\tfiles\tdisk\t100\t50\t1000000000\nwrite\tfiles\tmemory\t100\t50\t1000000000\n\
        read\tSHA-256 alone\t400000000\t2000000000\nread\tverify\t400000000\t4000000000";

    #[test]
    fn ratios_are_taken_within_a_round() {
        let text = parse(MEASURED).unwrap().text().unwrap();
        assert!(
            text.contains("| files | 100 | 50 | 75 | 38 | 0.75 (0.50–1.00) |"),
            "{text}"
        );
        assert!(text.contains("| verify | 100 | 0.38 (0.25–0.50) |"), "{text}");
        assert!(text.contains("; 2 rounds."), "{text}");
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        for text in [
            "nonsense",
            "read\tx\t1",
            "read\tx\t1\tx",
            "read\tx\t0\t1",
            "write\tx\ty\t1\t1",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_was_not_measured_makes_no_table() {
        let without = |left_out: &str| {
            let kept: Vec<_> = MEASURED.lines().filter(|line| !line.contains(left_out)).collect();
            parse(&kept.join("\n")).unwrap().text()
        };
        for left_out in ["SHA-256", "disk", "memory"] {
            assert!(without(left_out).is_err(), "{left_out}");
        }
        assert!(parse("").unwrap().text().is_err());
    }
}
