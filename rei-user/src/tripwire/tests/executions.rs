//! I3, row by row.

use super::files::origin;
use super::*;
use crate::found::FoundProgram;
use crate::image::Source;

const NOTHING: &str = "";
const SH: &str = "programs = [\"/bin/sh\"]";
const SH_RULE: Expected = Rule("programs \"/bin/sh\"");

/// An execution: policy, program, script, chain, origin, arguments, what is expected.
#[derive(Clone, Copy)]
struct Executed(
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<Chain>,
    &'static str,
    &'static [&'static str],
    Expected,
);

const ENTRY: Option<Chain> = Some(Chain::Entrypoint);

const EXECUTED: &[Executed] = &[
    // the entrypoint chain
    Executed(NOTHING, "/bin/app", None, ENTRY, "image", &[], Expected::Chain),
    Executed(
        NOTHING,
        "/bin/sh",
        Some("/entry.sh"),
        ENTRY,
        "image",
        &[],
        Expected::Chain,
    ),
    Executed(
        NOTHING,
        "/usr/bin/python3.11",
        None,
        Some(Chain::Named),
        "image",
        &[],
        Expected::Chain,
    ),
    Executed(
        NOTHING,
        "/usr/bin/python3.11",
        None,
        Some(Chain::Interpreter),
        "image",
        &[],
        Expected::Chain,
    ),
    Executed(
        NOTHING,
        "/sbin/docker-init",
        None,
        ENTRY,
        "engine",
        &[],
        Expected::Chain,
    ),
    Executed(
        NOTHING,
        "/bin/app",
        None,
        Some(Chain::InitChild),
        "image",
        &[],
        Expected::Chain,
    ),
    Executed(NOTHING, "/bin/app", None, ENTRY, "host", &[], Expected::Chain),
    Executed(NOTHING, "/data/app", None, ENTRY, "bind", &[], Trips),
    Executed(NOTHING, "/bin/app", None, ENTRY, "upper", &[], Trips),
    Executed(NOTHING, "memfd:app", None, ENTRY, "memfd", &[], Trips),
    // outside it
    Executed(NOTHING, "/bin/sh", None, None, "image", &[], Trips),
    Executed(NOTHING, "/tmp/x", None, None, "upper", &[], Trips),
    Executed(NOTHING, "/data/x", None, None, "bind", &[], Trips),
    Executed(NOTHING, "memfd:x", None, None, "memfd", &[], Trips),
    // declared programs, from the image only unless the rule says more
    Executed(SH, "/bin/sh", None, None, "image", &["sh", "-c", "x"], SH_RULE),
    Executed(SH, "/bin/sh", None, None, "host", &[], SH_RULE),
    Executed(SH, "/bin/sh", None, None, "upper", &[], Trips),
    Executed(SH, "/bin/sh", None, None, "bind", &[], Trips),
    Executed(SH, "/bin/bash", None, None, "image", &[], Trips),
    Executed(
        "programs = [\"/bin/**\"]",
        "/bin/x/y",
        None,
        None,
        "image",
        &[],
        Rule("programs \"/bin/**\""),
    ),
    Executed(
        "programs = [{ path = \"/data/x\", origins = [\"bind\"], name = \"x\" }]",
        "/data/x",
        None,
        None,
        "bind",
        &[],
        Rule("x"),
    ),
    Executed(
        "programs = [{ path = \"/data/x\", origins = [\"bind\"] }]",
        "/data/x",
        None,
        None,
        "upper",
        &[],
        Trips,
    ),
    Executed(
        "programs = [{ path = \"**\", origins = [\"any\"], name = \"a\" }]",
        "memfd:x",
        None,
        None,
        "memfd",
        &[],
        Rule("a"),
    ),
    Executed(
        "programs = [\"/data/app\"]",
        "/data/app",
        None,
        ENTRY,
        "bind",
        &[],
        Trips,
    ),
    Executed(
        "programs = [{ path = \"/data/app\", origins = [\"bind\"], name = \"app\" }]",
        "/data/app",
        None,
        ENTRY,
        "bind",
        &[],
        Rule("app"),
    ),
    // arguments
    Executed(
        "programs = [{ path = \"/bin/sh\", argv = [\"-c\", \"date*\"], name = \"d\" }]",
        "/bin/sh",
        None,
        None,
        "image",
        &["sh", "-c", "date +%s"],
        Rule("d"),
    ),
    Executed(
        "programs = [{ path = \"/bin/sh\", argv = [\"-c\", \"date*\"] }]",
        "/bin/sh",
        None,
        None,
        "image",
        &["sh", "-c", "rm x"],
        Trips,
    ),
    Executed(
        "programs = [{ path = \"/bin/sh\", argv = [] }]",
        "/bin/sh",
        None,
        None,
        "image",
        &["sh", "-c"],
        Trips,
    ),
    // scripts: the script is the program that has to be declared
    Executed(
        "programs = [\"/app/job.sh\"]",
        "/bin/sh",
        Some("/app/job.sh"),
        None,
        "image",
        &[],
        Rule("programs \"/app/job.sh\""),
    ),
    Executed(SH, "/bin/sh", Some("/tmp/evil.sh"), None, "image", &[], Trips),
    Executed(
        "programs = [\"/app/**\"]",
        "/bin/sh",
        Some("/app/../tmp/evil.sh"),
        None,
        "image",
        &[],
        Trips,
    ),
    Executed(
        "programs = [\"/app/job.sh\"]",
        "/tmp/sh",
        Some("/app/job.sh"),
        None,
        "upper",
        &[],
        Trips,
    ),
    // a SHA-256 that rei has not found allows nothing
    Executed(
        "programs = [{ path = \"/bin/sh\", sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }]",
        "/bin/sh",
        None,
        None,
        "image",
        &[],
        Trips,
    ),
];

