//! Patterns over bytes: globs and regular expressions, compiled once, with limits on size.
//!
//! Both work on bytes, so that a name that is not UTF-8 cannot slip past `*` or `.`, and `.` includes line ends.
//! A glob is translated to a regular expression, so that there is one engine: it takes time linear in the text.

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// Longest pattern: far beyond any path (4096 bytes is the kernel's limit for one).
const PATTERN_BYTES_MAX: usize = 8192;
/// Largest compiled form of one pattern. `[a-z]{1,1000}` takes about 100 KB; nested counts are what this stops.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of groups in one pattern.
const NESTING_MAX: u32 = 64;

/// Compiles a regular expression. It matches anywhere in the text unless it is anchored (`^`, `$`).
///
/// # Errors
/// If it is no regular expression, or too large; the text says which.
pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!(
            "the pattern is longer than {PATTERN_BYTES_MAX} bytes; shorten it"
        ));
    }
    let syntax = syntax::Config::new()
        .unicode(false)
        .utf8(false)
        .dot_matches_new_line(true)
        .nest_limit(NESTING_MAX);
    let limits = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX))
        .onepass_size_limit(Some(COMPILED_BYTES_MAX));
    Regex::builder()
        .configure(limits)
        .syntax(syntax)
        .build(pattern)
        .map_err(|error| match error.syntax_error() {
            Some(error) => last_line(&error.to_string()),
            None if error.size_limit().is_some() => {
                format!("the pattern takes more than {COMPILED_BYTES_MAX} bytes when compiled; make its counts smaller")
            }
            None => error.to_string(),
        })
}

/// The parser's message ends with one line that says it all.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or(message);
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Translates a glob to a regular expression that matches the whole text.
///
/// Of a path (it begins with `/`): `*` any bytes but `/`, `?` one byte but `/`, `[a-z]` and `[!a-z]` one byte of a
/// class, `**` whole components, none included. Of anything else, which has no components, `*` any bytes. `\` takes
/// the next character as it is.
///
/// # Errors
/// If it is no glob; the text says why.
fn glob_to_regex(glob: &str) -> Result<String, String> {
    let mut out = String::from("^");
    match glob.strip_prefix('/') {
        _ if glob == "**" => out.push_str(".*"),
        None => push_pieces(glob, ".", &mut out)?,
        Some("**") => out.push_str("(?:/|(?:/[^/]+)+)"),
        Some(path) => {
            for component in path.split('/') {
                match component {
                    "**" => out.push_str("(?:/[^/]+)*"),
                    _ if component.contains("**") => {
                        return Err(
                            "`**` must stand alone between slashes; write `/**` or a single `*`".to_owned(),
                        );
                    }
                    _ => {
                        out.push('/');
                        push_pieces(component, "[^/]", &mut out)?;
                    }
                }
            }
        }
    }
    out.push('$');
    Ok(out)
}

/// `one` stands for the bytes that `?` and `*` take.
fn push_pieces(text: &str, one: &str, out: &mut String) -> Result<(), String> {
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '*' => {
                out.push_str(one);
                out.push('*');
            }
            '?' => out.push_str(one),
            '[' => push_class(&mut rest, out)?,
            '\\' => push_literal(rest.next().ok_or("`\\` at the end has nothing to escape")?, out),
            _ => push_literal(character, out),
        }
    }
    Ok(())
}

/// Compiles a glob.
///
/// # Errors
/// If it is no glob, or too large; the text says which.
pub(super) fn glob(glob: &str) -> Result<Regex, String> {
    if glob.len() > PATTERN_BYTES_MAX / 8 {
        return Err(format!(
            "the glob is longer than {} bytes; shorten it",
            PATTERN_BYTES_MAX / 8
        ));
    }
    regex(&glob_to_regex(glob)?)
}

