//! Contacts: `connect`, and datagrams with an explicit address.

use crate::file::FileFacts;

/// Where the address of a [`ConnectBody`] was taken from. The numbers are the wire format, stronger ones higher.
pub mod address_source {
    /// No address is known.
    pub const NONE: u32 = 0;
    /// User memory: the address is in the parts `SockaddrEntry` and `SockaddrExit`, not in the body.
    pub const ARGUMENT: u32 = 1;
    /// The peer of the socket behind the descriptor at exit.
    pub const SOCKET: u32 = 2;
    /// The sockaddr that the kernel had copied, seen by `cgroup/connect*` or `cgroup/sendmsg*`.
    pub const CGROUP_HOOK: u32 = 3;
    /// The peer of the socket that `cgroup/connect*` saw, read at exit: no descriptor involved.
    pub const HOOKED_SOCKET: u32 = 4;
    /// The socket on its way to `SYN_SENT`.
    pub const SYN_SENT: u32 = 5;
}

/// Body of [`crate::header::EventKind::Connect`] and [`crate::header::EventKind::Send`].
///
/// For unix sockets part `Path` is the file that was contacted and part `UnixName` the name that its owner bound.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectBody {
    /// The unix socket's file that was contacted, or zeroes.
    pub unix_peer: FileFacts,
    /// Return value of the call, or 0 where the hook knows none (`Send`, `SYN_SENT` outside a connect call).
    pub ret: i64,
    /// `boot_ns` of the entry; 0 if it was not seen.
    pub entry_ns: u64,
    /// Inode of the socket file, 0 if unknown.
    pub socket_ino: u64,
    /// IPv4 in the first four bytes, or IPv6; network byte order.
    pub address: [u8; 16],
    /// Port in host byte order.
    pub port: u16,
    /// `AF_*` of the address.
    pub family: u16,
    /// `SOCK_*` of the socket, 0 if unknown.
    pub socket_type: u16,
    /// `IPPROTO_*` of the socket.
    pub protocol: u16,
    /// One of [`address_source`].
    pub source: u32,
    /// Bits of [`crate::evidence`].
    pub evidence: u32,
    /// Descriptor number of the call, -1 if unknown.
    pub fd: i32,
    /// Number of the system call in its own table, 0 where the hook knows none.
    pub syscall: u32,
}

const _: () = assert!(size_of::<ConnectBody>() == size_of::<FileFacts>() + 3 * 8 + 16 + 4 * 2 + 4 * 4);
