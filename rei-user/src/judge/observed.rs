//! An event as a call of a tool, for the gate: its name and its arguments.

use std::net::SocketAddr;

use rei_ebpf_common::connect::ConnectBody;
use rei_ebpf_common::header::missing;

use crate::decode::Body;
use crate::enrich::{
    Act, Attempted, Confidence, Contact, Enriched, Executed, File, Opened, Outcome, file_system_name,
};
use crate::gate::{ArgName, Args, Argument, Number, Observed, SafetyGate};
use crate::judge::operation::{self, TYPE_BLOCK, TYPE_CHARACTER, TYPE_MASK};
use crate::judge::peer::KnownSocket;
use crate::judge::place::{Place, process_of, program_name};
use crate::policy::Transport;

/// The gate's decision; `None` if the event is no act that has a tool name.
pub(super) fn ask(gate: &SafetyGate, sockets: &[KnownSocket], enriched: &Enriched) -> Option<Observed> {
    match (enriched.act(), enriched.event().body()) {
        (Act::Open(opened), Body::Open(body)) => Some(open(gate, enriched, opened, body.asked_flags)),
        (Act::Contact(contact), Body::Connect(body)) => reach(gate, sockets, enriched, contact, body, true),
        (Act::Contact(contact), Body::Send(body)) => reach(gate, sockets, enriched, contact, body, false),
        (Act::Exec(executed), _) => exec(gate, enriched, executed),
        (Act::ExecAttempt(attempted), _) => exec_attempt(gate, enriched, attempted),
        _ => None,
    }
}

/// What is not settled is not known: no rule approves because of it.
fn settled<'a>(enriched: &Enriched, text: Option<&'a [u8]>) -> Option<&'a [u8]> {
    let is_settled = !matches!(
        enriched.confidence(),
        Confidence::Unresolved | Confidence::Contested
    ) && !enriched.event().is_missing(missing::PATH_CUT);
    text.filter(|_| is_settled)
}

/// Asks with the arguments that every operation has.
fn decide(gate: &SafetyGate, enriched: &Enriched, tool_name: &str, args: Args<'_>) -> Observed {
    let errno = match enriched.outcome() {
        Outcome::Failed(errno) => Some(errno.to_string()),
        Outcome::Ok | Outcome::InProgress => None,
    };
    let mut args = args.with(
        ArgName::Confidence,
        Argument::Text(enriched.confidence().name().as_bytes()),
    );
    if let Some(errno) = &errno {
        args = args.with(ArgName::Errno, Argument::Text(errno.as_bytes()));
    }
    gate.observe(tool_name, &args)
}

fn with_file<'a>(args: Args<'a>, file: Option<&File>, origin: &'a str) -> Args<'a> {
    let Some(file) = file else { return args };
    let args = args.with(ArgName::Origin, Argument::Text(origin.as_bytes()));
    match file_system_name(file.facts().magic) {
        Some(name) => args.with(ArgName::Fs, Argument::Text(name.as_bytes())),
        None => args,
    }
}

fn origin_of(file: Option<&File>) -> String {
    file.map_or_else(String::new, |file| file.origin().to_string())
}

fn open(gate: &SafetyGate, enriched: &Enriched, opened: &Opened, asked_flags: u64) -> Observed {
    let file = opened.file.as_ref();
    let path = settled(enriched, opened.path.as_deref());
    let device = file.and_then(device);
    let access: Vec<&[u8]> = opened
        .access
        .iter()
        .map(|access| access.name().as_bytes())
        .collect();
    let origin = origin_of(file);
    let mut args = Args::new()
        .with_text(ArgName::Path, path)
        .with(ArgName::Access, Argument::Texts(&access))
        .with(ArgName::Flags, Argument::Number(Number::Int(asked_flags.into())));
    args = with_file(args, file, &origin);
    if let Some(device) = &device {
        args = args.with(ArgName::Device, Argument::Text(device.as_bytes()));
    }
    let tool_name = place(file, opened.path.as_deref()).tool_name(opened.access);
    if matches!(tool_name, "write_kernel" | "read_kernel")
        && let Some(process) = path.and_then(|path| process_of(path, enriched.event().header().ns_pid))
    {
        args = args.with(ArgName::Process, Argument::Text(process.as_bytes()));
    }
    decide(gate, enriched, tool_name, args)
}

/// What kind of object it is; of an open that failed only the text tells.
fn place(file: Option<&File>, path: Option<&[u8]>) -> Place {
    use crate::enrich::Origin;
    match (file, path) {
        (Some(file), _) if device(file).is_some() => Place::Device,
        (Some(file), _) if matches!(file.origin(), Origin::Proc | Origin::Sys) => Place::Kernel,
        (Some(_), _) | (None, None) => Place::Other,
        (None, Some(path)) => Place::of_text(path),
    }
}

