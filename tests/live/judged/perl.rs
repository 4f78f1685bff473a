//! A real Perl.

use std::process::Command;

use anyhow::Result;

use super::case::{Case, Expected, executed, opened};
use super::recipe::{Recipe, paths_from};
use crate::docker::Image;
use crate::host::Host;

const PERL: &str = "/usr/bin/perl";
/// Modules, one of them with a shared object, and what opens entropy.
const USES: &str = "use strict; use warnings; use File::Spec; use POSIX (); use Cwd ();";

fn image() -> Result<Image> {
    let program = format!(
        "{USES} require DynaLoader; require Exporter::Heavy; require XSLoader; \
         print \"$_\\n\" for values %INC, @DynaLoader::dl_shared_objects;"
    );
    let mut recipe = Recipe::new("perl")?
        .program(PERL)?
        .program("/bin/sh")?
        .text("/app/list", "a\nb\nc\n");
    for path in paths_from(Command::new(PERL).args(["-e", &program]))? {
        recipe = if path.extension().is_some_and(|extension| extension == "so") {
            recipe.program(path)?
        } else {
            recipe.file(path)?
        };
    }
    recipe.image()
}

#[test]
#[ignore = "root"]
fn perl() -> Result<()> {
    let host = Host::take()?;
    let image = image()?;
    let shell = std::path::Path::new("/bin/sh").canonicalize()?;
    let clean = format!(
        "{USES} open(my $list, '<', '/app/list') or die; my @lines = <$list>; rand(); print scalar(@lines);"
    );
    let reaching = format!(
        "{USES} open(my $out, '>', '/tmp/made') or die; print $out 'made'; close $out; \
         open(my $hosts, '<', '/etc/hosts') or die; system('exit 0;') == 0 or die; print 'done';"
    );
    let findings = [
        opened("/tmp/made"),
        opened("/etc/hosts"),
        executed(shell.to_string_lossy()),
    ];
    for (program, expected, printed) in [
        (clean, Expected::clean(), "3"),
        (reaching, Expected::findings(findings), "done"),
    ] {
        let case = Case {
            image: &image,
            rei: &["--policy", "ambient-only"],
            docker: &[],
            command: &["perl", "-e", &program],
        };
        assert_eq!(case.must_be(&expected)?, printed);
    }
    host.check_nothing_left()
}

/// The usual way to replace a file whole.
#[test]
#[ignore = "root"]
fn a_writer_by_way_of_a_temporary_file_is_clean() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let mount = format!("{}:/out", folder.path().display());
    let case = Case {
        image: &image()?,
        rei: &["--policy", "ambient-only", "--allow-write", "/out/**"],
        docker: &["-v", &mount],
        command: &[
            "perl",
            "-e",
            "open(my $out, '>', '/out/.new') or die; print $out 'whole'; close $out; \
             rename('/out/.new', '/out/result') or die;",
        ],
    };
    case.must_be(&Expected::clean().with_gaps(&["rename"]))?;
    assert_eq!(std::fs::read_to_string(folder.path().join("result"))?, "whole");
    host.check_nothing_left()
}
