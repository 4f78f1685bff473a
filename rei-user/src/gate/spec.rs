//! A rule as a policy file writes it, and how it becomes a [`Rule`].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::glob::Variable;

use super::condition::{ArgKey, Condition};
use super::decision::{Answer, HazardLevel};
use super::expectation::{Expected, Place};
use super::matcher_spec::{MatcherSpec, Scalar};
use super::operation::{ArgName, Operation};
use super::rule::{Calls, Data, Rule, Tools};
use super::scpi;

/// A table `[[gate.rule]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// Name of the rule; it stands in every decision that the rule makes.
    pub name: Option<Spanned<String>>,
    /// A rule that is shipped with rei, in place of everything else.
    #[serde(rename = "use")]
    pub shipped: Option<Spanned<String>>,
    /// The tool names that it is for: a name, a list of names, or operators.
    pub on: Option<Spanned<MatcherSpec>>,
    /// Which calls it is for; both kinds if absent.
    pub calls: Option<Spanned<CallsSpec>>,
    /// What it answers.
    pub decision: Option<Spanned<DecisionSpec>>,
    /// Why, or what to do instead.
    pub note: Option<String>,
    /// What is asked of the arguments; all must hold.
    pub args: Option<ArgsSpec>,
    /// Tables like `args`; all must hold.
    pub all: Option<Spanned<Vec<ArgsSpec>>>,
    /// Tables like `args`; one must hold.
    pub any: Option<Spanned<Vec<ArgsSpec>>>,
    /// A table like `args`; it must not hold as a whole.
    pub not: Option<Spanned<ArgsSpec>>,
}

/// Argument name → what is asked of it.
pub type ArgsSpec = BTreeMap<Spanned<String>, Spanned<MatcherSpec>>;

/// Which calls a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallsSpec {
    /// Tool calls before they run.
    Planned,
    /// Operations after the kernel saw them.
    Observed,
}

/// What a rule answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionSpec {
    /// Approved, safe.
    Allow,
    /// Approved with caution.
    Caution,
    /// Not approved.
    Block,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    field: String,
    reason: String,
    span: Option<Range<usize>>,
}

impl RuleError {
    pub(super) fn new(field: &str, reason: impl Into<String>, span: Option<Range<usize>>) -> Self {
        RuleError {
            field: field.to_owned(),
            reason: reason.into(),
            span,
        }
    }

    /// The field of the rule, such as `args.path.glob`.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong with it, and what to do.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Bytes of the file that the field takes, if the fault is in one place.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for RuleError {}

/// The rules of a text that holds `[[gate.rule]]` tables, each compiled; what else the text holds is not looked at.
///
/// # Errors
/// If the text is no TOML, or its rules do not have the form of rules; the span is that of the error.
pub fn rules_in(text: &str) -> Result<Vec<Result<Rule, RuleError>>, RuleError> {
    #[derive(Deserialize)]
    struct File {
        gate: Option<Gate>,
    }
    #[derive(Deserialize)]
    struct Gate {
        #[serde(default)]
        rule: Vec<RuleSpec>,
    }
    let file: File =
        toml::from_str(text).map_err(|error| RuleError::new("gate.rule", error.message(), error.span()))?;
    let rules = file.gate.map(|gate| gate.rule).unwrap_or_default();
    Ok(rules.iter().map(RuleSpec::compile).collect())
}

impl RuleSpec {
    /// Checks everything and compiles the rule.
    ///
    /// # Errors
    /// If a field is missing, is wrong, or makes a rule that can never match.
    pub fn compile(&self) -> Result<Rule, RuleError> {
        let rule = self.bind(&[])?;
        self.can_answer(&rule)?;
        Ok(rule)
    }

    /// Refuses a rule that never answers.
    fn can_answer(&self, rule: &Rule) -> Result<(), RuleError> {
        let Some(Data { tools, condition, .. }) = rule.data() else {
            return Ok(());
        };
        let operations = tools.operations();
        let is_observed = rule.is_for_observed() && (!rule.is_for_planned() || tools.are_operations());
        let is_single = |name: &str| is_observed && !matches!(name, "access" | "argv");
        if condition.is_never(&is_single) {
            let reason = "what the rule asks of the arguments contradicts itself: it can never match";
            return Err(RuleError::new("args", reason, self.place()));
        }
        let is_idle = rule.worst() == HazardLevel::Safe
            && !rule.is_for_planned()
            && !operations.into_iter().any(|operation| rule.names(operation));
        if is_idle {
            let reason = "it can never match: names in a container are chosen by the workload and approve nothing; \
                          list the operation in `on`, and for an exec ask for its `path` and its `origin`";
            return Err(RuleError::new(
                "decision",
                reason,
                self.decision.as_ref().map(Spanned::span),
            ));
        }
        Ok(())
    }

