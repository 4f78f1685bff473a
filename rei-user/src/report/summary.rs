//! The summary: what happened, on one screen, and whether that is all that happened.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use crate::engine::ContainerFacts;
use crate::enrich::{Origin, Outcome};
use crate::policy::Mode;
use crate::quote::{shorten, width};
use crate::report::account::{Account, Use};
use crate::report::reason::Reason;
use crate::report::tally::DISTINCT_MAX;
use crate::report::{CommandExit, End, Report};

/// The summary fits a terminal of this width.
pub(super) const COLUMNS: usize = 100;
/// And of 24 lines, with the two that tell of the log.
pub(super) const LINES: usize = 22;
/// Width of the labels at the left.
const LABEL_COLUMNS: usize = 14;
/// Columns of one example.
const EXAMPLE_COLUMNS: usize = 40;
/// Lines for files, of the lines that there are.
const FILE_LINES: usize = 6;
/// Lines for files where findings need the room.
const FILE_LINES_LEAST: usize = 3;
/// Lines for findings, beside the judgement.
const FINDING_LINES: usize = 4;
/// Lines for failures.
const FAILURE_LINES: usize = 2;

/// What happened, and whether that is all. `Display` gives it for a person; untrusted strings are quoted.
#[derive(Clone, Debug)]
pub struct Summary {
    lines: Vec<String>,
    reasons: Vec<Reason>,
    exit_code: u8,
}

