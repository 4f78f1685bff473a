//! rei, the user side: evidence of what a container really did.
//!
//! Principles. Evidence is never improved: kernel time stays kernel time, unknown stays unknown, cut is said. An
//! event goes one way, and each room hands it on as a type that only that room can make:
//!
//! [`attach`] loads the kernel side → [`ring`] copies records out → [`decode`] makes events of bytes → [`enrich`]
//! adds path, origin and program → [`judge`] asks [`tripwire`] and [`gate`] what the [`policy`] says → [`report`]
//! writes JSON lines and the summary, and [`fold`] makes lineage of what was judged → [`seal`] chains and seals its
//! lines → [`log`] makes them durable; the [`ledger`] holds these three together. [`recorder`] is the thread that walks
//! an event from `decode` to `report` and `ledger`, once [`identity`] has settled whose container it belongs to.
//!
//! Beside the corridor, used by it and never using it: [`btf`] (offsets of the running kernel), [`engine`] (what a
//! container engine knows), [`cgroup`] (the cgroup v2 tree), [`coverage`] (which routes no live sensor sees),
//! [`gate`] (may this tool be called; does anybody object to what was seen), [`image`] (the unmodified files of a
//! container's image), [`found`] (declared programs, looked up in it), [`glob`] (patterns over bytes), [`paths`] (many
//! patterns in one automaton), [`cidr`] (addresses that share their first bits), [`keys`] (of a host, its logs and their
//! segments: derived, kept, forgotten), [`output`] (whole lines or nothing), [`quote`] (untrusted bytes made harmless
//! for a terminal).
//!
//! The second building is [`verify`]: it reads what [`log`] keeps and shares [`format`] and the derivation of [`keys`]
//! with the writer. It is all that a build without the feature `observe` has.
#![deny(unsafe_code)]

pub mod attach;
pub mod btf;
pub mod cgroup;
pub mod cidr;
pub mod cli;
pub mod commands;
pub mod coverage;
pub mod decode;
mod disk;
#[cfg(test)]
mod draw;
pub mod engine;
pub mod enrich;
pub mod fold;
pub mod format;
pub mod found;
pub mod gate;
pub mod glob;
pub mod identity;
pub mod image;
#[cfg(test)]
mod imports;
pub mod judge;
pub mod keys;
pub mod ledger;
pub mod log;
pub mod output;
pub mod paths;
pub mod policy;
pub mod quote;
pub mod recorder;
pub mod report;
pub mod ring;
pub mod seal;
mod sys;
pub mod tripwire;
pub mod verify;
