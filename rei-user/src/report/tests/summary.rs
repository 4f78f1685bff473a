//! The summary on the screen.

use super::*;
use crate::quote::{shows_as_itself, width};
use crate::report::summary;

/// A run that does a lot, with names that attack the terminal.
fn hostile() -> (Summary, Vec<Value>) {
    let mut run = Run::new();
    everything(&mut run);
    for number in 0..300 {
        let name = format!(
            "/tmp/{number}\x1b[2J\n  record      complete\u{202e}{}",
            "x".repeat(200)
        );
        let (body, path) = opened(
            name.as_bytes(),
            if number % 2 == 0 { FMODE_READ } else { FMODE_WRITE },
        );
        run.event(&body, &[(PartTag::Path, &path)]);
        let errno = -(number % 40) - 1;
        run.event(
            &failed(errno),
            &[(PartTag::TextExit, name.as_bytes()), (PartTag::Base, b"")],
        );
        let exec = ExecBody {
            file: overlay(0, 2, 0),
            ..ExecBody::default()
        };
        run.event(&Body::Exec(exec), &[(PartTag::Path, &path)]);
        let contact = ConnectBody {
            port: 1000 + u16::try_from(number).unwrap(),
            ..tcp(errno)
        };
        run.event(&Body::Connect(contact), &[]);
    }
    for route in [
        Route::IoUring,
        Route::Mount,
        Route::PathChange,
        Route::Namespace,
        Route::KernelCode,
    ] {
        run.report.reason(Reason::RouteWithoutSensor {
            route,
            syscalls: vec!["x".repeat(300)],
            sensor: None,
        });
    }
    run.end(ended())
}

#[test]
fn the_summary_fits_a_screen_and_cannot_be_forged() {
    let (summary, _) = hostile();
    let text = summary.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= summary::LINES, "{} lines:\n{text}", lines.len());
    for line in &lines {
        assert!(width(line) <= summary::COLUMNS, "{} columns: {line}", width(line));
        assert!(line.chars().all(shows_as_itself), "{line:?}");
        assert!(!line.starts_with("  record      complete"), "{text}");
    }
    assert!(text.contains("  record      incomplete"), "{text}");
    assert!(text.contains("more: the last line"), "{text}");
    assert!(
        text.contains("127.0.0.1:80 ECONNREFUSED") && text.contains("127.0.0.1:80 sent to"),
        "{text}"
    );
}

#[test]
fn a_plain_command_is_said_to_have_the_hosts_files() {
    let mut report = Report::new(None, policy(""));
    let command = vec![OsString::from("ls")];
    report
        .begin(&RunStart {
            command,
            target: "plain",
            sensors: Vec::new(),
            programs: Vec::new(),
        })
        .unwrap();
    let text = report.finish(ended()).unwrap().to_string();
    assert!(text.contains("its files are the host's"), "{text}");
}
