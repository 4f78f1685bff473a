//! What rules cost: 10,000 distinct objects against ten rules and against a thousand, side by side.
//!
//! Both answer every object alike, in two ways. `ten`: the ten rules are among the thousand, and answer. `all`: each of
//! the thousand answers ten objects, and each of the ten answers what a hundred of the thousand do.
//!
//! Every line of stdout is one measurement: subject, which answer, rules, nanoseconds per object. Lines of one round
//! follow each other. `cargo xtask bench` makes a table of the ratios.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, anyhow};

use rei::enrich::{Access, Confidence, Origin, Outcome};
use rei::gate::{ArgName, Args, Argument, SafetyGate, rules_in};
use rei::policy::{Policy, Source, Transport};
use rei::tripwire::{Bindings, Circumstance, Contact, FileUse, Matcher, Peer};

/// Different paths or addresses.
const OBJECTS: usize = 10_000;
/// The two numbers of rules that are compared.
const RULES: [usize; 2] = [10, 1_000];
/// Pairs of measurements.
const ROUNDS: usize = 21;
/// Passes over all objects in one measurement; the fastest counts.
const PASSES: usize = 3;

/// Which of a thousand rules answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answering {
    Ten,
    All,
}

/// Rules to be measured.
#[derive(Clone, Copy, Debug)]
struct Set {
    rules: usize,
    answering: Answering,
}

