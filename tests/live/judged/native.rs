//! A static program with a runtime of its own, as Go makes them.

use anyhow::Result;

use super::case::{Case, Expected};
use super::recipe::Recipe;
use crate::host::Host;

#[test]
#[ignore = "root"]
fn a_static_program_with_threads_is_clean() -> Result<()> {
    let host = Host::take()?;
    let image = Recipe::new("native")?.compiled("/app/goish", "goish").image()?;
    let case = Case {
        image: &image,
        rei: &["--policy", "ambient-only"],
        docker: &["--memory", "256m", "--cpus", "1"],
        command: &["/app/goish"],
    };
    assert_eq!(case.must_be(&Expected::clean())?, "worked\n");
    host.check_nothing_left()
}
