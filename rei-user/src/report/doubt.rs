//! Events that say less than they should: counted by kind, with the first of each as an example.

use rei_ebpf_common::header::{Phase, missing};

use crate::enrich::{Act, Confidence, Enriched, File};
use crate::quote::shorten;
use crate::report::reason::Reason;

/// Columns of an example's name.
const EXAMPLE_COLUMNS: usize = 40;

/// Events that make a record incomplete by what they do not say.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    contested: Doubt,
    unresolved: Doubt,
    path_cut: Doubt,
}

#[derive(Debug, Default)]
struct Doubt {
    count: u64,
    first: Option<String>,
}

impl Doubt {
    fn add(&mut self, enriched: &Enriched) {
        self.count += 1;
        self.first.get_or_insert_with(|| example(enriched));
    }

    fn reason(&self, make: impl FnOnce(u64, String) -> Reason) -> Option<Reason> {
        self.first.clone().map(|first| make(self.count, first))
    }
}

impl Doubts {
    /// The runtime's own acts never count. A cut argv or environment does not either: no rule needs them yet.
    pub(super) fn add(&mut self, enriched: &Enriched) {
        if enriched.event().phase() == Phase::Runtime {
            return;
        }
        match enriched.confidence() {
            Confidence::Contested => self.contested.add(enriched),
            Confidence::Unresolved if !enriched.reached_nothing() => self.unresolved.add(enriched),
            Confidence::Unresolved
            | Confidence::KernelObject
            | Confidence::KernelText
            | Confidence::ArgumentText => {}
        }
        if enriched.event().is_missing(missing::PATH_CUT) {
            self.path_cut.add(enriched);
        }
    }

    pub(super) fn reasons(&self) -> impl Iterator<Item = Reason> {
        let contested = self
            .contested
            .reason(|count, first| Reason::Contested { count, first });
        let unresolved = self
            .unresolved
            .reason(|count, first| Reason::Unresolved { count, first });
        let path_cut = self
            .path_cut
            .reason(|count, first| Reason::PathCut { count, first });
        [contested, unresolved, path_cut].into_iter().flatten()
    }
}

/// `open of /x by process 12 (EACCES)`
fn example(enriched: &Enriched) -> String {
    let object = match enriched.act() {
        Act::Open(opened) => opened.path.as_deref().or(opened.text.best()),
        Act::ExecAttempt(attempted) => attempted.path.as_deref().or(attempted.text.best()),
        Act::Contact(contact) => contact.address.as_deref(),
        Act::Exec(executed) => executed
            .file
            .as_ref()
            .and_then(File::path)
            .or(executed.requested.as_deref()),
        Act::Life => None,
    };
    let object = object.map_or_else(
        || "an unreadable object".to_owned(),
        |name| shorten(name, EXAMPLE_COLUMNS),
    );
    let event = enriched.event();
    format!(
        "{} of {object} by process {} ({})",
        event.kind().name(),
        event.header().pid,
        enriched.outcome()
    )
}
