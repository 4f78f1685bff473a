//! `rei doctor`: what this host allows, found out by trying, and the next step for each gap.

mod docker;
mod host;
mod keys;
mod sensors;

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::DoctorArgs;

/// Exit code when everything is there.
const EXIT_ALL_THERE: u8 = 0;
/// Exit code when nothing can be recorded on this host.
const EXIT_CANNOT_RECORD: u8 = 2;
/// Exit code when rei can record, with gaps.
const EXIT_GAPS: u8 = 3;

/// The answer to one question about this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// What was looked at.
    check: String,
    status: Status,
    /// What was found there.
    found: String,
    /// What to do about it; `None` if there is nothing to do.
    next_step: Option<String>,
}

/// How bad a finding is. Later is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// As it should be.
    Ok,
    /// rei works, but sees or knows less.
    Gap,
    /// Nothing can be recorded.
    Fail,
}

impl Finding {
    fn ok(check: &str, found: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            status: Status::Ok,
            found: found.into(),
            next_step: None,
        }
    }

    fn gap(check: &str, found: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self {
            status: Status::Gap,
            next_step: Some(next_step.into()),
            ..Self::ok(check, found)
        }
    }

    fn fail(check: &str, found: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self {
            status: Status::Fail,
            next_step: Some(next_step.into()),
            ..Self::ok(check, found)
        }
    }
}

/// Runs every check and prints what was found. Gives the exit code: 0 all there, 3 gaps, 2 cannot record at
/// all.
///
/// # Errors
/// If the findings cannot be written.
pub(super) fn run(args: &DoctorArgs) -> Result<u8> {
    let mut findings = host::findings();
    findings.extend(sensors::findings());
    findings.push(docker::finding());
    findings.extend(keys::findings(&args.keys.directory));
    let mut out = io::stdout().lock();
    let printed = if args.json {
        print_json(&mut out, &findings)
    } else {
        print_text(&mut out, &findings)
    };
    printed.context("the findings cannot be written to stdout")?;
    eprintln!("{}", summary(&findings));
    Ok(exit_code(&findings))
}

fn worst(findings: &[Finding]) -> Status {
    findings
        .iter()
        .map(|finding| finding.status)
        .max()
        .unwrap_or(Status::Ok)
}

fn exit_code(findings: &[Finding]) -> u8 {
    match worst(findings) {
        Status::Ok => EXIT_ALL_THERE,
        Status::Gap => EXIT_GAPS,
        Status::Fail => EXIT_CANNOT_RECORD,
    }
}

fn summary(findings: &[Finding]) -> String {
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    match worst(findings) {
        Status::Ok => "rei: everything is there".to_owned(),
        Status::Gap => format!("rei: can record on this host, with {} gap(s)", count(Status::Gap)),
        Status::Fail => format!(
            "rei: cannot record on this host: {} check(s) failed",
            count(Status::Fail)
        ),
    }
}

fn print_json(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, findings)?;
    writeln!(out)?;
    out.flush()
}

/// One line per finding, its next step below it.
fn print_text(out: &mut impl Write, findings: &[Finding]) -> io::Result<()> {
    let width = findings
        .iter()
        .map(|finding| finding.check.len())
        .max()
        .unwrap_or(0);
    for finding in findings {
        let status = match finding.status {
            Status::Ok => "ok  ",
            Status::Gap => "gap ",
            Status::Fail => "FAIL",
        };
        let mut lines = finding.found.lines();
        writeln!(
            out,
            "{status}  {:width$}  {}",
            finding.check,
            lines.next().unwrap_or_default()
        )?;
        for line in lines {
            writeln!(out, "      {:width$}  {line}", "")?;
        }
        if let Some(next) = &finding.next_step {
            writeln!(out, "      {:width$}  next: {next}", "")?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides_the_exit_code() {
        let ok = Finding::ok("kernel", "fine");
        let gap = Finding::gap("docker", "no socket", "start it");
        let fail = Finding::fail("capabilities", "lacking", "run as root");
        assert_eq!(exit_code(std::slice::from_ref(&ok)), 0);
        assert_eq!(exit_code(&[ok.clone(), gap.clone()]), 3);
        assert_eq!(exit_code(&[fail, gap, ok]), 2);
    }

    #[test]
    fn json_has_the_four_fields_of_the_contract() {
        let mut out = Vec::new();
        print_json(&mut out, &[Finding::ok("a", "b"), Finding::gap("c", "d", "e")]).expect("memory takes it");
        let parsed: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let expected = serde_json::json!([
            {"check": "a", "status": "ok", "found": "b", "next_step": null},
            {"check": "c", "status": "gap", "found": "d", "next_step": "e"},
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn text_puts_the_next_step_below_its_finding() {
        let mut out = Vec::new();
        print_text(
            &mut out,
            &[Finding::fail("btf", "none\nat all", "boot another kernel")],
        )
        .expect("memory takes it");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(
            text,
            "FAIL  btf  none\n           at all\n           next: boot another kernel\n"
        );
    }

    #[test]
    fn every_gap_and_failure_on_this_host_has_a_next_step() {
        for finding in host::findings().into_iter().chain(sensors::findings()) {
            let has_step = finding.next_step.is_some_and(|step| !step.is_empty());
            assert_eq!(has_step, finding.status != Status::Ok, "{}", finding.check);
            assert!(!finding.found.is_empty(), "{}", finding.check);
        }
    }
}
