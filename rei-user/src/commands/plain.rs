//! `rei run -- CMD`: a plain command in a fresh cgroup. No engine, no image.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::judging;
use super::observation::{Observation, Plan};
use super::run::ending;
use super::say;
use super::signals::{Farewell, Signals};
use crate::cgroup;
use crate::cli::RunArgs;
use crate::engine::none::{self, FreshCgroup};
use crate::enrich::Target;
use crate::identity::Identity;
use crate::output::{Output, OutputHealth};
use crate::policy::Policy;
use crate::report::CommandExit;

/// Runs the command and gives its exit code, or rei's own.
pub(super) async fn run(
    args: &RunArgs,
    policy: Arc<Policy>,
    output: Option<(Output, OutputHealth)>,
) -> Result<u8> {
    let root = cgroup::mount_point()?;
    sweep(&root);
    let plan = Plan {
        command: args.command.clone(),
        target: "plain",
        kind: Target::Plain,
        identity: Identity::of_known_scopes(),
        bindings: judging::host_bindings(&policy),
        policy,
    };
    let mut observation = Observation::start(&root, &args.recording, plan, output)?;
    // Not before: until here a signal ends rei, whatever holds it up.
    let mut signals = Signals::listen()?;
    let fresh = FreshCgroup::make(&root)?;
    let scope = fresh.id()?;
    observation.sensors().watch_plain(scope)?;
    observation
        .own(scope, &path_below(&root, fresh.directory()), None)
        .await;

    let mut child = tokio::process::Command::from(staged(args, fresh.directory()))
        .spawn()
        .context("cannot start the command; is /proc mounted?")?;
    let mut farewell = Farewell::default();
    let status = loop {
        if observation.is_broken() {
            break None;
        }
        tokio::select! {
            status = child.wait() => break Some(status.context("cannot wait for the command")?),
            caught = signals.next() => farewell.heed(caught, child.id()),
            () = farewell.is_due() => break None,
            () = observation.tend() => {}
        }
    };
    let ending = ending(status.and_then(CommandExit::of), &farewell, &args.recording);
    observation.finish(ending, &mut signals, &farewell).await
    // Only now, detached, the cgroup goes: what outlives the command moves back to where rei was started.
}

/// The command, to be started in the cgroup by rei itself.
fn staged(args: &RunArgs, cgroup: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg("__stage").arg(cgroup).arg("--").args(&args.command);
    command
}

fn path_below(root: &Path, directory: &Path) -> String {
    let path = directory.strip_prefix(root).unwrap_or(directory);
    format!("/{}", path.display())
}

/// Clears away what earlier runs left behind when they were killed.
fn sweep(root: &Path) {
    for leftover in none::sweep(root) {
        say(format_args!(
            "{} process(es) of an earlier run, whose rei was killed, still run in {}; they are left alone",
            leftover.processes,
            leftover.directory.display()
        ));
    }
}
