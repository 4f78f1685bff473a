//! Rules that never answer: because of an earlier one, or because of themselves.

use super::*;

/// One rule in words of its own: everything but name and decision.
fn rule(decision: &str, text: &str) -> Rule {
    let text = format!("[[rule]]\nname = \"r\"\ndecision = \"{decision}\"\n{text}");
    rules(&text).remove(0)
}

#[test]
fn an_earlier_rule_that_answers_everything_leaves_nothing() {
    // earlier, later
    let shadowed = [
        ("on = \"t\"", "on = \"t\""),
        ("on = [\"t\", \"u\"]", "on = \"t\"\nargs.a = 1"),
        ("on = { prefix = \"sql_\" }", "on = [\"sql_read\", \"sql_write\"]"),
        ("on = { prefix = \"s\" }", "on = { prefix = \"sql_\" }"),
        ("on = { glob = \"**\" }", "on = { regex = \"x\" }"),
        (
            "on = { regex = \"^a\" }",
            "on = { regex = \"^a\", prefix = \"ab\" }",
        ),
        ("on = \"t\"\nargs.a = [1, 2]", "on = \"t\"\nargs.a = 2"),
        (
            "on = \"t\"\nargs.a = { prefix = \"/a\" }",
            "on = \"t\"\nargs.a = { prefix = \"/a/b\" }\nargs.b = 1",
        ),
        (
            "on = \"t\"\nargs.a = { glob = \"/a/**\" }",
            "on = \"t\"\nargs.a = { glob = \"/a/b/*\" }",
        ),
        (
            "on = \"t\"\nargs.a = { glob = \"/a/*\" }",
            "on = \"t\"\nargs.a = [\"/a/b\", \"/a/c\"]",
        ),
        (
            "on = \"t\"\nargs.a = { above = 1 }",
            "on = \"t\"\nargs.a = { above = 1, below = 3 }",
        ),
        (
            "on = \"t\"\nargs.a = { at_least = 1 }",
            "on = \"t\"\nargs.a = [1, 2.5]",
        ),
        (
            "on = \"t\"\nargs.a = { cidr = \"10.0.0.0/8\" }",
            "on = \"t\"\nargs.a = { cidr = [\"10.1.0.0/16\", \"10.2.0.1\"] }",
        ),
        (
            "on = \"t\"\nargs.a = { cidr = \"10.0.0.0/8\" }",
            "on = \"t\"\nargs.a = \"10.1.2.3\"",
        ),
        (
            "on = \"t\"\nargs.a = { not = \"x\" }",
            "on = \"t\"\nargs.a = { not = [\"x\", \"y\"] }",
        ),
        (
            "on = \"t\"\nargs.a = { any = [\"x\", { prefix = \"y\" }] }",
            "on = \"t\"\nargs.a = { prefix = \"yy\" }",
        ),
        (
            "on = \"t\"\nany = [{ a = 1 }, { b = 1 }]",
            "on = \"t\"\nargs.b = 1",
        ),
        (
            "on = \"t\"\nnot = { a = 1, b = 2 }",
            "on = \"t\"\nnot = { a = 1 }",
        ),
    ];
    for (earlier, later) in shadowed {
        for decision in ["allow", "caution", "block"] {
            let (earlier_rule, later_rule) = (rule("block", earlier), rule(decision, later));
            assert!(earlier_rule.shadows(&later_rule), "{earlier} / {later}");
        }
        if earlier != later {
            assert!(
                !rule("block", later).shadows(&rule("block", earlier)),
                "{later} / {earlier}"
            );
        }
    }
}

