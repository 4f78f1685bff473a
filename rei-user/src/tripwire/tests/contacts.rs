//! I2, row by row.

use super::*;

const NOTHING: &str = "";

/// A contact: policy, transport, peer (address, path, or a word), errno or 0, what is expected.
#[derive(Clone, Copy)]
struct Contacted(&'static str, &'static str, &'static str, i64, Expected);

const NET: &str = "network = [\"10.0.0.0/8:443\"]";
const RULE: &str = "network \"10.0.0.0/8:443\"";

const CONTACTED: &[Contacted] = &[
    // nothing is declared
    Contacted(NOTHING, "tcp", "93.184.216.34:80", 0, Trips),
    Contacted(NOTHING, "tcp", "93.184.216.34:80", -111, Tried),
    Contacted(NOTHING, "udp", "8.8.8.8:53", 0, Trips),
    Contacted(NOTHING, "udp", "127.0.0.11:53", 0, Trips),
    Contacted(NOTHING, "tcp", "[::1]:80", 0, Trips),
    Contacted(NOTHING, "raw", "10.1.1.1:0", 0, Trips),
    // what contacts nobody
    Contacted(NOTHING, "udp", "nobody", 0, Harmless),
    Contacted(NOTHING, "raw", "route", 0, Harmless),
    Contacted(NOTHING, "raw", "vsock", 0, Trips),
    Contacted(NOTHING, "raw", "unknown", 0, Trips),
    // declared addresses
    Contacted(NET, "tcp", "10.1.2.3:443", 0, Rule(RULE)),
    Contacted(NET, "tcp", "10.1.2.3:443", -111, Rule(RULE)),
    Contacted(NET, "udp", "10.1.2.3:443", 0, Rule(RULE)),
    Contacted(NET, "tcp", "[::ffff:10.1.2.3]:443", 0, Rule(RULE)),
    Contacted(NET, "tcp", "10.1.2.3:80", 0, Trips),
    Contacted(NET, "tcp", "11.1.2.3:443", 0, Trips),
    Contacted(NET, "raw", "10.1.2.3:443", 0, Trips),
    Contacted(
        "network = [\"10.0.0.0/8\"]",
        "raw",
        "10.1.2.3:0",
        0,
        Rule("network \"10.0.0.0/8\""),
    ),
    Contacted(
        "network = [{ to = \"10.0.0.0/8\", protocol = \"tcp\" }]",
        "udp",
        "10.1.2.3:1",
        0,
        Trips,
    ),
    Contacted(
        "network = [{ to = \"10.0.0.0/8\", protocol = \"tcp\", name = \"n\" }]",
        "tcp",
        "10.1.2.3:1",
        0,
        Rule("n"),
    ),
    Contacted(
        "network = [\"10.0.0.0/8:1\", \"10.1.0.0/16:2\"]",
        "tcp",
        "10.1.2.3:2",
        0,
        Rule("network \"10.1.0.0/16:2\""),
    ),
    Contacted("network = [\"0.0.0.0/0\"]", "tcp", "[2001:db8::1]:80", 0, Trips),
    Contacted("network = [\"::/0\"]", "tcp", "10.1.2.3:80", 0, Trips),
    Contacted(
        "network = [\"a.example:80\"]",
        "tcp",
        "192.0.2.80:80",
        0,
        Rule("network \"a.example:80\""),
    ),
    Contacted(
        "network = [\"a.example:80\"]",
        "tcp",
        "[2001:db8::80]:80",
        0,
        Rule("network \"a.example:80\""),
    ),
    Contacted("network = [\"a.example:80\"]", "tcp", "192.0.2.81:80", 0, Trips),
    // unix sockets
    Contacted(NOTHING, "raw", "/run/x.sock", 0, Trips),
    Contacted(NOTHING, "raw", "/var/run/nscd/socket", -2, Ambient("absent")),
    Contacted(NOTHING, "raw", "/data/x.sock", -2, Tried),
    Contacted(NOTHING, "raw", "/run/x.sock", -111, Tried),
    Contacted(NOTHING, "raw", "@bus", -111, Tried),
    Contacted(
        "network = [\"unix:/run/**\"]",
        "raw",
        "/run/x.sock",
        0,
        Rule("network \"unix:/run/**\""),
    ),
    Contacted(
        "network = [\"unix:/run/**\"]",
        "raw",
        "/run/../etc/x.sock",
        -13,
        Tried,
    ),
    Contacted(
        "network = [\"unix:@bus\"]",
        "raw",
        "@bus",
        0,
        Rule("network \"unix:@bus\""),
    ),
    Contacted("network = [\"unix:@bus\"]", "raw", "/@bus", 0, Trips),
    Contacted("outputs = [\"/run/**\"]", "raw", "/run/x.sock", 0, Trips),
];

pub(super) fn peer(text: &str) -> Peer<'_> {
    match text {
        "nobody" => Peer::Nobody,
        "route" => Peer::Route,
        "vsock" => Peer::Other("vsock"),
        "unknown" => Peer::Unknown,
        _ if text.starts_with(['/', '@']) => Peer::Unix(text.as_bytes()),
        _ => Peer::Inet(text.parse().unwrap()),
    }
}

#[test]
fn contacts() {
    for Contacted(text, transport, whom, errno, expected) in CONTACTED {
        let contact = Contact {
            peer: peer(whom),
            transport: match *transport {
                "tcp" => Some(Transport::Tcp),
                "udp" => Some(Transport::Udp),
                _ => None,
            },
        };
        let answer = matcher(text).contact(&contact, &circumstance(Confidence::KernelObject, *errno));
        assert_eq!(
            found(&answer),
            *expected,
            "{text} {transport} {whom} {errno}: {answer:?}"
        );
    }
}

#[test]
fn what_is_not_settled_is_never_allowed() {
    let contact = Contact {
        peer: peer("10.1.2.3:443"),
        transport: Some(Transport::Tcp),
    };
    for confidence in [Confidence::Unresolved, Confidence::Contested] {
        assert_eq!(
            found(&matcher(NET).contact(&contact, &circumstance(confidence, 0))),
            Trips
        );
    }
    let nothing = Circumstance {
        reached_nothing: true,
        ..circumstance(Confidence::Unresolved, -14)
    };
    assert_eq!(found(&matcher(NET).contact(&contact, &nothing)), Harmless);
}
