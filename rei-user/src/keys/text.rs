//! The key files that people handle: lines of a word and a value.

use zeroize::Zeroizing;

use super::derive::{SeriesKey, VerificationKey};
use super::id::SeriesId;
use super::secret::Secret;
use super::signing::SigningSeed;
use crate::format::{Hex, is_name};

const VERIFICATION_TITLE: &str = "rei-verification-key/1";
const HOST_TITLE: &str = "rei-host-key/1";
/// Room for the longest of these files, so that a text that grows leaves no copy behind.
const TEXT_BYTES: usize = 1024;

impl VerificationKey {
    /// The content of a verification key file.
    pub(super) fn text(&self) -> Zeroizing<String> {
        let series = self.series.to_string();
        let r0 = digits(self.r0.secret());
        joined(&[VERIFICATION_TITLE, "\nseries ", &series, "\nr0 ", &r0, "\n"])
    }

    /// Reads a verification key file; `None` if it is none.
    #[must_use]
    pub fn read(content: &[u8]) -> Option<Self> {
        let mut lines = lines(content, VERIFICATION_TITLE)?;
        let series = SeriesId(Hex::parse(lines.next()?.strip_prefix("series ")?)?);
        let r0 = SeriesKey::new(secret(lines.next()?.strip_prefix("r0 ")?)?);
        lines.next().is_none().then_some(VerificationKey { series, r0 })
    }
}

/// The content of a host key file.
pub(super) fn host_key_text(origin: &str, seed: &SigningSeed) -> Zeroizing<String> {
    let seed = digits(seed.secret());
    joined(&[HOST_TITLE, "\norigin ", origin, "\nseed ", &seed, "\n"])
}

/// Reads a host key file: origin and key; `None` if it is none.
pub(super) fn read_host_key(content: &[u8]) -> Option<(String, SigningSeed)> {
    let mut lines = lines(content, HOST_TITLE)?;
    let origin = lines.next()?.strip_prefix("origin ")?;
    let seed = SigningSeed::new(secret(lines.next()?.strip_prefix("seed ")?)?);
    (lines.next().is_none() && is_name(origin)).then(|| (origin.to_owned(), seed))
}

/// The lines after the title.
fn lines<'a>(content: &'a [u8], title: &str) -> Option<std::str::Split<'a, char>> {
    let text = std::str::from_utf8(content).ok()?;
    let mut lines = text.strip_suffix('\n')?.split('\n');
    (lines.next()? == title).then_some(lines)
}

fn joined(parts: &[&str]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(TEXT_BYTES));
    for part in parts {
        text.push_str(part);
    }
    text
}

fn digits(secret: &Secret) -> Zeroizing<String> {
    Zeroizing::new(Hex(*secret.bytes()).to_string())
}

fn secret(digits: &str) -> Option<Secret> {
    Hex::<32>::parse(digits).map(|Hex(bytes)| Secret::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verification_key_reads_as_it_was_written_and_nothing_else_does() {
        let key = VerificationKey {
            series: SeriesId::new([0xa0; 16]),
            r0: SeriesKey::new(Secret::new([0x42; 32])),
        };
        let expected = format!(
            "rei-verification-key/1\nseries {}\nr0 {}\n",
            "a0".repeat(16),
            "42".repeat(32)
        );
        assert_eq!(*key.text(), expected);
        let read = VerificationKey::read(expected.as_bytes()).expect("as written");
        assert_eq!(read.series, key.series);
        assert!(read.r0.secret().equals(key.r0.secret()));
        for wrong in [
            expected.trim_end().to_owned(),
            format!("{expected}\n"),
            expected.replace("key/1", "key/2"),
            expected.replace("42", "4G"),
            expected.replace("r0 ", "r0  "),
            String::new(),
        ] {
            assert!(VerificationKey::read(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_host_key_reads_as_it_was_written_and_nothing_else_does() {
        let text = host_key_text("node-7/rei", &SigningSeed::new(Secret::new([1; 32])));
        assert_eq!(
            *text,
            format!("rei-host-key/1\norigin node-7/rei\nseed {}\n", "01".repeat(32))
        );
        let (origin, seed) = read_host_key(text.as_bytes()).expect("as written");
        assert_eq!(origin, "node-7/rei");
        assert!(seed.secret().equals(&Secret::new([1; 32])));
        for wrong in [
            text.replace("node-7/rei", "node 7"),
            text.replace("01", "0"),
            text.replace("\n", "\r\n"),
        ] {
            assert!(read_host_key(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
    }
}
