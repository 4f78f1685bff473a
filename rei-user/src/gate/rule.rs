//! One rule: for which calls it is, what it asks of them, and what it answers. And the ways to make one in code.

use std::fmt;
use std::sync::Arc;

use crate::cidr::Cidr;
use crate::glob::Variable;

use super::argument::{Argument, Arguments};
use super::condition::{Condition, Matcher, Test, Truth};
use super::decision::{Answer, Decision, HazardLevel};
use super::operation::{ArgName, Operation};
use super::pattern::{self, Pattern};
use super::spec::{RuleError, RuleSpec};

/// Which calls a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Planned,
    Observed,
    Both,
}

/// The tool names that a rule is for.
#[derive(Clone, Debug)]
pub(super) enum Tools {
    Names(Box<[Box<str>]>),
    Prefixes(Box<[Box<str>]>),
    Matcher(Matcher),
}

/// Gives the decision, or `None` if the rule has none.
type Judge = dyn Fn(&str, &Arguments<'_>) -> Option<Answer> + Send + Sync;

#[derive(Clone)]
enum Body {
    Data(Arc<Data>),
    Code { judge: Arc<Judge>, worst: HazardLevel },
}

/// A rule that is no code.
pub(super) struct Data {
    pub(super) tools: Tools,
    pub(super) condition: Condition,
    answer: Answer,
}

/// A rule of the gate. Cloning it allocates nothing.
#[derive(Clone)]
pub struct Rule {
    name: Arc<str>,
    calls: Calls,
    body: Body,
    /// What it is made of, where that holds variables.
    template: Option<Arc<RuleSpec>>,
}

/// What was found out about a rule before it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Nothing,
    /// What it asks of the arguments holds.
    ConditionHolds,
}

/// What must be so for a rule to answer an observed operation.
pub(super) enum Key<'a> {
    /// One of these matches its path.
    Path(Vec<Pattern>),
    /// One of these has its address.
    Address(Vec<Cidr>),
    /// It has one of these names.
    Names(&'a [Box<str>]),
    /// One of these matches its name.
    Name(Vec<Pattern>),
    /// Nothing that can be looked up.
    None,
}

/// What a rule says about a call.
pub(super) enum Verdict {
    Answers(Decision),
    Passes,
    /// It could not be told: an argument that it needs is not known.
    Undecided,
}

impl Rule {
    pub(super) fn new(name: &str, calls: Calls, tools: Tools, condition: Condition, answer: Answer) -> Self {
        Rule {
            name: name.into(),
            calls,
            template: None,
            body: Body::Data(Arc::new(Data {
                tools,
                condition,
                answer,
            })),
        }
    }

    /// A rule in code that computes its answer. `worst` is the worst level that it gives.
    pub(super) fn computed(
        name: &str,
        calls: Calls,
        worst: HazardLevel,
        judge: impl Fn(&str, &Arguments<'_>) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        Rule {
            name: name.into(),
            calls,
            template: None,
            body: Body::Code {
                judge: Arc::new(judge),
                worst,
            },
        }
    }

    pub(super) fn with_template(mut self, template: Option<RuleSpec>) -> Self {
        self.template = template.map(Arc::new);
        self
    }

