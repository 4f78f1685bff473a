//! Live tests: real containers, real kernel.
//!
//! Each needs root, Docker and the loaded kernel side, is marked `#[ignore = "root"]`, and fails rather than skips
//! where it cannot run: `cargo xtask test` runs them. One holds the machine at a time ([`host`]).

#[path = "live/answer.rs"]
mod answer;
#[path = "live/attack.rs"]
mod attack;
#[path = "live/completeness.rs"]
mod completeness;
#[path = "live/crash.rs"]
mod crash;
#[path = "live/deep.rs"]
mod deep;
#[path = "live/docker.rs"]
mod docker;
#[path = "live/evasions.rs"]
mod evasions;
#[path = "live/flags.rs"]
mod flags;
#[path = "live/host.rs"]
mod host;
#[path = "live/judged/mod.rs"]
mod judged;
#[path = "live/lab.rs"]
mod lab;
#[path = "live/loss.rs"]
mod loss;
#[path = "live/origin.rs"]
mod origin;
#[path = "live/phase.rs"]
mod phase;
#[path = "live/plain.rs"]
mod plain;
#[path = "live/probe.rs"]
mod probe;
#[path = "live/programs.rs"]
mod programs;
#[path = "live/record.rs"]
mod record;
#[path = "live/rei.rs"]
mod rei;
#[path = "live/repeat.rs"]
mod repeat;
#[path = "live/scope.rs"]
mod scope;
#[path = "live/sealed.rs"]
mod sealed;
mod second;
#[path = "live/stall.rs"]
mod stall;
#[path = "live/trouble.rs"]
mod trouble;
#[path = "live/verdict.rs"]
mod verdict;
