//! Operators: each both ways; and what is refused when a rule is loaded.

use super::*;

/// Whether a rule with this condition on the planned call `t` answers.
fn holds(condition: &str, args: Value) -> bool {
    let gate = gate(&format!(
        "[[rule]]\nname = \"r\"\non = \"t\"\ndecision = \"allow\"\n{condition}"
    ));
    gate.evaluate("t", args.as_object().unwrap()).approved
}

#[test]
fn operators_on_planned_calls() {
    let table = [
        ("args.a = 'x'", json!({"a": "x"}), json!({"a": "xx"})),
        ("args.a = { equals = 'x' }", json!({"a": "x"}), json!({"b": "x"})),
        ("args.a = 5", json!({"a": 5}), json!({"a": 6})),
        ("args.a = 5", json!({"a": "5"}), json!({"a": "five"})),
        ("args.a = '5'", json!({"a": 5}), json!({"a": 5.5})),
        ("args.a = 5.0", json!({"a": 5}), json!({"a": null})),
        ("args.a = true", json!({"a": true}), json!({"a": false})),
        ("args.a = ['x', 'y']", json!({"a": "y"}), json!({"a": "z"})),
        ("args.a = { in = ['x', 1] }", json!({"a": 1}), json!({"a": 2})),
        (
            "args.a = { prefix = 'x/' }",
            json!({"a": "x/y"}),
            json!({"a": "/x/"}),
        ),
        (
            "args.a = { glob = '/a/**' }",
            json!({"a": "/a/b/c"}),
            json!({"a": "/b"}),
        ),
        (
            "args.a = { regex = 'b+$' }",
            json!({"a": "abb"}),
            json!({"a": "ba"}),
        ),
        ("args.a = { above = 1 }", json!({"a": 1.01}), json!({"a": 1})),
        ("args.a = { at_least = 1 }", json!({"a": 1}), json!({"a": 0.99})),
        ("args.a = { below = 1 }", json!({"a": "0.5"}), json!({"a": 1})),
        ("args.a = { at_most = 1 }", json!({"a": 1}), json!({"a": 2})),
        (
            "args.a = { above = 1, at_most = 3 }",
            json!({"a": 3}),
            json!({"a": 1}),
        ),
        (
            "args.a = { above = 1, at_most = 3 }",
            json!({"a": [9, 2]}),
            json!({"a": [0, 9]}),
        ),
        (
            "args.a = { cidr = '10.0.0.0/8' }",
            json!({"a": "10.1.2.3"}),
            json!({"a": "11.0.0.0"}),
        ),
        (
            "args.a = { cidr = '10.0.0.0/8' }",
            json!({"a": "::ffff:10.1.2.3"}),
            json!({"a": "::1"}),
        ),
        (
            "args.a = { cidr = '::ffff:10.0.0.0/104' }",
            json!({"a": "10.1.2.3:80"}),
            json!({"a": "x"}),
        ),
        (
            "args.a = { cidr = ['10.0.0.0/8', 'fd00::/8'] }",
            json!({"a": "[fd00::1]:80"}),
            json!({"a": "fe80::1"}),
        ),
        ("args.a = { not = 'x' }", json!({"a": "y"}), json!({"a": "x"})),
        ("args.a = { not = 'x' }", json!({}), json!({"a": ["y", "x"]})),
        (
            "args.a = { all = [{ prefix = 'a' }, { not = 'ab' }] }",
            json!({"a": "ac"}),
            json!({"a": "ab"}),
        ),
        (
            "args.a = { any = [{ prefix = 'a' }, 'x', ['y', 'z']] }",
            json!({"a": "z"}),
            json!({"a": "b"}),
        ),
        (
            "args.a = { prefix = 'a', not = 'ab' }",
            json!({"a": "ac"}),
            json!({"a": "ab"}),
        ),
        (
            "args.a = { capture = { regex = 'n=(\\d+)', is = { above = 9 } } }",
            json!({"a": "n=1 n=10"}),
            json!({"a": "n=9"}),
        ),
        (
            "args = { a = 1, b = 2 }",
            json!({"a": 1, "b": 2}),
            json!({"a": 1}),
        ),
        ("any = [{ a = 1 }, { b = 2 }]", json!({"b": 2}), json!({"a": 2})),
        (
            "all = [{ a = 1 }, { b = 2 }]",
            json!({"a": 1, "b": 2}),
            json!({"a": 1}),
        ),
        ("not = { a = 1, b = 2 }", json!({"a": 1}), json!({"a": 1, "b": 2})),
        ("args.a = 'x'", json!({"a": [["x"]]}), json!({"a": {"a": "x"}})),
        ("", json!({"a": [{}, [], null]}), json!({})),
    ];
    for (condition, yes, no) in table {
        assert!(holds(condition, yes.clone()), "{condition}: {yes}");
        assert!(
            condition.is_empty() || !holds(condition, no.clone()),
            "{condition}: {no}"
        );
    }
}

