//! Right or wrong: what a probe really did, held against what rei reported.
//!
//! A record that says of itself that it does not know (`unresolved`, `contested`) is neither evidence nor a claim.
//! Acts of the runtime do not count.

use serde_json::Value;

use crate::probe::{Expectation, Probe};
use crate::record::{Event, Records};

/// The outcome for one probe: right if nothing is wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Why it is wrong.
    pub(crate) wrong: Vec<String>,
    /// What would have been good to have, or is odd.
    pub(crate) notes: Vec<String>,
}

/// Compares. `truth` is the JSON line of the probe itself.
pub(crate) fn judge(probe: &Probe, truth: &Value, records: &Records) -> Verdict {
    let mut verdict = Verdict::default();
    if truth["status"] != "ok" {
        verdict.wrong.push(format!(
            "the probe did not happen: {}: {}",
            truth["status"], truth["detail"]
        ));
        return verdict;
    }
    if let Err(error) = records.check_frame() {
        verdict.wrong.push(error.to_string());
    }
    for expectation in &probe.expect {
        if let Err(why) = holds(expectation, truth, records) {
            let why = format!("{} of {:.120}: {why}", expectation.access, expectation.object);
            if expectation.is_required() {
                &mut verdict.wrong
            } else {
                &mut verdict.notes
            }
            .push(why);
        }
    }
    for claim in &probe.must_not_report {
        for event in records
            .events()
            .filter(|event| event.text("phase") != Some("runtime"))
        {
            if !is_of(event, &claim.access, "success") || !names(event, &[claim.object.clone().into_bytes()])
            {
                continue;
            }
            let why = format!(
                "claims {} of {} ({}): {event:?}",
                claim.access, claim.object, claim.reason
            );
            if is_sure(event) {
                &mut verdict.wrong
            } else {
                &mut verdict.notes
            }
            .push(why);
        }
    }
    verdict
}

fn holds(expectation: &Expectation, truth: &Value, records: &Records) -> Result<(), String> {
    let objects = expectation.names().map_err(|error| error.to_string())?;
    let kinds: Vec<&str> = expectation.accesses().filter_map(kind_of).collect();
    let Some(kind) = kinds.first() else {
        return Err("rei has no event of that kind yet".to_owned());
    };
    let of_object: Vec<Event<'_>> = records
        .events()
        .filter(|event| event.text("phase") != Some("runtime") && names(*event, &objects))
        .collect();
    let found: Vec<Event<'_>> = of_object
        .iter()
        .copied()
        .filter(|event| {
            expectation
                .accesses()
                .any(|access| is_of(*event, access, &expectation.result))
        })
        .filter(|event| is_sure(*event))
        .collect();
    if found.is_empty() {
        return Err(match of_object.last() {
            Some(nearest) => format!("not reported; the nearest is {nearest:?}"),
            None => format!("not reported; {}", near_misses(records, kind)),
        });
    }
    if let Some(field) = &expectation.count_from {
        check_count(found.len() as u64, records.lost(kind), field, truth)?;
    }
    check_details(expectation, &found)
}

/// Reported and declared lost must make up what the probe counted; without a loss they are equal.
fn check_count(reported: u64, lost: u64, field: &str, truth: &Value) -> Result<(), String> {
    let Some(real) = truth[field].as_u64() else {
        return Err(format!("the probe's line has no number {field}"));
    };
    if reported <= real && real <= reported + lost {
        return Ok(());
    }
    Err(format!(
        "{reported} reported and {lost} declared lost, but it happened {real} times"
    ))
}

fn check_details(expectation: &Expectation, found: &[Event<'_>]) -> Result<(), String> {
    let all_say =
        |field: &str, wanted: &str| match found.iter().find(|event| event.text(field) != Some(wanted)) {
            Some(other) => Err(format!("{field} is not {wanted}: {other:?}")),
            None => Ok(()),
        };
    if let Some(actor) = &expectation.actor {
        all_say("program", actor)?;
    }
    if let Some(comm) = &expectation.actor_comm {
        all_say("comm", comm)?;
    }
    match expectation.proto.as_deref() {
        Some(protocol @ ("tcp" | "udp")) => all_say("protocol", protocol)?,
        Some(family @ ("unix" | "netlink")) => all_say("family", family)?,
        _ => {}
    }
    match expectation.scope.as_deref() {
        Some("outside-mount-namespace")
            if !found.iter().all(|event| event.flag("foreign_mount_namespace")) =>
        {
            Err(format!(
                "not marked as outside the container's mount namespace: {found:?}"
            ))
        }
        Some("outside-cgroup") if !found.iter().all(|event| event.text("phase") == Some("outside")) => {
            Err(format!("not marked as outside the container's cgroup: {found:?}"))
        }
        _ => Ok(()),
    }
}

/// Which kind of event tells of that access.
fn kind_of(access: &str) -> Option<&'static str> {
    match access {
        "read" | "write" | "create" => Some("open"),
        "connect" => Some("connect"),
        "send" => Some("send"),
        "exec" => Some("exec"),
        "exec-check" => Some("exec_attempt"),
        _ => None,
    }
}