/// Judges every object once.
type Judge = Box<dyn FnMut()>;
/// What is measured: its name, and a way to make it with such rules.
type Subject = (&'static str, fn(Set) -> Result<Judge>);

const SUBJECTS: [Subject; 6] = [
    ("inputs, glob", inputs),
    ("network, CIDR", network),
    ("gate, glob", |set| {
        gate_on_paths(set, |project| {
            format!("glob = '/srv/project-{project}/**/data-*'")
        })
    }),
    ("gate, regex with `^`", |set| {
        gate_on_paths(set, |project| {
            let project = project.replace('*', "[0-9]*");
            format!("regex = '^/srv/project-{project}/.*/data-[0-9]+$'")
        })
    }),
    ("gate, regex", |set| {
        gate_on_paths(set, |project| {
            let project = project.replace('*', "[0-9]*");
            format!("regex = 'project-{project}/.*/data-[0-9]+$'")
        })
    }),
    ("gate, CIDR", gate_on_addresses),
];

fn main() -> Result<()> {
    let mut out = io::stdout().lock();
    for (name, subject) in SUBJECTS {
        for answering in [Answering::Ten, Answering::All] {
            let mut judges = Vec::new();
            for rules in RULES {
                judges.push((rules, subject(Set { rules, answering })?));
            }
            for round in 0..ROUNDS {
                if round % 2 == 1 {
                    judges.reverse();
                }
                for (rules, judge) in &mut judges {
                    let which = match answering {
                        Answering::Ten => "ten",
                        Answering::All => "all",
                    };
                    writeln!(out, "{name}\t{which}\t{rules}\t{}", measured(judge))?;
                }
            }
        }
    }
    Ok(())
}

/// Nanoseconds per object.
fn measured(judge: &mut Judge) -> u128 {
    let pass = |_| {
        let begun = Instant::now();
        judge();
        begun.elapsed().as_nanos() / OBJECTS as u128
    };
    (0..PASSES).map(pass).min().unwrap_or_default()
}

impl Set {
    /// Groups of objects: each is answered by one rule.
    fn groups(self) -> usize {
        match self.answering {
            Answering::Ten => 10,
            Answering::All => 1_000,
        }
    }

    /// Whether a rule answers the hundred groups whose number ends alike.
    fn is_wide(self) -> bool {
        self.answering == Answering::All && self.rules == 10
    }

    fn paths(self) -> Vec<String> {
        let path = |n| format!("/srv/project-{}/a/b/data-{n}", n % self.groups());
        (0..OBJECTS).map(path).collect()
    }

    /// The group of one rule as a glob.
    fn project(self, n: usize) -> String {
        if self.is_wide() {
            format!("*{n}")
        } else {
            n.to_string()
        }
    }

    fn addresses(self) -> Vec<IpAddr> {
        let address = |n: usize| {
            let group = n % self.groups();
            let [_, _, high, low] = u32::try_from(n / self.groups()).ok()?.to_be_bytes();
            let [first, second] = [10 + group % 10, group / 10].map(u8::try_from);
            Some(IpAddr::V4(Ipv4Addr::new(first.ok()?, second.ok()?, high, low)))
        };
        (0..OBJECTS).filter_map(address).collect()
    }

    /// The group of one rule as a prefix.
    fn prefix(self, n: usize) -> String {
        if self.is_wide() {
            format!("{}.0.0.0/8", 10 + n)
        } else {
            format!("{}.{}.0.0/16", 10 + n % 10, n / 10)
        }
    }
}

fn matcher(text: &str) -> Result<Matcher> {
    let policy = Policy::parse(text, Source::Shipped).map_err(|problems| anyhow!("{problems}"))?;
    Matcher::bind(&Arc::new(policy.policy), Bindings::default()).map_err(|error| anyhow!(error))
}

const SURE: Circumstance = Circumstance {
    outcome: Outcome::Ok,
    confidence: Confidence::KernelObject,
    is_path_cut: false,
    reached_nothing: false,
    own_pid: 1,
};

fn inputs(set: Set) -> Result<Judge> {
    let globs: Vec<String> = (0..set.rules)
        .map(|n| format!("/srv/project-{}/**/data-*", set.project(n)))
        .collect();
    let mut matcher = matcher(&format!("inputs = {globs:?}"))?;
    let paths = set.paths();
    Ok(Box::new(move || {
        for path in &paths {
            let file = FileUse {
                path: Some(path.as_bytes()),
                other_text: None,
                is_lexical: false,
                access: [Access::Read].into_iter().collect(),
                origin: &Origin::Upper,
                file_system: None,
                device: None,
                is_directory: false,
            };
            black_box(matcher.file(&file, &SURE));
        }
    }))
}

fn network(set: Set) -> Result<Judge> {
    let networks: Vec<String> = (0..set.rules).map(|n| set.prefix(n)).collect();
    let mut matcher = matcher(&format!("network = {networks:?}"))?;
    let addresses = set.addresses();
    Ok(Box::new(move || {
        for address in &addresses {
            let contact = Contact {
                peer: Peer::Inet(SocketAddr::new(*address, 443)),
                transport: Some(Transport::Tcp),
            };
            black_box(matcher.contact(&contact, &SURE));
        }
    }))
}

fn gate(set: Set, condition: impl Fn(usize) -> String) -> Result<SafetyGate> {
    let rules: Vec<String> = (0..set.rules)
        .map(|n| {
            format!(
                "[[gate.rule]]\nname = 'r{n}'\ndecision = 'block'\n{}\n",
                condition(n)
            )
        })
        .collect();
    let rules = rules_in(&rules.concat()).map_err(|error| anyhow!("{error}"))?;
    let rules: Result<Vec<_>, _> = rules.into_iter().collect();
    Ok(SafetyGate::production(rules.map_err(|error| anyhow!("{error}"))?))
}

fn gate_on_paths(set: Set, operator: fn(String) -> String) -> Result<Judge> {
    let gate = gate(set, |n| {
        format!(
            "on = 'write_file'\nargs.path = {{ {} }}",
            operator(set.project(n))
        )
    })?;
    let paths = set.paths();
    Ok(Box::new(move || {
        for path in &paths {
            let args = Args::new().with_text(ArgName::Path, Some(path.as_bytes()));
            black_box(gate.observe("write_file", &args));
        }
    }))
}

fn gate_on_addresses(set: Set) -> Result<Judge> {
    let gate = gate(set, |n| {
        format!(
            "on = 'connect_tcp'\nargs.address = {{ cidr = '{}' }}",
            set.prefix(n)
        )
    })?;
    let addresses = set.addresses();
    Ok(Box::new(move || {
        for address in &addresses {
            let args = Args::new().with(ArgName::Address, Argument::Address(*address));
            black_box(gate.observe("connect_tcp", &args));
        }
    }))
}
