//! Observed operations: the shipped rules, both ways, and what a policy's rules can change.

use super::*;

const DESTRUCTIVE: &str = "blocked container-destructive";
const PRIVILEGED: &str = "caution container-privileged";
const NOTHING: &str = "safe no-objection";

fn exec(gate: &SafetyGate, name: &str, path: &str, origin: &str) -> String {
    let args = [
        (ArgName::Op, text("exec")),
        (ArgName::Path, text(path)),
        (ArgName::Origin, text(origin)),
    ];
    super::observed(gate, name, &args)
}

#[test]
fn container_rules_on_devices() {
    let gate = SafetyGate::production(Vec::new());
    for (path, device, read, write) in [
        ("/dev/sda", "block 8:0", PRIVILEGED, DESTRUCTIVE),
        ("/tmp/innocent", "block 259:1", PRIVILEGED, DESTRUCTIVE),
        ("/dev/mem", "char 1:1", PRIVILEGED, DESTRUCTIVE),
        ("/tmp/m", "char 1:1", PRIVILEGED, DESTRUCTIVE),
        ("/dev/kmem", "", PRIVILEGED, DESTRUCTIVE),
        ("/dev/port", "char 1:4", PRIVILEGED, DESTRUCTIVE),
        ("/dev/ttyUSB0", "char 188:0", PRIVILEGED, DESTRUCTIVE),
        ("/tmp/serial", "char 188:3", PRIVILEGED, DESTRUCTIVE),
        ("/dev/ttyACM1", "", PRIVILEGED, DESTRUCTIVE),
        ("/dev/usbtmc0", "char 180:176", PRIVILEGED, DESTRUCTIVE),
        ("/tmp/u", "char 180:191", PRIVILEGED, DESTRUCTIVE),
        ("/dev/gpiochip0", "char 254:0", PRIVILEGED, DESTRUCTIVE),
        ("/dev/kvm", "char 10:232", PRIVILEGED, PRIVILEGED),
        ("/tmp/k", "char 10:232", PRIVILEGED, PRIVILEGED),
        ("/dev/fuse", "char 10:229", PRIVILEGED, PRIVILEGED),
        ("/dev/null", "char 1:3", NOTHING, NOTHING),
        ("/dev/urandom", "char 1:9", NOTHING, NOTHING),
        ("/dev/tty", "char 5:0", NOTHING, NOTHING),
        ("/dev/hidraw0", "char 180:175", NOTHING, NOTHING),
        ("/dev/mem2", "char 1:10", NOTHING, NOTHING),
        ("/data/dev/mem", "", NOTHING, NOTHING),
    ] {
        let mut args = vec![(ArgName::Path, text(path))];
        if !device.is_empty() {
            args.push((ArgName::Device, text(device)));
        }
        assert_eq!(
            observed(&gate, "read_device", &args),
            read,
            "read {path} {device}"
        );
        assert_eq!(
            observed(&gate, "write_device", &args),
            write,
            "write {path} {device}"
        );
    }
}

#[test]
fn container_rules_on_the_kernels_files() {
    let gate = SafetyGate::production(Vec::new());
    for (path, origin, process, read, write) in [
        ("/proc/sysrq-trigger", "proc", "", PRIVILEGED, DESTRUCTIVE),
        ("/host/proc/sysrq-trigger", "proc", "", PRIVILEGED, DESTRUCTIVE),
        (
            "/proc/sys/kernel/core_pattern",
            "proc",
            "",
            PRIVILEGED,
            DESTRUCTIVE,
        ),
        (
            "/sys/fs/cgroup/x/release_agent",
            "sys",
            "",
            PRIVILEGED,
            DESTRUCTIVE,
        ),
        (
            "/sys/firmware/efi/efivars/Boot0000",
            "sys",
            "",
            PRIVILEGED,
            DESTRUCTIVE,
        ),
        ("/host/sys/firmware/dmi", "sys", "", PRIVILEGED, DESTRUCTIVE),
        ("/sys/kernel/debug/x", "sys", "", PRIVILEGED, PRIVILEGED),
        (
            "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
            "sys",
            "",
            NOTHING,
            PRIVILEGED,
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "sys",
            "",
            PRIVILEGED,
            PRIVILEGED,
        ),
        ("/proc/1/environ", "proc", "other", PRIVILEGED, PRIVILEGED),
        ("/proc/1/mem", "proc", "other", PRIVILEGED, PRIVILEGED),
        ("/proc/7/maps", "proc", "self", NOTHING, NOTHING),
        ("/proc/meminfo", "proc", "", NOTHING, NOTHING),
        ("/proc/sys/kernel/hostname", "proc", "", NOTHING, NOTHING),
        ("/sys/class/net", "sys", "", NOTHING, NOTHING),
        ("/sys/firmwarex", "sys", "", NOTHING, NOTHING),
    ] {
        let mut args = vec![(ArgName::Path, text(path)), (ArgName::Origin, text(origin))];
        if !process.is_empty() {
            args.push((ArgName::Process, text(process)));
        }
        assert_eq!(observed(&gate, "read_kernel", &args), read, "read {path}");
        assert_eq!(observed(&gate, "write_kernel", &args), write, "write {path}");
        assert_eq!(
            observed(&gate, "read_file", &args),
            NOTHING,
            "a plain file {path}"
        );
    }
}