fn execution<'a>(
    path: &'a str,
    origin: &'a Origin,
    argv: &'a [&'a [u8]],
    env_names: &'a [&'a [u8]],
) -> Execution<'a> {
    Execution {
        path: Some(path.as_bytes()),
        asked: Some(path.as_bytes()),
        script: None,
        origin,
        chain: None,
        argv,
        is_argv_whole: true,
        env_names,
        is_env_whole: true,
    }
}

#[test]
fn executions() {
    for Executed(text, path, script, chain, from, argv, expected) in EXECUTED {
        let origin = origin(from);
        let argv: Vec<&[u8]> = argv.iter().map(|word| word.as_bytes()).collect();
        let execution = Execution {
            script: script.map(str::as_bytes),
            chain: *chain,
            ..execution(path, &origin, &argv, &[])
        };
        let answer = matcher(text).execution(&execution, &circumstance(Confidence::KernelObject, 0));
        assert_eq!(
            found(&answer),
            *expected,
            "{text} {path} {script:?} {from}: {answer:?}"
        );
    }
}

/// A program of the first rule, as it was found.
fn led_to(path: Option<&str>) -> FoundProgram {
    FoundProgram {
        place: 0,
        rule: "s".to_owned(),
        declared: "/usr/bin/python3".to_owned(),
        name: path.map(|_| b"/usr/bin/python3".to_vec()),
        path: path.map(|path| path.as_bytes().to_vec()),
        sha256: None,
        source: Source::Image,
        fault: None,
    }
}

/// What is said to a program of the image that was asked for as `/usr/bin/python3`.
fn python(text: &str, found: FoundProgram, path: &str, from: &str) -> Answer {
    let bindings = Bindings {
        programs: vec![found],
        ..Bindings::default()
    };
    let origin = origin(from);
    let execution = Execution {
        asked: Some(b"/usr/bin/python3"),
        ..execution(path, &origin, &[], &[])
    };
    let mut matcher = Matcher::bind(&policy(text), bindings).unwrap();
    matcher.execution(&execution, &circumstance(Confidence::KernelObject, 0))
}

#[test]
fn a_declared_name_means_the_file_that_it_led_to() {
    let there = || led_to(Some("/usr/bin/python3.11"));
    for declared in ["/usr/bin/python3", "python3"] {
        let text = format!("programs = [{{ path = \"{declared}\", name = \"s\" }}]");
        let ask = |found, path, from| python(&text, found, path, from);
        assert_eq!(found(&ask(there(), "/usr/bin/python3.11", "image")), Rule("s"));
        // The symlink leads elsewhere by now, or what it led to was replaced.
        let other = ask(there(), "/bin/sh", "image");
        assert!(other.trips[0].why.contains("led to another program"), "{other:?}");
        assert_eq!(found(&ask(there(), "/usr/bin/python3.11", "upper")), Trips);
        assert_eq!(found(&ask(led_to(None), "/usr/bin/python3.11", "image")), Trips);
    }
    let unknown = FoundProgram {
        fault: Some("no layers".to_owned()),
        ..led_to(None)
    };
    let answer = python(
        "programs = [\"/usr/bin/python3\"]",
        unknown,
        "/usr/bin/python3.11",
        "image",
    );
    assert!(answer.trips[0].why.contains("no layers"), "{answer:?}");
}

