//! Scripted sequences: events in, what is derived from them out.

use rei_ebpf_common::connect::{ConnectBody, address_source};
use rei_ebpf_common::evidence;
use rei_ebpf_common::exec::ExecAttemptBody;
use rei_ebpf_common::file::FMODE_READ;
use rei_ebpf_common::header::{EventKind, Phase, missing};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::process::{ExitBody, ForkBody};

use super::*;
use crate::decode::record;
use crate::engine::{Mount, MountKind};

const OVERLAY_IMAGE: u32 = file_flag::PRESENT | file_flag::OVERLAY_KNOWN;
const OVERLAY_UPPER: u32 = OVERLAY_IMAGE | file_flag::OVERLAY_UPPER;

fn facts() -> ContainerFacts {
    let mount = |destination: &str, kind| Mount {
        destination: destination.to_owned(),
        kind,
    };
    ContainerFacts {
        id: "0123456789abcdef".repeat(4),
        argv: ["/entry.sh", "python3", "-u"].map(str::to_owned).to_vec(),
        search_path: Some("/usr/local/bin:/usr/bin".to_owned()),
        mounts: vec![
            mount(
                "/data",
                MountKind::Bind {
                    source: "/srv/in".to_owned(),
                },
            ),
            mount(
                "/cache/",
                MountKind::Volume {
                    name: "vol".to_owned(),
                },
            ),
            mount("/scratch", MountKind::Tmpfs),
            mount("/etc/hosts", MountKind::Engine),
        ],
        ..ContainerFacts::default()
    }
}

fn container() -> Enricher {
    let mut enricher = Enricher::new(Target::Container);
    enricher.container_known(7, facts());
    enricher
}

fn overlay(flags: u32) -> FileFacts {
    FileFacts {
        magic: file_system::OVERLAY,
        dev: 50,
        mode: 0o100_755,
        flags,
        ..FileFacts::default()
    }
}

/// A file of the root mount: all of its components are the mount's.
fn image(path: &[u8]) -> (FileFacts, Vec<u8>) {
    at(
        overlay(OVERLAY_IMAGE),
        path,
        path.split(|byte| *byte == b'/').count() as u32 - 1,
    )
}

fn at(facts: FileFacts, path: &[u8], mount_components: u32) -> (FileFacts, Vec<u8>) {
    (
        FileFacts {
            mount_components,
            ..facts
        },
        record::components(path),
    )
}

fn open(enricher: &mut Enricher, phase: Phase, (file, path): (FileFacts, Vec<u8>)) -> Enriched {
    let mut header = record::header(EventKind::Open);
    header.phase = phase as u8;
    let body = OpenBody {
        file: FileFacts {
            f_mode: FMODE_READ,
            ..file
        },
        ret: 3,
        ..OpenBody::default()
    };
    enricher.take(record::event(
        &header,
        &Body::Open(body),
        &[(PartTag::Path, &path)],
    ))
}

fn origin_of(enricher: &mut Enricher, file: (FileFacts, Vec<u8>)) -> String {
    match open(enricher, Phase::Workload, file).act() {
        Act::Open(Opened { file: Some(file), .. }) => file.origin().to_string(),
        other => panic!("{other:?}"),
    }
}

fn exec(
    enricher: &mut Enricher,
    who: (u32, u64),
    evidence_bits: u32,
    path: &[u8],
    texts: [&[u8]; 3],
) -> Enriched {
    let mut header = record::header(EventKind::Exec);
    (header.pid, header.start_ns) = who;
    let (file, components) = image(path);
    let body = ExecBody {
        file,
        evidence: evidence_bits,
        ..ExecBody::default()
    };
    let [filename, interp, argv] = texts;
    let parts = [
        (PartTag::Path, components.as_slice()),
        (PartTag::Filename, filename),
        (PartTag::Interp, interp),
        (PartTag::Argv, argv),
        (PartTag::Base, b"work\0"),
    ];
    enricher.take(record::event(&header, &Body::Exec(body), &parts))
}

