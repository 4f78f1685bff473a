//! `rei __stage`: enters a cgroup, then becomes the command. The first instruction of the command is in scope
//! already.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::say;
use crate::cli::{EXIT_RUN_FAILED, StageArgs};

/// What env(1) says of a command that is not there.
const EXIT_NOT_FOUND: u8 = 127;
/// What env(1) says of a command that cannot be executed.
const EXIT_NOT_EXECUTABLE: u8 = 126;

/// Returns only if the command was not executed.
pub(super) fn run(args: &StageArgs) -> u8 {
    // 0 stands for the writer itself.
    if let Err(error) = fs::write(args.cgroup.join("cgroup.procs"), "0") {
        say(format_args!(
            "cannot enter the cgroup {}: {error}; is the tree writable?",
            args.cgroup.display()
        ));
        return EXIT_RUN_FAILED;
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return EXIT_RUN_FAILED;
    };
    let error = Command::new(program).args(arguments).exec();
    say(format_args!("cannot execute {program:?}: {error}"));
    if error.kind() == io::ErrorKind::NotFound {
        EXIT_NOT_FOUND
    } else {
        EXIT_NOT_EXECUTABLE
    }
}
