//! The rules of a policy, as they were declared.

use crate::enrich::Access;
use crate::glob::{Glob, Pattern, Variable};

/// A rule with the name that findings and records give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// Its name; where none was given, the list and the text: `inputs "/data/**"`.
    pub name: String,
    /// What it declares.
    pub what: T,
}

/// How a rule names a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramName {
    /// By its path, or the script's.
    Path(Pattern),
    /// By a bare name, which is looked up in PATH when the run starts.
    Command(String),
}

impl ProgramName {
    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            ProgramName::Path(pattern) => pattern.text(),
            ProgramName::Command(name) => name,
        }
    }

    /// The pattern of paths, if it is one.
    #[must_use]
    pub fn pattern(&self) -> Option<&Pattern> {
        match self {
            ProgramName::Path(pattern) => Some(pattern),
            ProgramName::Command(_) => None,
        }
    }
}

/// A program that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: ProgramName,
    /// Patterns of the arguments after the program's own name, one each; a last `**` stands for any further ones.
    pub argv: Option<Vec<Glob>>,
    /// SHA-256 of the file.
    pub sha256: Option<[u8; 32]>,
    /// Words of the origins that it may come from.
    pub origins: Vec<String>,
}

impl Program {
    /// The one path, or bare name, that it means; `None` if it means several, or a value is not known.
    #[must_use]
    pub fn literal(&self, variables: &[Variable<'_>]) -> Option<Vec<u8>> {
        match &self.name {
            ProgramName::Path(pattern) => pattern.bind(variables)?.literal(),
            ProgramName::Command(name) => Some(name.clone().into_bytes()),
        }
    }

    /// Whether it may come from this origin.
    #[must_use]
    pub fn is_from(&self, origin: &str) -> bool {
        if self.origins.is_empty() {
            return matches!(origin, "image" | "host");
        }
        self.origins.iter().any(|word| word == "any" || word == origin)
    }

    /// Whether the arguments are those that the rule asks for.
    #[must_use]
    pub fn takes(&self, arguments: &[&[u8]]) -> bool {
        let Some(patterns) = &self.argv else { return true };
        let (fixed, has_rest) = match patterns.split_last() {
            Some((last, fixed)) if last.text() == "**" => (fixed, true),
            _ => (patterns.as_slice(), false),
        };
        let is_count = arguments.len() == fixed.len() || has_rest && arguments.len() > fixed.len();
        is_count
            && fixed
                .iter()
                .zip(arguments)
                .all(|(pattern, argument)| pattern.matches(argument))
    }
}

/// One row of the ambient table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbientRow {
    /// Which objects. `/proc/self` stands for the acting process, whatever its number.
    pub pattern: Pattern,
    /// What may be done with them.
    pub access: Vec<Access>,
    /// Which class of ambient source they are.
    pub class: AmbientClass,
    /// Why.
    pub why: String,
    /// Numbers that a device node must have: major, and minor unless any will do.
    pub device: Option<(u32, Option<u32>)>,
    /// Only below a mount that the engine calls read-only.
    pub read_only_mount: bool,
}

/// Classes of ambient sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AmbientClass {
    /// The system's time.
    Clock,
    /// Random numbers.
    Entropy,
    /// Static data that ships with the program.
    Bundled,
    /// Takes anything and tells nothing.
    Sink,
    /// The process itself, and facts about the machine.
    SelfView,
    /// What is not there.
    Absent,
}

impl AmbientClass {
    /// Every class.
    pub const ALL: [AmbientClass; 6] = [
        AmbientClass::Clock,
        AmbientClass::Entropy,
        AmbientClass::Bundled,
        AmbientClass::Sink,
        AmbientClass::SelfView,
        AmbientClass::Absent,
    ];

    /// The name in tables and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AmbientClass::Clock => "clock",
            AmbientClass::Entropy => "entropy",
            AmbientClass::Bundled => "bundled",
            AmbientClass::Sink => "sink",
            AmbientClass::SelfView => "self",
            AmbientClass::Absent => "absent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_one_by_one() {
        let program = |argv: Option<&[&str]>| Program {
            name: ProgramName::Path(Pattern::parse("/bin/x").unwrap()),
            argv: argv.map(|argv| argv.iter().map(|text| Glob::word(text).unwrap()).collect()),
            sha256: None,
            origins: Vec::new(),
        };
        struct Row(Option<&'static [&'static str]>, &'static [&'static [u8]], bool);
        let table = [
            Row(None, &[b"a", b"b"], true),
            Row(Some(&[]), &[], true),
            Row(Some(&[]), &[b"a"], false),
            Row(Some(&["-c", "*"]), &[b"-c", b"x y/z"], true),
            Row(Some(&["-c", "*"]), &[b"-c"], false),
            Row(Some(&["-c", "*"]), &[b"-d", b"x"], false),
            Row(Some(&["-c", "**"]), &[b"-c"], true),
            Row(Some(&["-c", "**"]), &[b"-c", b"a", b"b"], true),
            Row(Some(&["-c", "**"]), &[], false),
        ];
        for Row(argv, arguments, expected) in table {
            assert_eq!(program(argv).takes(arguments), expected, "{argv:?} {arguments:?}");
        }
    }

    #[test]
    fn patterns_with_variables_wait_for_values() {
        let pattern = Pattern::parse("${workdir}/out/*").unwrap();
        assert!(pattern.fixed().is_none() && pattern.bind(&[Variable("workdir", None)]).is_none());
        assert!(
            pattern
                .bind(&[Variable("workdir", Some(b"/w"))])
                .unwrap()
                .matches(b"/w/out/x")
        );
        assert!(Pattern::parse("${home}/x").unwrap_err().contains("home"));
        assert!(Pattern::parse("x${workdir}").is_err());
    }
}
