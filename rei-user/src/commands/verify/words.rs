//! Reports for a person: how far the guarantee reaches comes before the counts.

use std::fmt::{Display, Write as _};

use crate::quote::quote;
use crate::verify::{
    Completeness, Findings, Found, Report, SeriesReport, Verdict, Violation, Warning, Where,
};

/// One log's report.
pub(super) fn log_in_words(report: &Report) -> String {
    let mut text = Text::default();
    let path = quote(report.path.as_bytes());
    text.line(0, format!("{path}: {}", verdict_in_words(report)));
    if let Some(why) = &report.why {
        text.line(1, quoted_words(why));
    }
    if let Some(log) = report.log_id {
        let origin = report.origin.clone().unwrap_or_default();
        let mut line = format!("log {log} by {}", quote(origin.as_bytes()));
        if let Some(series) = report.series {
            let _ = write!(line, ", number {} of series {}", series.i, series.id);
        }
        text.line(1, line);
    }
    if report.size > 0 {
        text.line(1, reach(report));
        text.line(1, checked_against(report));
    }
    if matches!(report.verdict, Verdict::Ok | Verdict::Incomplete) {
        text.line(1, end_in_words(report));
    }
    text.findings("violation", &report.violations);
    text.findings("warning", &report.warnings);
    text.line(1, counts(report));
    if let Some(newest) = &report.newest_checkpoint {
        text.line(
            1,
            format!(
                "newest checkpoint: {} lines, root {}; keep it outside the host for --trusted-checkpoint",
                newest.size, newest.root
            ),
        );
    }
    text.0
}

/// A series' report.
pub(super) fn series_in_words(report: &SeriesReport) -> String {
    let mut text = Text::default();
    let verdict = match report.verdict {
        Verdict::Ok | Verdict::Incomplete => "no number is missing",
        Verdict::Unverifiable => "could not be checked",
        Verdict::Tampered => "TAMPERED",
    };
    text.line(0, format!("series {}: {verdict}", report.id));
    if let Some(why) = &report.why {
        text.line(1, quoted_words(why));
    }
    text.line(
        1,
        format!(
            "{} numbers are known: {} logs are here, {} numbers became no log",
            report.known, report.present, report.void
        ),
    );
    for [first, last] in &report.missing {
        let range = if first == last {
            format!("missing: number {first}")
        } else {
            format!("missing: numbers {first} to {last}")
        };
        text.line(1, range);
    }
    text.line(
        1,
        if report.host_list {
            "the host's own keys were read: they know how many logs there were"
        } else {
            "without the host's own keys (--keys), nobody can say whether there were later logs"
        },
    );
    text.findings("violation", &report.violations);
    text.0
}

fn verdict_in_words(report: &Report) -> String {
    match report.verdict {
        Verdict::Tampered => "TAMPERED".to_owned(),
        Verdict::Unverifiable => "could not be checked".to_owned(),
        Verdict::Incomplete => "unchanged as far as checked, and without an end".to_owned(),
        Verdict::Ok => match report.completeness {
            Completeness::Anchored { .. } => "unchanged as far as checked, and anchored".to_owned(),
            Completeness::Local => {
                "unchanged as far as checked; only the host vouches for its end".to_owned()
            }
            Completeness::Unproven => "unchanged as far as checked; nobody vouches for its end".to_owned(),
        },
    }
}

/// Up to where everything is as it was written.
fn reach(report: &Report) -> String {
    match &report.last_good {
        Some(good) => format!(
            "everything up to line {}, sealed {}, is intact",
            good.seq,
            utc(good.t)
        ),
        None if report.violations.has(Violation::CheckpointRoot) => {
            "the lines fit each other, and not what was signed: where they were changed, nobody can say"
                .to_owned()
        }
        None => "no seal comes before the first thing that is wrong: nothing is vouched for".to_owned(),
    }
}

/// What that is worth.
fn checked_against(report: &Report) -> String {
    let held = &report.held;
    match (held.verification_key, held.public_key) {
        (true, _) => "checked with the verification key: what was sealed before somebody broke into the host cannot have \
                      been changed"
            .to_owned(),
        (false, true) => "checked with the host's public key: somebody with the files alone can have changed nothing that \
                          a checkpoint covers; who owned the host can have, in segments that were still open"
            .to_owned(),
        (false, false) if held.trusted_checkpoint => {
            "checked against a kept checkpoint only: what it covers is what it covered then".to_owned()
        }
        (false, false) => "checked without any key: only accidents and naive edits are found; whoever recomputed the \
                           hashes is not (--pub, --key)"
            .to_owned(),
    }
}

