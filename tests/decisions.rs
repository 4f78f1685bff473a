//! The rows of docs/decisions.md, asked one by one, and counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use rei::enrich::{Access, Chain, Confidence, Errno, Origin, Outcome};
use rei::gate::{ArgName, Args, Argument, Number};
use rei::policy::{Policy, Source, Transport};
use rei::tripwire::{
    Answer, Bindings, Circumstance, Contact, Execution, ExecutionAttempt, FileUse, Ground, Matcher, Peer,
};
use serde_json::{Map, Value};

const DOCUMENT: &str = include_str!("../docs/decisions.md");

/// Every tripwire, and every rule of the gate that ships.
const RULES: [&str; 10] = [
    "I1",
    "I2",
    "I3",
    "block-benchtop-destructive",
    "container-destructive",
    "container-privileged",
    "benchtop-probe-read",
    "allow-read-only",
    "allow_by_prefix",
    "default-deny-unknown",
];

/// Rows of a rule, and rows of each way among them.
const ROWS_MIN: usize = 15;
const ROWS_EACH_WAY_MIN: usize = 5;

struct Row {
    rule: &'static str,
    event: &'static str,
    policy: String,
    decision: &'static str,
}

impl Row {
    fn is_of_tripwire(&self) -> bool {
        ["I1", "I2", "I3"].contains(&self.rule)
    }

    /// Whether the decision is this rule's.
    fn fires(&self) -> bool {
        match self.rule {
            "allow_by_prefix" => self.decision.starts_with("safe allow-by-prefix:"),
            rule if self.is_of_tripwire() => self.decision.starts_with(&format!("**{rule}**")),
            rule => self.decision.ends_with(&format!(" {rule}")),
        }
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut rule = "";
    for line in DOCUMENT.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            rule = title;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", event, policy, decision, ""] = cells[..] else {
            continue;
        };
        if let Some(event) = event.strip_prefix('`').and_then(|event| event.strip_suffix('`')) {
            rows.push(Row {
                rule,
                event,
                policy: policy.trim_matches('`').replace("\\n", "\n"),
                decision,
            });
        }
    }
    rows
}

/// An event in words: the first ones, then `key=value` and marks.
struct Event<'a> {
    words: Vec<&'a str>,
    values: BTreeMap<&'a str, &'a str>,
}

impl<'a> Event<'a> {
    fn parse(text: &'a str) -> Self {
        let mut event = Event {
            words: Vec::new(),
            values: BTreeMap::new(),
        };
        for word in text.split(' ') {
            match word.split_once('=') {
                Some((key, value)) => {
                    event.values.insert(key, value);
                }
                None => event.words.push(word),
            }
        }
        event
    }

