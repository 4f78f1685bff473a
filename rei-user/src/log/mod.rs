//! A log on the disk: a directory of segments, a head token, checkpoints.

pub mod read;
