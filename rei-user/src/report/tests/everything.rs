//! One event of every kind, with every field that can be there.

use super::*;

/// Lets all of it happen, in this order.
pub(super) fn everything(run: &mut Run) {
    program(run);
    objects(run);
    calls(run);
    lives(run);
    gaps(run);
}

fn program(run: &mut Run) {
    let exec = ExecBody {
        file: overlay(0, 2, 0),
        argc: 2,
        evidence: evidence::ENTRYPOINT | evidence::SCRIPT,
        ..ExecBody::default()
    };
    let parts: [(PartTag, &[u8]); 5] = [
        (PartTag::Path, b"sh\0bin\0"),
        (PartTag::Filename, b"/entry\xff"),
        (PartTag::Interp, b"/bin/sh"),
        (PartTag::Argv, b"/bin/sh\0/entry\xff\0"),
        (PartTag::EnvNames, b"PATH\0HOME\0"),
    ];
    run.event(&Body::Exec(exec), &parts);
}

fn objects(run: &mut Run) {
    let mut header = record::header(EventKind::Open);
    header.task_flags = task_flag::PRESENT_AT_ATTACH | task_flag::LEFT_SCOPE;
    header.missing = missing::TEXT_ENTRY;
    let marks = file_flag::DELETED | file_flag::DETACHED | file_flag::FOREIGN_NS;
    let device = FileFacts {
        mode: 0o020_666,
        rdev: 1 << 20 | 3,
        ..overlay(FMODE_READ, 2, marks)
    };
    let body = Body::Open(OpenBody {
        file: device,
        ret: 3,
        ..OpenBody::default()
    });
    run.take(
        &header,
        &body,
        &[(PartTag::Path, b"null\0dev\0"), (PartTag::TextExit, b"null")],
    );
    let nameless = FileFacts {
        flags: file_flag::PRESENT | file_flag::DISCONNECTED,
        ..FileFacts::default()
    };
    let body = Body::Open(OpenBody {
        file: nameless,
        ret: 3,
        ..OpenBody::default()
    });
    run.event(&body, &[(PartTag::Path, b"memfd:x\0")]);
}

/// Failures, contacts and attempts.
fn calls(run: &mut Run) {
    let texts: [(PartTag, &[u8]); 3] = [
        (PartTag::TextEntry, b"a"),
        (PartTag::TextExit, b"b"),
        (PartTag::Base, b"job\0"),
    ];
    run.event(&failed(-13), &texts);
    run.event(&Body::Connect(tcp(-111)), &[]);
    run.event(
        &Body::Send(ConnectBody {
            source: address_source::CGROUP_HOOK,
            syscall: 0,
            ..tcp(0)
        }),
        &[],
    );
    let check = ExecAttemptBody {
        evidence: evidence::EXEC_CHECK,
        ..ExecAttemptBody::default()
    };
    run.event(&Body::ExecAttempt(check), &texts[1..]);
}

/// Processes and cgroups.
fn lives(run: &mut Run) {
    run.event(
        &Body::Fork(ForkBody {
            child_pid: 200,
            ..ForkBody::default()
        }),
        &[],
    );
    run.event(
        &Body::Exit(ExitBody {
            status: 3 << 8,
            reserved: 0,
        }),
        &[],
    );
    run.event(
        &Body::Exit(ExitBody {
            status: 0x89,
            reserved: 0,
        }),
        &[],
    );
    let cgroup = CgroupBody {
        cgroup: 8,
        parent: 7,
        ..CgroupBody::default()
    };
    run.event(&Body::CgroupMade(cgroup), &[(PartTag::CgroupPath, b"/docker/x")]);
    run.event(
        &Body::CgroupRemoved(cgroup),
        &[(PartTag::CgroupPath, b"/docker/x")],
    );
    run.event(
        &Body::TaskMoved(TaskMovedBody {
            to_cgroup: 1,
            mover_pid: 2,
            what: moved::LEFT,
        }),
        &[],
    );
}

/// What was cut, lost or could not be decoded.
fn gaps(run: &mut Run) {
    let mut header = record::header(EventKind::Open);
    header.missing = missing::PATH_CUT;
    let (body, path) = opened(b"/deep", FMODE_READ);
    run.take(&header, &body, &[(PartTag::Path, &path)]);
    let losses = [Loss {
        cpu: Some(1),
        kind: Some(EventKind::Open),
        cause: LossCause::RingFull,
        count: 4,
    }];
    run.report.losses(&losses).unwrap();
    run.report
        .undecodable(&decode(&Bytes::from_static(b"xx")).unwrap_err())
        .unwrap();
}