fn fork(enricher: &mut Enricher, parent: (u32, u64), child: (u32, u64)) -> Enriched {
    let mut header = record::header(EventKind::Fork);
    (header.pid, header.start_ns) = parent;
    let body = ForkBody {
        child_pid: child.0,
        child_start_ns: child.1,
        ..ForkBody::default()
    };
    enricher.take(record::event(&header, &Body::Fork(body), &[]))
}

fn chain_of(enriched: &Enriched) -> Option<Chain> {
    match enriched.act() {
        Act::Exec(executed) => executed.chain,
        other => panic!("{other:?}"),
    }
}

#[test]
fn image_and_upper_are_the_kernels_word() {
    let enricher = &mut container();
    assert_eq!(origin_of(enricher, image(b"/etc/passwd")), "image");
    assert_eq!(
        origin_of(enricher, at(overlay(OVERLAY_UPPER), b"/etc/new", 2)),
        "upper"
    );
    assert_eq!(
        origin_of(enricher, at(overlay(file_flag::PRESENT), b"/etc/x", 2)),
        "unknown"
    );
    // Another overlay at the root (pivot_root into a mount of one's own) is not the container's image.
    let other = FileFacts {
        dev: 51,
        ..overlay(OVERLAY_IMAGE)
    };
    assert_eq!(origin_of(enricher, at(other, b"/bin/sh", 2)), "unknown");
    // A root that is not an overlay cannot be told apart.
    let ext4 = FileFacts {
        magic: 0xef53,
        flags: file_flag::PRESENT,
        ..FileFacts::default()
    };
    assert_eq!(origin_of(&mut container(), at(ext4, b"/bin/sh", 2)), "unknown");
}

#[test]
fn the_runtimes_own_root_is_not_the_image() {
    let enricher = &mut container();
    let host = FileFacts {
        dev: 9,
        ..overlay(OVERLAY_IMAGE)
    };
    let enriched = open(enricher, Phase::Runtime, at(host, b"/usr/bin/runc", 3));
    assert!(
        matches!(enriched.act(), Act::Open(Opened { file: Some(file), .. }) if *file.origin() == Origin::Unknown)
    );
    assert_eq!(origin_of(enricher, image(b"/bin/sh")), "image");
}

#[test]
fn declared_mounts_match_exactly() {
    let enricher = &mut container();
    let ext4 = FileFacts {
        magic: 0xef53,
        dev: 8,
        flags: file_flag::PRESENT,
        ..FileFacts::default()
    };
    let tmpfs = FileFacts {
        magic: file_system::TMPFS,
        dev: 20,
        flags: file_flag::PRESENT,
        ..FileFacts::default()
    };
    assert_eq!(origin_of(enricher, at(ext4, b"/data/a/b", 2)), "bind:/srv/in");
    assert_eq!(origin_of(enricher, at(ext4, b"/data", 0)), "bind:/srv/in");
    assert_eq!(origin_of(enricher, at(ext4, b"/cache/x", 1)), "volume:vol");
    assert_eq!(origin_of(enricher, at(ext4, b"/etc/hosts", 0)), "engine");
    assert_eq!(origin_of(enricher, at(tmpfs, b"/scratch/x", 1)), "tmpfs");
    // A mount below a declared one, and one that nobody declared.
    assert_eq!(origin_of(enricher, at(ext4, b"/data/sub/x", 1)), "unknown");
    assert_eq!(origin_of(enricher, at(ext4, b"/mnt/x", 1)), "unknown");
    // Something else was mounted over the declared mount.
    assert_eq!(
        origin_of(enricher, at(FileFacts { dev: 77, ..ext4 }, b"/data/x", 1)),
        "unknown"
    );
    // Without a way to the root the mount point means nothing.
    let detached = FileFacts {
        flags: file_flag::PRESENT | file_flag::DETACHED,
        ..ext4
    };
    assert_eq!(origin_of(enricher, at(detached, b"/data/x", 1)), "unknown");
}

