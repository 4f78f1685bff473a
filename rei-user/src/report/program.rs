//! Declared programs, as they were found when the run started.

use crate::found::{FoundProgram, hexadecimal};
use crate::report::line::Line;

/// Writes `programs`, if there is something to say: another name, a SHA-256, or a fault.
pub(super) fn write(line: &mut Line, programs: &[FoundProgram]) {
    let is_worth_it = |found: &&FoundProgram| {
        let is_renamed = found.path.as_deref() != Some(found.declared.as_bytes());
        is_renamed || found.sha256.is_some() || found.fault.is_some()
    };
    let mut told = programs.iter().filter(is_worth_it).peekable();
    if told.peek().is_none() {
        return;
    }
    line.objects("programs", told, |object, found| {
        object.text("rule", &found.rule);
        object.text("declared", &found.declared);
        object.optional_bytes("name", found.name.as_deref());
        object.optional_bytes("path", found.path.as_deref());
        object.text("read_from", found.source.name());
        if let Some(digest) = &found.sha256 {
            object.text("sha256", &hexadecimal(digest));
        }
        if let Some(fault) = &found.fault {
            object.text("fault", fault);
        }
    });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::image::Source;

    fn found(declared: &str, path: Option<&[u8]>) -> FoundProgram {
        FoundProgram {
            place: 0,
            rule: "r".to_owned(),
            declared: declared.to_owned(),
            name: path.map(|_| b"/usr/bin/python3".to_vec()),
            path: path.map(<[u8]>::to_vec),
            sha256: None,
            source: Source::Image,
            fault: None,
        }
    }

    fn written(programs: &[FoundProgram]) -> Value {
        let mut line = Line::of_type("container");
        write(&mut line, programs);
        serde_json::from_slice(&line.end()).unwrap()
    }

    #[test]
    fn both_names_the_digest_and_the_fault_are_told() {
        let renamed = found("python3", Some(b"/usr/bin/python3.11"));
        let same = found("/bin/sh", Some(b"/bin/sh"));
        let hashed = FoundProgram {
            sha256: Some([0xab; 32]),
            fault: Some("why".to_owned()),
            ..found("/bin/x", Some(b"/bin/x"))
        };
        assert_eq!(
            written(&[renamed, same.clone(), found("gone", None), hashed])["programs"],
            json!([
                { "rule": "r", "declared": "python3", "name": "/usr/bin/python3", "path": "/usr/bin/python3.11",
                  "read_from": "image" },
                { "rule": "r", "declared": "gone", "name": null, "path": null, "read_from": "image" },
                { "rule": "r", "declared": "/bin/x", "name": "/usr/bin/python3", "path": "/bin/x",
                  "read_from": "image", "sha256": "ab".repeat(32), "fault": "why" },
            ])
        );
        assert_eq!(written(&[same]).get("programs"), None);
    }
}
