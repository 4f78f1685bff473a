//! A sealed log → who ran what and what each touched, as a tree. For the demo: short, of the workload only.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

/// Objects of one image that are shown; the log has them all.
const OBJECTS_MAX: usize = 8;

/// One process image with what it touched.
#[derive(Debug, Default)]
struct Image {
    name: String,
    parent: Option<u64>,
    objects: Vec<String>,
    end: Option<String>,
}

/// The images of a workload, by number.
#[derive(Debug, Default)]
pub(crate) struct Tree(BTreeMap<u64, Image>);

impl Tree {
    /// Takes the lines of a log, in their order.
    pub(crate) fn of(lines: &[Value]) -> Self {
        let mut tree = Tree::default();
        for line in lines {
            let body = &line["d"];
            let Some(node) = body["node"].as_u64() else {
                continue;
            };
            if line["k"] == "lineage" && body["phase"] == "workload" {
                let image = Image {
                    name: name(body),
                    parent: body["parent"].as_u64(),
                    ..Image::default()
                };
                tree.0.insert(node, image);
            } else if line["k"] == "fold"
                && let Some(image) = tree.0.get_mut(&node)
            {
                let objects = body["objects"].as_array().into_iter().flatten();
                image.objects.extend(objects.map(object));
                let end = &body["end"]["how"];
                image.end = (!end.is_null()).then(|| ending(end)).or(image.end.take());
            }
        }
        tree
    }

    /// How many images there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Prints it.
    pub(crate) fn show(&self, out: &mut impl Write) -> io::Result<()> {
        let is_root = |image: &Image| image.parent.is_none_or(|parent| !self.0.contains_key(&parent));
        for (&node, image) in self.0.iter().filter(|(_, image)| is_root(image)) {
            self.show_below(node, image, 1, out)?;
        }
        Ok(())
    }

    fn show_below(&self, node: u64, image: &Image, depth: usize, out: &mut impl Write) -> io::Result<()> {
        let indent = "  ".repeat(depth);
        let end = image.end.as_deref().unwrap_or("no end seen");
        writeln!(out, "{indent}{}: {end}", image.name)?;
        for object in image.objects.iter().take(OBJECTS_MAX) {
            writeln!(out, "{indent}  - {object}")?;
        }
        if let Some(more @ 1..) = image.objects.len().checked_sub(OBJECTS_MAX) {
            writeln!(out, "{indent}  - and {more} more")?;
        }
        // A parent has a smaller number than its children, in every log that `rei` writes; in others nothing loops.
        let children = self
            .0
            .range(node + 1..)
            .filter(|(_, child)| child.parent == Some(node));
        for (&child, image) in children {
            self.show_below(child, image, depth + 1, out)?;
        }
        Ok(())
    }
}

/// Program, script and arguments; all of it was chosen by the workload, so it is quoted.
fn name(lineage: &Value) -> String {
    let mut text = lineage["program"].to_string();
    if let Some(script) = lineage["script"].as_str() {
        text.push_str(&format!(" running {script:?}"));
    }
    match lineage["chain"].as_str() {
        Some(chain) => format!("{text} ({chain})"),
        None => text,
    }
}

fn object(object: &Value) -> String {
    let word = |key: &str| object[key].as_str().unwrap_or("?").to_owned();
    let mut text = format!("{} {}", word("kind"), object["object"]);
    if let Some(access) = object["access"].as_array().filter(|access| !access.is_empty()) {
        let access: Vec<_> = access.iter().filter_map(Value::as_str).collect();
        text.push_str(&format!(" to {}", access.join(", ")));
    }
    format!(
        "{text}: {}, {}, {}x",
        word("outcome"),
        word("decision"),
        object["n"]
    )
}

fn ending(how: &Value) -> String {
    match (&how["exit"]["code"], &how["exit"]["signal"]) {
        (Value::Number(code), _) => format!("ended with {code}"),
        (_, Value::Number(signal)) => format!("ended by signal {signal}"),
        _ if how == "exec" => "became another program".to_owned(),
        _ => format!("not followed further ({how})"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lineage(node: u64, parent: Option<u64>, phase: &str, program: &str) -> Value {
        let body = json!({"node": node, "parent": parent, "phase": phase, "program": program});
        json!({"k": "lineage", "d": body})
    }

    fn shown(lines: &[Value]) -> String {
        let mut out = Vec::new();
        Tree::of(lines).show(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn children_stand_below_their_parents_with_what_they_touched() {
        let open = json!({"kind": "open", "object": "/a", "access": ["read"], "outcome": "ok", "decision": "allowed", "n": 3});
        let end = json!({"at": "1", "how": {"exit": {"code": 0}}});
        let text = shown(&[
            lineage(0, None, "runtime", "runc"),
            lineage(1, Some(0), "workload", "/bin/sh"),
            lineage(2, Some(1), "workload", "/bin/cat"),
            json!({"k": "fold", "d": {"node": 2, "objects": [open], "end": end}}),
            json!({"k": "fold", "d": {"node": 0, "objects": [], "end": end}}),
        ]);
        assert_eq!(
            text,
            "  \"/bin/sh\": no end seen\n    \"/bin/cat\": ended with 0\n      - open \"/a\" to read: ok, allowed, 3x\n"
        );
    }

    #[test]
    fn many_objects_are_counted_and_names_cannot_move_the_cursor() {
        let open = json!({"kind": "open", "object": "/\u{1b}[2J", "n": 1});
        let fold = json!({"k": "fold", "d": {"node": 0, "objects": vec![open; OBJECTS_MAX + 4]}});
        let text = shown(&[lineage(0, None, "workload", "/x"), fold]);
        assert!(
            text.ends_with("- and 4 more\n") && !text.contains('\u{1b}'),
            "{text}"
        );
    }

    #[test]
    fn an_image_that_is_its_own_parent_ends() {
        assert_eq!(shown(&[lineage(3, Some(3), "workload", "/x")]), "");
    }
}
