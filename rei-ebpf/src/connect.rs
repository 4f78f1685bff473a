//! Contacts: `connect`, and datagrams with an explicit address.
//!
//! Three witnesses. The socket on its way to SYN_SENT and the cgroup hooks see what the kernel does; the descriptor at
//! exit is only asked where neither spoke (unix sockets, other families), because it can be swapped meanwhile.

use core::mem::offset_of;

use aya_ebpf::bindings::bpf_sock_addr;
use aya_ebpf::cty::c_void;
use aya_ebpf::macros::{btf_tracepoint, cgroup_sock_addr};
use aya_ebpf::programs::{BtfTracePointContext, SockAddrContext};
use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::file::FileFacts;
use rei_ebpf_common::header::{EventKind, Hook, missing};
use rei_ebpf_common::part::{PartTag, SOCKADDR_BYTES_MAX};
use rei_ebpf_common::syscall::Class;

use crate::calls::{Request, call_of};
use crate::emit::{self, Actor, Record, Scratch};
use crate::kernel::{self, Typed, is_present, offset, read};
use crate::maps::Call;
use crate::path::KernelPath;
use crate::scope::{self, Followed};
use crate::{file, open, path, task};

/// `AF_UNIX`, `AF_INET`, `AF_INET6`, include/linux/socket.h.
pub(crate) const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
/// `TCP_SYN_SENT`, include/net/tcp_states.h.
const TCP_SYN_SENT: i32 = 2;
/// `S_IFMT`, `S_IFSOCK`, include/uapi/linux/stat.h.
const S_IFMT: u32 = 0o170_000;
const S_IFSOCK: u32 = 0o140_000;
/// Longest `struct sockaddr_un`.
const UNIX_NAME_BYTES: u32 = 110;

/// Keeps the socket address as it is in user memory now.
#[inline(always)]
pub(crate) fn enter(call: &mut Call, request: &Request) {
    let len = sockaddr_len(request);
    let to = call.text.as_mut_ptr().cast::<c_void>();
    if len > 0 && kernel::read_user_into(request.argument(1), to, len) {
        call.text_len = len;
    }
}

#[inline(always)]
fn sockaddr_len(request: &Request) -> u32 {
    let len = request.argument(2) as u32;
    if len > SOCKADDR_BYTES_MAX as u32 {
        SOCKADDR_BYTES_MAX as u32
    } else {
        len
    }
}

/// A TCP socket changes its state. Only the step to SYN_SENT is looked at: it happens in the connecting task.
#[btf_tracepoint(function = "inet_sock_set_state")]
pub(crate) fn inet_sock_set_state(context: BtfTracePointContext) -> i32 {
    try_set_state(&context).map_or(0, |()| 0)
}

#[inline(always)]
fn try_set_state(context: &BtfTracePointContext) -> Option<()> {
    let new_state: i32 = context.arg(2);
    if new_state != TCP_SYN_SENT {
        return None;
    }
    let task = Typed::current();
    let followed = scope::followed(task)?;
    let sock = Typed::argument(context, 0).address();
    let mut body = body();
    body.source = address_source::SYN_SENT;
    peer_of(sock, &mut body)?;
    match connect_in_flight(task) {
        Some(call) => keep(call, &body, sock),
        None => {
            let actor = Actor::new(task, &followed);
            emit::fixed(EventKind::Connect, Hook::InetSockSetState, &actor, 0, body);
        }
    }
    Some(())
}

/// The connect call that this thread has in flight.
#[inline(always)]
fn connect_in_flight(task: Typed) -> Option<&'static mut Call> {
    let call = call_of(task::tid(task))?;
    let number = call.number & !Call::COMPAT;
    let class = if call.number & Call::COMPAT != 0 {
        rei_ebpf_common::syscall::compat_class(number)
    } else {
        rei_ebpf_common::syscall::native_class(number)
    };
    if call.entry_ns != 0 && matches!(class, Class::Connect) {
        Some(call)
    } else {
        None
    }
}

#[inline(always)]
fn keep(call: &mut Call, body: &ConnectBody, sock: u64) {
    if call.source > body.source {
        return;
    }
    call.address = body.address;
    call.port = u32::from(body.port);
    call.family = body.family;
    call.socket_type = body.socket_type;
    call.protocol = u32::from(body.protocol);
    call.source = body.source;
    call.socket = sock;
}

