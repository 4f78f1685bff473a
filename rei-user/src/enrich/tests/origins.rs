//! Where files come from, and how their paths are written.

use super::*;

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
