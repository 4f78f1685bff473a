//! Every kind by hand, every malformation, and bytes that mean nothing.

use rei_ebpf_common::part::PartHeader;

use super::*;
use crate::decode::record;

/// Field values that are all different, so that two swapped fields show.
fn file() -> FileFacts {
    FileFacts {
        ino: 0x1111_1111_1111_1111,
        magic: 0x2222_2222_2222_2222,
        dev: 3,
        rdev: 4,
        mode: 5,
        f_mode: 6,
        f_flags: 7,
        mnt_id: 8,
        flags: 9,
        mount_components: 10,
    }
}

fn connect() -> ConnectBody {
    ConnectBody {
        unix_peer: file(),
        ret: -111,
        entry_ns: 12,
        socket_ino: 13,
        address: *b"0123456789abcdef",
        port: 14,
        family: 15,
        socket_type: 16,
        protocol: 17,
        source: 18,
        evidence: 19,
        fd: -1,
        syscall: 42,
    }
}

/// One body of each kind.
fn bodies() -> Vec<Body> {
    let cgroup = CgroupBody {
        cgroup: 31,
        parent: 32,
        flags: 33,
        level: 34,
    };
    vec![
        Body::Open(OpenBody {
            file: file(),
            ret: -2,
            entry_ns: 11,
            asked_flags: 12,
            resolve: 13,
            asked_mode: 14,
            dirfd: -100,
            syscall: 257,
            evidence: 15,
        }),
        Body::Connect(connect()),
        Body::Send(connect()),
        Body::Exec(ExecBody {
            file: file(),
            parent_start_ns: 11,
            parent_pid: 12,
            old_tid: 13,
            argc: 14,
            envc: 15,
            euid: 16,
            egid: 17,
            mnt_ns: 18,
            pid_ns: 19,
            evidence: 20,
            pid_level: 21,
        }),
        Body::ExecAttempt(ExecAttemptBody {
            file: file(),
            ret: -13,
            entry_ns: 11,
            dirfd: 12,
            asked_flags: 13,
            syscall: 322,
            evidence: 14,
        }),
        Body::Fork(ForkBody {
            child_start_ns: 21,
            child_cgroup: 22,
            child_pid: 23,
            child_ns_pid: 24,
        }),
        Body::Exit(ExitBody {
            status: 25,
            reserved: 0,
        }),
        Body::CgroupMade(cgroup),
        Body::CgroupRemoved(cgroup),
        Body::TaskMoved(TaskMovedBody {
            to_cgroup: 41,
            mover_pid: 42,
            what: 43,
        }),
    ]
}

const PARTS: [(PartTag, &[u8]); 3] = [
    (PartTag::Path, b"c\0b\0a\0"),
    (PartTag::TextEntry, b"b/c"),
    (PartTag::Base, b""),
];

fn whole(kind: EventKind) -> Bytes {
    let body = bodies().into_iter().nth(kind as usize - 1).unwrap();
    record::bytes(&record::header(kind), &body, &PARTS)
}

/// The record with `bytes` written at `at`.
fn patched(at: usize, bytes: &[u8]) -> Result<Event, Malformed> {
    let mut record = whole(EventKind::Open).to_vec();
    record[at..at + bytes.len()].copy_from_slice(bytes);
    decode(&record.into()).map_err(|bad| bad.why)
}

#[test]
fn every_kind_comes_back_as_it_went_in() {
    for (kind, body) in EventKind::ALL.into_iter().zip(bodies()) {
        let mut header = record::header(kind);
        let bytes = record::bytes(&header, &body, &PARTS);
        header.len_bytes = u32::try_from(bytes.len()).unwrap();
        let event = decode(&bytes).unwrap();
        assert_eq!(event.header(), &header);
        assert_eq!(event.body(), &body);
        assert_eq!(event.kind(), kind);
        assert_eq!(event.phase(), Phase::Workload);
        assert_eq!(event.hook(), Hook::SysExit);
        assert_eq!(event.path(PartTag::Path).unwrap(), b"/a/b/c");
        assert_eq!(event.path(PartTag::Base).unwrap(), b"/");
        assert_eq!(event.part(PartTag::TextEntry).unwrap().as_ref(), b"b/c");
        assert_eq!(event.part(PartTag::TextExit), None);
    }
}

#[test]
fn bodies_have_the_size_of_their_layout() {
    let sizes = [
        size_of::<OpenBody>(),
        size_of::<ConnectBody>(),
        size_of::<ConnectBody>(),
        size_of::<ExecBody>(),
        size_of::<ExecAttemptBody>(),
        size_of::<ForkBody>(),
        size_of::<ExitBody>(),
        size_of::<CgroupBody>(),
        size_of::<CgroupBody>(),
        size_of::<TaskMovedBody>(),
    ];
    for ((kind, body), size) in EventKind::ALL.into_iter().zip(bodies()).zip(sizes) {
        let bytes = record::bytes(&record::header(kind), &body, &[]);
        assert_eq!(bytes.len(), size_of::<EventHeader>() + size, "{kind:?}");
    }
}

