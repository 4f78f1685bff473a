//! What the operations of a rule allow to be asked of an argument: a rule that can never match is refused at load.

use std::net::IpAddr;
use std::ops::Range;

use toml::Spanned;

use crate::glob::Variable;

use super::argument::Number;
use super::matcher_spec::Scalar;
use super::operation::{ArgKind, ArgName, Operation};
use super::pattern::GlobKind;
use super::spec::RuleError;

/// What the operations of a rule allow to be asked of an argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    /// The argument, if every call that the rule is for is an observed operation.
    pub(super) arg: Option<ArgName>,
    /// The operations that the rule is for.
    pub(super) operations: &'a [Operation],
    /// Values of the variables that have one.
    pub(super) variables: &'a [Variable<'a>],
}

/// Where in the rule an operator stands.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) field: String,
    pub(super) span: Range<usize>,
}

impl Place {
    pub(super) fn at<T>(&self, operator: &str, value: &Spanned<T>) -> Place {
        Place {
            field: format!("{}.{operator}", self.field),
            span: value.span(),
        }
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> RuleError {
        RuleError::new(&self.field, reason, Some(self.span.clone()))
    }
}

impl Expected<'_> {
    /// Nothing is known: a planned tool may have any argument.
    pub(super) const ANY: Expected<'static> = Expected {
        arg: None,
        operations: &[],
        variables: &[],
    };

    /// What a glob is about.
    pub(super) fn glob_kind(self) -> GlobKind {
        match self.arg {
            Some(ArgName::Path) => GlobKind::Path,
            _ => GlobKind::Text,
        }
    }

    /// Refuses a value that the argument can never have.
    pub(super) fn can_equal(self, value: &Scalar, place: &Place) -> Result<(), RuleError> {
        let Some(arg) = self.arg else { return Ok(()) };
        let is_number = match value {
            Scalar::Text(text) => Number::parse(text.as_bytes()).is_some(),
            Scalar::Bool(_) => false,
            Scalar::Int(_) | Scalar::Float(_) => true,
        };
        match arg.kind() {
            ArgKind::Number if !is_number => {
                return Err(place.error(format!("{} is a number; this can never match", arg.name())));
            }
            ArgKind::Text if !matches!(value, Scalar::Text(_)) => {
                return Err(place.error(format!("{} is a text; write it in quotes", arg.name())));
            }
            ArgKind::Address if self.operations.iter().all(|operation| operation.has_ip_address()) => {
                let is_address = matches!(value, Scalar::Text(text) if text.parse::<IpAddr>().is_ok());
                if !is_address {
                    return Err(place.error("this is no IP address (the port is an argument of its own)"));
                }
            }
            _ => {}
        }
        let words: Option<Vec<&str>> = match arg {
            ArgName::Op => self
                .operations
                .iter()
                .map(|operation| operation.ops())
                .collect::<Option<Vec<_>>>()
                .map(|ops| ops.concat()),
            _ => arg.vocabulary().map(<[_]>::to_vec),
        };
        match (words, value) {
            (Some(words), Scalar::Text(text)) if !words.contains(&text.as_str()) => {
                Err(place.error(format!(
                    "{} is never \"{text}\"; it is one of: {}",
                    arg.name(),
                    words.join(", ")
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an operator on texts where there can be none.
    pub(super) fn can_be_text(self, place: &Place) -> Result<(), RuleError> {
        match self.arg {
            Some(arg) if arg.kind() == ArgKind::Number => Err(place.error(format!(
                "{} is a number; use `equals`, `in`, `above`, `below`, `at_least` or `at_most`",
                arg.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses number operators where there can be no number.
    pub(super) fn can_be_number(self, place: &Place) -> Result<(), RuleError> {
        if self.arg.is_some_and(|arg| arg.kind() != ArgKind::Number) {
            return Err(place.error("this argument is no number; number operators can never match"));
        }
        Ok(())
    }

    /// Refuses `cidr` where there can be no IP address.
    pub(super) fn can_be_address(self, place: &Place) -> Result<(), RuleError> {
        let Some(arg) = self.arg else { return Ok(()) };
        let has_address = self.operations.iter().any(|operation| operation.has_ip_address());
        if arg.kind() != ArgKind::Address || !has_address {
            return Err(place.error("this argument is no IP address; `cidr` can never match"));
        }
        Ok(())
    }
}
