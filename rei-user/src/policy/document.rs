//! A TOML document that remembers where everything is written, and collects what is wrong with it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::policy::problem::Problem;

/// A value with its place.
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// The text that is being read, with what was found wrong so far.
pub(super) struct Reader<'s> {
    source: &'s str,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl<'s> Reader<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Reader {
            source,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The whole text.
    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    pub(super) fn problem(&mut self, span: &Range<usize>, message: impl Into<String>) {
        self.problems.push(Problem::at(self.source, span, message));
    }

    pub(super) fn warning(&mut self, span: &Range<usize>, message: impl Into<String>) {
        self.warnings.push(Problem::at(self.source, span, message));
    }

    /// Problems and warnings, in the order of the text.
    pub(super) fn finish(mut self) -> (Vec<Problem>, Vec<Problem>) {
        for list in [&mut self.problems, &mut self.warnings] {
            list.sort_by_key(|problem| (problem.line, problem.column));
        }
        (self.problems, self.warnings)
    }

    /// The line on which a place is.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        Problem::at(self.source, span, "").line
    }

    /// The whole document; `None` if it is no TOML.
    pub(super) fn document(&mut self) -> Option<Spanned<DeTable<'s>>> {
        match DeTable::parse(self.source) {
            Ok(table) => Some(table),
            Err(error) => {
                let span = error.span().unwrap_or(0..0);
                let message = error.message().trim().replace('\n', "; ");
                self.problem(&span, format!("this is no TOML: {message}"));
                None
            }
        }
    }

    pub(super) fn unknown_key(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, of: &str, known: &[&str]) {
        let message = match nearest(key.get_ref(), known) {
            Some(near) => format!("{of} has no key {:?}; did you mean {near:?}?", key.get_ref()),
            None => format!("{of} has no key {:?}; it has {}", key.get_ref(), known.join(", ")),
        };
        self.problem(&key.span(), message);
    }

    pub(super) fn string<'v>(&mut self, value: &'v Value<'_>, what: &str) -> Option<&'v str> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wants(value, what, "a string");
        }
        text
    }

    pub(super) fn boolean(&mut self, value: &Value<'_>, what: &str) -> Option<bool> {
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.wants(value, what, "true or false");
        }
        boolean
    }

    pub(super) fn array<'v, 'i>(&mut self, value: &'v Value<'i>, what: &str) -> Option<&'v DeArray<'i>> {
        let array = value.get_ref().as_array();
        if array.is_none() {
            self.wants(value, what, "a list");
        }
        array
    }

    pub(super) fn table<'v, 'i>(&mut self, value: &'v Value<'i>, what: &str) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wants(value, what, "a table");
        }
        table
    }

    /// One word of a fixed set.
    pub(super) fn word<T: Copy>(&mut self, value: &Value<'_>, what: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.string(value, what)?;
        let found = words
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meaning)| *meaning);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.problem(
                &value.span(),
                format!("{what} is {}, not {text:?}", known.join(" or ")),
            );
        }
        found
    }

    pub(super) fn wants(&mut self, value: &Value<'_>, what: &str, wanted: &str) {
        let found = value.get_ref().type_str();
        self.problem(
            &value.span(),
            format!("{what} is {wanted}, not {} {found}", article(found)),
        );
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// The known word that differs least, if it differs little.
fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    known
        .iter()
        .map(|candidate| (distance(word, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Letters to change, add or take away.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_offered_only_if_it_is_near() {
        let known = ["inputs", "outputs", "env"];
        assert_eq!(nearest("inptus", &known), Some("inputs"));
        assert_eq!(nearest("output", &known), Some("outputs"));
        assert_eq!(nearest("filesystem", &known), None);
    }
}