    /// Where the conditions begin.
    fn place(&self) -> Option<Range<usize>> {
        let args = self.args.iter().flat_map(|args| args.keys().map(Spanned::span));
        let lists = [&self.all, &self.any].into_iter().flatten().map(Spanned::span);
        let not = self.not.iter().map(Spanned::span);
        args.chain(lists).chain(not).min_by_key(|span| span.start)
    }

    /// As [`Self::compile`], with values of variables. A rule that holds one without a value does not answer.
    ///
    /// # Errors
    /// As [`Self::compile`]'s.
    pub(super) fn bind(&self, variables: &[Variable<'_>]) -> Result<Rule, RuleError> {
        if let Some(shipped) = &self.shipped {
            return self.compile_shipped(shipped);
        }
        let name = self.name.as_ref().ok_or_else(|| missing("name"))?;
        if name.get_ref().trim().is_empty() {
            return Err(RuleError::new(
                "name",
                "the name is empty; give the rule one",
                Some(name.span()),
            ));
        }
        let on = self.on.as_ref().ok_or_else(|| missing("on"))?;
        let decision = self.decision.as_ref().ok_or_else(|| missing("decision"))?;
        let calls = match self.calls.as_ref().map(|calls| *calls.get_ref()) {
            None => Calls::Both,
            Some(CallsSpec::Planned) => Calls::Planned,
            Some(CallsSpec::Observed) => Calls::Observed,
        };
        let place = Place {
            field: "on".to_owned(),
            span: on.span(),
        };
        let tools = tools(on.get_ref(), &place)?;
        let condition = self.condition(&Checked::new(&tools, calls, variables))?;
        let level = match decision.get_ref() {
            DecisionSpec::Allow => HazardLevel::Safe,
            DecisionSpec::Caution => HazardLevel::Caution,
            DecisionSpec::Block => HazardLevel::Blocked,
        };
        let mut answer = Answer::new(level);
        if let Some(note) = &self.note {
            answer = answer.with_note(note.as_str());
        }
        let template = condition.is_unbound().then(|| self.clone());
        Ok(Rule::new(name.get_ref(), calls, tools, condition, answer).with_template(template))
    }

    fn compile_shipped(&self, shipped: &Spanned<String>) -> Result<Rule, RuleError> {
        let has_more = self.on.is_some()
            || self.calls.is_some()
            || self.decision.is_some()
            || self.note.is_some()
            || self.args.is_some()
            || self.all.is_some()
            || self.any.is_some()
            || self.not.is_some();
        let error = |reason: String| RuleError::new("use", reason, Some(shipped.span()));
        if has_more || self.name.is_some() {
            return Err(error(
                "a shipped rule comes whole; remove the other fields".to_owned(),
            ));
        }
        match shipped.get_ref().as_str() {
            scpi::RULE_NAME => Ok(scpi::block_conductance()),
            other => Err(error(format!(
                "there is no shipped rule \"{other}\"; there is: {}",
                scpi::RULE_NAME
            ))),
        }
    }

    fn condition(&self, checked: &Checked<'_>) -> Result<Condition, RuleError> {
        let mut all = Vec::new();
        if let Some(args) = &self.args {
            all.push(checked.compile(args, "args")?);
        }
        for (field, list) in [("all", &self.all), ("any", &self.any)] {
            let Some(list) = list else { continue };
            if list.get_ref().is_empty() {
                let reason = "the list is empty; write what it should hold";
                return Err(RuleError::new(field, reason, Some(list.span())));
            }
            let tables: Result<Vec<Condition>, RuleError> = list
                .get_ref()
                .iter()
                .enumerate()
                .map(|(index, args)| checked.compile(args, &format!("{field}[{index}]")))
                .collect();
            all.push(match field {
                "any" => Condition::Any(tables?),
                _ => Condition::All(tables?),
            });
        }
        if let Some(not) = &self.not {
            if not.get_ref().is_empty() {
                let reason = "the table is empty; the rule could never match";
                return Err(RuleError::new("not", reason, Some(not.span())));
            }
            all.push(Condition::Not(Box::new(checked.compile(not.get_ref(), "not")?)));
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Condition::All(all),
        })
    }
}

fn missing(field: &str) -> RuleError {
    let next = match field {
        "decision" => "write `decision = \"allow\"`, `\"caution\"` or `\"block\"`",
        "on" => "write the tool name that the rule is for",
        _ => "give the rule a name",
    };
    RuleError::new(field, format!("it is missing; {next}"), None)
}

fn tools(on: &MatcherSpec, place: &Place) -> Result<Tools, RuleError> {
    let names = match on {
        MatcherSpec::Equals(name) => std::slice::from_ref(name),
        MatcherSpec::In(names) => names.as_slice(),
        MatcherSpec::Operators(_) => {
            return Ok(Tools::Matcher(on.compile(place, Expected::ANY)?));
        }
    };
    if names.is_empty() {
        return Err(place.error("the list is empty; the rule could never match"));
    }
    names
        .iter()
        .map(|name| match name {
            Scalar::Text(name) if !name.is_empty() => Ok(name.as_str().into()),
            Scalar::Text(_) => Err(place.error("a tool name is empty")),
            Scalar::Int(_) | Scalar::Float(_) | Scalar::Bool(_) => {
                Err(place.error("a tool name is a text; write it in quotes"))
            }
        })
        .collect::<Result<_, _>>()
        .map(Tools::Names)
}

/// The operations by which the arguments of a rule are checked.
struct Checked<'v> {
    /// Operations that the rule names: each must have every argument that the rule names.
    named: Vec<Operation>,
    /// Operations that the rule is for in another way: one of them must have each argument.
    matched: Vec<Operation>,
    variables: &'v [Variable<'v>],
}

