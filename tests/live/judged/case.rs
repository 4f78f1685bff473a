//! What a run must be found to be, and the comparison.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::docker::{Container, Image};
use crate::rei::Rei;

/// One finding: what objected, to which kind of act on which object, how it failed if it did, and how often.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    cause: String,
    kind: String,
    object: String,
    errno: Option<String>,
    count: u64,
    hint: Option<String>,
}

/// What is expected of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// Every finding, in any order.
    pub(crate) findings: Vec<Finding>,
    /// System calls without a sensor that the program uses; if there are none the record is complete.
    pub(crate) gaps: &'static [&'static str],
}

/// A program in a container.
pub(crate) struct Case<'a> {
    pub(crate) image: &'a Image,
    /// Options of rei; `--policy` is among them.
    pub(crate) rei: &'a [&'a str],
    /// Options of `docker run`.
    pub(crate) docker: &'a [&'a str],
    pub(crate) command: &'a [&'a str],
}

/// A finding that happened once and succeeded. `cause` is `I1`, `I2`, `I3` or the name of a gate rule.
pub(crate) fn finding(cause: &str, kind: &str, object: impl Into<String>) -> Finding {
    Finding {
        cause: cause.to_owned(),
        kind: kind.to_owned(),
        object: object.into(),
        errno: None,
        count: 1,
        hint: None,
    }
}

/// An open that trips I1.
pub(crate) fn opened(object: impl Into<String>) -> Finding {
    finding("I1", "open", object)
}

/// An exec that trips I3.
pub(crate) fn executed(object: impl Into<String>) -> Finding {
    finding("I3", "exec", object)
}

impl Finding {
    /// It was tried, and failed with that.
    pub(crate) fn attempted(mut self, errno: &str) -> Self {
        self.errno = Some(errno.to_owned());
        self
    }

    /// It happened that often.
    pub(crate) fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// It says what to do.
    pub(crate) fn hinted(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_owned());
        self
    }

    fn read(value: &Value) -> Result<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        ensure!(
            text("errno").is_some() == (value["attempted"] == true),
            "`attempted` and `errno` go together: {value}"
        );
        Ok(Self {
            cause: text("tripwire")
                .or(text("rule"))
                .context("a finding without a cause")?,
            kind: text("kind").context("a finding without a kind")?,
            object: text("object").context("a finding without an object")?,
            errno: text("errno"),
            count: value["count"].as_u64().context("a finding without a count")?,
            hint: text("hint"),
        })
    }
}

impl Expected {
    /// No finding, and complete.
    pub(crate) fn clean() -> Self {
        Self::default()
    }

    /// These findings, and complete.
    pub(crate) fn findings(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self {
            findings: findings.into_iter().collect(),
            gaps: &[],
        }
    }

    /// And these system calls without a sensor.
    pub(crate) fn with_gaps(self, gaps: &'static [&'static str]) -> Self {
        Self { gaps, ..self }
    }

    /// The worst of it.
    fn judgement(&self) -> &'static str {
        let is_wire = |finding: &Finding| ["I1", "I2", "I3"].contains(&finding.cause.as_str());
        if self
            .findings
            .iter()
            .any(|finding| finding.cause == "container-destructive")
        {
            "blocked"
        } else if self.findings.iter().any(is_wire) {
            "tripped"
        } else if self.findings.is_empty() {
            "clean"
        } else {
            "caution"
        }
    }

    /// Compares with the last line of a record: nothing more, nothing less.
    fn check(&self, end: &Value) -> Result<()> {
        let listed = end["findings"].as_array().context("no findings")?;
        let mut found = listed.iter().map(Finding::read).collect::<Result<Vec<_>>>()?;
        let mut expected = self.findings.clone();
        found.sort_unstable();
        expected.sort_unstable();
        ensure!(
            found == expected,
            "findings differ.\nexpected, not found: {:#?}\nfound, not expected: {:#?}",
            without(&expected, &found),
            without(&found, &expected)
        );
        ensure!(
            end["judgement"] == self.judgement(),
            "judgement {}",
            end["judgement"]
        );
        ensure!(
            end["syscalls_without_sensor"] == serde_json::json!(self.gaps),
            "{:?} were expected to have no sensor: {}",
            self.gaps,
            end["syscalls_without_sensor"]
        );
        let reasons = end["reasons"].as_array().context("no reasons")?;
        let is_other = |reason: &&Value| reason["kind"] != "route_without_sensor";
        let other: Vec<&Value> = reasons.iter().filter(is_other).collect();
        ensure!(other.is_empty(), "incomplete for other reasons, too: {other:?}");
        let completeness = if self.gaps.is_empty() {
            "complete"
        } else {
            "incomplete"
        };
        ensure!(
            end["completeness"] == completeness,
            "{} and not {completeness}",
            end["completeness"]
        );
        Ok(())
    }

    /// What `rei run` ends with when the command ended with 0.
    fn exit_code(&self) -> i32 {
        match (self.judgement(), self.gaps) {
            ("tripped" | "blocked", _) => 101,
            (_, []) => 0,
            _ => 103,
        }
    }
}

