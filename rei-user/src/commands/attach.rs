//! `rei attach`: containers that already run, until they end or somebody asks for an end.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio::time::Instant;

use super::account::Ending;
use super::observation::{Observation, Plan};
use super::signals::{Farewell, Signals};
use super::target::{self, Tree};
use super::{judging, reached, runtime, say};
use crate::cgroup;
use crate::cli::{AttachArgs, EXIT_FAILED, EXIT_FINDINGS, EXIT_INCOMPLETE};
use crate::enrich::Target;
use crate::identity::Identity;
use crate::output::{Output, OutputHealth};
use crate::policy::Policy;
use crate::recorder::Instruction;
use crate::report::{ExitCodes, Reason};
use crate::tripwire::Bindings;

/// How often a tree is walked for processes that came meanwhile. Each walk finds fewer, because children of
/// followed processes are followed by the kernel side: two are usual.
const WALKS_MAX: usize = 16;

/// Observes and gives the exit code.
pub(super) fn run(args: AttachArgs) -> Result<u8> {
    let output = match &args.output {
        Some(path) => Some(Output::to_file(path)?),
        None if args.json => Some(Output::to_stdout()),
        None => None,
    };
    let policy = judging::policy(&args.recording.policy, Target::Container)?;
    runtime()?.block_on(observe(&args, policy, output))
}

async fn observe(
    args: &AttachArgs,
    policy: Arc<Policy>,
    output: Option<(Output, OutputHealth)>,
) -> Result<u8> {
    let root = cgroup::mount_point()?;
    let trees = target::find(&root, &args.targets, &policy).await?;
    let mut command = vec!["rei".into(), "attach".into()];
    command.extend(args.targets.iter().cloned());
    let plan = Plan {
        command,
        target: "attach",
        kind: Target::Container,
        identity: Identity::of_known_scopes(),
        bindings: Bindings::default(),
        policy,
    };
    let mut observation = Observation::start(&root, &args.recording, plan, output)?;
    // Not before: until here a signal ends rei, whatever holds it up.
    let mut signals = Signals::listen()?;
    let mut farewell = Farewell::default();
    tokio::select! {
        watched = watch_all(&mut observation, &trees) => {
            watched?;
            announce(args, &trees)?;
        }
        caught = signals.next() => farewell.heed(caught, None),
    }
    let end = args.duration.map(|duration| Instant::now() + duration);
    while !observation.is_all_gone() && !observation.has_output_failed() && !observation.is_broken() {
        tokio::select! {
            caught = signals.next() => farewell.heed(caught, None),
            () = farewell.is_due() => break,
            () = reached(end) => break,
            () = observation.tend() => {}
        }
    }
    let incomplete = if args.recording.allow_incomplete {
        0
    } else {
        EXIT_INCOMPLETE
    };
    let mut reasons = vec![Reason::StartedLate];
    if !observation.is_all_gone() {
        reasons.push(Reason::EndedEarly);
    }
    let ending = Ending {
        command: None,
        exit_codes: ExitCodes {
            findings: EXIT_FINDINGS,
            complete: 0,
            incomplete,
        },
        exit_failed: EXIT_FAILED,
        expects_scope: true,
        // It ran before rei came.
        expects_entrypoint: false,
        counts_processes: false,
        reasons,
    };
    observation.finish(ending, &mut signals, &farewell).await
}

async fn watch_all(observation: &mut Observation, trees: &[Tree]) -> Result<()> {
    for tree in trees {
        watch(observation, tree).await?;
    }
    Ok(())
}

/// Watches a tree, then follows the processes that are in it already.
///
/// The order matters: a process that is born after its parent was followed, or placed into a watched cgroup,
/// is the kernel side's business; everything older is found by walking until nobody new turns up.
async fn watch(observation: &mut Observation, tree: &Tree) -> Result<()> {
    let ids = cgroup::tree_ids(&tree.directory)?;
    let Some(scope) = ids.first().copied() else {
        bail!("the cgroup {} has no id", tree.directory.display())
    };
    observation.own(scope, &tree.path, tree.container.clone()).await;
    observation.sensors().watch_running(&ids)?;
    let again = cgroup::tree_ids(&tree.directory)?;
    if again != ids {
        observation.sensors().watch_running(&again)?;
    }
    let mut known = BTreeSet::new();
    for _ in 0..WALKS_MAX {
        let found = cgroup::tree_processes(&tree.directory);
        let new: Vec<u32> = found.into_iter().filter(|pid| known.insert(*pid)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for pid in new {
            follow(observation, scope, pid).await?;
        }
    }
    say(format_args!(
        "processes come faster than rei can find them in {}",
        tree.directory.display()
    ));
    Ok(())
}

async fn follow(observation: &mut Observation, scope: u64, pid: u32) -> Result<()> {
    // /proc knows the start only in ticks of 10 ms: 0 lets the kernel side read the true one.
    observation.sensors().follow_present(scope, pid, 0)?;
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let program = program.map(|path| path.as_os_str().as_bytes().to_vec());
    observation
        .instruct(Instruction::Present {
            scope,
            pid,
            start_ns: 0,
            program,
        })
        .await;
    Ok(())
}

/// Says that everything from here on is seen: to a script on stdout, unless that carries the events.
fn announce(args: &AttachArgs, trees: &[Tree]) -> Result<()> {
    if args.output.is_some() {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "ATTACHED")
            .and_then(|()| stdout.flush())
            .context("cannot write ATTACHED to stdout")?;
    }
    for tree in trees {
        say(format_args!("observing {}", name(tree)));
    }
    Ok(())
}

fn name(tree: &Tree) -> String {
    let facts = tree.container.as_ref().map(|container| &container.facts);
    match facts.map(|facts| (facts.name.as_deref(), facts.id.get(..12))) {
        Some((Some(name), Some(id))) => format!("container {name} ({id})"),
        Some((None, Some(id))) => format!("container {id}"),
        _ => format!("the cgroup {}", Path::new(&tree.path).display()),
    }
}
