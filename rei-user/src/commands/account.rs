//! How an observation ended, and what that leaves out of its record.
//!
//! Takes what the kernel side noted of each scope that is ours, and what the command knows. Gives the reasons
//! why the record is incomplete.

use rei_ebpf_common::maps::ScopeState;

use crate::attach::{LostByKind, SensorState};
use crate::coverage::{self, RouteGap};
use crate::report::{CommandExit, ExitCodes, Reason};

/// How it ended.
pub(super) struct Ending {
    /// The command's own end, if it is known.
    pub(super) command: Option<CommandExit>,
    /// Exit code by completeness.
    pub(super) exit_codes: ExitCodes,
    /// Exit code if the output failed.
    pub(super) exit_failed: u8,
    /// Whether something ran that must have had a scope.
    pub(super) expects_scope: bool,
    /// Whether something ran that must have begun with an exec of its own.
    pub(super) expects_entrypoint: bool,
    /// Whether processes that are left make the record incomplete. The kernel side counts those that it saw
    /// start.
    pub(super) counts_processes: bool,
    /// What the command knows to be missing.
    pub(super) reasons: Vec<Reason>,
}

/// What makes a record incomplete, by what the kernel side noted itself.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// In words.
    pub(super) reasons: Vec<Reason>,
    /// Routes that were used and that no live sensor covers.
    pub(super) gaps: Vec<RouteGap>,
    /// Events of these scopes that were lost.
    pub(super) lost: LostByKind,
}

/// `states` are those of the scopes that are ours; `None` where the kernel side knows nothing of one.
pub(super) fn of(states: &[Option<ScopeState>], sensors: &[SensorState], ending: &Ending) -> Account {
    let mut account = Account {
        reasons: ending.reasons.clone(),
        ..Account::default()
    };
    let known = || states.iter().flatten();
    for state in known() {
        account.lost.add(LostByKind::of(state));
        account.gaps.extend(coverage::gaps(state, sensors));
    }
    if states.contains(&None) || (ending.expects_scope && states.is_empty()) {
        account.reasons.push(unseen());
    }
    if ending.expects_entrypoint && known().any(|state| state.entrypoint_ns == 0) {
        account.reasons.push(never_began());
    }
    // A counter that a lost event has driven below zero says nothing about the other scopes.
    let left = known().map(|state| state.processes.cast_signed().max(0).cast_unsigned());
    let left = left.fold(0, u64::saturating_add);
    if ending.counts_processes && left > 0 {
        account.reasons.push(ended_early(left));
    }
    account
}

fn unseen() -> Reason {
    Reason::Other {
        kind: "scope_not_seen",
        text: "what ran was not seen by the kernel side: its cgroup was never reported, or there was no room for it"
            .to_owned(),
        next_step: "see `rei doctor` about the cgroup v2 tree".to_owned(),
    }
}

fn never_began() -> Reason {
    Reason::Other {
        kind: "entrypoint_not_seen",
        text:
            "no program was seen to start: what the command or container itself did cannot be told from the \
               preparations for it"
                .to_owned(),
        next_step: "look at the events of phase runtime with --json -o FILE".to_owned(),
    }
}

fn ended_early(processes: u64) -> Reason {
    Reason::Other {
        kind: "ended_early",
        text: format!(
            "{processes} process(es) still ran when the recording ended: what they did since is not here"
        ),
        next_step: "let the command wait for its background processes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rei_ebpf_common::header::{EventKind, KIND_SLOTS};
    use rei_ebpf_common::hooks::Sensor;
    use rei_ebpf_common::maps::{FAMILY_SLOTS, SOCKET_KINDS, SYSCALL_SLOTS};

    use super::*;

    fn state(entrypoint_ns: u64, processes: i64) -> ScopeState {
        ScopeState {
            lost: [0; KIND_SLOTS],
            entrypoint_ns,
            processes: processes.cast_unsigned(),
            native: [0; SYSCALL_SLOTS],
            compat: [0; SYSCALL_SLOTS],
            sockets: [[0; SOCKET_KINDS]; FAMILY_SLOTS],
        }
    }

    fn ending(expects_entrypoint: bool) -> Ending {
        Ending {
            command: Some(CommandExit::Code(0)),
            exit_codes: ExitCodes {
                findings: 101,
                complete: 0,
                incomplete: 103,
            },
            exit_failed: 125,
            expects_scope: true,
            expects_entrypoint,
            counts_processes: true,
            reasons: Vec::new(),
        }
    }

    fn account(states: &[Option<ScopeState>], expects_entrypoint: bool) -> Account {
        let live = |sensor| SensorState { sensor, gap: None };
        of(states, &Sensor::ALL.map(live), &ending(expects_entrypoint))
    }

    fn kinds(states: &[Option<ScopeState>], expects_entrypoint: bool) -> Vec<&'static str> {
        let reasons = account(states, expects_entrypoint).reasons;
        reasons.iter().map(Reason::kind).collect()
    }

    #[test]
    fn a_workload_that_never_began_is_a_reason_where_one_must_have() {
        assert_eq!(kinds(&[Some(state(5, 0))], true), Vec::<&str>::new());
        assert_eq!(kinds(&[Some(state(0, 0))], true), ["entrypoint_not_seen"]);
        // The container was never started, or the command could not be executed.
        assert_eq!(kinds(&[Some(state(0, 0))], false), Vec::<&str>::new());
        // Started twice, seen once.
        let twice = [Some(state(5, 0)), Some(state(0, 0))];
        assert_eq!(kinds(&twice, true), ["entrypoint_not_seen"]);
    }

    #[test]
    fn what_ran_without_a_scope_was_not_seen() {
        assert_eq!(kinds(&[], true), ["scope_not_seen"]);
        assert_eq!(kinds(&[Some(state(5, 0)), None], true), ["scope_not_seen"]);
        let never_ran = Ending {
            expects_scope: false,
            ..ending(false)
        };
        assert!(of(&[], &[], &never_ran).reasons.is_empty());
    }

    #[test]
    fn a_counter_below_zero_hides_no_process() {
        let counted = |states: &[i64]| {
            let states: Vec<Option<ScopeState>> = states.iter().map(|left| Some(state(5, *left))).collect();
            let reasons = account(&states, true).reasons;
            reasons
                .iter()
                .map(Reason::text)
                .collect::<Vec<String>>()
                .join(";")
        };
        assert_eq!(counted(&[0, -1]), "");
        assert!(counted(&[-1, 2]).starts_with("2 process(es)"));
        assert!(counted(&[i64::MAX, i64::MAX, i64::MAX, i64::MIN]).contains("still ran"));
    }

    #[test]
    fn each_scopes_own_losses_are_added_up() {
        let mut states = [state(5, 0), state(5, 0)];
        states[0].lost[EventKind::Open as usize] = 3;
        states[1].lost[EventKind::Open as usize] = 4;
        let lost = account(&states.map(Some), true).lost;
        assert_eq!(lost, LostByKind::from_counts(&[(EventKind::Open, 7)]));
    }
}
