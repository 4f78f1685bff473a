//! A call that seccomp answered has no entry, and the number that it returns says nothing about what was opened.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::docker::{Container, Layout};
use crate::host::Host;
use crate::rei::Rei;

#[test]
#[ignore = "root"]
fn an_answer_of_seccomp_is_no_proof_of_an_open() -> Result<()> {
    let _host = Host::take()?;
    let layout = Layout::new()?;
    layout.program("answer")?;
    layout.file(Path::new("etc/decoy"), b"decoy\n", 0o644)?;
    let image = layout.import()?;
    let container = Container::named("answer");
    let words = image.run(
        container.name(),
        &["--security-opt", "seccomp=unconfined"],
        &["answer"],
    );
    let records = Rei::run(&["--allow-incomplete"], &words)?.finish()?.whole(0)?;
    let opens: Vec<_> = records
        .workload("open")
        .filter(|open| open.is_ok() && open.text("path") == Some("/etc/decoy"))
        .collect();
    // The child's own open of the decoy, and the call that got its number as an answer.
    ensure!(opens.len() == 2, "{opens:?}");
    ensure!(
        opens[0].text("confidence") == Some("kernel_object"),
        "{:?}",
        opens[0]
    );
    ensure!(opens[1].text("confidence") == Some("contested"), "{:?}", opens[1]);
    ensure!(records.end()["completeness"] == "incomplete", "{}", records.end());
    Ok(())
}
