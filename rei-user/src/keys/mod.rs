//! Keys: which comes from which. Pure, and shared with the verifier.

pub mod derive;
pub mod id;
pub mod secret;
mod text;