#[test]
fn a_rule_that_leaves_something_is_no_shadow() {
    // decision and text of the earlier rule, then of the later one
    let table = [
        ("block", "on = \"t\"\ncalls = \"planned\"", "block", "on = \"t\""),
        (
            "block",
            "on = \"t\"\nargs.a = { prefix = \"/a/\" }",
            "block",
            "on = \"t\"\nargs.b = { prefix = \"/a/b\" }",
        ),
        (
            "block",
            "on = \"t\"\nargs.a = { regex = \"a|b\" }",
            "block",
            "on = \"t\"\nargs.a = { regex = \"a\" }",
        ),
        (
            "block",
            "on = \"t\"\nargs.a = { below = 3 }",
            "block",
            "on = \"t\"\nargs.a = { at_most = 3 }",
        ),
        (
            "block",
            "on = \"t\"\nargs.a = { above = 1 }",
            "block",
            "on = \"t\"\nargs.a = 1",
        ),
        (
            "block",
            "on = \"t\"\nargs.a = \"1\"",
            "block",
            "on = \"t\"\nargs.a = 1",
        ),
        (
            "block",
            "on = \"write_file\"\nargs.path = { glob = \"${workdir}/**\" }",
            "block",
            "on = \"write_file\"\nargs.path = { glob = \"${workdir}/**\" }",
        ),
        // A name never approves what was observed, so this one does not answer it.
        ("allow", "on = { glob = \"*\" }", "block", "on = \"t\""),
        // What it says of a shipped rule's business is not final: the later one is the exception.
        (
            "caution",
            "on = { glob = \"*\" }",
            "allow",
            "on = \"write_device\"\nargs.device = \"block 8:16\"",
        ),
    ];
    for (earlier_says, earlier, later_says, later) in table {
        assert!(
            !rule(earlier_says, earlier).shadows(&rule(later_says, later)),
            "{earlier} / {later}"
        );
    }
    // By name it is final.
    let named = rule("caution", "on = \"write_device\"");
    assert!(named.shadows(&rule(
        "allow",
        "on = \"write_device\"\nargs.device = \"block 8:16\""
    )));
}

