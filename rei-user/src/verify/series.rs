//! A whole series: every number that the host gave to a log is here, or accounted for.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::finding::{Findings, Spread, Violation, Where};
use super::host::series_state;
use super::report::{Report, Verdict};
use crate::format::Hex;
use crate::keys::derive::{LOGS_MAX, SeriesKey, VerificationKey};
use crate::keys::entry::{ENTRIES_FILE, Entry, Fate};
use crate::log::read::{Lines, LogDirectory, Piece, ReadError};

/// The note of a birth under way.
const NOTE_FILE: &str = "birth";
/// Longest note, in bytes.
const NOTE_BYTES_MAX: usize = 4096;
/// Most missing numbers, or ranges of them, that are listed.
const RANGES_MAX: usize = 1000;

/// What became of the numbers of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeriesReport {
    /// The series.
    pub id: Hex<16>,
    /// `ok`, or `tampered` if a number is missing; `unverifiable` if there is nothing to judge.
    pub verdict: Verdict,
    /// Why it could not be judged.
    pub why: Option<String>,
    /// Numbers that are known to have been given: from 0 up to this one, without it.
    pub known: u64,
    /// Logs that are here.
    pub present: u64,
    /// Numbers that became no log.
    pub void: u64,
    /// Whether the host's own state and list of births were read: without it, nobody can say whether there were later logs.
    pub host_list: bool,
    /// Ranges of missing numbers, the last one of each included.
    pub missing: Vec<[u64; 2]>,
    /// What an honest series never shows.
    pub violations: Findings<Violation>,
}

/// What is known of a number.
#[derive(Default)]
struct Number {
    /// The logs that say that they have it.
    logs: Vec<Hex<16>>,
    entry: Option<(Fate, Hex<16>)>,
}

/// The numbers of a series, gathered from logs and from the host's list.
pub struct SeriesCheck<'a> {
    key: &'a VerificationKey,
    numbers: BTreeMap<u64, Number>,
    host_list: bool,
    /// Numbers that the host says it has given.
    known: u64,
    violations: Findings<Violation>,
    reasons: Vec<String>,
}

impl<'a> SeriesCheck<'a> {
    /// Of the series of this key.
    #[must_use]
    pub fn new(key: &'a VerificationKey) -> Self {
        SeriesCheck {
            key,
            numbers: BTreeMap::new(),
            host_list: false,
            known: 0,
            violations: Findings::default(),
            reasons: Vec::new(),
        }
    }

    /// Adds a log that was verified with this key.
    pub fn add(&mut self, report: &Report) {
        let (Some(place), Some(log)) = (report.series, report.log_id) else {
            return;
        };
        if place.id == self.key.series.0 && place.i < LOGS_MAX {
            self.numbers.entry(place.i).or_default().logs.push(log);
        }
    }

    /// Adds what the host itself knows of its series, from the directory of its keys: where the series stands, and the
    /// list of births. Says whether these are the keys of this series.
    ///
    /// # Errors
    /// If they are there and cannot be read.
    pub fn add_host(&mut self, keys: &Path) -> Result<bool, ReadError> {
        let directory = LogDirectory::open(keys)?;
        // The list first: what is born after it was read is no number that it could name.
        let lines = directory.lines_of(ENTRIES_FILE)?;
        let is_in_birth = directory.small_file(NOTE_FILE, NOTE_BYTES_MAX)?.is_some();
        let Some((_, next)) = series_state(keys)?.filter(|(id, _)| *id == self.key.series.0) else {
            return Ok(false);
        };
        self.host_list = true;
        if next > LOGS_MAX {
            self.reasons.push(format!(
                "the host's series stands at number {next}: {LOGS_MAX} logs are the most"
            ));
            return Ok(true);
        }
        self.known = next.saturating_sub(u64::from(is_in_birth));
        if let Some(lines) = lines {
            self.list(lines)?;
        }
        Ok(true)
    }

    fn list(&mut self, mut lines: Lines) -> Result<(), ReadError> {
        let mut ratchet = Ratchet::new(self.key);
        while let Some(piece) = lines.next_piece()? {
            match piece {
                Piece::Line { bytes, .. } => self.entry(bytes, &mut ratchet),
                Piece::TooLong { .. } => self.bad_entry(None, "it is too long"),
                // A line that a power cut tore was never relied on.
                Piece::Tail { .. } => {}
            }
        }
        Ok(())
    }

