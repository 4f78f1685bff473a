//! Patterns of paths and words, over bytes: text → [`Glob`] → regular expression.
//!
//! `*` and `?` stand for bytes within one component, `[a-z]` and `[!a-z]` for one byte, `**` for whole components
//! (none included), `\` takes the next character as it is and `\xHH` is any byte. Words (arguments, environment
//! names) have no components: there `*` stands for any bytes.

use std::fmt::Write as _;

pub use self::pattern::Pattern;

use self::name::{Name, takes};

mod name;
mod pattern;

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
    Word(Name),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Component {
    /// `**`
    Any,
    Name(Name),
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
            return Ok(Glob::new(text, Shape::Word(Name::parse(text)?)));
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
        Ok(Glob::new(text, Shape::Word(Name::parse(text)?)))
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
            (Shape::Word(own), Shape::Word(other)) => own.covers(other),
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
            Shape::Word(word) => word.write_regex(&mut out, "."),
        }
        out.push_str(r"\z");
        out
    }

    /// Whether the pattern matches these bytes, slowly: for checks at load. Watching uses [`crate::paths::PathMatcher`].
    #[must_use]
    pub fn matches(&self, bytes: &[u8]) -> bool {
        match &self.shape {
            Shape::Everything => true,
            Shape::Word(word) => word.matches(bytes),
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
        match &self.shape {
            Shape::Everything => false,
            Shape::Word(word) => word.is_literal(),
            Shape::Path(components) => components
                .iter()
                .all(|component| matches!(component, Component::Name(name) if name.is_literal())),
        }
    }

    /// The path that it means, where it means one.
    pub(crate) fn literal(&self) -> Option<Vec<u8>> {
        let Shape::Path(components) = &self.shape else {
            return None;
        };
        let mut path = Vec::new();
        for component in components {
            let Component::Name(name) = component else {
                return None;
            };
            path.push(b'/');
            path.extend(name.literal()?);
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
    pub(crate) fn substituted(text: &str, variables: &[Variable<'_>]) -> Option<String> {
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
fn escape(bytes: &[u8]) -> String {
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
    // A slash inside a class ends the name all the same, and the class is refused for want of its end.
    for name in rest.split('/') {
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
            _ => Component::Name(Name::parse(name)?),
        };
        if component != Component::Any || parsed.last() != Some(&Component::Any) {
            parsed.push(component);
        }
    }
    Ok(parsed)
}

fn write_path(out: &mut String, components: &[Component]) {
    match components {
        [] => out.push('/'),
        [Component::Any] => out.push_str("(?:/|(?:/[^/]+)+)"),
        components => components.iter().for_each(|component| match component {
            Component::Any => out.push_str("(?:/[^/]+)*"),
            // No component is empty.
            Component::Name(name) if name.is_anything() => out.push_str("/[^/]+"),
            Component::Name(name) => {
                out.push('/');
                name.write_regex(out, "[^/]");
            }
        }),
    }
}

fn path_matches(components: &[Component], names: &[&[u8]]) -> bool {
    let is_path = names.iter().all(|name| !name.is_empty());
    is_path
        && takes(
            components,
            names,
            |component| *component == Component::Any,
            |component, name| matches!(component, Component::Name(own) if own.matches(name)),
        )
}

fn path_covers(own: &[Component], others: &[Component]) -> bool {
    takes(
        own,
        others,
        |component| *component == Component::Any,
        |component, other| match (component, other) {
            (Component::Name(own), Component::Name(other)) => own.covers(other),
            _ => false,
        },
    )
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
