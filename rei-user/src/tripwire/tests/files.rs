//! I1, row by row.

use super::*;

const NOTHING: &str = "";
const IN: &str = "inputs = [\"/data/**\"]";
const OUT: &str = "outputs = [\"/out/**\"]";

const R: &[Access] = &[Access::Read];
const W: &[Access] = &[Access::Write];
const NEW: &[Access] = &[Access::Write, Access::Create];
const DIR: &[Access] = &[Access::Read, Access::Directory];
const PLACE: &[Access] = &[Access::PathOnly];

/// A file that was opened: policy, path, access, origin (with a file system or device), what is expected.
#[derive(Clone, Copy)]
struct Opened(
    &'static str,
    &'static str,
    &'static [Access],
    &'static str,
    Expected,
);

const OPENED: &[Opened] = &[
    // bundled: the image, unmodified; and nothing else of the image's file system
    Opened(NOTHING, "/lib/libc.so.6", R, "image", Ambient("bundled")),
    Opened(NOTHING, "/usr/lib", DIR, "image", Ambient("bundled")),
    Opened(NOTHING, "/usr/lib", PLACE, "image", Ambient("bundled")),
    Opened(NOTHING, "/etc/passwd", R, "image", Ambient("bundled")),
    Opened(NOTHING, "/run/fifo", W, "image", Trips),
    Opened(NOTHING, "/etc/passwd", R, "upper", Trips),
    Opened(NOTHING, "/tmp/new", NEW, "upper", Trips),
    Opened(NOTHING, "/", DIR, "upper", Ambient("bundled")),
    Opened(NOTHING, "/seen", DIR, "upper", Ambient("bundled")),
    Opened(NOTHING, "/made", DIR, "upper", Trips),
    // what an operator can change is not ambient
    Opened(NOTHING, "/data/x", R, "bind", Trips),
    Opened(NOTHING, "/cache/x", R, "volume", Trips),
    Opened(NOTHING, "/dev/shm/x", NEW, "tmpfs", Trips),
    Opened(NOTHING, "/etc/resolv.conf", R, "engine", Trips),
    Opened(NOTHING, "/etc/hosts", R, "engine", Trips),
    Opened(NOTHING, "/mnt/x", R, "unknown", Trips),
    Opened(NOTHING, "/etc/passwd", R, "host", Trips),
    Opened(NOTHING, "memfd:x", R, "memfd", Trips),
    // entropy, and its neighbours
    Opened(NOTHING, "/dev/urandom", R, "dev 1:9", Ambient("entropy")),
    Opened(NOTHING, "/dev/random", R, "dev 1:8", Ambient("entropy")),
    Opened(NOTHING, "/dev/urandom", W, "dev 1:9", Trips),
    Opened(NOTHING, "/dev/urandom", R, "dev 8:0", Trips),
    Opened(NOTHING, "/dev/urandom", R, "upper", Trips),
    Opened(NOTHING, "/dev/hwrng", R, "dev 10:183", Trips),
    // sinks, and their neighbours
    Opened(NOTHING, "/dev/null", W, "dev 1:3", Ambient("sink")),
    Opened(NOTHING, "/dev/null", R, "dev 1:5", Trips),
    Opened(NOTHING, "/dev/zero", R, "dev 1:5", Ambient("sink")),
    Opened(NOTHING, "/dev/full", W, "dev 1:7", Ambient("sink")),
    Opened(NOTHING, "/dev/mem", R, "dev 1:1", Trips),
    Opened(NOTHING, "/dev/tty", W, "dev 5:0", Ambient("sink")),
    Opened(NOTHING, "/dev/console", W, "dev 136:0", Ambient("sink")),
    Opened(NOTHING, "/dev/console", W, "dev 5:1", Trips),
    Opened(NOTHING, "/dev/pts/0", W, "dev 136:0", Ambient("sink")),
    Opened(NOTHING, "/dev/pts/ptmx", W, "dev 5:2", Trips),
    Opened(NOTHING, "/dev/stdout", W, "dev", Trips),
    Opened(NOTHING, "pipe:[9]", W, "pipe", Ambient("sink")),
    Opened(NOTHING, "pipe:[9]", W, "unknown", Trips),
    Opened(NOTHING, "/dev", DIR, "dev", Trips),
    // self: the process's own entries, nobody else's
    Opened(NOTHING, "/proc/17/maps", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/status", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/stat", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/fd", DIR, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/cmdline", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/comm", W, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/task", DIR, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/task/18/comm", W, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/auxv", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/mounts", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/limits", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/oom_score_adj", W, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/17/cgroup", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/18/maps", R, "proc", Trips),
    Opened(NOTHING, "/proc/1/cmdline", R, "proc", Trips),
    Opened(NOTHING, "/proc/17/environ", R, "proc", Trips),
    Opened(NOTHING, "/proc/17/mem", W, "proc", Trips),
    Opened(NOTHING, "/proc/17/maps", R, "upper", Trips),
    Opened(NOTHING, "/proc/17/stat", W, "proc", Trips),
    Opened(NOTHING, "/proc", DIR, "proc", Trips),
    // self: machine facts, and their neighbours
    Opened(NOTHING, "/proc/meminfo", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/cpuinfo", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/stat", R, "proc", Ambient("self")),
    Opened(NOTHING, "/proc/filesystems", R, "proc", Ambient("self")),
    Opened(
        NOTHING,
        "/proc/sys/kernel/ngroups_max",
        R,
        "proc",
        Ambient("self"),
    ),
    Opened(NOTHING, "/proc/sys/kernel/hostname", R, "proc", Trips),
    Opened(
        NOTHING,
        "/proc/sys/vm/overcommit_memory",
        R,
        "proc",
        Ambient("self"),
    ),
    Opened(NOTHING, "/proc/sys/vm/overcommit_memory", W, "proc", Trips),
    Opened(NOTHING, "/proc/sys/vm/swappiness", R, "proc", Trips),
    Opened(NOTHING, "/proc/kallsyms", R, "proc", Trips),
    Opened(NOTHING, "/proc/version", R, "proc", Trips),
    Opened(
        NOTHING,
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        R,
        "sys",
        Ambient("self"),
    ),
    Opened(
        NOTHING,
        "/sys/kernel/mm/transparent_hugepage/defrag",
        R,
        "sys",
        Trips,
    ),
    Opened(
        NOTHING,
        "/sys/devices/system/cpu/online",
        R,
        "sys",
        Ambient("self"),
    ),
    Opened(
        NOTHING,
        "/sys/devices/system/cpu/vulnerabilities/mds",
        R,
        "sys",
        Trips,
    ),
    Opened(NOTHING, "/sys/fs/cgroup/cpu.max", R, "sys", Ambient("self")),
    Opened(NOTHING, "/sys/fs/cgroup/cpu.max", W, "sys", Trips),
    Opened(
        NOTHING,
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        R,
        "sys",
        Ambient("self"),
    ),
    Opened(NOTHING, "/sys/fs/cgroup/cgroup.procs", R, "sys", Trips),
    // bundled: time zones, where they cannot be written from inside
    Opened(NOTHING, "/usr/share/zoneinfo/UTC", R, "bind", Ambient("bundled")),
    Opened(NOTHING, "/usr/share/zoneinfo/UTC", W, "bind", Trips),
    Opened(NOTHING, "/etc/localtime", R, "bind", Trips),
    // declared
    Opened(IN, "/data", DIR, "bind", Rule("inputs \"/data/**\"")),
    Opened(IN, "/data/a/b", R, "bind", Rule("inputs \"/data/**\"")),
    Opened(IN, "/data/a", NEW, "bind", Trips),
    Opened(IN, "/database", R, "bind", Trips),
    Opened(OUT, "/out/a", NEW, "volume", Rule("outputs \"/out/**\"")),
    Opened(OUT, "/out/a", R, "volume", Rule("outputs \"/out/**\"")),
    Opened(OUT, "/outer", NEW, "upper", Trips),
    Opened(
        "inputs = [\"${workdir}/*\"]",
        "/job/x",
        R,
        "bind",
        Rule("inputs \"${workdir}/*\""),
    ),
    Opened(
        "inputs = [\"${entrypoint}\"]",
        "/app/run.sh",
        R,
        "bind",
        Rule("inputs \"${entrypoint}\""),
    ),
    Opened("inputs = [\"**\"]", "memfd:x", R, "memfd", Rule("inputs \"**\"")),
    Opened("inputs = [\"**\"]", "/dev/shm/x", NEW, "tmpfs", Trips),
    Opened(
        "ambient = [{ pattern = \"/proc/uptime\", access = [\"read\"], class = \"clock\", why = \"a clock\" }]",
        "/proc/uptime",
        R,
        "proc",
        Ambient("clock"),
    ),
];

pub(super) fn origin(word: &str) -> Origin {
    match word.split(' ').next().unwrap() {
        "image" => Origin::Image,
        "upper" => Origin::Upper,
        "bind" => Origin::Bind("/srv".into()),
        "volume" => Origin::Volume("v".into()),
        "tmpfs" => Origin::Tmpfs,
        "proc" => Origin::Proc,
        "sys" => Origin::Sys,
        "dev" => Origin::Dev,
        "memfd" => Origin::Memfd,
        "engine" => Origin::Engine,
        "host" => Origin::Host,
        _ => Origin::Unknown,
    }
}

fn file_system(word: &str) -> Option<&'static str> {
    match word {
        "proc" => Some("proc"),
        "pipe" => Some("pipefs"),
        _ => None,
    }
}

