//! Black-box tests of the command line: what is refused, with which words and which exit code. No test here
//! records anything; those that do are in `live.rs`.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use support::{Ended, end, rei, run};

/// The exit code is `code`, nothing came out as data, and the talk holds every one of `words`.
#[track_caller]
fn refuses(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert_eq!(ended.stdout, "", "{ended:?}");
    for word in words {
        assert!(
            ended.stderr.contains(word),
            "{word:?} is not said: {}",
            ended.stderr
        );
    }
}

/// A directory with a `docker` that tells on itself when it is started.
fn fake_docker() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let docker = directory.path().join("docker");
    fs::write(&docker, "#!/bin/sh\necho started >&2\nexit 99\n").expect("a writable directory");
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    directory
}

/// `rei run -- docker run x` with the fake docker, so that nothing real can start.
fn docker_run(directory: &Path, environment: &[(&str, &str)], words: &[&str]) -> Ended {
    let mut command = rei();
    command.env("PATH", directory).envs(environment.iter().copied());
    let ended = end(command.args(["run", "--", "docker"]).args(words));
    assert!(!ended.stderr.contains("started"), "docker was started: {ended:?}");
    ended
}

#[test]
fn help_and_version_are_data() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for word in ["run", "attach", "doctor"] {
        assert!(help.stdout.contains(word), "{word}: {}", help.stdout);
    }
    assert!(!help.stdout.contains("__stage"), "hidden: {}", help.stdout);
    let version = run(&["--version"]);
    assert_eq!(version.code, Some(0));
    assert_eq!(version.stdout.trim(), concat!("rei ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn each_commands_help_names_its_options_and_exit_codes() {
    for (command, words) in [
        (
            "run",
            &[
                "--json",
                "--out",
                "--input",
                "--output",
                "--ring-bytes",
                "--allow-incomplete",
                "--log",
                "--keys",
                "--keep-events",
                "--policy",
                "--allow-read",
                "--allow-write",
                "--fail-on",
                "101",
                "103",
                "125",
                "126",
                "127",
            ][..],
        ),
        (
            "attach",
            &[
                "--json",
                "--out",
                "--for",
                "--allow-incomplete",
                "--log",
                "--keys",
                "--keep-events",
                "TARGET",
                "Exit codes: 3",
            ],
        ),
        ("doctor", &["--json"]),
    ] {
        let help = run(&[command, "--help"]);
        assert_eq!(help.code, Some(0), "{help:?}");
        for word in words {
            assert!(
                help.stdout.contains(word),
                "{command}: {word} is missing: {}",
                help.stdout
            );
        }
        assert!(
            !help.stdout.contains("stall-reader"),
            "a test aid is not for users: {}",
            help.stdout
        );
    }
}

#[test]
fn unknown_flags_are_named() {
    refuses(&run(&["run", "--nope", "--", "true"]), 125, &["--nope", "--help"]);
    refuses(&run(&["attach", "--nope", "x"]), 2, &["--nope"]);
    refuses(&run(&["doctor", "--nope"]), 2, &["--nope"]);
    refuses(&run(&["--nope"]), 2, &["--nope"]);
    refuses(&run(&["nope"]), 2, &["nope"]);
}

#[test]
fn what_is_missing_is_named() {
    refuses(&run::<&str>(&[]), 2, &["Usage"]);
    refuses(&run(&["run"]), 125, &["-- <CMD>"]);
    refuses(&run(&["run", "--"]), 125, &["CMD"]);
    refuses(&run(&["run", "true"]), 125, &["-- <CMD>"]);
    refuses(&run(&["attach"]), 2, &["TARGET"]);
    refuses(&run(&["run", "--json", "--", "true"]), 125, &["--out <FILE>"]);
    refuses(&run(&["run", "-o", "/tmp/x", "--", "true"]), 125, &["--json"]);
    refuses(&run(&["attach", "-o", "/tmp/x", "y"]), 2, &["--json"]);
}

#[test]
fn sizes_and_times_are_checked() {
    for size in ["65537", "1024", "0", "x", "64k"] {
        refuses(
            &run(&["run", "--ring-bytes", size, "--", "true"]),
            125,
            &["--ring-bytes", size],
        );
    }
    refuses(
        &run(&["run", "--ring-bytes", "65537", "--", "true"]),
        125,
        &["power of two", "131072"],
    );
    refuses(&run(&["attach", "--for", "3", "x"]), 2, &["--for", "3s"]);
    refuses(
        &run(&["run", "--keep-events", "some", "--", "true"]),
        125,
        &["findings, all or none"],
    );
}

#[test]
fn the_output_is_made_before_anything_starts() {
    let words = ["run", "--json", "-o", "/nonexistent/out.jsonl", "--", "true"];
    refuses(
        &run(&words),
        125,
        &["/nonexistent/out.jsonl", "directory that exists"],
    );
    refuses(
        &run(&["attach", "--json", "-o", "/nonexistent/out.jsonl", "x"]),
        2,
        &["/nonexistent/out.jsonl"],
    );
}

#[test]
fn a_fifo_that_nobody_reads_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let fifo = fifo.to_str().unwrap();
    refuses(
        &run(&["run", "--json", "-o", fifo, "--", "true"]),
        125,
        &["nobody reads", fifo, "start its reader"],
    );
    refuses(
        &run(&["attach", "--json", "-o", fifo, "x"]),
        2,
        &["nobody reads", fifo],
    );
}

