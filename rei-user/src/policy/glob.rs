//! Patterns of paths and words, over bytes: text → [`Glob`] → regular expression.
//!
//! `*` and `?` stand for bytes within one component, `[a-z]` and `[!a-z]` for one byte, `**` for whole components
//! (none included), `\` takes the next character as it is and `\xHH` is any byte. Words (arguments, environment
//! names) have no components: there `*` stands for any bytes.

use std::fmt::Write as _;

/// A pattern. Equal patterns are written the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: String,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    /// `**`: every object, with or without a path.
    Everything,
    /// Begins with a slash.
    Path(Vec<Component>),
    /// Anything else: an object without a path, an abstract socket's name, an argument.
    Word(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Component {
    /// `**`
    Any,
    Name(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    /// `?`
    One,
    /// `*`
    Many,
    Class {
        is_negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

/// A name for a value that is known only once a container is, such as `workdir`, and the value.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a>(pub &'a str, pub Option<&'a [u8]>);

impl Glob {
    /// A pattern of objects: a path, `**`, `@name` of an abstract socket, or the kernel's name of an object without a
    /// path.
    ///
    /// # Errors
    /// In words, if it can never match.
    pub fn object(text: &str) -> Result<Self, String> {
        if text == "**" {
            return Ok(Glob::new(text, Shape::Everything));
        }
        if let Some(rest) = text.strip_prefix('/') {
            return Ok(Glob::new(text, Shape::Path(components(rest)?)));
        }
        if text.starts_with('@') || text.contains(':') {
            return Ok(Glob::new(text, Shape::Word(pieces(text)?)));
        }
        Err(format!(
            "{text:?} can never match: a path begins with `/`; write `/{text}`, `**` for everything, or `${{workdir}}/{text}`"
        ))
    }

    /// A pattern of words.
    ///
    /// # Errors
    /// In words, if it cannot be read.
    pub fn word(text: &str) -> Result<Self, String> {
        Ok(Glob::new(text, Shape::Word(pieces(text)?)))
    }

    fn new(text: &str, shape: Shape) -> Self {
        Glob {
            text: text.to_owned(),
            shape,
        }
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether every object that `other` matches is matched by this one too. `false` where that is not plain.
    #[must_use]
    pub fn covers(&self, other: &Glob) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Everything, _) => true,
            (Shape::Path(own), Shape::Path(others)) => path_covers(own, others),
            (Shape::Word(own), Shape::Word(others)) => name_covers(own, others),
            _ => false,
        }
    }

    /// The regular expression that matches the same bytes, whole.
    #[must_use]
    pub fn regex(&self) -> String {
        let mut out = String::from(r"(?s-u)\A");
        match &self.shape {
            Shape::Everything => out.push_str(".*"),
            Shape::Path(components) => write_path(&mut out, components),
            Shape::Word(pieces) => pieces.iter().for_each(|piece| write_piece(&mut out, piece, ".")),
        }
        out.push_str(r"\z");
        out
    }

    /// Whether the pattern matches these bytes, slowly: for checks at load. Watching uses [`super::paths::PathMatcher`].
    #[must_use]
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match &self.shape {
            Shape::Everything => true,
            Shape::Word(pieces) => pieces_match(pieces, bytes),
            Shape::Path(components) => {
                let Some(rest) = bytes.strip_prefix(b"/") else {
                    return false;
                };
                let names: Vec<&[u8]> = if rest.is_empty() {
                    Vec::new()
                } else {
                    rest.split(|byte| *byte == b'/').collect()
                };
                path_matches(components, &names)
            }
        }
    }

    /// Whether exactly one object is meant.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        let is_plain = |pieces: &[Piece]| pieces.iter().all(|piece| matches!(piece, Piece::Byte(_)));
        match &self.shape {
            Shape::Everything => false,
            Shape::Word(pieces) => is_plain(pieces),
            Shape::Path(components) => components
                .iter()
                .all(|component| matches!(component, Component::Name(pieces) if is_plain(pieces))),
        }
    }

    /// The path that it means, where it means one.
    pub(super) fn literal(&self) -> Option<Vec<u8>> {
        let Shape::Path(components) = &self.shape else {
            return None;
        };
        let mut path = Vec::new();
        for component in components {
            let Component::Name(pieces) = component else {
                return None;
            };
            path.push(b'/');
            for piece in pieces {
                let Piece::Byte(byte) = piece else { return None };
                path.push(*byte);
            }
        }
        Some(path)
    }

    /// Names of variables in `text`, each once.
    pub(crate) fn variables(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> = text
            .match_indices("${")
            .filter_map(|(at, _)| text[at + 2..].split_once('}'))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// `text` with the values of its variables, each taken as it is. `None` if a value is not known.
    pub(super) fn substituted(text: &str, variables: &[Variable<'_>]) -> Option<String> {
        let mut text = text.to_owned();
        for Variable(name, value) in variables {
            let written = format!("${{{name}}}");
            if text.contains(&written) {
                let value = value.as_ref()?;
                text = text.replace(
                    &written,
                    escape(value.strip_suffix(b"/").unwrap_or(value)).as_str(),
                );
            }
        }
        Some(text)
    }
}

/// A literal in the pattern language.
#[must_use]
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'/' | b'.' | b'_' | b'-' | b'@' | b'+' | b'=' | b',' | b':' | b' ' => {
                out.push(char::from(*byte))
            }
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, r"\x{byte:02x}");
            }
        }
    }
    out
}

