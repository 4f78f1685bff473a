//! Names of the fields that the kernel side cut or could not read, as every output gives them.

use rei_ebpf_common::header::missing;

use crate::decode::Event;
use crate::enrich::Enriched;

const CUT: [(u32, &str); 4] = [
    (missing::PATH_CUT, "path"),
    (missing::TEXT_CUT, "requested"),
    (missing::ARGV_CUT, "argv"),
    (missing::ENV_CUT, "env_names"),
];
const UNREADABLE: [(u32, &str); 10] = [
    (missing::PATH_UNREADABLE, "path"),
    (missing::PATH_RACED, "path_raced"),
    (missing::TEXT_ENTRY, "text_entry"),
    (missing::TEXT_EXIT, "text_exit"),
    (missing::ARGV_UNREADABLE, "argv"),
    (missing::ENV_UNREADABLE, "env_names"),
    (missing::OBJECT, "object"),
    (missing::ADDRESS, "address"),
    (missing::BASE, "base"),
    (missing::HOW, "how"),
];

impl Enriched {
    /// Fields that the kernel side cut.
    pub fn cut_fields(&self) -> impl Iterator<Item = &'static str> + '_ {
        named(&self.event, &CUT)
    }

    /// Fields that it could not read.
    pub fn unreadable_fields(&self) -> impl Iterator<Item = &'static str> + '_ {
        named(&self.event, &UNREADABLE)
    }
}

fn named<'a>(
    event: &'a Event,
    table: &'static [(u32, &'static str)],
) -> impl Iterator<Item = &'static str> + 'a {
    table
        .iter()
        .filter(|(bit, _)| event.is_missing(*bit))
        .map(|(_, name)| *name)
}