#[test]
fn container_rules_on_contacts_and_calls() {
    let gate = SafetyGate::production(Vec::new());
    let port = |number| (ArgName::Port, Argument::Number(Number::Int(number)));
    for (number, expected) in [
        (5025, DESTRUCTIVE),
        (4880, DESTRUCTIVE),
        (80, NOTHING),
        (5026, NOTHING),
    ] {
        assert_eq!(
            observed(&gate, "connect_tcp", &[port(number)]),
            expected,
            "{number}"
        );
        assert_eq!(observed(&gate, "send_udp", &[port(number)]), NOTHING, "{number}");
    }
    let path = (ArgName::Path, text("/run/docker.sock"));
    for (peer, expected) in [
        ("container-engine", DESTRUCTIVE),
        ("containerd", DESTRUCTIVE),
        ("", NOTHING),
    ] {
        assert_eq!(
            observed(&gate, "connect_unix", &[path, (ArgName::Peer, text(peer))]),
            expected
        );
    }
    for (op, expected) in [
        ("mount", PRIVILEGED),
        ("umount", PRIVILEGED),
        ("pivot_root", PRIVILEGED),
        ("chroot", NOTHING),
        ("unlink", NOTHING),
        ("chmod", NOTHING),
    ] {
        assert_eq!(
            observed(&gate, "change_path", &[(ArgName::Op, text(op))]),
            expected,
            "{op}"
        );
    }
    for (tool_name, expected) in [
        ("load_module", DESTRUCTIVE),
        ("load_bpf", PRIVILEGED),
        ("trace_process", PRIVILEGED),
        ("enter_namespace", PRIVILEGED),
        ("leave_scope", PRIVILEGED),
        ("map_executable", NOTHING),
        ("list_directory", NOTHING),
        ("accept_tcp", NOTHING),
    ] {
        assert_eq!(observed(&gate, tool_name, &[]), expected, "{tool_name}");
    }
}

#[test]
fn names_gain_nothing() {
    let gate = SafetyGate::production(Vec::new()).with_observed_default(ObservedDefault::Deny);
    for name in [
        "read_x",
        "log_x",
        "puzzle_x",
        "get_",
        "no-objection",
        "shannon_entropy_verdict",
    ] {
        assert_eq!(
            exec(&gate, name, "/x", "upper"),
            "blocked default-deny-unknown",
            "{name}"
        );
    }
    // Rei's own names are prefixes of the catalog too.
    assert_eq!(observed(&gate, "read_file", &[]), "blocked default-deny-unknown");
    assert_eq!(
        observed(&gate, "list_directory", &[]),
        "blocked default-deny-unknown"
    );

    let gate = SafetyGate::production(Vec::new());
    assert_eq!(exec(&gate, "read_x", "/x", "upper"), NOTHING);
    assert_eq!(
        exec(&gate, "benchtop_wipe", "/x", "image"),
        "blocked block-benchtop-destructive"
    );
    assert_eq!(
        exec(&gate, "smart_ctl", "/x", "image"),
        "caution benchtop-probe-read"
    );
    // A program that is called like an operation is not that operation.
    assert_eq!(exec(&gate, "load_module", "/x", "image"), NOTHING);
    let custom = custom_rule(|_, _| true, Answer::new(HazardLevel::Safe), "all");
    let gate = SafetyGate::production(vec![allow_by_prefix("", None), custom]);
    assert_eq!(
        exec(&gate, "benchtop_wipe", "/x", "image"),
        "blocked block-benchtop-destructive"
    );
    assert_eq!(observed(&gate, "load_module", &[]), DESTRUCTIVE);
}

