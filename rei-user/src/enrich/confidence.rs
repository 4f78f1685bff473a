//! How sure an event's object is.

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
}
