//! The one place of rei's user side where the compiler is told rather than convinced.
#![expect(unsafe_code, reason = "tokio cannot see that the ring owns its descriptor")]

use aya::maps::{MapData, RingBuf};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

/// The ring, registered to be woken by the kernel; where that is refused, the error holds the ring.
///
/// Must be called inside a tokio runtime with I/O enabled.
#[expect(
    clippy::result_large_err,
    reason = "once per run, and the caller goes on with the ring in it"
)]
pub(crate) fn pollable(
    ring: RingBuf<MapData>,
) -> Result<AsyncFd<RingBuf<MapData>>, AsyncFdRegisterError<RingBuf<MapData>>> {
    // SAFETY: `RingBuf::as_raw_fd` gives the descriptor of the map that it owns through `MapData`: opened
    // before the ring was made, never exchanged, closed when the ring is dropped. The `AsyncFd` owns the ring
    // from here on.
    unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE) }
}
