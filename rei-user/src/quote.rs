//! Untrusted bytes (paths, argv, names) made harmless for a terminal, and reversible.
//!
//! What a container names its files is chosen by the container. Printed as it is, a name can move the cursor,
//! forge a line, hide itself or turn text around. A token that is plain is printed as it is; any other is put
//! in double quotes with escapes: `\n`, `\t`, `\r`, `\"`, `\\`, `\xNN` for a byte that is a control character
//! or no UTF-8, `\u{N}` for a character that does not show as itself. A printed token that starts with `"` is
//! always a quoted one.

use std::fmt::{self, Write as _};

/// Puts `bytes` between a container and a terminal: `Display` prints them harmless.
#[must_use]
pub fn quote(bytes: &[u8]) -> Quoted<'_> {
    Quoted { bytes }
}

/// See [`quote`].
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a> {
    bytes: &'a [u8],
}

/// Like [`quote`], at most `columns` wide: the middle of a longer token is replaced by `…`.
///
/// The result of a shortened token cannot be turned back; it is for reading only.
#[must_use]
pub fn shorten(bytes: &[u8], columns: usize) -> String {
    let whole = quote(bytes).to_string();
    if width(&whole) <= columns {
        return whole;
    }
    let keep = columns.saturating_sub(1);
    let head = take_columns(whole.chars(), keep / 3);
    let tail: String = take_columns(whole.chars().rev(), keep - keep / 3)
        .chars()
        .rev()
        .collect();
    format!("{head}…{tail}")
}

/// Whether `character` shows as itself: it takes a place of its own, moves nothing and hides nothing.
///
/// The standard library's `escape_debug` knows control, format, separator, private, unassigned and combining
/// characters. Some letters and symbols are blank all the same and are named here.
#[must_use]
pub fn shows_as_itself(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    let is_blank = matches!(
        character,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    );
    !is_blank && character.escape_debug().count() == 1
}

/// Columns that `text` takes on a terminal, at most: characters beyond ASCII may be two columns wide.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(character: char) -> usize {
    if character.is_ascii() || character == '…' {
        1
    } else {
        2
    }
}

fn take_columns(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += columns_of(*character);
            used <= columns
        })
        .collect()
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Ok(text) = std::str::from_utf8(self.bytes)
            && is_plain(text)
        {
            return out.write_str(text);
        }
        out.write_char('"')?;
        for chunk in self.bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                write_escaped(character, out)?;
            }
            for byte in chunk.invalid() {
                write!(out, "\\x{byte:02x}")?;
            }
        }
        out.write_char('"')
    }
}

/// A token without white space, quotes and escapes needs no quotes of its own.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|character| shows_as_itself(character) && !matches!(character, ' ' | '"' | '\\' | '…'))
}

fn write_escaped(character: char, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    match character {
        '\n' => out.write_str("\\n"),
        '\t' => out.write_str("\\t"),
        '\r' => out.write_str("\\r"),
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        _ if character.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(character)),
        // Our own mark for "shortened" must not be forged.
        '…' => write!(out, "\\u{{{:x}}}", u32::from(character)),
        _ if shows_as_itself(character) => out.write_char(character),
        _ => write!(out, "\\u{{{:x}}}", u32::from(character)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns a printed token back into its bytes.
    fn unquote(token: &str) -> Vec<u8> {
        let Some(inner) = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
            return token.as_bytes().to_vec();
        };
        let mut bytes = Vec::new();
        let mut rest = inner.chars();
        while let Some(character) = rest.next() {
            if character != '\\' {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            match rest.next().unwrap() {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                'r' => bytes.push(b'\r'),
                'x' => {
                    let digits: String = rest.by_ref().take(2).collect();
                    bytes.push(u8::from_str_radix(&digits, 16).unwrap());
                }
                'u' => {
                    let digits: String = rest.by_ref().skip(1).take_while(|digit| *digit != '}').collect();
                    let number = u32::from_str_radix(&digits, 16).unwrap();
                    let character = char::from_u32(number).unwrap();
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes
    }

    #[test]
    fn plain_tokens_stay() {
        for token in [
            "/etc/passwd",
            "memfd:x",
            "pipe:[12]",
            "/srv/größe/日本",
            "it's",
            "a=b",
        ] {
            assert_eq!(quote(token.as_bytes()).to_string(), token);
        }
    }

    #[test]
    fn anything_that_moves_or_hides_is_escaped() {
        let table: [(&[u8], &str); 14] = [
            (b"", r#""""#),
            (b"a b", r#""a b""#),
            (b"a\nb", r#""a\nb""#),
            (b"a\x1b[2J", r#""a\x1b[2J""#),
            (b"\x7f", r#""\x7f""#),
            (b"\xff\xfe/x", r#""\xff\xfe/x""#),
            (b"say \"hi\"", r#""say \"hi\"""#),
            (br"a\b", r#""a\\b""#),
            ("\u{202e}gpj".as_bytes(), r#""\u{202e}gpj""#),
            ("a\u{200b}b".as_bytes(), r#""a\u{200b}b""#),
            ("\u{9b}2J".as_bytes(), r#""\u{9b}2J""#),
            ("a\u{a0}b".as_bytes(), r#""a\u{a0}b""#),
            ("e\u{301}".as_bytes(), r#""e\u{301}""#),
            ("\u{3164}\u{2800}…".as_bytes(), r#""\u{3164}\u{2800}\u{2026}""#),
        ];
        for (bytes, expected) in table {
            assert_eq!(quote(bytes).to_string(), expected);
        }
    }

    #[test]
    fn every_character_and_byte_comes_back() {
        for byte in 0..=u8::MAX {
            assert_eq!(unquote(&quote(&[b'/', byte]).to_string()), [b'/', byte]);
        }
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = character.to_string();
            let printed = quote(text.as_bytes()).to_string();
            assert_eq!(unquote(&printed), text.as_bytes());
            assert!(printed.chars().all(shows_as_itself), "{printed:?}");
        }
    }

    #[test]
    fn shortened_tokens_fit() {
        assert_eq!(shorten(b"/etc/passwd", 11), "/etc/passwd");
        assert_eq!(shorten(b"/etc/passwd", 10), "/et…passwd");
        for columns in 1..60 {
            for text in [
                "/a/very/long/path/with/many/parts/in/it",
                "/日本/日本/日本/日本/日本",
                "a\nb\nc\nd\ne\nf\ng\nh",
            ] {
                assert!(width(&shorten(text.as_bytes(), columns)) <= columns);
            }
        }
    }
}