#[test]
fn operators_on_observed_operations() {
    let gate = |condition: &str, on: &str| {
        gate(&format!(
            "[[rule]]\nname = \"r\"\non = \"{on}\"\ndecision = \"block\"\n{condition}"
        ))
    };
    let address = |text: &str| Argument::Address(text.parse().unwrap());
    let ways: [&[u8]; 2] = [b"write", b"create"];
    let table = [
        (
            "connect_tcp",
            "args.address = { cidr = '10.0.0.0/8' }",
            ArgName::Address,
            address("::ffff:10.0.0.1"),
            address("11.0.0.1"),
        ),
        (
            "connect_tcp",
            "args.address = '10.0.0.1'",
            ArgName::Address,
            address("::ffff:10.0.0.1"),
            address("10.0.0.2"),
        ),
        (
            "connect_tcp",
            "args.address = { prefix = '10.' }",
            ArgName::Address,
            address("10.0.0.1"),
            address("1.0.0.2"),
        ),
        (
            "write_file",
            "args.access = 'create'",
            ArgName::Access,
            Argument::Texts(&ways),
            text("write"),
        ),
        (
            "write_file",
            "args.path = { glob = '/a/**' }",
            ArgName::Path,
            Argument::Text(b"/a/\xff/\n"),
            text("/b"),
        ),
        (
            "write_file",
            "args.path = '/a'",
            ArgName::Path,
            text("/a"),
            Argument::Unknown,
        ),
        (
            "write_file",
            "args.path = { not = '/a' }",
            ArgName::Path,
            Argument::Absent,
            Argument::Unknown,
        ),
        (
            "write_file",
            "args.errno = 'EACCES'",
            ArgName::Errno,
            text("EACCES"),
            Argument::Absent,
        ),
        (
            "connect_unix",
            "args.address = '@name'",
            ArgName::Address,
            text("@name"),
            text("name"),
        ),
        (
            "connect_vsock",
            "args.address = '2'",
            ArgName::Address,
            text("2"),
            text("3"),
        ),
    ];
    for (on, condition, name, yes, no) in table {
        let gate = gate(condition, on);
        assert_eq!(
            observed(&gate, on, &[(name, yes)]),
            "blocked r",
            "{condition} {yes:?}"
        );
        assert_eq!(
            observed(&gate, on, &[(name, no)]),
            "safe no-objection",
            "{condition} {no:?}"
        );
    }
}

/// The error of the only rule of a text.
fn refused(text: &str) -> (String, String) {
    #[derive(serde::Deserialize)]
    struct File {
        rule: Vec<RuleSpec>,
    }
    let file: Result<File, toml::de::Error> = toml::from_str(text);
    match file.map(|file| file.rule[0].compile()) {
        Err(error) => ("toml".to_owned(), error.message().to_owned()),
        Ok(Err(error)) => {
            if let Some(span) = error.span() {
                assert!(
                    text.get(span.clone()).is_some_and(|text| !text.is_empty()),
                    "{span:?}"
                );
            }
            (error.field().to_owned(), error.reason().to_owned())
        }
        Ok(Ok(rule)) => panic!("{text} makes {rule:?}"),
    }
}