impl Summary {
    pub(super) fn new(report: &Report, end: &End, reasons: Vec<Reason>) -> Self {
        let account = &report.account;
        let mut lines = vec![headline(report)];
        lines.extend(containers(report));
        lines.push(labelled("command", &command_words(end.command)));
        let findings = findings(report, reasons.is_empty());
        // Findings take their room from the files.
        let file_lines = FILE_LINES
            .saturating_sub(findings.len() - 1)
            .max(FILE_LINES_LEAST);
        lines.extend(findings);
        lines.push(labelled("processes", &processes(account)));
        lines.extend(list("programs", programs(account)));
        lines.extend(files(account, file_lines));
        lines.extend(list("addresses", addresses(account)));
        lines.extend(failures(account));
        if account.not_kept_apart() > 0 {
            let words = format!(
                "{} further events on objects beyond the first {DISTINCT_MAX} or so of a kind: counted only",
                account.not_kept_apart()
            );
            lines.push(labelled("not listed", &words));
        }
        let room = LINES.saturating_sub(lines.len());
        lines.extend(completeness(&reasons, room));
        let exit_code = if report.fails() {
            end.exit_codes.findings
        } else if reasons.is_empty() {
            end.exit_codes.complete
        } else {
            end.exit_codes.incomplete
        };
        Summary {
            lines,
            reasons,
            exit_code,
        }
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Why it is incomplete; empty if it is complete.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// rei's own exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// `web 0123456789ab, image demo:1`: for the headline.
pub(super) fn container_words(facts: &ContainerFacts) -> String {
    let id = facts.id.get(..12).unwrap_or("id unknown");
    let name = facts
        .name
        .as_deref()
        .map_or(String::new(), |name| shorten(name.as_bytes(), 24) + " ");
    let image = facts.image.as_deref().map_or(String::new(), |image| {
        format!(" (image {})", shorten(image.as_bytes(), 32))
    });
    format!("{name}{id}{image}")
}

fn headline(report: &Report) -> String {
    let words: Vec<String> = report
        .command
        .iter()
        .map(|word| shorten(word.as_bytes(), EXAMPLE_COLUMNS))
        .collect();
    let line = format!("rei {}: {}", env!("CARGO_PKG_VERSION"), words.join(" "));
    fit(&line, COLUMNS)
}

fn containers(report: &Report) -> Option<String> {
    if report.target == "plain" {
        return Some(labelled(
            "observed",
            "a plain command: it has no image, its files are the host's",
        ));
    }
    if report.containers.is_empty() {
        return Some(labelled("observed", "no container"));
    }
    let more = more(report.containers_unnamed);
    Some(labelled(
        "containers",
        &format!("{}{more}", report.containers.join(", ")),
    ))
}

fn command_words(exit: Option<CommandExit>) -> String {
    match exit {
        Some(CommandExit::Code(code)) => format!("ended with exit code {code}"),
        Some(CommandExit::Signal(signal)) => format!("ended by signal {signal}"),
        None => "no exit code: it was not rei's to wait for, or it still runs".to_owned(),
    }
}

/// The judgement, and the worst findings. The first line is always there.
fn findings(report: &Report, is_complete: bool) -> Vec<String> {
    let policy = &report.policy;
    let name = format!("policy {}", shorten(policy.name.as_bytes(), EXAMPLE_COLUMNS));
    let unjudged = if policy.mode == Mode::Unsafe {
        ", tripwires not judged"
    } else {
        ""
    };
    let extended = match policy.extensions.len() {
        0 => String::new(),
        count => format!(", extended by {count} option(s)"),
    };
    let words = match (report.findings.worst(), is_complete) {
        (Some(worst), _) => format!("{}: {}", worst.name(), report.findings.counts()),
        (None, true) => "clean".to_owned(),
        (None, false) => "no finding, incomplete".to_owned(),
    };
    let mut lines = vec![labelled(
        "judgement",
        &format!("{words} ({name}{unjudged}{extended})"),
    )];
    let sentences = report.findings.sentences();
    for (index, sentence) in sentences.iter().enumerate() {
        if index + 1 == FINDING_LINES && sentences.len() > FINDING_LINES {
            let words = format!(
                "and {} more: the last line of --json -o FILE has them all",
                sentences.len() - index
            );
            lines.push(labelled("", &words));
            break;
        }
        lines.push(labelled("", sentence));
    }
    lines
}

fn processes(account: &Account) -> String {
    let runtime = match account.runtime_events {
        0 => String::new(),
        events => format!("; {events} events of the container runtime itself are not counted here"),
    };
    let of_program = account
        .programs
        .in_order()
        .iter()
        .map(|(_, count)| count)
        .sum::<u64>();
    format!(
        "{} started, {of_program} programs executed{runtime}",
        account.entrypoints + account.forks
    )
}

/// One `×N` for what happened more than once.
fn times(count: u64) -> String {
    if count == 1 {
        String::new()
    } else {
        format!(" ×{count}")
    }
}

fn more(count: u64) -> String {
    if count == 0 {
        String::new()
    } else {
        format!(", and {count} more")
    }
}

fn programs(account: &Account) -> Vec<String> {
    let mut programs = account.programs.in_order();
    // The workload's own first; the sort is stable.
    programs.sort_by_key(|(program, _)| program.is_operator);
    let words = |(program, count): (&super::account::Program, u64)| {
        let path = shorten(program.script.as_ref().unwrap_or(&program.path), EXAMPLE_COLUMNS);
        let by = match &program.script {
            Some(_) => format!(" by {}", shorten(&program.path, EXAMPLE_COLUMNS)),
            None => String::new(),
        };
        let chain = program
            .chain
            .map_or(String::new(), |chain| format!(" [{}]", chain.name()));
        let operator = if program.is_operator { " [operator]" } else { "" };
        format!("{path}{by}{chain}{operator}{}", times(count))
    };
    programs.into_iter().map(words).collect()
}

fn addresses(account: &Account) -> Vec<String> {
    let words = |(address, count): (&super::account::Address, u64)| {
        let outcome = match address.outcome {
            Outcome::Ok => "connected".to_owned(),
            Outcome::InProgress if address.is_send => "sent to".to_owned(),
            Outcome::InProgress => "begun".to_owned(),
            Outcome::Failed(errno) => errno.to_string(),
        };
        format!(
            "{} {} {outcome}{}",
            address.protocol,
            shorten(&address.address, EXAMPLE_COLUMNS),
            times(count)
        )
    };
    account.addresses.in_order().into_iter().map(words).collect()
}

/// One line for each origin: how many files of each use, and the first of them, changed ones before others.
fn files(account: &Account, most: usize) -> Vec<String> {
    let mut by_origin: BTreeMap<&Origin, Vec<(Use, &[u8])>> = BTreeMap::new();
    for (file, _) in account.files.in_order() {
        by_origin
            .entry(&file.origin)
            .or_default()
            .push((file.how, &file.path));
    }
    if by_origin.is_empty() {
        return vec![labelled("files", "none opened")];
    }
    let mut origins: Vec<_> = by_origin.into_iter().collect();
    origins.sort_by_key(|(origin, _)| is_expected(origin));
    let unlisted = origins.split_off(origins.len().min(most));
    let mut lines: Vec<String> = origins
        .into_iter()
        .map(|(origin, files)| origin_line(origin, files))
        .collect();
    if !unlisted.is_empty() {
        let files: usize = unlisted.iter().map(|(_, files)| files.len()).sum();
        lines.push(labelled(
            "",
            &format!("{files} files of {} more origins", unlisted.len()),
        ));
    }
    with_label("files", lines)
}

/// Origins that every program touches come last.
fn is_expected(origin: &Origin) -> bool {
    matches!(
        origin,
        Origin::Image | Origin::Proc | Origin::Sys | Origin::Dev | Origin::Host
    )
}

fn origin_line(origin: &Origin, mut files: Vec<(Use, &[u8])>) -> String {
    files.sort_by_key(|(how, _)| *how);
    let counts = [
        (Use::Changed, "changed"),
        (Use::Read, "read"),
        (Use::Directory, "listed"),
        (Use::PathOnly, "as path only"),
    ];
    let counted: Vec<String> = counts
        .into_iter()
        .map(|(how, word)| (files.iter().filter(|(of, _)| *of == how).count(), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let head = format!(
        "{}: {}: ",
        shorten(origin.to_string().as_bytes(), EXAMPLE_COLUMNS),
        counted.join(", ")
    );
    let examples: Vec<String> = files
        .iter()
        .map(|(_, path)| shorten(path, EXAMPLE_COLUMNS))
        .collect();
    let room = (COLUMNS - LABEL_COLUMNS).saturating_sub(width(&head));
    let (shown, hidden) = fitting(&examples, room);
    labelled("", &format!("{head}{}{}", shown.join(", "), more(hidden)))
}

/// One line for each error: how often, and the first objects.
fn failures(account: &Account) -> Vec<String> {
    let mut by_outcome: BTreeMap<Outcome, (u64, Vec<String>)> = BTreeMap::new();
    for (failure, count) in account.failures.in_order() {
        let (total, examples) = by_outcome.entry(failure.outcome).or_default();
        *total += count;
        let verb = if failure.is_exec { "exec " } else { "" };
        examples.push(format!("{verb}{}", shorten(&failure.path, EXAMPLE_COLUMNS)));
    }
    if by_outcome.is_empty() {
        return Vec::new();
    }
    let mut outcomes: Vec<(Outcome, (u64, Vec<String>))> = by_outcome.into_iter().collect();
    // A missing file is the commonest and least telling failure.
    outcomes.sort_by_key(|(outcome, _)| outcome.to_string() == "ENOENT");
    let unlisted = outcomes.split_off(outcomes.len().min(FAILURE_LINES));
    let mut lines = Vec::new();
    for (outcome, (total, examples)) in outcomes {
        let head = format!("{outcome}{}: ", times(total));
        let (shown, hidden) = fitting(&examples, (COLUMNS - LABEL_COLUMNS).saturating_sub(width(&head)));
        lines.push(labelled(
            "",
            &format!("{head}{}{}", shown.join(", "), more(hidden)),
        ));
    }
    if !unlisted.is_empty() {
        let total: u64 = unlisted.iter().map(|(_, (total, _))| total).sum();
        let last = format!("{total} failures with {} other errors", unlisted.len());
        lines.push(labelled("", &last));
    }
    with_label("failed", lines)
}

/// A list on at most two lines.
fn list(label: &str, words: Vec<String>) -> Vec<String> {
    if words.is_empty() {
        return vec![labelled(label, "none")];
    }
    let room = COLUMNS - LABEL_COLUMNS;
    let mut rest = words.as_slice();
    let mut lines = Vec::new();
    for is_last in [false, true] {
        let (shown, hidden) = fitting(rest, room);
        let tail = if is_last { more(hidden) } else { String::new() };
        lines.push(labelled("", &format!("{}{tail}", shown.join(", "))));
        rest = &rest[shown.len()..];
        if rest.is_empty() {
            break;
        }
    }
    with_label(label, lines)
}

/// As many of the words as fit, joined with commas and with room for `, and N more`; at least one. And how
/// many do not.
fn fitting(words: &[String], room: usize) -> (&[String], u64) {
    const MORE_COLUMNS: usize = 18;
    let mut used = 0;
    let mut shown = 0;
    for (index, word) in words.iter().enumerate() {
        used += width(word) + 2;
        let reserve = if index + 1 == words.len() { 0 } else { MORE_COLUMNS };
        if used + reserve > room + 2 && index > 0 {
            break;
        }
        shown = index + 1;
    }
    (&words[..shown], (words.len() - shown) as u64)
}

/// The verdict on the record, and each reason with its next step, in at most `room` lines.
fn completeness(reasons: &[Reason], room: usize) -> Vec<String> {
    if reasons.is_empty() {
        let words = "complete: no event was lost, and every route that was used had a live sensor";
        return vec![labelled("record", words)];
    }
    let plural = if reasons.len() == 1 { "" } else { "s" };
    let mut lines = vec![labelled(
        "record",
        &format!("incomplete, for {} reason{plural}:", reasons.len()),
    )];
    for (index, reason) in reasons.iter().enumerate() {
        // Neighbours with the same next step say it once, at the last of them.
        let next_step = reason.next_step();
        let is_repeated = reasons
            .get(index + 1)
            .is_some_and(|next| next.next_step() == next_step);
        let next_step = if is_repeated {
            String::new()
        } else {
            format!(". Next: {next_step}.")
        };
        let words = wrap(&format!("{}{next_step}", reason.text()), COLUMNS - 4);
        let left = room.saturating_sub(lines.len());
        let is_last = index + 1 == reasons.len();
        if words.len() + usize::from(!is_last) > left {
            lines.push(format!(
                "  - and {} more: the last line of --json -o FILE has them all",
                reasons.len() - index
            ));
            break;
        }
        let marks = std::iter::once("  - ").chain(std::iter::repeat("    "));
        lines.extend(
            words
                .iter()
                .zip(marks)
                .map(|(line, mark)| format!("{mark}{line}")),
        );
    }
    lines
}

fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut()
            && (line.is_empty() || width(line) + 1 + width(word) <= columns)
        {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| fit(line, columns)).collect()
}

fn labelled(label: &str, words: &str) -> String {
    fit(
        &format!("  {label:<width$}{words}", width = LABEL_COLUMNS - 2),
        COLUMNS,
    )
}

/// Puts the label before the first line.
fn with_label(label: &str, mut lines: Vec<String>) -> Vec<String> {
    if let Some(first) = lines.first_mut() {
        let words = first.split_off(LABEL_COLUMNS.min(first.len()));
        *first = labelled(label, &words);
    }
    lines
}

/// Cuts a line that is already harmless.
fn fit(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut cut = String::new();
    for character in line.chars() {
        if width(&cut) + 2 + 1 > columns {
            break;
        }
        cut.push(character);
    }
    cut.push('…');
    cut
}