#[test]
fn an_extra_rule_that_names_the_operation_silences_the_gate() {
    let disk = [
        (ArgName::Path, text("/dev/sdb")),
        (ArgName::Device, text("block 8:16")),
    ];
    let other = [
        (ArgName::Path, text("/dev/sda")),
        (ArgName::Device, text("block 8:0")),
    ];
    let named = gate(
        r#"[[rule]]
        name = "scratch-disk"
        on = "write_device"
        args.path = "/dev/sdb"
        decision = "allow""#,
    );
    assert_eq!(observed(&named, "write_device", &disk), "safe scratch-disk");
    assert_eq!(observed(&named, "write_device", &other), DESTRUCTIVE);

    for unnamed in [
        r#"[[rule]]
        name = "r"
        on = { prefix = "write_" }
        decision = "caution""#,
        r#"[[rule]]
        name = "r"
        on = { glob = "*" }
        decision = "allow""#,
    ] {
        let gate = gate(unnamed);
        assert_eq!(observed(&gate, "write_device", &disk), DESTRUCTIVE, "{unnamed}");
    }
    let caution = gate(
        r#"[[rule]]
        name = "r"
        on = { prefix = "write_" }
        decision = "caution"

        [[rule]]
        name = "scratch-disk"
        on = "write_device"
        args.path = "/dev/sdb"
        decision = "allow""#,
    );
    assert_eq!(observed(&caution, "write_device", &disk), "caution r");
    assert_eq!(observed(&caution, "write_device", &other), DESTRUCTIVE);
    assert_eq!(observed(&caution, "write_file", &[]), "caution r");
}

