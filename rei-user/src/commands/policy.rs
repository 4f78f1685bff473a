//! `rei policy`: checks a policy, and says what it answers to one operation and why.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};

use crate::cli::{EXIT_FINDINGS, PolicyCheckArgs, PolicyCommand, PolicyExplainArgs};
use crate::enrich::{Access, Confidence, Errno, Origin, Outcome};
use crate::policy::{Checked, LoadError, Policy, Transport};
use crate::quote::quote;
use crate::tripwire::{
    Answer, Bindings, Circumstance, Contact, Execution, ExecutionAttempt, FileUse, Matcher, Peer,
};

/// Runs the subcommand.
pub(super) fn run(command: &PolicyCommand) -> Result<u8> {
    match command {
        PolicyCommand::Check(args) => check(args),
        PolicyCommand::Explain(args) => explain(args),
    }
}

fn print(text: &str) -> Result<()> {
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

/// A wrong policy is the answer that was asked for: data, and exit code 1.
fn check(args: &PolicyCheckArgs) -> Result<u8> {
    let file = args.policy.display();
    match Policy::load(&args.policy) {
        Ok(Checked { policy, warnings }) => {
            let mut text = String::new();
            for warning in &warnings {
                let _ = writeln!(text, "{file}: warning: {warning}");
            }
            let _ = writeln!(
                text,
                "{file}: policy {} is right ({} warning(s)); mode {}, sha256 {}",
                policy.name,
                warnings.len(),
                policy.mode.name(),
                policy.digest()
            );
            print(&text)?;
            Ok(0)
        }
        Err(LoadError::Problems { problems, .. }) => {
            let mut text = String::new();
            for problem in &problems.0 {
                let _ = writeln!(text, "{file}: {problem}");
            }
            print(&text)?;
            Ok(EXIT_FINDINGS)
        }
        Err(error) => Err(error.into()),
    }
}

fn explain(args: &PolicyExplainArgs) -> Result<u8> {
    let Checked { policy, .. } = Policy::load(&args.policy)?;
    let name = policy.name.clone();
    let bytes = |text: &std::ffi::OsString| text.clone().into_vec();
    let bindings = Bindings {
        entrypoint: args.entrypoint.as_ref().map(bytes),
        workdir: args.workdir.as_ref().map(bytes),
        mounts: Some(args.mounts.iter().map(bytes).collect()),
        ..Bindings::default()
    };
    let mut matcher = Matcher::bind(&Arc::new(policy), bindings).map_err(|message| anyhow!(message))?;
    matcher.start_trace();
    let answer = ask(&mut matcher, args)?;
    let tried = matcher.take_trace();
    print(&words(&name, args, &answer, &tried))?;
    Ok(if answer.trips.is_empty() { 0 } else { EXIT_FINDINGS })
}

fn ask(matcher: &mut Matcher, args: &PolicyExplainArgs) -> Result<Answer> {
    let path = args.path.as_ref().map(|path| path.as_bytes());
    let circumstance = Circumstance {
        outcome: args.errno.map_or(Outcome::Ok, Outcome::Failed),
        confidence: if args.errno.is_some() {
            Confidence::ArgumentText
        } else {
            Confidence::KernelObject
        },
        is_path_cut: false,
        reached_nothing: false,
        own_pid: 0,
    };
    match (args.op.as_str(), path, args.address) {
        ("open", Some(path), _) => Ok(matcher.file(&file(args, path), &circumstance)),
        ("connect", path, address) => {
            let peer = match (path, address) {
                (None, Some(address)) => Peer::Inet(address),
                (Some(path), None) => Peer::Unix(path),
                _ => bail!("a connect has either --address or --path (of a unix socket)"),
            };
            let transport = match (args.protocol.as_str(), &peer) {
                (_, Peer::Unix(_)) => None,
                ("udp", _) => Some(Transport::Udp),
                _ => Some(Transport::Tcp),
            };
            Ok(matcher.contact(&Contact { peer, transport }, &circumstance))
        }
        ("exec", Some(path), _) if args.errno.is_some() => {
            let attempt = ExecutionAttempt {
                path: Some(path),
                is_lexical: true,
                is_check: false,
            };
            Ok(matcher.execution_attempt(&attempt, &circumstance))
        }
        ("exec", Some(path), _) => {
            let mut argv = vec![path];
            argv.extend(args.arguments.iter().map(|word| word.as_bytes()));
            let execution = Execution {
                path: Some(path),
                asked: Some(path),
                script: None,
                origin: &args.origin,
                chain: None,
                argv: &argv,
                is_argv_whole: true,
                env_names: &[],
                is_env_whole: true,
            };
            Ok(matcher.execution(&execution, &circumstance))
        }
        (op, ..) => bail!("--op {op} needs --path"),
    }
}

fn file<'a>(args: &'a PolicyExplainArgs, path: &'a [u8]) -> FileUse<'a> {
    let file_system = match args.origin {
        Origin::Proc => Some("proc"),
        Origin::Sys => Some("sysfs"),
        _ if path.starts_with(b"pipe:") => Some("pipefs"),
        _ => None,
    };
    FileUse {
        path: Some(path),
        other_text: None,
        is_lexical: args.errno.is_some(),
        access: args.access.iter().copied().collect(),
        origin: &args.origin,
        file_system,
        device: args.device,
        is_directory: args.access.contains(&Access::Directory),
    }
}

fn words(policy: &str, args: &PolicyExplainArgs, answer: &Answer, tried: &[String]) -> String {
    let mut text = String::new();
    let object = match (&args.path, args.address) {
        (Some(path), _) => quote(path.as_bytes()).to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => String::new(),
    };
    let _ = write!(text, "policy {policy}: {} {object}", args.op);
    if args.op == "open" {
        let access: Vec<&str> = args.access.iter().map(|access| access.name()).collect();
        let _ = write!(text, " for {}", access.join(", "));
    }
    if args.op != "connect" {
        let _ = write!(text, ", origin {}", quote(args.origin.to_string().as_bytes()));
    }
    if let Some(errno) = args.errno {
        let _ = write!(text, ", failed with {}", Errno(errno.0));
    }
    text.push('\n');
    match &answer.ground {
        Some(ground) => {
            let _ = writeln!(text, "  no tripwire fires: {ground}");
        }
        None => {
            for trip in &answer.trips {
                let _ = writeln!(text, "  {} fires: {}", trip.wire.name(), trip.why);
            }
        }
    }
    for step in tried {
        let _ = writeln!(text, "  tried: {step}");
    }
    text
}
