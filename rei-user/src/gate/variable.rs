//! `${entrypoint}` and `${workdir}` in the paths that a rule asks for: they have values once a container is known.

use crate::glob::{Glob, Pattern, Variable};

use super::condition::Test;
use super::expectation::{Expected, Place};
use super::operation::ArgName;
use super::pattern;
use super::spec::RuleError;

/// As they are written.
const WRITTEN: [(&str, &str); 2] = [("entrypoint", "${entrypoint}"), ("workdir", "${workdir}")];

/// A text of a rule, with values in place of variables.
pub(super) enum Text {
    /// These bytes.
    Known(Vec<u8>),
    /// Nobody knows yet.
    Unbound,
}

/// The text of `equals`, `in` or `prefix`.
///
/// # Errors
/// If it holds a variable where none can have a value.
pub(super) fn text(text: &str, place: &Place, expected: Expected<'_>) -> Result<Text, RuleError> {
    check(text, place, expected)?;
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        match WRITTEN.iter().find(|(_, written)| rest.starts_with(written)) {
            Some((name, written)) => {
                let Some(value) = value(name, expected.variables) else {
                    return Ok(Text::Unbound);
                };
                bytes.extend_from_slice(value.strip_suffix(b"/").unwrap_or(value));
                rest = &rest[written.len()..];
            }
            None => {
                bytes.extend_from_slice(b"${");
                rest = &rest[2..];
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    // The root directory ends with the slash that was taken off.
    Ok(Text::Known(if bytes.is_empty() { b"/".to_vec() } else { bytes }))
}

/// The test of `glob`.
///
/// # Errors
/// If it is no glob, or holds a variable where none can have a value.
pub(super) fn glob(text: &str, place: &Place, expected: Expected<'_>) -> Result<Test, RuleError> {
    let wrong = |reason: String| place.error(reason);
    check(text, place, expected)?;
    let has_variable = WRITTEN.iter().any(|(_, written)| text.contains(written));
    if expected.arg != Some(ArgName::Path) || !has_variable {
        return pattern::glob(text, expected.glob_kind()).map_err(wrong);
    }
    let pattern = Pattern::parse(text).map_err(wrong)?;
    match pattern.bind(expected.variables) {
        Some(glob) => pattern::compiled(glob).map_err(wrong),
        None => Ok(Test::Unbound),
    }
}

/// Refuses variables where none can have a value.
///
/// # Errors
/// If there is one.
pub(super) fn check(text: &str, place: &Place, expected: Expected<'_>) -> Result<(), RuleError> {
    let is_path = expected.arg == Some(ArgName::Path);
    let unknown = Glob::variables(text)
        .into_iter()
        .find(|name| !WRITTEN.iter().any(|(known, _)| known == name));
    if let Some(unknown) = unknown.filter(|_| is_path) {
        return Err(place.error(format!(
            "there is no variable {unknown:?}; there are ${{entrypoint}} and ${{workdir}}"
        )));
    }
    let used = WRITTEN.iter().find(|(_, written)| text.contains(written));
    match used {
        Some((_, written)) if !is_path => Err(place.error(format!(
            "{written} has a value in the `path` of observed operations only: it is a container's; name the operation \
             in `on`, or write `calls = \"observed\"`"
        ))),
        _ => Ok(()),
    }
}

/// Refuses variables in a regular expression.
///
/// # Errors
/// If there is one.
pub(super) fn refuse_in_regex(text: &str, place: &Place) -> Result<(), RuleError> {
    match WRITTEN.iter().find(|(_, written)| text.contains(written)) {
        Some((_, written)) => Err(place.error(format!(
            "{written} has no value in a regular expression; use `glob` or `prefix`"
        ))),
        None => Ok(()),
    }
}

fn value<'v>(name: &str, variables: &[Variable<'v>]) -> Option<&'v [u8]> {
    let variable = variables.iter().find(|variable| variable.0 == name)?;
    variable.1
}
