//! Every state that a crash can leave, at any durable step and with any write torn: no false alarm, and the
//! next writer goes on.

use super::{Clock, Host, Limits, LogError, Reason, Seen, at, body, in_memory};
use crate::disk::crash::{self, Snapshot};
use crate::keys::error::KeyError;

/// A head file is overwritten within one sector, which a disk writes as a whole.
const CAN_TEAR: fn(&std::path::Path) -> bool = |path| !path.ends_with("head");

fn restored(host: &Host, state: &Snapshot) -> (tempfile::TempDir, Host) {
    let temporary = in_memory();
    state.restore(temporary.path());
    let host = host.at(temporary.path());
    (temporary, host)
}

/// Two segments: a batch of two lines, an urgent seal, a roll, and an end.
fn session(host: &Host) {
    let limits = Limits {
        roll_s: 10,
        ..Limits::default()
    };
    let mut writer = host.create(limits, at(0)).expect("a new log");
    writer.append(at(1), &body(1)).expect("a line");
    writer.append(at(2), &body(2)).expect("a line");
    writer.seal(at(3), Reason::Urgent).expect("a seal");
    writer.append(at(10_001), &body(3)).expect("a line");
    writer.tick(at(10_002)).expect("a new segment");
    writer.append(at(10_003), &body(4)).expect("a line");
    writer.close(at(10_004)).expect("closed");
}

/// What a next writer makes of a state: the log goes on and ends well, or it was never born and holds
/// nothing.
fn go_on(host: &Host, now: Clock) -> Option<Seen> {
    let mut writer = match host.reopen(now) {
        Ok(writer) => writer,
        Err(LogError::NoLog { .. } | LogError::Stillborn { .. }) => return None,
        Err(LogError::Keys(KeyError::LogUnknown { .. })) => return None,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(writer.damage(), None);
    writer.append(now, &body(100)).expect("a line");
    writer.close(now).expect("closed");
    Some(host.seen())
}

#[test]
fn no_crash_of_a_session_is_an_alarm_and_each_is_survived_twice() {
    let host = Host::new();
    let (states, ()) = crash::states(&host.root, CAN_TEAR, || session(&host));
    let whole = host.seen();
    assert_eq!((whole.segments, whole.is_closed), (2, true));
    assert!(states.len() > 60, "{}", states.len());
    let (mut unborn, mut again) = (0, 0);
    for (number, state) in states.iter().enumerate() {
        let (_temporary, crashed) = restored(&host, state);
        let before = crashed
            .check()
            .unwrap_or_else(|alarm| panic!("{number}: {alarm}"));
        let now = at(100_000);
        let (restarts, after) = crash::states(&crashed.root, CAN_TEAR, || go_on(&crashed, now));
        let Some(after) = after else {
            unborn += 1;
            assert_eq!(before, Seen::default(), "{number}: nothing was in it");
            continue;
        };
        assert!(
            after.is_closed && after.segments <= before.segments + 1,
            "{number}"
        );
        assert!(after.lines > before.lines, "{number}: no line is lost");
        // Crashing again on the way: every second state, the other ones with the neighbours of this crash,
        // whose restarts are the same but for a few bytes.
        for (second, state) in restarts.iter().enumerate().skip(number % 2).step_by(2) {
            let (_temporary, crashed) = restored(&host, state);
            let seen = crashed.check_once();
            seen.unwrap_or_else(|alarm| panic!("{number}, {second}: {alarm}"));
            again += 1;
            // Some are gone on with once more: all of them would take minutes.
            if (number + second) % 16 == 0 {
                go_on(&crashed, at(200_000)).unwrap_or_else(|| panic!("{number}, {second}: a log"));
            }
        }
    }
    assert!(
        unborn > 0 && again > 500,
        "{unborn} unborn, {again} second crashes"
    );
}

/// A crash while a log is born, then other births: no number is missing, and the log of the crash is void or
/// goes on.
#[test]
fn a_crash_while_a_log_is_born_leaves_no_number_missing() {
    let host = Host::new();
    let (states, ()) = crash::states(&host.root, CAN_TEAR, || {
        host.create(Limits::default(), at(0)).expect("a new log");
    });
    for (number, state) in states.iter().enumerate() {
        let (_temporary, crashed) = restored(&host, state);
        let log = crashed.log();
        let moved = log.with_file_name("moved");
        if log.exists() {
            std::fs::rename(&log, &moved).expect("ours");
        }
        crashed
            .create(Limits::default(), at(1))
            .expect("a new log")
            .close(at(2))
            .expect("closed");
        let seen = crashed.seen();
        assert!(seen.is_closed);
        let entries = crashed.keys().entries().expect("a list");
        let numbers: Vec<u64> = entries.iter().map(|entry| entry.i.value()).collect();
        let expected: Vec<u64> = (0..entries.len() as u64).collect();
        assert_eq!(numbers, expected, "{number}");
        // The log of the crash can still be told from a good one.
        if moved.exists() {
            std::fs::remove_dir_all(&log).expect("ours");
            std::fs::rename(&moved, &log).expect("ours");
            let was_born = entries[0].e == crate::keys::entry::Fate::Born && entries.len() == 2;
            assert_eq!(go_on(&crashed, at(3)).is_some(), was_born, "{number}");
        }
    }
}
