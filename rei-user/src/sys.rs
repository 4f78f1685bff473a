//! The one place of rei's user side where the compiler is told rather than convinced.
#![expect(
    unsafe_code,
    reason = "tokio cannot see that the ring owns its descriptor; advice on memory takes addresses"
)]

use std::ffi::c_void;
use std::ptr;

#[cfg(feature = "observe")]
use aya::maps::{MapData, RingBuf};
use rustix::mm::{Advice, madvise, mlock, munlock};
#[cfg(feature = "observe")]
use tokio::io::Interest;
#[cfg(feature = "observe")]
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

/// The ring, registered to be woken by the kernel; where that is refused, the error holds the ring.
///
/// Must be called inside a tokio runtime with I/O enabled.
#[cfg(feature = "observe")]
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

/// Bytes of a page of memory on x86-64.
const PAGE_BYTES: usize = 4096;

/// A page of memory that holds nothing else: advice on it reaches nobody else's bytes.
#[repr(C, align(4096))]
pub(crate) struct Page(pub(crate) [u8; PAGE_BYTES]);

impl Page {
    /// A page of zeros.
    pub(crate) fn new() -> Box<Self> {
        Box::new(Page([0; PAGE_BYTES]))
    }

    fn address(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

/// What was asked of the kernel for a page; to be released before the page is freed.
pub(crate) struct PageGuard {
    is_locked: bool,
}

impl PageGuard {
    /// Asks the kernel never to swap the page out, dump it, or give its content to a child. What it refuses is not
    /// insisted on.
    pub(crate) fn over(page: &Page) -> Self {
        // SAFETY: the address and length are those of a page that `page` borrows; locking changes no content.
        let locked = unsafe { mlock(page.address(), PAGE_BYTES) };
        // SAFETY: as above; the advice only says that the page is left out of core dumps.
        let _ = unsafe { madvise(page.address(), PAGE_BYTES, Advice::LinuxDontDump) };
        // SAFETY: as above; a child that is forked finds zeros, which are valid bytes, in a page of bytes.
        let _ = unsafe { madvise(page.address(), PAGE_BYTES, Advice::LinuxWipeOnFork) };
        PageGuard {
            is_locked: locked.is_ok(),
        }
    }

    /// Whether the page is kept in memory.
    pub(crate) const fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Takes everything back, so that the allocator can use the page for anything again.
    pub(crate) fn release(&mut self, page: &Page) {
        // SAFETY: the address and length are those of a page that `page` borrows; the advice undoes an earlier one.
        let _ = unsafe { madvise(page.address(), PAGE_BYTES, Advice::LinuxKeepOnFork) };
        // SAFETY: as above.
        let _ = unsafe { madvise(page.address(), PAGE_BYTES, Advice::LinuxDoDump) };
        // SAFETY: as above; unlocking changes no content.
        let _ = unsafe { munlock(page.address(), PAGE_BYTES) };
        self.is_locked = false;
    }
}