/// Whether the event reports that access with that result.
fn is_of(event: Event<'_>, access: &str, result: &str) -> bool {
    let is_kind = match access {
        "read" | "write" | "create" => event.is("open") && event.lists("access", access),
        "exec" if result != "success" => event.is("exec_attempt") && !event.flag("check"),
        "exec-check" => event.is("exec_attempt") && event.flag("check"),
        _ => kind_of(access).is_some_and(|kind| event.is(kind)),
    };
    let is_result = match result {
        "success" if access == "connect" => event.is_ok(),
        "success" => event.text("outcome") == Some("ok"),
        errno => event.text("outcome") == Some(errno),
    };
    is_kind && is_result
}

/// Whether the event names one of the objects.
fn names(event: Event<'_>, objects: &[Vec<u8>]) -> bool {
    let fields: &[&str] = match event.text("kind") {
        Some("connect" | "send") => &["address"],
        Some("exec") => &["path", "script"],
        _ => &["path"],
    };
    fields
        .iter()
        .filter_map(|field| event.bytes(field))
        .any(|name| objects.contains(&name))
}

/// Whether the record says that it knows.
fn is_sure(event: Event<'_>) -> bool {
    !matches!(event.text("confidence"), None | Some("unresolved" | "contested"))
}

/// What was reported instead, for the reader of a failed test.
fn near_misses(records: &Records, kind: &str) -> String {
    let acts: Vec<&str> = records
        .acts(kind)
        .filter_map(|event| event.text("path").or(event.text("address")))
        .map(|name| name.get(..80).unwrap_or(name))
        .collect();
    let shown = acts.len().min(12);
    format!(
        "{} acts of kind {kind} are: {:?}",
        acts.len(),
        &acts[acts.len() - shown..]
    )
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, Result};
    use serde_json::json;

    use super::*;
    use crate::probe;

    fn events(lines: &[Value]) -> Result<Records> {
        let mut text = json!({"type": "run"}).to_string();
        for line in lines {
            let mut line = line.clone();
            let defaults = [
                ("type", "event"),
                ("phase", "workload"),
                ("outcome", "ok"),
                ("confidence", "kernel_object"),
            ];
            for (field, value) in defaults {
                if line[field].is_null() && line["type"] != "loss" {
                    line[field] = json!(value);
                }
            }
            text.push_str(&format!("\n{line}"));
        }
        text.push_str(&format!("\n{}", json!({"type": "end"})));
        Records::parse(&text)
    }

    fn wrong(probe: &str, truth: Value, lines: &[Value]) -> Result<Vec<String>> {
        let probe = probe::all()?
            .into_iter()
            .find(|one| one.short() == probe)
            .context("no such probe")?;
        Ok(judge(&probe, &truth, &events(lines)?).wrong)
    }

    fn ok() -> Value {
        json!({"status": "ok"})
    }

    fn open(path: &str) -> Value {
        json!({"kind": "open", "path": path, "access": ["read"]})
    }

    fn with(mut line: Value, field: &str, value: Value) -> Value {
        line[field] = value;
        line
    }

    #[test]
    fn the_object_the_access_and_the_outcome_must_be_right() -> Result<()> {
        let secret = open("/t/f01_open_legacy/secret");
        assert!(wrong("f01", ok(), std::slice::from_ref(&secret))?.is_empty());
        for bad in [
            open("/t/f01_open_legacy/other"),
            with(secret.clone(), "access", json!(["write"])),
            with(secret.clone(), "outcome", json!("EACCES")),
            with(secret.clone(), "phase", json!("runtime")),
            with(secret.clone(), "confidence", json!("unresolved")),
            with(secret.clone(), "kind", json!("exec")),
        ] {
            assert_eq!(wrong("f01", ok(), std::slice::from_ref(&bad))?.len(), 1, "{bad}");
        }
        assert_eq!(
            wrong("f01", json!({"status": "fail"}), &[secret])?.len(),
            1,
            "the probe itself failed"
        );
        Ok(())
    }

    #[test]
    fn a_decoy_is_wrong_even_beside_the_truth() -> Result<()> {
        let truth = open("/t/f05_dirfd_reused/real/secret");
        let decoy = open("/t/f05_dirfd_reused/decoy/secret");
        assert!(wrong("f05", ok(), std::slice::from_ref(&truth))?.is_empty());
        assert_eq!(wrong("f05", ok(), &[truth.clone(), decoy.clone()])?.len(), 1);
        let failed = with(decoy.clone(), "outcome", json!("ENOENT"));
        assert!(
            wrong("f05", ok(), &[truth.clone(), failed])?.is_empty(),
            "a failed open claims no read"
        );
        let unsure = with(decoy, "confidence", json!("contested"));
        assert!(
            wrong("f05", ok(), &[truth, unsure])?.is_empty(),
            "a contested record claims nothing"
        );
        Ok(())
    }

    #[test]
    fn exact_bytes_are_compared() -> Result<()> {
        let exact = with(
            open("/t/f21_invalid_utf8/bad???(name"),
            "path_b64",
            json!("L3QvZjIxX2ludmFsaWRfdXRmOC9iYWT//sMobmFtZQ=="),
        );
        assert!(wrong("f21", ok(), &[exact])?.is_empty());
        assert_eq!(
            wrong("f21", ok(), &[open("/t/f21_invalid_utf8/bad\u{fffd}(name")])?.len(),
            1
        );
        Ok(())
    }

    #[test]
    fn counts_are_exact_or_made_up_by_declared_losses() -> Result<()> {
        let truth = json!({"status": "ok", "a_opens": 2, "b_opens": 1});
        let a = open("/t/f23_toctou_race/file_A");
        let b = open("/t/f23_toctou_race/file_B");
        let lost = json!({"type": "loss", "kind": "open", "count": 1});
        assert!(wrong("f23", truth.clone(), &[a.clone(), a.clone(), b.clone()])?.is_empty());
        assert_eq!(
            wrong("f23", truth.clone(), &[a.clone(), b.clone(), b.clone()])?.len(),
            2,
            "one too few, one too many"
        );
        assert_eq!(wrong("f23", truth.clone(), &[a.clone(), b.clone()])?.len(), 1);
        assert!(wrong("f23", truth.clone(), &[a.clone(), b.clone(), lost.clone()])?.is_empty());
        assert_eq!(
            wrong("f23", truth, &[a.clone(), a.clone(), a, b, lost])?.len(),
            1,
            "a loss excuses no surplus"
        );
        Ok(())
    }

    #[test]
    fn a_failure_is_a_failure() -> Result<()> {
        let path = "/t/f47_fail_eacces/rootonly";
        let failed = with(
            with(open(path), "outcome", json!("EACCES")),
            "confidence",
            json!("argument_text"),
        );
        assert!(wrong("f47", ok(), std::slice::from_ref(&failed))?.is_empty());
        assert_eq!(
            wrong("f47", ok(), &[failed, open(path)])?.len(),
            1,
            "success is claimed as well"
        );
        assert_eq!(
            wrong("f47", ok(), &[with(open(path), "outcome", json!("EPERM"))])?.len(),
            1
        );
        Ok(())
    }

    #[test]
    fn the_actor_is_the_program_and_not_the_comm() -> Result<()> {
        let spoofed = with(open("/t/f55_comm_spoof/secret"), "comm", json!("sshd"));
        assert!(
            wrong(
                "f55",
                ok(),
                &[with(spoofed.clone(), "program", json!("/probes/f55_comm_spoof"))]
            )?
            .is_empty()
        );
        assert_eq!(
            wrong("f55", ok(), &[with(spoofed, "program", json!("sshd"))])?.len(),
            1
        );
        Ok(())
    }

    #[test]
    fn a_connect_under_way_is_a_connect() -> Result<()> {
        let connect = |outcome: &str, protocol: &str| json!({"kind": "connect", "address": "127.0.0.1:21210", "protocol": protocol, "outcome": outcome});
        assert!(wrong("n21", ok(), &[connect("in_progress", "tcp")])?.is_empty());
        assert!(wrong("n21", ok(), &[connect("ok", "tcp")])?.is_empty());
        assert_eq!(wrong("n21", ok(), &[connect("ECONNREFUSED", "tcp")])?.len(), 1);
        assert_eq!(wrong("n21", ok(), &[connect("ok", "udp")])?.len(), 1);
        Ok(())
    }

    #[test]
    fn a_script_and_its_interpreter_are_both_executed() -> Result<()> {
        let exec = |path: &str| json!({"kind": "exec", "path": path});
        let script = with(
            exec("/t/e05_shebang/interp"),
            "script",
            json!("/t/e05_shebang/script"),
        );
        assert!(wrong("e05", ok(), &[script])?.is_empty());
        assert_eq!(wrong("e05", ok(), &[exec("/t/e05_shebang/interp")])?.len(), 1);
        Ok(())
    }

    #[test]
    fn a_check_is_no_exec() -> Result<()> {
        let probe = probe::all()?
            .into_iter()
            .find(|one| one.short() == "e15")
            .context("no e15")?;
        let check = json!({"kind": "exec_attempt", "path": "/t/e15_exec_check/prog", "check": true});
        let clean = judge(&probe, &ok(), &events(std::slice::from_ref(&check))?);
        assert_eq!(clean, Verdict::default());
        let silent = judge(&probe, &ok(), &events(&[])?);
        assert_eq!(
            (silent.wrong.len(), silent.notes.len()),
            (0, 1),
            "the check itself should be reported"
        );
        let exec = json!({"kind": "exec", "path": "/t/e15_exec_check/prog"});
        assert_eq!(judge(&probe, &ok(), &events(&[check, exec])?).wrong.len(), 1);
        Ok(())
    }

    #[test]
    fn a_kind_that_is_not_reported_yet_is_wrong() -> Result<()> {
        assert_eq!(wrong("m01", ok(), &[open("/t/m01_unlink/victim")])?.len(), 1);
        Ok(())
    }
}
