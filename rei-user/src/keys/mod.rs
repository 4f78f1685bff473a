//! Keys: where they come from, where they are kept, and how they are forgotten.
//!
//! [`derive`](mod@derive) is pure and shared with the verifier. The rest keeps secrets in files that only their owner can
//! reach ([`directory`]), evolves them in place (`slot`), gives each log its place in the host's series
//! ([`birth`]) and signs ([`signing`]). Nothing here is ever replaced silently: what is missing or damaged is
//! an error.

pub mod birth;
pub mod derive;
pub mod directory;
pub mod entry;
pub mod error;
pub mod host;
pub mod id;
pub mod locked;
pub mod secret;
mod series;
pub mod signing;
mod slot;
pub mod state;
mod text;

#[cfg(test)]
mod tests;
