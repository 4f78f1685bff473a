//! Truth tables of the tripwires: an operation, a policy, and what is expected.

use std::sync::Arc;

use super::*;
use crate::enrich::{Access, AccessSet, Chain, Confidence, Origin, Outcome};
use crate::policy::{Policy, Source, Transport};

mod contacts;
mod executions;
mod files;
mod properties;
mod reach;

/// What is expected: the ground's first word, or the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// Ambient, of this class.
    Ambient(&'static str),
    /// Declared by the rule with this default name.
    Rule(&'static str),
    Chain,
    Harmless,
    /// The wire fires; the act happened.
    Trips,
    /// The wire fires; the act was tried.
    Tried,
}

use Expected::{Ambient, Harmless, Rule, Tried, Trips};

fn policy(text: &str) -> Arc<Policy> {
    let mut policy = Policy::parse(text, Source::Shipped)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .policy;
    policy
        .resolve_names(|_| {
            Ok(vec![
                "192.0.2.80".parse().unwrap(),
                "2001:db8::80".parse().unwrap(),
            ])
        })
        .unwrap();
    Arc::new(policy)
}

/// A container with these mounts beside its root.
fn matcher(text: &str) -> Matcher {
    let bindings = Bindings {
        entrypoint: Some(b"/app/run.sh".to_vec()),
        workdir: Some(b"/job".to_vec()),
        mounts: Some(
            ["/data", "/usr/share/zoneinfo", "/etc/hosts", "/etc/localtime"]
                .map(|mount| mount.as_bytes().to_vec())
                .to_vec(),
        ),
        read_only_mounts: vec![b"/usr/share/zoneinfo".to_vec()],
        programs: Vec::new(),
    };
    Matcher::bind(&policy(text), bindings).unwrap()
}

fn circumstance(confidence: Confidence, ret: i64) -> Circumstance {
    Circumstance {
        outcome: if ret < 0 {
            Outcome::Failed(Errno(ret.unsigned_abs()))
        } else {
            Outcome::Ok
        },
        confidence,
        is_path_cut: false,
        reached_nothing: false,
        own_pid: 17,
    }
}

fn found(answer: &Answer) -> Expected {
    assert_eq!(answer.ground.is_none(), !answer.trips.is_empty(), "{answer:?}");
    match (&answer.ground, answer.trips.first()) {
        (Some(Ground::Ambient { class, .. }), _) => Ambient(class.name()),
        (Some(Ground::Declared { rule }), _) => Rule(rule.clone().leak()),
        (Some(Ground::Chain), _) => Expected::Chain,
        (Some(Ground::Harmless(_)), _) => Harmless,
        (
            None,
            Some(Trip {
                attempted: Some(_), ..
            }),
        ) => Tried,
        (None, _) => Trips,
    }
}
