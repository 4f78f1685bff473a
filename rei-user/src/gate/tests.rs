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

const DESTRUCTIVE: &str = "blocked block-benchtop-destructive";
const PROBE: &str = "caution benchtop-probe-read";
const READ_ONLY: &str = "safe allow-read-only";
const DENY: &str = "blocked default-deny-unknown";

#[test]
fn catalog_destructive() {
    let gate = SafetyGate::production(Vec::new());
    for (tool_name, expected) in [
        ("benchtop_power_off", DESTRUCTIVE),
        ("benchtop_power_on", DESTRUCTIVE),
        ("benchtop_power_", DESTRUCTIVE),
        ("benchtop_firmware_flash", DESTRUCTIVE),
        ("benchtop_firmware_read", DESTRUCTIVE),
        ("benchtop_wipe", DESTRUCTIVE),
        ("benchtop_wipe_disk", DESTRUCTIVE),
        ("benchtop_hard_reset", DESTRUCTIVE),
        ("benchtop_hard_reset_now", DESTRUCTIVE),
        ("kikusui_cr_mode", DESTRUCTIVE),
        ("kikusui_cr_mode_on", DESTRUCTIVE),
        ("scpi_write", DESTRUCTIVE),
        ("scpi_write_raw", DESTRUCTIVE),
        ("benchtop_power", DENY),
        ("benchtop_firmware", DENY),
        ("benchtop_", DENY),
        ("benchtop_soft_reset", DENY),
        ("kikusui_cc_mode", DENY),
        ("scpi_send", DENY),
        ("my_benchtop_wipe", DENY),
        ("Benchtop_wipe", DENY),
        ("read_benchtop_wipe", READ_ONLY),
    ] {
        assert_eq!(planned(&gate, tool_name), expected, "{tool_name}");
    }
}

#[test]
fn catalog_probe_reads() {
    let gate = SafetyGate::production(Vec::new());
    for (tool_name, expected) in [
        ("benchtop_probe", PROBE),
        ("benchtop_probe_temperature", PROBE),
        ("benchtop_probe_temp", PROBE),
        ("d8_verdict_x", PROBE),
        ("disk_health", PROBE),
        ("disk_health_now", PROBE),
        // By the order, not by the design's table of examples.
        ("disk_health_verdict", PROBE),
        ("environment_read", PROBE),
        ("environment_read_all", PROBE),
        ("smart_read", PROBE),
        ("smart_", PROBE),
        ("d8_verdict", DENY),
        ("smart", DENY),
        ("disk_healt", DENY),
        ("environment_write", DENY),
        ("a_smart_read", DENY),
        ("BENCHTOP_PROBE_X", DENY),
        ("health_disk", READ_ONLY),
    ] {
        assert_eq!(planned(&gate, tool_name), expected, "{tool_name}");
    }
}

#[test]
fn catalog_safe_tools() {
    let gate = SafetyGate::production(Vec::new());
    for (tool_name, expected) in [
        ("read_data", READ_ONLY),
        ("query_x", READ_ONLY),
        ("get_x", READ_ONLY),
        ("list_x", READ_ONLY),
        ("verdict_x", READ_ONLY),
        ("inspect_x", READ_ONLY),
        ("probe_status_x", READ_ONLY),
        ("health_x", READ_ONLY),
        ("read_", READ_ONLY),
        // Named like an operation that is observed, but planned.
        ("read_device", READ_ONLY),
        ("read", DENY),
        ("readfile", DENY),
        ("probe_x", DENY),
        ("Read_data", DENY),
        (" read_data", DENY),
        ("re\u{430}d_data", DENY),
        (
            "shannon_entropy_verdict",
            "safe allow-by-prefix:shannon_entropy_verdict",
        ),
        ("flow_state_verdict", "safe allow-by-prefix:flow_state_verdict"),
        ("flow_state_verdict_2", "safe allow-by-prefix:flow_state_verdict"),
        ("puzzle_verify", "safe allow-by-prefix:puzzle_"),
        ("puzzle_", "safe allow-by-prefix:puzzle_"),
        ("log_healthy", "safe allow-by-prefix:log_"),
        ("log_", "safe allow-by-prefix:log_"),
        ("puzzle", DENY),
        ("log", DENY),
        ("logs_x", DENY),
        ("a_log_x", DENY),
        ("shannon_entropy", DENY),
        ("flow_state", DENY),
    ] {
        assert_eq!(planned(&gate, tool_name), expected, "{tool_name}");
    }
}

#[test]
fn what_nobody_knows_is_denied() {
    let gate = SafetyGate::production(Vec::new());
    for tool_name in [
        "",
        "unknown",
        "deploy",
        "rm",
        "write_file",
        "change_path",
        "\u{0}read_x",
        // Rules of observed operations are not for planned calls.
        "load_module",
        "load_bpf",
        "connect_tcp",
        "write_device",
    ] {
        assert_eq!(planned(&gate, tool_name), DENY, "{tool_name:?}");
    }
    let args = json!({"port": 5025, "device": "block 8:0"});
    assert_eq!(
        said(&gate.evaluate("connect_tcp", args.as_object().unwrap())),
        DENY
    );
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
mod index;
mod observed;
mod order;
mod shadows;
mod variables;