    /// Whether it holds variables that have no value yet.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        self.template.is_some()
    }

    /// The rule with its variables' values. Where one has none, it does not answer.
    pub(super) fn bind(&self, variables: &[Variable<'_>]) -> Self {
        let bound = self.template.as_ref().map(|template| template.bind(variables));
        // A value is a literal: it can only make a pattern too large. Then the rule stays as it was, and undecided.
        bound.and_then(Result::ok).unwrap_or_else(|| self.clone())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it blocks what it answers.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.worst() == HazardLevel::Blocked
    }

    pub(super) fn data(&self) -> Option<&Data> {
        match &self.body {
            Body::Data(data) => Some(data),
            Body::Code { .. } => None,
        }
    }

    pub(super) fn worst(&self) -> HazardLevel {
        match &self.body {
            Body::Data(data) => data.answer.hazard_level(),
            Body::Code { worst, .. } => *worst,
        }
    }

    /// Whether it can answer planned calls.
    pub(super) fn is_for_planned(&self) -> bool {
        self.calls != Calls::Observed
    }

    /// Whether it can answer observed operations.
    pub(super) fn is_for_observed(&self) -> bool {
        self.calls != Calls::Planned
    }

    /// Whether it is about this operation by name. The name of an exec is chosen by the workload: for one, the rule
    /// must ask for the program's path and its origin.
    pub(super) fn names(&self, operation: Operation) -> bool {
        let Body::Data(data) = &self.body else {
            return false;
        };
        match (operation.tool_name(), &data.tools) {
            (Some(name), Tools::Names(names)) => names.iter().any(|one| **one == *name),
            (Some(_), Tools::Prefixes(_) | Tools::Matcher(_)) => false,
            (None, _) => data.condition.requires(ArgName::Path) && data.condition.requires(ArgName::Origin),
        }
    }

    /// What it says about a call.
    pub(super) fn judge(&self, tool_name: &str, arguments: &Arguments<'_>, known: Known) -> Verdict {
        match &self.body {
            Body::Data(data) => {
                if !data.tools.matches(tool_name) {
                    return Verdict::Passes;
                }
                let truth = match known {
                    Known::Nothing => data.condition.holds(arguments),
                    Known::ConditionHolds => Truth::Yes,
                };
                match truth {
                    Truth::Yes => Verdict::Answers(Decision::new(data.answer.clone(), self.name.clone())),
                    Truth::No => Verdict::Passes,
                    Truth::Unknown => Verdict::Undecided,
                }
            }
            Body::Code { judge, .. } => match judge(tool_name, arguments) {
                Some(answer) => Verdict::Answers(Decision::new(answer, self.name.clone())),
                None => Verdict::Passes,
            },
        }
    }

    /// Whether it is for tools of this name, as far as its data says.
    pub(super) fn is_for(&self, tool_name: &str) -> bool {
        self.data().is_none_or(|data| data.tools.matches(tool_name))
    }

    /// The tool names that it lists, if it does.
    pub(super) fn listed_names(&self) -> Option<&[Box<str>]> {
        match &self.body {
            Body::Data(data) => match &data.tools {
                Tools::Names(names) => Some(names),
                Tools::Prefixes(_) | Tools::Matcher(_) => None,
            },
            Body::Code { .. } => None,
        }
    }

    /// Whether its condition holds as soon as its key for this argument matches.
    pub(super) fn is_about_one(&self, name: ArgName) -> bool {
        match &self.body {
            Body::Data(data) => data.condition.is_about_one(name),
            Body::Code { .. } => false,
        }
    }

    /// What can be looked up to find that it cannot answer an observed operation.
    pub(super) fn key(&self) -> Key<'_> {
        let Body::Data(data) = &self.body else {
            return Key::None;
        };
        let Data { tools, condition, .. } = &**data;
        if let Some(patterns) = condition.patterns(ArgName::Path) {
            return Key::Path(patterns);
        }
        if let Some(prefixes) = condition.prefixes(ArgName::Address) {
            return Key::Address(prefixes);
        }
        match tools {
            Tools::Names(names) => Key::Names(names),
            Tools::Prefixes(prefixes) => {
                let prefixes = prefixes.iter().map(|prefix| Pattern::prefix(prefix.as_bytes()));
                Key::Name(prefixes.collect())
            }
            Tools::Matcher(matcher) => matcher.patterns().map_or(Key::None, Key::Name),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Rule")
            .field("name", &self.name)
            .field("calls", &self.calls)
            .field("worst", &self.worst())
            .finish_non_exhaustive()
    }
}

impl Tools {
    pub(super) fn matches(&self, tool_name: &str) -> bool {
        match self {
            Tools::Names(names) => names.iter().any(|name| **name == *tool_name),
            Tools::Prefixes(prefixes) => prefixes.iter().any(|prefix| tool_name.starts_with(&**prefix)),
            Tools::Matcher(matcher) => matcher.holds(Argument::Text(tool_name.as_bytes())) == Truth::Yes,
        }
    }

    pub(super) fn prefixes(prefixes: &[&str]) -> Self {
        Tools::Prefixes(prefixes.iter().map(|prefix| (*prefix).into()).collect())
    }
}

/// Approves, as safe, tools whose name starts with `prefix`.
#[must_use]
pub fn allow_by_prefix(prefix: &str, rule_name: Option<&str>) -> Rule {
    let name = rule_name.map_or_else(|| format!("allow-by-prefix:{prefix}"), str::to_owned);
    let answer = Answer::new(HazardLevel::Safe);
    Rule::new(
        &name,
        Calls::Both,
        Tools::prefixes(&[prefix]),
        Condition::none(),
        answer,
    )
}

/// Blocks tools in whose name the regular expression matches.
///
/// # Errors
/// If `regex` is no regular expression, or too large.
pub fn block_by_pattern(regex: &str, reason: &str, rule_name: Option<&str>) -> Result<Rule, RuleError> {
    let pattern = pattern::regex(regex).map_err(|reason| RuleError::new("regex", reason, None))?;
    let name = rule_name.map_or_else(|| format!("block-by-pattern:{regex}"), str::to_owned);
    let tools = Tools::Matcher(Matcher::Test(Test::Regex(pattern, regex.into())));
    let answer = Answer::new(HazardLevel::Blocked).with_note(reason);
    Ok(Rule::new(&name, Calls::Both, tools, Condition::none(), answer))
}

/// A rule in code: the answer for every call for which the predicate holds. Where the answer approves, it is for
/// planned calls only: code can hold whatever it likes to be a reason, and a name never approves what was observed.
#[must_use]
pub fn custom_rule(
    predicate: impl Fn(&str, &Arguments<'_>) -> bool + Send + Sync + 'static,
    answer: Answer,
    rule_name: &str,
) -> Rule {
    let worst = answer.hazard_level();
    let calls = if worst == HazardLevel::Safe {
        Calls::Planned
    } else {
        Calls::Both
    };
    Rule::computed(rule_name, calls, worst, move |tool_name, arguments| {
        predicate(tool_name, arguments).then(|| answer.clone())
    })
}