fn components(rest: &str) -> Result<Vec<Component>, String> {
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let mut parsed = Vec::new();
    for name in split_unescaped(rest) {
        let component = match name {
            "" => {
                return Err(
                    "it can never match: the kernel's paths have no empty component and no slash at the end"
                        .into(),
                );
            }
            "." | ".." => return Err("it can never match: the kernel's paths hold no `.` and no `..`".into()),
            "**" => Component::Any,
            _ if name.contains("**") => {
                return Err("`**` stands for whole components; write `/**` or a single `*`".into());
            }
            _ => Component::Name(pieces(name)?),
        };
        if component != Component::Any || parsed.last() != Some(&Component::Any) {
            parsed.push(component);
        }
    }
    Ok(parsed)
}

/// Splits at slashes; one inside a class is part of it and refused there.
fn split_unescaped(text: &str) -> impl Iterator<Item = &str> {
    text.split('/')
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut parsed = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'*' => {
                if parsed.last() != Some(&Piece::Many) {
                    parsed.push(Piece::Many);
                }
            }
            b'?' => parsed.push(Piece::One),
            b'[' => parsed.push(class(bytes, &mut at)?),
            b'\\' => parsed.push(Piece::Byte(escaped(bytes, &mut at)?)),
            0 => return Err("it can never match: names hold no NUL byte".into()),
            byte => parsed.push(Piece::Byte(*byte)),
        }
    }
    Ok(parsed)
}

fn escaped(bytes: &[u8], at: &mut usize) -> Result<u8, String> {
    let Some(byte) = bytes.get(*at).copied() else {
        return Err(r"it ends with a lone `\`; write `\\` for a backslash".into());
    };
    *at += 1;
    if byte != b'x' {
        return Ok(byte);
    }
    let digits = bytes
        .get(*at..*at + 2)
        .and_then(|digits| std::str::from_utf8(digits).ok());
    let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match value {
        Some(0) => Err("it can never match: names hold no NUL byte".into()),
        Some(b'/') => Err("it can never match: a name holds no slash".into()),
        Some(value) => {
            *at += 2;
            Ok(value)
        }
        None => Err(r"`\x` wants two hexadecimal digits".into()),
    }
}

fn class(bytes: &[u8], at: &mut usize) -> Result<Piece, String> {
    const OPEN: &str = r"`[` begins a class that has no `]`; write `\[` for the bracket itself";
    let is_negated = bytes.get(*at) == Some(&b'!');
    *at += usize::from(is_negated);
    let mut ranges = Vec::new();
    loop {
        let first = match bytes.get(*at) {
            None => return Err(OPEN.into()),
            Some(b']') if !ranges.is_empty() => break,
            Some(b'\\') => {
                *at += 1;
                escaped(bytes, at)?
            }
            Some(byte) => {
                *at += 1;
                *byte
            }
        };
        let is_range = bytes.get(*at) == Some(&b'-') && bytes.get(*at + 1).is_some_and(|byte| *byte != b']');
        let last = if is_range {
            *at += 1;
            match bytes[*at] {
                b'\\' => {
                    *at += 1;
                    escaped(bytes, at)?
                }
                byte => {
                    *at += 1;
                    byte
                }
            }
        } else {
            first
        };
        if first > last {
            return Err(format!(
                "the range {}-{} is the wrong way round",
                char::from(first).escape_default(),
                char::from(last).escape_default()
            ));
        }
        if !first.is_ascii() || !last.is_ascii() {
            return Err(r"a class holds single bytes; write others outside it, or as `\xHH`".into());
        }
        ranges.push((first, last));
    }
    *at += 1;
    Ok(Piece::Class { is_negated, ranges })
}

