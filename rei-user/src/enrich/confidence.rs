//! How sure an event's object is.

use rei_ebpf_common::evidence;
use rei_ebpf_common::header::missing;

use crate::decode::{Body, Event};

/// How sure an event's object is, by what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A kernel object was read.
    KernelObject,
    /// A string or address that the kernel had copied.
    KernelText,
    /// User memory, equal at entry and exit, or readable only at exit.
    ArgumentText,
    /// Unequal at entry and exit, or not readable where it is needed.
    Unresolved,
    /// Another thread changed the descriptor while the call was in flight.
    Contested,
}

impl Confidence {
    /// The name used in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::KernelObject => "kernel_object",
            Confidence::KernelText => "kernel_text",
            Confidence::ArgumentText => "argument_text",
            Confidence::Unresolved => "unresolved",
            Confidence::Contested => "contested",
        }
    }

    /// As sure as the whole event can be, whatever its object is by itself. An open without an entry is the
    /// kernel side's to judge: it knows whether a descriptor came of it.
    pub(super) fn within(self, event: &Event) -> Self {
        let is_framed = entry_seen(event) || matches!(event.body(), Body::Open(_));
        if (is_framed && !event.is_missing(missing::PATH_RACED)) || self == Confidence::Contested {
            self
        } else {
            Confidence::Unresolved
        }
    }
}

/// Whether the call's entry was seen. Without it, what lay between asking and answer is not known. Always
/// true of what is no call by itself: other hooks see the moment that they report.
pub(super) fn entry_seen(event: &Event) -> bool {
    let bits = match event.body() {
        Body::Open(body) => body.evidence,
        Body::ExecAttempt(body) => body.evidence,
        // Outside a connect call there is no number.
        Body::Connect(body) if body.syscall != 0 => body.evidence,
        _ => return true,
    };
    bits & evidence::ENTRY_SEEN != 0
}
