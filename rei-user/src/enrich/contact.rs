//! Contacts: the address that a connect or a send went to, by the strongest source that the record has.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::file::file_flag;
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::PartTag;

use crate::decode::Event;
use crate::enrich::confidence::Confidence;
use crate::enrich::file::File;
use crate::enrich::text;

/// `AF_*`: include/linux/socket.h.
mod family {
    pub(super) const UNSPEC: u16 = 0;
    pub(super) const UNIX: u16 = 1;
    pub(super) const INET: u16 = 2;
    pub(super) const INET6: u16 = 10;
    pub(super) const NETLINK: u16 = 16;
    pub(super) const PACKET: u16 = 17;
    pub(super) const VSOCK: u16 = 40;
}

/// An address that was contacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// `AF_*` of the address.
    pub family: u16,
    /// The address as text: `127.0.0.1:80`, `[::1]:80`, a unix socket's path, `@name`, `cid:port` for vsock,
    /// `port:groups` for netlink. `None` where it is not known or the family has no rendering.
    pub address: Option<Vec<u8>>,
    /// The unix socket's file.
    pub file: Option<File>,
    /// Where the address was taken from: one of [`address_source`].
    pub source: u32,
}

impl Contact {
    /// Nothing is known but what the record itself says.
    fn unknown(body: &ConnectBody) -> Self {
        Contact {
            family: body.family,
            address: None,
            file: None,
            source: body.source,
        }
    }

    /// The name of the source of the address.
    #[must_use]
    pub const fn source_name(&self) -> Option<&'static str> {
        match self.source {
            address_source::ARGUMENT => Some("argument"),
            address_source::SOCKET => Some("socket"),
            address_source::CGROUP_HOOK => Some("cgroup_hook"),
            address_source::HOOKED_SOCKET => Some("hooked_socket"),
            address_source::SYN_SENT => Some("syn_sent"),
            _ => None,
        }
    }

    /// The name of the address family, where it has one.
    #[must_use]
    pub const fn family_name(&self) -> Option<&'static str> {
        match self.family {
            family::UNSPEC => Some("unspec"),
            family::UNIX => Some("unix"),
            family::INET => Some("inet"),
            family::INET6 => Some("inet6"),
            family::NETLINK => Some("netlink"),
            family::PACKET => Some("packet"),
            family::VSOCK => Some("vsock"),
            _ => None,
        }
    }

    /// The name of the address family, or its number.
    #[must_use]
    pub fn family_words(&self) -> Cow<'static, str> {
        words(self.family_name(), self.family)
    }
}

/// The name of a `SOCK_*` number.
const fn socket_type_name(number: u16) -> Option<&'static str> {
    match number {
        1 => Some("stream"),
        2 => Some("dgram"),
        3 => Some("raw"),
        5 => Some("seqpacket"),
        10 => Some("packet"),
        _ => None,
    }
}

/// The name of an `IPPROTO_*` number.
#[must_use]
pub const fn protocol_name(number: u16) -> Option<&'static str> {
    match number {
        1 => Some("icmp"),
        6 => Some("tcp"),
        17 => Some("udp"),
        58 => Some("icmpv6"),
        132 => Some("sctp"),
        136 => Some("udplite"),
        262 => Some("mptcp"),
        _ => None,
    }
}

/// The name of the socket's type, or its number; `None` where the socket is not known.
#[must_use]
pub fn socket_type_words(body: &ConnectBody) -> Option<Cow<'static, str>> {
    (body.socket_type != 0).then(|| words(socket_type_name(body.socket_type), body.socket_type))
}

/// The name of the socket's protocol, or its number; `None` where the socket is not known.
#[must_use]
pub fn protocol_words(body: &ConnectBody) -> Option<Cow<'static, str>> {
    (body.socket_type != 0).then(|| words(protocol_name(body.protocol), body.protocol))
}