#[test]
fn kernel_file_systems_and_devices_are_known_by_their_kind() {
    let kind = |magic, mode| FileFacts {
        magic,
        mode,
        flags: file_flag::PRESENT,
        ..FileFacts::default()
    };
    for target in [Target::Container, Target::Plain] {
        let enricher = &mut Enricher::new(target);
        enricher.container_known(7, facts());
        assert_eq!(
            origin_of(enricher, at(kind(file_system::PROC, 0), b"/proc/self/maps", 2)),
            "proc"
        );
        assert_eq!(
            origin_of(enricher, at(kind(0x6265_6572, 0), b"/sys/kernel", 1)),
            "sys"
        );
        assert_eq!(
            origin_of(enricher, at(kind(0x6367_7270, 0), b"/sys/fs/cgroup/x", 1)),
            "sys"
        );
        assert_eq!(
            origin_of(enricher, at(kind(file_system::TMPFS, 0o020_666), b"/dev/null", 1)),
            "dev"
        );
        assert_eq!(
            origin_of(
                enricher,
                at(kind(file_system::TMPFS, 0o020_666), b"/proc/kcore", 0)
            ),
            "dev"
        );
        assert_eq!(
            origin_of(
                enricher,
                at(kind(file_system::DEVPTS, 0o020_620), b"/dev/pts/0", 1)
            ),
            "dev"
        );
        assert_eq!(
            origin_of(
                enricher,
                at(kind(file_system::TMPFS, 0o100_600), b"/dev/shm/x", 1)
            ),
            "tmpfs"
        );
        let memfd = FileFacts {
            flags: file_flag::PRESENT | file_flag::DISCONNECTED,
            ..kind(file_system::TMPFS, 0)
        };
        assert_eq!(origin_of(enricher, at(memfd, b"memfd:x", 1)), "memfd");
        // The name alone is no proof.
        assert_ne!(
            origin_of(enricher, at(kind(file_system::TMPFS, 0), b"/tmp/memfd:x", 1)),
            "memfd"
        );
        assert_eq!(
            origin_of(
                enricher,
                at(
                    FileFacts {
                        magic: 0xef53,
                        ..memfd
                    },
                    b"memfd:x",
                    1
                )
            ),
            "unknown"
        );
    }
    let plain = &mut Enricher::new(Target::Plain);
    assert_eq!(
        origin_of(plain, at(kind(0xef53, 0o100_644), b"/etc/passwd", 2)),
        "host"
    );
    assert_eq!(origin_of(plain, image(b"/etc/passwd")), "host");
}

#[test]
fn without_the_engines_facts_only_the_kernel_speaks() {
    let enricher = &mut Enricher::new(Target::Container);
    let ext4 = FileFacts {
        magic: 0xef53,
        flags: file_flag::PRESENT,
        ..FileFacts::default()
    };
    assert_eq!(origin_of(enricher, image(b"/bin/sh")), "image");
    assert_eq!(origin_of(enricher, at(ext4, b"/data/x", 1)), "unknown");
    let tmpfs = FileFacts {
        magic: file_system::TMPFS,
        ..ext4
    };
    assert_eq!(origin_of(enricher, at(tmpfs, b"/scratch/x", 1)), "unknown");
    assert_eq!(open(enricher, Phase::Workload, image(b"/x")).container(), None);
    enricher.container_known(7, facts());
    assert_eq!(origin_of(enricher, at(ext4, b"/data/x", 1)), "bind:/srv/in");
    assert_eq!(
        open(enricher, Phase::Workload, image(b"/x")).container(),
        Some("0123456789ab")
    );
}

