//! Which raw events a log keeps beside what is folded from them.

/// Which raw events are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepEvents {
    /// The first event of each finding.
    #[default]
    Findings,
    /// Every event.
    All,
    /// None.
    None,
}

impl KeepEvents {
    /// Every choice.
    pub const ALL: [KeepEvents; 3] = [KeepEvents::Findings, KeepEvents::All, KeepEvents::None];

    /// The word on the command line and in a log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeepEvents::Findings => "findings",
            KeepEvents::All => "all",
            KeepEvents::None => "none",
        }
    }
}
