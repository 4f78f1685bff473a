//! What an event says once its bytes are put together: one shape per kind of act.

use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::{ExecAttemptBody, ExecBody};
use rei_ebpf_common::file::file_flag;
use rei_ebpf_common::header::missing;
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;

use crate::decode::Event;
use crate::enrich::access::AccessSet;
use crate::enrich::chain::Chain;
use crate::enrich::confidence::Confidence;
use crate::enrich::contact::Contact;
use crate::enrich::file::File;
use crate::enrich::text::{self, Text, join, split_strings};

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A file was opened, or could not be.
    Open(Opened),
    /// An address was contacted, or could not be.
    Contact(Contact),
    /// A program was executed.
    Exec(Executed),
    /// A program was not executed.
    ExecAttempt(Attempted),
    /// A process or cgroup began, ended or moved: the event's body says it all.
    Life,
}

/// An open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The opened file; `None` if the open failed, or its object could not be read.
    pub file: Option<File>,
    /// The file's path; for a failed open the base directory joined with the text, not resolved any further.
    pub path: Option<Vec<u8>>,
    /// Whether `path` is made of text.
    pub lexical: bool,
    /// What was asked for.
    pub text: Text,
    /// What it may do with the file; of a failed open what it was to do.
    pub access: AccessSet,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The program that runs now.
    pub file: Option<File>,
    /// What exec was asked for, as the kernel copied it.
    pub requested: Option<Vec<u8>>,
    /// The script's path, joined with the working directory.
    pub script: Option<Vec<u8>>,
    /// The script's interpreter, as its first line names it.
    pub interpreter: Option<Vec<u8>>,
    /// Its place in the entrypoint chain.
    pub chain: Option<Chain>,
}

impl Executed {
    /// How sure `script` is: the kernel copied the text itself, and nobody has resolved it.
    #[must_use]
    pub fn script_confidence(&self) -> Confidence {
        if self.script.is_some() {
            Confidence::KernelText
        } else {
            Confidence::Unresolved
        }
    }
}

/// An execution that did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// The file behind the descriptor (`AT_EMPTY_PATH`).
    pub file: Option<File>,
    /// The file's path, or the base directory joined with the text.
    pub path: Option<Vec<u8>>,
    /// Whether `path` is made of text.
    pub lexical: bool,
    /// What was asked for.
    pub text: Text,
}

pub(super) fn opened(event: &Event, body: &OpenBody, file: Option<File>) -> (Opened, Confidence) {
    let text = Text::of(event);
    if body.ret < 0 {
        let confidence = text.confidence(event, body.evidence);
        let path = text.lexical_path(event);
        let access = AccessSet::asked(body.asked_flags);
        return (
            Opened {
                file: None,
                path,
                lexical: true,
                text,
                access,
            },
            confidence,
        );
    }
    let confidence = object_confidence(event, file.as_ref(), body.evidence);
    let path = file.as_ref().and_then(File::path).map(<[u8]>::to_vec);
    (
        Opened {
            file,
            path,
            lexical: false,
            text,
            access: AccessSet::granted(body),
        },
        confidence,
    )
}

/// The chain is left open: only the process table can tell.
pub(super) fn executed(event: &Event, body: &ExecBody, file: Option<File>) -> (Executed, Confidence) {
    let confidence = object_confidence(event, file.as_ref(), body.evidence);
    let requested = event.part(PartTag::Filename).map(|text| text.to_vec());
    let is_script = body.evidence & evidence::SCRIPT != 0;
    let script = requested
        .as_deref()
        .filter(|_| is_script)
        .and_then(|text| absolute(event, text));
    let interpreter = event
        .part(PartTag::Interp)
        .filter(|_| is_script)
        .map(|text| text.to_vec());
    (
        Executed {
            file,
            requested,
            script,
            interpreter,
            chain: None,
        },
        confidence,
    )
}

pub(super) fn attempted(
    event: &Event,
    body: &ExecAttemptBody,
    file: Option<File>,
) -> (Attempted, Confidence) {
    let text = Text::of(event);
    if body.evidence & evidence::EMPTY_PATH != 0 && file.is_some() {
        let confidence = object_confidence(event, file.as_ref(), body.evidence);
        let path = file.as_ref().and_then(File::path).map(<[u8]>::to_vec);
        return (
            Attempted {
                file,
                path,
                lexical: false,
                text,
            },
            confidence,
        );
    }
    let confidence = text.confidence(event, body.evidence);
    let path = text.lexical_path(event);
    (
        Attempted {
            file,
            path,
            lexical: true,
            text,
        },
        confidence,
    )
}

/// Text of exec as a path: absolute as it is, relative below the working directory.
pub(super) fn absolute(event: &Event, text: &[u8]) -> Option<Vec<u8>> {
    if text.starts_with(b"/") {
        return Some(text.to_vec());
    }
    Some(join(&text::base(event)?, text))
}

/// The strings of `Argv` or `EnvNames`.
pub(super) fn strings(event: &Event, tag: PartTag) -> Vec<&[u8]> {
    event
        .part(tag)
        .map(|bytes| split_strings(bytes))
        .unwrap_or_default()
}

fn object_confidence(event: &Event, file: Option<&File>, evidence_bits: u32) -> Confidence {
    let is_read = file.is_some_and(|file| file.is(file_flag::PRESENT) && file.path().is_some());
    if !is_read || event.is_missing(missing::OBJECT | missing::PATH_UNREADABLE) {
        Confidence::Unresolved
    } else if evidence_bits & evidence::CONTESTED != 0 {
        Confidence::Contested
    } else {
        Confidence::KernelObject
    }
}
