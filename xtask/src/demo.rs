//! `cargo xtask demo`: observes a small container, and shows act by act that rei saw it and that nobody can change that.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, program, run as run_command, run_to_its_end, target, work_dir};
use crate::image;
use crate::plan::Purpose;
use crate::setup;
use crate::tampering;

/// How long all of it may take on a machine where nothing is there yet.
const BUDGET: Duration = Duration::from_secs(30 * 60);

/// One act of the container (`docker/demo/step.sh`), and how to know it in the record.
struct Act {
    text: &'static str,
    seen: fn(&Value) -> bool,
}

const ACTS: [Act; 7] = [
    Act {
        text: "read a file of its image",
        seen: |e| opened(e, "/etc/demo/greeting") && e["origin"] == "image",
    },
    Act {
        text: "read a mounted file",
        seen: |e| opened(e, "/data/input.txt") && has_origin(e, "bind:"),
    },
    Act {
        text: "tried to connect, refused",
        seen: refused,
    },
    Act {
        text: "tried to open what is not there",
        seen: missing,
    },
    Act {
        text: "ran a script, as its entrypoint",
        seen: |e| executed(e, "/bin/sh") && e["script"] == "/bin/step",
    },
    Act {
        text: "executed a second program",
        seen: |e| executed(e, "/bin/cat"),
    },
    Act {
        text: "ended",
        seen: |e| e["kind"] == "exit" && e["phase"] == "workload",
    },
];

/// Exit code of `rei run` when it has findings.
const FINDINGS: i32 = 101;