#[test]
fn objects_of_no_directory_have_no_leading_slash() {
    let nameless = |magic| FileFacts {
        magic,
        ino: 12,
        flags: file_flag::PRESENT | file_flag::DISCONNECTED,
        ..FileFacts::default()
    };
    let table: [(u64, &[u8], &[u8]); 6] = [
        (file_system::PIPEFS, b"", b"pipe:[12]"),
        (file_system::SOCKFS, b"", b"socket:[12]"),
        (file_system::NSFS, b"", b"ns:[12]"),
        (file_system::ANON_INODE, b"[eventfd]\0", b"anon_inode:[eventfd]"),
        (file_system::TMPFS, b"memfd:x\0", b"memfd:x"),
        (0xef53, b"", b"disconnected:[12]"),
    ];
    for (magic, components, path) in table {
        let enriched = open(
            &mut container(),
            Phase::Workload,
            (nameless(magic), components.to_vec()),
        );
        assert!(matches!(enriched.act(), Act::Open(opened) if opened.path.as_deref() == Some(path)));
    }
}

#[test]
fn a_path_without_its_beginning_is_not_absolute() {
    let mut header = record::header(EventKind::Open);
    header.missing = missing::PATH_CUT;
    let body = OpenBody {
        file: overlay(OVERLAY_IMAGE),
        ..OpenBody::default()
    };
    let event = record::event(&header, &Body::Open(body), &[(PartTag::Path, b"c\0b\0")]);
    let enriched = container().take(event);
    assert_eq!(enriched.confidence(), Confidence::KernelObject);
    let Act::Open(opened) = enriched.act() else {
        panic!()
    };
    assert_eq!(opened.path.as_deref(), Some(&b"b/c"[..]));
    assert_eq!(opened.file.as_ref().unwrap().origin(), &Origin::Unknown);
}

#[test]
fn successful_opens_are_as_sure_as_their_object() {
    let table = [
        (file_flag::PRESENT, 0, 0, Confidence::KernelObject),
        (file_flag::PRESENT, evidence::CONTESTED, 0, Confidence::Contested),
        (
            file_flag::PRESENT,
            evidence::TABLE_SHARED,
            missing::TEXT_ENTRY,
            Confidence::KernelObject,
        ),
        (0, 0, missing::OBJECT, Confidence::Unresolved),
        (
            file_flag::PRESENT,
            0,
            missing::PATH_UNREADABLE,
            Confidence::Unresolved,
        ),
    ];
    for (flags, evidence_bits, missing_bits, expected) in table {
        let mut header = record::header(EventKind::Open);
        header.missing = missing_bits;
        let file = FileFacts {
            flags,
            ..FileFacts::default()
        };
        let body = OpenBody {
            file,
            evidence: evidence_bits,
            ..OpenBody::default()
        };
        let event = record::event(&header, &Body::Open(body), &[(PartTag::Path, b"x\0")]);
        assert_eq!(container().take(event).confidence(), expected);
    }
}

/// A failed open with the texts, evidence bits and missing bits; `None` leaves a part out.
fn failed(entry: Option<&[u8]>, exit: Option<&[u8]>, base: Option<&[u8]>, bits: u32) -> Enriched {
    let mut header = record::header(EventKind::Open);
    header.missing |= if entry.is_none() { missing::TEXT_ENTRY } else { 0 };
    header.missing |= if exit.is_none() { missing::TEXT_EXIT } else { 0 };
    header.missing |= if base.is_none() { missing::BASE } else { 0 };
    let body = OpenBody {
        ret: -2,
        evidence: bits,
        syscall: 257,
        ..OpenBody::default()
    };
    let mut parts = Vec::new();
    parts.extend(entry.map(|text| (PartTag::TextEntry, text)));
    parts.extend(exit.map(|text| (PartTag::TextExit, text)));
    parts.extend(base.map(|components| (PartTag::Base, components)));
    container().take(record::event(&header, &Body::Open(body), &parts))
}

