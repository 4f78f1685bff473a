//! Tests against the running kernel: as root, with the real object.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use aya::maps::HashMap;
use aya::programs::loaded_programs;
use bytes::Bytes;
use rei_ebpf_common::header::EventKind;
use rei_ebpf_common::maps::TaskState;
use tokio::sync::{mpsc, oneshot};

use super::*;
use crate::decode::{Event, decode};
use crate::{cgroup, ring};

fn sensors() -> Sensors {
    let root = cgroup::mount_point().expect("a cgroup v2 mount");
    Sensors::load(&Settings::default(), &root).expect("the required sensors load")
}

/// A cgroup that is removed at the end.
struct TestCgroup {
    path: PathBuf,
    id: u64,
}

impl TestCgroup {
    fn new(name: &str) -> Self {
        let root = cgroup::mount_point().expect("a cgroup v2 mount");
        let path = root.join(format!("rei-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a new cgroup");
        let id = fs::metadata(&path).expect("it is there").ino();
        Self { path, id }
    }

    /// Runs `script` from its first instruction in this cgroup, and waits for its end.
    fn run(&self, script: &str) {
        let mut child = Command::new("/bin/sh")
            .args(["-c", &format!("read go; exec /bin/sh -c '{script}'")])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        fs::write(self.path.join("cgroup.procs"), child.id().to_string()).expect("the shell is moved");
        child
            .stdin
            .take()
            .expect("a pipe")
            .write_all(b"go\n")
            .expect("the shell waits");
        assert!(child.wait().expect("the shell ends").success());
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            eprintln!("{} is left: {error}", self.path.display());
        }
    }
}

/// Everything that the ring holds now.
fn drained(ring: aya::maps::RingBuf<aya::maps::MapData>) -> Vec<Event> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (out, mut from) = mpsc::channel::<Bytes>(ring::CHANNEL_RECORDS);
        let (stopper, stop) = oneshot::channel();
        let reader = tokio::spawn(ring::read(ring, out, stop));
        tokio::time::sleep(Duration::from_millis(50)).await;
        stopper.send(()).expect("the reader lives");
        let mut events = Vec::new();
        while let Some(record) = from.recv().await {
            events.push(decode(&record).expect("a whole record"));
        }
        reader.await.expect("the reader ends without a panic");
        events
    })
}

#[test]
#[ignore = "root"]
fn every_sensor_is_live_and_nothing_stays_in_the_kernel() {
    let sensors = sensors();
    for state in sensors.states() {
        assert_eq!(state.gap, None, "{}", state.sensor.name());
    }
    let ours: Vec<u32> = PROGRAMS
        .iter()
        .map(|program| {
            sensors
                .ebpf
                .program(program.name)
                .expect("in the object")
                .info()
                .expect("loaded")
                .id()
        })
        .collect();
    let live = || -> Vec<u32> { loaded_programs().flatten().map(|program| program.id()).collect() };
    assert!(ours.iter().all(|id| live().contains(id)));
    drop(sensors);
    // The kernel frees a program after a grace period.
    for _ in 0..100 {
        if !ours.iter().any(|id| live().contains(id)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!(
        "programs are left in the kernel: {:?}",
        ours.iter().filter(|id| live().contains(id))
    );
}

#[test]
#[ignore = "root"]
fn a_plain_command_is_recorded_from_exec_to_exit() {
    let mut sensors = sensors();
    let cgroup = TestCgroup::new("plain");
    sensors.watch_plain(cgroup.id).expect("watched");
    cgroup.run("read line < /etc/hostname; exit 0");
    let state = sensors
        .scope_state(cgroup.id)
        .expect("readable")
        .expect("watched");
    assert!(state.entrypoint_ns > 0, "the entrypoint was seen");
    assert_eq!(state.processes, 0, "nobody is alive");
    sensors.detach();
    let events = drained(sensors.take_ring().expect("the ring, once"));
    assert!(sensors.take_ring().is_err(), "the ring, a second time");
    let ours: Vec<EventKind> = events
        .iter()
        .filter(|event| event.header().scope == cgroup.id)
        .map(Event::kind)
        .collect();
    for kind in [
        EventKind::TaskMoved,
        EventKind::Exec,
        EventKind::Open,
        EventKind::Exit,
    ] {
        assert!(ours.contains(&kind), "no {} among {ours:?}", kind.name());
    }
    assert_eq!(sensors.losses().expect("readable after detaching"), []);
    sensors.forget(cgroup.id).expect("forgotten");
    assert_eq!(sensors.scope_state(cgroup.id).expect("readable"), None);
}

#[test]
#[ignore = "root"]
fn a_running_tree_is_followed_and_forgotten_whole() {
    let mut sensors = sensors();
    let cgroup = TestCgroup::new("running");
    // Ids that no cgroup and no process has.
    let (inner, pid) = (u64::MAX - 1, u32::MAX - 1);
    sensors.watch_running(&[cgroup.id, inner]).expect("watched");
    sensors.follow_present(cgroup.id, pid, 7).expect("followed");
    sensors
        .follow_present(cgroup.id, pid, 8)
        .expect("who is followed already stays as it is");
    let task = |sensors: &Sensors| {
        let tasks: HashMap<_, u32, TaskState> =
            HashMap::try_from(map(&sensors.ebpf, "TASKS").expect("a map")).expect("of this shape");
        tasks.get(&pid, 0).ok()
    };
    assert_eq!(
        task(&sensors).map(|task| (task.scope, task.start_ns)),
        Some((cgroup.id, 7))
    );
    sensors.forget(cgroup.id).expect("forgotten");
    assert_eq!(task(&sensors), None);
    assert_eq!(sensors.scope_state(cgroup.id).expect("readable"), None);
    let cgroups: HashMap<_, u64, u64> =
        HashMap::try_from(map(&sensors.ebpf, "CGROUPS").expect("a map")).expect("of this shape");
    assert!(cgroups.get(&inner, 0).is_err() && cgroups.get(&cgroup.id, 0).is_err());
}

#[test]
#[ignore = "root"]
fn arming_and_disarming_reach_the_kernel_side() {
    use aya::maps::Array;
    use rei_ebpf_common::maps::Control;

    let mut sensors = sensors();
    let control = |sensors: &Sensors| -> Control {
        Array::try_from(map(&sensors.ebpf, "CONTROL").expect("a map"))
            .expect("of this shape")
            .get(&0, 0)
            .expect("a slot")
    };
    sensors.arm_new_containers(Some(&"5".repeat(64))).expect("armed");
    assert_eq!(
        (control(&sensors).arm_new_containers, control(&sensors).expect_one),
        (1, 1)
    );
    sensors.disarm().expect("disarmed");
    assert_eq!(control(&sensors), Control::default());
}