fn device(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.strip_prefix("dev ")?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[test]
fn opened_files() {
    for Opened(text, path, access, from, expected) in OPENED {
        let mut matcher = matcher(text);
        matcher.saw_image(b"/seen/file", false);
        let access: AccessSet = access.iter().copied().collect();
        let file = FileUse {
            path: Some(path.as_bytes()),
            other_text: None,
            is_lexical: false,
            access,
            origin: &origin(from),
            file_system: file_system(from),
            device: device(from),
            is_directory: access.has(Access::Directory),
        };
        let answer = matcher.file(&file, &circumstance(Confidence::KernelObject, 3));
        assert_eq!(found(&answer), *expected, "{text} {path} {from}: {answer:?}");
    }
}

/// An open that failed: policy, text, access, errno, what is expected.
#[derive(Clone, Copy)]
struct Failed(&'static str, &'static str, &'static [Access], i64, Expected);

const FAILED: &[Failed] = &[
    // absent: looked for where no mount could have put it
    Failed(NOTHING, "/etc/ld.so.preload", R, -2, Ambient("absent")),
    Failed(NOTHING, "/usr/lib/x/../libz.so", R, -2, Ambient("absent")),
    Failed(NOTHING, "/etc/passwd/x", R, -20, Ambient("absent")),
    Failed(NOTHING, "/opt/x", DIR, -2, Ambient("absent")),
    Failed(NOTHING, "/opt/x", W, -2, Ambient("absent")),
    Failed(NOTHING, "/opt/x", NEW, -2, Tried),
    Failed(NOTHING, "/data/x", R, -2, Tried),
    Failed(NOTHING, "/opt/../data/x", R, -2, Tried),
    Failed(NOTHING, "/proc/17/nothing", R, -2, Tried),
    Failed(NOTHING, "/proc/99/maps", R, -2, Tried),
    Failed(NOTHING, "/sys/x", R, -2, Tried),
    Failed(NOTHING, "/dev/shm/x", R, -2, Tried),
    Failed(NOTHING, "relative", R, -2, Tried),
    // any failed act on an ambient object
    Failed(NOTHING, "/dev/tty", W, -6, Ambient("sink")),
    Failed(NOTHING, "/dev/stdout", W, -6, Ambient("sink")),
    Failed(NOTHING, "/proc/self/maps", W, -13, Ambient("self")),
    Failed(NOTHING, "/proc/version_signature", R, -2, Ambient("self")),
    Failed(NOTHING, "/proc/self/../self/maps", R, -13, Tried),
    // other failures are evidence
    Failed(NOTHING, "/etc/shadow", R, -13, Tried),
    Failed(NOTHING, "/etc/shadow", R, -1, Tried),
    Failed(NOTHING, "/usr/lib", W, -21, Tried),
    Failed(NOTHING, "/opt/x", R, -40, Tried),
    // declared
    Failed(IN, "/data/x", R, -2, Rule("inputs \"/data/**\"")),
    Failed(IN, "/data/x", R, -13, Rule("inputs \"/data/**\"")),
    Failed(IN, "/data/x", NEW, -13, Tried),
    Failed(IN, "/data/../etc/shadow", R, -13, Tried),
    Failed(IN, "/x/../data/a", R, -13, Tried),
    Failed(OUT, "/out//x", NEW, -17, Rule("outputs \"/out/**\"")),
];

#[test]
fn failed_opens() {
    for Failed(text, path, access, errno, expected) in FAILED {
        let file = FileUse {
            path: Some(path.as_bytes()),
            other_text: None,
            is_lexical: true,
            access: access.iter().copied().collect(),
            origin: &Origin::Unknown,
            file_system: None,
            device: None,
            is_directory: false,
        };
        let answer = matcher(text).file(&file, &circumstance(Confidence::ArgumentText, *errno));
        assert_eq!(found(&answer), *expected, "{text} {path} {errno}: {answer:?}");
    }
}

#[test]
fn without_the_engines_word_nothing_is_absent() {
    let mut matcher = Matcher::bind(&policy(NOTHING), Bindings::default()).unwrap();
    let file = FileUse {
        path: Some(b"/opt/x"),
        other_text: None,
        is_lexical: true,
        access: R.iter().copied().collect(),
        origin: &Origin::Unknown,
        file_system: None,
        device: None,
        is_directory: false,
    };
    assert_eq!(
        found(&matcher.file(&file, &circumstance(Confidence::ArgumentText, -2))),
        Tried
    );
}

#[test]
fn what_is_not_settled_is_never_allowed_but_may_be_a_gap_in_an_output() {
    let everything = "inputs = [\"**\"]";
    let strict = "outputs = [\"/out/**\"]\nunresolved = \"trip\"";
    // policy, path, the other text, cut, expected
    struct Row(
        &'static str,
        Option<&'static str>,
        Option<&'static str>,
        bool,
        Expected,
    );
    let table: [Row; 11] = [
        Row(everything, Some("/data/x"), None, false, Trips),
        Row(everything, None, None, false, Trips),
        Row(IN, Some("/data/x"), None, false, Trips),
        Row(OUT, Some("/out/x"), None, false, Rule("outputs \"/out/**\"")),
        Row(
            OUT,
            Some("/out/x"),
            Some("/out/y"),
            false,
            Rule("outputs \"/out/**\""),
        ),
        Row(OUT, Some("/out/x"), Some("/etc/y"), false, Trips),
        Row(OUT, Some("/out/../etc/x"), None, false, Trips),
        Row(OUT, Some("/etc/x"), Some("/out/y"), false, Trips),
        Row(OUT, None, None, false, Trips),
        Row(OUT, Some("/out/x"), None, true, Trips),
        Row(strict, Some("/out/x"), None, false, Trips),
    ];
    for confidence in [Confidence::Unresolved, Confidence::Contested] {
        for Row(text, path, other_text, is_path_cut, expected) in &table {
            let file = FileUse {
                path: path.map(str::as_bytes),
                other_text: other_text.map(str::as_bytes),
                is_lexical: true,
                access: W.iter().copied().collect(),
                origin: &Origin::Image,
                file_system: None,
                device: None,
                is_directory: false,
            };
            let circumstance = Circumstance {
                is_path_cut: *is_path_cut,
                ..circumstance(confidence, 3)
            };
            assert_eq!(
                found(&matcher(text).file(&file, &circumstance)),
                *expected,
                "{text} {path:?} {confidence:?}"
            );
        }
    }
}

#[test]
fn a_cut_path_is_never_allowed() {
    for text in ["inputs = [\"**\"]", "outputs = [\"**\"]"] {
        let file = FileUse {
            path: Some(b"x/y"),
            other_text: None,
            is_lexical: false,
            access: R.iter().copied().collect(),
            origin: &Origin::Unknown,
            file_system: None,
            device: None,
            is_directory: false,
        };
        let cut = Circumstance {
            is_path_cut: true,
            ..circumstance(Confidence::KernelObject, 3)
        };
        assert_eq!(found(&matcher(text).file(&file, &cut)), Trips, "{text}");
    }
}

#[test]
fn python_that_compiles_gets_a_hint() {
    let file = |path: &'static str| FileUse {
        path: Some(path.as_bytes()),
        other_text: None,
        is_lexical: false,
        access: NEW.iter().copied().collect(),
        origin: &Origin::Upper,
        file_system: None,
        device: None,
        is_directory: false,
    };
    let mut matcher = matcher(NOTHING);
    let mut hint = |path| {
        matcher
            .file(&file(path), &circumstance(Confidence::KernelObject, 3))
            .trips[0]
            .hint
    };
    assert!(
        hint("/app/__pycache__/x.pyc.123")
            .unwrap()
            .contains("PYTHONDONTWRITEBYTECODE=1")
    );
    assert_eq!(hint("/app/x.pyc"), None);
}