fn push_class(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) -> Result<(), String> {
    out.push_str(if rest.next_if(|next| matches!(next, '!' | '^')).is_some() {
        "[[^"
    } else {
        "[["
    });
    let mut is_first = true;
    loop {
        let character = match rest.next() {
            None => return Err("`[` has no `]`".to_owned()),
            Some(']') if !is_first => break,
            Some('\\') => rest.next().ok_or("`\\` at the end has nothing to escape")?,
            Some('-') if !is_first && rest.peek() != Some(&']') => {
                out.push('-');
                continue;
            }
            Some(character) => character,
        };
        if !character.is_ascii() {
            return Err(format!(
                "`{character}` is more than one byte; a class holds single bytes"
            ));
        }
        push_literal(character, out);
        is_first = false;
    }
    out.push_str("]&&[^/]]");
    Ok(())
}

/// A character that stands for itself. Whatever could mean something is written as a byte.
fn push_literal(character: char, out: &mut String) {
    if character.is_ascii() && !character.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{:02x}", u32::from(character)));
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: impl AsRef<[u8]>) -> bool {
        glob(pattern).unwrap().is_match(text.as_ref())
    }

    #[test]
    fn globs() {
        let table: [(&str, &str, bool); 29] = [
            ("/etc/*", "/etc/passwd", true),
            ("/etc/*", "/etc/ssl/cert", false),
            ("/etc/*", "/etc", false),
            ("/etc/**", "/etc/ssl/cert", true),
            ("/etc/**", "/etc", true),
            ("/etc/**", "/etcetera", false),
            ("/**/x", "/a/b/x", true),
            ("/**/x", "/x", true),
            ("/**/x", "/a/bx", false),
            ("/**", "/", true),
            ("*.txt", "a/b.txt", true),
            ("**", "anything/at all", true),
            ("/a/**/b", "/a/b", true),
            ("/a/**/b", "/a/c/d/b", true),
            ("/a/**/b", "/ab", false),
            ("**", "/any/thing", true),
            ("/dev/ttyUSB?", "/dev/ttyUSB0", true),
            ("/dev/ttyUSB?", "/dev/ttyUSB10", false),
            ("/a?b", "/a/b", false),
            ("/[a-c]x", "/bx", true),
            ("/[!a-c]x", "/bx", false),
            ("/[!a-c]x", "/dx", true),
            ("/a[!b]c", "/a/c", false),
            ("/a[]-]c", "/a-c", true),
            ("/a[]-]c", "/a]c", true),
            (r"/a\*c", "/a*c", true),
            (r"/a\*c", "/abc", false),
            ("/a.c", "/abc", false),
            ("/größe/*", "/größe/日本", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(matches("/a/*", b"/a/\xff\n\xfe") && matches("/a/?", b"/a/\xff"));
        assert!(matches("/a/**", b"/a/\n/\xff"));
    }

    #[test]
    fn globs_that_are_none() {
        for (bad, why) in [
            ("/a**", "stand alone"),
            ("/a/**b", "stand alone"),
            ("/a/***", "stand alone"),
            ("/[a", "no `]`"),
            ("/[", "no `]`"),
            ("/[]", "no `]`"),
            ("/[ä]", "single bytes"),
            ("/a\\", "nothing to escape"),
            ("/[z-a]", "invalid"),
        ] {
            let error = glob(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn regexes_work_on_bytes_and_have_limits() {
        assert!(regex("^/a/.*z$").unwrap().is_match(b"/a/\xff\nz"));
        assert!(regex("日本").unwrap().is_match("/日本/".as_bytes()));
        for (bad, why) in [
            ("(", "unclosed group"),
            ("a{1,1000}{1,1000}", "counts smaller"),
            (r"\p{Greek}", "Unicode"),
            (&format!("{}{}", "(".repeat(100), ")".repeat(100)), "nest"),
            (&"a".repeat(PATTERN_BYTES_MAX + 1), "longer"),
        ] {
            let error = regex(bad).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{bad}: {error}");
        }
    }
}
