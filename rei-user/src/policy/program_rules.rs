//! The list `programs` of a policy file.

use crate::glob::Pattern;
use crate::glob::{Glob, Variable};
use crate::policy::document::{Reader, Value};
use crate::policy::read::{checked, default_name, item_words, rule_name_of};
use crate::policy::rule::{Program, ProgramName, Rule};

/// Origins that a program rule can name.
const ORIGINS: [&str; 11] = [
    "image", "upper", "bind", "volume", "tmpfs", "memfd", "engine", "host", "dev", "unknown", "any",
];

/// `"/usr/bin/as"`, `"as"`, or a table with `path`, `argv`, `sha256`, `origins`.
pub(super) fn rule(reader: &mut Reader<'_>, value: &Value<'_>, key: &'static str) -> Option<Rule<Program>> {
    if let Some(text) = value.get_ref().as_str() {
        return Some(Rule {
            name: default_name(key, text),
            what: Program {
                name: checked(reader, value, program_name(text))?,
                argv: None,
                sha256: None,
                origins: Vec::new(),
            },
        });
    }
    let (mut rule_name, mut path, mut argv, mut sha256, mut origins) = (None, None, None, None, None);
    for (field, value) in reader.table(value, &item_words(key))? {
        match field.get_ref().as_ref() {
            "name" => rule_name = rule_name_of(reader, value),
            "path" => path = reader.string(value, "`path`").map(|text| (text, value)),
            "argv" => argv = Some(argument_list(reader, value)),
            "sha256" => sha256 = digest(reader, value).map(|digest| (digest, value)),
            "origins" => origins = Some((origin_list(reader, value), value)),
            _ => reader.unknown_key(
                field,
                &item_words(key),
                &["name", "path", "argv", "sha256", "origins"],
            ),
        }
    }
    let Some((text, at)) = path else {
        reader.problem(&value.span(), "an entry of `programs` has no `path`");
        return None;
    };
    let name = checked(reader, at, program_name(text))?;
    let (origins, origins_at) = origins.unwrap_or((Vec::new(), value));
    let what = Program {
        name,
        argv,
        sha256: sha256.map(|(digest, _)| digest),
        origins,
    };
    check_reading(reader, &what, origins_at, sha256.map_or(value, |(_, at)| at));
    Some(Rule {
        name: rule_name.unwrap_or_else(|| default_name(key, text)),
        what,
    })
}

/// What rei has to find and read when the run starts must be one file of the image.
fn check_reading(reader: &mut Reader<'_>, what: &Program, origins_at: &Value<'_>, sha256_at: &Value<'_>) {
    let is_elsewhere = |origin: &String| !matches!(origin.as_str(), "image" | "host");
    let is_elsewhere = what.origins.iter().any(is_elsewhere);
    if is_elsewhere && matches!(what.name, ProgramName::Command(_)) {
        let message = "a bare name is looked up in the image alone; for other `origins` write the path";
        reader.problem(&origins_at.span(), message);
    }
    if what.sha256.is_none() {
        return;
    }
    if is_elsewhere {
        let message = "it can never match: rei reads files of the image (for a plain command, of the host) for \
                       their SHA-256; leave `origins` out";
        reader.problem(&origins_at.span(), message);
    }
    if what.literal(&[Variable("workdir", Some(b"/x"))]).is_none() {
        let message = "it can never match: a SHA-256 is that of one file, which is read when the run starts; write \
                       its whole path, without wildcards and ${entrypoint}";
        reader.problem(&sha256_at.span(), message);
    }
}

pub(super) fn program_name(text: &str) -> Result<ProgramName, String> {
    if text.starts_with(['/', '$']) || text == "**" || text.starts_with("memfd:") {
        return Pattern::parse(text).map(ProgramName::Path);
    }
    if text.is_empty() || text.contains(['/', '*', '?', '[', '\\', '\0']) {
        return Err(format!(
            "{text:?} can never match: a program is named by its whole path, or by a bare name that is looked up in \
             PATH; in a path, `*`, `?` and `[a-z]` are wildcards, in a bare name nothing is"
        ));
    }
    Ok(ProgramName::Command(text.to_owned()))
}

fn argument_list(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<Glob> {
    let Some(items) = reader.array(value, "`argv`") else {
        return Vec::new();
    };
    let last = items.iter().count().saturating_sub(1);
    let mut patterns = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(text) = reader.string(item, "a pattern of `argv`") else {
            continue;
        };
        if text == "**" && index < last {
            reader.problem(
                &item.span(),
                "`**` stands for all further arguments, so it comes last",
            );
        }
        patterns.extend(checked(reader, item, Glob::word(text)));
    }
    patterns
}

fn digest(reader: &mut Reader<'_>, value: &Value<'_>) -> Option<[u8; 32]> {
    let text = reader.string(value, "`sha256`")?;
    let digits: Option<Vec<u8>> = (0..text.len() / 2)
        .map(|index| text.get(index * 2..index * 2 + 2))
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect();
    let digest = digits
        .filter(|_| text.len() == 64)
        .and_then(|bytes| bytes.try_into().ok());
    if digest.is_none() {
        reader.problem(
            &value.span(),
            "`sha256` is 64 hexadecimal digits, as `sha256sum FILE` prints them",
        );
    }
    digest
}

fn origin_list(reader: &mut Reader<'_>, value: &Value<'_>) -> Vec<String> {
    let Some(items) = reader.array(value, "`origins`") else {
        return Vec::new();
    };
    if items.iter().next().is_none() {
        reader.problem(
            &value.span(),
            "it can never match: `origins` is empty; leave it out for the image alone",
        );
    }
    let words = ORIGINS.map(|origin| (origin, origin));
    items
        .iter()
        .filter_map(|item| reader.word(item, "an origin", &words).map(str::to_owned))
        .collect()
}
