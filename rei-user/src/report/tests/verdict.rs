//! Complete or not, and why.

use super::*;

#[test]
fn a_quiet_run_is_complete_and_gives_the_commands_code() {
    let mut run = Run::new();
    let (body, path) = opened(b"/etc/passwd", FMODE_READ);
    run.event(&body, &[(PartTag::Path, &path)]);
    let codes = ExitCodes {
        findings: 101,
        complete: 7,
        incomplete: 103,
    };
    let (summary, _) = run.end(End {
        command: Some(CommandExit::Code(7)),
        exit_codes: codes,
        ..ended()
    });
    assert!(summary.is_complete());
    assert_eq!(summary.exit_code(), 7);
    let text = summary.to_string();
    assert!(
        text.contains("ended with exit code 7") && text.contains("  record      complete: "),
        "{text}"
    );
    assert!(text.contains("image: 1 read: /etc/passwd"), "{text}");
}

#[test]
fn the_runtimes_doubts_do_not_count_and_the_workloads_do() {
    for (phase, is_complete) in [
        (Phase::Runtime, true),
        (Phase::Workload, false),
        (Phase::Operator, false),
    ] {
        let mut run = Run::new();
        let mut header = record::header(EventKind::Open);
        header.phase = phase as u8;
        run.take(&header, &failed(-13), &[(PartTag::TextEntry, b"x")]);
        assert_eq!(run.end(ended()).0.is_complete(), is_complete, "{phase:?}");
    }
    // A cut argv needs no rule yet; a text that the kernel itself could not read hides nothing.
    let mut run = Run::new();
    let mut header = record::header(EventKind::Exec);
    header.missing = missing::ARGV_CUT | missing::ENV_CUT | missing::ARGV_UNREADABLE;
    run.take(
        &header,
        &Body::Exec(ExecBody {
            file: overlay(0, 1, 0),
            ..ExecBody::default()
        }),
        &[(PartTag::Path, b"x\0")],
    );
    run.event(&failed(-14), &[]);
    assert!(run.end(ended()).0.is_complete());
}

#[test]
fn losses_are_written_when_they_move() {
    let mut run = Run::new();
    let loss = |cpu, kind, cause, count| Loss {
        cpu,
        kind,
        cause,
        count,
    };
    let first = loss(Some(0), Some(EventKind::Open), LossCause::RingFull, 3);
    let nested = loss(None, None, LossCause::Nested, 1);
    run.report.losses(&[first]).unwrap();
    run.report.losses(&[first, nested]).unwrap();
    run.report.losses(&[Loss { count: 5, ..first }, nested]).unwrap();
    let (summary, lines) = run.end(ended());
    let counts: Vec<[&Value; 3]> = lines
        .iter()
        .filter(|line| line["type"] == "loss")
        .map(|line| [&line["kind"], &line["cpu"], &line["count"]])
        .collect();
    assert_eq!(
        counts,
        [
            [&json!("open"), &json!(0), &json!(3)],
            [&Value::Null, &Value::Null, &json!(1)],
            [&json!("open"), &json!(0), &json!(2)]
        ]
    );
    assert_eq!(lines[lines.len() - 1]["lost"], 6);
    let counts: Vec<Option<u64>> = summary.reasons().iter().map(Reason::count).collect();
    assert_eq!(counts, [Some(5), Some(1)]);
}

#[test]
fn what_others_lost_is_told_and_does_not_count() {
    let run_with = |ours: u64, others: u64| {
        let mut run = Run::new();
        run.report
            .losses(&[Loss {
                cpu: Some(0),
                kind: Some(EventKind::Open),
                cause: LossCause::RingFull,
                count: 7,
            }])
            .unwrap();
        let attribution = Attribution {
            ours: LostByKind::from_counts(&[(EventKind::Open, ours)]),
            others: LostByKind::from_counts(&[(EventKind::Open, others)]),
        };
        let (summary, lines) = run.end(End {
            attribution,
            ..ended()
        });
        (summary, lines.last().unwrap().clone())
    };
    let (summary, end) = run_with(0, 7);
    assert!(summary.is_complete(), "{:?}", summary.reasons());
    assert_eq!((&end["lost"], &end["lost_of_others"]), (&json!(7), &json!(7)));
    let (summary, end) = run_with(2, 5);
    assert_eq!(summary.reasons().iter().filter_map(Reason::count).sum::<u64>(), 2);
    assert_eq!(end["lost_of_others"], 5);
    let (summary, end) = run_with(0, 6);
    assert!(!summary.is_complete(), "one of them is nobody's that is known");
    assert_eq!(end["lost_of_others"], 6);
    assert!(run_with(7, 0).1.get("lost_of_others").is_none());
}

