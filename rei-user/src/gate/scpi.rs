//! A shipped extra rule: the conductance of a Kikusui PLZ-5W load in CR mode is given in siemens, not in ohms.
//!
//! `COND 100` means 100 S, which is 0.01 ohm: close to a short circuit, where somebody probably meant 100 ohm. The
//! rule reads `args.body` of a planned `scpi_send` as the instrument would: several commands in one message, long and
//! short keywords, paths that go on after a semicolon, unit suffixes.

use std::borrow::Cow;

use serde_json::Value;

use super::argument::{Argument, Number};
use super::decision::{Answer, HazardLevel};
use super::rule::{Calls, Rule};

/// Its name in a policy file (`use = "…"`) and in decisions.
pub(super) const RULE_NAME: &str = "plz5w-conductance";

/// Above this a value was hardly meant: 1 S is 1 ohm.
const LIMIT_SIEMENS: f64 = 1.0;

/// Blocks planned `scpi_send` calls whose `args.body` sets a conductance above 1 S, or one that cannot be read.
#[must_use]
pub fn block_conductance() -> Rule {
    Rule::computed(
        RULE_NAME,
        Calls::Planned,
        HazardLevel::Blocked,
        |tool_name, arguments| {
            let note = (tool_name == "scpi_send")
                .then(|| objection(arguments.named("body")))
                .flatten()?;
            Some(Answer::new(HazardLevel::Blocked).with_note(note))
        },
    )
}

fn objection(body: Argument<'_>) -> Option<String> {
    match body {
        Argument::Text(text) => objection_to_message(&String::from_utf8_lossy(text)),
        Argument::Json(Value::Array(lines)) => lines.iter().find_map(|line| objection(line.into())),
        Argument::Json(_) => {
            Some("the body is an object, not a text: what it sends cannot be read".to_owned())
        }
        _ => None,
    }
}

fn objection_to_message(message: &str) -> Option<String> {
    message.split(['\n', '\r']).find_map(|line| {
        let mut path: Vec<String> = Vec::new();
        line.split(';')
            .find_map(|command| objection_to_command(command.trim(), &mut path))
    })
}

/// `path` is where the command before left off: keywords without a leading colon go on from there.
fn objection_to_command(command: &str, path: &mut Vec<String>) -> Option<String> {
    let (header, value) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    if header.starts_with('*') || header.is_empty() {
        return None;
    }
    if header.starts_with(':') {
        path.clear();
    }
    let keywords = header.split(':').filter(|keyword| !keyword.is_empty());
    path.extend(keywords.map(str::to_ascii_uppercase));
    let is_conductance = sets_conductance(path);
    path.pop();
    if !is_conductance || header.ends_with('?') {
        return None;
    }
    objection_to_value(value.trim())
}

/// Whether the command sets a level of conductance, not its range.
fn sets_conductance(path: &[String]) -> bool {
    let mut keywords = path
        .iter()
        .map(|keyword| keyword.trim_end_matches(|character: char| character.is_ascii_digit()));
    keywords.any(|keyword| matches!(keyword, "COND" | "CONDUCTANCE"))
        && keywords.all(|keyword| !matches!(keyword, "RANG" | "RANGE"))
}

fn objection_to_value(value: &str) -> Option<String> {
    let upper = value.to_ascii_uppercase();
    match upper.as_str() {
        "MIN" | "MINIMUM" => return None,
        "MAX" | "MAXIMUM" => {
            return Some(
                "COND is in siemens: MAX is the lowest resistance of the load, close to a short".to_owned(),
            );
        }
        _ => {}
    }
    match siemens(&upper) {
        Some(siemens) if siemens <= LIMIT_SIEMENS => None,
        Some(siemens) => Some(format!(
            "COND is in siemens, not in ohm: {siemens} S is {} ohm, close to a short; for {siemens} ohm send COND {}",
            inverse(siemens),
            inverse(siemens)
        )),
        None => Some("COND is in siemens; this value cannot be read as such: send a plain number".to_owned()),
    }
}

/// Reads a number with an optional unit: `S` or `SIE`, with `K`, `M` (milli) or `U` before it.
fn siemens(value: &str) -> Option<f64> {
    let unit_at = value
        .char_indices()
        .find(|(at, character)| character.is_ascii_alphabetic() && !is_exponent(value, *at))
        .map_or(value.len(), |(at, _)| at);
    let (number, unit) = value.split_at(unit_at);
    let number = match Number::parse(number.trim().as_bytes())? {
        Number::Int(whole) => whole.to_string().parse().ok()?,
        Number::Float(float) => float,
    };
    let factor: f64 = match unit.trim() {
        "" | "S" | "SIE" => 1.0,
        "KS" | "KSIE" => 1e3,
        "MS" | "MSIE" => 1e-3,
        "US" | "USIE" => 1e-6,
        _ => return None,
    };
    Some(number * factor)
}

fn is_exponent(value: &str, at: usize) -> bool {
    let mut after = value[at..].chars();
    let digit = after.next() == Some('E')
        && after
            .next()
            .is_some_and(|next| next.is_ascii_digit() || "+-".contains(next));
    at > 0 && digit
}

/// 1 / value, in six digits at most.
fn inverse(value: f64) -> Cow<'static, str> {
    let inverse = 1.0 / value;
    if !inverse.is_normal() {
        return Cow::Borrowed("0");
    }
    let rounded: f64 = format!("{inverse:.5e}").parse().unwrap_or(inverse);
    Cow::Owned(rounded.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(body: &str) -> Option<String> {
        objection_to_message(body)
    }

    #[test]
    fn a_hundred_siemens_is_not_a_hundred_ohm() {
        let note = note("COND 100").unwrap();
        assert_eq!(
            note,
            "COND is in siemens, not in ohm: 100 S is 0.01 ohm, close to a short; for 100 ohm send COND 0.01"
        );
        assert_eq!(inverse(3.0), "0.333333");
    }

    #[test]
    fn what_sets_more_than_one_siemens() {
        for body in [
            "cond 1.001",
            "CONDuctance 2",
            ":SOUR:COND:LEV:IMM:AMPL 50",
            "SOURCE1:COND1 50",
            "FUNC CR;COND 100",
            "*RST;:COND\t1E2",
            "COND:LEV 0.1;TRIG 100",
            "COND:LEV 0.1;LEV 7",
            "INP OFF\nCOND 100\nINP ON",
            "COND 100S",
            "COND 100 SIE",
            "COND 2KS",
            "COND 1001MS",
            "COND +1e+2",
            "COND MAX",
            "COND 1e999",
            "COND 99999999999999999999999999999999999999999999",
            // Cannot be read as siemens: nobody knows what the instrument does.
            "COND 100OHM",
            "COND #H64",
            "COND",
            "COND ten",
            "COND 1,2",
        ] {
            assert!(note(body).is_some(), "{body}");
        }
    }

    #[test]
    fn what_does_not() {
        for body in [
            "",
            "COND 1",
            "COND 0.01",
            "COND 10E-3",
            "COND 100MS",
            "COND 900000US",
            "COND MIN",
            "COND?",
            "COND? MAX",
            "COND:RANG 10",
            "CURR 100",
            "STAT:QUES:COND?",
            "VOLT 100;*IDN?",
            "CONDITIONER 100",
        ] {
            assert_eq!(note(body), None, "{body}");
        }
    }
}
