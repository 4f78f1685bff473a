//! What the gate answers: approved or not, how hazardous, by which rule, and why.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// How hazardous a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HazardLevel {
    /// No side effect.
    Safe,
    /// Reads state, is privileged, or is rate limited.
    Caution,
    /// Destructive or irreversible.
    Blocked,
}

impl HazardLevel {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HazardLevel::Safe => "safe",
            HazardLevel::Caution => "caution",
            HazardLevel::Blocked => "blocked",
        }
    }
}

impl fmt::Display for HazardLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What a rule says about the calls that it is for. Blocked is not approved; everything else is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    hazard_level: HazardLevel,
    note: Option<Arc<str>>,
}

impl Answer {
    /// An answer without a note.
    #[must_use]
    pub const fn new(hazard_level: HazardLevel) -> Self {
        Answer {
            hazard_level,
            note: None,
        }
    }

    /// The same answer with a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<Arc<str>>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// How hazardous.
    #[must_use]
    pub const fn hazard_level(&self) -> HazardLevel {
        self.hazard_level
    }
}

/// The gate's decision about one call. Cloning it allocates nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the call may be made (planned), or raises no objection (observed).
    pub approved: bool,
    /// How hazardous the call is.
    pub hazard_level: HazardLevel,
    /// The rule that decided.
    pub rule_name: Arc<str>,
    /// Why, or what to do instead.
    pub note: Option<Arc<str>>,
}

impl Decision {
    /// The decision of the rule of this name.
    pub(super) fn new(answer: Answer, rule_name: Arc<str>) -> Self {
        Decision {
            approved: answer.hazard_level != HazardLevel::Blocked,
            hazard_level: answer.hazard_level,
            rule_name,
            note: answer.note,
        }
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Decision", 4)?;
        object.serialize_field("approved", &self.approved)?;
        object.serialize_field("hazard_level", self.hazard_level.name())?;
        object.serialize_field("rule_name", &*self.rule_name)?;
        object.serialize_field("note", &self.note.as_deref())?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocked_is_not_approved() {
        for (level, approved) in [
            (HazardLevel::Safe, true),
            (HazardLevel::Caution, true),
            (HazardLevel::Blocked, false),
        ] {
            assert_eq!(Decision::new(Answer::new(level), "x".into()).approved, approved);
            let back: HazardLevel = serde_json::from_value(level.name().into()).unwrap();
            assert_eq!(back, level);
        }
    }

    #[test]
    fn json_holds_all_four() {
        let decision = Decision::new(Answer::new(HazardLevel::Caution).with_note("why"), "r".into());
        assert_eq!(
            serde_json::to_string(&decision).unwrap(),
            r#"{"approved":true,"hazard_level":"caution","rule_name":"r","note":"why"}"#
        );
    }
}
