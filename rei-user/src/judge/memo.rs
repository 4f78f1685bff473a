//! What was decided before: the same act on the same object gets the same answer without asking again.

use std::collections::HashMap;
use std::sync::Arc;

use rei_ebpf_common::header::EventKind;

use crate::decode::Body;
use crate::enrich::{AccessSet, Act, Confidence, Enriched, Origin, Outcome};
use crate::judge::{Verdict, operation};
use crate::tripwire::Matcher;

/// Most bytes of names that are kept; then everything is forgotten and decided anew.
const NAME_BYTES_MAX: usize = 16 << 20;
/// What an entry takes beside its name, roughly.
const ENTRY_BYTES: usize = 256;

/// Everything that a decision rests on, beside the policy. An exec rests on more, and is never kept.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    scope: u64,
    kind: EventKind,
    name: Vec<u8>,
    access: AccessSet,
    origin: Option<Origin>,
    /// File system, mode, device numbers, and what is particular to the kind; or what tells sockets apart.
    numbers: [u64; 4],
    outcome: Outcome,
    confidence: Confidence,
    missing: u32,
    /// The acting process, where the name is one of /proc.
    own_pid: u32,
    is_lower_directory: bool,
}

/// The key of an event that can be kept.
pub(super) fn key(enriched: &Enriched, matcher: &Matcher) -> Option<Key> {
    let header = enriched.event().header();
    let (name, access, file) = match enriched.act() {
        Act::Open(opened) if opened.text.differing_entry().is_none() => {
            (opened.path.as_deref()?, opened.access, opened.file.as_ref())
        }
        Act::Contact(contact) => (
            contact.address.as_deref()?,
            AccessSet::default(),
            contact.file.as_ref(),
        ),
        Act::Open(_) | Act::Exec(_) | Act::ExecAttempt(_) | Act::Life => return None,
    };
    let numbers = match file {
        Some(file) => {
            let facts = file.facts();
            let particular = match enriched.event().body() {
                Body::Open(body) => body.asked_flags,
                _ => facts.ino,
            };
            [
                facts.magic,
                u64::from(facts.mode),
                u64::from(facts.dev) << 32 | u64::from(facts.rdev),
                particular,
            ]
        }
        None => operation::other_numbers(enriched),
    };
    Some(Key {
        scope: header.scope,
        kind: enriched.event().kind(),
        access,
        origin: file.map(|file| file.origin().clone()),
        numbers,
        outcome: enriched.outcome(),
        confidence: enriched.confidence(),
        missing: header.missing,
        own_pid: if name.starts_with(b"/proc/") {
            header.ns_pid
        } else {
            0
        },
        is_lower_directory: matcher.is_lower_directory(name),
        name: name.to_vec(),
    })
}

#[derive(Debug, Default)]
pub(super) struct Memo {
    verdicts: HashMap<Key, Arc<Verdict>>,
    bytes: usize,
}

impl Memo {
    pub(super) fn recall(&self, key: &Key) -> Option<Arc<Verdict>> {
        self.verdicts.get(key).map(Arc::clone)
    }

    pub(super) fn keep(&mut self, key: Key, verdict: &Arc<Verdict>) {
        self.bytes += key.name.len() + ENTRY_BYTES;
        if self.bytes > NAME_BYTES_MAX {
            self.clear();
            self.bytes = key.name.len() + ENTRY_BYTES;
        }
        self.verdicts.insert(key, Arc::clone(verdict));
    }

    pub(super) fn clear(&mut self) {
        self.verdicts.clear();
        self.bytes = 0;
    }
}
