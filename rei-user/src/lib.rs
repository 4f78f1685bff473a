//! rei, the user side: evidence of what a container really did.
//!
//! Principles. Evidence is never improved: kernel time stays kernel time, unknown stays unknown, cut is said. An
//! event goes one way, and each room hands it on as a type that only that room can make:
//!
//! [`attach`] loads the kernel side → [`ring`] copies records out → [`decode`] makes events of bytes → [`enrich`]
//! adds path, origin and program → [`judge`] asks [`tripwire`] and [`gate`] what the [`policy`] says → [`report`]
//! writes JSON lines and the summary. [`recorder`] is the thread that walks an event from `decode` to `report` and
//! [`ledger`], once [`identity`] has settled whose container it belongs to.
//!
//! Evidence that lasts, held together by the ledger: [`fold`] makes lineage of what was judged → [`seal`] chains records into lines and ends each batch with a seal whose key is forgotten at
//! once → [`log`] makes them durable in the order that every crash survives. [`format`](mod@format) says which bytes, [`keys`]
//! where the keys come from, how they are kept and how they are forgotten.
//!
//! Beside the corridor, used by it and never using it: [`btf`] (offsets of the running kernel), [`engine`] (what a
//! container engine knows), [`cgroup`] (the cgroup v2 tree), [`coverage`] (which routes no live sensor sees),
//! [`gate`] (may this tool be called; does anybody object to what was seen), [`image`] (the unmodified files of a
//! container's image), [`found`] (declared programs, looked up in it), [`glob`] (patterns over bytes), [`paths`] (many
//! patterns in one automaton), [`cidr`] (addresses that share their first bits), [`output`] (whole lines or nothing),
//! [`quote`] (untrusted bytes made harmless for a terminal).
//!
//! The second building is [`verify`]: it reads what [`log`] keeps and shares [`format`](mod@format) and the derivation of [`keys`]
//! with the writer. It is all that a build without the feature `observe` has.
#![deny(unsafe_code)]

#[cfg(feature = "observe")]
pub mod attach;
#[cfg(feature = "observe")]
pub mod btf;
#[cfg(feature = "observe")]
pub mod cgroup;
#[cfg(feature = "observe")]
pub mod cidr;
#[cfg(feature = "observe")]
pub mod cli;
#[cfg(not(feature = "observe"))]
#[path = "cli/auditor.rs"]
pub mod cli;
#[cfg(feature = "observe")]
pub mod commands;
#[cfg(not(feature = "observe"))]
#[path = "commands/auditor.rs"]
pub mod commands;
#[cfg(feature = "observe")]
pub mod coverage;
#[cfg(feature = "observe")]
pub mod decode;
mod disk;
#[cfg(feature = "observe")]
#[cfg(test)]
mod draw;
#[cfg(feature = "observe")]
pub mod engine;
#[cfg(feature = "observe")]
pub mod enrich;
#[cfg(feature = "observe")]
pub mod fold;
pub mod format;
#[cfg(feature = "observe")]
pub mod found;
#[cfg(feature = "observe")]
pub mod gate;
#[cfg(feature = "observe")]
pub mod glob;
#[cfg(feature = "observe")]
pub mod identity;
#[cfg(feature = "observe")]
pub mod image;
#[cfg(test)]
mod imports;
#[cfg(feature = "observe")]
pub mod judge;
pub mod keys;
#[cfg(feature = "observe")]
pub mod ledger;
pub mod log;
#[cfg(feature = "observe")]
pub mod output;
#[cfg(feature = "observe")]
pub mod paths;
#[cfg(feature = "observe")]
pub mod policy;
pub mod quote;
#[cfg(feature = "observe")]
pub mod recorder;
#[cfg(feature = "observe")]
pub mod report;
#[cfg(feature = "observe")]
pub mod ring;
pub mod seal;
mod sys;
#[cfg(feature = "observe")]
pub mod tripwire;
pub mod verify;