/// Who says that nothing is missing at the end.
fn end_in_words(report: &Report) -> String {
    let open = match report.verdict {
        Verdict::Incomplete => format!(
            "no closing seal: it is being written, or its writer crashed; {} lines and {} bytes after the last seal are \
             not sealed. ",
            report.unsealed_lines, report.torn_bytes
        ),
        _ => String::new(),
    };
    let end = match report.completeness {
        Completeness::Anchored { size, .. } if size >= report.size => {
            "a checkpoint from outside covers every line".to_owned()
        }
        Completeness::Anchored { size, .. } => format!(
            "a checkpoint from outside covers {size} of {} lines; nobody outside vouches for the rest",
            report.size
        ),
        Completeness::Local => {
            "the host itself vouches that the log ends here; a roll-back of the whole host would not \
                                show (--trusted-checkpoint)"
                .to_owned()
        }
        Completeness::Unproven => {
            "nobody vouches that the log ends here: later lines, or whole segments, may be gone \
                                   (--key with the head token, --trusted-checkpoint)"
                .to_owned()
        }
    };
    open + &end
}

fn counts(report: &Report) -> String {
    let tags = match report.tags_checked {
        0 => String::new(),
        tags => format!(", {tags} tags"),
    };
    format!(
        "{} segments, {} lines, {} bytes, {} seals{tags}, {} signatures",
        report.segments, report.size, report.bytes, report.seals_checked, report.signatures_checked
    )
}

/// Lines of text.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, indent: usize, line: impl Display) {
        let _ = writeln!(self.0, "{}{line}", "  ".repeat(indent));
    }

    fn findings<C: Code>(&mut self, what: &str, findings: &Findings<C>) {
        for found in findings.entries() {
            self.line(1, finding(what, found));
        }
    }
}

/// What violations and warnings have in common.
trait Code: Copy + PartialEq {
    fn words(self) -> [&'static str; 2];
}

impl Code for Violation {
    fn words(self) -> [&'static str; 2] {
        [self.code(), self.text()]
    }
}

impl Code for Warning {
    fn words(self) -> [&'static str; 2] {
        [self.code(), self.text()]
    }
}

fn finding<C: Code>(what: &str, found: &Found<C>) -> String {
    let [code, text] = found.code.words();
    let mut line = format!("{what} {code}{}: {text}", place(&found.place));
    if !found.note.is_empty() {
        let _ = write!(line, " ({})", quoted_words(&found.note));
    }
    match found.count {
        1 => {}
        2 => line.push_str("; once more later"),
        count => {
            let _ = write!(line, "; {} times more later", count - 1);
        }
    }
    line
}

fn place(place: &Where) -> String {
    let parts = [
        ("segment", place.segment),
        ("line", place.sequence),
        ("byte", place.offset),
    ];
    let known: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, number)| Some(format!("{name} {}", number?)))
        .collect();
    if known.is_empty() {
        String::new()
    } else {
        format!(" at {}", known.join(", "))
    }
}

/// Prose that may hold what a log says: anything that moves the cursor is quoted.
fn quoted_words(prose: &str) -> String {
    let words: Vec<String> = prose
        .split(' ')
        .map(|word| {
            // Words of ours may hold quotes; only what does not show as itself is escaped.
            if word.chars().all(crate::quote::shows_as_itself) {
                word.to_owned()
            } else {
                quote(word.as_bytes()).to_string()
            }
        })
        .collect();
    words.join(" ")
}

/// Nanoseconds since 1970 as RFC 3339, in UTC, to the second.
fn utc(wall_ns: u64) -> String {
    let seconds = wall_ns / 1_000_000_000;
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let february = if days_of(year) == 366 { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!(
        "{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}Z",
        days + 1,
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

const fn days_of(year: u64) -> u64 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if is_leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::{quoted_words, utc};

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), text);
        }
        assert_eq!(utc(u64::MAX), "2554-07-21T23:34:33Z");
    }

    #[test]
    fn what_a_log_says_moves_no_cursor() {
        assert_eq!(quoted_words("it says \"x\" (y)"), "it says \"x\" (y)");
        assert!(!quoted_words("a \u{1b}[2J\n\u{202e}b").contains(['\u{1b}', '\n', '\u{202e}']));
    }
}