    fn entry(&mut self, line: &[u8], ratchet: &mut Ratchet<'_>) {
        let Some(entry) = Entry::read(line) else {
            self.bad_entry(None, "it is no entry");
            return;
        };
        let number = entry.i.value();
        let is_right = ratchet
            .at(entry.at.value())
            .is_some_and(|key| entry.verifies(self.key.series, key));
        if !is_right || number >= LOGS_MAX {
            self.bad_entry(Some(number), "its tag is wrong");
            return;
        }
        let known = &mut self.numbers.entry(number).or_default().entry;
        let said = (entry.e, entry.log);
        if known.is_some_and(|known| known.0 == entry.e && known != said) {
            self.bad_entry(Some(number), "it names two logs");
        } else {
            *known = Some(said);
        }
    }

    fn bad_entry(&mut self, number: Option<u64>, why: &str) {
        self.violations
            .add(Violation::SeriesEntry, Spread::Log, Where::default(), || {
                let number = number.map_or(String::new(), |number| format!("number {number}: "));
                format!("{number}{why}")
            });
    }

    /// What was found out.
    #[must_use]
    pub fn report(mut self) -> SeriesReport {
        let numbers = std::mem::take(&mut self.numbers);
        let named = numbers.last_key_value().map_or(0, |(number, _)| number + 1);
        let known = named.max(self.known);
        let mut report = SeriesReport {
            id: self.key.series.0,
            verdict: Verdict::Ok,
            why: None,
            known,
            present: 0,
            void: 0,
            host_list: self.host_list,
            missing: Vec::new(),
            violations: Findings::default(),
        };
        let mut next = 0;
        for (number, facts) in &numbers {
            self.gap(&mut report, next, *number);
            next = number + 1;
            self.number(&mut report, *number, facts);
        }
        self.gap(&mut report, next, known);
        if numbers.is_empty() {
            self.reasons.push(
                "no log here belongs to the series of this key: give the directory of its logs".to_owned(),
            );
            report.verdict = Verdict::Unverifiable;
        }
        if !self.violations.is_empty() {
            report.verdict = Verdict::Tampered;
        }
        report.why = (!self.reasons.is_empty()).then(|| self.reasons.join("; "));
        report.violations = self.violations;
        report
    }

    fn number(&mut self, report: &mut SeriesReport, number: u64, facts: &Number) {
        let mut logs = facts.logs.clone();
        logs.sort_unstable();
        logs.dedup();
        report.present += logs.len() as u64;
        if logs.len() > 1 {
            self.violations.add(
                Violation::SeriesNumberTwice,
                Spread::Log,
                Where::default(),
                || format!("number {number}: {} and {}", logs[0], logs[1]),
            );
        }
        match (facts.entry, logs.first()) {
            (Some((Fate::Void, _)), None) => report.void += 1,
            (Some((Fate::Void, _)), Some(log)) => {
                self.bad_entry(Some(number), &format!("it became no log, and here is {log}"));
            }
            (Some((Fate::Born, born)), Some(_)) if !logs.contains(&born) => {
                self.bad_entry(Some(number), &format!("it became {born}, which is not here"));
            }
            (_, Some(_)) => {}
            (_, None) => self.gap(report, number, number + 1),
        }
    }

    /// The numbers from one up to another are missing.
    fn gap(&mut self, report: &mut SeriesReport, from: u64, to: u64) {
        if from == to {
            return;
        }
        let has_room = report.missing.len() < RANGES_MAX;
        match report.missing.last_mut() {
            Some(last) if last[1] + 1 == from => last[1] = to - 1,
            _ if has_room => report.missing.push([from, to - 1]),
            _ => {}
        }
        self.violations.add(
            Violation::SeriesNumberMissing,
            Spread::Log,
            Where::default(),
            || format!("number {from} first; if it is kept elsewhere, give that directory as well"),
        );
    }
}

/// The keys of a series, for entries whose numbers mostly grow.
struct Ratchet<'a> {
    first: &'a VerificationKey,
    at: u64,
    key: Option<SeriesKey>,
    budget: u64,
}

impl<'a> Ratchet<'a> {
    fn new(first: &'a VerificationKey) -> Self {
        Ratchet {
            first,
            at: 0,
            key: first.series_key(0),
            budget: 2 * LOGS_MAX,
        }
    }

