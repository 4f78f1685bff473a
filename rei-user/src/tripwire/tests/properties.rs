//! What holds for every policy and every operation, tried on many that are drawn by a fixed rule.

use super::*;
use crate::draw::Draw;

const NAMES: [&str; 6] = ["a", "b", "ab", "..", "proc", "__pycache__"];
const PATTERNS: [&str; 10] = [
    "/a",
    "/a/**",
    "/a/*",
    "/**",
    "/b/a*",
    "/**/b",
    "/proc/**/a",
    "**",
    "/ab/?",
    "/a/b",
];

fn path(draw: &mut Draw) -> Vec<u8> {
    let mut path = Vec::new();
    for _ in 0..draw.below(4) {
        path.push(b'/');
        path.extend_from_slice(draw.of(&NAMES).as_bytes());
    }
    if draw.below(8) == 0 {
        path.push(0xff);
    }
    path
}

fn texts(draw: &mut Draw) -> (Vec<&'static str>, Vec<&'static str>) {
    let mut list = || {
        let mut list: Vec<&str> = (0..draw.below(3)).map(|_| draw.of(&PATTERNS)).collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    (list(), list())
}

fn text(inputs: &[&str], outputs: &[&str]) -> String {
    format!("inputs = {inputs:?}\noutputs = {outputs:?}")
}

fn with_one_more(list: &[&'static str], one: &'static str) -> Vec<&'static str> {
    let mut list = list.to_vec();
    if !list.contains(&one) {
        list.push(one);
    }
    list
}

struct Open {
    path: Vec<u8>,
    access: AccessSet,
    origin: Origin,
    is_lexical: bool,
    circumstance: Circumstance,
}

fn open(draw: &mut Draw) -> Open {
    let accesses: Vec<Access> = (0..3).map(|_| draw.of(&Access::ALL)).collect();
    let errno = draw.of(&[3, 3, -2, -13, -14, -20]);
    let confidence = draw.of(&[
        Confidence::KernelObject,
        Confidence::ArgumentText,
        Confidence::Unresolved,
        Confidence::Contested,
    ]);
    Open {
        path: path(draw),
        access: accesses.into_iter().collect(),
        origin: super::files::origin(draw.of(&["image", "upper", "bind", "proc", "dev", "unknown"])),
        is_lexical: errno < 0,
        circumstance: Circumstance {
            is_path_cut: draw.below(6) == 0,
            ..circumstance(confidence, errno)
        },
    }
}

fn judge(text: &str, open: &Open) -> Answer {
    let file = FileUse {
        path: Some(&open.path),
        other_text: None,
        is_lexical: open.is_lexical,
        access: open.access,
        origin: &open.origin,
        file_system: None,
        device: None,
        is_directory: open.access.has(Access::Directory),
    };
    matcher(text).file(&file, &open.circumstance)
}

#[test]
fn one_more_rule_never_denies_and_one_less_never_allows() {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let mut changed = 0;
    for _ in 0..400 {
        let (inputs, outputs) = texts(&mut draw);
        let more = draw.of(&PATTERNS);
        let wider = if draw.below(2) == 0 {
            text(&with_one_more(&inputs, more), &outputs)
        } else {
            text(&inputs, &with_one_more(&outputs, more))
        };
        let narrow = text(&inputs, &outputs);
        let open = open(&mut draw);
        let (before, after) = (judge(&narrow, &open), judge(&wider, &open));
        assert!(
            before.trips.is_empty() <= after.trips.is_empty(),
            "{narrow} -> {wider}: {:?}",
            open.path
        );
        changed += usize::from(before.trips.is_empty() != after.trips.is_empty());
    }
    assert!(
        changed > 20,
        "only {changed} rules made a difference: the draw is too narrow"
    );
}

#[test]
fn what_is_cut_or_not_settled_is_allowed_nowhere_but_in_an_output() {
    let mut draw = Draw(7);
    for _ in 0..400 {
        let (inputs, _) = texts(&mut draw);
        let open = open(&mut draw);
        let is_doubtful = open.circumstance.is_path_cut || !open.circumstance.is_settled();
        let answer = judge(&text(&inputs, &[]), &open);
        assert!(
            !is_doubtful || !answer.trips.is_empty(),
            "{inputs:?} {:?}",
            open.path
        );
    }
}
