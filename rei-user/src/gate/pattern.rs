//! Patterns over bytes: globs and regular expressions, compiled once, with limits on size.
//!
//! Both work on bytes, so that a name that is not UTF-8 cannot slip past `*` or `.`, and `.` includes line ends.
//! One engine runs both, in time linear in the text.

use std::fmt::Write as _;

use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_automata::util::syntax;

use crate::glob::Glob;
use crate::paths::Begin;

use super::condition::Test;

/// States of the largest regular expression that goes into an automaton with others. Each text that the automaton has
/// to tell apart costs it a set of such states; `^/srv/[a-z]+/data-[0-9]+$` has 30.
const SHARED_STATES_MAX: usize = 512;

/// Longest pattern: holds a glob of the longest path (4096 bytes), each byte written as `\xHH`.
const PATTERN_BYTES_MAX: usize = 16_384;
/// Largest compiled form of one pattern. `[a-z]{1,1000}` takes about 100 KB; nested counts are what this stops.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of groups in one pattern.
const NESTING_MAX: u32 = 64;

/// A regular expression as an index needs it: matched against many texts together with others.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) regex: String,
    pub(super) begin: Begin,
}

impl Pattern {
    /// Matches this text alone.
    pub(super) fn equal(text: &[u8]) -> Self {
        Pattern::whole(&format!(r"\A{}\z", escaped(text)))
    }

    /// Matches what begins with this.
    pub(super) fn prefix(prefix: &[u8]) -> Self {
        Pattern::whole(&format!(r"\A{}", escaped(prefix)))
    }

    /// A regular expression that can begin at the first byte only.
    pub(super) fn whole(regex: &str) -> Self {
        Pattern {
            regex: regex.to_owned(),
            begin: Begin::AtFirst,
        }
    }

    /// A regular expression as a rule has it; `None` if it is too large to share an automaton with others.
    pub(super) fn of_regex(written: &str) -> Option<Self> {
        let nfa = NFA::compiler()
            .syntax(syntax())
            .configure(NFA::config().utf8(false).which_captures(WhichCaptures::None))
            .build(written)
            .ok()?;
        let begin = if nfa.is_always_start_anchored() {
            Begin::AtFirst
        } else {
            Begin::Anywhere
        };
        (nfa.states().len() <= SHARED_STATES_MAX).then(|| Pattern {
            regex: written.to_owned(),
            begin,
        })
    }
}

/// The bytes as a regular expression.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::from("(?-u)"), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, r"\x{byte:02x}");
        out
    })
}

fn syntax() -> syntax::Config {
    syntax::Config::new()
        .unicode(false)
        .utf8(false)
        .dot_matches_new_line(true)
        .nest_limit(NESTING_MAX)
}

/// What a glob is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobKind {
    /// A path of an observed operation.
    Path,
    /// Any text; a path if it begins with `/`.
    Text,
}

/// Compiles a regular expression. It matches anywhere in the text unless it is anchored (`^`, `$`).
///
/// # Errors
/// If it is no regular expression, or too large; the text says which.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "the pattern is longer than {PATTERN_BYTES_MAX} bytes; shorten it"
        ));
    }
    let limits = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX))
        .onepass_size_limit(Some(COMPILED_BYTES_MAX));
    Regex::builder()
        .configure(limits)
        .syntax(syntax())
        .build(pattern)
        .map_err(|error| match error.syntax_error() {
            Some(error) => last_line(&error.to_string()),
            None if error.size_limit().is_some() => {
                format!("the pattern takes more than {COMPILED_BYTES_MAX} bytes when compiled; make its counts smaller")
            }
            None => error.to_string(),
        })
}

/// The parser's message ends with one line that says it all.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or(message);
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Compiles a glob. Of a path, `*` stays within a component; of any other text it takes any bytes.
///
/// # Errors
/// If it is no glob, or too large; the text says which.
pub(super) fn glob(text: &str, kind: GlobKind) -> Result<Test, String> {
    let is_object = kind == GlobKind::Path || text == "**" || text.starts_with('/');
    let glob = if is_object {
        Glob::object(text)
    } else {
        Glob::word(text)
    };
    compiled(glob?)
}

/// The test of a glob that was read already.
///
/// # Errors
/// If it is too large.
pub(super) fn compiled(glob: Glob) -> Result<Test, String> {
    Ok(Test::Glob(regex(&glob.regex())?, glob))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_of_paths_and_of_texts() {
        let table: [(&str, &[u8], bool); 9] = [
            ("/etc/*", b"/etc/passwd", true),
            ("/etc/*", b"/etc/ssl/cert", false),
            ("/etc/**", b"/etc", true),
            ("/a/*", b"/a/\xff\n\xfe", true),
            ("/a/**", b"/a/\n/\xff", true),
            ("*.txt", b"a/b.txt", true),
            ("*.txt", b"a/b.txt.", false),
            ("**", b"anything/at all", true),
            (r"\xff?", b"\xffx", true),
        ];
        for (pattern, text, expected) in table {
            let Test::Glob(compiled, _) = glob(pattern, GlobKind::Text).unwrap() else {
                panic!("no glob")
            };
            assert_eq!(compiled.is_match(text), expected, "{pattern}");
        }
        assert!(
            glob("etc/*", GlobKind::Path)
                .unwrap_err()
                .contains("begins with `/`")
        );
        assert!(
            glob("/a**", GlobKind::Text)
                .unwrap_err()
                .contains("whole components")
        );
        assert!(glob(&format!("/{}", "a".repeat(4000)), GlobKind::Text).is_ok());
    }

    #[test]
    fn regexes_work_on_bytes_and_have_limits() {
        assert!(regex("^/a/.*z$").unwrap().is_match(b"/a/\xff\nz"));
        assert!(regex("日本").unwrap().is_match("/日本/".as_bytes()));
        for (bad, why) in [
            ("(", "unclosed group"),
            ("a{1,1000}{1,1000}", "counts smaller"),
            (r"\p{Greek}", "Unicode"),
            (&format!("{}{}", "(".repeat(100), ")".repeat(100)), "nest"),
            (&"a".repeat(PATTERN_BYTES_MAX + 1), "longer"),
        ] {
            let error = regex(bad).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{bad}: {error}");
        }
    }
}
