//! Addresses: by which source, how sure, and how it ended.

use super::*;

/// A connect's address and confidence.
fn contacted(body: ConnectBody, missing_bits: u32, parts: &[(PartTag, &[u8])]) -> (String, Confidence) {
    let mut header = record::header(EventKind::Connect);
    header.missing = missing_bits;
    let enriched = container().take(record::event(&header, &Body::Connect(body), parts));
    let Act::Contact(contact) = enriched.act() else {
        panic!()
    };
    let address = contact
        .address
        .as_deref()
        .map(|text| String::from_utf8_lossy(text).into_owned());
    (address.unwrap_or_default(), enriched.confidence())
}

fn inet(source: u32, evidence_bits: u32) -> ConnectBody {
    let mut address = [0; 16];
    address[..4].copy_from_slice(&[127, 0, 0, 1]);
    ConnectBody {
        family: 2,
        port: 80,
        address,
        source,
        evidence: evidence::ENTRY_SEEN | evidence_bits,
        syscall: 42,
        ..ConnectBody::default()
    }
}

#[test]
fn contacts_are_as_sure_as_their_source() {
    let table = [
        (address_source::SYN_SENT, 0, Confidence::KernelObject),
        (
            address_source::HOOKED_SOCKET,
            evidence::CONTESTED,
            Confidence::KernelObject,
        ),
        (
            address_source::CGROUP_HOOK,
            evidence::CONTESTED,
            Confidence::KernelText,
        ),
        (address_source::SOCKET, 0, Confidence::KernelObject),
        (address_source::SOCKET, evidence::CONTESTED, Confidence::Contested),
    ];
    for (source, bits, expected) in table {
        assert_eq!(
            contacted(inet(source, bits), 0, &[]),
            ("127.0.0.1:80".to_owned(), expected)
        );
    }
    assert_eq!(
        contacted(inet(address_source::NONE, 0), 0, &[]),
        (String::new(), Confidence::Unresolved)
    );
    let loopback = ConnectBody {
        family: 10,
        address: std::net::Ipv6Addr::LOCALHOST.octets(),
        ..inet(5, 0)
    };
    assert_eq!(contacted(loopback, 0, &[]).0, "[::1]:80");
    assert_eq!(
        contacted(inet(3, 0), missing::ADDRESS, &[]).1,
        Confidence::Unresolved
    );
}

#[test]
fn a_call_without_an_entry_is_not_sure() {
    let without = |source, syscall| ConnectBody {
        evidence: 0,
        syscall,
        ..inet(source, 0)
    };
    for source in [
        address_source::SYN_SENT,
        address_source::CGROUP_HOOK,
        address_source::SOCKET,
    ] {
        assert_eq!(contacted(without(source, 42), 0, &[]).1, Confidence::Unresolved);
    }
    // No call, so no entry: the hook saw the moment itself.
    assert_eq!(
        contacted(without(address_source::SYN_SENT, 0), 0, &[]).1,
        Confidence::KernelObject
    );
}

#[test]
fn argument_addresses_are_read_from_both_ends() {
    let argument = |family| ConnectBody {
        family,
        source: address_source::ARGUMENT,
        ret: -2,
        ..ConnectBody::default()
    };
    let v4 = [&2_u16.to_ne_bytes()[..], &[0, 80, 10, 0, 0, 1], &[0; 8]].concat();
    let other = [&2_u16.to_ne_bytes()[..], &[0, 81, 10, 0, 0, 1], &[0; 8]].concat();
    let (entry, exit) = (PartTag::SockaddrEntry, PartTag::SockaddrExit);
    let both = contacted(argument(2), 0, &[(entry, &v4), (exit, &v4)]);
    assert_eq!(both, ("10.0.0.1:80".to_owned(), Confidence::ArgumentText));
    assert_eq!(
        contacted(argument(2), 0, &[(exit, &v4)]).1,
        Confidence::ArgumentText
    );
    assert_eq!(
        contacted(argument(2), 0, &[(entry, &v4)]).1,
        Confidence::Unresolved
    );
    assert_eq!(
        contacted(argument(2), 0, &[(entry, &other), (exit, &v4)]).1,
        Confidence::Unresolved
    );
    assert_eq!(
        contacted(argument(2), 0, &[(exit, &v4[..6])]).1,
        Confidence::Unresolved
    );
    let unix = |name: &[u8]| [&1_u16.to_ne_bytes()[..], name].concat();
    let table = [
        ("/run/x.sock\0junk", None, "/run/x.sock", Confidence::ArgumentText),
        ("x.sock", Some("job\0"), "/job/x.sock", Confidence::ArgumentText),
        ("x.sock", None, "x.sock", Confidence::Unresolved),
        ("@x", None, "./@x", Confidence::Unresolved),
        ("\0abs", None, "@abs", Confidence::ArgumentText),
        ("", None, "", Confidence::Unresolved),
    ];
    for (name, base, address, confidence) in table {
        let sockaddr = unix(name.as_bytes());
        let mut parts = vec![(exit, sockaddr.as_slice())];
        parts.extend(base.map(|components: &str| (PartTag::Base, components.as_bytes())));
        assert_eq!(
            contacted(argument(1), 0, &parts),
            (address.to_owned(), confidence)
        );
    }
    let vsock = [
        &40_u16.to_ne_bytes()[..],
        &[0, 0],
        &9_u32.to_ne_bytes(),
        &2_u32.to_ne_bytes(),
        &[0; 4],
    ]
    .concat();
    assert_eq!(
        contacted(argument(40), 0, &[(exit, &vsock)]),
        ("2:9".to_owned(), Confidence::ArgumentText)
    );
}

#[test]
fn unix_peers_are_their_file_or_their_name() {
    let peer = FileFacts {
        flags: file_flag::PRESENT,
        mount_components: 2,
        ..FileFacts::default()
    };
    let body = ConnectBody {
        family: 1,
        source: address_source::SOCKET,
        ..ConnectBody::default()
    };
    let with_file = ConnectBody {
        unix_peer: peer,
        ..body
    };
    let parts: [(PartTag, &[u8]); 2] = [
        (PartTag::Path, b"x.sock\0run\0"),
        (PartTag::UnixName, b"./x.sock"),
    ];
    assert_eq!(
        contacted(with_file, 0, &parts),
        ("/run/x.sock".to_owned(), Confidence::KernelObject)
    );
    assert_eq!(
        contacted(body, 0, &[(PartTag::UnixName, b"\0abs")]),
        ("@abs".to_owned(), Confidence::KernelObject)
    );
    assert_eq!(contacted(body, 0, &[]).1, Confidence::Unresolved);
}

#[test]
fn outcomes_say_what_is_known() {
    let outcome_of = |kind, body| {
        let body = if kind == EventKind::Send {
            Body::Send(body)
        } else {
            Body::Connect(body)
        };
        container()
            .take(record::event(&record::header(kind), &body, &[]))
            .outcome()
            .to_string()
    };
    let connect = |ret, syscall| ConnectBody {
        ret,
        syscall,
        ..inet(5, 0)
    };
    assert_eq!(outcome_of(EventKind::Connect, connect(0, 42)), "ok");
    assert_eq!(outcome_of(EventKind::Connect, connect(-115, 42)), "in_progress");
    assert_eq!(outcome_of(EventKind::Connect, connect(-111, 42)), "ECONNREFUSED");
    assert_eq!(outcome_of(EventKind::Connect, connect(0, 0)), "in_progress");
    assert_eq!(outcome_of(EventKind::Send, connect(0, 0)), "in_progress");
}
