//! Which routes a container used that no live sensor sees.
//!
//! Takes the kernel side's bitmaps of a scope (system calls by entry, address families) and the state of the
//! sensors. Gives the gaps: each one makes a run incomplete. Seen today, by 64-bit and 32-bit entry: open,
//! openat, openat2, creat, execve, execveat, connect.
//!
//! Sockets are told apart by what the sensors see of them: TCP and UDP, and everything else
//! ([`socket_kind`]).

use rei_ebpf_common::hooks::Sensor;
use rei_ebpf_common::maps::{FAMILY_SLOTS, SYSCALL_SLOTS, ScopeState, socket_kind};

use crate::attach::SensorState;

pub use self::routes::Route;
use self::routes::{BINDS, Row, SENDS, UNSEEN};

mod routes;

/// What no record of rei covers, whatever the sensors: said in every record.
pub const NEVER_COVERED: [&str; 6] = [
    "metadata probes (stat, access, readlink, getxattr, inotify)",
    "values of environment variables",
    "what comes in by stdin",
    "System V and POSIX IPC",
    "uname and the like",
    "the clock and timing",
];

/// Slot of the native bitmap that stands for every number beyond the table: calls by the x32 entry carry bit
/// 30.
pub const BEYOND_TABLE: usize = SYSCALL_SLOTS - 1;

/// How a system call came into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// 64-bit.
    Native,
    /// 32-bit (`int 0x80`, ia32 `sysenter` and `syscall`).
    Compat,
    /// A number beyond the 64-bit table, such as those of the x32 entry.
    BeyondTable,
}

/// A route that a container used and no live sensor covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteGap {
    /// What kind of route.
    pub route: Route,
    /// The system call; `socket(packet)` and its like where making the socket is the route.
    pub syscall: &'static str,
    /// The entry it came by.
    pub entry: Entry,
    /// The sensor that would cover it, had it been live.
    pub sensor: Option<Sensor>,
}

impl RouteGap {
    /// The system call's name, and `(32-bit)` where it came by that entry.
    #[must_use]
    pub fn name(&self) -> String {
        match self.entry {
            Entry::Native | Entry::BeyondTable => self.syscall.to_owned(),
            Entry::Compat => format!("{} (32-bit)", self.syscall),
        }
    }
}

