//! What is wrong with a policy file, and where.

use std::fmt;
use std::ops::Range;

use crate::quote::shows_as_itself;

/// One thing that is wrong with a policy, with the place where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line's text, harmless to print.
    pub text: String,
    /// Characters of the text that the problem is about.
    pub width: usize,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Problem {
    pub(super) fn at(source: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let start = floor(source, span.start);
        let end = floor(source, span.end).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |at| start + at);
        let text: String = source[line_start..line_end]
            .trim_end_matches('\r')
            .chars()
            .map(|c| if c == '\t' { ' ' } else { c })
            .map(|c| if shows_as_itself(c) { c } else { '\u{fffd}' })
            .collect();
        Problem {
            line: source[..line_start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            text,
            width: source[start..end.min(line_end)].chars().count().max(1),
            message: message.into(),
        }
    }
}

/// The nearest place before `at` where a character begins.
fn floor(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let indent = " ".repeat(self.column - 1);
        writeln!(
            out,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )?;
        writeln!(out, "  {number} | {}", self.text)?;
        write!(out, "  {gutter} | {indent}{}", "^".repeat(self.width))
    }
}

/// Why a policy cannot be used: never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(out)?;
            }
            write!(out, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_lines_and_characters() {
        let source = "a = 1\nü = \"\u{1b}x\" # end\n";
        let at = source.find('"').unwrap();
        let problem = Problem::at(source, &(at..at + 4), "bad");
        assert_eq!((problem.line, problem.column, problem.width), (2, 5, 4));
        assert_eq!(
            problem.to_string(),
            "line 2, column 5: bad\n  2 | ü = \"\u{fffd}x\" # end\n    |     ^^^^"
        );
        let end = Problem::at(source, &(99..120), "over the end");
        assert_eq!((end.line, end.column, end.width), (3, 1, 1));
    }
}
