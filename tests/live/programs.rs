//! Declared programs: found in the image's layers when the run starts, whatever the container does afterwards.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::docker::{Container, Image, Layout};
use crate::host::{Host, stdout_of};
use crate::record::Records;
use crate::rei::{Done, Rei};

const BUSYBOX: &str = "/bin/busybox";

/// An image whose programs are copies of busybox behind symlinks, in two layers.
fn image() -> Result<Image> {
    let layout = Layout::new()?;
    let busybox = std::fs::read(BUSYBOX).context("no busybox: run `cargo xtask setup`")?;
    for name in ["id", "date", "wc", "ls"] {
        layout.file(&Path::new("opt/real").join(name), &busybox, 0o755)?;
        layout.link(
            &Path::new("usr/bin").join(name),
            &format!("../../opt/real/{name}"),
        )?;
    }
    layout.file(Path::new("opt/gone/id"), &busybox, 0o755)?;
    layout.file(Path::new("opt/anew/id"), &busybox, 0o755)?;
    // A whiteout, and a directory that hides the one below it.
    let script = "rm -r /opt/gone /opt/anew; mkdir /opt/anew; cp /opt/real/id /opt/anew/cat";
    layout.import()?.changed_by(script)
}

fn judged(image: &Image, policy: &str, script: &str, options: &[&str]) -> Result<Done> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, policy)?;
    let container = Container::named("programs");
    let options = [&["-e", "PATH=/usr/bin:/bin"], options].concat();
    let words = image.run(container.name(), &options, &["/bin/sh", "-c", script]);
    Rei::run(&["--policy", &file.display().to_string()], &words)?.finish()
}

/// `object: why` of each finding.
fn findings(records: &Records) -> Vec<String> {
    let text = |finding: &Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let findings = records.end()["findings"].as_array().into_iter().flatten();
    findings
        .map(|finding| {
            let why = text(finding, "why");
            format!("{}: {why}", text(finding, "object"))
        })
        .collect()
}

/// What the record says of the programs that were declared.
fn told(records: &Records) -> Vec<Value> {
    let container = records.of_type("container").next();
    let programs = container.and_then(|line| line["programs"].as_array());
    programs.cloned().unwrap_or_default()
}