fn write_path(out: &mut String, components: &[Component]) {
    match components {
        [] => out.push('/'),
        [Component::Any] => out.push_str("(?:/|(?:/[^/]+)+)"),
        components => components.iter().for_each(|component| match component {
            Component::Any => out.push_str("(?:/[^/]+)*"),
            // No component is empty.
            Component::Name(pieces) if *pieces == [Piece::Many] => out.push_str("/[^/]+"),
            Component::Name(pieces) => {
                out.push('/');
                pieces.iter().for_each(|piece| write_piece(out, piece, "[^/]"));
            }
        }),
    }
}

fn write_piece(out: &mut String, piece: &Piece, one: &str) {
    match piece {
        Piece::Byte(byte) => {
            let _ = write!(out, r"\x{byte:02x}");
        }
        Piece::One => out.push_str(one),
        Piece::Many => {
            out.push_str(one);
            out.push('*');
        }
        Piece::Class { is_negated, ranges } => {
            out.push_str(if *is_negated { "[^/" } else { "[" });
            for (first, last) in ranges {
                let _ = write!(out, r"\x{first:02x}-\x{last:02x}");
            }
            out.push(']');
        }
    }
}

fn piece_matches(piece: &Piece, byte: u8) -> bool {
    match piece {
        Piece::Byte(own) => *own == byte,
        Piece::One | Piece::Many => true,
        Piece::Class { is_negated, ranges } => {
            byte != b'/'
                && ranges
                    .iter()
                    .any(|(first, last)| (*first..=*last).contains(&byte))
                    != *is_negated
        }
    }
}

/// Whether a sequence of steps, some of which may take any number of items, takes all of `items`. Linear in the
/// product of both lengths.
fn takes<S, I>(
    steps: &[S],
    items: &[I],
    takes_many: impl Fn(&S) -> bool,
    takes_one: impl Fn(&S, &I) -> bool,
) -> bool {
    let mut reached = vec![false; steps.len() + 1];
    reached[0] = true;
    let skip = |reached: &mut Vec<bool>| {
        for (index, step) in steps.iter().enumerate() {
            if reached[index] && takes_many(step) {
                reached[index + 1] = true;
            }
        }
    };
    skip(&mut reached);
    for item in items {
        let mut next = vec![false; steps.len() + 1];
        for (index, step) in steps.iter().enumerate().filter(|(index, _)| reached[*index]) {
            if takes_many(step) {
                next[index] = true;
            } else if takes_one(step, item) {
                next[index + 1] = true;
            }
        }
        skip(&mut next);
        reached = next;
    }
    reached[steps.len()]
}

fn pieces_match(pieces: &[Piece], bytes: &[u8]) -> bool {
    takes(
        pieces,
        bytes,
        |piece| *piece == Piece::Many,
        |piece, byte| piece_matches(piece, *byte),
    )
}

fn path_matches(components: &[Component], names: &[&[u8]]) -> bool {
    let is_path = names.iter().all(|name| !name.is_empty());
    is_path
        && takes(
            components,
            names,
            |component| *component == Component::Any,
            |component, name| matches!(component, Component::Name(pieces) if pieces_match(pieces, name)),
        )
}

fn path_covers(own: &[Component], others: &[Component]) -> bool {
    takes(
        own,
        others,
        |component| *component == Component::Any,
        |component, other| match (component, other) {
            (Component::Name(own), Component::Name(other)) => name_covers(own, other),
            _ => false,
        },
    )
}