/// Routes that the scope used and no live sensor covers, sorted, each once.
#[must_use]
pub fn gaps(state: &ScopeState, sensors: &[SensorState]) -> Vec<RouteGap> {
    if !is_live(Sensor::Syscalls, sensors) {
        // Without this sensor the bitmaps were never written.
        let all = RouteGap {
            route: Route::SystemCalls,
            syscall: "any system call",
            entry: Entry::Native,
            sensor: Some(Sensor::Syscalls),
        };
        return vec![all];
    }
    let mut found = Vec::new();
    used(UNSEEN, state, None, &mut found);
    if made(state, family::UNIX) != 0 {
        used(BINDS, state, None, &mut found);
    }
    sends(state, sensors, &mut found);
    sockets(state, &mut found);
    if !is_live(Sensor::Exec, sensors) {
        used(EXECS, state, Some(Sensor::Exec), &mut found);
    }
    if state.native[BEYOND_TABLE] != 0 {
        found.push(RouteGap {
            route: Route::ForeignEntry,
            syscall: "a call beyond the 64-bit table (x32)",
            entry: Entry::BeyondTable,
            sensor: None,
        });
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// `AF_*` numbers, include/linux/socket.h.
mod family {
    pub(super) const UNIX: usize = 1;
    pub(super) const INET: usize = 2;
    pub(super) const INET6: usize = 10;
    pub(super) const NETLINK: usize = 16;
    pub(super) const PACKET: usize = 17;
    pub(super) const VSOCK: usize = 40;
    pub(super) const XDP: usize = 44;
}

const EXECS: &[Row] = &[
    Row {
        syscall: "execve",
        native: Some(59),
        compat: Some(11),
        route: Route::Exec,
    },
    Row {
        syscall: "execveat",
        native: Some(322),
        compat: Some(358),
        route: Route::Exec,
    },
];

fn is_live(sensor: Sensor, sensors: &[SensorState]) -> bool {
    sensors
        .iter()
        .any(|state| state.sensor == sensor && state.gap.is_none())
}

fn made(state: &ScopeState, family: usize) -> u8 {
    state.socket_kinds(family)
}

/// Adds the rows whose system call was used, by either entry.
fn used(rows: &[Row], state: &ScopeState, sensor: Option<Sensor>, found: &mut Vec<RouteGap>) {
    for row in rows {
        let entries = [
            (Entry::Native, row.native, &state.native),
            (Entry::Compat, row.compat, &state.compat),
        ];
        for (entry, number, bitmap) in entries {
            if number
                .and_then(|number| bitmap.get(usize::from(number)))
                .is_some_and(|slot| *slot != 0)
            {
                found.push(RouteGap {
                    route: row.route,
                    syscall: row.syscall,
                    entry,
                    sensor,
                });
            }
        }
    }
}

/// Sends to an explicit address. A netlink or connected socket needs none.
fn sends(state: &ScopeState, sensors: &[SensorState], found: &mut Vec<RouteGap>) {
    let inet = made(state, family::INET) | made(state, family::INET6);
    let unseen_types = (made(state, family::UNIX) & !socket_kind::STREAM)
        | (inet & socket_kind::OTHER)
        | (made(state, family::VSOCK) & !socket_kind::STREAM);
    if unseen_types != 0 {
        used(SENDS, state, None, found);
    } else if inet & socket_kind::DGRAM != 0 && !is_live(Sensor::CgroupAddress, sensors) {
        used(SENDS, state, Some(Sensor::CgroupAddress), found);
    }
    if inet & socket_kind::STREAM != 0 && !is_live(Sensor::SocketState, sensors) {
        let fast_open: Vec<Row> = SENDS
            .iter()
            .map(|row| Row {
                route: Route::FastOpen,
                ..*row
            })
            .collect();
        used(&fast_open, state, Some(Sensor::SocketState), found);
    }
}

/// Sockets that can send without any further system call that names a destination, or whose addresses are
/// foreign.
fn sockets(state: &ScopeState, found: &mut Vec<RouteGap>) {
    for number in 0..FAMILY_SLOTS {
        let syscall = match number {
            family::UNIX | family::INET | family::INET6 | family::NETLINK | family::VSOCK => continue,
            _ if made(state, number) == 0 => continue,
            family::PACKET => "socket(packet)",
            family::XDP => "socket(xdp)",
            _ => "socket(other family)",
        };
        found.push(RouteGap {
            route: Route::Datagram,
            syscall,
            entry: Entry::Native,
            sensor: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use rei_ebpf_common::header::KIND_SLOTS;
    use rei_ebpf_common::maps::SOCKET_KINDS;
    use rei_ebpf_common::syscall::{Class, compat_class, native_class};

    use super::*;

    fn unused() -> ScopeState {
        ScopeState {
            lost: [0; KIND_SLOTS],
            entrypoint_ns: 0,
            processes: 0,
            native: [0; SYSCALL_SLOTS],
            compat: [0; SYSCALL_SLOTS],
            sockets: [[0; SOCKET_KINDS]; FAMILY_SLOTS],
        }
    }

    fn places(kinds: u8) -> [u8; SOCKET_KINDS] {
        std::array::from_fn(|place| kinds >> place & 1)
    }

    fn all_but(missing: &[Sensor]) -> Vec<SensorState> {
        let gap = |sensor| missing.contains(&sensor).then(|| "refused".to_owned());
        Sensor::ALL
            .into_iter()
            .map(|sensor| SensorState {
                sensor,
                gap: gap(sensor),
            })
            .collect()
    }

    fn names(state: &ScopeState, missing: &[Sensor]) -> Vec<String> {
        gaps(state, &all_but(missing))
            .iter()
            .map(RouteGap::name)
            .collect()
    }

    #[test]
    fn covered_calls_and_probes_are_no_gaps() {
        let mut state = unused();
        for number in [0, 1, 2, 3, 4, 9, 21, 41, 42, 59, 85, 257, 262, 322, 437, 439] {
            state.native[number] = 1;
        }
        for number in [5, 8, 11, 295, 358, 359, 362, 437] {
            state.compat[number] = 1;
        }
        assert_eq!(names(&state, &[]), Vec::<String>::new());
    }

    #[test]
    fn each_unseen_call_is_named_by_entry() {
        let mut state = unused();
        state.native[425] = 1;
        state.native[87] = 1;
        state.compat[10] = 1;
        state.compat[102] = 1;
        assert_eq!(
            names(&state, &[]),
            [
                "io_uring_setup",
                "unlink",
                "unlink (32-bit)",
                "socketcall (32-bit)"
            ]
        );
        // The same number in the other table is another call: native 10 is mprotect, compat 87 is swapon.
        let mut state = unused();
        state.native[10] = 1;
        state.compat[87] = 1;
        assert_eq!(names(&state, &[]), ["swapon (32-bit)"]);
    }

    #[test]
    fn receiving_counts_where_the_kernel_side_marked_it() {
        let mut state = unused();
        state.sockets[family::UNIX] = places(socket_kind::STREAM);
        assert_eq!(names(&state, &[]), Vec::<String>::new());
        // No unix socket was made, but one may have been inherited.
        let mut state = unused();
        state.native[47] = 1;
        state.compat[337] = 1;
        state.sockets[family::INET] = places(socket_kind::STREAM);
        assert_eq!(names(&state, &[]), ["recvmmsg (32-bit)", "recvmsg"]);
    }

    #[test]
    fn binding_counts_with_a_unix_socket_only() {
        let mut state = unused();
        (state.native[49], state.compat[361]) = (1, 1);
        state.sockets[family::INET] = places(socket_kind::STREAM);
        state.sockets[family::NETLINK] = places(socket_kind::OTHER);
        assert_eq!(names(&state, &[]), Vec::<String>::new());
        state.sockets[family::UNIX] = places(socket_kind::DGRAM);
        assert_eq!(names(&state, &[]), ["bind", "bind (32-bit)"]);
        assert_eq!(gaps(&state, &all_but(&[]))[0].route, Route::PathChange);
    }

    #[test]
    fn calls_that_a_review_missed_are_there() {
        let mut state = unused();
        for number in [179, 272, 443, 447] {
            state.native[number] = 1;
        }
        for number in [131, 310, 443, 447] {
            state.compat[number] = 1;
        }
        let expected = [
            "quotactl",
            "quotactl (32-bit)",
            "quotactl_fd",
            "quotactl_fd (32-bit)",
            "unshare",
            "unshare (32-bit)",
            "memfd_secret",
            "memfd_secret (32-bit)",
        ];
        let mut found = names(&state, &[]);
        found.sort_by_key(|name| expected.iter().position(|wanted| wanted == name));
        assert_eq!(found, expected);
    }

    #[test]
    fn sends_depend_on_the_sockets_that_were_made() {
        let table: [(usize, u8, &[Sensor], &[&str]); 13] = [
            (family::INET, socket_kind::STREAM | socket_kind::DGRAM, &[], &[]),
            (
                family::INET,
                socket_kind::DGRAM,
                &[Sensor::CgroupAddress],
                &["sendto"],
            ),
            (
                family::INET6,
                socket_kind::STREAM,
                &[Sensor::SocketState],
                &["sendto"],
            ),
            // ICMP by a datagram socket, SCTP by a stream socket: no sensor sees their addresses.
            (family::INET, socket_kind::OTHER, &[], &["sendto"]),
            (family::INET6, socket_kind::OTHER, &[], &["sendto"]),
            (
                family::INET,
                socket_kind::STREAM | socket_kind::DGRAM | socket_kind::OTHER,
                &[],
                &["sendto"],
            ),
            (
                family::INET6,
                socket_kind::STREAM | socket_kind::OTHER,
                &[],
                &["sendto"],
            ),
            (family::UNIX, socket_kind::STREAM, &[], &[]),
            (family::UNIX, socket_kind::DGRAM, &[], &["sendto"]),
            (family::NETLINK, socket_kind::OTHER, &[], &[]),
            (family::VSOCK, socket_kind::DGRAM, &[], &["sendto"]),
            (family::PACKET, socket_kind::OTHER, &[], &["socket(packet)"]),
            (31, socket_kind::STREAM, &[], &["socket(other family)"]),
        ];
        for (family, kinds, missing, expected) in table {
            let mut state = unused();
            state.native[44] = 1;
            state.sockets[family] = places(kinds);
            assert_eq!(
                names(&state, missing),
                expected,
                "family {family}, kinds {kinds}, without {missing:?}"
            );
        }
    }

    #[test]
    fn a_missing_sensor_is_a_gap_where_its_route_was_used() {
        let mut state = unused();
        assert_eq!(names(&state, &[Sensor::Exec]), Vec::<String>::new());
        state.native[59] = 1;
        assert_eq!(names(&state, &[Sensor::Exec]), ["execve"]);
        assert_eq!(
            gaps(&state, &all_but(&[Sensor::Exec]))[0].sensor,
            Some(Sensor::Exec)
        );
        assert_eq!(names(&state, &[Sensor::Syscalls]), ["any system call"]);
        assert_eq!(names(&unused(), &Sensor::ALL), ["any system call"]);
    }

    #[test]
    fn numbers_beyond_the_table_are_a_gap() {
        let mut state = unused();
        state.native[BEYOND_TABLE] = 1;
        assert_eq!(gaps(&state, &all_but(&[]))[0].entry, Entry::BeyondTable);
    }

    #[test]
    fn no_number_is_listed_twice_and_none_is_decoded_by_a_sensor() {
        // Received descriptors are not decoded: the class only says when to mark the call.
        let is_seen = |class| !matches!(class, Class::Other | Class::Recvmsg);
        let rows: Vec<&Row> = UNSEEN.iter().chain(BINDS).chain(SENDS).collect();
        let mut native: Vec<u16> = rows.iter().filter_map(|row| row.native).collect();
        let mut compat: Vec<u16> = rows.iter().filter_map(|row| row.compat).collect();
        for number in &native {
            assert!(!is_seen(native_class(u32::from(*number))), "native {number}");
        }
        for number in &compat {
            assert!(!is_seen(compat_class(u32::from(*number))), "compat {number}");
        }
        for numbers in [&mut native, &mut compat] {
            let len = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), len);
            assert!(numbers.iter().all(|number| usize::from(*number) < BEYOND_TABLE));
        }
    }
}