    fn word(&self, place: usize) -> &'a str {
        self.words.get(place).copied().unwrap_or_default()
    }

    /// Words of a value that is a list with commas.
    fn list(&self, key: &str) -> Vec<&'a [u8]> {
        let list = self.values.get(key).into_iter();
        list.flat_map(|list| list.split(',').map(str::as_bytes)).collect()
    }

    fn origin(&self) -> Origin {
        match self.values.get("origin").copied().unwrap_or("image") {
            "image" => Origin::Image,
            "upper" => Origin::Upper,
            "bind" => Origin::Bind("/srv".into()),
            "volume" => Origin::Volume("v".into()),
            "tmpfs" => Origin::Tmpfs,
            "proc" => Origin::Proc,
            "dev" => Origin::Dev,
            "memfd" => Origin::Memfd,
            "engine" => Origin::Engine,
            other => panic!("no origin {other}"),
        }
    }

    fn circumstance(&self) -> Circumstance {
        let sure = [
            Confidence::KernelObject,
            Confidence::ArgumentText,
            Confidence::Unresolved,
            Confidence::Contested,
        ];
        let default = if self.has_failed() {
            "argument_text"
        } else {
            "kernel_object"
        };
        let named = self.values.get("sure").copied().unwrap_or(default);
        let confidence = sure.into_iter().find(|sure| sure.name() == named);
        Circumstance {
            outcome: self.values.get("errno").map_or(Outcome::Ok, |name| {
                let errno = (1..134).map(Errno).find(|errno| errno.to_string() == *name);
                Outcome::Failed(errno.expect("an error's name"))
            }),
            confidence: confidence.expect("a confidence"),
            is_path_cut: self.words.contains(&"cut"),
            reached_nothing: false,
            own_pid: 17,
        }
    }

    fn has_failed(&self) -> bool {
        self.values.contains_key("errno")
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

fn policy(text: &str) -> Policy {
    let checked = Policy::parse(text, Source::Shipped);
    checked
        .unwrap_or_else(|problems| panic!("{text}: {problems}"))
        .policy
}

fn matcher(text: &str) -> Matcher {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let mounts = ["/data", "/etc/hosts", "/etc/localtime", "/usr/share/zoneinfo"];
    let bindings = Bindings {
        entrypoint: Some(bytes("/app/run.sh")),
        workdir: Some(bytes("/job")),
        mounts: Some(mounts.map(bytes).to_vec()),
        read_only_mounts: vec![bytes("/usr/share/zoneinfo")],
        programs: Vec::new(),
    };
    Matcher::bind(&Arc::new(policy(text)), bindings).expect("a small policy")
}

fn file(event: &Event<'_>, matcher: &mut Matcher) -> Answer {
    let access: Vec<Access> = event
        .word(0)
        .split('+')
        .map(|word| {
            let found = Access::ALL.into_iter().find(|access| access.name() == word);
            found.unwrap_or_else(|| panic!("no access {word}"))
        })
        .collect();
    let device = event
        .values
        .get("device")
        .and_then(|device| device.split_once(':'));
    let file = FileUse {
        path: Some(event.word(1).as_bytes()),
        other_text: None,
        is_lexical: event.has_failed(),
        access: access.iter().copied().collect(),
        origin: &event.origin(),
        file_system: event.values.get("fs").copied(),
        device: device.map(|(major, minor)| (number(major), number(minor))),
        is_directory: access.contains(&Access::Directory),
    };
    matcher.file(&file, &event.circumstance())
}

fn contact(event: &Event<'_>, matcher: &mut Matcher) -> Answer {
    let peer = match (event.word(0), event.word(1)) {
        ("unix", name) => Peer::Unix(name.as_bytes()),
        (_, "nobody") => Peer::Nobody,
        (_, "route") => Peer::Route,
        (_, "vsock") => Peer::Other("vsock"),
        (_, "unknown") => Peer::Unknown,
        (_, address) => Peer::Inet(address.parse().expect("an address with a port")),
    };
    let transport = match event.word(0) {
        "tcp" => Some(Transport::Tcp),
        "udp" => Some(Transport::Udp),
        _ => None,
    };
    matcher.contact(&Contact { peer, transport }, &event.circumstance())
}

fn execution(event: &Event<'_>, matcher: &mut Matcher) -> Answer {
    let path = Some(event.word(1).as_bytes());
    if event.has_failed() {
        let attempt = ExecutionAttempt {
            path,
            is_lexical: true,
            is_check: false,
        };
        return matcher.execution_attempt(&attempt, &event.circumstance());
    }
    let chains = [
        Chain::Entrypoint,
        Chain::Interpreter,
        Chain::InitChild,
        Chain::Named,
    ];
    let chain = event.values.get("chain").map(|name| {
        let found = chains.into_iter().find(|chain| chain.name() == *name);
        found.unwrap_or_else(|| panic!("no chain {name}"))
    });
    let mut argv: Vec<&[u8]> = vec![b"argv0"];
    argv.extend(event.list("argv"));
    let execution = Execution {
        path,
        asked: path,
        script: event.values.get("script").map(|script| script.as_bytes()),
        origin: &event.origin(),
        chain,
        argv: &argv,
        is_argv_whole: !event.words.contains(&"argv_cut"),
        env_names: &event.list("env"),
        is_env_whole: true,
    };
    matcher.execution(&execution, &event.circumstance())
}

fn tripwire_says(row: &Row) -> String {
    let event = Event::parse(row.event);
    let mut matcher = matcher(&row.policy);
    let answer = match row.rule {
        "I1" => file(&event, &mut matcher),
        "I2" => contact(&event, &mut matcher),
        _ => execution(&event, &mut matcher),
    };
    match (&answer.ground, &answer.trips[..]) {
        (Some(Ground::Ambient { class, .. }), []) => format!("ambient: {}", class.name()),
        (Some(Ground::Declared { .. }), []) => "declared".to_owned(),
        (Some(Ground::Chain), []) => "chain".to_owned(),
        (Some(Ground::Harmless(_)), []) => "harmless".to_owned(),
        (None, [trip]) if trip.attempted.is_some() => format!("**{}** attempted", trip.wire.name()),
        (None, [trip]) => format!("**{}**", trip.wire.name()),
        other => format!("{other:?}"),
    }
}

fn gate_says(row: &Row) -> String {
    let event = Event::parse(row.event);
    let gate = policy(&row.policy).gate.gate();
    let decision = if event.word(0) == "plan" {
        let args: Map<String, Value> = event
            .values
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Value::from(*value)))
            .collect();
        gate.evaluate(event.word(1), &args)
    } else {
        let device = event.values.get("device").map(|device| device.replace('_', " "));
        let mut args = Args::new();
        for (key, value) in &event.values {
            let name = ArgName::of_name(key).unwrap_or_else(|| panic!("no argument {key}"));
            let value = match name {
                ArgName::Port => Argument::Number(Number::Int(i128::from(number(value)))),
                ArgName::Address => Argument::Address(value.parse().expect("an address")),
                ArgName::Device => Argument::Text(device.as_deref().unwrap_or_default().as_bytes()),
                _ => Argument::Text(value.as_bytes()),
            };
            args = args.with(name, value);
        }
        let tool_name = if event.word(0) == "exec" {
            args = args.with(ArgName::Op, Argument::Text(b"exec"));
            event.word(1)
        } else {
            event.word(0)
        };
        gate.observe(tool_name, &args).decision
    };
    format!("{} {}", decision.hazard_level.name(), decision.rule_name)
}

