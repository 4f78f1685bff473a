//! A real gcc: a program that runs four others and leaves temporary files.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::case::{Case, Expected, executed};
use super::recipe::{Recipe, paths_from};
use crate::docker::Image;
use crate::host::{Host, stdout_of};

const SOURCE: &str = "#include <stdio.h>\nint main(void) { return puts(\"built\") < 0; }\n";
/// Its temporary files are removed, and the linker makes its output executable: no sensor sees that yet.
const GAPS: &[&str] = &["chmod", "unlink"];

/// The programs that gcc runs: compiler, assembler, the linker's wrapper, linker.
fn parts() -> Result<Vec<PathBuf>> {
    let part = |name: &str| {
        let named = stdout_of(Command::new("/usr/bin/gcc").arg(format!("-print-prog-name={name}")))
            .context("gcc is needed: run `cargo xtask setup`")?;
        let path = PathBuf::from(named.trim());
        // What gcc looks for in PATH is named without a directory.
        let path = if path.is_absolute() {
            path
        } else {
            PathBuf::from("/usr/bin").join(path)
        };
        path.canonicalize()
            .with_context(|| format!("no {}", path.display()))
    };
    ["cc1", "as", "collect2", "ld"].into_iter().map(part).collect()
}

fn image() -> Result<Image> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("main.c");
    std::fs::write(&source, SOURCE)?;
    let mut recipe = Recipe::new("gcc")?
        .program("/usr/bin/gcc")?
        .file("/usr/bin/as")?
        .file("/usr/bin/ld")?;
    for part in parts()? {
        recipe = recipe.program(part)?;
    }
    let plugin = stdout_of(Command::new("/usr/bin/gcc").arg("-print-file-name=liblto_plugin.so"))?;
    recipe = recipe.program(plugin.trim())?;
    // What goes into the program: headers, and everything that the linker opens.
    let includes = stdout_of(Command::new("/usr/bin/gcc").args(["-O2", "-M"]).arg(&source))?;
    let headers = includes
        .split_whitespace()
        .filter(|word| word.ends_with(".h"))
        .map(PathBuf::from);
    let mut trace = Command::new("/usr/bin/gcc");
    trace
        .args(["-O2", "-Wl,--trace", "-o"])
        .arg(folder.path().join("main"))
        .arg(&source);
    let linked = paths_from(&mut trace)?;
    // The object itself is of this run alone.
    let linked = linked.into_iter().filter(|path| path.exists());
    for path in headers.chain(linked) {
        recipe = recipe.file(path)?;
    }
    recipe.image()
}

#[test]
#[ignore = "root"]
fn a_build_is_clean_if_its_programs_are_declared() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    for name in ["src", "out"] {
        std::fs::create_dir(folder.path().join(name))?;
    }
    std::fs::write(folder.path().join("src/main.c"), SOURCE)?;
    let files = "inputs = [\"/src/**\"]\noutputs = [\"/out/**\", \"/tmp/cc*\"]\n";
    let parts = parts()?;
    let (assembler, linker) = (&parts[1], &parts[3]);
    let programs = format!("programs = [{assembler:?}, {linker:?}, \"/usr/lib/gcc/**\"]\n");
    let undeclared = parts.iter().map(|part| executed(part.to_string_lossy()));
    let image = image()?;
    let (sources, results) = (
        format!("{}:/src:ro", folder.path().join("src").display()),
        format!("{}:/out", folder.path().join("out").display()),
    );
    for (name, policy, expected) in [
        ("declared", format!("{files}{programs}"), Expected::clean()),
        ("undeclared", files.to_owned(), Expected::findings(undeclared)),
    ] {
        let path = folder.path().join(name).with_extension("toml");
        std::fs::write(&path, policy)?;
        let case = Case {
            image: &image,
            rei: &["--policy", &path.to_string_lossy()],
            docker: &["-v", &sources, "-v", &results],
            command: &["gcc", "-O2", "-o", "/out/program", "/src/main.c"],
        };
        case.must_be(&expected.with_gaps(GAPS)).context(name)?;
        let program = folder.path().join("out/program");
        assert_eq!(stdout_of(&mut Command::new(&program))?, "built\n");
        std::fs::remove_file(program)?;
    }
    host.check_nothing_left()
}
