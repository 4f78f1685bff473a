//! The bytes between rei's kernel side and its user side: no behaviour, only shapes.
//!
//! A record in the ring is one [`header::EventHeader`], one fixed body of the kind that the header names, and any
//! number of [`part::PartHeader`]s with their bytes. All integers are native-endian; both sides run on one machine.
//!
//! Words, used here and everywhere else in rei: `pid` is what users call pid (the kernel's tgid), `tid` is one
//! thread. Kernel time is `CLOCK_BOOTTIME` in nanoseconds and is never replaced by another clock.
#![cfg_attr(not(feature = "user"), no_std)]

pub mod connect;
pub mod evidence;
pub mod exec;
pub mod file;
pub mod header;
pub mod hooks;
pub mod kernel;
pub mod maps;
pub mod open;
pub mod part;
#[cfg(feature = "user")]
mod pod;
pub mod process;
pub mod scope;
pub mod syscall;