#[test]
fn one_file_that_holds_many_programs_is_allowed_by_its_declared_name() {
    let bindings = Bindings {
        programs: vec![led_to(Some("/bin/busybox"))],
        ..Bindings::default()
    };
    let policy = policy("programs = [{ path = \"/usr/bin/python3\", name = \"s\" }]");
    let mut matcher = Matcher::bind(&policy, bindings).unwrap();
    let table: [(Option<&[u8]>, Expected); 5] = [
        (Some(b"/usr/bin/python3"), Rule("s")),
        (Some(b"/other/way/to/python3"), Rule("s")),
        (Some(b"/bin/busybox"), Rule("s")),
        (Some(b"/bin/sh"), Trips),
        // Relative: what was asked for is not known as a whole.
        (None, Rule("s")),
    ];
    for (asked, expected) in table {
        let execution = Execution {
            asked,
            ..execution("/bin/busybox", &Origin::Image, &[], &[])
        };
        let answer = matcher.execution(&execution, &circumstance(Confidence::KernelObject, 0));
        assert_eq!(found(&answer), expected, "{asked:?}");
    }
}

#[test]
fn a_bare_name_is_found_for_scripts_and_attempts_too() {
    let bindings = Bindings {
        programs: vec![led_to(Some("/opt/tool.py"))],
        ..Bindings::default()
    };
    let mut matcher = Matcher::bind(
        &policy("programs = [{ path = \"tool\", name = \"s\" }]"),
        bindings,
    )
    .unwrap();
    for script in ["/opt/tool.py", "/usr/bin/python3"] {
        let execution = Execution {
            script: Some(script.as_bytes()),
            ..execution("/bin/interpreter", &Origin::Image, &[], &[])
        };
        let answer = matcher.execution(&execution, &circumstance(Confidence::KernelObject, 0));
        assert_eq!(found(&answer), Rule("s"), "{script}");
    }
    for (path, expected) in [("/usr/bin/python3", Rule("s")), ("/usr/bin/tool", Tried)] {
        let attempt = ExecutionAttempt {
            path: Some(path.as_bytes()),
            is_lexical: true,
            is_check: false,
        };
        let answer = matcher.execution_attempt(&attempt, &circumstance(Confidence::ArgumentText, -13));
        assert_eq!(found(&answer), expected, "{path}");
    }
}

#[test]
fn a_sha256_is_that_of_the_file_that_was_read() {
    let text = format!(
        "programs = [{{ path = \"/usr/bin/python3\", name = \"s\", sha256 = \"{}\" }}]",
        "ab".repeat(32)
    );
    let file = "/usr/bin/python3.11";
    let right = FoundProgram {
        sha256: Some([0xab; 32]),
        ..led_to(Some(file))
    };
    let ask = |found: FoundProgram, path| python(&text, found, path, "image");
    assert_eq!(found(&ask(right.clone(), file)), Rule("s"));
    assert_eq!(found(&python(&text, right.clone(), file, "upper")), Trips);
    let wrong = FoundProgram {
        sha256: Some([0xac; 32]),
        fault: Some("another SHA-256".to_owned()),
        ..right.clone()
    };
    let answer = ask(wrong, file);
    assert_eq!(
        (found(&answer), answer.trips[0].why.as_str()),
        (Trips, "s: another SHA-256")
    );
    // Nothing was read: nothing is allowed, even where the path is the very one.
    assert_eq!(found(&ask(led_to(Some(file)), file)), Trips);
    assert_eq!(found(&ask(led_to(None), "/usr/bin/python3")), Trips);
    assert_eq!(found(&ask(right.clone(), "/usr/bin/python3")), Trips);
    // A script's own bytes are not known.
    let bindings = Bindings {
        programs: vec![right],
        ..Bindings::default()
    };
    let script = Execution {
        script: Some(b"/usr/bin/python3"),
        ..execution(file, &Origin::Image, &[], &[])
    };
    let mut matcher = Matcher::bind(&policy(&text), bindings).unwrap();
    let answer = matcher.execution(&script, &circumstance(Confidence::KernelObject, 0));
    assert!(answer.trips[0].why.contains("script"), "{answer:?}");
}

