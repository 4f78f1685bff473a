//! `above`, `at_least`, `below`, `at_most`: bounds as a policy file writes them → a range of numbers.

use std::ops::Bound;

use toml::Spanned;

use super::argument::Number;
use super::condition::Test;
use super::expectation::Place;
use super::matcher_spec::Scalar;
use super::spec::RuleError;

/// The test; `None` if there is no bound. Operators stand with the value that they are given; of each pair the
/// first one leaves the bound out.
///
/// # Errors
/// If a bound is no number, or no number is in the range.
pub(super) fn test(
    place: &Place,
    low: [(&str, &Option<Spanned<Scalar>>); 2],
    high: [(&str, &Option<Spanned<Scalar>>); 2],
) -> Result<Option<Test>, RuleError> {
    let (low, high) = (bound(place, low)?, bound(place, high)?);
    if let (Bound::Unbounded, Bound::Unbounded) = (low, high) {
        return Ok(None);
    }
    if is_empty(low, high) {
        return Err(place.error("no number is in this range; it can never match"));
    }
    Ok(Some(Test::Range(low, high)))
}

fn bound(
    place: &Place,
    [exclusive, inclusive]: [(&str, &Option<Spanned<Scalar>>); 2],
) -> Result<Bound<Number>, RuleError> {
    match (exclusive, inclusive) {
        ((_, None), (_, None)) => Ok(Bound::Unbounded),
        ((name, Some(value)), (_, None)) => {
            number(value.get_ref(), &place.at(name, value)).map(Bound::Excluded)
        }
        ((_, None), (name, Some(value))) => {
            number(value.get_ref(), &place.at(name, value)).map(Bound::Included)
        }
        ((one, Some(value)), (two, Some(_))) => Err(place.at(one, value).error(format!(
            "`{one}` and `{two}` are two bounds on one side; keep one"
        ))),
    }
}

pub(super) fn number(value: &Scalar, place: &Place) -> Result<Number, RuleError> {
    match value {
        Scalar::Int(whole) => Ok(Number::Int(i128::from(*whole))),
        Scalar::Float(float) if float.is_finite() => Ok(Number::Float(*float)),
        Scalar::Float(_) | Scalar::Text(_) | Scalar::Bool(_) => Err(place.error("this is no finite number")),
    }
}

fn is_empty(low: Bound<Number>, high: Bound<Number>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            low >= high
        }
        _ => false,
    }
}
