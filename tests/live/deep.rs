//! Paths are whole up to 4,096 components and 32 KiB; a longer one is cut at the root end, and says so.

use anyhow::{Result, ensure};

use crate::docker::{Container, Image, Layout};
use crate::host::Host;
use crate::record::Records;
use crate::rei::Rei;

fn image() -> Result<Image> {
    let layout = Layout::new()?;
    layout.program("deep")?;
    layout.import()
}

/// The records of a run that opens a file below `count` directories with names of `length` bytes.
fn descend(image: &Image, count: usize, length: usize) -> Result<Records> {
    let container = Container::named("deep");
    let (count, length) = (count.to_string(), length.to_string());
    let words = image.run(
        container.name(),
        &["--tmpfs", "/deep"],
        &["deep", &count, &length],
    );
    let done = Rei::run(&["--allow-incomplete"], &words)?.finish()?;
    done.whole(0)
}

/// The path of `end`, and whether it is said to be cut.
fn end(records: &Records) -> Result<(String, bool)> {
    let is_end = |path: &str| path.ends_with("/end");
    let found = records
        .workload("open")
        .filter(|open| open.is_ok() && open.text("path").is_some_and(is_end));
    let found: Vec<_> = found.collect();
    ensure!(found.len() == 1, "{found:?}");
    Ok((
        found[0].text("path").unwrap_or("").to_owned(),
        found[0].lists("cut", "path"),
    ))
}

#[test]
#[ignore = "root"]
fn long_paths_are_whole_or_marked() -> Result<()> {
    let host = Host::take()?;
    let image = image()?;
    // (directories below /deep, length of their names): 4,096 components in all, and just under 32 KiB in all.
    for (count, length) in [(4094, 1), (160, 200)] {
        let (path, is_cut) = end(&descend(&image, count, length)?)?;
        let whole = format!("/deep{}/end", format!("/{}", "d".repeat(length)).repeat(count));
        ensure!(
            path == whole,
            "{count} x {length}: {} bytes of {}",
            path.len(),
            whole.len()
        );
        ensure!(!is_cut, "{count} x {length}: whole, yet said to be cut");
    }
    // Beyond either bound: the file's own end of the path stays, and nobody can take it for the whole.
    for (count, length) in [(4200, 1), (200, 200)] {
        let records = descend(&image, count, length)?;
        let (path, is_cut) = end(&records)?;
        let name = format!("/{}", "d".repeat(length));
        ensure!(
            is_cut,
            "{count} x {length}: {} bytes, not said to be cut",
            path.len()
        );
        ensure!(
            path.ends_with(&format!("{}/end", name.repeat(100))),
            "{count} x {length}: {path:.300}"
        );
        ensure!(
            !path.starts_with("/deep/"),
            "{count} x {length}: cut at the wrong end: {path:.300}"
        );
    }
    host.check_nothing_left()
}