#[test]
fn failed_opens_are_as_sure_as_their_text() {
    type Case = (
        Option<&'static [u8]>,
        Option<&'static [u8]>,
        Option<&'static [u8]>,
        u32,
        Confidence,
        Option<&'static [u8]>,
    );
    let table: [Case; 8] = [
        (
            Some(b"x"),
            Some(b"x"),
            Some(b"work\0"),
            0,
            Confidence::ArgumentText,
            Some(b"/work/x"),
        ),
        (
            None,
            Some(b"/x"),
            Some(b""),
            0,
            Confidence::ArgumentText,
            Some(b"/x"),
        ),
        (
            Some(b"a"),
            Some(b"b"),
            Some(b"work\0"),
            0,
            Confidence::Unresolved,
            Some(b"/work/b"),
        ),
        (
            Some(b"a"),
            None,
            Some(b"work\0"),
            0,
            Confidence::Unresolved,
            Some(b"/work/a"),
        ),
        (None, None, Some(b"work\0"), 0, Confidence::Unresolved, None),
        (Some(b"x"), Some(b"x"), None, 0, Confidence::Unresolved, None),
        (
            Some(b"x"),
            Some(b"x"),
            Some(b"w\0"),
            evidence::BASE_CHANGED,
            Confidence::Unresolved,
            Some(b"/w/x"),
        ),
        (
            Some(b"x"),
            Some(b"x"),
            Some(b"w\0"),
            evidence::CONTESTED,
            Confidence::Contested,
            Some(b"/w/x"),
        ),
    ];
    for (entry, exit, base, bits, confidence, path) in table {
        let enriched = failed(entry, exit, base, bits);
        assert_eq!(
            enriched.confidence(),
            confidence,
            "{entry:?} {exit:?} {base:?} {bits}"
        );
        let Act::Open(opened) = enriched.act() else {
            panic!()
        };
        assert_eq!(opened.path.as_deref(), path);
        assert!(opened.lexical && opened.file.is_none());
        assert_eq!(enriched.outcome().to_string(), "ENOENT");
    }
    let Act::Open(opened) = failed(Some(b"a"), Some(b"b"), Some(b""), 0).act().clone() else {
        panic!()
    };
    assert_eq!(opened.text.differing_entry(), Some(&b"a"[..]));
}

#[test]
fn what_the_kernel_could_not_read_reached_nothing() {
    let mut header = record::header(EventKind::Open);
    header.missing = missing::TEXT_ENTRY | missing::TEXT_EXIT;
    let with = |ret| {
        Body::Open(OpenBody {
            ret,
            ..OpenBody::default()
        })
    };
    assert!(
        container()
            .take(record::event(&header, &with(-14), &[]))
            .reached_nothing()
    );
    assert!(
        !container()
            .take(record::event(&header, &with(-2), &[]))
            .reached_nothing()
    );
}

