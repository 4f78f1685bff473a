//! Reader and recorder while they run: what the observing command tells them, hears of them, and how they
//! end.
//!
//! Both work on their own. One that ends before it is told to would leave a record with a hole that nobody
//! counts: it is noticed at once.

use std::future::pending;
use std::time::Duration;

use anyhow::{Context, Result};
use aya::maps::{MapData, RingBuf};
use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::say;
use crate::recorder::{self, Closing, Instruction, Notice, Outcome, Rooms, Wires};
use crate::ring;

/// Reader and recorder.
pub(super) struct Recording {
    reader: JoinHandle<()>,
    stop_reader: Option<oneshot::Sender<()>>,
    instructions: mpsc::Sender<Instruction>,
    notices: mpsc::Receiver<Notice>,
    outcome: oneshot::Receiver<Outcome>,
    is_broken: bool,
}

impl Recording {
    /// Starts both. A test aid leaves the ring unread for `stall`, but never beyond the end.
    pub(super) fn start(ring: RingBuf<MapData>, rooms: Rooms, stall: Duration) -> Result<Self> {
        Self::with_reader(rooms, |to_recorder, mut stop| async move {
            let is_stopped = tokio::select! {
                _ = &mut stop, if !stall.is_zero() => true,
                () = sleep(stall) => false,
            };
            if is_stopped {
                let (_, stopped) = oneshot::channel();
                return ring::read(ring, to_recorder, stopped).await;
            }
            ring::read(ring, to_recorder, stop).await;
        })
    }

