//! What holds for every contact and every execution, tried on many that are drawn by a fixed rule.

use super::files::origin;
use super::*;
use crate::draw::Draw;

const ENDPOINTS: [&str; 9] = [
    "10.0.0.0/8",
    "10.0.0.0/8:443",
    "10.1.0.0/16:80-90",
    "0.0.0.0/0:443",
    "::/0",
    "fd00::/8",
    "a.example:80",
    "unix:/run/**",
    "unix:@bus*",
];
const PEERS: [&str; 12] = [
    "10.0.0.1:443",
    "10.1.2.3:85",
    "192.0.2.80:80",
    "192.0.2.1:443",
    "[fd00::1]:443",
    "[::ffff:10.1.2.3]:80",
    "/run/x.sock",
    "/run/../x.sock",
    "/x.sock",
    "@bus1",
    "vsock",
    "unknown",
];
const PROGRAMS: [&str; 8] = [
    "\"/bin/sh\"",
    "\"/bin/**\"",
    "\"/app/*\"",
    "\"**\"",
    "{ path = \"/bin/sh\", argv = [\"-c\", \"date*\"], name = \"d\" }",
    "{ path = \"/tmp/**\", origins = [\"upper\"], name = \"u\" }",
    "{ path = \"**\", origins = [\"any\"], name = \"a\" }",
    "{ path = \"/bin/cat\", argv = [], name = \"c\" }",
];
const PATHS: [&str; 6] = [
    "/bin/sh",
    "/bin/cat",
    "/bin/../tmp/x",
    "/tmp/x",
    "/app/job.sh",
    "memfd:x",
];
const CONFIDENCES: [Confidence; 6] = [
    Confidence::KernelObject,
    Confidence::KernelObject,
    Confidence::KernelText,
    Confidence::ArgumentText,
    Confidence::Unresolved,
    Confidence::Contested,
];

fn circumstance(draw: &mut Draw) -> Circumstance {
    let confidence = draw.of(&CONFIDENCES);
    let ret = draw.of(&[0, 0, 0, -2, -13, -20, -111, -115]);
    Circumstance {
        is_path_cut: draw.once_in(6),
        ..super::circumstance(confidence, ret)
    }
}

fn is_doubtful(circumstance: &Circumstance) -> bool {
    circumstance.is_path_cut || !circumstance.is_settled()
}

/// The list as a policy's key, in order and with one more at some place.
fn with_one_more(draw: &mut Draw, list: &[&'static str], choices: &[&'static str]) -> Vec<&'static str> {
    let mut list = list.to_vec();
    let more = draw.of(choices);
    if !list.contains(&more) {
        list.insert(draw.below(list.len() + 1), more);
    }
    list
}

fn is_allowed(answer: &Answer) -> bool {
    answer.trips.is_empty()
}

fn network(list: &[&str]) -> String {
    format!("network = {list:?}")
}

struct Call {
    peer: &'static str,
    transport: Option<Transport>,
    circumstance: Circumstance,
}

fn call(draw: &mut Draw) -> Call {
    Call {
        peer: draw.of(&PEERS),
        transport: draw.of(&[Some(Transport::Tcp), Some(Transport::Udp), None]),
        circumstance: circumstance(draw),
    }
}

fn contact(text: &str, call: &Call) -> Answer {
    let contact = Contact {
        peer: super::contacts::peer(call.peer),
        transport: call.transport,
    };
    matcher(text).contact(&contact, &call.circumstance)
}

#[test]
fn one_more_address_never_denies_and_one_less_never_allows() {
    let mut draw = Draw(0x51_7c_c1_b7_27_22_0a_95);
    let mut changed = 0;
    for _ in 0..600 {
        let list = draw.some(&ENDPOINTS, 3);
        let more = with_one_more(&mut draw, &list, &ENDPOINTS);
        let call = call(&mut draw);
        let before = is_allowed(&contact(&network(&list), &call));
        let after = is_allowed(&contact(&network(&more), &call));
        assert!(before <= after, "{list:?} -> {more:?}: {}", call.peer);
        changed += usize::from(before != after);
    }
    assert!(changed > 30, "only {changed} rules made a difference");
}

