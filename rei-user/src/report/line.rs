//! One JSON object on one line, written key by key.
//!
//! Keys keep their order, so that a person can read the lines. Strings escape everything that does not show
//! as itself: a line can be printed to a terminal. Bytes that are not UTF-8 get a sibling with the exact
//! bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::quote::shows_as_itself;

/// A JSON object that is being written.
#[derive(Debug)]
pub(super) struct Line {
    out: Vec<u8>,
}

impl Line {
    /// An object whose first key is `type`.
    pub(super) fn of_type(name: &str) -> Self {
        let mut line = Line { out: vec![b'{'] };
        line.text("type", name);
        line
    }

    /// The finished line with its newline.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.out.extend_from_slice(b"}\n");
        self.out
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        write_string(&mut self.out, text);
    }

    /// The text, or `null`.
    pub(super) fn optional_text(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(key, text),
            None => self.null(key),
        }
    }

    pub(super) fn number(&mut self, key: &str, number: impl Into<i128>) {
        self.key(key);
        self.out.extend_from_slice(number.into().to_string().as_bytes());
    }

    pub(super) fn boolean(&mut self, key: &str, value: bool) {
        self.key(key);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// `true` if it is so, nothing otherwise.
    pub(super) fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.boolean(key, true);
        }
    }

    pub(super) fn null(&mut self, key: &str) {
        self.key(key);
        self.out.extend_from_slice(b"null");
    }

    /// A string; with a sibling `<key>_b64` where the bytes are not UTF-8.
    pub(super) fn bytes(&mut self, key: &str, bytes: &[u8]) {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(key, text),
            Err(_) => {
                self.text(key, &String::from_utf8_lossy(bytes));
                self.base64(&format!("{key}_b64"), bytes);
            }
        }
    }

    /// The string, or `null`.
    pub(super) fn optional_bytes(&mut self, key: &str, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bytes(key, bytes),
            None => self.null(key),
        }
    }

    pub(super) fn base64(&mut self, key: &str, bytes: &[u8]) {
        self.text(key, &STANDARD.encode(bytes));
    }

    pub(super) fn texts<'a>(&mut self, key: &str, texts: impl IntoIterator<Item = &'a str>) {
        self.array(key, texts, write_string);
    }

    /// Strings; with a sibling array of the same length where any of them is not UTF-8, `null` for those that
    /// are.
    pub(super) fn byte_strings(&mut self, key: &str, strings: &[&[u8]]) {
        self.array(key, strings, |out, bytes| {
            write_string(out, &String::from_utf8_lossy(bytes))
        });
        if strings.iter().all(|bytes| std::str::from_utf8(bytes).is_ok()) {
            return;
        }
        self.array(
            &format!("{key}_b64"),
            strings,
            |out, bytes| match std::str::from_utf8(bytes) {
                Ok(_) => out.extend_from_slice(b"null"),
                Err(_) => write_string(out, &STANDARD.encode(bytes)),
            },
        );
    }

    /// Objects, each written by `write`.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Line, T),
    ) {
        self.array(key, items, |out, item| {
            let mut object = Line { out: vec![b'{'] };
            write(&mut object, item);
            object.out.push(b'}');
            out.extend_from_slice(&object.out);
        });
    }

    /// One object, written by `write`.
    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Line)) {
        self.key(key);
        let mut object = Line { out: vec![b'{'] };
        write(&mut object);
        object.out.push(b'}');
        self.out.extend_from_slice(&object.out);
    }

    fn array<T>(&mut self, key: &str, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) {
        self.key(key);
        self.out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(&mut self.out, item);
        }
        self.out.push(b']');
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        write_string(&mut self.out, key);
        self.out.push(b':');
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\r' => out.extend_from_slice(b"\\r"),
            // The mark of bytes that are not UTF-8 shows as itself; so do all plain characters.
            _ if shows_as_itself(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_line_is_json_with_keys_in_order() {
        let mut line = Line::of_type("x");
        line.number("n", u64::MAX);
        line.number("i", -1);
        line.flag("yes", true);
        line.flag("no", false);
        line.null("nothing");
        line.texts("list", ["a", "b"]);
        line.texts("empty", []);
        line.objects("objects", [1, 2], |object, number| object.number("k", number));
        line.object("object", |object| object.boolean("k", false));
        let text = String::from_utf8(line.end()).unwrap();
        assert_eq!(
            text,
            "{\"type\":\"x\",\"n\":18446744073709551615,\"i\":-1,\"yes\":true,\"nothing\":null,\
             \"list\":[\"a\",\"b\"],\"empty\":[],\"objects\":[{\"k\":1},{\"k\":2}],\"object\":{\"k\":false}}\n"
        );
    }

    #[test]
    fn every_character_survives_and_none_moves_the_cursor() {
        let text: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        let mut line = Line::of_type("x");
        line.text("all", &text);
        let bytes = line.end();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["all"], json!(text));
        let printed = String::from_utf8(bytes).unwrap();
        assert!(printed.trim_end_matches('\n').chars().all(shows_as_itself));
    }

    #[test]
    fn bytes_that_are_no_text_survive() {
        let mut line = Line::of_type("x");
        line.bytes("plain", b"/etc");
        line.bytes("path", b"/\xff");
        line.byte_strings("argv", &[b"a", b"\xfe"]);
        line.byte_strings("names", &[b"a"]);
        line.optional_bytes("none", None);
        let value: Value = serde_json::from_slice(&line.end()).unwrap();
        let expected = json!({
            "type": "x", "plain": "/etc", "path": "/\u{fffd}", "path_b64": "L/8=",
            "argv": ["a", "\u{fffd}"], "argv_b64": [null, "/g=="], "names": ["a"], "none": null,
        });
        assert_eq!(value, expected);
    }
}
