//! Judged events → JSON lines and the summary.
//!
//! Takes what the recorder learns, in order. Writes a line for each (docs/events.md), counts it in bounded
//! memory, and says at the end whether the record is complete, and if not, why not and what to do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rei_ebpf_common::header::EventKind;

use crate::attach::{Loss, SensorState};
use crate::coverage::{NEVER_COVERED, Route, RouteGap};
use crate::decode::Undecodable;
use crate::engine::ContainerFacts;
use crate::found::FoundProgram;
use crate::judge::Judged;
use crate::policy::{Extension, Policy, Severity, Source};

pub use self::lost::Attribution;
pub use self::reason::Reason;
pub use self::sequence::Sequence;
pub use self::summary::Summary;

use self::account::Account;
use self::doubt::Doubts;
use self::finding::Findings;
use self::line::Line;
use self::lost::Counters;

mod account;
mod doubt;
mod event;
mod finding;
mod line;
mod lost;
mod program;
mod reason;
mod sealed;
mod sequence;
mod summary;
mod tally;

/// Most containers that the summary names.
const CONTAINERS_NAMED_MAX: usize = 3;
/// Most reasons that are kept from outside; each is given once.
const OUTSIDE_REASONS_MAX: usize = 32;

/// What is known when a recording begins.
#[derive(Clone, Debug)]
pub struct RunStart {
    /// The command, or the targets of an attach.
    pub command: Vec<OsString>,
    /// `plain`, `docker`, `attach`.
    pub target: &'static str,
    /// Which sensors are live.
    pub sensors: Vec<SensorState>,
    /// Declared programs, as they were found on this machine; of containers see [`Report::container`].
    pub programs: Vec<FoundProgram>,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandExit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl CommandExit {
    /// From what `wait` says; `None` if the process has not ended.
    #[must_use]
    pub fn of(status: ExitStatus) -> Option<Self> {
        status
            .code()
            .map(CommandExit::Code)
            .or_else(|| status.signal().map(CommandExit::Signal))
    }
}

/// rei's own exit code, once judgement and completeness are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitCodes {
    /// If there are findings that make the run fail, whether it is complete or not.
    pub findings: u8,
    /// If there are none and the record is complete.
    pub complete: u8,
    /// If it is not.
    pub incomplete: u8,
}

/// What is known when a recording ends.
#[derive(Clone, Debug)]
pub struct End {
    /// How the command ended; `None` if there was none or it still runs.
    pub command: Option<CommandExit>,
    /// rei's own exit code.
    pub exit_codes: ExitCodes,
    /// Of all scopes: what [`crate::coverage::gaps`] found.
    pub gaps: Vec<RouteGap>,
    /// What observed every decoded record.
    pub sequence: Sequence,
    /// Whose events were lost.
    pub attribution: Attribution,
}

/// Writes lines, counts, and sums up. Memory is bounded, whatever the container does.
pub struct Report {
    json: Option<Box<dyn Write + Send>>,
    policy: Arc<Policy>,
    findings: Findings,
    command: Vec<OsString>,
    target: &'static str,
    containers: Vec<String>,
    containers_unnamed: u64,
    counts: BTreeMap<EventKind, u64>,
    account: Account,
    doubts: Doubts,
    losses: Counters,
    undecodable: u64,
    undecodable_first: String,
    outside_reasons: Vec<Reason>,
}

impl Report {
    /// A report that writes JSON lines to `json`, if there is one: one whole line per write, so `json` should
    /// collect them.
    #[must_use]
    pub fn new(json: Option<Box<dyn Write + Send>>, policy: Arc<Policy>) -> Self {
        Report {
            json,
            policy,
            findings: Findings::default(),
            command: Vec::new(),
            target: "",
            containers: Vec::new(),
            containers_unnamed: 0,
            counts: BTreeMap::new(),
            account: Account::new(),
            doubts: Doubts::default(),
            losses: Counters::default(),
            undecodable: 0,
            undecodable_first: String::new(),
            outside_reasons: Vec::new(),
        }
    }