    /// `R_i`; `None` if it is too far away to be honest.
    fn at(&mut self, number: u64) -> Option<&SeriesKey> {
        let from = if number < self.at { 0 } else { self.at };
        self.budget = self.budget.checked_sub(number.checked_sub(from)?)?;
        if from == 0 && self.at != 0 {
            self.key = self.first.series_key(0);
        }
        for step in from..number {
            self.key = Some(self.key.as_ref()?.next(self.first.series, step));
        }
        self.at = number;
        self.key.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::id::SeriesId;
    use crate::keys::secret::Secret;

    const SERIES: SeriesId = SeriesId::new([9; 16]);

    fn key() -> VerificationKey {
        VerificationKey {
            series: SERIES,
            r0: SeriesKey::new(Secret::new([5; 32])),
        }
    }

    fn log(number: u64, byte: u8) -> Report {
        let mut report = Report::unreadable(String::new(), String::new());
        report.log_id = Some(Hex([byte; 16]));
        report.series = Some(super::super::SeriesPlace {
            id: SERIES.0,
            i: number,
        });
        report
    }

    fn entry(at: u64, what: &str, i: u64, byte: u8) -> String {
        let log = Hex([byte; 16]);
        let line = format!(r#"{{"at":{at},"e":"{what}","i":{i},"log":"{log}","tag":""#);
        let series = key().series_key(at).expect("near");
        let tag = series.entry_tag(SERIES, at, line.as_bytes());
        format!("{line}{tag}\"}}\n")
    }

    fn put_state(keys: &Path, number: u64) {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut slot = [b"REISER01", &number.to_be_bytes()[..], SERIES.bytes(), &[5; 32]].concat();
        slot.extend_from_slice(&super::super::host::crc32(&slot).to_le_bytes());
        slot.resize(8192, 0);
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(keys.join("series"));
        file.expect("a file").write_all(&slot).expect("written");
    }

    fn judge(logs: &[(u64, u8)], list: Option<&str>) -> SeriesReport {
        let key = key();
        let mut check = SeriesCheck::new(&key);
        for (number, byte) in logs {
            check.add(&log(*number, *byte));
        }
        if let Some(list) = list {
            let keys = tempfile::tempdir().expect("a directory");
            std::fs::write(keys.path().join(ENTRIES_FILE), list).expect("a file");
            put_state(keys.path(), list.matches('\n').count() as u64);
            assert!(check.add_host(keys.path()).expect("readable"));
        }
        check.report()
    }

    fn codes(report: &SeriesReport) -> Vec<&'static str> {
        let found = report.violations.entries().iter();
        found.map(|found| found.code.code()).collect()
    }

    #[test]
    fn a_whole_series_is_ok_with_and_without_the_hosts_list() {
        let report = judge(&[(2, 3), (0, 1), (1, 2), (1, 2)], None);
        assert_eq!(
            (report.verdict, report.known, report.present),
            (Verdict::Ok, 3, 3)
        );
        assert!(!report.host_list);
        let list = entry(1, "born", 0, 1) + &entry(2, "void", 1, 2) + &entry(3, "born", 2, 3);
        let report = judge(&[(0, 1), (2, 3)], Some(&list));
        assert_eq!((report.verdict, report.void, report.present), (Verdict::Ok, 1, 2));
        assert!(report.host_list);
        // Torn by a power cut.
        let report = judge(&[(0, 1), (2, 3)], Some(&(list + "{\"at\":4")));
        assert_eq!(report.verdict, Verdict::Ok);
    }

    #[test]
    fn missing_numbers_are_named() {
        let report = judge(&[(1, 1), (4, 2)], None);
        assert_eq!(
            (report.verdict, codes(&report)),
            (Verdict::Tampered, vec!["SERIES_MISSING"])
        );
        assert_eq!(report.missing, [[0, 0], [2, 3]]);
        // Only the host's list knows of the newest.
        let list = entry(1, "born", 0, 1) + &entry(2, "born", 1, 2);
        assert_eq!(judge(&[(0, 1)], None).verdict, Verdict::Ok);
        assert_eq!(judge(&[(0, 1)], Some(&list)).missing, [[1, 1]]);
        assert_eq!(judge(&[], None).verdict, Verdict::Unverifiable);
    }

    #[test]
    fn a_number_has_one_log() {
        assert_eq!(codes(&judge(&[(0, 1), (0, 2)], None)), ["SERIES_TWICE"]);
        let list = entry(1, "born", 0, 3);
        assert_eq!(codes(&judge(&[(0, 1)], Some(&list))), ["SERIES_ENTRY"]);
        let list = entry(1, "void", 0, 1);
        assert_eq!(codes(&judge(&[(0, 1)], Some(&list))), ["SERIES_ENTRY"]);
    }

    #[test]
    fn an_entry_without_the_right_tag_accounts_for_nothing() {
        let list = entry(1, "void", 0, 1).replace("void", "born");
        let report = judge(&[(1, 2)], Some(&list));
        assert_eq!(codes(&report), ["SERIES_ENTRY", "SERIES_MISSING"]);
        for wrong in [
            "x\n",
            "{}\n",
            &entry(1, "void", 0, 1).replace("\"at\":1", "\"at\":9007199254740991"),
        ] {
            assert!(
                codes(&judge(&[(0, 1)], Some(wrong))).contains(&"SERIES_ENTRY"),
                "{wrong}"
            );
        }
    }
}