#[test]
fn an_address_or_socket_that_is_cut_or_not_settled_is_never_allowed() {
    let mut draw = Draw(11);
    let (mut doubtful, mut allowed) = (0, 0);
    for _ in 0..600 {
        let mut call = call(&mut draw);
        let is_unix = call.peer.starts_with(['/', '@']);
        // An address has no path that could be cut.
        call.circumstance.is_path_cut &= is_unix;
        let answer = contact(&network(&ENDPOINTS), &call);
        if is_doubtful(&call.circumstance) {
            doubtful += 1;
            assert!(!is_allowed(&answer), "{} {:?}", call.peer, call.circumstance);
        } else {
            allowed += usize::from(is_allowed(&answer));
        }
    }
    assert!(doubtful > 100 && allowed > 100, "{doubtful} {allowed}");
}

fn programs(list: &[&str], env: Option<&[&str]>) -> String {
    let env = env.map(|names| format!("\nenv = {names:?}"));
    format!("programs = [{}]{}", list.join(", "), env.unwrap_or_default())
}

struct Start {
    path: &'static str,
    script: Option<&'static str>,
    origin: Origin,
    argv: &'static [&'static [u8]],
    chain: Option<Chain>,
    circumstance: Circumstance,
    is_argv_whole: bool,
}

fn start(draw: &mut Draw) -> Start {
    Start {
        path: draw.of(&PATHS),
        script: draw.of(&[None, None, Some("/app/job.sh"), Some("/app/../tmp/x")]),
        origin: origin(draw.of(&["image", "image", "upper", "bind", "memfd", "unknown"])),
        argv: draw.of(&[
            &[b"sh" as &[u8], b"-c", b"date"] as &[&[u8]],
            &[b"sh", b"-c"],
            &[b"cat"],
        ]),
        chain: draw.of(&[None, None, None, Some(Chain::Entrypoint), Some(Chain::Named)]),
        circumstance: circumstance(draw),
        is_argv_whole: !draw.once_in(5),
    }
}

/// An execution that happened, or an attempt where the circumstance says that it failed.
fn exec(text: &str, start: &Start) -> Answer {
    if start.circumstance.errno().is_some() {
        let attempt = ExecutionAttempt {
            path: Some(start.path.as_bytes()),
            is_lexical: true,
            is_check: false,
        };
        return matcher(text).execution_attempt(&attempt, &start.circumstance);
    }
    let execution = Execution {
        path: Some(start.path.as_bytes()),
        asked: Some(start.path.as_bytes()),
        script: start.script.map(str::as_bytes),
        origin: &start.origin,
        chain: start.chain,
        argv: start.argv,
        is_argv_whole: start.is_argv_whole,
        env_names: &[b"PATH", b"HOME"],
        is_env_whole: true,
    };
    matcher(text).execution(&execution, &start.circumstance)
}

#[test]
fn one_more_program_or_name_never_denies_and_one_less_never_allows() {
    let mut draw = Draw(0x2545_f491_4f6c_dd1d);
    let mut changed = [0, 0];
    for _ in 0..600 {
        let list = draw.some(&PROGRAMS, 3);
        let env = draw.of(&[None, Some(vec!["PATH"]), Some(vec!["PATH", "H*"]), Some(vec![])]);
        let start = start(&mut draw);
        let before = is_allowed(&exec(&programs(&list, env.as_deref()), &start));
        let more = with_one_more(&mut draw, &list, &PROGRAMS);
        let after = is_allowed(&exec(&programs(&more, env.as_deref()), &start));
        assert!(before <= after, "{list:?} -> {more:?} {env:?}: {}", start.path);
        changed[0] += usize::from(before != after);
        if let Some(names) = &env {
            let more = with_one_more(&mut draw, names, &["*", "HOME", "PATH"]);
            // With every program declared, names alone decide.
            let everything = [PROGRAMS[6]];
            let before = is_allowed(&exec(&programs(&everything, Some(names)), &start));
            let after = is_allowed(&exec(&programs(&everything, Some(&more)), &start));
            assert!(before <= after, "{names:?} -> {more:?}: {}", start.path);
            changed[1] += usize::from(before != after);
        }
    }
    assert!(changed.iter().all(|count| *count > 15), "{changed:?}");
}

#[test]
fn a_program_that_is_cut_or_not_settled_is_never_allowed() {
    let mut draw = Draw(13);
    let (mut doubtful, mut allowed) = (0, 0);
    for _ in 0..600 {
        let start = start(&mut draw);
        let answer = exec(&programs(&PROGRAMS, None), &start);
        if is_doubtful(&start.circumstance) {
            doubtful += 1;
            assert!(!is_allowed(&answer), "{} {:?}", start.path, start.circumstance);
        } else {
            allowed += usize::from(is_allowed(&answer));
        }
    }
    assert!(doubtful > 100 && allowed > 100, "{doubtful} {allowed}");
}
