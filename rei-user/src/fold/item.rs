//! What the fold hands on: bodies of lines, and which line is evidence of which finding.

use crate::format::{Body, Count};

/// A line to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it says. Of a finding, `evidence` and `of` are filled in by [`Citations`]: only who writes knows
    /// the numbers of lines.
    pub body: Body,
    /// What it is to findings.
    pub role: Role,
}

/// A finding of this recording: the first one is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FindingNumber(pub(super) usize);

/// What a line is to findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Plain,
    /// The raw event of the findings that follow at once.
    Evidence,
    /// A finding, told for the first time.
    Finding(FindingNumber),
    /// A finding that was told before, and came again.
    Repeated(FindingNumber),
}

impl Item {
    pub(super) fn plain(body: Body) -> Self {
        Item {
            body,
            role: Role::Plain,
        }
    }

    /// Whether it is to be sealed at once.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        matches!(self.role, Role::Finding(_))
    }
}

/// Numbers of the lines that findings cite.
#[derive(Clone, Debug, Default)]
pub struct Citations {
    evidence: Option<Count>,
    /// The first line of each finding.
    findings: Vec<Count>,
}

impl Citations {
    /// Nothing was written yet.
    #[must_use]
    pub fn new() -> Self {
        Citations::default()
    }

    /// The body of the next line, with the lines that it cites. Items come in the order in which the fold
    /// gave them.
    #[must_use]
    pub fn cite(&self, item: Item) -> Body {
        let mut body = item.body;
        if let Body::Finding(finding) = &mut body {
            match item.role {
                Role::Finding(_) => finding.evidence = self.evidence.into_iter().collect(),
                Role::Repeated(number) => finding.of = self.findings.get(number.0).copied(),
                Role::Plain | Role::Evidence => {}
            }
        }
        body
    }

    /// The item that was given last stands in this line.
    pub fn written(&mut self, role: Role, sequence: u64) {
        let line = Count::new(sequence);
        match role {
            Role::Evidence => self.evidence = Some(line),
            Role::Finding(number) => {
                // Numbers come in order.
                self.findings.resize(number.0, line);
                self.findings.push(line);
            }
            Role::Plain | Role::Repeated(_) => self.evidence = None,
        }
    }
}