#[test]
fn creat_has_its_flags_by_definition() {
    let body = OpenBody {
        ret: -13,
        syscall: 85,
        ..OpenBody::default()
    };
    let event = record::event(&record::header(EventKind::Open), &Body::Open(body), &[]);
    let Act::Open(opened) = container().take(event).act().clone() else {
        panic!()
    };
    assert!(opened.access.has(Access::Create) && opened.access.has(Access::Truncate));
    assert!(!opened.access.has(Access::Read));
}

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
        evidence: evidence_bits,
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
    assert_eq!(contacted(inet(address_source::NONE, 0), 0, &[]), (String::new(), Confidence::Unresolved));
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
    let table: [(&[u8], Option<&[u8]>, &str, Confidence); 6] = [
        (
            b"/run/x.sock\0junk",
            None,
            "/run/x.sock",
            Confidence::ArgumentText,
        ),
        (
            b"x.sock",
            Some(b"work\0"),
            "/work/x.sock",
            Confidence::ArgumentText,
        ),
        (b"x.sock", None, "x.sock", Confidence::Unresolved),
        (b"@x", None, "./@x", Confidence::Unresolved),
        (b"\0abs", None, "@abs", Confidence::ArgumentText),
        (b"", None, "", Confidence::Unresolved),
    ];
    for (name, base, address, confidence) in table {
        let sockaddr = unix(name);
        let mut parts = vec![(exit, sockaddr.as_slice())];
        parts.extend(base.map(|components| (PartTag::Base, components)));
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

#[test]
fn exec_attempts_have_their_object_or_their_text() {
    let take = |body, parts: &[(PartTag, &[u8])]| {
        container().take(record::event(
            &record::header(EventKind::ExecAttempt),
            &Body::ExecAttempt(body),
            parts,
        ))
    };
    let file = overlay(OVERLAY_IMAGE);
    let empty = ExecAttemptBody {
        file,
        ret: -13,
        evidence: evidence::EMPTY_PATH,
        ..ExecAttemptBody::default()
    };
    let enriched = take(
        empty,
        &[(PartTag::Path, b"tool\0bin\0"), (PartTag::TextExit, b"")],
    );
    assert_eq!(enriched.confidence(), Confidence::KernelObject);
    assert!(
        matches!(enriched.act(), Act::ExecAttempt(a) if a.path.as_deref() == Some(b"/bin/tool") && !a.lexical)
    );
    let missing = ExecAttemptBody {
        ret: -2,
        ..ExecAttemptBody::default()
    };
    let enriched = take(
        missing,
        &[(PartTag::TextExit, b"/usr/local/bin/ls"), (PartTag::Base, b"")],
    );
    assert_eq!(
        (enriched.confidence(), enriched.outcome().to_string().as_str()),
        (Confidence::ArgumentText, "ENOENT")
    );
    assert!(matches!(enriched.act(), Act::ExecAttempt(a) if a.lexical));
}

#[test]
fn a_process_runs_what_it_last_executed() {
    let enricher = &mut container();
    let entry = exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT,
        b"/bin/sh",
        [b"/bin/sh", b"/bin/sh", b"sh\0"],
    );
    assert_eq!(entry.program(), None);
    assert_eq!(fork(enricher, (1, 1), (2, 2)).program(), Some(&b"/bin/sh"[..]));
    let second = exec(enricher, (2, 2), 0, b"/bin/ls", [b"/bin/ls", b"/bin/ls", b"ls\0"]);
    assert_eq!(second.program(), Some(&b"/bin/sh"[..]));
    assert_eq!(fork(enricher, (2, 2), (3, 3)).program(), Some(&b"/bin/ls"[..]));
    // The same pid, another process.
    assert_eq!(fork(enricher, (2, 9), (4, 4)).program(), None);
    enricher.process_present(7, 5, 5, Some(b"/usr/bin/daemon".to_vec()));
    assert_eq!(
        fork(enricher, (5, 5), (6, 6)).program(),
        Some(&b"/usr/bin/daemon"[..])
    );
    let mut header = record::header(EventKind::Exit);
    (header.pid, header.start_ns) = (2, 2);
    let exit = enricher.take(record::event(&header, &Body::Exit(ExitBody::default()), &[]));
    assert_eq!(exit.program(), None);
}

#[test]
fn scripts_name_script_interpreter_and_program() {
    let texts: [&[u8]; 3] = [b"./run.sh", b"/bin/sh", b"/bin/sh\0./run.sh\0"];
    let enriched = exec(&mut container(), (1, 1), evidence::SCRIPT, b"/bin/busybox", texts);
    let Act::Exec(executed) = enriched.act() else {
        panic!()
    };
    assert_eq!(executed.script.as_deref(), Some(&b"/work/./run.sh"[..]));
    assert_eq!(executed.interpreter.as_deref(), Some(&b"/bin/sh"[..]));
    assert_eq!(executed.file.as_ref().unwrap().path(), Some(&b"/bin/busybox"[..]));
    assert_eq!(enriched.argv(), [&b"/bin/sh"[..], b"./run.sh"]);
    assert_eq!(enriched.confidence(), Confidence::KernelObject);
}