#[inline(always)]
fn body() -> ConnectBody {
    ConnectBody {
        unix_peer: FileFacts::default(),
        ret: 0,
        entry_ns: 0,
        socket_ino: 0,
        address: [0; 16],
        port: 0,
        family: 0,
        socket_type: 0,
        protocol: 0,
        source: address_source::NONE,
        evidence: 0,
        fd: -1,
        syscall: 0,
    }
}

/// The peer that an inet socket has now.
#[inline(always)]
fn peer_of(sock: u64, body: &mut ConnectBody) -> Option<()> {
    body.family = read(sock + offset!(sock_family))?;
    body.socket_type = read(sock + offset!(sock_type))?;
    body.protocol = read(sock + offset!(sock_protocol))?;
    let port: u16 = read(sock + offset!(sock_dport))?;
    body.port = u16::from_be(port);
    match body.family {
        AF_INET => {
            let address: [u8; 4] = read(sock + offset!(sock_daddr))?;
            body.address = v4(address);
        }
        AF_INET6 => body.address = read(sock + offset!(sock_v6_daddr))?,
        _ => {}
    }
    Some(())
}

#[inline(always)]
fn v4(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
}

/// A connect call of an IPv4 socket.
#[cgroup_sock_addr(connect4)]
pub(crate) fn connect4(context: SockAddrContext) -> i32 {
    try_connect(&context, AF_INET).map_or(1, |()| 1)
}

/// A connect call of an IPv6 socket.
#[cgroup_sock_addr(connect6)]
pub(crate) fn connect6(context: SockAddrContext) -> i32 {
    try_connect(&context, AF_INET6).map_or(1, |()| 1)
}

/// A datagram of an IPv4 socket to an explicit address.
#[cgroup_sock_addr(sendmsg4)]
pub(crate) fn sendmsg4(context: SockAddrContext) -> i32 {
    try_sendmsg(&context, AF_INET).map_or(1, |()| 1)
}

/// A datagram of an IPv6 socket to an explicit address.
#[cgroup_sock_addr(sendmsg6)]
pub(crate) fn sendmsg6(context: SockAddrContext) -> i32 {
    try_sendmsg(&context, AF_INET6).map_or(1, |()| 1)
}

#[inline(always)]
fn try_connect(context: &SockAddrContext, family: u16) -> Option<()> {
    let task = Typed::current();
    let followed = scope::followed(task)?;
    let body = hooked(context, family);
    match connect_in_flight(task) {
        Some(call) => keep(call, &body, socket_of(context)),
        None => {
            let actor = Actor::new(task, &followed);
            emit::fixed(EventKind::Connect, Hook::CgroupConnect, &actor, 0, body);
        }
    }
    Some(())
}

#[inline(always)]
fn try_sendmsg(context: &SockAddrContext, family: u16) -> Option<()> {
    let task = Typed::current();
    let followed = scope::followed(task)?;
    let actor = Actor::new(task, &followed);
    emit::fixed(
        EventKind::Send,
        Hook::CgroupSendmsg,
        &actor,
        0,
        hooked(context, family),
    );
    Some(())
}

/// The kernel's copy of the address. `user_port` is in network order, in the low half of the word.
#[inline(always)]
fn hooked(context: &SockAddrContext, family: u16) -> ConnectBody {
    let from = context.sock_addr;
    let mut body = body();
    body.source = address_source::CGROUP_HOOK;
    body.family = family;
    body.socket_type = word(from, offset_of!(bpf_sock_addr, type_)) as u16;
    body.protocol = word(from, offset_of!(bpf_sock_addr, protocol)) as u16;
    body.port = u16::from_be(word(from, offset_of!(bpf_sock_addr, user_port)) as u16);
    if family == AF_INET {
        body.address = v4(word(from, offset_of!(bpf_sock_addr, user_ip4)).to_ne_bytes());
    } else {
        let [a, b, c, d] = word(from, offset_of!(bpf_sock_addr, user_ip6)).to_ne_bytes();
        let [e, f, g, h] = word(from, offset_of!(bpf_sock_addr, user_ip6) + 4).to_ne_bytes();
        let [i, j, k, l] = word(from, offset_of!(bpf_sock_addr, user_ip6) + 8).to_ne_bytes();
        let [m, n, o, p] = word(from, offset_of!(bpf_sock_addr, user_ip6) + 12).to_ne_bytes();
        body.address = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    }
    body
}