impl Case<'_> {
    /// Runs it; the expectation is made before. Gives what the program printed.
    pub(crate) fn must_be(&self, expected: &Expected) -> Result<String> {
        self.run(|_| Ok(expected.clone()))
    }

    /// The same where the program itself counts or finds out what cannot be known before.
    pub(crate) fn run(&self, expect: impl FnOnce(&str) -> Result<Expected>) -> Result<String> {
        let container = Container::named("judged");
        let words = self.image.run(container.name(), self.docker, self.command);
        let done = Rei::run(self.rei, &words)?.finish()?;
        let records = done.records()?;
        let end = records.end();
        let story = || format!("{:?}: {}", self.command, done.story());
        ensure!(records.lost_at_all() == 0, "a loss is declared: {}", story());
        ensure!(
            end["command_exit"]["code"] == 0,
            "the command itself failed: {}",
            story()
        );
        let expected = expect(&done.stdout).with_context(story)?;
        expected.check(end).with_context(story)?;
        ensure!(
            done.status.code() == Some(expected.exit_code()),
            "exit code {} was expected: {}",
            expected.exit_code(),
            story()
        );
        Ok(done.stdout)
    }
}

/// Those of `these` that are not in `others`.
fn without<'a>(these: &'a [Finding], others: &[Finding]) -> Vec<&'a Finding> {
    these.iter().filter(|one| !others.contains(one)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expected() -> Expected {
        Expected::findings([
            opened("/a").times(2),
            finding("I2", "connect", "192.0.2.1:80").attempted("EACCES"),
        ])
        .with_gaps(&["rename"])
    }

    fn end() -> Value {
        json!({
            "completeness": "incomplete", "judgement": "tripped", "syscalls_without_sensor": ["rename"],
            "reasons": [{"kind": "route_without_sensor"}],
            "findings": [
                {"tripwire": "I2", "kind": "connect", "object": "192.0.2.1:80", "count": 1,
                 "attempted": true, "errno": "EACCES"},
                {"tripwire": "I1", "kind": "open", "object": "/a", "count": 2},
            ],
        })
    }

    #[test]
    fn what_was_expected_passes_and_nothing_else() -> Result<()> {
        expected().check(&end())?;
        assert_eq!(expected().exit_code(), 101);
        for (place, value) in [
            ("/findings/1/count", json!(3)),
            ("/findings/1/object", json!("/b")),
            ("/findings/1/tripwire", json!("I3")),
            ("/findings/1/kind", json!("exec")),
            ("/findings/0/errno", json!("EPERM")),
            ("/findings/0/attempted", json!(false)),
            ("/findings", json!([])),
            ("/judgement", json!("blocked")),
            ("/completeness", json!("complete")),
            ("/syscalls_without_sensor", json!([])),
            ("/reasons/0/kind", json!("lost")),
        ] {
            let mut other = end();
            *other.pointer_mut(place).context("no such place")? = value;
            assert!(expected().check(&other).is_err(), "{place}");
        }
        let mut one_more = end();
        let findings = one_more["findings"].as_array_mut().context("no findings")?;
        findings.push(findings[1].clone());
        assert!(expected().check(&one_more).is_err());
        Ok(())
    }

    #[test]
    fn what_is_worst_gives_the_exit_code() {
        let caution = Expected::findings([finding("container-privileged", "open", "/a")]);
        assert_eq!((caution.judgement(), caution.exit_code()), ("caution", 0));
        assert_eq!(caution.with_gaps(&["rename"]).exit_code(), 103);
        assert_eq!(
            (Expected::clean().judgement(), Expected::clean().exit_code()),
            ("clean", 0)
        );
    }
}