#[test]
fn an_exec_is_named_by_path_and_origin() {
    let table = [
        (r#"on = "smart_ctl""#, "caution benchtop-probe-read"),
        (
            r#"on = "smart_ctl"
        args.path = "/usr/bin/smart_ctl""#,
            "caution benchtop-probe-read",
        ),
        (
            r#"on = "smart_ctl"
        args.path = "/usr/bin/smart_ctl"
        args.origin = "image""#,
            "safe r",
        ),
        (
            r#"on = { glob = "*" }
        args = { op = "exec", path = { prefix = "/usr/bin/" }, origin = "image" }"#,
            "safe r",
        ),
        (
            r#"on = "smart_ctl"
        args.path = { not = { equals = "/x" } }
        args.origin = "image""#,
            "caution benchtop-probe-read",
        ),
    ];
    for (rule, expected) in table {
        let gate = gate(&format!("[[rule]]\nname = \"r\"\n{rule}\ndecision = \"allow\""));
        assert_eq!(
            exec(&gate, "smart_ctl", "/usr/bin/smart_ctl", "image"),
            expected,
            "{rule}"
        );
        assert_eq!(
            exec(&gate, "smart_ctl", "/usr/bin/smart_ctl", "upper"),
            "caution benchtop-probe-read",
            "{rule}"
        );
    }
}

#[test]
fn what_is_not_known_approves_nothing_and_is_said() {
    let gate = gate(
        r#"[[rule]]
        name = "not-etc"
        on = "write_device"
        args.path = { not = { prefix = "/etc" } }
        decision = "allow"

        [[rule]]
        name = "shells"
        on = { glob = "*" }
        calls = "observed"
        args.op = "exec"
        args.argv = "-c"
        decision = "block""#,
    );
    let unknown = Args::new()
        .with_text(ArgName::Path, None)
        .with(ArgName::Device, text("block 8:0"));
    let seen = gate.observe("write_device", &unknown);
    assert_eq!(said(&seen.decision), DESTRUCTIVE);
    assert_eq!(seen.undecided_rule.as_deref(), Some("not-etc"));
    // Absent is not unknown.
    let absent = Args::new().with(ArgName::Device, text("block 8:0"));
    assert_eq!(
        said(&gate.observe("write_device", &absent).decision),
        "safe not-etc"
    );

    let argv: [&[u8]; 2] = [b"sh", b"x"];
    let args = Args::new().with(ArgName::Op, text("exec"));
    let cut = gate.observe("sh", &args.with(ArgName::Argv, Argument::CutTexts(&argv)));
    assert_eq!(
        (said(&cut.decision).as_str(), cut.undecided_rule.as_deref()),
        (NOTHING, Some("shells"))
    );
    let whole = gate.observe("sh", &args.with(ArgName::Argv, Argument::Texts(&argv)));
    assert_eq!(
        (said(&whole.decision).as_str(), whole.undecided_rule),
        (NOTHING, None)
    );
    let argv: [&[u8]; 2] = [b"sh", b"-c"];
    let cut = gate.observe("sh", &args.with(ArgName::Argv, Argument::CutTexts(&argv)));
    assert_eq!(said(&cut.decision), "blocked shells");
}

/// Every set of arguments from a few values, under operations that shipped rules look at and others.
fn every_call(mut look: impl FnMut(&str, &Args<'_>)) {
    let paths = [
        Argument::Absent,
        Argument::Unknown,
        text("/dev/sda"),
        text("/a/b"),
        Argument::Text(b"/a/\xff"),
    ];
    let devices = [Argument::Absent, Argument::Unknown, text("block 8:0")];
    let ports = [
        Argument::Absent,
        Argument::Unknown,
        Argument::Number(Number::Int(5025)),
    ];
    let operations = [
        Operation::WriteDevice,
        Operation::WriteFile,
        Operation::ConnectTcp,
        Operation::LoadModule,
        Operation::LeaveScope,
        Operation::Exec,
    ];
    for operation in operations {
        for tool_name in [operation.tool_name().unwrap_or("sh"), "smart_x"] {
            for path in paths {
                for device in devices {
                    for port in ports {
                        let op = if operation.tool_name() == Some(tool_name) {
                            Argument::Absent
                        } else {
                            text("exec")
                        };
                        let args = Args::new()
                            .with(ArgName::Op, op)
                            .with(ArgName::Path, path)
                            .with(ArgName::Device, device)
                            .with(ArgName::Port, port);
                        look(tool_name, &args);
                    }
                }
            }
        }
    }
}

#[test]
fn adding_a_rule_that_approves_denies_nothing_and_the_reverse() {
    let rules = rules(
        r#"[[rule]]
        name = "a1"
        on = "write_device"
        args.path = { prefix = "/dev/" }
        decision = "allow"
        [[rule]]
        name = "c1"
        on = { glob = "*" }
        args.path = { not = { equals = "/a/b" } }
        decision = "caution"
        [[rule]]
        name = "b1"
        on = { glob = "*_*" }
        args.path = { glob = "/a/*" }
        decision = "block"
        [[rule]]
        name = "a2"
        on = ["connect_tcp", "write_device"]
        decision = "allow"
        [[rule]]
        name = "b2"
        on = "connect_tcp"
        args.port = { above = 1024 }
        decision = "block""#,
    );
    for base in 0..1_u32 << rules.len() {
        let chosen = |with: u32| -> SafetyGate {
            let list = rules.iter().enumerate().filter(|(at, _)| with >> at & 1 == 1);
            SafetyGate::production(list.map(|(_, rule)| rule.clone()).collect())
        };
        let before = chosen(base);
        for (added, rule) in rules.iter().enumerate().filter(|(at, _)| base >> at & 1 == 0) {
            let after = chosen(base | 1 << added);
            every_call(|tool_name, args| {
                let was = before.evaluate_observed(tool_name, args).approved;
                let is = after.evaluate_observed(tool_name, args).approved;
                if args.value(ArgName::Path) == Argument::Unknown {
                    let by = after.evaluate_observed(tool_name, args).rule_name;
                    assert_ne!(&*by, "a1", "what is not known was allowed: {tool_name} {args:?}");
                }
                let worse = if rule.blocks() { !was && is } else { was && !is };
                assert!(!worse, "{} under {base:b}: {tool_name} {args:?}", rule.name());
            });
        }
    }
}

/// Each explanation tells the decision itself, and the rule that made it among those that were tried.
#[test]
fn an_explanation_is_the_decision() {
    let gate = SafetyGate::production(super::index::many_rules(60));
    let mut answered = 0;
    every_call(|tool_name, args| {
        let explained = gate.explain(tool_name, args);
        let decision = &explained.observed.decision;
        assert_eq!(
            explained.observed,
            gate.observe(tool_name, args),
            "{tool_name} {args:?}"
        );
        let by = explained
            .tried
            .iter()
            .find(|tried| *tried.rule == *decision.rule_name && matches!(tried.outcome, Outcome::Answers(_)));
        let is_default = *decision.rule_name == *NO_OBJECTION;
        assert_eq!(by.is_none(), is_default, "{tool_name} {args:?}");
        answered += usize::from(!is_default);
    });
    assert!(answered > 100, "{answered}");
}