#[test]
fn every_row_is_decided_as_it_says() {
    let mut wrong = Vec::new();
    for row in rows() {
        let says = if row.is_of_tripwire() {
            tripwire_says(&row)
        } else {
            gate_says(&row)
        };
        if says != row.decision {
            let Row {
                rule,
                event,
                policy,
                decision,
            } = row;
            wrong.push(format!(
                "{rule}: `{event}` under {policy:?}: {says}, and not {decision}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_rows_of_both_ways() {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for row in rows() {
        counts.entry(row.rule).or_default()[usize::from(row.fires())] += 1;
        assert!(
            seen.insert((row.rule, row.event, row.policy.clone())),
            "{}: `{}` stands there twice",
            row.rule,
            row.event
        );
    }
    for rule in RULES {
        let [passes, fires] = counts.remove(rule).unwrap_or_default();
        assert!(
            passes + fires >= ROWS_MIN && passes.min(fires) >= ROWS_EACH_WAY_MIN,
            "{rule}: {fires} rows fire and {passes} do not"
        );
    }
    assert!(counts.is_empty(), "sections that are no rules: {counts:?}");
}

#[test]
fn a_row_that_is_wrong_is_seen() {
    let wrong = Row {
        rule: "I1",
        event: "read /etc/passwd origin=upper",
        policy: String::new(),
        decision: "declared",
    };
    assert_ne!(tripwire_says(&wrong), wrong.decision);
    let wrong = Row {
        rule: "allow-read-only",
        event: "plan write_x",
        policy: String::new(),
        decision: "safe allow-read-only",
    };
    assert_ne!(gate_says(&wrong), wrong.decision);
}

/// A new rule of the catalog needs a section.
#[test]
fn the_page_knows_every_rule_that_ships() {
    let catalog = include_str!("../rei-user/src/gate/catalog.rs");
    let container = include_str!("../rei-user/src/gate/container.toml");
    let quoted = catalog.lines().skip_while(|line| !line.contains("| step |"));
    let table: Vec<&str> = quoted.take_while(|line| line.starts_with("//! |")).collect();
    let named = table.iter().filter_map(|line| line.split('`').nth(1));
    let shipped = container.lines().filter_map(|line| line.strip_prefix("name = "));
    let names = named.chain(shipped.map(|name| name.trim_matches('"')));
    let mut count = 0;
    for name in names {
        let rule = if name.starts_with("allow-by-prefix:") {
            "allow_by_prefix"
        } else {
            name
        };
        assert!(
            RULES.contains(&rule),
            "{name} has no section in docs/decisions.md"
        );
        count += 1;
    }
    assert!(
        count > 15,
        "{count} names found: the catalog is written otherwise"
    );
}
