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
            // LD_LIBRARY_PATH, which cargo sets, makes the loader look for files in many places.
            .env_clear()
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

/// Instructions that the verifier may walk for one program; the kernel's own limit is a million. Measured on
/// Linux 6.18: see the test's output. A program near the limit would be refused by the next kernel.
const VERIFIER_BUDGET: u32 = 100_000;

#[test]
#[ignore = "root"]
fn every_program_stays_within_its_verifier_budget() {
    let sensors = sensors();
    for program in &PROGRAMS {
        let loaded = sensors.ebpf.program(program.name).expect("in the object");
        let info = loaded.info().expect("loaded");
        let walked = info
            .verified_instruction_count()
            .expect("Linux 5.16 and later count");
        eprintln!("{}: {walked} instructions walked", program.name);
        assert!(walked <= VERIFIER_BUDGET, "{}: {walked}", program.name);
    }
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
fn recorded_and_lost_add_up_when_the_ring_is_full() {
    let root = cgroup::mount_point().expect("a cgroup v2 mount");
    let small = Settings {
        ring_bytes: 64 * 1024,
    };
    let mut sensors = Sensors::load(&small, &root).expect("the required sensors load");
    let cgroup = TestCgroup::new("full");
    sensors.watch_plain(cgroup.id).expect("watched");
    // Nobody reads the ring meanwhile.
    cgroup.run("i=0; while [ $i -lt 3000 ]; do read line < /etc/hostname; i=$((i+1)); done; true");
    sensors.detach();
    let events = drained(sensors.take_ring().expect("the ring"));
    let opens = events
        .iter()
        .filter(|event| event.kind() == EventKind::Open)
        .count() as u64;
    let losses = sensors.losses().expect("readable");
    let lost: u64 = losses
        .iter()
        .filter(|loss| loss.kind == Some(EventKind::Open) && loss.cause == LossCause::RingFull)
        .map(|loss| loss.count)
        .sum();
    assert!(lost > 0, "the ring was large enough for everything");
    // The shell itself opens a few files more (loader, libc).
    assert!(
        (3000..3020).contains(&(opens + lost)),
        "{opens} recorded, {lost} lost: {losses:?}"
    );
    let state = sensors
        .scope_state(cgroup.id)
        .expect("readable")
        .expect("watched");
    assert_eq!(
        state.lost[EventKind::Open as usize],
        lost,
        "the scope's own count"
    );
    let forgotten = sensors.forget(cgroup.id).expect("forgotten");
    assert_eq!(forgotten.of_kind(Some(EventKind::Open)), lost);
}

#[test]
#[ignore = "root"]
fn nothing_is_lost_while_the_ring_is_read() {
    let root = cgroup::mount_point().expect("a cgroup v2 mount");
    // Too small for everything: the reader has to come back in time.
    let mut sensors =
        Sensors::load(&Settings { ring_bytes: 1 << 20 }, &root).expect("the required sensors load");
    let cgroup = TestCgroup::new("flood");
    sensors.watch_plain(cgroup.id).expect("watched");
    let ring = sensors.take_ring().expect("the ring");
    let (stopper, stop) = oneshot::channel();
    let reader = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (out, mut from) = mpsc::channel::<Bytes>(ring::CHANNEL_RECORDS);
            let reader = tokio::spawn(ring::read(ring, out, stop));
            let mut opens = 0;
            while let Some(record) = from.recv().await {
                opens += u64::from(decode(&record).expect("a whole record").kind() == EventKind::Open);
            }
            reader.await.expect("the reader ends without a panic");
            opens
        })
    });
    cgroup.run("i=0; while [ $i -lt 20000 ]; do read line < /etc/hostname; i=$((i+1)); done; true");
    sensors.detach();
    stopper.send(()).expect("the reader lives");
    let opens = reader.join().expect("without a panic");
    assert_eq!(sensors.losses().expect("readable"), []);
    assert!((20_000..20_020).contains(&opens), "{opens} opens");
}

#[test]
#[ignore = "root"]
fn a_running_tree_is_followed_and_forgotten_whole() {
    let mut sensors = sensors();
    let cgroup = TestCgroup::new("running");
    // An id that no cgroup has, and a process that is there: this one.
    let (inner, pid) = (u64::MAX - 1, std::process::id());
    sensors.watch_running(&[cgroup.id, inner]).expect("watched");
    sensors.follow_present(cgroup.id, pid, 7).expect("followed");
    sensors
        .follow_present(cgroup.id, pid, 8)
        .expect("who is followed already stays as it is");
    let task = |sensors: &Sensors, pid: u32| {
        let tasks: HashMap<_, u32, TaskState> =
            HashMap::try_from(map(&sensors.ebpf, "TASKS").expect("a map")).expect("of this shape");
        tasks.get(&pid, 0).ok()
    };
    let followed = task(&sensors, pid).expect("followed");
    assert_eq!(
        (followed.scope, followed.start_ns, followed.ns_pid),
        (cgroup.id, 7, pid)
    );
    let mut gone = Command::new("/bin/true").spawn().expect("a process");
    // It ends, but nobody has waited for it yet: a zombie.
    let stat = format!("/proc/{}/stat", gone.id());
    while !fs::read_to_string(&stat)
        .expect("it stays until it is waited for")
        .contains(") Z ")
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..2 {
        sensors
            .follow_present(cgroup.id, gone.id(), 7)
            .expect("nobody is followed");
        assert_eq!(task(&sensors, gone.id()), None);
        gone.wait().expect("it has ended");
    }
    let mut asleep = Command::new("/bin/sleep").arg("60").spawn().expect("a process");
    // Its start is over once it sleeps (system call 230, clock_nanosleep): it makes no call any more.
    let call = format!("/proc/{}/syscall", asleep.id());
    while !fs::read_to_string(&call).expect("it runs").starts_with("230 ") {
        std::thread::sleep(Duration::from_millis(1));
    }
    sensors
        .follow_present(cgroup.id, asleep.id(), 0)
        .expect("followed");
    let lost = sensors.forget(cgroup.id).expect("forgotten");
    assert_eq!(lost, LostByKind::default());
    // The kernel side drops each at its next call, which this process has made, or at its end.
    assert_eq!(task(&sensors, pid), None);
    assert!(task(&sensors, asleep.id()).is_some());
    asleep.kill().expect("it sleeps");
    asleep.wait().expect("it ends");
    assert_eq!(task(&sensors, asleep.id()), None);
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
