//! Shells and what is usually run in them: busybox, bash, `id`, `ls`.

use std::path::Path;

use anyhow::Result;

use super::case::{Case, Expected, executed, opened};
use super::recipe::Recipe;
use crate::docker::{Image, Layout};
use crate::host::Host;

const AMBIENT_ONLY: &[&str] = &["--policy", "ambient-only"];

/// Counts lines with nothing but the shell.
const COUNT: &str = "#!/bin/sh\nn=0\nwhile read line; do n=$((n + 1)); done < /app/list\necho $n\n\
    echo kept > /dev/stdout\n";
/// The same with programs, a file of the engine and one of its own.
const REACH: &str = "#!/bin/sh\ncat /app/list | wc -l > /tmp/count\nread n < /tmp/count\n\
    read name < /etc/hostname\necho $n\n";

fn busybox() -> Result<Image> {
    let layout = Layout::new()?;
    layout.link(Path::new("bin/wc"), "busybox")?;
    layout.file(Path::new("app/list"), b"a\nb\nc\n", 0o644)?;
    layout.file(Path::new("app/count.sh"), COUNT.as_bytes(), 0o755)?;
    layout.file(Path::new("app/reach.sh"), REACH.as_bytes(), 0o755)?;
    layout.import()
}

#[test]
#[ignore = "root"]
fn a_busybox_script() -> Result<()> {
    let host = Host::take()?;
    let image = busybox()?;
    let clean = Expected::clean();
    let reaching = Expected::findings([
        // cat and wc.
        executed("/bin/busybox").times(2),
        opened("/tmp/count").times(2),
        opened("/etc/hostname"),
    ]);
    for (script, expected, printed) in [
        ("/app/count.sh", clean, "3\nkept\n"),
        ("/app/reach.sh", reaching, "3\n"),
    ] {
        let case = Case {
            image: &image,
            rei: AMBIENT_ONLY,
            docker: &[],
            command: &[script],
        };
        assert_eq!(case.must_be(&expected)?, printed);
    }
    host.check_nothing_left()
}

/// Looks for a user, which asks nscd first, for a terminal, and for what is not there.
const BASH: &str =
    "list=$(< /app/list); for n in $list; do :; done; [[ -e /nowhere ]]; . /app/rest; echo ~root $n";

#[test]
#[ignore = "root"]
fn bash_id_and_ls_are_clean() -> Result<()> {
    let host = Host::take()?;
    let image = Recipe::new("shell")?
        .program("/bin/bash")?
        .program("/bin/ls")?
        .program("/usr/bin/id")?
        .text("/app/list", "a\nb\nc\n")
        .text("/app/rest", "cd /app; cd - > /dev/null\n")
        .image()?;
    for (command, printed) in [
        (&["bash", "-c", BASH][..], "/root c"),
        (&["id"], "uid=0(root) gid=0(root)"),
        (&["ls", "-l", "/app"], "root root  6"),
    ] {
        let case = Case {
            image: &image,
            rei: AMBIENT_ONLY,
            docker: &[],
            command,
        };
        let found = case.must_be(&Expected::clean())?;
        assert!(found.contains(printed), "{found}");
    }
    host.check_nothing_left()
}