/// What is said to follow follows, whatever the arguments are.
#[test]
fn a_shadow_is_never_missed_by_the_gate() {
    let asked = [
        "'x'",
        "['x', '/a/b']",
        "5",
        "[5, 6.5]",
        "'5'",
        "'10.1.2.3'",
        "{ prefix = '/a' }",
        "{ prefix = '/a/b' }",
        "{ glob = '/a/**' }",
        "{ glob = '/a/*' }",
        "{ glob = '**' }",
        "{ regex = '^/a' }",
        "{ above = 4 }",
        "{ at_least = 5, below = 6 }",
        "{ cidr = '10.0.0.0/8' }",
        "{ cidr = '10.1.0.0/16' }",
        "{ not = 'x' }",
        "{ not = ['x', '5'] }",
        "{ not = { prefix = '/a' } }",
        "{ any = ['x', { prefix = '/a' }] }",
        "{ prefix = '/a', not = '/a/b' }",
        "{ all = [{ glob = '/a/*' }, { regex = 'b' }] }",
    ];
    let values = [
        json!({}),
        json!({"a": "x"}),
        json!({"a": "/a/b"}),
        json!({"a": "/a"}),
        json!({"a": "/a/b/c"}),
        json!({"a": "/ab"}),
        json!({"a": 5}),
        json!({"a": 5.5}),
        json!({"a": "5"}),
        json!({"a": "5.0"}),
        json!({"a": 6.5}),
        json!({"a": 4}),
        json!({"a": "10.1.2.3"}),
        json!({"a": "10.1.2.3:80"}),
        json!({"a": "10.2.0.1"}),
        json!({"a": true}),
        json!({"a": ["x", "/a/b"]}),
        json!({"a": ["5", "10.1.2.3"]}),
        json!({"a": []}),
        json!({"a": {"b": 1}}),
        json!({"a": ["/a/b", "/a/c"]}),
    ];
    let all: Vec<Rule> = asked
        .map(|asked| rule("allow", &format!("on = \"t\"\nargs.a = {asked}")))
        .into();
    let answers = |rule: &Rule, call: &Value| {
        let gate = SafetyGate::production(vec![rule.clone()]);
        gate.evaluate("t", call.as_object().unwrap()).approved
    };
    let mut pairs = 0;
    for (earlier, wide) in all.iter().zip(asked) {
        for (later, narrow) in all.iter().zip(asked) {
            if !earlier.shadows(later) {
                continue;
            }
            pairs += 1;
            for value in &values {
                assert!(
                    !answers(later, value) || answers(earlier, value),
                    "{wide} / {narrow}: {value}"
                );
            }
        }
    }
    // Each is its own shadow; the rest are true ones.
    assert!(pairs >= asked.len() + 20, "{pairs}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = [
        (
            "on = \"connect_tcp\"\nargs.port = { equals = 80, above = 100 }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = { equals = \"/a\", prefix = \"/b\" }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = { in = [\"/a\", \"/c\"], glob = \"/b/*\" }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = { all = [{ prefix = \"/a\" }, { prefix = \"/b\" }] }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = { prefix = \"/a/b\", not = { prefix = \"/a\" } }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = { glob = \"/a/*\" }\nnot = { path = { glob = \"/a/**\" } }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.origin = \"image\"\nall = [{ origin = \"upper\" }]",
            true,
        ),
        (
            "on = \"connect_tcp\"\nargs.port = { all = [{ above = 10 }, { below = 5 }] }",
            true,
        ),
        (
            "on = \"connect_tcp\"\nargs.address = { cidr = \"10.0.0.0/8\", equals = \"192.0.2.1\" }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = \"/a\"\nany = [{ path = \"/b\" }, { path = \"/c\" }]",
            true,
        ),
        (
            "on = \"t\"\nargs.a = { prefix = \"x\", not = { prefix = \"x\" } }",
            true,
        ),
        (
            "on = \"read_file\"\nargs.path = \"/b\"\nany = [{ path = \"/b\" }, { path = \"/c\" }]",
            false,
        ),
        (
            "on = \"connect_tcp\"\nargs.port = { in = [80, 443], above = 100 }",
            false,
        ),
        // Lists and planned calls may have several values.
        (
            "on = \"read_file\"\nargs.access = { all = [\"read\", \"write\"] }",
            false,
        ),
        (
            "on = \"sh\"\ncalls = \"observed\"\nargs.argv = { equals = \"-c\", not = \"-x\" }",
            false,
        ),
        ("on = \"t\"\nargs.a = { equals = \"x\", prefix = \"y\" }", false),
        (
            "on = \"read_file\"\nargs.path = { prefix = \"/a\", glob = \"${workdir}/**\" }",
            false,
        ),
    ];
    for (text, is_refused) in refused {
        let text = format!("name = \"r\"\ndecision = \"block\"\n{text}");
        let result = toml::from_str::<RuleSpec>(&text).unwrap().compile();
        assert_eq!(result.is_err(), is_refused, "{text}: {result:?}");
        if let Err(error) = result {
            assert!(error.reason().contains("contradicts itself"), "{error}");
            let span = error.span().unwrap();
            let place = &text[span.clone()];
            assert!(
                ["path", "origin", "port", "address", "a"].contains(&place),
                "{text}: {place}"
            );
        }
    }
}

#[test]
fn an_approval_that_can_never_be_given_is_refused() {
    let table = [
        ("on = \"sh\"\ncalls = \"observed\"", true),
        ("on = \"sh\"\ncalls = \"observed\"\nargs.path = \"/bin/sh\"", true),
        (
            "on = \"sh\"\ncalls = \"observed\"\nargs.path = \"/bin/sh\"\nargs.origin = \"image\"",
            false,
        ),
        ("on = { glob = \"*\" }\ncalls = \"observed\"", true),
        ("on = [\"sh\", \"read_file\"]\ncalls = \"observed\"", false),
        ("on = \"sh\"", false),
    ];
    for (text, is_refused) in table {
        let text = format!("name = \"r\"\ndecision = \"allow\"\n{text}");
        let result = toml::from_str::<RuleSpec>(&text).unwrap().compile();
        assert_eq!(result.is_err(), is_refused, "{text}: {result:?}");
        if let Err(error) = result {
            assert!(error.reason().contains("approve nothing"), "{error}");
            assert_eq!(&text[error.span().unwrap()], "\"allow\"");
        }
        let cautious = text.replace("\"allow\"", "\"caution\"");
        assert!(
            toml::from_str::<RuleSpec>(&cautious).unwrap().compile().is_ok(),
            "{cautious}"
        );
    }
}