#[test]
fn the_chain_follows_what_entrypoint_and_cmd_name() {
    let enricher = &mut container();
    let start: [&[u8]; 3] = [b"/entry.sh", b"/bin/sh", b"/bin/sh\0/entry.sh\0python3\0-u\0"];
    let entry = exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT | evidence::SCRIPT,
        b"/bin/dash",
        start,
    );
    assert_eq!(chain_of(&entry), Some(Chain::Entrypoint));
    // A child is not part of it, whatever it executes.
    fork(enricher, (1, 1), (2, 2));
    let python: [&[u8]; 3] = [b"/usr/bin/python3", b"/usr/bin/python3", b"python3\0-u\0"];
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/python3.11", python)),
        None
    );
    // What is not named is not, what is named is: by what was asked for and by what was found.
    let curl: [&[u8]; 3] = [b"/usr/bin/curl", b"/usr/bin/curl", b"python3\0"];
    assert_eq!(chain_of(&exec(enricher, (1, 1), 0, b"/usr/bin/curl", curl)), None);
    let elsewhere: [&[u8]; 3] = [b"/tmp/python3", b"/tmp/python3", b"python3\0"];
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/tmp/python3", elsewhere)),
        None
    );
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/usr/bin/python3.11", python)),
        Some(Chain::Named)
    );
    // A file of the upper layer is not from the image.
    let mut header = record::header(EventKind::Exec);
    (header.pid, header.start_ns) = (1, 1);
    let (file, path) = at(overlay(OVERLAY_UPPER), b"/usr/bin/python3", 3);
    let parts = [
        (PartTag::Path, path.as_slice()),
        (PartTag::Filename, &b"/usr/bin/python3"[..]),
    ];
    let upper = ExecBody {
        file,
        ..ExecBody::default()
    };
    assert_eq!(
        chain_of(&enricher.take(record::event(&header, &Body::Exec(upper), &parts))),
        None
    );
}

#[test]
fn the_target_of_env_is_the_interpreter() {
    let enricher = &mut container();
    let start: [&[u8]; 3] = [b"/entry.py", b"/usr/bin/env", b"/usr/bin/env\0node\0/entry.py\0"];
    exec(
        enricher,
        (1, 1),
        evidence::ENTRYPOINT | evidence::SCRIPT,
        b"/usr/bin/env",
        start,
    );
    let node: [&[u8]; 3] = [
        b"/usr/local/bin/node",
        b"/usr/local/bin/node",
        b"node\0/entry.py\0",
    ];
    let first = exec(enricher, (1, 1), 0, b"/usr/local/bin/node", node);
    assert_eq!(chain_of(&first), Some(Chain::Interpreter));
    // Only once.
    assert_eq!(
        chain_of(&exec(enricher, (1, 1), 0, b"/usr/local/bin/node", node)),
        None
    );
}

#[test]
fn docker_init_hands_over_to_its_first_child() {
    let enricher = &mut Enricher::new(Target::Container);
    let init: [&[u8]; 3] = [b"/sbin/docker-init", b"", b"/sbin/docker-init\0--\0/entry.sh\0"];
    let tool: [&[u8]; 3] = [b"/usr/bin/tool", b"", b"tool\0"];
    exec(enricher, (1, 1), evidence::ENTRYPOINT, b"/sbin/docker-init", init);
    fork(enricher, (1, 1), (2, 2));
    fork(enricher, (1, 1), (3, 3));
    // The engine's word may come late.
    enricher.container_known(
        7,
        ContainerFacts {
            init: true,
            ..facts()
        },
    );
    assert_eq!(chain_of(&exec(enricher, (3, 3), 0, b"/usr/bin/tool", tool)), None);
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/tool", tool)),
        Some(Chain::InitChild)
    );
    // It stands where the entrypoint stood.
    let python: [&[u8]; 3] = [b"/usr/bin/python3", b"", b"python3\0"];
    assert_eq!(
        chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/python3.11", python)),
        Some(Chain::Named)
    );
    // Its own first child is a child.
    fork(enricher, (2, 2), (4, 4));
    assert_eq!(chain_of(&exec(enricher, (4, 4), 0, b"/usr/bin/tool", tool)), None);
    // Without --init the first child is nothing special.
    let enricher = &mut container();
    exec(enricher, (1, 1), evidence::ENTRYPOINT, b"/bin/sh", tool);
    fork(enricher, (1, 1), (2, 2));
    assert_eq!(chain_of(&exec(enricher, (2, 2), 0, b"/usr/bin/tool", tool)), None);
}
