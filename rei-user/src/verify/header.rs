//! The first line of a segment: who writes, with which keys, and how the segment before ended.

use ed25519_dalek::{Signature, VerifyingKey};

use super::Key;
use super::examination::Examination;
use super::finding::{Spread, Violation, Warning, Where};
use super::line::Segment;
use super::ratchet::Ratchet;
use super::token::{FoundHead, Side};
use crate::format::{
    Count, FORMAT, Head, Hex, Previous, PreviousState, birth_message, log_origin, segment_key_message,
};
use crate::keys::derive::{LOGS_MAX, MasterKey, VerificationKey};
use crate::keys::id::LogId;

impl Examination<'_> {
    pub(super) fn head(&mut self, segment: &mut Segment, head: &Head, place: Where) {
        let is_first = self.log.is_none();
        if is_first {
            self.log = Some(head.log);
            self.origin = Some(head.origin.clone());
        }
        let is_log = self.log == Some(head.log) && self.request.log.is_none_or(|log| log == head.log);
        self.check(is_log, Violation::LogId, place);
        let pinned = self.request.host.map(|host| &host.origin);
        let is_origin = self.origin.as_ref() == Some(&head.origin)
            && pinned.is_none_or(|host| log_origin(host, &head.log) == head.origin);
        self.check(is_origin, Violation::Origin, place);
        let is_format = head.fmt.as_deref().is_none_or(|format| format == FORMAT);
        self.check(is_format, Violation::Parse, place);
        if is_first {
            self.birth(head, place);
            self.know_keys(segment, head.log);
        } else {
            self.check(head.birth == self.birth, Violation::Birth, place);
        }
        self.segment_key(segment, head, place);
        self.machine(head, place);
        self.previous_end(segment.number, &head.prev, place);
    }

    /// The host's certificate of the log's first key.
    fn birth(&mut self, head: &Head, place: Where) {
        self.birth.clone_from(&head.birth);
        let Some(birth) = &head.birth else {
            self.check(self.request.host.is_none(), Violation::BirthCertificate, place);
            let needs_series = matches!(self.request.key, Some(Key::Series(_)));
            self.check(!needs_series, Violation::Birth, place);
            return;
        };
        let message = birth_message(&head.log, &birth.series, birth.i.value(), &birth.vk0);
        let is_signed = self.is_signed(&birth.hk, &message, &birth.hs.0);
        let is_pinned = self.request.host.is_none_or(|host| host.key == birth.hk);
        if !is_signed || !is_pinned {
            self.violate(Violation::BirthCertificate, Spread::Segment, place, || {
                let why = if is_signed {
                    "the host's key is not the one of --pub"
                } else {
                    "the signature is wrong"
                };
                why.to_owned()
            });
        }
        self.check(head.vk == birth.vk0, Violation::Birth, place);
    }

    /// Begins to derive the log's keys, if they were given.
    fn know_keys(&mut self, segment: &mut Segment, log: Hex<16>) {
        let mut ratchet = match (self.request.key, &self.birth) {
            (Some(Key::Master(master)), _) => Ratchet::new(LogId(log), master),
            (Some(Key::Series(key)), Some(birth)) => {
                let (series, number) = (birth.series, birth.i.value());
                match of_series(key, series, number) {
                    Ok(master) => Ratchet::new(LogId(log), &master),
                    Err(why) => {
                        self.could_not(why);
                        return;
                    }
                }
            }
            _ => return,
        };
        segment.step = Some(ratchet.begin(segment.number));
        self.ratchet = Some(ratchet);
    }

    fn segment_key(&mut self, segment: &mut Segment, head: &Head, place: Where) {
        if let Some(before) = segment.number.checked_sub(1) {
            let announced = usize::try_from(before)
                .ok()
                .and_then(|at| self.facts.get(at))
                .and_then(|facts| facts.keys);
            let is_announced = announced.is_some_and(|[_, next]| next == head.vk);
            self.check(is_announced, Violation::SegmentKeyChain, place);
        }
        let message = segment_key_message(&head.log, segment.number, &head.vk, &head.nvk);
        let is_signed = self.is_signed(&head.vk, &message, &head.ks.0);
        self.check(is_signed, Violation::SegmentKeySignature, place);
        segment.facts.keys = Some([head.vk, head.nvk]);
    }

    /// Boot time counts within one boot only.
    fn machine(&mut self, head: &Head, place: Where) {
        let boot = head.host.as_ref().map(|host| host.boot_id.clone());
        if boot.is_none() || boot != self.boot {
            self.boot_ns = 0;
        }
        self.boot = boot;
        let machine = head.host.as_ref().map(|host| host.machine_id.clone());
        if self.machine.is_some() && machine != self.machine {
            self.warn(Warning::WriterChanged, place, String::new);
        }
        self.machine = machine;
    }

    /// How the segment before ended, as the header says, against what was seen of it.
    fn previous_end(&mut self, number: u64, told: &Previous, place: Where) {
        let Some(before) = number.checked_sub(1) else {
            self.check(*told == Previous::NONE, Violation::PreviousState, place);
            return;
        };
        let Some(facts) = self.facts.last() else {
            return;
        };
        let is_closed = facts.is_closed;
        let mut expected = Previous {
            seg: Some(Count::new(before)),
            state: PreviousState::Closed,
            last_seq: self.frontier.size().checked_sub(1).map(Count::new),
            last_e: facts.last_epoch.map(Count::new),
            tail: None,
            tail_sha256: None,
            head: None,
        };
        if !is_closed {
            expected.state = PreviousState::Crash;
            expected.tail = facts.tail.map(|(len_bytes, _)| Count::new(len_bytes));
            expected.tail_sha256 = facts.tail.map(|(_, sha256)| sha256);
            expected.head.clone_from(&told.head);
        }
        if *told != expected {
            self.violate(Violation::PreviousState, Spread::Segment, place, || {
                difference(told, &expected)
            });
        }
        if is_closed || self.ratchet.is_none() {
            return;
        }
        let fault = match &told.head {
            None => Some(Violation::TokenMissing),
            Some(found) => self.fault_of(&FoundHead::new(&found.b, &found.tag), before, Side::Both),
        };
        if let Some(fault) = fault {
            self.violate(fault, Spread::Segment, place, || {
                format!("it is the one that was found after segment {before} crashed")
            });
        }
    }

    /// Whether an Ed25519 signature is right.
    pub(super) fn is_signed(&mut self, key: &Hex<32>, message: &[u8], signature: &[u8]) -> bool {
        self.signatures += 1;
        let (Ok(key), Ok(signature)) = (VerifyingKey::from_bytes(&key.0), Signature::from_slice(signature))
        else {
            return false;
        };
        key.verify_strict(message, &signature).is_ok()
    }
}

/// `M_0` of a series' log; or why there is none.
fn of_series(key: &VerificationKey, series: Hex<16>, number: u64) -> Result<MasterKey, String> {
    if key.series.0 != series {
        return Err(format!(
            "the log is of series {series}, the key of series {}: give the key of the log's own host",
            key.series
        ));
    }
    key.master(number).ok_or_else(|| {
        format!("the log says that it is number {number} of its series; {LOGS_MAX} logs are the most")
    })
}

fn difference(told: &Previous, seen: &Previous) -> String {
    let word = |state| match state {
        PreviousState::None => "none",
        PreviousState::Closed => "closed",
        PreviousState::Crash => "crash",
    };
    let number = |count: Option<Count>| count.map_or("none".to_owned(), |count| count.value().to_string());
    format!(
        "it says {}, last line {}, epoch {}, {} bytes of tail; seen are {}, line {}, epoch {}, {} bytes",
        word(told.state),
        number(told.last_seq),
        number(told.last_e),
        number(told.tail),
        word(seen.state),
        number(seen.last_seq),
        number(seen.last_e),
        number(seen.tail),
    )
}
