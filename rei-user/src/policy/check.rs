//! Checks across rules: names are unique, and no rule stands in another one's shadow unseen.

use std::collections::HashMap;

use crate::glob::Glob;
use crate::glob::Pattern;
use crate::policy::document::Reader;
use crate::policy::read::{Declared, Placed};
use crate::policy::rule::Rule;

/// Most rules of a list that are compared with each other for shadows: each with each.
pub(super) const COMPARED_MAX: usize = 2_000;

pub(super) fn check(declared: &Declared, reader: &mut Reader<'_>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    names(&declared.inputs, reader, &mut seen);
    names(&declared.outputs, reader, &mut seen);
    names(&declared.network, reader, &mut seen);
    names(&declared.unix, reader, &mut seen);
    names(&declared.accept, reader, &mut seen);
    names(&declared.programs, reader, &mut seen);
    names(declared.env.as_deref().unwrap_or_default(), reader, &mut seen);
    ambient_twice(declared, reader);

    // What may be written may be read: an input inside an output adds nothing.
    let places: Vec<(&Placed<Rule<Pattern>>, bool)> = declared
        .outputs
        .iter()
        .map(|rule| (rule, true))
        .chain(declared.inputs.iter().map(|rule| (rule, false)))
        .collect();
    shadows(
        &places,
        reader,
        |(wide, writes), (narrow, is_written)| {
            (*writes || !is_written) && pattern_covers(&wide.rule.what, &narrow.rule.what)
        },
        |(rule, _)| rule,
    );
    let unix: Vec<_> = declared.unix.iter().collect();
    shadows(
        &unix,
        reader,
        |wide, narrow| pattern_covers(&wide.rule.what, &narrow.rule.what),
        |rule| rule,
    );
    let network: Vec<_> = declared.network.iter().collect();
    shadows(
        &network,
        reader,
        |wide, narrow| wide.rule.what.covers(&narrow.rule.what),
        |rule| rule,
    );
    let accept: Vec<_> = declared.accept.iter().collect();
    let within = |wide: &std::ops::RangeInclusive<u16>, narrow: &std::ops::RangeInclusive<u16>| {
        wide.start() <= narrow.start() && narrow.end() <= wide.end()
    };
    shadows(
        &accept,
        reader,
        |wide, narrow| within(&wide.rule.what, &narrow.rule.what),
        |rule| rule,
    );
    let programs: Vec<_> = declared.programs.iter().collect();
    shadows(
        &programs,
        reader,
        |wide, narrow| {
            let is_plain = wide.rule.what.argv.is_none() && wide.rule.what.sha256.is_none();
            let origins = |origins: &[String]| {
                if origins.is_empty() {
                    vec!["image".to_owned()]
                } else {
                    origins.to_vec()
                }
            };
            let own = origins(&wide.rule.what.origins);
            let is_origin = |origin: &String| own.contains(origin) || own.iter().any(|own| own == "any");
            is_plain
                && origins(&narrow.rule.what.origins).iter().all(is_origin)
                && match (wide.rule.what.name.pattern(), narrow.rule.what.name.pattern()) {
                    (Some(wide), Some(narrow)) => pattern_covers(wide, narrow),
                    _ => wide.rule.what.name == narrow.rule.what.name,
                }
        },
        |rule| rule,
    );
    let env: Vec<_> = declared.env.iter().flatten().collect();
    shadows(
        &env,
        reader,
        |wide, narrow| Glob::covers(&wide.rule.what, &narrow.rule.what),
        |rule| rule,
    );
}

fn names<T>(rules: &[Placed<Rule<T>>], reader: &mut Reader<'_>, seen: &mut HashMap<String, usize>) {
    for placed in rules {
        let name = &placed.rule.name;
        let line = reader.line(&placed.at);
        match seen.get(name) {
            Some(first) => {
                let message = format!(
                    "the name {name:?} is taken: it stands on line {first} already; names tell findings apart"
                );
                reader.problem(&placed.at, message);
            }
            None => {
                seen.insert(name.clone(), line);
            }
        }
    }
}

fn ambient_twice(declared: &Declared, reader: &mut Reader<'_>) {
    for (index, row) in declared.ambient.iter().enumerate() {
        let is_same =
            |other: &&Placed<crate::policy::rule::AmbientRow>| other.rule.pattern == row.rule.pattern;
        if let Some(first) = declared.ambient[..index].iter().find(is_same) {
            let line = reader.line(&first.at);
            reader.problem(&row.at, format!("this pattern stands on line {line} already"));
        }
    }
}

fn pattern_covers(wide: &Pattern, narrow: &Pattern) -> bool {
    match (wide.fixed(), narrow.fixed()) {
        (Some(wide), Some(narrow)) => wide.covers(narrow),
        _ => false,
    }
}

/// Warns of each rule that another one of the list makes superfluous: an earlier one, or a wider later one.
fn shadows<'d, R, T: 'd>(
    rules: &[R],
    reader: &mut Reader<'_>,
    covers: impl Fn(&R, &R) -> bool,
    placed: impl Fn(&R) -> &'d Placed<Rule<T>>,
) {
    if rules.len() > COMPARED_MAX {
        return;
    }
    for (index, narrow) in rules.iter().enumerate() {
        let shadow = rules.iter().enumerate().find(|(other, wide)| {
            *other != index && covers(wide, narrow) && (*other < index || !covers(narrow, wide))
        });
        if let Some((_, wide)) = shadow {
            let wide = placed(wide);
            let message = format!(
                "it is in the shadow of {} on line {}, which allows all of it; one of the two is superfluous",
                wide.rule.name,
                reader.line(&wide.at)
            );
            reader.warning(&placed(narrow).at, message);
        }
    }
}
