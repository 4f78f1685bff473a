//! `rei policy explain`: what a policy answers to one operation, and why: the tripwires and the gate.

use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};

use crate::cli::{EXIT_FINDINGS, PolicyExplainArgs};
use crate::enrich::{Access, Confidence, Errno, Origin, Outcome};
use crate::gate::{self, ArgName, Args, Argument, Explained, Number, SafetyGate};
use crate::judge::{Place, process_of, program_name};
use crate::policy::{Checked, Policy, Transport};
use crate::quote::quote;
use crate::tripwire::{
    Answer, Bindings, Circumstance, Contact, Execution, ExecutionAttempt, FileUse, Matcher, Peer,
};

/// The explanation, and the exit code.
pub(super) fn explain(args: &PolicyExplainArgs) -> Result<(String, u8)> {
    let Checked { policy, .. } = Policy::load(&args.policy)?;
    let bytes = |text: &std::ffi::OsString| text.clone().into_vec();
    let bindings = Bindings {
        entrypoint: args.entrypoint.as_ref().map(bytes),
        workdir: args.workdir.as_ref().map(bytes),
        mounts: Some(args.mounts.iter().map(bytes).collect()),
        ..Bindings::default()
    };
    let gate = policy.gate.gate().bind(&bindings.variables());
    let mut text = operation_words(&policy.name, args);
    let mut matcher = Matcher::bind(&Arc::new(policy), bindings).map_err(|message| anyhow!(message))?;
    matcher.start_trace();
    let answer = ask(&mut matcher, args)?;
    answer_words(&mut text, &answer, &matcher.take_trace());
    let (tool_name, explained) = ask_gate(&gate, args);
    gate_words(&mut text, &tool_name, &explained);
    let is_good = answer.trips.is_empty() && explained.observed.decision.approved;
    Ok((text, if is_good { 0 } else { EXIT_FINDINGS }))
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
    let file_system = match kernel_file_system(&args.origin) {
        None if path.starts_with(b"pipe:") => Some("pipefs"),
        known => known,
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

/// The operation as a call of a tool, and the gate's answer. What nobody said (flags, file system) is not known.
fn ask_gate(gate: &SafetyGate, args: &PolicyExplainArgs) -> (String, Explained) {
    let (origin, errno) = (args.origin.to_string(), args.errno.map(|errno| errno.to_string()));
    let confidence = if errno.is_some() {
        Confidence::ArgumentText
    } else {
        Confidence::KernelObject
    };
    let mut call = Args::new().with(ArgName::Confidence, Argument::Text(confidence.name().as_bytes()));
    match &errno {
        Some(errno) => call = call.with(ArgName::Errno, Argument::Text(errno.as_bytes())),
        // Of what failed there is no file.
        None if args.address.is_none() => {
            let fs = kernel_file_system(&args.origin).map(str::as_bytes);
            call = call
                .with(ArgName::Origin, Argument::Text(origin.as_bytes()))
                .with_text(ArgName::Fs, fs);
        }
        None => {}
    }
    let path = args.path.as_ref().map(|path| path.as_bytes());
    if path.is_some() {
        call = call.with_text(ArgName::Path, path);
    }
    match (args.op.as_str(), args.address) {
        ("open", _) => ask_about_open(gate, args, call),
        ("connect", Some(address)) => {
            let tool_name = if args.protocol == "udp" {
                "send_udp"
            } else {
                "connect_tcp"
            };
            let call = call.with(ArgName::Address, Argument::Address(address.ip())).with(
                ArgName::Port,
                Argument::Number(Number::Int(address.port().into())),
            );
            (tool_name.to_owned(), gate.explain(tool_name, &call))
        }
        ("connect", None) => {
            let mut call = call.with_text(ArgName::Address, path);
            if let Some(peer) = &args.peer {
                call = call.with(ArgName::Peer, Argument::Text(peer.as_bytes()));
            }
            ("connect_unix".to_owned(), gate.explain("connect_unix", &call))
        }
        _ => {
            let words = args.arguments.iter().map(|word| word.as_bytes());
            let argv: Vec<&[u8]> = path.into_iter().chain(words).collect();
            let argv = if errno.is_some() {
                Argument::Unknown
            } else {
                Argument::Texts(&argv)
            };
            let call = call
                .with(ArgName::Op, Argument::Text(b"exec"))
                .with(ArgName::Argv, argv);
            let tool_name = program_name(path);
            let explained = gate.explain(&tool_name, &call);
            (tool_name, explained)
        }
    }
}

fn ask_about_open(gate: &SafetyGate, args: &PolicyExplainArgs, call: Args<'_>) -> (String, Explained) {
    let path = args.path.as_ref().map_or(&b""[..], |path| path.as_bytes());
    let place = match args.origin {
        _ if args.errno.is_some() => Place::of_text(path),
        _ if args.device.is_some() || args.block_device.is_some() => Place::Device,
        Origin::Proc | Origin::Sys => Place::Kernel,
        _ => Place::Other,
    };
    let numbers = [("char", args.device), ("block", args.block_device)];
    let device = numbers
        .into_iter()
        .find_map(|(kind, numbers)| numbers.map(|(major, minor)| format!("{kind} {major}:{minor}")));
    let access: Vec<&[u8]> = args
        .access
        .iter()
        .map(|access| access.name().as_bytes())
        .collect();
    let mut call = call
        .with(ArgName::Access, Argument::Texts(&access))
        .with(ArgName::Flags, Argument::Unknown);
    if let Some(device) = &device {
        call = call.with(ArgName::Device, Argument::Text(device.as_bytes()));
    }
    if let Some(process) = process_of(path, 0).filter(|_| place == Place::Kernel) {
        call = call.with(ArgName::Process, Argument::Text(process.as_bytes()));
    }
    let tool_name = place.tool_name(args.access.iter().copied().collect());
    (tool_name.to_owned(), gate.explain(tool_name, &call))
}

fn kernel_file_system(origin: &Origin) -> Option<&'static str> {
    match origin {
        Origin::Proc => Some("proc"),
        Origin::Sys => Some("sysfs"),
        _ => None,
    }
}

fn operation_words(policy: &str, args: &PolicyExplainArgs) -> String {
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
    text
}

fn answer_words(text: &mut String, answer: &Answer, tried: &[String]) {
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
}

fn gate_words(text: &mut String, tool_name: &str, explained: &Explained) {
    let decision = &explained.observed.decision;
    let _ = write!(
        text,
        "  the gate says {} to {}, by {}",
        decision.hazard_level,
        quote(tool_name.as_bytes()),
        quote(decision.rule_name.as_bytes())
    );
    if let Some(note) = &decision.note {
        // A note is prose: spaces need no quotes, anything that moves the cursor does.
        let words: Vec<String> = note
            .split(' ')
            .map(|word| quote(word.as_bytes()).to_string())
            .collect();
        let _ = write!(text, ": {}", words.join(" "));
    }
    text.push('\n');
    let (elsewhere, asked): (Vec<_>, Vec<_>) = explained
        .tried
        .iter()
        .partition(|tried| tried.outcome == gate::Outcome::Elsewhere);
    for tried in asked {
        let _ = writeln!(
            text,
            "  tried: {}: {}",
            quote(tried.rule.as_bytes()),
            tried.outcome
        );
    }
    if !elsewhere.is_empty() {
        let _ = writeln!(
            text,
            "  {} rule(s) of the gate are for other calls",
            elsewhere.len()
        );
    }
}
