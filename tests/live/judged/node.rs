//! A real Node: threads, timers, and code that is made while it runs.

use std::path::Path;

use anyhow::{Context, Result};

use super::case::{Case, Expected, finding, opened};
use super::recipe::Recipe;
use crate::docker::Image;
use crate::host::Host;

/// Built-in modules that Debian's Node loads from files.
const EXTERNAL: [&str; 4] = ["acorn", "acorn-walk", "cjs-module-lexer", "undici"];

const STEP: &str = "
const fs = require('fs'), crypto = require('crypto');
const hot = n => { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; };
fs.promises.readFile('/app/list', 'utf8').then(text => {
    setTimeout(() => console.log(text.length, crypto.randomBytes(4).length, hot(5e6) > 0), 10);
});
";
const REACH: &str = "
const fs = require('fs'), net = require('net');
fs.readFileSync('/etc/hosts');
fs.writeFileSync('/tmp/made', 'made');
net.connect(80, '192.0.2.1').on('error', error => console.log(error.code));
";

fn image() -> Result<Image> {
    let mut recipe = Recipe::new("node")?
        .program("/usr/bin/node")?
        .text("/app/list", "a\nb\nc\n")
        .text("/app/step.js", STEP)
        .text("/app/reach.js", REACH);
    for name in EXTERNAL {
        recipe = with_tree(recipe, &Path::new("/usr/share/nodejs").join(name))?;
    }
    recipe.image()
}

/// With every file of a directory, if it is there.
fn with_tree(mut recipe: Recipe, folder: &Path) -> Result<Recipe> {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        recipe = if entry.path().is_dir() {
            with_tree(recipe, &entry.path())?
        } else {
            recipe.file(entry.path())?
        };
    }
    Ok(recipe)
}

#[test]
#[ignore = "root"]
fn node_with_dynamic_code_allowed() -> Result<()> {
    let host = Host::take()?;
    let folder = tempfile::tempdir()?;
    let policy = folder.path().join("node.toml");
    std::fs::write(&policy, "dynamic_code = \"allow\"\n")?;
    let image = image()?;
    let reaching = [
        opened("/etc/hosts"),
        opened("/tmp/made"),
        finding("I2", "connect", "192.0.2.1:80").attempted("ENETUNREACH"),
    ];
    for (script, expected, printed) in [
        ("/app/step.js", Expected::clean(), "6 4 true\n"),
        ("/app/reach.js", Expected::findings(reaching), "ENETUNREACH\n"),
    ] {
        let case = Case {
            image: &image,
            rei: &["--policy", &policy.to_string_lossy()],
            docker: &[],
            command: &["node", script],
        };
        assert_eq!(case.must_be(&expected)?, printed);
    }
    host.check_nothing_left()
}
