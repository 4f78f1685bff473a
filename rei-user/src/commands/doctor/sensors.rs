//! Each sensor, really loaded and attached for a moment.

use std::iter;

use rei_ebpf_common::hooks::Sensor;

use super::Finding;
use crate::attach::{REQUIRED, SensorState, Sensors, Settings};
use crate::cgroup;

/// Size of the ring while trying: nobody reads it.
const RING_BYTES: u32 = 64 * 1024;

/// One finding per sensor.
pub(super) fn findings() -> Vec<Finding> {
    let tried = cgroup::mount_point()
        .and_then(|root| {
            Sensors::probe(
                &Settings {
                    ring_bytes: RING_BYTES,
                },
                &root,
            )
        })
        .map(|sensors| sensors.states().to_vec());
    match tried {
        Ok(states) => states.iter().map(of_state).collect(),
        Err(error) => {
            // The whole reason once is enough for a person; the checks above have its next step.
            let whys = iter::once(format!("{error:#}")).chain(iter::repeat("the same reason".to_owned()));
            Sensor::ALL
                .into_iter()
                .zip(whys)
                .map(|(sensor, why)| not_tried(sensor, &why))
                .collect()
        }
    }
}

fn of_state(state: &SensorState) -> Finding {
    let check = check(state.sensor);
    match &state.gap {
        None => Finding::ok(
            &check,
            format!("live: loaded and attached, sees {}", sees(state.sensor)),
        ),
        Some(gap) if REQUIRED.contains(&state.sensor) => Finding::fail(
            &check,
            gap,
            "rei cannot record without this sensor: report the kernel version with what `REI_DEBUG=debug rei doctor` says",
        ),
        Some(gap) => Finding::gap(
            &check,
            gap,
            format!(
                "runs on this host are marked incomplete where only this sensor sees {}",
                sees(state.sensor)
            ),
        ),
    }
}

fn not_tried(sensor: Sensor, why: &str) -> Finding {
    let next = "follow the next steps above, then run `rei doctor` again";
    let found = format!("not tried: {why}");
    if REQUIRED.contains(&sensor) {
        Finding::fail(&check(sensor), found, next)
    } else {
        Finding::gap(&check(sensor), found, next)
    }
}

fn check(sensor: Sensor) -> String {
    format!("sensor {}", sensor.name())
}

fn sees(sensor: Sensor) -> &'static str {
    match sensor {
        Sensor::Scope => "which processes belong to a container",
        Sensor::Exec => "programs that are executed",
        Sensor::Syscalls => "files that are opened, connections, failed executions",
        Sensor::SocketState => "TCP connections made outside a connect call",
        Sensor::CgroupAddress => "addresses by the kernel's own copy, and datagrams",
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn only_a_required_sensor_fails_the_host() {
        let state = |sensor| SensorState {
            sensor,
            gap: Some("refused".to_owned()),
        };
        assert_eq!(of_state(&state(Sensor::Syscalls)).status, Status::Fail);
        assert_eq!(of_state(&state(Sensor::SocketState)).status, Status::Gap);
        assert_eq!(
            of_state(&SensorState {
                sensor: Sensor::Exec,
                gap: None
            })
            .status,
            Status::Ok
        );
    }

    #[test]
    fn every_sensor_is_reported_whatever_happens() {
        let checks: Vec<String> = findings().into_iter().map(|finding| finding.check).collect();
        let expected: Vec<String> = Sensor::ALL.into_iter().map(check).collect();
        assert_eq!(checks, expected);
    }
}
