//! What the test runners of cargo and of Python print → how many tests passed, failed and were left out, by suite.

use std::collections::BTreeMap;

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Ran and passed.
    pub(crate) passed: u64,
    /// Ran and failed.
    pub(crate) failed: u64,
    /// Left out because they are marked `ignore`.
    pub(crate) ignored: u64,
}

impl Counts {
    /// How many ran.
    pub(crate) fn executed(self) -> u64 {
        self.passed + self.failed
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The counts of one run of `cargo test`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    suite: String,
    /// How many tests Python ran, as long as it has not said how they ended.
    python_ran: Option<u64>,
    /// What the suite that has not ended yet has shown so far.
    unfinished: Counts,
    suites: BTreeMap<String, Counts>,
}

impl Tally {
    /// Takes in one line of output.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(outcome) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        {
            match outcome.1.trim_end() {
                "ok" => self.unfinished.passed += 1,
                "FAILED" => self.unfinished.failed += 1,
                _ => {}
            }
        } else if let Some(binary) = line.trim_start().strip_prefix("Running ") {
            binary_name(binary).unwrap_or("?").clone_into(&mut self.suite);
        } else if let Some(library) = line.trim_start().strip_prefix("Doc-tests ") {
            self.suite = format!("{DOC}{library}");
        } else if let Some(counts) = line.strip_prefix("test result: ").and_then(counts) {
            self.suites.entry(self.suite.clone()).or_default().add(counts);
            self.unfinished = Counts::default();
        } else if let Some(ran) = line.strip_prefix("Ran ").and_then(ran) {
            self.python_ran = Some(ran);
            // None of them has passed until it says so.
            self.unfinished = Counts {
                failed: ran,
                ..Counts::default()
            };
        } else if let Some(counts) = self.python_ran.and_then(|ran| ends(line, ran)) {
            self.python_ran = None;
            self.suites.entry(PYTHON.to_owned()).or_default().add(counts);
            self.unfinished = Counts::default();
        }
    }

    /// All suites together, one that was stopped in the middle included.
    pub(crate) fn total(&self) -> Counts {
        let mut total = self.sum(|_| true);
        total.add(self.unfinished);
        total
    }

    /// One suite; zeros if it did not run.
    pub(crate) fn suite(&self, name: &str) -> Counts {
        self.suites.get(name).copied().unwrap_or_default()
    }

    /// How many tests were left out. Examples in documentation do not count: `ignore` means something else there.
    pub(crate) fn left_out(&self) -> u64 {
        self.sum(|suite| !suite.starts_with(DOC)).ignored
    }

    fn sum(&self, wanted: impl Fn(&str) -> bool) -> Counts {
        let mut total = Counts::default();
        self.suites
            .iter()
            .filter(|(suite, _)| wanted(suite))
            .for_each(|(_, counts)| total.add(*counts));
        total
    }
}

/// Before the name of a library whose documentation is tested.
const DOC: &str = "documentation of ";

/// The suite of everything that Python's `unittest` ran.
pub(crate) const PYTHON: &str = "unittest";