/// One word of the context. Volatile: the verifier wants each of these loads as it is written.
#[inline(always)]
fn word(from: *mut bpf_sock_addr, place: usize) -> u32 {
    let address = from.cast::<u8>().wrapping_add(place).cast::<u32>();
    // SAFETY: the context is valid while the program runs.
    unsafe { address.read_volatile() }
}

/// The socket that is about to be connected, as a number.
#[inline(always)]
fn socket_of(context: &SockAddrContext) -> u64 {
    let from = context.sock_addr;
    let member = from
        .cast::<u8>()
        .wrapping_add(offset_of!(bpf_sock_addr, __bindgen_anon_1))
        .cast::<u64>();
    // SAFETY: the member is one word, the pointer to the socket.
    unsafe { member.read_volatile() }
}

/// Reports a connect call with the best address that is known.
#[inline(always)]
pub(crate) fn exit(
    task: Typed,
    followed: &Followed,
    request: &Request,
    call: Option<&Call>,
    result: i64,
) -> Option<()> {
    let actor = Actor::new(task, followed);
    let mut record = Record::<ConnectBody>::begin(EventKind::Connect, Hook::SysExit, &actor)?;
    let fd = request.argument(0) as i32;
    let mut body = body();
    body.ret = result;
    body.fd = fd;
    body.syscall = request.number;
    body.evidence = open::evidence_of(task, request, call);
    body.entry_ns = call.map_or(0, |call| call.entry_ns);
    if let Some(call) = call
        && call.text_len > 0
    {
        record.bytes(PartTag::SockaddrEntry, call.text.as_ptr() as u64, call.text_len);
    } else {
        record.scratch().miss(missing::TEXT_ENTRY);
    }
    add_sockaddr(record.scratch(), request);
    if result != 0 {
        add_unix_base(record.scratch(), task, request.argument(1));
    }
    match call {
        Some(call) if call.source != address_source::NONE => from_hooks(call, result, &mut body),
        _ => {
            from_descriptor(record.scratch(), task, fd, result, &mut body);
            // Last, as in open.
            body.evidence |= open::contested(task, call, fd);
        }
    }
    if body.source == address_source::NONE {
        body.source = address_source::ARGUMENT;
    }
    *record.body() = body;
    record.submit(&actor)
}

#[inline(always)]
fn add_sockaddr(scratch: &mut Scratch, request: &Request) {
    let len = sockaddr_len(request);
    let start = scratch.open_part();
    let pos = scratch.pos();
    let to = scratch.at(pos).cast::<c_void>();
    if len > 0 && kernel::read_user_into(request.argument(1), to, len) {
        scratch.set_pos(pos + u64::from(len));
        scratch.close_part(start, PartTag::SockaddrExit);
    } else {
        scratch.set_pos(start);
        scratch.miss(missing::TEXT_EXIT);
    }
}

/// The directory that the path of a unix address starts from, for a call that failed.
#[inline(always)]
fn add_unix_base(scratch: &mut Scratch, task: Typed, address: u64) {
    // struct sockaddr_un: two bytes of family, then the path (or NUL and an abstract name).
    let mut head = [0u8; 3];
    let readable = kernel::read_user_into(address, head.as_mut_ptr().cast(), 3);
    let [low, high, first] = head;
    if !readable || u16::from_ne_bytes([low, high]) != AF_UNIX || first == 0 {
        return;
    }
    match file::base(task, file::AT_FDCWD, first) {
        Some(base) => {
            path::add(scratch, PartTag::Base, base, missing::BASE);
        }
        None => scratch.miss(missing::BASE),
    }
}

