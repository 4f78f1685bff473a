//! Policy texts: what is read, what is refused, and where the fault is said to be.

use super::*;
use crate::gate::ObservedDefault;

fn parse(text: &str) -> Result<Checked, Problems> {
    Policy::parse(text, Source::File("mine.toml".into()))
}

fn policy(text: &str) -> Policy {
    parse(text).unwrap_or_else(|problems| panic!("{problems}")).policy
}

#[test]
fn everything_can_be_declared() {
    let text = r#"
        name = "build"
        description = "compiles"
        mode = "unsafe"
        fail_on = "caution"
        dynamic_code = "allow"
        unresolved = "trip"
        exec_is_workload = true
        inputs = ["/src/**", { name = "config", path = "/etc/app.toml" }, "${entrypoint}"]
        outputs = ["/out/**", "${workdir}/build/*"]
        network = [
            "10.0.0.0/8:443",
            "unix:/run/db.sock",
            "unix:@abstract",
            { to = "::1", ports = [80, "8000-8999"], protocol = "tcp", name = "local" },
            { unix = "/run/x/**", name = "sockets" },
            "mirror.example:80",
        ]
        accept = [8080, "9000-9010", { port = 1, name = "one" }]
        env = ["PATH", "LC_*"]
        ambient = [{ pattern = "/proc/uptime", access = ["read"], class = "clock", why = "a clock" }]

        [[programs]]
        name = "assembler"
        path = "/usr/bin/as"
        argv = ["--64", "-o", "**"]
        sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        origins = ["image"]

        [[programs]]
        path = "/bin/sh"

        [gate]
        observed_default = "deny"

        [[gate.rule]]
        name = "metadata-service"
        on = "connect_tcp"
        args.address = "169.254.169.254"
        decision = "block"
    "#;
    let policy = policy(text);
    assert_eq!(
        (policy.name.as_str(), policy.mode, policy.fail_on),
        ("build", Mode::Unsafe, Severity::Caution)
    );
    let names: Vec<&str> = policy.inputs.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(
        names,
        ["inputs \"/src/**\"", "config", "inputs \"${entrypoint}\""]
    );
    assert_eq!(
        (policy.network.len(), policy.unix.len(), policy.accept.len()),
        (3, 3, 3)
    );
    assert_eq!(policy.env.map(|env| env.len()), Some(2));
    assert_eq!(policy.ambient.len(), shipped::ambient().len() + 1);
    assert_eq!(
        (policy.gate.observed_default, policy.gate.rules.len()),
        (ObservedDefault::Deny, 1)
    );
    assert!(policy.exec_is_workload);
}

#[test]
fn an_empty_policy_is_the_default() {
    let policy = policy("");
    assert_eq!(
        (policy.name.as_str(), policy.mode, policy.fail_on),
        ("mine", Mode::Safe, Severity::Tripped)
    );
    assert_eq!(
        (policy.dynamic_code, policy.unresolved),
        (DynamicCode::Caution, Unresolved::Incomplete)
    );
    assert!(policy.env.is_none() && policy.inputs.is_empty() && !policy.exec_is_workload);
}

