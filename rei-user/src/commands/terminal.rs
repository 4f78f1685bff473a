//! The terminal that the command was started from: who has its attention, and how it was set before.

use std::fs::File;

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// Whether this process's group has a terminal's attention.
pub(super) fn is_in_foreground() -> bool {
    let Ok(terminal) = File::open("/dev/tty") else {
        return false;
    };
    tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Settings of the terminal at stdin, kept because a docker client that is killed does not put them back.
pub(super) struct Settings {
    before: Option<Termios>,
}

impl Settings {
    /// Keeps them, if stdin is a terminal.
    pub(super) fn keep() -> Self {
        Self {
            before: tcgetattr(stdin()).ok(),
        }
    }

    /// Puts them back. In the background that would stop this process, and the terminal is somebody else's
    /// then.
    pub(super) fn put_back(&self) {
        if let Some(before) = self.before.as_ref().filter(|_| is_in_foreground()) {
            // Nothing depends on it but how the shell's next line looks.
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