fn words(name: Option<&'static str>, number: u16) -> Cow<'static, str> {
    name.map_or_else(|| Cow::Owned(number.to_string()), Cow::Borrowed)
}

/// What was contacted, and how sure that is. `file` is the unix socket's file, if the record has one.
pub(super) fn contact(event: &Event, body: &ConnectBody, file: Option<File>) -> (Contact, Confidence) {
    let has_argument = [PartTag::SockaddrExit, PartTag::SockaddrEntry]
        .iter()
        .any(|tag| event.part(*tag).is_some());
    let address = match body.family {
        _ if body.source == address_source::NONE => None,
        family::INET | family::INET6 => Some(inet(body.family, &body.address, body.port)),
        family::UNIX => unix_peer(event, file.as_ref()),
        _ => None,
    };
    if body.source == address_source::ARGUMENT || (address.is_none() && has_argument) {
        return from_argument(event, body);
    }
    let is_known = address.is_some() || body.family == family::UNSPEC;
    let confidence = match body.source {
        _ if event.is_missing(missing::ADDRESS) || !is_known => Confidence::Unresolved,
        address_source::SYN_SENT | address_source::HOOKED_SOCKET => Confidence::KernelObject,
        address_source::CGROUP_HOOK => Confidence::KernelText,
        address_source::SOCKET if body.evidence & evidence::CONTESTED != 0 => Confidence::Contested,
        address_source::SOCKET => Confidence::KernelObject,
        _ => Confidence::Unresolved,
    };
    (
        Contact {
            address,
            file,
            ..Contact::unknown(body)
        },
        confidence,
    )
}

/// The peer's file, or the name that it bound.
fn unix_peer(event: &Event, file: Option<&File>) -> Option<Vec<u8>> {
    if let Some(path) = file
        .filter(|file| file.is(file_flag::PRESENT))
        .and_then(File::path)
    {
        return Some(path.to_vec());
    }
    event
        .part(PartTag::UnixName)
        .and_then(|name| unix_name(name))
        .map(render_unix_name)
}

/// User memory: settled if it is the same at both ends, or readable only at exit.
fn from_argument(event: &Event, body: &ConnectBody) -> (Contact, Confidence) {
    let exit = event.part(PartTag::SockaddrExit);
    let entry = event.part(PartTag::SockaddrEntry);
    let Some(sockaddr) = exit.or(entry) else {
        return (Contact::unknown(body), Confidence::Unresolved);
    };
    let is_settled = exit.is_some() && entry.is_none_or(|entry| Some(entry) == exit);
    let (contact, is_whole) = parse_sockaddr(event, sockaddr, body);
    let confidence = if is_settled && is_whole {
        Confidence::ArgumentText
    } else {
        Confidence::Unresolved
    };
    (contact, confidence)
}

/// Reads a `struct sockaddr_*`. The second value says whether the address is fully known.
fn parse_sockaddr(event: &Event, sockaddr: &[u8], body: &ConnectBody) -> (Contact, bool) {
    let Some(family) = array_at::<2>(sockaddr, 0).map(u16::from_ne_bytes) else {
        return (Contact::unknown(body), false);
    };
    let (address, is_whole) = match family {
        family::INET | family::INET6 => whole(parse_inet(family, sockaddr)),
        family::UNIX => unix_argument(event, sockaddr, body),
        // struct sockaddr_nl: family, pad, pid, groups. struct sockaddr_vm: family, reserved, port, cid.
        family::NETLINK => whole(pair(sockaddr, 4, 8)),
        family::VSOCK => whole(pair(sockaddr, 8, 4)),
        family::UNSPEC => (None, true),
        // The family has no rendering, but the numbers are all that was asked.
        _ => (None, true),
    };
    (
        Contact {
            family,
            address,
            file: None,
            source: address_source::ARGUMENT,
        },
        is_whole,
    )
}

fn whole(address: Option<Vec<u8>>) -> (Option<Vec<u8>>, bool) {
    let is_whole = address.is_some();
    (address, is_whole)
}

fn parse_inet(family: u16, sockaddr: &[u8]) -> Option<Vec<u8>> {
    let port = u16::from_be_bytes(array_at(sockaddr, 2)?);
    let mut address = [0; 16];
    if family == family::INET {
        address[..4].copy_from_slice(&array_at::<4>(sockaddr, 4)?);
    } else {
        address = array_at(sockaddr, 8)?;
    }
    Some(inet(family, &address, port))
}

fn inet(family: u16, address: &[u8; 16], port: u16) -> Vec<u8> {
    let socket = if family == family::INET {
        let [a, b, c, d, ..] = *address;
        SocketAddr::from((Ipv4Addr::new(a, b, c, d), port))
    } else {
        SocketAddr::from((Ipv6Addr::from(*address), port))
    };
    socket.to_string().into_bytes()
}

/// The numbers at two places, as `first:second`.
fn pair(sockaddr: &[u8], first: usize, second: usize) -> Option<Vec<u8>> {
    let first = u32::from_ne_bytes(array_at(sockaddr, first)?);
    let second = u32::from_ne_bytes(array_at(sockaddr, second)?);
    Some(format!("{first}:{second}").into_bytes())
}

/// A path is joined with the base directory; where that is not known the text stands alone and is not whole.
fn unix_argument(event: &Event, sockaddr: &[u8], body: &ConnectBody) -> (Option<Vec<u8>>, bool) {
    let Some(name) = sockaddr.get(2..).and_then(unix_name) else {
        return (None, false);
    };
    if name.starts_with(b"\0") {
        return (Some(render_unix_name(name)), true);
    }
    match text::base(event) {
        Some(base) => (
            Some(text::join(&base, name)),
            body.evidence & evidence::BASE_CHANGED == 0,
        ),
        None => (Some(render_unix_name(name)), name.starts_with(b"/")),
    }
}

/// `sun_path`: abstract names start with NUL and are as long as they are, others end at the first NUL.
fn unix_name(sun_path: &[u8]) -> Option<&[u8]> {
    let name = match sun_path {
        [0, ..] => sun_path,
        _ => sun_path.split(|byte| *byte == 0).next().unwrap_or_default(),
    };
    (name.len() > usize::from(sun_path.starts_with(b"\0"))).then_some(name)
}

/// `@name` is only ever an abstract name: a relative path that starts like one is written `./@path`.
fn render_unix_name(name: &[u8]) -> Vec<u8> {
    match name {
        [0, rest @ ..] => [b"@", rest].concat(),
        [b'@', ..] => [b"./", name].concat(),
        _ => name.to_vec(),
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