    /// The first line. It is flushed, so that a full disk is known before anything starts.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn begin(&mut self, start: &RunStart) -> io::Result<()> {
        self.command.clone_from(&start.command);
        self.target = start.target;
        let mut line = Line::of_type("run");
        line.text("version", env!("CARGO_PKG_VERSION"));
        let command: Vec<&[u8]> = start.command.iter().map(|word| word.as_bytes()).collect();
        line.byte_strings("command", &command);
        line.text("target", start.target);
        line.number("started_unix_ns", unix_ns());
        line.optional_text("boot_id", boot_id().as_deref());
        line.bytes("kernel", rustix::system::uname().release().to_bytes());
        line.objects("sensors", &start.sensors, |object, state| {
            object.text("name", state.sensor.name());
            object.boolean("live", state.gap.is_none());
            if let Some(reason) = &state.gap {
                object.text("reason", reason);
            }
        });
        line.texts("never_covered", NEVER_COVERED);
        line.object("policy", |object| write_policy(object, &self.policy));
        program::write(&mut line, &start.programs);
        self.write(line)?;
        self.flush()
    }

    /// A container whose scope is observed, and its declared programs. `source` says how the facts were learned:
    /// `engine` or `cgroup`.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn container(
        &mut self,
        scope: u64,
        facts: &ContainerFacts,
        programs: &[FoundProgram],
        cgroup_path: &str,
        source: &str,
    ) -> io::Result<()> {
        if self.containers.len() < CONTAINERS_NAMED_MAX {
            self.containers.push(summary::container_words(facts));
        } else {
            self.containers_unnamed += 1;
        }
        let mut line = Line::of_type("container");
        line.number("scope", scope);
        line.optional_text("id", Some(facts.id.as_str()).filter(|id| !id.is_empty()));
        line.optional_text("name", facts.name.as_deref());
        line.optional_text("image", facts.image.as_deref());
        line.optional_text("image_id", facts.image_id.as_deref());
        line.text("cgroup_path", cgroup_path);
        line.text("source", source);
        program::write(&mut line, programs);
        self.write(line)
    }

    /// An event of an observed scope.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn event(&mut self, judged: &Judged) -> io::Result<()> {
        let event = judged.enriched();
        self.findings.add(judged);
        if let Some(field) = judged.verdict().and_then(|verdict| verdict.answer.lacks) {
            self.reason(lacking(field));
        }
        *self.counts.entry(event.event().kind()).or_default() += 1;
        self.account.add(event);
        self.doubts.add(event);
        match &mut self.json {
            Some(json) => json.write_all(&event::line(judged)),
            None => Ok(()),
        }
    }

    /// All losses so far, as the counters stand. Writes a `loss` line for each counter that moved.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn losses(&mut self, all_so_far: &[Loss]) -> io::Result<()> {
        for loss in all_so_far {
            let moved = self.losses.take(loss);
            if moved == 0 {
                continue;
            }
            let mut line = Line::of_type("loss");
            line.optional_text("kind", loss.kind.map(EventKind::name));
            match loss.cpu {
                Some(cpu) => line.number("cpu", cpu),
                None => line.null("cpu"),
            }
            line.text("cause", loss.cause.name());
            line.number("count", moved);
            self.write(line)?;
        }
        Ok(())
    }

    /// A record that could not be decoded: its bytes are kept.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn undecodable(&mut self, bad: &Undecodable) -> io::Result<()> {
        if self.undecodable == 0 {
            self.undecodable_first = bad.why.to_string();
        }
        self.undecodable += 1;
        let mut line = Line::of_type("undecodable");
        line.text("why", &bad.why.to_string());
        line.base64("bytes_b64", &bad.bytes);
        self.write(line)
    }

    /// A reason for incompleteness that was found outside. The same one twice is one.
    pub fn reason(&mut self, reason: Reason) {
        if self.outside_reasons.len() < OUTSIDE_REASONS_MAX && !self.outside_reasons.contains(&reason) {
            self.outside_reasons.push(reason);
        }
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.json.as_mut().map_or(Ok(()), Write::flush)
    }

    /// The summary as things stand; `finish` gives it too, unless the last line cannot be written.
    #[must_use]
    pub fn summary(&self, end: &End) -> Summary {
        Summary::new(self, end, self.reasons(end))
    }

    /// The last line, and the summary.
    ///
    /// # Errors
    /// If the JSON lines cannot be written.
    pub fn finish(mut self, end: End) -> io::Result<Summary> {
        let summary = self.summary(&end);
        let mut line = Line::of_type("end");
        match end.command {
            Some(CommandExit::Code(code)) => line.object("command_exit", |exit| exit.number("code", code)),
            Some(CommandExit::Signal(signal)) => {
                line.object("command_exit", |exit| exit.number("signal", signal))
            }
            None => line.null("command_exit"),
        }
        line.number("exit_code", summary.exit_code());
        line.text("judgement", self.judgement());
        line.text(
            "completeness",
            if summary.is_complete() {
                "complete"
            } else {
                "incomplete"
            },
        );
        line.objects("reasons", summary.reasons(), |object, reason| {
            object.text("kind", reason.kind());
            object.text("text", &reason.text());
            if let Some(count) = reason.count() {
                object.number("count", count);
            }
            object.text("next_step", &reason.next_step());
        });
        line.object("counts", |object| {
            for (kind, count) in &self.counts {
                object.number(kind.name(), *count);
            }
        });
        line.number("lost", self.losses.total());
        let of_others = self.losses.of_others(&end.attribution);
        if of_others > 0 {
            line.number("lost_of_others", of_others);
        }
        let names: Vec<String> = names_of(&end.gaps);
        line.texts("syscalls_without_sensor", names.iter().map(String::as_str));
        self.findings.write(&mut line);
        line.number("findings_not_kept_apart", self.findings.not_kept_apart());
        line.number("ended_unix_ns", unix_ns());
        self.write(line)?;
        self.flush()?;
        Ok(summary)
    }

    fn write(&mut self, line: Line) -> io::Result<()> {
        self.json
            .as_mut()
            .map_or(Ok(()), |json| json.write_all(&line.end()))
    }

    /// `clean`, or the worst severity of all findings. Whether that is all is another question.
    fn judgement(&self) -> &'static str {
        self.findings.worst().map_or("clean", Severity::name)
    }

    /// Whether there are findings that make the run fail.
    fn fails(&self) -> bool {
        self.findings.worst() >= Some(self.policy.fail_on)
    }

    /// Every reason, the gravest first.
    fn reasons(&self, end: &End) -> Vec<Reason> {
        let mut reasons = self.outside_reasons.clone();
        reasons.extend(self.losses.reasons(&end.attribution));
        reasons.extend(self.sequence_gap(&end.sequence));
        if self.undecodable > 0 {
            reasons.push(Reason::Undecodable {
                count: self.undecodable,
                first: self.undecodable_first.clone(),
            });
        }
        reasons.extend(self.doubts.reasons());
        reasons.extend(uncovered(&end.gaps));
        reasons
    }

    /// Numbers that never came, beyond what the counters and the undecodable records account for.
    fn sequence_gap(&self, sequence: &Sequence) -> Option<Reason> {
        let mut unexplained = 0;
        for (cpu, missing) in sequence.missing() {
            unexplained += missing.saturating_sub(self.losses.ring_full_on(u32::from(cpu)));
        }
        let count = unexplained.saturating_sub(self.undecodable);
        (count > 0).then_some(Reason::SequenceGap { count })
    }
}

