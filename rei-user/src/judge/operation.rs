//! An event, as the tripwires look at it.

use rei_ebpf_common::connect::ConnectBody;
use rei_ebpf_common::evidence;
use rei_ebpf_common::header::missing;

use crate::decode::Body;
use crate::enrich::{Act, Attempted, Contact, Enriched, Executed, File, Opened, Origin, file_system_name};
use crate::policy::Transport;
use crate::tripwire::{self, Answer, Circumstance, Execution, ExecutionAttempt, FileUse, Matcher, Peer};

/// `S_IFMT`, `S_IFDIR`, `S_IFCHR`, `S_IFBLK`: include/uapi/linux/stat.h.
pub(super) const TYPE_MASK: u32 = 0o170_000;
const TYPE_DIRECTORY: u32 = 0o040_000;
pub(super) const TYPE_CHARACTER: u32 = 0o020_000;
pub(super) const TYPE_BLOCK: u32 = 0o060_000;

/// `IPPROTO_*`: include/uapi/linux/in.h.
const IPPROTO_TCP: u16 = 6;
const IPPROTO_UDP: u16 = 17;
const IPPROTO_UDPLITE: u16 = 136;
const IPPROTO_MPTCP: u16 = 262;
/// include/uapi/linux/netlink.h
const NETLINK_ROUTE: u16 = 0;

/// What the tripwires say; `None` if the event is no act that they look at.
pub(super) fn answer(matcher: &mut Matcher, enriched: &Enriched) -> Option<Answer> {
    let circumstance = circumstance(enriched);
    match (enriched.act(), enriched.event().body()) {
        (Act::Open(opened), Body::Open(body)) => {
            Some(matcher.file(&file_use(opened, body.evidence), &circumstance))
        }
        (Act::Contact(contact), Body::Connect(body)) => {
            Some(matcher.contact(&contacted(contact, body, true), &circumstance))
        }
        (Act::Contact(contact), Body::Send(body)) => {
            Some(matcher.contact(&contacted(contact, body, false), &circumstance))
        }
        (Act::Exec(executed), Body::Exec(body)) => {
            let (argv, env_names) = (enriched.argv(), enriched.env_names());
            let execution = execution(enriched, executed, body.evidence, &argv, &env_names);
            Some(matcher.execution(&execution, &circumstance))
        }
        (Act::ExecAttempt(attempted), Body::ExecAttempt(body)) => {
            Some(matcher.execution_attempt(&attempt(attempted, body.evidence), &circumstance))
        }
        _ => None,
    }
}

/// Numbers that tell acts apart where there is no file: of a failed open its flags, of a contact the socket's kind.
pub(super) fn other_numbers(enriched: &Enriched) -> [u64; 4] {
    match enriched.event().body() {
        Body::Connect(body) | Body::Send(body) => [
            u64::from(body.family),
            u64::from(body.socket_type),
            u64::from(body.protocol),
            u64::from(body.source),
        ],
        Body::Open(body) => [body.asked_flags, u64::from(body.evidence), 0, 0],
        _ => [0; 4],
    }
}

pub(super) fn is_directory(file: &File) -> bool {
    file.facts().mode & TYPE_MASK == TYPE_DIRECTORY
}

fn circumstance(enriched: &Enriched) -> Circumstance {
    Circumstance {
        outcome: enriched.outcome(),
        confidence: enriched.confidence(),
        // The kernel refuses a text beyond PATH_MAX; what the record holds of it is its beginning.
        is_path_cut: enriched.event().is_missing(missing::PATH_CUT | missing::TEXT_CUT),
        reached_nothing: enriched.reached_nothing(),
        own_pid: enriched.event().header().ns_pid,
    }
}

fn file_use(opened: &Opened, evidence_bits: u32) -> FileUse<'_> {
    let file = opened.file.as_ref();
    let facts = file.map(File::facts);
    let device = facts
        .filter(|facts| facts.mode & TYPE_MASK == TYPE_CHARACTER)
        .map(|facts| (facts.rdev >> 20, facts.rdev & 0xf_ffff));
    // A base that changed is one more path that it may have been, and nobody knows which.
    let has_moved = evidence_bits & evidence::BASE_CHANGED != 0;
    let other_text = opened
        .text
        .differing_entry()
        .or(Some(&b""[..]).filter(|_| has_moved && opened.lexical));
    FileUse {
        path: opened.path.as_deref(),
        other_text,
        is_lexical: opened.lexical,
        access: opened.access,
        origin: file.map_or(&Origin::Unknown, File::origin),
        file_system: facts.and_then(|facts| file_system_name(facts.magic)),
        device,
        is_directory: file.is_some_and(is_directory),
    }
}

/// TCP or UDP, where the socket is known to be that.
pub(super) fn transport(body: &ConnectBody) -> Option<Transport> {
    match body.protocol {
        _ if body.socket_type == 0 => None,
        IPPROTO_TCP | IPPROTO_MPTCP => Some(Transport::Tcp),
        IPPROTO_UDP | IPPROTO_UDPLITE => Some(Transport::Udp),
        _ => None,
    }
}

fn contacted<'a>(contact: &'a Contact, body: &ConnectBody, is_connect: bool) -> tripwire::Contact<'a> {
    let transport = transport(body);
    let address = contact.address.as_deref();
    let peer = match contact.family_name() {
        Some("inet" | "inet6") => address
            .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok())
            .map_or(Peer::Unknown, Peer::Inet),
        Some("unix") => address.map_or(Peer::Unknown, Peer::Unix),
        Some("netlink") if body.socket_type != 0 && body.protocol == NETLINK_ROUTE => Peer::Route,
        // A datagram to AF_UNSPEC is sent: net/ipv4/udp.c takes it for AF_INET.
        Some("unspec") if is_connect => Peer::Nobody,
        Some("unspec") => Peer::Unknown,
        Some(family) => Peer::Other(family),
        None => Peer::Other("another family"),
    };
    tripwire::Contact { peer, transport }
}

fn execution<'a>(
    enriched: &Enriched,
    executed: &'a Executed,
    evidence_bits: u32,
    argv: &'a [&'a [u8]],
    env_names: &'a [&'a [u8]],
) -> Execution<'a> {
    let event = enriched.event();
    // A script without a path must not pass for its interpreter.
    let nameless = Some(&b""[..]).filter(|_| evidence_bits & evidence::SCRIPT != 0);
    Execution {
        path: executed.file.as_ref().and_then(File::path),
        asked: executed
            .requested
            .as_deref()
            .filter(|text| text.starts_with(b"/")),
        script: executed.script.as_deref().or(nameless),
        origin: executed.file.as_ref().map_or(&Origin::Unknown, File::origin),
        chain: executed.chain,
        argv,
        is_argv_whole: !event.is_missing(missing::ARGV_CUT | missing::ARGV_UNREADABLE),
        env_names,
        is_env_whole: !event.is_missing(missing::ENV_CUT | missing::ENV_UNREADABLE),
    }
}

fn attempt(attempted: &Attempted, evidence_bits: u32) -> ExecutionAttempt<'_> {
    ExecutionAttempt {
        path: attempted.path.as_deref(),
        is_lexical: attempted.lexical,
        is_check: evidence_bits & evidence::EXEC_CHECK != 0,
    }
}