impl<'v> Checked<'v> {
    fn new(tools: &Tools, calls: Calls, variables: &'v [Variable<'v>]) -> Self {
        let mut checked = Checked {
            named: Vec::new(),
            matched: Vec::new(),
            variables,
        };
        match tools {
            _ if calls == Calls::Planned => {}
            Tools::Names(names) => {
                for name in names {
                    match Operation::of_tool_name(name) {
                        Some(operation) => checked.named.push(operation),
                        None if calls == Calls::Observed => checked.named.push(Operation::Exec),
                        None => {}
                    }
                }
            }
            _ if calls == Calls::Both => {}
            _ => {
                checked.matched = Operation::ALL
                    .into_iter()
                    .filter(|operation| operation.tool_name().is_none_or(|name| tools.matches(name)))
                    .collect();
            }
        }
        checked
    }

    fn compile(&self, args: &ArgsSpec, field: &str) -> Result<Condition, RuleError> {
        let mut all = Vec::new();
        for (name, matcher) in args {
            let place = Place {
                field: format!("{field}.{}", name.get_ref()),
                span: matcher.span(),
            };
            let operations = self.operations(name, &place)?;
            let expected = Expected {
                arg: if operations.is_empty() {
                    None
                } else {
                    ArgName::of_name(name.get_ref())
                },
                operations: &operations,
                variables: self.variables,
            };
            let matcher = matcher.get_ref().compile(&place, expected)?;
            all.push(Condition::Argument(ArgKey::new(name.get_ref()), matcher));
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Condition::All(all),
        })
    }

    /// The operations that have the argument. Empty if the calls may be planned ones of any kind.
    fn operations(&self, name: &Spanned<String>, place: &Place) -> Result<Vec<Operation>, RuleError> {
        let arg = ArgName::of_name(name.get_ref());
        let has = |operation: &Operation| arg.is_some_and(|arg| operation.args().contains(&arg));
        let here = Place {
            field: place.field.clone(),
            span: name.span(),
        };
        if let Some(without) = self.named.iter().find(|operation| !has(operation)) {
            let tool = without.tool_name().unwrap_or("an observed exec");
            let args: Vec<&str> = without.args().iter().map(|arg| arg.name()).collect();
            return Err(here.error(format!(
                "{tool} has no argument \"{}\", it has: {}; for a planned tool of that name write `calls = \"planned\"`",
                name.get_ref(),
                args.join(", ")
            )));
        }
        let matched: Vec<Operation> = self.matched.iter().copied().filter(has).collect();
        if matched.is_empty() && !self.matched.is_empty() {
            return Err(here.error(format!(
                "no observed operation that `on` matches has an argument \"{}\"",
                name.get_ref()
            )));
        }
        Ok(if matched.is_empty() {
            self.named.clone()
        } else {
            matched
        })
    }
}
