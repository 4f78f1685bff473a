//! Each row of the ambient table, live: what it allows trips nothing, and its neighbour (a file beside it, or
//! another access) trips.

use anyhow::{Context, Result, ensure};

use super::case::{Case, Expected, Finding, finding, opened};
use super::neighbours::{Act, PRIVILEGED, rows};
use super::recipe::Recipe;
use crate::docker::Image;
use crate::host::Host;

/// Patterns of the table that ships.
fn patterns() -> Result<Vec<String>> {
    let table: toml::Table = include_str!("../../../rei-user/ambient.toml").parse()?;
    let rows = table["row"].as_array().context("the table has no rows")?;
    let pattern = |row: &toml::Value| {
        row.get("pattern")
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    rows.iter()
        .map(|row| pattern(row).context("a row without a pattern"))
        .collect()
}

#[test]
fn every_row_has_a_neighbour() -> Result<()> {
    let mut shipped = patterns()?;
    let mut listed: Vec<String> = rows().map(|row| row.pattern.to_owned()).collect();
    shipped.sort_unstable();
    listed.sort_unstable();
    assert_eq!(shipped, listed, "ambient.toml, and the rows of this test");
    for row in rows() {
        assert!(
            !row.acts.is_empty() && !row.neighbours.is_empty(),
            "{}",
            row.pattern
        );
    }
    Ok(())
}

fn list(acts: impl Iterator<Item = Act>) -> String {
    acts.map(|(flags, path)| format!("{flags} {path}\n")).collect()
}

fn image() -> Result<Image> {
    Recipe::new("ambient")?
        .compiled("/app/acts", "acts")
        .text("/app/own", &list(rows().flat_map(|row| row.acts).copied()))
        .text(
            "/app/beside",
            &list(rows().flat_map(|row| row.neighbours).copied()),
        )
        .image()
}

/// How an act ended: what the program printed.
struct Ended<'a> {
    outcome: &'a str,
    flags: &'a str,
    path: &'a str,
}

/// The number of the child, and every act.
fn ended(printed: &str) -> Result<(&str, Vec<Ended<'_>>)> {
    let read = |line| {
        let words: Vec<&str> = str::split_whitespace(line).collect();
        let [outcome, flags, path] = words[..] else {
            anyhow::bail!("no three words: {line:?}")
        };
        Ok(Ended { outcome, flags, path })
    };
    let mut lines = printed.lines();
    let child = lines.next().context("nothing was printed")?.trim();
    Ok((child, lines.map(read).collect::<Result<_>>()?))
}

/// The finding of an act that trips: named by the kernel if it happened, by its text if it failed.
fn findings_of(ended: &Ended<'_>, child: &str) -> Vec<Finding> {
    if ended.outcome != "ok" {
        return vec![opened(ended.path).attempted(ended.outcome)];
    }
    let object = ended.path.replacen("/proc/self", "/proc/1", 1);
    let object = object.replacen("/proc/child", &format!("/proc/{child}"), 1);
    let mut findings = vec![opened(object.as_str())];
    if PRIVILEGED.contains(&ended.path) {
        findings.push(finding("container-privileged", "open", object));
    }
    findings
}

/// A directory with a time zone, a named pipe with the name of an anonymous one, and nothing else.
fn folder() -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("UTC"), "a time zone\n")?;
    let pipe = folder.path().join("pipe:[1]");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o644.into(),
        0,
    )
    .context("cannot make a named pipe")?;
    Ok(folder)
}

#[test]
#[ignore = "root"]
fn what_a_row_allows_trips_nothing() -> Result<()> {
    let host = Host::take()?;
    let folder = folder()?;
    let zones = format!("{}:/usr/share/zoneinfo:ro", folder.path().display());
    let local = format!("{}:/etc/localtime:ro", folder.path().join("UTC").display());
    let case = Case {
        image: &image()?,
        rei: &["--policy", "ambient-only"],
        docker: &["-t", "-v", &zones, "-v", &local],
        command: &["/app/acts", "/app/own"],
    };
    let printed = case.must_be(&Expected::clean())?;
    let (_, ended) = ended(&printed)?;
    assert_eq!(ended.len(), rows().map(|row| row.acts.len()).sum::<usize>());
    // Some are there on some machines only; what is there was opened.
    let failed: Vec<&str> = ended
        .iter()
        .filter(|act| act.outcome != "ok")
        .map(|act| act.path)
        .collect();
    let may_fail = |path: &str| {
        path.starts_with("/sys/fs/cgroup/")
            || [
                "/proc/version_signature",
                "/dev/stdin",
                "/usr/share/zoneinfo/No",
                "/dev/tty",
            ]
            .contains(&path)
    };
    ensure!(failed.iter().all(|path| may_fail(path)), "not opened: {failed:?}");
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn what_is_beside_a_row_trips() -> Result<()> {
    let host = Host::take()?;
    let folder = folder()?;
    let zones = format!("{}:/usr/share/zoneinfo", folder.path().display());
    let local = format!("{}:/etc/localtime", folder.path().join("UTC").display());
    let data = format!("{}:/data", folder.path().display());
    let case = Case {
        image: &image()?,
        rei: &["--policy", "ambient-only"],
        docker: &["-v", &zones, "-v", &local, "-v", &data],
        command: &["/app/acts", "/app/beside"],
    };
    let printed = case.run(|printed| {
        let (child, ended) = ended(printed)?;
        assert_eq!(ended.len(), rows().map(|row| row.neighbours.len()).sum::<usize>());
        Ok(Expected::findings(
            ended.iter().flat_map(|act| findings_of(act, child)),
        ))
    })?;
    let (_, ended) = ended(&printed)?;
    for row in rows() {
        let mut happened = ended.iter().filter(|act| act.outcome == "ok");
        let is_one = happened.any(|act| row.neighbours.contains(&(act.flags, act.path)));
        ensure!(
            is_one,
            "no neighbour of {} could be opened: {printed}",
            row.pattern
        );
    }
    host.check_nothing_left()
}
