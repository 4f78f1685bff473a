//! A log on the disk: a directory of segments, a head token, checkpoints.
//!
//! [`writer`] makes what `seal` gives durable, in the order that survives every crash, and goes on after one
//! (`recovery`). [`read`] gives back the bytes, and judges nothing.

mod directory;
pub mod error;
pub mod facts;
pub mod notes;
mod opening;
pub mod read;
mod recovery;
pub mod writer;

#[cfg(test)]
mod tests;
