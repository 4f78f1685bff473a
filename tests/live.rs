//! Live tests: real containers, real kernel.
//!
//! Each needs root, Docker and the loaded kernel side, is marked `#[ignore = "root"]`, and fails rather than skips
//! where it cannot run: `cargo xtask test` runs them. One holds the machine at a time ([`host`]).

#[path = "live/docker.rs"]
mod docker;
#[path = "live/evasions.rs"]
mod evasions;
#[path = "live/host.rs"]
mod host;
#[path = "live/lab.rs"]
mod lab;
#[path = "live/probe.rs"]
mod probe;
#[path = "live/record.rs"]
mod record;
#[path = "live/rei.rs"]
mod rei;
#[path = "live/verdict.rs"]
mod verdict;
