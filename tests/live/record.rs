//! What rei wrote with `--json -o FILE`, read as `docs/events.md` promises it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Every line of one file.
pub(crate) struct Records {
    lines: Vec<Value>,
}

/// One line of type `event`.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    fields: &'a Value,
}

impl Records {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Reads lines: each must be a JSON object with a `type`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line)
                .with_context(|| format!("line {} is no JSON: {line:.200}", index + 1))?;
            ensure!(
                value["type"].is_string(),
                "line {} has no type: {line:.200}",
                index + 1
            );
            lines.push(value);
        }
        Ok(Self { lines })
    }

    /// The frame that the contract promises: `run` first, `end` last, each once.
    pub(crate) fn check_frame(&self) -> Result<()> {
        let kinds: Vec<&str> = self
            .lines
            .iter()
            .filter_map(|line| line["type"].as_str())
            .collect();
        ensure!(
            kinds.first() == Some(&"run"),
            "the first line is no `run` line: {:?}",
            kinds.first()
        );
        ensure!(
            kinds.last() == Some(&"end"),
            "the last line is no `end` line: {:?}",
            kinds.last()
        );
        for once in ["run", "end"] {
            ensure!(
                kinds.iter().filter(|kind| **kind == once).count() == 1,
                "more than one `{once}` line"
            );
        }
        ensure!(!kinds.contains(&"undecodable"), "there are undecodable records");
        Ok(())
    }

    /// Lines of one type.
    pub(crate) fn of_type(&self, wanted: &'static str) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(move |line| line["type"] == wanted)
    }

    /// The last line, or `null` if it is no `end` line.
    pub(crate) fn end(&self) -> &Value {
        self.of_type("end").last().unwrap_or(&Value::Null)
    }

    /// Events of every kind and phase.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event<'_>> {
        self.of_type("event").map(|fields| Event { fields })
    }

    /// Events of one kind whose phase is not `runtime`.
    pub(crate) fn acts<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Event<'a>> {
        self.events()
            .filter(move |event| event.is(kind) && event.text("phase") != Some("runtime"))
    }

    /// Acts of the phase `workload`.
    pub(crate) fn workload<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Event<'a>> {
        self.acts(kind)
            .filter(|event| event.text("phase") == Some("workload"))
    }

    /// Opens of `path` that succeeded and are no act of the runtime.
    pub(crate) fn opens_of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = Event<'a>> {
        self.acts("open")
            .filter(move |event| event.is_ok() && event.text("path") == Some(path))
    }

    /// Losses that may have been of that kind: those that say so, and those that do not know their kind.
    pub(crate) fn lost(&self, kind: &str) -> u64 {
        let may_be = |line: &&Value| line["kind"].is_null() || line["kind"] == kind;
        self.of_type("loss")
            .filter(may_be)
            .map(|line| line["count"].as_u64().unwrap_or(0))
            .sum()
    }

    /// Every declared loss.
    pub(crate) fn lost_at_all(&self) -> u64 {
        self.of_type("loss")
            .map(|line| line["count"].as_u64().unwrap_or(0))
            .sum()
    }

    /// `complete` or `incomplete`, with the reasons.
    pub(crate) fn completeness(&self) -> String {
        let end = self.end();
        let mut text = end["completeness"].as_str().unwrap_or("(no end line)").to_owned();
        for reason in end["reasons"].as_array().into_iter().flatten() {
            text.push_str("; ");
            text.push_str(reason["text"].as_str().unwrap_or("?"));
        }
        text
    }
}

impl<'a> Event<'a> {
    /// Whether it is of that kind.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.fields["kind"] == kind
    }

    /// Whether the act succeeded; a connect that is under way has not failed.
    pub(crate) fn is_ok(&self) -> bool {
        matches!(self.text("outcome"), Some("ok" | "in_progress"))
    }

    /// A field as JSON.
    pub(crate) fn field(&self, name: &str) -> &'a Value {
        &self.fields[name]
    }

    /// A field that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.fields[name].as_str()
    }

    /// A field that is a number; 0 where it is absent.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.fields[name].as_u64().unwrap_or(0)
    }

    /// Whether a field is `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.fields[name] == true
    }

    /// Whether an array field has that string in it.
    pub(crate) fn lists(&self, name: &str, wanted: &str) -> bool {
        self.fields[name]
            .as_array()
            .is_some_and(|array| array.iter().any(|item| item == wanted))
    }

    /// The exact bytes of a string field.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        match self.text(&format!("{name}_b64")) {
            Some(encoded) => STANDARD.decode(encoded).ok(),
            None => self.text(name).map(|text| text.as_bytes().to_vec()),
        }
    }
}

impl std::fmt::Debug for Event<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:.600}", self.fields.to_string())
    }
}

#[test]
fn exact_bytes_win_over_the_rendering() -> Result<()> {
    let records = Records::parse(concat!(
        r#"{"type":"event","kind":"open","phase":"workload","outcome":"ok","path":"/a?","path_b64":"L2H/"}"#,
        "\n",
        r#"{"type":"event","kind":"open","phase":"runtime","outcome":"ok","path":"/b"}"#,
    ))?;
    let opens: Vec<Event<'_>> = records.acts("open").collect();
    assert_eq!(opens.len(), 1, "acts of the runtime are left out");
    assert_eq!(opens[0].bytes("path"), Some(b"/a\xff".to_vec()));
    assert!(records.check_frame().is_err(), "neither run nor end line");
    Ok(())
}

#[test]
fn a_loss_of_unknown_kind_may_be_of_any_kind() -> Result<()> {
    let records = Records::parse(concat!(
        r#"{"type":"loss","kind":"open","cpu":0,"cause":"ring_full","count":3}"#,
        "\n",
        r#"{"type":"loss","kind":null,"cpu":1,"cause":"nested","count":2}"#,
    ))?;
    assert_eq!(
        (records.lost("open"), records.lost("exec"), records.lost_at_all()),
        (5, 2, 5)
    );
    Ok(())
}