#[test]
fn a_name_that_is_a_symlink_allows_nothing_and_says_so() {
    let mut matcher = matcher("programs = [\"/usr/bin/python3\"]");
    let execution = Execution {
        asked: Some(b"/usr/bin/python3"),
        ..execution("/usr/bin/python3.11", &Origin::Image, &[], &[])
    };
    let answer = matcher.execution(&execution, &circumstance(Confidence::KernelObject, 0));
    assert!(answer.trips[0].why.contains("names a symlink"), "{answer:?}");
}

#[test]
fn environment_names_are_judged_where_any_are_declared() {
    // policy, names, whole, number of trips, whether the record lacks something
    struct Row(&'static str, &'static [&'static [u8]], bool, usize, bool);
    let table: [Row; 6] = [
        Row("", &[b"SECRET"], true, 0, false),
        Row("", &[b"SECRET"], false, 0, false),
        Row(
            "env = [\"PATH\", \"LC_*\"]",
            &[b"PATH", b"LC_ALL"],
            true,
            0,
            false,
        ),
        Row(
            "env = [\"PATH\"]",
            &[b"PATH", b"SECRET", b"SECRET"],
            true,
            1,
            false,
        ),
        Row("env = []", &[b"PATH"], true, 1, false),
        Row("env = [\"PATH\"]", &[b"PATH"], false, 0, true),
    ];
    for Row(text, names, is_env_whole, trips, lacks) in table {
        let execution = Execution {
            chain: ENTRY,
            is_env_whole,
            ..execution("/bin/app", &Origin::Image, &[], names)
        };
        let answer = matcher(text).execution(&execution, &circumstance(Confidence::KernelObject, 0));
        assert_eq!(
            (answer.trips.len(), answer.lacks.is_some()),
            (trips, lacks),
            "{text}: {answer:?}"
        );
    }
}

#[test]
fn cut_arguments_allow_nothing_where_a_rule_asks_for_them() {
    let cut = |text| {
        let execution = Execution {
            is_argv_whole: false,
            ..execution("/bin/sh", &Origin::Image, &[b"sh", b"-c"], &[])
        };
        matcher(text).execution(&execution, &circumstance(Confidence::KernelObject, 0))
    };
    let answer = cut("programs = [{ path = \"/bin/sh\", argv = [\"-c\"] }]");
    assert_eq!((found(&answer), answer.lacks), (Trips, Some("argv")));
    let answer = cut(SH);
    assert_eq!((found(&answer), answer.lacks), (SH_RULE, None));
}

#[test]
fn executions_that_did_not_happen() {
    // policy, text, errno (0: a check), expected
    let table: [(&str, &str, i64, Expected); 9] = [
        (NOTHING, "/usr/local/bin/ls", -2, Ambient("absent")),
        (NOTHING, "/etc/passwd/ls", -20, Ambient("absent")),
        (NOTHING, "/data/ls", -2, Tried),
        (NOTHING, "/dev/shm/x", -2, Tried),
        (NOTHING, "/bin/su", -13, Tried),
        (NOTHING, "/bin/x", -8, Tried),
        (NOTHING, "/bin/su", 0, Harmless),
        (SH, "/bin/sh", -11, SH_RULE),
        (SH, "/bin/../tmp/sh", -13, Tried),
    ];
    for (text, path, errno, expected) in table {
        let attempt = ExecutionAttempt {
            path: Some(path.as_bytes()),
            is_lexical: true,
            is_check: errno == 0,
        };
        let answer =
            matcher(text).execution_attempt(&attempt, &circumstance(Confidence::ArgumentText, errno));
        assert_eq!(found(&answer), expected, "{text} {path} {errno}: {answer:?}");
    }
}

#[test]
fn programs_that_are_not_settled_are_never_allowed() {
    let everything = "programs = [{ path = \"**\", origins = [\"any\"] }]";
    for confidence in [Confidence::Unresolved, Confidence::Contested] {
        let execution = Execution {
            chain: ENTRY,
            ..execution("/bin/sh", &Origin::Image, &[], &[])
        };
        assert_eq!(
            found(&matcher(everything).execution(&execution, &circumstance(confidence, 0))),
            Trips
        );
        let attempt = ExecutionAttempt {
            path: Some(b"/bin/sh"),
            is_lexical: true,
            is_check: false,
        };
        assert_eq!(
            found(&matcher(everything).execution_attempt(&attempt, &circumstance(confidence, -2))),
            Tried
        );
    }
    let mut cut = circumstance(Confidence::KernelObject, 0);
    cut.is_path_cut = true;
    assert_eq!(
        found(&matcher(everything).execution(&execution("bin/sh", &Origin::Image, &[], &[]), &cut)),
        Trips
    );
}
