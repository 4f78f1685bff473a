//! The ring → owned bytes → a bounded channel.
//!
//! Takes the ring that the kernel side fills. Gives each record as it came, in the order of the ring, and
//! never drops one: when the recorder is behind, the ring fills and the kernel side counts the loss.

use std::ops::Deref;
use std::time::Duration;

use aya::maps::{MapData, RingBuf};
use bytes::{Bytes, BytesMut};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::sync::oneshot;

use crate::sys;

/// Records that wait between the reader and the recorder. When it is full the reader waits, the ring fills,
/// and the kernel side counts the loss: loss happens in one place.
pub const CHANNEL_RECORDS: usize = 4096;

/// Pause between two looks at the ring while records come. A wake-up per event would cost the observed
/// program more than the event itself.
const PAUSE_BUSY: Duration = Duration::from_millis(1);
/// Longest pause when nothing comes: what a person waits for the first event, and what idling costs.
const PAUSE_IDLE: Duration = Duration::from_millis(20);
/// Bytes that are allocated at once and shared by the records that fit. Small enough that one record which is
/// kept for long does not pin much.
const BLOCK_BYTES: usize = 64 * 1024;

/// Reads the ring until `stop` resolves, then drains what is left and returns. One record, one message.
///
/// Nothing wakes the reader per event: it polls every millisecond while records come, backs off to 20 ms when
/// idle, and the kernel side wakes it early when the ring is a quarter full. It also returns when nobody
/// receives any more. Detach the sensors before `stop`, or the ring may never be empty.
pub async fn read(ring: RingBuf<MapData>, out: mpsc::Sender<Bytes>, stop: oneshot::Receiver<()>) {
    match sys::pollable(ring) {
        Ok(ring) => pump(Polled { ring }, out, stop).await,
        Err(refused) => {
            let (ring, error) = refused.into_parts();
            // The timer alone is enough, only less early under a flood.
            tracing::warn!("the ring is read by timer only, the kernel cannot wake rei: {error}");
            pump(Timed { ring }, out, stop).await;
        }
    }
}

/// Where records come from.
trait Source: Send {
    /// The next record, copied into `blocks`; `None` if there is none now.
    fn next(&mut self, blocks: &mut Blocks) -> Option<Bytes>;

    /// Resolves when the source asks to be read early; never, if it cannot.
    fn woken(&mut self) -> impl Future<Output = ()> + Send;
}

/// The ring, with the kernel's early wake.
struct Polled {
    ring: AsyncFd<RingBuf<MapData>>,
}

impl Source for Polled {
    fn next(&mut self, blocks: &mut Blocks) -> Option<Bytes> {
        self.ring.get_mut().next().map(|item| blocks.copy(&item))
    }

    async fn woken(&mut self) {
        match self.ring.readable().await {
            // Cleared before the ring is drained: a wake in between is seen as another one, never lost.
            Ok(mut ready) => ready.clear_ready(),
            Err(_) => std::future::pending().await,
        }
    }
}

/// The ring where it cannot be polled.
struct Timed {
    ring: RingBuf<MapData>,
}

impl Source for Timed {
    fn next(&mut self, blocks: &mut Blocks) -> Option<Bytes> {
        self.ring.next().map(|item| blocks.copy(&item))
    }

    async fn woken(&mut self) {
        std::future::pending().await
    }
}

