//! What rules cost: runs the benchmark of rei-user, and makes a table of the ratios.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, output};
use crate::table::{self, Table};

/// A thousand rules may cost this many times what ten cost, where the same ten answer.
const RATIO_MAX: f64 = 1.3;
/// The numbers of rules that the benchmark compares.
const FEW: usize = 10;
const MANY: usize = 1_000;

/// Measurements of one subject: pairs of one round, in nanoseconds per object.
#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    subject: String,
    answering: String,
    few: Vec<f64>,
    many: Vec<f64>,
}

impl Row {
    /// Of each round, in rising order.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self
            .few
            .iter()
            .zip(&self.many)
            .map(|(few, many)| many / few)
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

/// Measures, and writes the table or prints it.
pub(crate) fn run(is_dry: bool) -> Result<()> {
    let mut command = cargo(&["bench", "-p", "rei-user", "--bench", "rules"]);
    // Nothing of the kernel side is measured.
    command.env("REI_EBPF_SKIP", "1");
    let rows = parse(&output(&mut command)?)?;
    let text = text(&rows);
    if is_dry {
        table::print(&text)?;
    } else {
        table::write(Table::Rules, &text)?;
    }
    check(&rows)
}

fn parse(text: &str) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let mut field = || {
            fields
                .next()
                .with_context(|| format!("{line:?} has not four fields"))
        };
        let (subject, answering) = (field()?, field()?);
        let rules: usize = field()?
            .parse()
            .with_context(|| format!("no number of rules in {line:?}"))?;
        let ns: f64 = field()?
            .parse()
            .with_context(|| format!("no nanoseconds in {line:?}"))?;
        if rows
            .last()
            .is_none_or(|row| row.subject != subject || row.answering != answering)
        {
            rows.push(Row {
                subject: subject.to_owned(),
                answering: answering.to_owned(),
                ..Row::default()
            });
        }
        let row = rows.last_mut().context("no row")?;
        match rules {
            FEW => row.few.push(ns),
            MANY => row.many.push(ns),
            other => bail!("{other} rules in {line:?}; {FEW} and {MANY} are compared"),
        }
    }
    if rows.is_empty()
        || rows
            .iter()
            .any(|row| row.few.is_empty() || row.few.len() != row.many.len())
    {
        bail!(
            "the benchmark of rules measured nothing, or not in pairs; run `cargo bench -p rei-user --bench rules`"
        );
    }
    Ok(rows)
}

fn text(rows: &[Row]) -> String {
    let rounds = rows.iter().map(|row| row.few.len()).min().unwrap_or(0);
    let mut text = format!("{}; {rounds} rounds.\n\n", table::machine());
    text.push_str("| rules | who answers | 10 rules, ns per object | 1,000 rules | ratio |\n");
    text.push_str("| --- | --- | ---: | ---: | ---: |\n");
    for row in rows {
        let ratios = row.ratios();
        let (least, greatest) = (ratios[0], ratios[ratios.len() - 1]);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {:.0} | {:.2} ({least:.2}–{greatest:.2}) |",
            row.subject,
            row.answering,
            table::median(&row.few),
            table::median(&row.many),
            table::median(&ratios),
        );
    }
    text
}

/// Fails if rules that have no part in the answer cost more than is promised.
fn check(rows: &[Row]) -> Result<()> {
    for row in rows.iter().filter(|row| row.answering == "ten") {
        let ratio = table::median(&row.ratios());
        if ratio > RATIO_MAX {
            bail!(
                "{}: {MANY} rules cost {ratio:.2} times what {FEW} cost, and {RATIO_MAX} is promised; \
                 if the machine was busy, measure again",
                row.subject
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "inputs\tten\t10\t100\ninputs\tten\t1000\t120\n\
        inputs\tten\t1000\t150\ninputs\tten\t10\t100\n\
        inputs\tten\t10\t200\ninputs\tten\t1000\t200\n\
        inputs\tall\t10\t100\ninputs\tall\t1000\t180";

    #[test]
    fn a_ratio_is_taken_within_a_round() {
        let rows = parse(MEASURED).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].ratios(), [1.0, 1.2, 1.5]);
        let text = text(&rows);
        assert!(
            text.contains("| inputs | ten | 100 | 150 | 1.20 (1.00–1.50) |"),
            "{text}"
        );
        assert!(
            text.contains("| inputs | all | 100 | 180 | 1.80 (1.80–1.80) |"),
            "{text}"
        );
    }

    #[test]
    fn the_promise_is_about_rules_that_do_not_answer() {
        let mut rows = parse(MEASURED).unwrap();
        assert!(check(&rows).is_ok());
        rows[0].many = vec![131.0; 3];
        rows[0].few = vec![100.0; 3];
        assert!(check(&rows).unwrap_err().to_string().contains("1.31 times"));
    }

    #[test]
    fn what_is_no_measurement_is_refused() {
        for text in [
            "",
            "a\tten\t10\t1",
            "a\tten\t10",
            "a\tten\t11\t1",
            "a\tten\t10\tx",
            "nonsense",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