#[test]
fn remote_engines_are_refused() {
    let fake = fake_docker();
    let far = "tcp://192.0.2.1:2375";
    let next = ["not a unix socket on this machine", "run rei on that host"];
    refuses(
        &docker_run(fake.path(), &[("DOCKER_HOST", far)], &["run", "x"]),
        125,
        &next,
    );
    refuses(
        &docker_run(
            fake.path(),
            &[("DOCKER_HOST", "ssh://u@h")],
            &["container", "run", "x"],
        ),
        125,
        &next,
    );
    refuses(
        &docker_run(fake.path(), &[], &["-H", far, "run", "x"]),
        125,
        &next,
    );
    refuses(
        &docker_run(fake.path(), &[], &[&format!("--host={far}"), "run", "x"]),
        125,
        &next,
    );
}

#[test]
fn a_remote_context_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let docker = directory.path().join("docker");
    let script =
        "#!/bin/sh\n[ \"$1 $2\" = 'context inspect' ] && echo ssh://far && exit 0\necho started >&2\n";
    fs::write(&docker, script).unwrap();
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    let next = ["ssh://far", "not a unix socket on this machine"];
    refuses(
        &docker_run(directory.path(), &[], &["--context", "far", "run", "x"]),
        125,
        &next,
    );
    refuses(
        &docker_run(directory.path(), &[("DOCKER_CONTEXT", "far")], &["run", "x"]),
        125,
        &next,
    );
    let config = directory.path().join("config.json");
    fs::write(&config, r#"{"currentContext":"far"}"#).unwrap();
    let config = directory.path().to_str().unwrap();
    refuses(
        &docker_run(directory.path(), &[("DOCKER_CONFIG", config)], &["run", "x"]),
        125,
        &next,
    );
}

#[test]
fn a_missing_docker_is_named() {
    let empty = tempfile::tempdir().unwrap();
    let ended = docker_run(empty.path(), &[], &["run", "x"]);
    refuses(&ended, 125, &["cannot find \"docker\"", "install the docker CLI"]);
    refuses(
        &run(&["run", "--", "/nonexistent/docker", "run", "x"]),
        125,
        &["/nonexistent/docker"],
    );
}

#[test]
fn an_engine_that_is_down_is_named() {
    let fake = fake_docker();
    let nowhere = [("DOCKER_HOST", "unix:///nonexistent/docker.sock")];
    let words = [
        "/nonexistent/docker.sock",
        "no such socket",
        "systemctl start docker",
    ];
    refuses(&docker_run(fake.path(), &nowhere, &["run", "x"]), 125, &words);
    // A socket that nobody listens on: what a killed dockerd leaves behind.
    let socket = fake.path().join("docker.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let host = format!("unix://{}", socket.display());
    let ended = docker_run(fake.path(), &[("DOCKER_HOST", &host)], &["run", "x"]);
    refuses(&ended, 125, &["nobody listens", "start it"]);
    let mut attach = rei();
    attach.env("DOCKER_HOST", &host);
    refuses(&end(attach.args(["attach", "some-name"])), 2, &["nobody listens"]);
}

#[test]
fn podman_is_refused_until_it_is_supported() {
    refuses(
        &run(&["run", "--", "podman", "run", "x"]),
        125,
        &["podman is not supported yet"],
    );
}

#[test]
fn targets_that_are_not_there_are_named() {
    refuses(
        &run(&["attach", "/nonexistent/cgroup"]),
        2,
        &["/nonexistent/cgroup", "no cgroup v2 directory"],
    );
    refuses(
        &run(&["attach", "4194305"]),
        2,
        &["process 4194305", "still running"],
    );
}

/// Runs `rei` as nobody, which only root can.
fn as_nobody(words: &[&str]) -> Ended {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("a directory of ours");
    // The build directory may be closed to nobody.
    let binary = directory.path().join("rei");
    fs::copy(env!("CARGO_BIN_EXE_rei"), &binary).expect("a readable binary");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"])
        .arg(&binary)
        .args(words)
        .env_remove("DOCKER_HOST");
    end(&mut command)
}

#[test]
#[ignore = "root"]
fn without_root_it_says_so() {
    assert_eq!(as_nobody(&["--version"]).code, Some(0));
    refuses(&as_nobody(&["run", "--", "true"]), 125, &["as root"]);
    let ended = as_nobody(&["attach", "1"]);
    refuses(&ended, 2, &["rei: "]);
}