/// Text, and for each problem its line, column and a word of its message.
struct Row(&'static str, &'static [(usize, usize, &'static str)]);

const WRONG: [Row; 49] = [
    Row("inptus = []", &[(1, 1, "did you mean \"inputs\"")]),
    Row(
        "a = 1\nmode = \"safe\"\nfilesystem = 2",
        &[(1, 1, "no key \"a\""), (3, 1, "it has name")],
    ),
    Row("mode = \"Safe\"", &[(1, 8, "\"safe\" or \"unsafe\"")]),
    Row("mode = true", &[(1, 8, "a string, not a boolean")]),
    Row("mode = \"safe\"\nmode = \"safe\"", &[(2, 1, "no TOML")]),
    Row("x = [1,", &[(1, 8, "no TOML")]),
    Row("name = \"a b\"", &[(1, 8, "letters")]),
    Row(
        "fail_on = \"never\"",
        &[(1, 11, "\"caution\" or \"tripped\" or \"blocked\"")],
    ),
    Row("inputs = \"/a\"", &[(1, 10, "a list")]),
    Row(
        "inputs = [\n  \"/ok\",\n  \"relative\",\n]",
        &[(3, 3, "can never match")],
    ),
    Row("inputs = [\"/a/../b\"]", &[(1, 11, "can never match")]),
    Row("inputs = [\"/a/\"]", &[(1, 11, "can never match")]),
    Row("inputs = [\"/a**\"]", &[(1, 11, "whole components")]),
    Row("inputs = [\"${home}/x\"]", &[(1, 11, "no variable \"home\"")]),
    Row(
        "inputs = [{ pth = \"/a\" }]",
        &[(1, 11, "no `path`"), (1, 13, "did you mean \"path\"")],
    ),
    Row(
        "inputs = [{ name = \"\", path = \"/a\" }]",
        &[(1, 20, "not empty")],
    ),
    Row(
        "inputs = [\"/a\", \"/a\"]",
        &[(1, 17, "is taken: it stands on line 1")],
    ),
    Row(
        "inputs = [{ name = \"x\", path = \"/a\" }]\noutputs = [{ name = \"x\", path = \"/b\" }]",
        &[(2, 12, "is taken")],
    ),
    Row("network = [\"10.0.0.1/8\"]", &[(1, 12, "write 10.0.0.0/8")]),
    Row("network = [\"10.0.0.0/40\"]", &[(1, 12, "0 to 32")]),
    Row("network = [\"a b\"]", &[(1, 12, "no host name")]),
    Row("network = [\"1.2.3.4:0\"]", &[(1, 12, "1 to 65535")]),
    Row("network = [\"unix:run/x\"]", &[(1, 12, "begins with `/`")]),
    Row(
        "network = [{ to = \"::1\", unix = \"/x\" }]",
        &[(1, 12, "either `to` or `unix`")],
    ),
    Row(
        "network = [{ to = \"1.1.1.1\", ports = [] }]",
        &[(1, 38, "`ports` is empty")],
    ),
    Row(
        "network = [{ to = \"1.1.1.1:5\", ports = [6] }]",
        &[(1, 19, "both in `to` and in `ports`")],
    ),
    Row(
        "network = [{ to = \"1.1.1.1\", ports = [90000, \"9-1\"] }]",
        &[(1, 39, "1 to 65535"), (1, 46, "9 is above 1")],
    ),
    Row(
        "network = [{ unix = \"/x\", ports = [1] }]",
        &[(1, 12, "neither")],
    ),
    Row("accept = [0]", &[(1, 11, "1 to 65535")]),
    Row("programs = [\"as*\"]", &[(1, 13, "a bare name")]),
    Row("programs = [\"bin/as\"]", &[(1, 13, "whole path")]),
    Row("programs = [\"\"]", &[(1, 13, "can never match")]),
    Row(
        "programs = [{ path = \"as\", origins = [\"bind\"] }]",
        &[(1, 38, "looked up in the image")],
    ),
    Row(
        "programs = [{ path = \"/a/*\", sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }]",
        &[(1, 39, "one file")],
    ),
    Row(
        "programs = [{ path = \"${entrypoint}\", sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }]",
        &[(1, 48, "one file")],
    ),
    Row(
        "programs = [{ path = \"/a\", origins = [\"image\", \"any\"], sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }]",
        &[(1, 38, "leave `origins` out")],
    ),
    Row("programs = [{ argv = [] }]", &[(1, 13, "no `path`")]),
    Row(
        "programs = [{ path = \"/a\", argv = [\"**\", \"x\"] }]",
        &[(1, 36, "comes last")],
    ),
    Row(
        "programs = [{ path = \"/a\", sha256 = \"abc\" }]",
        &[(1, 37, "64 hexadecimal")],
    ),
    Row(
        "programs = [{ path = \"/a\", origins = [] }]",
        &[(1, 38, "`origins` is empty")],
    ),
    Row(
        "programs = [{ path = \"/a\", origins = [\"img\"] }]",
        &[(1, 39, "\"image\"")],
    ),
    Row(
        "[[gate.rule]]\nname = \"r\"\non = \"read_file\"\nargs.path = { prefix = \"/a\", not = { prefix = \"/\" } }\ndecision = \"block\"",
        &[(4, 6, "contradicts itself")],
    ),
    Row(
        "[[gate.rule]]\nname = \"r\"\non = \"sh\"\ncalls = \"observed\"\ndecision = \"allow\"",
        &[(5, 12, "approve nothing")],
    ),
    Row(
        "[[gate.rule]]\nname = \"r\"\non = \"deploy\"\nargs.to = { glob = \"${workdir}/x\" }\ndecision = \"block\"",
        &[(4, 20, "`path` of observed operations")],
    ),
    Row("env = [\"A=B\"]", &[(1, 8, "holds no `=`")]),
    Row(
        "ambient = [{ pattern = \"/a\", access = [\"read\"] }]",
        &[(1, 12, "class, why is missing")],
    ),
    Row(
        "ambient = [{ pattern = \"/proc/**\", access = [\"read\"], class = \"self\", why = \"x\" }]",
        &[(1, 24, "whole mount, and this one covers /proc;")],
    ),
    Row(
        "ambient = [{ pattern = \"/tmp/?*\", access = [\"read\"], class = \"self\", why = \"x\" }]",
        &[(1, 24, "covers /tmp;")],
    ),
    Row(
        "ambient = [{ pattern = \"**\", access = [\"read\"], class = \"self\", why = \"x\" }]",
        &[(1, 24, "covers /;")],
    ),
];

#[test]
fn faults_are_said_where_they_are() {
    for Row(text, expected) in WRONG {
        let problems = parse(text).unwrap_err().0;
        let found: Vec<(usize, usize)> = problems
            .iter()
            .map(|problem| (problem.line, problem.column))
            .collect();
        let wanted: Vec<(usize, usize)> = expected
            .iter()
            .map(|(line, column, _)| (*line, *column))
            .collect();
        assert_eq!(found, wanted, "{text}\n{}", Problems(problems.clone()));
        for (problem, (.., word)) in problems.iter().zip(expected) {
            assert!(problem.message.contains(word), "{text}: {}", problem.message);
            assert_eq!(
                Some(problem.text.as_str()),
                text.lines().nth(problem.line - 1),
                "{text}"
            );
        }
    }
}

#[test]
fn superfluous_rules_are_warned_of() {
    let table = [
        ("inputs = [\"/a/**\", \"/a/b\"]", 1),
        ("inputs = [\"/a/b\", \"/a/**\"]", 1),
        ("inputs = [\"/a/b\"]\noutputs = [\"/a/**\"]", 1),
        ("inputs = [\"/a/**\"]\noutputs = [\"/a/b\"]", 0),
        ("inputs = [\"/a/*\", \"/b/*\"]", 0),
        ("network = [\"10.0.0.0/8\", \"10.1.0.0/16:443\"]", 1),
        ("network = [\"10.0.0.0/8:80\", \"10.1.0.0/16:443\"]", 0),
        ("network = [\"unix:/run/**\", \"unix:/run/x\"]", 1),
        ("accept = [\"1-100\", 50, 101]", 1),
        ("programs = [\"/bin/**\", \"/bin/sh\"]", 1),
        ("programs = [\"/bin/**\", \"sh\"]", 0),
        ("programs = [{ path = \"/bin/**\", argv = [] }, \"/bin/sh\"]", 0),
        (
            "programs = [\"/bin/**\", { path = \"/bin/sh\", origins = [\"bind\"] }]",
            0,
        ),
        ("env = [\"LC_*\", \"LC_ALL\"]", 1),
        (
            "[[gate.rule]]\nname = \"a\"\non = \"t\"\ndecision = \"block\"\n\
             [[gate.rule]]\nname = \"b\"\non = \"t\"\nargs.x = 1\ndecision = \"allow\"",
            1,
        ),
        (
            "[[gate.rule]]\nname = \"b\"\non = \"t\"\nargs.x = 1\ndecision = \"allow\"\n\
             [[gate.rule]]\nname = \"a\"\non = \"t\"\ndecision = \"block\"",
            0,
        ),
    ];
    for (text, count) in table {
        let warnings = parse(text).unwrap().warnings;
        assert_eq!(warnings.len(), count, "{text}: {warnings:?}");
        assert!(
            warnings
                .iter()
                .all(|warning| warning.message.contains("in the shadow of"))
        );
    }
}

#[test]
fn the_shipped_policies_are_right() {
    for name in SHIPPED {
        let checked = Policy::load(Path::new(name)).unwrap();
        assert_eq!((checked.policy.name.as_str(), checked.warnings.len()), (name, 0));
        assert_eq!(checked.policy.source, Source::Shipped);
    }
    assert_eq!(
        Policy::load(Path::new("observe")).unwrap().policy.mode,
        Mode::Unsafe
    );
    assert!(shipped::ambient().len() > 30);
}

#[test]
fn no_shipped_row_covers_a_whole_mount() {
    // Every row can be read: a row that covers one is refused, and left out.
    let text = include_str!("../../ambient.toml");
    assert_eq!(
        text.lines().filter(|line| *line == "[[row]]").count(),
        shipped::ambient().len()
    );
    for path in [
        "/x",
        "/x/y",
        "/proc/x",
        "/proc/self/environ",
        "/proc/self/x",
        "/proc/7/maps",
        "/proc/sys/x",
        "/sys/x",
        "/sys/kernel/x",
        "/sys/fs/cgroup/x",
        "/sys/fs/cgroup/x/y",
        "/dev/x",
        "/dev/pts/x",
        "/dev/shm/x",
        "/dev/mqueue/x",
        "/tmp/x",
        "/run/x",
        "/etc/x",
        "/home/x",
        "/usr/share/x",
        "memfd:x",
        "socket:[1]",
    ] {
        for row in shipped::ambient() {
            let glob = row.pattern.fixed().unwrap();
            assert!(!glob.matches(path.as_bytes()), "{} covers {path}", glob.text());
        }
    }
}

#[test]
fn files_are_read_or_refused_with_a_next_step() {
    let error = Policy::load(Path::new("no-such-policy")).unwrap_err().to_string();
    assert!(
        error.contains("no-such-policy") && error.contains("ambient-only, read-only, observe"),
        "{error}"
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    std::fs::write(&file, "mode = 1\nname = 2").unwrap();
    let error = Policy::load(&file).unwrap_err().to_string();
    assert!(
        error.contains("mine.toml has 2 problems") && error.contains("line 2, column 8"),
        "{error}"
    );
    std::fs::write(&file, b"name = \"\xff\"").unwrap();
    assert!(Policy::load(&file).is_err());
}

#[test]
fn the_digest_covers_text_and_extensions() {
    let empty = policy("");
    assert_eq!(
        empty.digest(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    let mut extended = policy("");
    extended
        .extend(Extension {
            kind: ExtensionKind::Read,
            value: "/in/**".to_owned(),
        })
        .unwrap();
    // printf '\0--allow-read=/in/**' | sha256sum
    assert_eq!(
        extended.digest(),
        "ed004f7ea10b13842a75af785a13b7d9d13a3d1dde0efc6e25aef48fea9b3517"
    );
    assert_eq!(extended.inputs[0].name, "--allow-read=/in/**");
}

#[test]
fn extensions_are_checked_like_rules() {
    let extend = |kind, value: &str| {
        policy("").extend(Extension {
            kind,
            value: value.to_owned(),
        })
    };
    let table = [
        (ExtensionKind::Read, "/in", "in"),
        (ExtensionKind::Write, "/out/**", "/out/"),
        (ExtensionKind::Connect, "10.0.0.0/8:443", "10.0.0.1/8"),
        (ExtensionKind::Connect, "unix:/run/x", "unix:x"),
        (ExtensionKind::Exec, "sh", "bin/sh"),
        (ExtensionKind::Env, "LC_*", "A=B"),
    ];
    for (kind, right, wrong) in table {
        assert_eq!(extend(kind, right), Ok(()), "{right}");
        let error = extend(kind, wrong).unwrap_err();
        assert!(
            error.starts_with(&format!("--{}={wrong}: ", kind.option())),
            "{error}"
        );
    }
    // Where names are not judged, allowing one must not begin to judge the others.
    let mut unjudged = policy("");
    unjudged
        .extend(Extension {
            kind: ExtensionKind::Env,
            value: "HOME".to_owned(),
        })
        .unwrap();
    assert!(unjudged.env.is_none());
}

#[test]
fn names_are_looked_up_once() {
    let mut found = policy("network = [\"a.example:1\", \"a.example:2\", \"10.0.0.0/8\"]");
    let asked = std::cell::Cell::new(0);
    let answer = |_: &str| {
        asked.set(asked.get() + 1);
        Ok(vec!["192.0.2.7".parse().unwrap()])
    };
    found.resolve_names(answer).unwrap();
    assert_eq!((asked.get(), found.resolved["a.example"].len()), (1, 1));
    let mut lost = policy("network = [\"b.example\"]");
    let error = lost
        .resolve_names(|_| Err(std::io::ErrorKind::NotFound.into()))
        .unwrap_err();
    assert_eq!(error.0, "b.example");
}
