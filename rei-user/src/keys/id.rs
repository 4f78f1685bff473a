//! The names of logs and series: 16 random bytes each.

use std::fmt;
use std::io;

use super::secret::fill_random;
use crate::format::Hex;

/// Names one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogId(pub Hex<16>);

/// Names one host's series of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesId(pub Hex<16>);

impl LogId {
    /// The name with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        LogId(Hex(bytes))
    }

    /// A name that nobody has had.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn random() -> io::Result<Self> {
        Ok(LogId(Hex(random()?)))
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0.0
    }
}

impl SeriesId {
    /// The name with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        SeriesId(Hex(bytes))
    }

    /// A name that nobody has had.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn random() -> io::Result<Self> {
        Ok(SeriesId(Hex(random()?)))
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0.0
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    fill_random(&mut bytes)?;
    Ok(bytes)
}