/// The policy that judges, as it is in this run.
fn write_policy(object: &mut Line, policy: &Policy) {
    object.text("name", &policy.name);
    object.text(
        "source",
        if policy.source == Source::Shipped {
            "shipped"
        } else {
            "file"
        },
    );
    object.text("sha256", &policy.digest());
    object.text("mode", policy.mode.name());
    object.text("fail_on", policy.fail_on.name());
    let extensions: Vec<String> = policy.extensions.iter().map(Extension::to_string).collect();
    object.texts("extensions", extensions.iter().map(String::as_str));
    object.objects("resolved", &policy.resolved, |object, (name, addresses)| {
        object.text("name", name);
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        object.texts("addresses", addresses.iter().map(String::as_str));
    });
}

/// A rule asked for something that nobody knows.
fn lacking(field: &str) -> Reason {
    Reason::Other {
        kind: "rule_undecided",
        text: format!("a rule of the policy needed {field} of an event, which is cut or could not be read"),
        next_step: "look at these events with --json -o FILE, or leave the rule's condition out".to_owned(),
    }
}

/// One reason for each kind of route.
fn uncovered(gaps: &[RouteGap]) -> Vec<Reason> {
    let mut by_route: BTreeMap<(Route, Option<&'static str>), Vec<RouteGap>> = BTreeMap::new();
    for gap in gaps {
        by_route
            .entry((gap.route, gap.sensor.map(|sensor| sensor.name())))
            .or_default()
            .push(gap.clone());
    }
    let reason = |((route, sensor), gaps): ((Route, Option<&'static str>), Vec<RouteGap>)| {
        Reason::RouteWithoutSensor {
            route,
            syscalls: names_of(&gaps),
            sensor,
        }
    };
    by_route.into_iter().map(reason).collect()
}

fn names_of(gaps: &[RouteGap]) -> Vec<String> {
    let mut names: Vec<String> = gaps.iter().map(RouteGap::name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .map(|id| id.trim().to_owned())
}

/// Wall clock, for people and file names; never the time of an event.
fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