/// `block 8:0`, `char 1:3`.
fn device(file: &File) -> Option<String> {
    let facts = file.facts();
    let kind = match facts.mode & TYPE_MASK {
        TYPE_BLOCK => "block",
        TYPE_CHARACTER => "char",
        _ => return None,
    };
    Some(format!("{kind} {}:{}", facts.rdev >> 20, facts.rdev & 0xf_ffff))
}

fn reach(
    gate: &SafetyGate,
    sockets: &[KnownSocket],
    enriched: &Enriched,
    contact: &Contact,
    body: &ConnectBody,
    is_connect: bool,
) -> Option<Observed> {
    let address = settled(enriched, contact.address.as_deref());
    match contact.family_name()? {
        "inet" | "inet6" => Some(inet(gate, enriched, address, body, is_connect)),
        "unix" => Some(unix(gate, sockets, enriched, contact, address)),
        "packet" => {
            let args = Args::new().with_text(ArgName::Address, address);
            Some(decide(gate, enriched, "send_packet", args))
        }
        "vsock" => {
            let args = Args::new().with_text(ArgName::Address, address);
            Some(decide(gate, enriched, "connect_vsock", args))
        }
        _ => None,
    }
}

fn inet(
    gate: &SafetyGate,
    enriched: &Enriched,
    address: Option<&[u8]>,
    body: &ConnectBody,
    is_connect: bool,
) -> Observed {
    let address: Option<SocketAddr> = address.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    let (ip, port) = match address {
        Some(address) => (
            Argument::Address(address.ip()),
            Argument::Number(Number::Int(address.port().into())),
        ),
        None => (Argument::Unknown, Argument::Unknown),
    };
    let args = Args::new().with(ArgName::Address, ip);
    let (tool_name, args) = match operation::transport(body) {
        Some(Transport::Tcp) => ("connect_tcp", args.with(ArgName::Port, port)),
        Some(Transport::Udp) => ("send_udp", args.with(ArgName::Port, port)),
        None if body.socket_type == 0 && is_connect => ("connect_tcp", args.with(ArgName::Port, port)),
        None if body.socket_type == 0 => ("send_udp", args.with(ArgName::Port, port)),
        None => ("send_raw", args),
    };
    decide(gate, enriched, tool_name, args)
}

fn unix(
    gate: &SafetyGate,
    sockets: &[KnownSocket],
    enriched: &Enriched,
    contact: &Contact,
    address: Option<&[u8]>,
) -> Observed {
    let file = contact.file.as_ref();
    let origin = origin_of(file);
    let mut args = Args::new()
        .with_text(ArgName::Address, address)
        .with_text(ArgName::Path, address);
    args = with_file(args, file, &origin);
    let owner = file.and_then(|file| {
        let facts = file.facts();
        sockets
            .iter()
            .find(|socket| (socket.dev, socket.ino) == (facts.dev, facts.ino))
    });
    if let Some(socket) = owner {
        args = args.with(ArgName::Peer, Argument::Text(socket.owner.as_bytes()));
    }
    decide(gate, enriched, "connect_unix", args)
}

fn exec(gate: &SafetyGate, enriched: &Enriched, executed: &Executed) -> Option<Observed> {
    let file = executed.file.as_ref();
    let path = file.and_then(File::path);
    let argv = enriched.argv();
    let is_cut = enriched
        .event()
        .is_missing(missing::ARGV_CUT | missing::ARGV_UNREADABLE);
    let argv = if is_cut {
        Argument::CutTexts(&argv)
    } else {
        Argument::Texts(&argv)
    };
    let origin = origin_of(file);
    let args = Args::new()
        .with(ArgName::Op, Argument::Text(b"exec"))
        .with_text(ArgName::Path, settled(enriched, path))
        .with(ArgName::Argv, argv);
    Some(decide(
        gate,
        enriched,
        &program_name(path),
        with_file(args, file, &origin),
    ))
}

fn exec_attempt(gate: &SafetyGate, enriched: &Enriched, attempted: &Attempted) -> Option<Observed> {
    let path = attempted.path.as_deref();
    let origin = origin_of(attempted.file.as_ref());
    let args = Args::new()
        .with(ArgName::Op, Argument::Text(b"exec"))
        .with_text(ArgName::Path, settled(enriched, path))
        .with(ArgName::Argv, Argument::Unknown);
    let args = with_file(args, attempted.file.as_ref(), &origin);
    (enriched.outcome() != Outcome::Ok).then(|| decide(gate, enriched, &program_name(path), args))
}
