//! Reported + declared lost = what really happened. Holds rei's records against the workload's own counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workload::Done;

/// The counts of one kind of event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// How often the workload did it.
    pub(crate) happened: u64,
    /// How often a record says so.
    pub(crate) reported: u64,
    /// How many events of that kind the records declare as lost, the container runtime's included.
    pub(crate) lost: u64,
}

impl Line {
    /// Happened, and neither reported nor declared lost.
    pub(crate) fn unaccounted(self) -> u64 {
        self.happened.saturating_sub(self.reported + self.lost)
    }

    /// Reported more often than it happened.
    pub(crate) fn invented(self) -> u64 {
        self.reported.saturating_sub(self.happened)
    }
}

/// The counts of all records, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    lines: BTreeMap<&'static str, Line>,
    /// Losses of kinds that the workload does not provoke, or of no known kind.
    pub(crate) other_losses: u64,
}

/// The kinds that the workload provokes.
pub(crate) const KINDS: [&str; 3] = ["open", "connect", "exec"];

impl Account {
    /// What was counted of a kind.
    pub(crate) fn line(&self, kind: &str) -> Line {
        self.lines.get(kind).copied().unwrap_or_default()
    }

    /// Whether nothing is missing and nothing was invented.
    pub(crate) fn is_balanced(&self) -> bool {
        self.lines
            .values()
            .all(|line| line.unaccounted() == 0 && line.invented() == 0)
    }

    /// Adds what the workload says that it did in a container that rei observed.
    pub(crate) fn add_done(&mut self, done: Done) {
        for (kind, count) in KINDS.into_iter().zip([done.opens, done.connects, done.execs]) {
            self.lines.entry(kind).or_default().happened += count;
        }
    }

    /// Adds what a record says.
    pub(crate) fn read_record(&mut self, record: &Path) -> Result<()> {
        let file = File::open(record).with_context(|| format!("cannot read {}", record.display()))?;
        for line in BufReader::with_capacity(1 << 20, file).lines() {
            let line = line.with_context(|| format!("cannot read {}", record.display()))?;
            let value: Value =
                serde_json::from_str(&line).with_context(|| format!("{}: `{line}`", record.display()))?;
            self.read(&value);
        }
        Ok(())
    }

    fn read(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("event") => {
                if let Some(kind) = provoked(line) {
                    self.lines.entry(kind).or_default().reported += 1;
                }
            }
            Some("loss") => {
                let count = line["count"].as_u64().unwrap_or_default();
                match KINDS.into_iter().find(|kind| line["kind"] == *kind) {
                    Some(kind) => self.lines.entry(kind).or_default().lost += count,
                    None => self.other_losses += count,
                }
            }
            _ => {}
        }
    }
}

/// The kind of an event that the workload counts as its own, known by the fixed paths and ports that it uses.
fn provoked(event: &Value) -> Option<&'static str> {
    let of_a_mode = |path: &str| path.strip_prefix("/wl/").is_some_and(|rest| rest.contains('/'));
    match event["kind"].as_str()? {
        "open" => event["path"]
            .as_str()
            .filter(|path| of_a_mode(path))
            .map(|_| "open"),
        "exec" => event["path"]
            .as_str()
            .filter(|path| of_a_mode(path))
            .map(|_| "exec"),
        "connect" => event["address"]
            .as_str()
            .filter(|address| address.starts_with("127.0.0.1:900"))
            .map(|_| "connect"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn account(happened: u64, lines: &[Value]) -> Account {
        let mut account = Account::default();
        account.add_done(Done {
            ns_per_op: 1.0,
            opens: happened,
            connects: 0,
            execs: 0,
        });
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("events.jsonl");
        fs::write(
            &file,
            lines.iter().map(|line| format!("{line}\n")).collect::<String>(),
        )
        .unwrap();
        account.read_record(&file).unwrap();
        account
    }

    fn open(path: &str) -> Value {
        json!({"type": "event", "kind": "open", "path": path})
    }

    #[test]
    fn reported_and_lost_make_up_what_happened() {
        let loss = json!({"type": "loss", "kind": "open", "count": 2});
        let account = account(
            3,
            &[
                open("/wl/1/open/f"),
                loss,
                open("/wl/workload"),
                open("/etc/passwd"),
            ],
        );
        assert_eq!(
            account.line("open"),
            Line {
                happened: 3,
                reported: 1,
                lost: 2
            }
        );
        assert!(account.is_balanced());
    }

    #[test]
    fn what_is_missing_shows() {
        let account = account(
            3,
            &[
                open("/wl/1/open/f"),
                json!({"type": "loss", "kind": null, "count": 2}),
            ],
        );
        assert_eq!(account.line("open").unaccounted(), 2);
        assert_eq!(account.other_losses, 2);
        assert!(!account.is_balanced());
    }

    #[test]
    fn what_was_invented_shows() {
        let account = account(1, &[open("/wl/1/open/f"), open("/wl/1/open/f")]);
        assert_eq!(account.line("open").invented(), 1);
        assert!(!account.is_balanced());
    }

    #[test]
    fn connects_and_execs_are_known_by_port_and_path() {
        let connect = json!({"kind": "connect", "address": "127.0.0.1:9002"});
        let exec = json!({"kind": "exec", "path": "/wl/2/exec/true"});
        assert_eq!(provoked(&connect), Some("connect"));
        assert_eq!(provoked(&exec), Some("exec"));
        assert_eq!(provoked(&json!({"kind": "exec", "path": "/wl/workload"})), None);
        assert_eq!(
            provoked(&json!({"kind": "connect", "address": "127.0.0.1:80"})),
            None
        );
    }
}