/// Prepares, builds, observes, and checks the record.
pub(crate) fn run() -> Result<ExitCode> {
    let deadline = Instant::now() + BUDGET;
    if !rustix::process::geteuid().is_root() {
        bail!("rei loads eBPF programs, which needs root: run `cargo xtask demo` as root");
    }
    let ready = setup::prepare(Purpose::Demo, deadline)?;
    run_command(&mut release_build(), deadline)?;
    image::demo()?;
    let record = observe(deadline)?;
    let mut out = io::stdout().lock();
    let complete = show(&record, &mut out)?;
    tampering::show(
        &record.with_file_name("log"),
        &record.with_file_name("keys"),
        &mut out,
    )?;
    drop(ready);
    Ok(if complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The build of `rei` in release mode, for demo and bench.
pub(crate) fn release_build() -> Command {
    let mut command = cargo(&["build", "--release", "-p", "rei-user", "--bin", "rei"]);
    command.env_remove("REI_EBPF_SKIP").env_remove("AYA_BUILD_SKIP");
    command
}

/// The program that it makes.
pub(crate) fn release_binary() -> PathBuf {
    target().join("release/rei")
}

/// Runs the container below `rei run`; gives the record's file.
fn observe(deadline: Instant) -> Result<PathBuf> {
    let dir = work_dir()?.join("demo");
    let data = dir.join("data");
    fs::create_dir_all(&data).with_context(|| format!("cannot make {}", data.display()))?;
    fs::write(data.join("input.txt"), "one\ntwo\n").context("cannot write the demo's input")?;
    let record = dir.join("events.jsonl");
    if record.exists() {
        fs::remove_file(&record).with_context(|| format!("cannot remove {}", record.display()))?;
    }
    let mount = format!("{}:/data:ro", data.display());
    let mut rei = program(release_binary());
    let log = dir.join("log");
    if log.exists() {
        fs::remove_dir_all(&log).with_context(|| format!("cannot remove {}", log.display()))?;
    }
    rei.args(["run", "--allow-incomplete", "--json", "-o"])
        .arg(&record);
    rei.arg("--log").arg(&log);
    rei.arg("--keys").arg(dir.join("keys"));
    rei.args([
        "--",
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        "-v",
        &mount,
        image::DEMO,
        "/bin/step",
    ]);
    eprintln!();
    // The container's last act ends well; rei has findings, because the step did what nobody declared.
    let status = run_to_its_end(&mut rei, deadline)?;
    if status.code() != Some(FINDINGS) {
        bail!("rei was to end with exit code {FINDINGS} (findings), but ended with {status}");
    }
    Ok(record)
}

/// Prints the acts with the lines that prove them; says whether every act is in the record.
fn show(record: &Path, out: &mut impl Write) -> Result<bool> {
    let text = fs::read_to_string(record).with_context(|| format!("cannot read {}", record.display()))?;
    let events = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Value>, _>>();
    let events = events.with_context(|| format!("{} holds a line that is no JSON", record.display()))?;
    writeln!(out, "\nWhat the container did, as {} has it:", record.display())?;
    let mut missing = Vec::new();
    for act in &ACTS {
        match events
            .iter()
            .find(|event| event["type"] == "event" && (act.seen)(event))
        {
            Some(event) => writeln!(out, "  {:<33} {}", act.text, evidence(event))?,
            None => {
                writeln!(out, "  {:<33} NOT IN THE RECORD", act.text)?;
                missing.push(act.text);
            }
        }
    }
    let end = events.iter().rev().find(|event| event["type"] == "end");
    match end {
        Some(end) => writeln!(
            out,
            "The record is {}; events lost: {}; the run is judged {}, with {} findings.",
            end["completeness"],
            end["lost"],
            end["judgement"],
            end["findings"].as_array().map_or(0, Vec::len)
        )?,
        None => missing.push("the record's end"),
    }
    out.flush()?;
    if !missing.is_empty() {
        eprintln!(
            "xtask: rei did not report: {}. The record is {}",
            missing.join("; "),
            record.display()
        );
    }
    Ok(missing.is_empty())
}

/// The fields of an event that prove the act, as they stand in the record.
fn evidence(event: &Value) -> String {
    const FIELDS: [&str; 12] = [
        "kind",
        "path",
        "script",
        "argv",
        "address",
        "access",
        "origin",
        "outcome",
        "code",
        "hook",
        "confidence",
        "program",
    ];
    let present = FIELDS.iter().filter(|field| !event[**field].is_null());
    present
        .map(|field| format!("{field}={}", event[*field]))
        .collect::<Vec<_>>()
        .join(" ")
}

fn opened(event: &Value, path: &str) -> bool {
    event["kind"] == "open" && event["path"] == path && event["outcome"] == "ok"
}

fn executed(event: &Value, path: &str) -> bool {
    event["kind"] == "exec" && event["path"] == path && event["phase"] == "workload"
}

fn has_origin(event: &Value, prefix: &str) -> bool {
    event["origin"]
        .as_str()
        .is_some_and(|origin| origin.starts_with(prefix))
}

fn refused(event: &Value) -> bool {
    event["kind"] == "connect" && event["address"] == "127.0.0.1:9" && event["outcome"] == "ECONNREFUSED"
}

fn missing(event: &Value) -> bool {
    event["kind"] == "open" && event["path"] == "/no/such/file" && event["outcome"] == "ENOENT"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The record of a run in which everything was seen.
    fn events() -> Vec<Value> {
        let open = |path: &str, origin: &str, outcome: &str| json!({"type": "event", "kind": "open", "path": path, "origin": origin, "outcome": outcome});
        let exec = |path: &str, script: Option<&str>| json!({"type": "event", "kind": "exec", "path": path, "script": script, "phase": "workload"});
        vec![
            json!({"type": "run"}),
            exec("/bin/sh", Some("/bin/step")),
            exec("/bin/cat", None),
            open("/etc/demo/greeting", "image", "ok"),
            open("/data/input.txt", "bind:/somewhere", "ok"),
            json!({"type": "event", "kind": "connect", "address": "127.0.0.1:9", "outcome": "ECONNREFUSED"}),
            open("/no/such/file", "unknown", "ENOENT"),
            json!({"type": "event", "kind": "exit", "phase": "workload", "code": 0}),
            json!({"type": "end", "completeness": "complete", "lost": 0}),
        ]
    }

    fn shown(events: &[Value]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("events.jsonl");
        let lines: Vec<_> = events.iter().map(ToString::to_string).collect();
        fs::write(&file, lines.join("\n")).unwrap();
        show(&file, &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_full_record_passes() {
        assert!(shown(&events()));
    }

    #[test]
    fn a_record_without_any_one_of_the_acts_fails() {
        for left_out in 1..events().len() {
            let mut events = events();
            events.remove(left_out);
            assert!(!shown(&events), "line {left_out} was not missed");
        }
    }

    #[test]
    fn an_act_of_the_runtime_is_no_act_of_the_container() {
        let mut events = events();
        events[2]["phase"] = json!("runtime");
        assert!(!shown(&events));
    }

    #[test]
    fn a_line_that_is_no_json_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("events.jsonl");
        fs::write(&file, "{\"type\": \"run\"}\nhalf a li").unwrap();
        assert!(show(&file, &mut Vec::new()).is_err());
    }
}
