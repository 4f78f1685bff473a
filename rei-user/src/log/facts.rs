//! What a writer says of itself in every header, and when its batches and segments end.

use std::fs;
use std::io;
use std::process;

use crate::format::{Count, Hex, Host, Params, Writer};
use crate::keys::id::LogId;

/// The machine and the program that write a log.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The machine.
    pub host: Host,
    /// The program.
    pub writer: Writer,
}

impl Facts {
    /// This machine and this process, with a fresh nonce.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn of_this_process() -> io::Result<Self> {
        let name = rustix::system::uname();
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Ok(Facts {
            host: Host {
                machine_id: read("/etc/machine-id"),
                boot_id: read("/proc/sys/kernel/random/boot_id"),
                hostname: name.nodename().to_string_lossy().into_owned(),
                kernel: name.release().to_string_lossy().into_owned(),
            },
            writer: Writer {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: Count::new(process::id().into()),
                nonce: Hex(*LogId::random()?.bytes()),
            },
        })
    }
}

/// When batches and segments end, and checkpoints are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most lines of a batch.
    pub batch_lines: u64,
    /// From a batch's first line to its seal, in ms.
    pub delay_ms: u64,
    /// Without a line, from one seal to the next, in s.
    pub idle_s: u64,
    /// Bytes after which a segment ends.
    pub roll_bytes: u64,
    /// Age at which a segment ends, in s.
    pub roll_s: u64,
    /// From one checkpoint to the next, if the log grew, in s.
    pub checkpoint_s: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            batch_lines: 256,
            delay_ms: 250,
            idle_s: 60,
            roll_bytes: 64 << 20,
            roll_s: 3600,
            checkpoint_s: 30,
        }
    }
}

impl Limits {
    pub(super) fn params(&self) -> Params {
        Params {
            batch: Count::new(self.batch_lines),
            delay_ms: Count::new(self.delay_ms),
            idle_s: Count::new(self.idle_s),
            roll_bytes: Count::new(self.roll_bytes),
            roll_s: Count::new(self.roll_s),
        }
    }
}
