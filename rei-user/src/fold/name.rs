//! Names that fit into a line. What is longer is cut, and says how long it was and what it hashes to.
//!
//! A cut depends on the bytes and the limit alone, and what was cut once is not cut again: an event that was
//! read back from a log gives the same names as the event that was written.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use crate::format::{Base64, Count, Hash, Hex, Shortened, Text, Word, join, split};

/// Most bytes that a name (path, address, argument text) takes in a line. A path of `PATH_MAX` fits, in
/// base64 too; the five names and two lists of an exec together leave room for everything else of its line.
pub(super) const NAME_BYTES_MAX: usize = 6 << 10;
/// Most bytes that a list of words takes in a line: all that the kernel side reports, unless it is made of
/// very many very short words, or of control characters.
pub(super) const LIST_BYTES_MAX: usize = 8 << 10;
/// What a word of a list takes beside its bytes, at most: `{"b64":"===="},` without the bytes.
const WORD_BYTES: usize = 16;
/// What stands for the rest of a text.
const REST: char = '…';

/// Bytes are counted in thirds: base64 makes four of three.
const THIRDS: usize = 3;

/// What a byte takes in a line at most, in thirds of a byte, whether its string is written as text or in
/// base64.
const fn cost(byte: u8) -> usize {
    match byte {
        // `\u0001`
        0..=0x1f => 6 * THIRDS,
        b'"' | b'\\' => 2 * THIRDS,
        _ => 4,
    }
}

/// The longest beginning that takes no more than `max_bytes` in a line, without half a character at its end;
/// all of the bytes if they fit.
fn beginning(bytes: &[u8], max_bytes: usize) -> &[u8] {
    let mut left = max_bytes * THIRDS;
    if bytes.len() * cost(0) <= left {
        return bytes;
    }
    for (index, byte) in bytes.iter().enumerate() {
        match left.checked_sub(cost(*byte)) {
            Some(rest) => left = rest,
            None => return whole_characters(&bytes[..index]),
        }
    }
    bytes
}

/// Without the bytes of a UTF-8 sequence that ends too early.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    for (index, byte) in bytes.iter().enumerate().rev().take(3) {
        let len = match byte {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if index + len > bytes.len() {
            &bytes[..index]
        } else {
            bytes
        };
    }
    bytes
}

/// What a name was before it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Whole {
    len_bytes: Count,
    sha256: Hash,
}

impl Whole {
    fn of(bytes: &[u8]) -> Self {
        Whole {
            len_bytes: Count::new(bytes.len() as u64),
            sha256: Hex(Sha256::digest(bytes).into()),
        }
    }

    fn named(self, field: &str) -> Shortened {
        Shortened {
            field: field.to_owned(),
            len: self.len_bytes,
            sha256: self.sha256,
        }
    }
}

/// A name as it stands in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name<'a> {
    bytes: &'a [u8],
    whole: Option<Whole>,
}

impl<'a> Name<'a> {
    /// Cuts what does not fit.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let kept = beginning(bytes, NAME_BYTES_MAX);
        Name {
            bytes: kept,
            whole: (kept.len() < bytes.len()).then(|| Whole::of(bytes)),
        }
    }

    /// As it stands in a line: text or base64, and possibly cut there already. `None` if neither is there.
    pub(super) fn written(
        text: Option<&'a Text>,
        base64: Option<&'a Base64>,
        field: &str,
        shortened: &[Shortened],
    ) -> Option<Self> {
        let name = Name::new(join(text, base64)?);
        let before = shortened.iter().find(|entry| entry.field == field);
        Some(Name {
            whole: before
                .map(|entry| Whole {
                    len_bytes: entry.len,
                    sha256: entry.sha256,
                })
                .or(name.whole),
            ..name
        })
    }

    /// The bytes that are left.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// For the two fields `x` and `x_b64`; what was cut is added to `shortened` under the name of the field.
    pub(super) fn put(self, field: &str, shortened: &mut Vec<Shortened>) -> (Option<Text>, Option<Base64>) {
        shortened.extend(self.whole.map(|whole| whole.named(field)));
        split(self.bytes)
    }

    pub(super) fn to_owned(self) -> NameBuf {
        NameBuf {
            bytes: self.bytes.into(),
            whole: self.whole,
        }
    }
}

/// [`Name::put`] of a name that may be unknown: then neither field is there.
pub(super) fn put_known(
    name: Option<Name<'_>>,
    field: &str,
    shortened: &mut Vec<Shortened>,
) -> (Option<Text>, Option<Base64>) {
    name.map_or((None, None), |name| name.put(field, shortened))
}

/// A [`Name`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NameBuf {
    bytes: Box<[u8]>,
    whole: Option<Whole>,
}

impl NameBuf {
    pub(super) fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn as_name(&self) -> Name<'_> {
        Name {
            bytes: &self.bytes,
            whole: self.whole,
        }
    }
}

/// The words of a list that fit into a line, the last of them possibly cut.
pub(super) fn words(list: &[&[u8]], field: &str, shortened: &mut Vec<Shortened>) -> Vec<Word> {
    let mut left = LIST_BYTES_MAX;
    let mut words = Vec::with_capacity(list.len());
    for word in list {
        let Some(room) = left.checked_sub(WORD_BYTES) else {
            break;
        };
        let kept = beginning(word, room);
        words.push(Word::new(kept));
        left = room.saturating_sub(kept.iter().copied().map(cost).sum::<usize>().div_ceil(THIRDS));
        if kept.len() < word.len() {
            break;
        }
    }
    let is_whole = words.len() == list.len() && words.last().map(Word::bytes) == list.last().copied();
    if !is_whole {
        let whole: Vec<u8> = list.iter().flat_map(|word| [*word, b"\0"].concat()).collect();
        shortened.push(Whole::of(&whole).named(field));
    }
    words
}