async fn pump(mut source: impl Source, out: mpsc::Sender<Bytes>, mut stop: oneshot::Receiver<()>) {
    let mut blocks = Blocks::default();
    let mut pause = PAUSE_BUSY;
    let mut stopping = false;
    loop {
        let mut idle = true;
        while let Some(record) = source.next(&mut blocks) {
            idle = false;
            if out.send(record).await.is_err() {
                return;
            }
        }
        if stopping {
            return;
        }
        pause = if idle {
            (pause * 2).min(PAUSE_IDLE)
        } else {
            PAUSE_BUSY
        };
        tokio::select! {
            // A dropped stopper is a stop as well. What came meanwhile is drained once more.
            _ = &mut stop => stopping = true,
            () = source.woken() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Memory for records: one allocation for many, each record its own [`Bytes`].
#[derive(Default)]
struct Blocks {
    block: BytesMut,
}

impl Blocks {
    fn copy(&mut self, record: &impl Deref<Target = [u8]>) -> Bytes {
        if self.block.capacity() < record.len() {
            self.block = BytesMut::with_capacity(BLOCK_BYTES.max(record.len()));
        }
        self.block.extend_from_slice(record);
        self.block.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use tokio::sync::Notify;
    use tokio::time::{Instant, timeout};

    use super::*;

    /// A ring that a test fills.
    #[derive(Clone, Default)]
    struct Fake {
        records: Arc<Mutex<VecDeque<Vec<u8>>>>,
        looks: Arc<Mutex<u32>>,
        wake: Arc<Notify>,
    }

    impl Fake {
        fn push(&self, record: &[u8]) {
            self.records
                .lock()
                .expect("not poisoned")
                .push_back(record.to_vec());
        }

        fn len(&self) -> usize {
            self.records.lock().expect("not poisoned").len()
        }
    }

    impl Source for Fake {
        fn next(&mut self, blocks: &mut Blocks) -> Option<Bytes> {
            *self.looks.lock().expect("not poisoned") += 1;
            self.records
                .lock()
                .expect("not poisoned")
                .pop_front()
                .map(|record| blocks.copy(&record))
        }

        async fn woken(&mut self) {
            self.wake.notified().await;
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
    }

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn records_come_whole_and_in_order() {
        runtime().block_on(async {
            let ring = Fake::default();
            let sent: Vec<Vec<u8>> = (0..300u32)
                .map(|n| vec![n as u8; (n as usize * 997) % 5000])
                .collect();
            sent.iter().for_each(|record| ring.push(record));
            let (out, mut from) = mpsc::channel(1000);
            let (stopper, stop) = oneshot::channel();
            stopper.send(()).expect("the reader waits");
            pump(ring, out, stop).await;
            let mut came = Vec::new();
            while let Some(record) = from.recv().await {
                came.push(record.to_vec());
            }
            assert_eq!(came, sent);
        });
    }

    #[test]
    fn a_full_channel_makes_the_reader_wait_and_loses_nothing() {
        runtime().block_on(async {
            let ring = Fake::default();
            (0..100u8).for_each(|n| ring.push(&[n]));
            let (out, mut from) = mpsc::channel(8);
            let (stopper, stop) = oneshot::channel();
            let reader = tokio::spawn(pump(ring.clone(), out, stop));
            tokio::time::sleep(Duration::from_millis(50)).await;
            // Eight wait in the channel and one in the reader's hand: the rest stays in the ring.
            assert_eq!(ring.len(), 100 - 9);
            stopper.send(()).expect("the reader lives");
            for n in 0..100u8 {
                assert_eq!(from.recv().await.as_deref(), Some(&[n][..]));
            }
            assert_eq!(from.recv().await, None);
            timeout(SOON, reader)
                .await
                .expect("the reader ends")
                .expect("without a panic");
        });
    }

    #[test]
    fn what_is_left_at_the_stop_is_drained() {
        runtime().block_on(async {
            let ring = Fake::default();
            let (out, mut from) = mpsc::channel(8);
            let (stopper, stop) = oneshot::channel();
            let reader = tokio::spawn(pump(ring.clone(), out, stop));
            tokio::time::sleep(Duration::from_millis(100)).await;
            // Both in the same turn: the reader cannot have looked in between.
            ring.push(b"last");
            stopper.send(()).expect("the reader lives");
            timeout(SOON, reader)
                .await
                .expect("the reader ends")
                .expect("without a panic");
            assert_eq!(from.recv().await.as_deref(), Some(&b"last"[..]));
        });
    }

    #[test]
    fn a_dropped_stopper_or_receiver_ends_the_reader() {
        runtime().block_on(async {
            let (out, from) = mpsc::channel::<Bytes>(1);
            let (stopper, stop) = oneshot::channel();
            drop(stopper);
            timeout(SOON, pump(Fake::default(), out, stop))
                .await
                .expect("no stopper, no reader");

            drop(from);
            let (out, from) = mpsc::channel(1);
            drop(from);
            let (_stopper, stop) = oneshot::channel();
            let ring = Fake::default();
            ring.push(b"for nobody");
            timeout(SOON, pump(ring, out, stop))
                .await
                .expect("no receiver, no reader");
        });
    }

    #[test]
    fn an_idle_reader_looks_rarely_and_a_wake_brings_it_back_at_once() {
        runtime().block_on(async {
            let ring = Fake::default();
            let (out, mut from) = mpsc::channel(1);
            let (_stopper, stop) = oneshot::channel();
            let _reader = tokio::spawn(pump(ring.clone(), out, stop));
            tokio::time::sleep(Duration::from_millis(400)).await;
            let looks = *ring.looks.lock().expect("not poisoned");
            // 2 + 4 + 8 + 16 ms, then every 20 ms: about 22. A busy reader would have looked 400 times.
            assert!((2..=40).contains(&looks), "{looks} looks");

            ring.push(b"x");
            let before = Instant::now();
            ring.wake.notify_one();
            assert!(timeout(SOON, from.recv()).await.expect("a record").is_some());
            assert!(before.elapsed() < PAUSE_IDLE, "{:?}", before.elapsed());
        });
    }

    #[test]
    fn small_records_share_a_block_and_a_large_one_gets_its_own() {
        let mut blocks = Blocks::default();
        let first = blocks.copy(&&[1u8; 100][..]);
        let second = blocks.copy(&&[2u8; 100][..]);
        assert_eq!(first.as_ptr() as usize + 100, second.as_ptr() as usize);
        let large = blocks.copy(&&[3u8; 2 * BLOCK_BYTES][..]);
        assert_eq!(large.len(), 2 * BLOCK_BYTES);
        assert!(first.iter().all(|byte| *byte == 1) && second.iter().all(|byte| *byte == 2));
        assert_eq!(blocks.copy(&&[][..]).len(), 0);
    }
}