#[test]
#[ignore = "root"]
fn names_and_digests_are_those_of_the_image() -> Result<()> {
    let _host = Host::take()?;
    let image = image()?;
    let sum = stdout_of(Command::new("sha256sum").arg(BUSYBOX))?;
    let right = sum.get(..64).context("a digest")?;
    let wrong = "0".repeat(64);
    let policy = format!(
        "programs = [\"id\", {{ path = \"/usr/bin/date\", sha256 = \"{right}\" }},
            {{ path = \"wc\", sha256 = \"{wrong}\" }}, {{ path = \"/opt/anew/cat\", sha256 = \"{right}\" }},
            {{ path = \"/opt/gone/id\", sha256 = \"{right}\" }}, \"/opt/anew/id\"]"
    );
    let script =
        "/usr/bin/id; /usr/bin/date; /opt/anew/cat /dev/null; /usr/bin/wc /dev/null; /usr/bin/ls /; :";
    let done = judged(&image, &policy, script, &[])?;
    let records = done.whole(101)?;
    let mut found = findings(&records);
    found.sort();
    ensure!(found.len() == 2, "{found:?}\n{}", done.story());
    ensure!(
        found[0].starts_with("/opt/real/ls: a program outside"),
        "{found:?}"
    );
    ensure!(
        found[1] == "/opt/real/wc: programs \"wc\": the file has another SHA-256 than the rule names",
        "{found:?}"
    );
    ensure!(
        done.stderr
            .contains("allows nothing: the file has another SHA-256"),
        "{}",
        done.story()
    );
    let told = told(&records);
    let line = |declared: &str| {
        let found = told.iter().find(|program| program["declared"] == declared);
        found.with_context(|| format!("{declared} is not in {told:?}"))
    };
    let id = line("id")?;
    ensure!(
        id["name"] == "/usr/bin/id" && id["path"] == "/opt/real/id",
        "{id}"
    );
    ensure!(id["read_from"] == "image" && id["sha256"].is_null(), "{id}");
    for declared in ["/usr/bin/date", "wc", "/opt/anew/cat"] {
        ensure!(line(declared)?["sha256"] == right, "{}", line(declared)?);
    }
    for declared in ["/opt/gone/id", "/opt/anew/id"] {
        ensure!(line(declared)?["path"].is_null(), "{}", line(declared)?);
        ensure!(
            line(declared)?["fault"] == "there is no such file",
            "{}",
            line(declared)?
        );
    }
    Ok(())
}

#[test]
#[ignore = "root"]
fn what_the_container_does_to_a_name_changes_nothing() -> Result<()> {
    let _host = Host::take()?;
    let image = image()?;
    let policy =
        "programs = [\"/usr/bin/id\", \"date\", \"/bin/busybox\"]\noutputs = [\"/usr/bin/**\", \"/opt/**\"]";
    // The shell of busybox runs itself for names without a slash.
    let script = "/usr/bin/id; ln -sf /opt/real/wc /usr/bin/id; /usr/bin/id; \
        cp /opt/real/ls /opt/real/date; /usr/bin/date; :";
    let records = judged(&image, policy, script, &[])?.whole(101)?;
    let mut found = findings(&records);
    found.sort();
    ensure!(found.len() == 2, "{found:?}");
    ensure!(
        found[0].starts_with("/opt/real/date: ") && found[0].contains("not from the image"),
        "{found:?}"
    );
    ensure!(
        found[1] == "/opt/real/wc: programs \"/usr/bin/id\" led to another program when the run started",
        "{found:?}"
    );
    Ok(())
}

#[test]
#[ignore = "root"]
fn below_a_mount_the_image_has_no_say() -> Result<()> {
    let _host = Host::take()?;
    let image = image()?;
    let folder = tempfile::tempdir()?;
    std::fs::copy(BUSYBOX, folder.path().join("id"))?;
    let mount = format!("{}:/opt/real:ro", folder.path().display());
    let done = judged(
        &image,
        "programs = [\"/usr/bin/id\"]",
        "/usr/bin/id; :",
        &["-v", &mount],
    )?;
    let records = done.whole(101)?;
    let found = findings(&records);
    ensure!(
        found
            .iter()
            .any(|finding| finding.contains("below the mount /opt/real")),
        "{found:?}"
    );
    ensure!(
        told(&records).iter().all(|program| program["path"].is_null()),
        "{:?}",
        told(&records)
    );
    Ok(())
}

/// The chain of the last execution, and its path.
fn chain(image: &Image, script: &str) -> Result<(Option<String>, String)> {
    let container = Container::named("chain");
    let options = ["-e", "PATH=/usr/bin:/bin"];
    let words = image.run(container.name(), &options, &["/bin/sh", "-c", script, "id"]);
    let records = Rei::run(&["--allow-incomplete"], &words)?.finish()?.whole(0)?;
    let last = records.workload("exec").last().context("no execution")?;
    let path = last.text("path").context("no path")?.to_owned();
    Ok((last.text("chain").map(str::to_owned), path))
}

#[test]
#[ignore = "root"]
fn what_the_command_line_names_is_what_it_named_in_the_image() -> Result<()> {
    let _host = Host::take()?;
    let image = image()?;
    let own = chain(&image, "exec /usr/bin/id")?;
    ensure!(
        own == (Some("named".to_owned()), "/opt/real/id".to_owned()),
        "{own:?}"
    );
    let other = chain(
        &image,
        "ln -sf /opt/real/date /usr/bin/id; exec /usr/bin/id --help",
    )?;
    ensure!(other == (None, "/opt/real/date".to_owned()), "{other:?}");
    Ok(())
}

#[test]
#[ignore = "root"]
fn programs_of_a_plain_command_are_the_hosts() -> Result<()> {
    let _host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("policy.toml");
    let sum = stdout_of(Command::new("sha256sum").arg(BUSYBOX))?;
    let busybox = std::fs::canonicalize(BUSYBOX)?;
    let digest = sum.get(..64).context("a digest")?;
    std::os::unix::fs::symlink(BUSYBOX, folder.path().join("ls"))?;
    let link = folder.path().join("ls").display().to_string();
    std::fs::write(
        &file,
        format!("inputs = [\"**\"]\nprograms = [{{ path = \"{link}\", sha256 = \"{digest}\" }}]"),
    )?;
    let script = format!("{link} / > /dev/null; :");
    let words = ["/bin/sh", "-c", &script].map(str::to_owned);
    let options = ["--allow-incomplete", "--policy", &file.display().to_string()];
    let records = Rei::run(&options, &words)?.finish()?.whole(0)?;
    let run = records.of_type("run").next().context("no first line")?;
    let program = &run["programs"][0];
    ensure!(
        program["declared"] == link.as_str() && program["read_from"] == "host",
        "{program}"
    );
    ensure!(
        program["path"] == busybox.display().to_string().as_str(),
        "{program}"
    );
    ensure!(
        program["sha256"] == digest && program["fault"].is_null(),
        "{program}"
    );
    Ok(())
}
