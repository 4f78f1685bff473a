//! Where a file comes from: image, upper layer, mounts, kernel.

use anyhow::{Result, ensure};

use crate::docker::{Container, Image, Volume, docker};
use crate::host::Host;
use crate::rei::Rei;

#[test]
#[ignore = "root"]
fn each_file_has_its_origin() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let volume = Volume::make()?;
    let container = Container::named("origin");
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("given"), "given\n")?;
    let source = folder.path().display().to_string();
    let (bind, volume_mount) = (format!("{source}:/bind:ro"), format!("{}:/volume", volume.name()));
    let script = "echo x > /volume/kept; echo x > /scratch/gone; echo x > /new; echo x >> /data/two; \
        cat /data/one /data/two /new /bind/given /volume/kept /scratch/gone /etc/hosts /proc/self/status \
        /sys/kernel/mm/transparent_hugepage/hpage_pmd_size > /dev/null";
    let options = ["-v", &bind, "-v", &volume_mount, "--tmpfs", "/scratch"];
    let words = image.run(container.name(), &options, &["sh", "-c", script]);
    let records = Rei::run(&[], &words)?.finish()?.whole(0)?;

    let (bind_origin, volume_origin) = (format!("bind:{source}"), format!("volume:{}", volume.name()));
    let mut wrong = Vec::new();
    for (path, access, origin) in [
        ("/data/one", "read", "image"),
        ("/data/two", "write", "upper"),
        ("/data/two", "read", "upper"),
        ("/new", "create", "upper"),
        ("/new", "read", "upper"),
        ("/bind/given", "read", bind_origin.as_str()),
        ("/volume/kept", "create", volume_origin.as_str()),
        ("/volume/kept", "read", volume_origin.as_str()),
        ("/scratch/gone", "create", "tmpfs"),
        ("/scratch/gone", "read", "tmpfs"),
        ("/etc/hosts", "read", "engine"),
        (
            "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
            "read",
            "sys",
        ),
        ("/dev/null", "write", "dev"),
    ] {
        let found: Vec<_> = records
            .opens_of(path)
            .filter(|open| open.lists("access", access))
            .collect();
        if found.is_empty() || found.iter().any(|open| open.text("origin") != Some(origin)) {
            wrong.push(format!("{access} of {path} is not from {origin}: {found:?}"));
        }
    }
    let own = |open: &crate::record::Event<'_>| {
        open.text("path")
            .is_some_and(|path| path.starts_with("/proc/") && path.ends_with("/status"))
    };
    let status: Vec<_> = records.workload("open").filter(own).collect();
    if !matches!(status.as_slice(), [one] if one.text("origin") == Some("proc") && one.number("ns_pid") != 0)
    {
        wrong.push(format!("/proc/self/status is not from proc: {status:?}"));
    }
    ensure!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let exec = records.workload("exec").next();
    ensure!(
        exec.is_some_and(|exec| exec.text("origin") == Some("image")),
        "{exec:?}"
    );
    drop(container);
    drop(volume);
    host.check_nothing_left()
}

#[test]
#[ignore = "root"]
fn a_program_that_was_written_here_is_not_from_the_image() -> Result<()> {
    let host = Host::take()?;
    let image = Image::small()?;
    let container = Container::named("written");
    let script = "cat /bin/busybox > /tmp/cat; /bin/busybox chmod 755 /tmp/cat; /tmp/cat /data/one";
    let words = image.run(container.name(), &[], &["sh", "-c", script]);
    let records = Rei::run(&["--allow-incomplete"], &words)?.finish()?.whole(0)?;
    let exec = records
        .workload("exec")
        .find(|exec| exec.text("path") == Some("/tmp/cat"));
    ensure!(
        exec.is_some_and(|exec| exec.text("origin") == Some("upper")),
        "{exec:?}"
    );
    ensure!(
        docker(&["ps", "-aq", "--filter", &format!("name={}", container.name())])?.is_empty(),
        "--rm was lost"
    );
    host.check_nothing_left()
}