#[test]
fn numbers_that_never_came_must_be_accounted_for() {
    let mut header = record::header(EventKind::Open);
    (header.cpu, header.seq) = (2, 5);
    let mut sequence = Sequence::new();
    sequence.observe(&header);
    let gaps_with = |count, undecodable: u64| {
        let mut run = Run::new();
        run.report
            .losses(&[Loss {
                cpu: Some(2),
                kind: None,
                cause: LossCause::RingFull,
                count,
            }])
            .unwrap();
        for _ in 0..undecodable {
            run.report
                .undecodable(&decode(&Bytes::new()).unwrap_err())
                .unwrap();
        }
        let (summary, _) = run.end(End {
            sequence: sequence.clone(),
            ..ended()
        });
        summary
            .reasons()
            .iter()
            .filter(|reason| reason.kind() == "sequence_gap")
            .filter_map(Reason::count)
            .sum::<u64>()
    };
    assert_eq!(gaps_with(4, 0), 0);
    assert_eq!(gaps_with(6, 0), 0);
    assert_eq!(gaps_with(3, 0), 1);
    assert_eq!(gaps_with(3, 1), 0);
    assert_eq!(gaps_with(0, 0), 4);
}

#[test]
fn outside_reasons_and_gaps_are_told_once() {
    let mut run = Run::new();
    run.report.reason(Reason::StartedLate);
    run.report.reason(Reason::StartedLate);
    let gaps = vec![
        gap(Route::PathChange, "unlink"),
        gap(Route::PathChange, "mkdir"),
        gap(Route::PathChange, "unlink"),
        RouteGap {
            sensor: Some(Sensor::CgroupAddress),
            ..gap(Route::Datagram, "sendto")
        },
    ];
    let (summary, lines) = run.end(End { gaps, ..ended() });
    let texts: Vec<String> = summary.reasons().iter().map(Reason::text).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[2].ends_with("(mkdir, unlink)"), "{texts:?}");
    assert!(summary.reasons()[1].next_step().contains("cgroup_address"));
    assert_eq!(
        lines[lines.len() - 1]["syscalls_without_sensor"],
        json!(["mkdir", "sendto", "unlink"])
    );
    assert_eq!(summary.exit_code(), 103);
}

/// A run under this policy with one write outside everything declared, and what it comes to.
fn judged(text: &str, gaps: Vec<RouteGap>) -> (Summary, Value) {
    let mut run = Run::new();
    run.report.policy = policy(text);
    run.judge = Judge::new(policy(text), Bindings::default()).unwrap();
    let (body, path) = opened(b"/tmp/x", FMODE_WRITE);
    run.event(&body, &[(PartTag::Path, &path)]);
    run.event(&body, &[(PartTag::Path, &path)]);
    let (summary, lines) = run.end(End { gaps, ..ended() });
    let end = lines.last().unwrap().clone();
    (summary, end)
}

#[test]
fn findings_decide_the_exit_code_before_completeness_does() {
    let gap_list = || vec![gap(Route::PathChange, "unlink")];
    // policy, complete, judgement, exit code
    let table = [
        ("", true, "tripped", 101),
        ("", false, "tripped", 101),
        ("fail_on = \"caution\"", true, "tripped", 101),
        ("fail_on = \"blocked\"", true, "tripped", 0),
        ("fail_on = \"blocked\"", false, "tripped", 103),
        ("mode = \"unsafe\"", true, "clean", 0),
        ("mode = \"unsafe\"", false, "clean", 103),
        ("outputs = [\"/tmp/**\"]", true, "clean", 0),
    ];
    for (text, is_complete, judgement, code) in table {
        let (summary, end) = judged(text, if is_complete { Vec::new() } else { gap_list() });
        assert_eq!(
            (end["judgement"].as_str(), summary.exit_code()),
            (Some(judgement), code),
            "{text} {is_complete}"
        );
        let words = summary.to_string();
        let is_clean = words.contains("judgement   clean (");
        assert_eq!(is_clean, judgement == "clean" && is_complete, "{words}");
        let is_open = words.contains("no finding, incomplete");
        assert_eq!(is_open, judgement == "clean" && !is_complete, "{words}");
    }
}

#[test]
fn the_same_finding_is_counted_and_not_repeated() {
    let (summary, end) = judged("", Vec::new());
    let findings = end["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0];
    assert_eq!(
        (&finding["tripwire"], &finding["count"]),
        (&json!("I1"), &json!(2))
    );
    assert_eq!(
        (&finding["object"], &finding["severity"]),
        (&json!("/tmp/x"), &json!("tripped"))
    );
    assert_eq!(
        (&finding["confidence"], &finding["access"]),
        (&json!("kernel_object"), &json!(["write"]))
    );
    assert_eq!(finding["process"]["pid"], 100);
    assert!(summary.to_string().contains("I1 write /tmp/x"), "{summary}");
}

#[test]
fn pythons_caches_are_one_finding_with_a_hint() {
    let mut run = Run::new();
    for name in ["a", "b", "c"] {
        let path = format!("/app/{name}/__pycache__/{name}.pyc");
        let (body, path) = opened(path.as_bytes(), FMODE_WRITE);
        run.event(&body, &[(PartTag::Path, &path)]);
    }
    let (summary, lines) = run.end(ended());
    let findings = lines.last().unwrap()["findings"].as_array().unwrap().clone();
    assert_eq!((findings.len(), &findings[0]["count"]), (1, &json!(3)));
    assert!(
        findings[0]["hint"]
            .as_str()
            .unwrap()
            .contains("PYTHONDONTWRITEBYTECODE=1")
    );
    assert_eq!(findings[0]["first_object"], "/app/a/__pycache__/a.pyc");
    assert!(summary.to_string().contains("**/__pycache__/*"), "{summary}");
}
