//! The recorder's thread, driven by its three channels alone.

use std::sync::Arc;
use std::time::Duration;

use rei_ebpf_common::header::EventKind;
use rei_ebpf_common::process::ExitBody;
use tokio::time::timeout;

use super::*;
use crate::decode::{Body, record};
use crate::engine::ContainerFacts;
use crate::enrich::{Enricher, Target};
use crate::identity::Identity;
use crate::judge::Judge;
use crate::ledger::Ledger;
use crate::policy::{Policy, Source};
use crate::report::{Attribution, ExitCodes, Report, Summary};
use crate::tripwire::Bindings;

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const SOON: Duration = Duration::from_secs(10);

/// The other ends of the recorder's channels.
struct Rig {
    records: Option<mpsc::Sender<Bytes>>,
    instructions: mpsc::Sender<Instruction>,
    notices: mpsc::Receiver<Notice>,
    outcome: oneshot::Receiver<Outcome>,
}

impl Rig {
    /// A recorder that awaits the container [`ID`].
    async fn start() -> Self {
        let (records, from_reader) = mpsc::channel(16);
        let (instructions, orders) = mpsc::channel(INSTRUCTIONS);
        let (told, notices) = mpsc::channel(NOTICES);
        let wires = Wires {
            records: from_reader,
            instructions: orders,
            notices: told,
        };
        let policy = Policy::parse("", Source::Shipped)
            .expect("an empty policy")
            .policy;
        let policy = Arc::new(policy);
        let rooms = Rooms {
            report: Report::new(None, Arc::clone(&policy)),
            ledger: Ledger::off(),
            enricher: Enricher::new(Target::Container),
            judge: Judge::new(policy, Bindings::default()).expect("a judge"),
            identity: Identity::of_awaited_container(),
        };
        let outcome = spawn(rooms, wires, Handle::current()).expect("a thread");
        let rig = Rig {
            records: Some(records),
            instructions,
            notices,
            outcome,
        };
        let facts = ContainerFacts {
            id: ID.to_owned(),
            ..ContainerFacts::default()
        };
        let container = Container {
            facts,
            programs: Vec::new(),
            cgroup_path: None,
            source: "engine",
        };
        rig.tell(Instruction::Expect(container)).await;
        rig
    }

    async fn tell(&self, instruction: Instruction) {
        let told = timeout(SOON, self.instructions.send(instruction)).await;
        assert!(told.is_ok_and(|told| told.is_ok()), "the recorder listens");
    }

    /// The end of a process of `scope`.
    async fn act_in(&self, scope: u64) {
        let mut header = record::header(EventKind::Exit);
        header.scope = scope;
        let bytes = record::bytes(&header, &Body::Exit(ExitBody::default()), &[]);
        let records = self.records.as_ref().expect("not ended yet");
        records.send(bytes).await.expect("the recorder listens");
    }

    /// Nothing comes any more.
    fn end_records(&mut self) {
        self.records = None;
    }

    async fn heard(&mut self) -> Option<Notice> {
        timeout(SOON, self.notices.recv())
            .await
            .expect("a notice in time")
    }

    async fn end(self) -> Summary {
        let closing = Closing {
            command: None,
            exit_codes: ExitCodes {
                findings: 101,
                complete: 0,
                incomplete: 103,
            },
            gaps: Vec::new(),
            attribution: Attribution::default(),
        };
        self.tell(Instruction::End(closing)).await;
        let outcome = timeout(SOON, self.outcome).await.expect("an end in time");
        outcome.expect("no panic").summary.expect("a summary")
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_settled_after_the_last_record_is_told_too() {
    let mut rig = Rig::start().await;
    rig.act_in(7).await;
    rig.end_records();
    assert_eq!(rig.heard().await, Some(Notice::Unnamed { scope: 7 }));
    assert_eq!(rig.heard().await, Some(Notice::Drained));
    let path = format!("/docker/{ID}");
    rig.tell(Instruction::Named {
        scope: 7,
        path: path.clone(),
    })
    .await;
    rig.tell(Instruction::Settle).await;
    assert_eq!(rig.heard().await, Some(Notice::Ours { scope: 7, path }));
    assert_eq!(rig.heard().await, Some(Notice::Settled));
    let summary = rig.end().await;
    assert!(summary.is_complete(), "{:?}", summary.reasons());
}

#[tokio::test(flavor = "current_thread")]
async fn a_scope_that_nobody_named_is_said_to_be_missing() {
    let mut rig = Rig::start().await;
    rig.act_in(7).await;
    rig.end_records();
    assert_eq!(rig.heard().await, Some(Notice::Unnamed { scope: 7 }));
    assert_eq!(rig.heard().await, Some(Notice::Drained));
    let kinds: Vec<&str> = rig.end().await.reasons().iter().map(Reason::kind).collect();
    assert_eq!(kinds, ["unidentified"]);
}