/// `12 tests in 3.4s` → 12.
fn ran(text: &str) -> Option<u64> {
    let (number, rest) = text.split_once(' ')?;
    let word = rest.split_once(" in ")?.0;
    matches!(word, "test" | "tests")
        .then(|| number.parse().ok())
        .flatten()
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=2)`: how the `ran` tests before it ended. One test can fail
/// several times, in its parts.
fn ends(line: &str, ran: u64) -> Option<Counts> {
    let (word, rest) = line.split_once(" (").unwrap_or((line, ")"));
    let is_good = match word {
        "OK" => true,
        "FAILED" => false,
        _ => return None,
    };
    let (mut failed, mut ignored) = (0, 0);
    for part in rest
        .strip_suffix(')')?
        .split(", ")
        .filter(|part| !part.is_empty())
    {
        let (what, number) = part.split_once('=')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "skipped" => ignored += number,
            // Whoever marks a test as failing has not made it pass.
            _ => failed += number,
        }
    }
    let failed = if is_good { failed } else { failed.max(1) };
    let failed = failed.min(ran.max(1));
    Some(Counts {
        passed: ran.saturating_sub(failed + ignored),
        failed,
        ignored,
    })
}

/// `unittests src/lib.rs (target/release/deps/rei-0a1b)` → `rei`.
fn binary_name(text: &str) -> Option<&str> {
    let (_, path) = text.trim_end().trim_end_matches(')').rsplit_once('(')?;
    let file = path.rsplit('/').next()?;
    Some(file.rsplit_once('-').map_or(file, |(name, _)| name))
}

/// `ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...` → the counts.
fn counts(text: &str) -> Option<Counts> {
    let (_, text) = text.split_once(". ")?;
    let mut counts = Counts::default();
    let mut seen = 0;
    for part in text.split("; ") {
        let Some((number, what)) = part.split_once(' ') else {
            continue;
        };
        let Ok(number) = number.parse() else { continue };
        match what {
            "passed" => counts.passed = number,
            "failed" => counts.failed = number,
            "ignored" => counts.ignored = number,
            _ => continue,
        }
        seen += 1;
    }
    (seen == 3).then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
     Running unittests src/lib.rs (target/release/deps/rei-0a1b2c)
running 4 tests
test a ... ok
test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running ../tests/live.rs (target/release/deps/live-77aa)
test result: ok. 0 passed; 0 failed; 7 ignored; 0 measured; 2 filtered out; finished in 0.00s
   Doc-tests rei
test result: ok. 1 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.20s
test result: ok, I would say
";

    fn tally() -> Tally {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.read(line));
        tally
    }

    #[test]
    fn counts_are_summed_over_suites() {
        assert_eq!(
            tally().total(),
            Counts {
                passed: 3,
                failed: 1,
                ignored: 11
            }
        );
        assert_eq!(tally().total().executed(), 4);
    }

    #[test]
    fn a_suite_is_found_by_the_name_of_its_binary() {
        assert_eq!(
            tally().suite("live"),
            Counts {
                ignored: 7,
                ..Counts::default()
            }
        );
        assert_eq!(
            tally().suite("rei"),
            Counts {
                passed: 2,
                failed: 1,
                ignored: 1
            }
        );
        assert_eq!(tally().suite("other"), Counts::default());
    }

    #[test]
    fn examples_in_documentation_are_not_left_out() {
        assert_eq!(tally().left_out(), 8);
    }

    #[test]
    fn the_tests_of_a_suite_that_was_stopped_count() {
        let mut tally = tally();
        for line in [
            "test a ... ok",
            "test b ... FAILED",
            "test c ... ignored, root",
            "test d ... ",
        ] {
            tally.read(line);
        }
        assert_eq!(
            tally.total(),
            Counts {
                passed: 4,
                failed: 2,
                ignored: 11
            }
        );
        tally.read("test result: FAILED. 3 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out");
        assert_eq!(
            tally.total(),
            Counts {
                passed: 6,
                failed: 2,
                ignored: 12
            }
        );
    }

    fn python(lines: &[&str]) -> Counts {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        assert_eq!(tally.total(), tally.suite(PYTHON));
        tally.total()
    }

    #[test]
    fn the_tests_of_python_are_counted() {
        let of = |passed, failed, ignored| Counts {
            passed,
            failed,
            ignored,
        };
        assert_eq!(
            python(&["....", "Ran 97 tests in 81.250s", "", "OK"]),
            of(97, 0, 0)
        );
        assert_eq!(
            python(&["Ran 1 test in 0.001s", "", "OK (skipped=1)"]),
            of(0, 0, 1)
        );
        assert_eq!(
            python(&["Ran 9 tests in 1.0s", "FAILED (failures=2, errors=1, skipped=1)"]),
            of(5, 3, 1)
        );
        // Parts of one test that fail are not more tests than ran.
        assert_eq!(
            python(&["Ran 2 tests in 1.0s", "FAILED (failures=7)"]),
            of(0, 2, 0)
        );
        assert_eq!(
            python(&["Ran 2 tests in 1.0s", "FAILED (unexpected successes=1)"]),
            of(1, 1, 0)
        );
        assert_eq!(python(&["Ran 0 tests in 0.0s", "", "OK"]), of(0, 0, 0));
        assert_eq!(python(&["Ran 0 tests in 0.0s", "", "NO TESTS RAN"]), of(0, 0, 0));
    }

    #[test]
    fn a_python_that_dies_before_its_verdict_has_passed_nothing() {
        let mut tally = Tally::default();
        tally.read("Ran 5 tests in 1.0s");
        assert_eq!((tally.total().passed, tally.total().failed), (0, 5));
    }

    #[test]
    fn a_line_that_is_no_result_is_not_counted() {
        assert_eq!(counts("ok. 3 passed"), None);
        assert_eq!(counts("ok"), None);
    }
}
