//! The head token: a small file that says where a log ends, and that only the holder of the current key could write.

use serde::{Deserialize, Serialize};

use super::tree::Hash;
use super::value::{Count, Hex};

/// Bytes of a head file: always the same, and not more than a disk's sector, so that it is overwritten in one piece.
pub const TOKEN_BYTES_MAX: usize = 512;

/// The first line of a head file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The log.
    pub log: Hex<16>,
    /// The segment; -1 before the first.
    pub seg: i64,
    /// Epoch of the seal.
    pub e: Count,
    /// The seal's line; -1 before the first.
    pub seq: i64,
    /// [`super::leaf`] of the seal's line; the genesis before the first.
    pub h: Hash,
    /// The seal's flags.
    pub f: Count,
}

impl Token {
    /// The token of a log that has no line yet.
    #[must_use]
    pub fn of_birth(log: Hex<16>) -> Self {
        Token {
            log,
            seg: -1,
            e: Count::default(),
            seq: -1,
            h: super::genesis(&log),
            f: Count::default(),
        }
    }

    /// The exact bytes that the tag covers.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Plain data: this cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads what [`Token::bytes`] wrote; `None` if it is anything else.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let token: Token = serde_json::from_slice(bytes).ok()?;
        let is_birth = token.seg == -1 && token.seq == -1;
        let is_later = token.seg >= 0 && token.seq >= 0;
        ((is_birth || is_later) && token.bytes() == bytes).then_some(token)
    }

    /// The head file: the token and its tag, a line each, and line feeds up to [`TOKEN_BYTES_MAX`].
    #[must_use]
    pub fn file(&self, tag: &Hash) -> Vec<u8> {
        let mut file = self.bytes();
        file.extend_from_slice(format!("\n{tag}").as_bytes());
        file.resize(TOKEN_BYTES_MAX, b'\n');
        file
    }
}

/// The two lines of a head file, whatever they say; `None` if it has no two lines of text.
#[must_use]
pub fn split_file(file: &[u8]) -> Option<(&str, &str)> {
    if file.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let (token, rest) = std::str::from_utf8(file).ok()?.split_once('\n')?;
    let (tag, filling) = rest.split_once('\n')?;
    filling.bytes().all(|byte| byte == b'\n').then_some((token, tag))
}

#[cfg(test)]
mod tests {
    use super::{Count, Hex, Token, split_file};

    #[test]
    fn a_token_has_one_spelling() {
        let token = Token {
            log: Hex([7; 16]),
            seg: 0,
            e: Count::new(1),
            seq: 3,
            h: Hex([9; 32]),
            f: Count::new(2),
        };
        let bytes = token.bytes();
        assert_eq!(Token::read(&bytes), Some(token));
        let birth = Token::of_birth(Hex([7; 16]));
        assert_eq!(Token::read(&birth.bytes()), Some(birth));
        for wrong in [
            String::from_utf8_lossy(&bytes).replace("\"seg\":0", "\"seg\": 0"),
            String::from_utf8_lossy(&bytes).replace("\"seg\":0", "\"seg\":-1"),
            String::from_utf8_lossy(&bytes).replace("\"f\":2", "\"f\":2,\"f\":2"),
            String::from_utf8_lossy(&bytes).replace("\"f\":2", "\"f\":2,\"g\":2"),
            String::new(),
        ] {
            assert_eq!(Token::read(wrong.as_bytes()), None, "{wrong}");
        }
        let tag = Hex([1; 32]);
        let file = token.file(&tag);
        let digits = tag.to_string();
        assert_eq!(
            split_file(&file),
            Some((std::str::from_utf8(&bytes).expect("text"), digits.as_str()))
        );
        assert_eq!(file.len(), 512);
        // A reader asks for the two lines; what fills the file up is nothing but line feeds.
        assert_eq!(split_file(b"a\nb\n"), Some(("a", "b")));
        assert_eq!(split_file(b"a\nb\n\n\n"), Some(("a", "b")));
        for wrong in [&b""[..], b"\n", b"a\n", b"a\nb", b"a\nb\nc\n", b"\xff\n\xff\n"] {
            assert_eq!(split_file(wrong), None, "{wrong:?}");
        }
    }
}