fn name_covers(own: &[Piece], other: &[Piece]) -> bool {
    let bytes: Option<Vec<u8>> = other
        .iter()
        .map(|piece| match piece {
            Piece::Byte(byte) => Some(*byte),
            _ => None,
        })
        .collect();
    own == other || own == [Piece::Many] || bytes.is_some_and(|bytes| pieces_match(own, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern, what it matches, what it does not.
    struct Row(&'static str, &'static [&'static [u8]], &'static [&'static [u8]]);

    const TABLE: [Row; 11] = [
        Row(
            "/etc/hosts",
            &[b"/etc/hosts"],
            &[b"/etc/hosts2", b"/etc", b"etc/hosts", b"/etc/hosts/x"],
        ),
        Row(
            "/out/**",
            &[b"/out", b"/out/a", b"/out/a/b/\xff"],
            &[b"/", b"/outer", b"/output/x"],
        ),
        Row("/**", &[b"/", b"/a", b"/a/b"], &[b"memfd:x", b""]),
        Row("**", &[b"/", b"/a", b"memfd:x", b""], &[]),
        Row(
            "/a/**/z",
            &[b"/a/z", b"/a/b/z", b"/a/b/c/z"],
            &[b"/az", b"/a/b/zz", b"/z"],
        ),
        Row(
            "/tmp/cc*",
            &[b"/tmp/cc", b"/tmp/ccX.s"],
            &[b"/tmp/cc/x", b"/tmp/c"],
        ),
        Row(
            "/d/?[0-9][!a]",
            &[b"/d/x1b", b"/d/\xff9Z"],
            &[b"/d/x1a", b"/d//1b", b"/d/xxb", b"/d/x1/"],
        ),
        Row(r"/w/\*\x2a\xff", &[b"/w/**\xff"], &[b"/w/xx\xff", b"/w/**\xfe"]),
        Row(
            r"pipe:\[*\]",
            &[b"pipe:[12]", b"pipe:[]"],
            &[b"pipe:[12", b"/pipe:[12]"],
        ),
        Row("@db*", &[b"@db", b"@db/x"], &[b"db", b"/@db"]),
        Row("/", &[b"/"], &[b"/x", b""]),
    ];

    #[test]
    fn patterns_match_bytes() {
        for Row(text, matching, others) in TABLE {
            let glob = Glob::object(text).unwrap();
            for bytes in matching {
                assert!(glob.matches(bytes), "{text} {bytes:?}");
            }
            for bytes in others {
                assert!(!glob.matches(bytes), "{text} {bytes:?}");
            }
        }
    }

    #[test]
    fn patterns_that_can_never_match_are_refused() {
        for text in [
            "etc/hosts",
            "",
            "/a//b",
            "/a/",
            "/a/../b",
            "/./a",
            "/a**",
            "/a/b**/c",
            "/a[",
            "/a[]",
            "/a[z-a]",
            r"/a\",
            r"/a\x0",
            r"/a\x00",
            r"/a\x2f",
            "/a\0",
            "*",
        ] {
            assert!(Glob::object(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn covering_is_known_where_it_is_plain() {
        let table = [
            ("**", "/a", true),
            ("/**", "/a/**/b", true),
            ("/a/**", "/a", true),
            ("/a/**", "/a/b/c*", true),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b*", true),
            ("/a/b*", "/a/bc", true),
            ("/a/b*", "/a/*", false),
            ("/a/*", "/a/b/c", false),
            ("/a/**/z", "/a/x/**/z", true),
            ("/a/x/**/z", "/a/**/z", false),
            ("/a", "/b", false),
            ("/a", "**", false),
        ];
        for (wide, narrow, expected) in table {
            let (wide, narrow) = (Glob::object(wide).unwrap(), Glob::object(narrow).unwrap());
            assert_eq!(wide.covers(&narrow), expected, "{wide:?} {narrow:?}");
        }
    }

    #[test]
    fn variables_are_taken_as_they_are() {
        let text = "${workdir}/**";
        assert_eq!(Glob::variables(text), ["workdir"]);
        let variables = [Variable("workdir", Some(b"/a*[x]/"))];
        let substituted = Glob::substituted(text, &variables).unwrap();
        let glob = Glob::object(&substituted).unwrap();
        assert!(glob.matches(b"/a*[x]/y") && !glob.matches(b"/ab[x]/y"));
        assert_eq!(Glob::substituted(text, &[Variable("workdir", None)]), None);
        assert_eq!(
            Glob::substituted("/x", &[Variable("workdir", None)]).as_deref(),
            Some("/x")
        );
        let root = [Variable("workdir", Some(b"/"))];
        assert_eq!(Glob::substituted(text, &root).as_deref(), Some("/**"));
    }

    #[test]
    fn words_have_no_components() {
        let glob = Glob::word("-I*").unwrap();
        assert!(glob.matches(b"-I/usr/include") && !glob.matches(b"-L/x"));
        assert!(Glob::word("LC_*").unwrap().covers(&Glob::word("LC_ALL").unwrap()));
    }
}
