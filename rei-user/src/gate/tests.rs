//! The gate's table: calls, rules, and what is decided. The first half is what the catalog's design lists as tested.

use serde_json::json;

use super::*;

/// What the gate decides about a planned call without arguments, as `hazard rule`.
fn planned(gate: &SafetyGate, tool_name: &str) -> String {
    said(&gate.evaluate(tool_name, &Map::new()))
}

fn said(decision: &Decision) -> String {
    assert_eq!(decision.approved, decision.hazard_level != HazardLevel::Blocked);
    format!("{} {}", decision.hazard_level, decision.rule_name)
}

/// The rules of a text in the form of a policy file's `[[gate.rule]]`.
fn rules(text: &str) -> Vec<Rule> {
    #[derive(serde::Deserialize)]
    struct File {
        rule: Vec<RuleSpec>,
    }
    let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    file.rule
        .iter()
        .map(|rule| rule.compile().unwrap_or_else(|error| panic!("{error}")))
        .collect()
}

fn gate(text: &str) -> SafetyGate {
    SafetyGate::production(rules(text))
}

fn text(value: &str) -> Argument<'_> {
    Argument::Text(value.as_bytes())
}

fn observed(gate: &SafetyGate, tool_name: &str, args: &[(ArgName, Argument<'_>)]) -> String {
    let args = args
        .iter()
        .fold(Args::new(), |args, (name, value)| args.with(*name, *value));
    said(&gate.evaluate_observed(tool_name, &args))
}

#[test]
fn constructors_answer_for_what_they_are_for() {
    let gate = |rule: Rule| SafetyGate {
        catalog: Arc::new([]),
        ..SafetyGate::production(vec![rule])
    };
    let by_prefix = gate(allow_by_prefix("puzzle_", Some("puzzles")));
    assert_eq!(planned(&by_prefix, "puzzle_verify"), "safe puzzles");
    assert_eq!(planned(&by_prefix, "a_puzzle_"), "blocked default-deny-unknown");
    let unnamed = gate(allow_by_prefix("puzzle_", None));
    assert_eq!(planned(&unnamed, "puzzle_"), "safe allow-by-prefix:puzzle_");

    let by_pattern = gate(block_by_pattern("^rm_.*_all$", "wipes", Some("wipe")).unwrap());
    let decision = by_pattern.evaluate("rm_disk_all", &Map::new());
    assert_eq!(
        (said(&decision).as_str(), decision.note.as_deref()),
        ("blocked wipe", Some("wipes"))
    );
    assert_eq!(planned(&by_pattern, "rm_disk"), "blocked default-deny-unknown");
    assert_eq!(block_by_pattern("(", "x", None).unwrap_err().field(), "regex");

    for prefix in [
        "query",
        "read",
        "get",
        "list",
        "verdict",
        "inspect",
        "probe_status",
        "health",
    ] {
        let read_only = gate(allow_read_only());
        assert_eq!(
            planned(&read_only, &format!("{prefix}_x")),
            "safe allow-read-only"
        );
        assert_eq!(planned(&read_only, prefix), "blocked default-deny-unknown");
        assert_eq!(
            planned(&read_only, &format!("x{prefix}_x")),
            "blocked default-deny-unknown"
        );
    }
    let probe = gate(caution_benchtop_probe_read());
    let decision = probe.evaluate("benchtop_probe_temperature", &Map::new());
    assert_eq!(said(&decision), "caution benchtop-probe-read");
    assert_eq!(
        decision.note.as_deref(),
        Some("privileged probe read — approved with caution")
    );
    assert_eq!(
        planned(&gate(block_benchtop_destructive()), "benchtop_wipe"),
        "blocked block-benchtop-destructive"
    );

    let custom = gate(custom_rule(
        |name, arguments| name == "mine" && arguments.named("n") == Argument::Number(Number::Int(1)),
        Answer::new(HazardLevel::Caution).with_note("once"),
        "app",
    ));
    let args = json!({"n": 1});
    assert_eq!(
        said(&custom.evaluate("mine", args.as_object().unwrap())),
        "caution app"
    );
    assert_eq!(planned(&custom, "mine"), "blocked default-deny-unknown");
}

#[test]
fn default_catalog() {
    let gate = SafetyGate::production(Vec::new());
    let destructive = "blocked block-benchtop-destructive";
    let probe = "caution benchtop-probe-read";
    let read_only = "safe allow-read-only";
    let deny = "blocked default-deny-unknown";
    for (tool_name, expected) in [
        ("benchtop_power_off", destructive),
        ("benchtop_firmware_flash", destructive),
        ("benchtop_wipe", destructive),
        ("benchtop_wipe_disk", destructive),
        ("benchtop_hard_reset", destructive),
        ("kikusui_cr_mode", destructive),
        ("kikusui_cr_mode_on", destructive),
        ("scpi_write", destructive),
        ("scpi_write_raw", destructive),
        ("benchtop_probe_temperature", probe),
        ("benchtop_probe_temp", probe),
        ("d8_verdict_x", probe),
        ("disk_health", probe),
        // By the order, not by the design's table of examples.
        ("disk_health_verdict", probe),
        ("environment_read", probe),
        ("smart_read", probe),
        ("read_data", read_only),
        ("query_x", read_only),
        ("get_x", read_only),
        ("list_x", read_only),
        ("verdict_x", read_only),
        ("inspect_x", read_only),
        ("probe_status_x", read_only),
        ("health_x", read_only),
        (
            "shannon_entropy_verdict",
            "safe allow-by-prefix:shannon_entropy_verdict",
        ),
        ("flow_state_verdict", "safe allow-by-prefix:flow_state_verdict"),
        ("puzzle_verify", "safe allow-by-prefix:puzzle_"),
        ("log_healthy", "safe allow-by-prefix:log_"),
        ("", deny),
        ("unknown", deny),
        ("benchtop_", deny),
        ("d8_verdict", deny),
        ("scpi_send", deny),
        ("readfile", deny),
        (" read_data", deny),
        ("Read_data", deny),
        ("BENCHTOP_PROBE_X", deny),
        // Rules of observed operations are not for planned calls.
        ("load_module", deny),
        ("connect_tcp", deny),
        ("read_device", read_only),
    ] {
        assert_eq!(planned(&gate, tool_name), expected, "{tool_name}");
    }
}

#[test]
fn extra_rules_come_first_and_in_order() {
    let mine = || {
        custom_rule(
            |name, _| name == "my_special_tool",
            Answer::new(HazardLevel::Safe).with_note("app whitelist"),
            "app-whitelist",
        )
    };
    let gate = SafetyGate::production(vec![mine()]);
    assert_eq!(planned(&gate, "my_special_tool"), "safe app-whitelist");
    assert_eq!(
        planned(&gate, "benchtop_power_off"),
        "blocked block-benchtop-destructive"
    );

    let over = SafetyGate::production(vec![
        allow_by_prefix("benchtop_power_cycle_fan", Some("fan")),
        block_by_pattern("^read_secret", "secret", Some("secrets")).unwrap(),
        allow_by_prefix("read_secret_of_life", Some("late")),
    ]);
    assert_eq!(planned(&over, "benchtop_power_cycle_fan"), "safe fan");
    assert_eq!(planned(&over, "read_secret_of_life"), "blocked secrets");
    assert_eq!(planned(&over, "read_x"), "safe allow-read-only");
}

#[test]
fn permissive_approves_and_says_so() {
    let gate = SafetyGate::permissive();
    assert!(gate.is_permissive() && !SafetyGate::production(Vec::new()).is_permissive());
    for tool_name in ["benchtop_wipe", "unknown", "read_x", ""] {
        assert_eq!(planned(&gate, tool_name), "safe permissive");
    }
    let note = gate.evaluate("x", &Map::new()).note;
    assert!(note.is_some_and(|note| note.contains("development only")));
    assert_eq!(observed(&gate, "load_module", &[]), "safe no-objection");
}

#[test]
fn plans() {
    let gate = SafetyGate::production(Vec::new());
    let handler = gate.handler();
    let mut trace = Trace::default();
    let mut check = |step: &str, tool_name: &str, level: &str| {
        let request = json!({"step": step, "tool_name": tool_name, "args": {}, "hazard_level": level});
        said(&handler.check(serde_json::from_value(request).unwrap(), &mut trace))
    };
    assert_eq!(
        check("1", "benchtop_probe_temp", "caution"),
        "caution benchtop-probe-read"
    );
    assert_eq!(
        check("2", "benchtop_power_off", "safe"),
        "blocked block-benchtop-destructive"
    );
    assert_eq!(
        check("3", "read_data", "blocked"),
        "blocked plan-declared-blocked"
    );
    assert_eq!(check("4", "unknown", "blocked"), "blocked default-deny-unknown");
    assert_eq!(check("5", "read_data", "safe"), "safe allow-read-only");

    let steps: Vec<&str> = trace.entries().iter().map(TraceEntry::step).collect();
    assert_eq!(steps, ["1", "2", "3", "4", "5"]);
    assert_eq!(&*trace.entries()[0].decision().rule_name, "benchtop-probe-read");
    assert_eq!(
        serde_json::to_value(&trace).unwrap()[2],
        json!({
            "step": "3",
            "tool_name": "read_data",
            "approved": false,
            "hazard_level": "blocked",
            "rule_name": "plan-declared-blocked",
            "note": "the plan declares this step blocked; the rule allow-read-only would approve it",
        })
    );
}

#[test]
fn what_a_plan_declares_blocked_stays_blocked_under_any_rules() {
    for gate in [
        SafetyGate::permissive(),
        SafetyGate::production(vec![allow_by_prefix("", Some("all"))]),
    ] {
        let request = json!({"step": "s", "tool_name": "log_x", "hazard_level": "blocked"});
        let request = serde_json::from_value(request).unwrap();
        let decision = gate.handler().check(request, &mut Trace::default());
        assert_eq!(said(&decision), "blocked plan-declared-blocked");
    }
}

mod conditions;
mod document;
mod observed;