/// The address that a hook saw. The kernel goes somewhere else only if it is the unspecified one (0.0.0.0, ::): then
/// the socket is asked, and believed if its port is the one that was asked for - another thread may have connected the
/// same socket again meanwhile.
#[inline(always)]
fn from_hooks(call: &Call, result: i64, body: &mut ConnectBody) {
    body.source = call.source;
    body.family = call.family;
    body.socket_type = call.socket_type;
    body.protocol = call.protocol as u16;
    body.address = call.address;
    body.port = call.port as u16;
    if result != 0 || call.source != address_source::CGROUP_HOOK || !is_unspecified(call.address) {
        return;
    }
    let mut now = *body;
    if peer_of(call.socket, &mut now).is_some() && now.port == body.port {
        body.address = now.address;
        body.source = address_source::HOOKED_SOCKET;
    }
}

#[inline(always)]
fn is_unspecified(address: [u8; 16]) -> bool {
    u128::from_ne_bytes(address) == 0
}

/// Address family of the socket behind a descriptor.
#[inline(always)]
pub(crate) fn family_of(task: Typed, fd: i32) -> Option<u16> {
    let socket = socket_behind(task, fd)?;
    read(socket.sock + offset!(sock_family))
}

struct Socket {
    ino: u64,
    sock: u64,
}

#[inline(always)]
fn socket_behind(task: Typed, fd: i32) -> Option<Socket> {
    let opened = file::of_descriptor(task, fd)?;
    let inode: u64 = read(opened + offset!(file_inode))?;
    let mode = u32::from(read::<u16>(inode + offset!(inode_mode))?);
    if mode & S_IFMT != S_IFSOCK {
        return None;
    }
    let ino = read(inode + offset!(inode_ino))?;
    let socket: u64 = read(opened + offset!(file_private_data))?;
    let sock = read(socket + offset!(socket_sk))?;
    Some(Socket { ino, sock })
}

/// The socket behind the descriptor: its kind always, its peer if the call succeeded.
#[inline(always)]
fn from_descriptor(scratch: &mut Scratch, task: Typed, fd: i32, result: i64, body: &mut ConnectBody) {
    if try_from_descriptor(scratch, task, fd, result, body).is_none() {
        scratch.miss(missing::ADDRESS);
    }
}

#[inline(always)]
fn try_from_descriptor(
    scratch: &mut Scratch,
    task: Typed,
    fd: i32,
    result: i64,
    body: &mut ConnectBody,
) -> Option<()> {
    let Socket { ino, sock } = socket_behind(task, fd)?;
    body.socket_ino = ino;
    let mut now = *body;
    peer_of(sock, &mut now)?;
    body.family = now.family;
    body.socket_type = now.socket_type;
    body.protocol = now.protocol;
    if result != 0 {
        return Some(());
    }
    match now.family {
        AF_INET | AF_INET6 if now.port != 0 => {
            body.address = now.address;
            body.port = now.port;
            body.source = address_source::SOCKET;
        }
        AF_UNIX => unix_peer(scratch, task, sock, body)?,
        _ => {}
    }
    Some(())
}

/// The socket at the other end of a unix connection: its bound name, and the file that it was bound to.
#[inline(always)]
fn unix_peer(scratch: &mut Scratch, task: Typed, sock: u64, body: &mut ConnectBody) -> Option<()> {
    if !is_present(offset!(unix_peer)) || !is_present(offset!(unix_addr)) || !is_present(offset!(unix_path)) {
        return Some(());
    }
    let peer: u64 = read(sock + offset!(unix_peer))?;
    if peer == 0 {
        return Some(());
    }
    body.source = address_source::SOCKET;
    let address: u64 = read(peer + offset!(unix_addr))?;
    if address != 0 {
        add_unix_name(scratch, address)?;
    }
    if let Some(path) = KernelPath::read(peer + offset!(unix_path)) {
        body.unix_peer = file::describe_object(scratch, task, path);
    }
    Some(())
}

/// `sun_path` of a `struct unix_address`, whose name begins with the two bytes of the family.
#[inline(always)]
fn add_unix_name(scratch: &mut Scratch, address: u64) -> Option<()> {
    let len: i32 = read(address + offset!(unix_address_len))?;
    let len = (len as u32).wrapping_sub(2);
    if len == 0 || len > UNIX_NAME_BYTES {
        return Some(());
    }
    let start = scratch.open_part();
    if scratch.copy_kernel(address + offset!(unix_address_name) + 2, len) {
        scratch.close_part(start, PartTag::UnixName);
    } else {
        scratch.set_pos(start);
        scratch.miss(missing::ADDRESS);
    }
    Some(())
}
