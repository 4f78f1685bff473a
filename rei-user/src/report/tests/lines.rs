//! The JSON lines: their order, their keys, what they say.

use std::collections::BTreeSet;

use super::*;

/// Every key of a value, those of nested objects included.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                into.insert(key.clone());
                keys(inner, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

#[test]
fn every_key_is_documented() {
    let mut run = Run::new();
    everything(&mut run);
    let (_, lines) = run.end(End {
        gaps: vec![gap(Route::PathChange, "unlink")],
        attribution: Attribution {
            others: LostByKind::from_counts(&[(EventKind::Open, 1)]),
            ..Attribution::default()
        },
        ..ended()
    });
    let document = include_str!("../../../../docs/events.md");
    let mut all = BTreeSet::new();
    lines.iter().for_each(|line| keys(line, &mut all));
    let words: BTreeSet<&str> = document
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let undocumented: Vec<&String> = all
        .iter()
        .filter(|key| !words.contains(key.trim_end_matches("_b64")))
        .collect();
    assert!(
        undocumented.is_empty(),
        "docs/events.md does not know {undocumented:?}"
    );
    assert!(all.len() > 80, "the test no longer provokes every field: {all:?}");
}

#[test]
fn lines_come_in_order_and_say_what_happened() {
    let mut run = Run::new();
    everything(&mut run);
    let (_, lines) = run.end(ended());
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        (types[0], types[1], types[types.len() - 1]),
        ("run", "container", "end")
    );
    let run_line = &lines[0];
    assert_eq!(run_line["command"], json!(["docker", "run", "--rm", "demo"]));
    assert_eq!(
        run_line["sensors"][1],
        json!({"name": "socket_state", "live": false, "reason": "not allowed"})
    );
    assert!(run_line["boot_id"].is_string() && run_line["kernel"].is_string());
    assert_eq!(lines[1]["image_id"], Value::Null);
    let exec = &lines[2];
    assert_eq!(exec["container"], "0123456789ab");
    assert_eq!(exec["path"], "/bin/sh");
    assert_eq!(exec["argv_b64"], json!([null, "L2VudHJ5/w=="]));
    assert_eq!(
        (&exec["script_b64"], &exec["interpreter"]),
        (&json!("L2VudHJ5/w=="), &json!("/bin/sh"))
    );
    assert_eq!(
        (&exec["chain"], &exec["origin"], &exec["dev"]),
        (&json!("entrypoint"), &json!("image"), &json!("0:50"))
    );
    assert_eq!(
        (&exec["script_confidence"], &exec["confidence"]),
        (&json!("kernel_text"), &json!("kernel_object"))
    );
    assert_eq!(exec["env_names"], json!(["PATH", "HOME"]));
    let device = &lines[3];
    assert_eq!(
        (&device["rdev"], &device["requested"], &device["mode"]),
        (&json!("1:3"), &json!("null"), &json!("20666"))
    );
    assert_eq!(device["unreadable"], json!(["text_entry"]));
    assert_eq!(device["program"], "/bin/sh");
    let failed = &lines[5];
    assert_eq!(
        (&failed["path"], &failed["requested_entry"]),
        (&json!("/job/b"), &json!("a"))
    );
    assert_eq!(
        (&failed["outcome"], &failed["confidence"]),
        (&json!("EACCES"), &json!("unresolved"))
    );
    let connect = &lines[6];
    assert_eq!(
        (&connect["address"], &connect["outcome"]),
        (&json!("127.0.0.1:80"), &json!("ECONNREFUSED"))
    );
    assert_eq!(
        (&connect["protocol"], &connect["source"]),
        (&json!("tcp"), &json!("syn_sent"))
    );
    assert_eq!(lines[7]["outcome"], "in_progress");
    assert_eq!((&lines[10]["code"], &lines[11]["signal"]), (&json!(3), &json!(9)));
    assert_eq!(lines[14]["what"], "left");
    let end = &lines[lines.len() - 1];
    assert_eq!(
        (&end["completeness"], &end["exit_code"], &end["lost"]),
        (&json!("incomplete"), &json!(101), &json!(4))
    );
    assert_eq!(end["counts"]["open"], 4);
    let kinds: Vec<&str> = end["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["lost", "undecodable", "unresolved", "path_cut"]);
}

#[test]
fn what_is_not_whole_is_named() {
    let mut run = Run::new();
    let mut header = record::header(EventKind::Open);
    header.missing = missing::TEXT_CUT | missing::PATH_RACED;
    run.take(
        &header,
        &failed(-36),
        &[(PartTag::TextExit, b"x"), (PartTag::Base, b"")],
    );
    run.event(&Body::Connect(tcp(0)), &[]);
    let unseen = ConnectBody {
        evidence: 0,
        ..tcp(0)
    };
    run.event(&Body::Connect(unseen), &[]);
    let (summary, lines) = run.end(ended());
    assert_eq!(lines[2]["cut"], json!(["requested"]));
    assert_eq!(lines[2]["unreadable"], json!(["path_raced"]));
    assert_eq!(lines[2]["confidence"], "unresolved");
    assert_eq!(
        (&lines[3]["confidence"], lines[3].get("entry_seen")),
        (&json!("kernel_object"), None)
    );
    assert_eq!(
        (&lines[4]["confidence"], &lines[4]["entry_seen"]),
        (&json!("unresolved"), &json!(false))
    );
    assert_eq!(summary.reasons().iter().filter_map(Reason::count).sum::<u64>(), 2);
}