#[test]
fn rules_that_are_wrong_are_refused_by_field() {
    for (rule, field, why) in [
        (
            "on = 'connect_tcp'\nargs.path = '/x'",
            "args.path",
            "connect_tcp has no argument \"path\"",
        ),
        (
            "on = ['read_file', 'connect_tcp']\nargs.path = '/x'",
            "args.path",
            "connect_tcp has no",
        ),
        (
            "on = 'read_file'\nargs.encoding = 'x'",
            "args.encoding",
            "calls = \"planned\"",
        ),
        (
            "on = 'sh'\ncalls = 'observed'\nargs.port = 1",
            "args.port",
            "an observed exec has no",
        ),
        (
            "on = { prefix = 'write_' }\ncalls = 'observed'\nargs.body = 'x'",
            "args.body",
            "no observed operation",
        ),
        (
            "on = 'write_file'\nany = [{ path = '/x' }, { port = 1 }]",
            "any[1].port",
            "no argument",
        ),
        (
            "on = 'connect_tcp'\nargs.port = 'http'",
            "args.port",
            "port is a number",
        ),
        (
            "on = 'connect_tcp'\nargs.port = { prefix = '8' }",
            "args.port.prefix",
            "port is a number",
        ),
        (
            "on = 'connect_tcp'\nargs.address = '10.0.0.1:80'",
            "args.address",
            "no IP address",
        ),
        (
            "on = 'write_file'\nargs.path = { above = 1 }",
            "args.path",
            "is no number",
        ),
        (
            "on = 'write_file'\nargs.path = { cidr = '10.0.0.0/8' }",
            "args.path.cidr",
            "no IP address",
        ),
        (
            "on = 'connect_unix'\nargs.address = { cidr = '10.0.0.0/8' }",
            "args.address.cidr",
            "no IP address",
        ),
        (
            "on = 'write_file'\nargs.path = 5",
            "args.path",
            "write it in quotes",
        ),
        (
            "on = 'write_file'\nargs.access = 'rite'",
            "args.access",
            "access is never \"rite\"",
        ),
        (
            "on = 'change_path'\nargs.op = ['unlink', 'delete']",
            "args.op",
            "op is never \"delete\"",
        ),
        (
            "on = 'change_path'\nargs.op = { any = [{ equals = 'delete' }] }",
            "args.op.any.equals",
            "never",
        ),
        ("on = 't'\nargs.a = []", "args.a", "empty"),
        ("on = 't'\nargs.a = {}", "args.a", "no operator"),
        ("on = 't'\nargs.a = { any = [] }", "args.a.any", "empty"),
        ("on = 't'\nargs.a = { all = [] }", "args.a.all", "empty"),
        ("on = 't'\nargs.a = { cidr = [] }", "args.a.cidr", "empty"),
        ("on = 't'\nargs.a = { prefix = '' }", "args.a.prefix", "prefix"),
        (
            "on = 't'\nargs.a = { glob = '/a**' }",
            "args.a.glob",
            "whole components",
        ),
        (
            "on = 't'\nargs.a = { regex = '(' }",
            "args.a.regex",
            "unclosed group",
        ),
        (
            "on = 't'\nargs.a = { above = 3, below = 3 }",
            "args.a",
            "no number is in this range",
        ),
        (
            "on = 't'\nargs.a = { above = 3, at_least = 3 }",
            "args.a.above",
            "two bounds",
        ),
        (
            "on = 't'\nargs.a = { above = 'x' }",
            "args.a.above",
            "no finite number",
        ),
        (
            "on = 't'\nargs.a = { below = inf }",
            "args.a.below",
            "no finite number",
        ),
        (
            "on = 't'\nargs.a = { below = nan }",
            "args.a.below",
            "no finite number",
        ),
        (
            "on = 't'\nargs.a = { cidr = '10.0.0.1/8' }",
            "args.a.cidr",
            "write 10.0.0.0/8",
        ),
        (
            "on = 't'\nargs.a = { cidr = '10.0.0' }",
            "args.a.cidr",
            "no network",
        ),
        (
            "on = 't'\nargs.a = { cidr = '10.0.0.0/33' }",
            "args.a.cidr",
            "from 0 to 32",
        ),
        (
            "on = 't'\nargs.a = { capture = { regex = 'x', is = 'y' } }",
            "args.a.capture",
            "one group",
        ),
        (
            "on = 't'\nargs.a = { capture = { regex = '(x', is = 'y' } }",
            "args.a.capture",
            "unclosed",
        ),
        ("on = 't'\nargs.a = { equal = 'x' }", "toml", "equal"),
        ("on = 't'\nargs.a = 1979-05-27", "toml", ""),
        ("on = 't'\narg.a = 'x'", "toml", "arg"),
        ("on = 't'\nany = []", "any", "empty"),
        ("on = 't'\nnot = {}", "not", "empty"),
        ("on = []", "on", "empty"),
        ("on = ''", "on", "empty"),
        ("on = 5", "on", "in quotes"),
        ("on = { glob = '[' }", "on.glob", "has no `]`"),
        ("calls = 'both'\non = 't'", "toml", "both"),
        ("", "on", "missing"),
    ] {
        let text = format!("[[rule]]\nname = 'r'\ndecision = 'block'\n{rule}\n");
        let (at, reason) = refused(&text);
        assert!(at == field && reason.contains(why), "{rule}\n  {at}: {reason}");
    }
    for (text, field, why) in [
        ("[[rule]]\non = 't'\ndecision = 'allow'", "name", "missing"),
        (
            "[[rule]]\nname = ' '\non = 't'\ndecision = 'allow'",
            "name",
            "empty",
        ),
        ("[[rule]]\nname = 'r'\non = 't'", "decision", "missing"),
        (
            "[[rule]]\nname = 'r'\non = 't'\ndecision = 'deny'",
            "toml",
            "deny",
        ),
        ("[[rule]]\nuse = 'nope'", "use", "plz5w-conductance"),
        ("[[rule]]\nuse = 'plz5w-conductance'\non = 't'", "use", "remove"),
    ] {
        let (at, reason) = refused(text);
        assert!(at == field && reason.contains(why), "{text}\n  {at}: {reason}");
    }
}

#[test]
fn planned_tools_may_have_any_argument() {
    for rule in [
        "on = 'scpi_send'\nargs.body = 'x'",
        "on = 'read_file'\ncalls = 'planned'\nargs.encoding = 'x'",
        "on = { prefix = 'read_' }\nargs.encoding = 'x'",
        "on = { prefix = 'write_' }\ncalls = 'observed'\nargs.device = { prefix = 'block' }",
    ] {
        rules(&format!("[[rule]]\nname = 'r'\ndecision = 'block'\n{rule}\n"));
    }
}