    fn with_reader<R>(
        rooms: Rooms,
        read: impl FnOnce(mpsc::Sender<Bytes>, oneshot::Receiver<()>) -> R,
    ) -> Result<Self>
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let (to_recorder, records) = mpsc::channel(ring::CHANNEL_RECORDS);
        let (instructions, orders) = mpsc::channel(recorder::INSTRUCTIONS);
        let (told, notices) = mpsc::channel(recorder::NOTICES);
        let wires = Wires {
            records,
            instructions: orders,
            notices: told,
        };
        let outcome = recorder::spawn(rooms, wires, Handle::current())
            .context("the system gives no thread for the recorder; end something else first")?;
        let (stop_reader, stop) = oneshot::channel();
        Ok(Self {
            reader: tokio::spawn(read(to_recorder, stop)),
            stop_reader: Some(stop_reader),
            instructions,
            notices,
            outcome,
            is_broken: false,
        })
    }

    /// Tells the recorder something.
    pub(super) async fn instruct(&self, instruction: Instruction) {
        // A recorder that is gone is noticed where it is listened to.
        let _ = self.instructions.send(instruction).await;
    }

    /// Tells the recorder something that can be told later as well, if there is room for it and for what
    /// cannot wait.
    pub(super) fn mention(&self, instruction: Instruction) -> bool {
        self.instructions.capacity() > recorder::INSTRUCTIONS / 2
            && self.instructions.try_send(instruction).is_ok()
    }

    /// The next notice; `None`, once, when reader or recorder has ended without being told to. Safe to
    /// cancel.
    pub(super) async fn heard(&mut self) -> Option<Notice> {
        if self.is_broken {
            return pending().await;
        }
        let ended = match self.notices.recv().await {
            // Not asked for yet.
            Some(Notice::Drained) => "the reader of the event buffer",
            None => "the recorder",
            notice => return notice,
        };
        say(format_args!(
            "{ended} ended too early; observing stops, and the record is not closed. This is a bug in rei: report it"
        ));
        self.is_broken = true;
        None
    }

    /// Whether reader or recorder has ended without being told to.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Tells the reader to drain the ring, and waits until it has.
    pub(super) async fn stop_reader(&mut self) -> Result<()> {
        if let Some(stop) = self.stop_reader.take() {
            // If nobody listens the reader has ended, which is seen below.
            let _ = stop.send(());
        }
        (&mut self.reader)
            .await
            .context("the reader of the event buffer failed; this is a bug in rei: report it")
    }

    /// The next notice before `last`; `None` when that came, or the recorder is gone.
    pub(super) async fn heard_before(&mut self, last: &Notice) -> Option<Notice> {
        self.notices.recv().await.filter(|notice| notice != last)
    }

    /// Lets the recorder close the report, and waits for what is left of it.
    pub(super) async fn close(&mut self, closing: Closing) -> Result<Outcome> {
        self.instruct(Instruction::End(closing)).await;
        (&mut self.outcome)
            .await
            .context("the recorder failed, and the record is not closed; this is a bug in rei: report it")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;
    use std::time::Instant;

    use rei_ebpf_common::header::EventKind;
    use rei_ebpf_common::process::ExitBody;
    use tokio::time::timeout;

    use super::*;
    use crate::decode::{Body, record};
    use crate::enrich::{Enricher, Target};
    use crate::identity::Identity;
    use crate::judge::Judge;
    use crate::ledger::Ledger;
    use crate::policy::{Policy, Source};
    use crate::report::{Attribution, ExitCodes, Report};
    use crate::tripwire::Bindings;

    const SOON: Duration = Duration::from_secs(10);

    fn rooms(output: Option<Box<dyn Write + Send>>) -> Rooms {
        let mut identity = Identity::of_known_scopes();
        identity.own(7);
        let policy = Policy::parse("", Source::Shipped)
            .expect("an empty policy")
            .policy;
        let policy = Arc::new(policy);
        Rooms {
            report: Report::new(output, Arc::clone(&policy)),
            ledger: Ledger::off(),
            enricher: Enricher::new(Target::Plain),
            judge: Judge::new(policy, Bindings::default()).expect("a judge"),
            identity,
        }
    }

    fn closing() -> Closing {
        Closing {
            command: None,
            exit_codes: ExitCodes {
                findings: 101,
                complete: 0,
                incomplete: 103,
            },
            gaps: Vec::new(),
            attribution: Attribution::default(),
        }
    }

    /// A reader that gives one record and then waits for the end.
    fn with_one_record(output: Option<Box<dyn Write + Send>>) -> Recording {
        let exit = Body::Exit(ExitBody::default());
        let bytes = record::bytes(&record::header(EventKind::Exit), &exit, &[]);
        Recording::with_reader(rooms(output), |to_recorder, stop| async move {
            to_recorder.send(bytes).await.expect("a recorder");
            let _ = stop.await;
        })
        .expect("a thread")
    }

    /// Where writing ends the recorder's thread.
    struct Mine;

    impl Write for Mine {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("on purpose, by a test")
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_recorder_that_panics_is_noticed_at_once_and_once() {
        let mut recording = with_one_record(Some(Box::new(Mine)));
        let began = Instant::now();
        assert_eq!(timeout(SOON, recording.heard()).await, Ok(None));
        assert!(began.elapsed() < SOON / 2 && recording.is_broken());
        // The caller's loop must not spin until it ends.
        assert!(
            timeout(Duration::from_millis(50), recording.heard())
                .await
                .is_err()
        );
        recording.stop_reader().await.expect("the reader is well");
        assert_eq!(recording.heard_before(&Notice::Drained).await, None);
        let Err(error) = recording.close(closing()).await else {
            panic!("a record that nobody closed")
        };
        assert!(error.to_string().contains("the recorder failed"), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_reader_that_ends_early_is_noticed_at_once() {
        for panics in [false, true] {
            let mut recording = Recording::with_reader(rooms(None), move |_, _| async move {
                assert!(!panics, "on purpose, by a test");
            })
            .expect("a thread");
            assert_eq!(timeout(SOON, recording.heard()).await, Ok(None));
            assert!(recording.is_broken());
            assert_eq!(recording.stop_reader().await.is_err(), panics);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn told_to_end_it_ends_in_order() {
        let mut recording = with_one_record(None);
        recording.stop_reader().await.expect("the reader is well");
        assert_eq!(recording.heard_before(&Notice::Drained).await, None);
        assert!(!recording.is_broken());
        let outcome = recording.close(closing()).await.expect("a closed record");
        assert!(outcome.failure.is_none() && outcome.summary.is_some_and(|summary| summary.is_complete()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn room_is_kept_for_what_cannot_wait() {
        let (instructions, _orders) = mpsc::channel(recorder::INSTRUCTIONS);
        let mut recording = with_one_record(None);
        recording.instructions = instructions;
        let taken = (0..recorder::INSTRUCTIONS)
            .filter(|_| recording.mention(Instruction::Losses(Vec::new())))
            .count();
        assert_eq!(taken, recorder::INSTRUCTIONS / 2);
        let urgent = recording.instruct(Instruction::Losses(Vec::new()));
        timeout(SOON, urgent).await.expect("there is room");
    }
}
