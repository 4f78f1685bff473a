//! The format `rei-log/1`: the bodies of all record kinds, their bytes, and the hashes over them.
//!
//! What the sealer and the verifier share, and all that they share. It does no I/O and knows nothing of the rest of
//! rei. docs/format.md is the same in words.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

pub use self::checkpoint::{
    Checkpoint, Note, NoteSignature, SEPARATOR, host_of_origin, is_name, key_id, log_origin, read_vkey,
    segment_key_name, write_vkey,
};
pub use self::head::{
    Birth, Clocks, FoundToken, Head, Host, Params, Previous, PreviousState, Seal, Undecodable, Writer,
    birth_message, seal_flag, segment_key_message,
};
pub use self::line::{
    LINE_BYTES_MAX, LineError, Place, TooLong, VERSION, before_tag, put_tag, read_line, write_into,
    write_line,
};
pub use self::lineage::{
    Finding, Fold, Lineage, NodeEnd, NodeEnding, ObjectFacts, ProcessKey, RuleFacts, Shortened, Subject,
    Touched,
};
pub use self::run::{
    Anchor, Clock, Container, Control, Decision, DeclaredProgram, Ending, KindCount, Label, Learned, Loss,
    MountFacts, PolicyFacts, Prune, ReasonFacts, ResolvedName, Run, RunBegin, RunEnd, SensorFacts,
};
pub use self::token::{TOKEN_BYTES_MAX, Token, split_file};
pub use self::tree::{Frontier, Hash, genesis, leaf, node};
pub use self::value::{Base64, Count, Decimal, Hex, INTEGER_MAX, Raw, Text, Word, join, split, split_known};
pub use self::walk::DEPTH_MAX;

use self::line::parse_error;

mod checkpoint;
pub mod event;
mod head;
mod line;
mod lineage;
mod run;
mod token;
mod tree;
mod value;
mod walk;

/// The name of the format, as headers carry it.
pub const FORMAT: &str = "rei-log/1";

/// What a line says: `k` names the variant, `d` holds its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `head`
    Head(Box<Head>),
    /// `seal`
    Seal(Seal),
    /// `run`
    Run(Run),
    /// `container`
    Container(Box<Container>),
    /// `lineage`
    Lineage(Box<Lineage>),
    /// `fold`
    Fold(Fold),
    /// `event`
    Event(Box<event::Event>),
    /// `finding`
    Finding(Box<Finding>),
    /// `loss`
    Loss(Loss),
    /// `clock`
    Clock(Clock),
    /// `ctl`
    Control(Control),
    /// `decision`
    Decision(Decision),
    /// `undecodable`
    Undecodable(Undecodable),
    /// `anchor`
    Anchor(Anchor),
    /// `prune`
    Prune(Prune),
    /// A kind that this rei does not know: its name and its bytes.
    Unknown(Box<Unknown>),
}

/// The body of a kind that this rei does not know.
#[derive(Clone, Debug)]
pub struct Unknown {
    kind: String,
    text: Box<RawValue>,
}

impl Unknown {
    /// A body of any kind; `None` if the text is not what every line has to keep. For tests of readers.
    #[must_use]
    pub fn new(kind: &str, text: &str) -> Option<Self> {
        walk::check_within(text, 1).ok()?;
        Some(Unknown {
            kind: kind.to_owned(),
            text: RawValue::from_string(text.to_owned()).ok()?,
        })
    }
}

impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.text.get() == other.text.get()
    }
}

impl Eq for Unknown {}

impl Body {
    /// What `k` holds.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Body::Head(_) => "head",
            Body::Seal(_) => "seal",
            Body::Run(_) => "run",
            Body::Container(_) => "container",
            Body::Lineage(_) => "lineage",
            Body::Fold(_) => "fold",
            Body::Event(_) => "event",
            Body::Finding(_) => "finding",
            Body::Loss(_) => "loss",
            Body::Clock(_) => "clock",
            Body::Control(_) => "ctl",
            Body::Decision(_) => "decision",
            Body::Undecodable(_) => "undecodable",
            Body::Anchor(_) => "anchor",
            Body::Prune(_) => "prune",
            Body::Unknown(unknown) => &unknown.kind,
        }
    }

    /// Reads the body of a kind.
    fn read(kind: &str, text: &RawValue) -> Result<Self, LineError> {
        fn typed<T: DeserializeOwned>(text: &RawValue) -> Result<T, LineError> {
            serde_json::from_str(text.get()).map_err(parse_error)
        }
        Ok(match kind {
            "head" => Body::Head(typed(text)?),
            "seal" => Body::Seal(typed(text)?),
            "run" => Body::Run(typed(text)?),
            "container" => Body::Container(typed(text)?),
            "lineage" => Body::Lineage(typed(text)?),
            "fold" => Body::Fold(typed(text)?),
            "event" => Body::Event(typed(text)?),
            "finding" => Body::Finding(typed(text)?),
            "loss" => Body::Loss(typed(text)?),
            "clock" => Body::Clock(typed(text)?),
            "ctl" => Body::Control(typed(text)?),
            "decision" => Body::Decision(typed(text)?),
            "undecodable" => Body::Undecodable(typed(text)?),
            "anchor" => Body::Anchor(typed(text)?),
            "prune" => Body::Prune(typed(text)?),
            _ => {
                // The line's own object counts.
                walk::check_within(text.get(), 1)?;
                Body::Unknown(Box::new(Unknown {
                    kind: kind.to_owned(),
                    text: text.to_owned(),
                }))
            }
        })
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Body::Head(body) => body.serialize(serializer),
            Body::Seal(body) => body.serialize(serializer),
            Body::Run(body) => body.serialize(serializer),
            Body::Container(body) => body.serialize(serializer),
            Body::Lineage(body) => body.serialize(serializer),
            Body::Fold(body) => body.serialize(serializer),
            Body::Event(body) => body.serialize(serializer),
            Body::Finding(body) => body.serialize(serializer),
            Body::Loss(body) => body.serialize(serializer),
            Body::Clock(body) => body.serialize(serializer),
            Body::Control(body) => body.serialize(serializer),
            Body::Decision(body) => body.serialize(serializer),
            Body::Undecodable(body) => body.serialize(serializer),
            Body::Anchor(body) => body.serialize(serializer),
            Body::Prune(body) => body.serialize(serializer),
            Body::Unknown(unknown) => unknown.text.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests;
