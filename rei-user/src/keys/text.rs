//! The key files that people handle: lines of a word and a value.

use super::derive::{SeriesKey, VerificationKey};
use super::id::SeriesId;
use super::secret::Secret;
use crate::format::Hex;

const VERIFICATION_TITLE: &str = "rei-verification-key/1";

impl VerificationKey {
    /// Reads a verification key file; `None` if it is none.
    #[must_use]
    pub fn read(content: &[u8]) -> Option<Self> {
        let mut lines = lines(content, VERIFICATION_TITLE)?;
        let series = SeriesId(Hex::parse(lines.next()?.strip_prefix("series ")?)?);
        let r0 = SeriesKey::new(secret(lines.next()?.strip_prefix("r0 ")?)?);
        lines.next().is_none().then_some(VerificationKey { series, r0 })
    }
}

/// The lines after the title.
fn lines<'a>(content: &'a [u8], title: &str) -> Option<std::str::Split<'a, char>> {
    let text = std::str::from_utf8(content).ok()?;
    let mut lines = text.strip_suffix('\n')?.split('\n');
    (lines.next()? == title).then_some(lines)
}

fn secret(digits: &str) -> Option<Secret> {
    Hex::<32>::parse(digits).map(|Hex(bytes)| Secret::new(bytes))
}