#[test]
fn every_tag_is_found_again() {
    for tag in PartTag::ALL {
        let body = bodies().remove(0);
        let event = record::event(&record::header(EventKind::Open), &body, &[(tag, b"x\0y")]);
        assert_eq!(event.part(tag).unwrap().as_ref(), b"x\0y");
    }
}

#[test]
fn a_record_that_ends_early_is_undecodable_at_every_byte() {
    for kind in EventKind::ALL {
        let record = whole(kind);
        for len in 0..record.len() {
            // As the reader would see it if the kernel side had cut it: the header still says the whole
            // length.
            let cut = record.slice(..len);
            let bad = decode(&cut).unwrap_err();
            let expected = |why| matches!(why, Malformed::Short(_) | Malformed::Length(_));
            assert!(expected(bad.why), "{kind:?} cut at {len}: {:?}", bad.why);
            assert_eq!(bad.bytes, cut);
            // And with a header that agrees: whatever is left must be a whole record of fewer parts, or an
            // error.
            if len >= size_of::<EventHeader>() {
                let mut agreeing = cut.to_vec();
                agreeing[4..8].copy_from_slice(&u32::try_from(len).unwrap().to_ne_bytes());
                if let Ok(event) = decode(&agreeing.into()) {
                    assert!(event.parts.len() < PARTS.len(), "{kind:?} cut at {len}");
                }
            }
        }
    }
}

#[test]
fn trailing_bytes_are_refused() {
    let mut record = whole(EventKind::Exit).to_vec();
    record.push(0);
    let len = u32::try_from(record.len()).unwrap();
    assert_eq!(
        decode(&record.clone().into()).unwrap_err().why,
        Malformed::Length(len - 1)
    );
    record[4..8].copy_from_slice(&len.to_ne_bytes());
    assert_eq!(
        decode(&record.into()).unwrap_err().why,
        Malformed::Short(len as usize + 1)
    );
}

#[test]
fn every_malformation_is_told() {
    let hook_at = 2 + 2 + 4 + 5 * 8 + 6 * 4;
    let part_at = size_of::<EventHeader>() + size_of::<OpenBody>();
    let second_part_at = part_at + size_of::<PartHeader>() + 8;
    let base = PartTag::Base as u16;
    assert_eq!(patched(0, &2_u16.to_ne_bytes()), Err(Malformed::Version(2)));
    assert_eq!(patched(4, &1_u32.to_ne_bytes()), Err(Malformed::Length(1)));
    assert_eq!(patched(2, &0_u16.to_ne_bytes()), Err(Malformed::Kind(0)));
    assert_eq!(patched(2, &11_u16.to_ne_bytes()), Err(Malformed::Kind(11)));
    assert_eq!(patched(hook_at, &0_u16.to_ne_bytes()), Err(Malformed::Hook(0)));
    assert_eq!(patched(hook_at + 5, &[4]), Err(Malformed::Phase(4)));
    assert_eq!(patched(part_at, &0_u16.to_ne_bytes()), Err(Malformed::Tag(0)));
    assert_eq!(patched(part_at, &13_u16.to_ne_bytes()), Err(Malformed::Tag(13)));
    assert_eq!(
        patched(second_part_at, &base.to_ne_bytes()),
        Err(Malformed::Repeated(PartTag::Base))
    );
    let end = part_at + size_of::<PartHeader>() + u32::MAX as usize;
    assert_eq!(
        patched(part_at + 4, &u32::MAX.to_ne_bytes()),
        Err(Malformed::Short(end))
    );
    assert_eq!(decode(&Bytes::new()).unwrap_err().why, Malformed::Short(2));
}

#[test]
fn malformations_have_words_of_their_own() {
    let all = [
        Malformed::Short(9),
        Malformed::Version(9),
        Malformed::Length(9),
        Malformed::Kind(9),
        Malformed::Hook(9),
        Malformed::Phase(9),
        Malformed::Tag(9),
        Malformed::Repeated(PartTag::Path),
    ];
    let mut words: Vec<String> = all.iter().map(ToString::to_string).collect();
    words.sort();
    words.dedup();
    assert_eq!(words.len(), all.len());
}

/// xorshift64: the same bytes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn any_bytes_are_an_event_or_undecodable() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..20_000 {
        let len = random.next() % 400;
        let noise: Vec<u8> = (0..len).map(|_| random.next().to_le_bytes()[0]).collect();
        let noise = Bytes::from(noise);
        if let Err(bad) = decode(&noise) {
            assert_eq!(bad.bytes, noise);
        }
    }
}

#[test]
fn damaged_records_never_panic() {
    let mut random = Random(42);
    for kind in EventKind::ALL {
        let record = whole(kind);
        for _ in 0..3_000 {
            let mut damaged = record.to_vec();
            for _ in 0..=random.next() % 4 {
                let at = random.next() as usize % damaged.len();
                damaged[at] = random.next().to_le_bytes()[0];
            }
            if let Ok(event) = decode(&damaged.into()) {
                // What decodes can be asked everything.
                let _ = (event.path(PartTag::Path), event.path(PartTag::Base), event.kind());
            }
        }
    }
}