/// A text of rei, of the policy or of the engine: one that takes more than `max_bytes` in a line is cut and
/// ends in `…`.
pub(super) fn brief(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if beginning(text.as_bytes(), max_bytes).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let room = max_bytes.saturating_sub(2 * REST.len_utf8());
    let kept = beginning(text.as_bytes(), room).len();
    let mut short = text.get(..kept).unwrap_or_default().to_owned();
    short.push(REST);
    Cow::Owned(short)
}

/// Bytes of which only a beginning is kept, without regard to how they are written.
pub(super) fn cut<'a>(
    bytes: &'a [u8],
    max_bytes: usize,
    field: &str,
    shortened: &mut Vec<Shortened>,
) -> &'a [u8] {
    if bytes.len() <= max_bytes {
        return bytes;
    }
    shortened.push(Whole::of(bytes).named(field));
    &bytes[..max_bytes]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of every sort, longer than any limit.
    fn long_names() -> Vec<Vec<u8>> {
        let patterns: [&[u8]; 7] = [
            b"/plain/ascii",
            b"\x01",
            b"\"\\",
            "/ü€🦀".as_bytes(),
            b"\xff/\xc3",
            b"/almost text\xc3",
            b"\0",
        ];
        let long = |pattern: &[u8]| pattern.iter().copied().cycle().take(40_000).collect();
        let mut names: Vec<Vec<u8>> = patterns.iter().map(|pattern| long(pattern)).collect();
        // Text up to the place where it is cut, and none beyond.
        let mut late = long(b"a");
        late[30_000] = 0xff;
        names.push(late);
        names
    }

    fn written_bytes(name: Name<'_>) -> usize {
        let (text, base64) = split(name.bytes());
        let json = match (text, base64) {
            (Some(text), _) => serde_json::to_string(&text),
            (None, base64) => serde_json::to_string(&base64),
        };
        json.expect("plain data").len()
    }

    #[test]
    fn a_long_name_fits_and_says_what_it_was() {
        for bytes in long_names() {
            let name = Name::new(&bytes);
            // The quotes, and base64's padding.
            assert!(
                written_bytes(name) <= NAME_BYTES_MAX + 6,
                "{}",
                written_bytes(name)
            );
            assert!(bytes.starts_with(name.bytes()) && name.bytes().len() > 1_000);
            let mut shortened = Vec::new();
            let _ = name.put("path", &mut shortened);
            assert_eq!(shortened.len(), 1);
            assert_eq!(shortened[0].len.value(), 40_000);
            assert_eq!(shortened[0].sha256.0, <[u8; 32]>::from(Sha256::digest(&bytes)));
        }
    }

    #[test]
    fn a_path_of_the_kernels_longest_is_whole() {
        let path = [b"/".as_slice(), &[b'x'; 4094]].concat();
        assert_eq!(
            Name::new(&path),
            Name {
                bytes: &path,
                whole: None
            }
        );
        let path = [b"/".as_slice(), &[0xff; 4094]].concat();
        assert_eq!(
            Name::new(&path),
            Name {
                bytes: &path,
                whole: None
            }
        );
    }

    #[test]
    fn what_was_cut_once_is_not_cut_again() {
        for bytes in long_names() {
            let name = Name::new(&bytes);
            let mut shortened = Vec::new();
            let (text, base64) = name.put("path", &mut shortened);
            let again = Name::written(text.as_ref(), base64.as_ref(), "path", &shortened);
            assert_eq!(again, Some(name));
            assert_eq!(name.to_owned().as_name(), name);
        }
    }

    #[test]
    fn text_is_not_cut_inside_a_character() {
        for before in 0..6 {
            let text = format!("{}{}", "a".repeat(before), "🦀".repeat(4_000));
            let name = Name::new(text.as_bytes());
            assert!(std::str::from_utf8(name.bytes()).is_ok() && name.whole.is_some());
            assert!(brief(&text, 100).len() <= 100);
        }
    }

    #[test]
    fn a_list_keeps_the_words_that_fit() {
        let list: [&[u8]; 3] = [b"sh", b"-c", b"true"];
        let mut shortened = Vec::new();
        let kept = words(&list, "argv", &mut shortened);
        assert_eq!(kept.iter().map(Word::bytes).collect::<Vec<_>>(), list);
        assert!(shortened.is_empty());

        let long = vec![b'x'; 9_000];
        let all: [&[u8]; 3] = [b"sh", &long, b"last"];
        let kept = words(&all, "argv", &mut shortened);
        assert_eq!(kept.len(), 2);
        assert!(long.starts_with(kept[1].bytes()) && kept[1].bytes().len() > 6_000);
        let whole = [b"sh\0", long.as_slice(), b"\0last\0"].concat();
        assert_eq!(shortened, [Whole::of(&whole).named("argv")]);
        let again: Vec<&[u8]> = kept.iter().map(Word::bytes).collect();
        let mut nothing = Vec::new();
        assert_eq!(words(&again, "argv", &mut nothing), kept);
        assert!(nothing.is_empty());

        for word in [&b""[..], b"\xff", b"a", b"\x01"] {
            let list = vec![word; 10_000];
            let kept = words(&list, "argv", &mut shortened);
            let len = serde_json::to_string(&kept).expect("plain data").len();
            assert!(len <= LIST_BYTES_MAX + 2, "{len}");
        }
    }

    #[test]
    fn a_long_text_is_brief_once() {
        let text = "why\n".repeat(1_000);
        let short = brief(&text, 500);
        assert!(short.ends_with('…') && serde_json::to_string(&short).expect("text").len() <= 502);
        assert_eq!(brief(&short, 500), short);
        assert_eq!(brief("short", 500), "short");
    }
}
