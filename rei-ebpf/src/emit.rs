//! The only writer of the ring: head, body, parts, submit - or count the loss.

use core::marker::PhantomData;

use aya_ebpf::cty::c_void;
use aya_ebpf::helpers::generated;
use rei_ebpf_common::header::{
    self, ABI_VERSION, EventHeader, EventKind, Hook, Phase, STREAM_SOCK, STREAM_TASK,
};
use rei_ebpf_common::part::{PartHeader, PartTag, TEXT_BYTES_MAX};

use crate::exec::EnvWalk;
use crate::kernel::{self, Typed};
use crate::maps::{CPU_STATS, RING, SCRATCH};
use crate::path::{DENTRY_BYTES, Walk};
use crate::scope::{self, Followed};
use crate::task;

/// Bytes of the longest record, a power of two. Two paths of 32 KiB, argv, environment names and three texts fit.
const RECORD_BYTES: usize = 128 * 1024;
/// Most bytes that are written at once; the buffer is this much longer, so that a masked position always has room.
pub(crate) const WRITE_BYTES: usize = 8 * 1024;

/// Room for one argument text: `PATH_MAX` with its NUL, and a byte more that tells a longer one.
pub(crate) const TEXT_ROOM: usize = TEXT_BYTES_MAX + 8;

/// `BPF_RB_NO_WAKEUP`, `BPF_RB_FORCE_WAKEUP`, include/uapi/linux/bpf.h.
const NO_WAKEUP: u64 = 1;
const FORCE_WAKEUP: u64 = 2;
/// `BPF_RB_AVAIL_DATA`, `BPF_RB_RING_SIZE`.
const AVAIL_DATA: u64 = 0;
const RING_SIZE: u64 = 1;
/// Once a quarter of the ring is full the reader is woken; it need not be told again for the next such stretch.
const WAKE_BYTES: u64 = 16 * 1024;

/// Where one record is put together, and the state of the loops that fill it.
#[repr(C)]
pub(crate) struct Scratch {
    /// How many programs want this buffer; only one may have it.
    claims: u64,
    /// Bytes used of `record`.
    pos: u64,
    /// Bits of `missing`.
    missing: u64,
    /// The walk of `path`.
    pub(crate) walk: Walk,
    /// The walk of `exec` over the environment.
    pub(crate) env: EnvWalk,
    /// One environment entry.
    pub(crate) temp: [u8; TEXT_BYTES_MAX],
    /// One directory entry.
    pub(crate) dentry: [u64; DENTRY_BYTES / 8],
    /// The record.
    record: [u8; RECORD_BYTES + WRITE_BYTES],
}

impl Scratch {
    /// Address of the record's byte `pos`, with room for [`WRITE_BYTES`].
    #[inline(always)]
    pub(crate) fn at(&mut self, pos: u64) -> *mut u8 {
        self.record
            .as_mut_ptr()
            .wrapping_add(pos as usize & (RECORD_BYTES - 1))
    }

    /// The next free position.
    #[inline(always)]
    pub(crate) fn pos(&self) -> u64 {
        let pos = &raw const self.pos;
        // SAFETY: a reference is valid; volatile, so that the verifier sees one value in one register.
        unsafe { pos.read_volatile() }
    }

    /// Moves the next free position.
    #[inline(always)]
    pub(crate) fn set_pos(&mut self, pos: u64) {
        self.pos = pos;
    }

    /// Notes what could not be read or was cut.
    #[inline(always)]
    pub(crate) fn miss(&mut self, bits: u32) {
        self.missing |= u64::from(bits);
    }

    /// Opens a part; bytes go from [`Self::pos`] on. Returns where the part began.
    #[inline(always)]
    pub(crate) fn open_part(&mut self) -> u64 {
        let start = self.pos();
        self.set_pos(start + size_of::<PartHeader>() as u64);
        start
    }

    /// Closes the part that began at `start`: writes its head and pads it.
    #[inline(always)]
    pub(crate) fn close_part(&mut self, start: u64, tag: PartTag) {
        let end = self.pos();
        let len = end.wrapping_sub(start + size_of::<PartHeader>() as u64);
        let head = self.at(start).cast::<PartHeader>();
        // SAFETY: `at` leaves room for WRITE_BYTES, and `start` is a multiple of 8.
        unsafe {
            head.write(PartHeader {
                tag: tag as u16,
                flags: 0,
                len_bytes: len as u32,
            })
        };
        let padding = self.at(end).cast::<[u8; 8]>();
        // SAFETY: `at` leaves room for WRITE_BYTES; an array of bytes has no alignment.
        unsafe { padding.write([0; 8]) };
        self.set_pos((end + 7) & !7);
    }

    /// Copies `len` bytes, fewer than [`WRITE_BYTES`], of kernel memory into the open part.
    #[inline(always)]
    pub(crate) fn copy_kernel(&mut self, address: u64, len: u32) -> bool {
        let pos = self.pos();
        let len = kernel::opaque(len) & (WRITE_BYTES as u32 - 1);
        let to = self.at(pos).cast::<c_void>();
        let copied = kernel::read_into(address, to, len);
        if copied {
            self.set_pos(pos + u64::from(len));
        }
        copied
    }
}

/// The process that an event is about.
pub(crate) struct Actor {
    /// Its task.
    task: Typed,
    pid: u32,
    scope: u64,
    start_ns: u64,
    ns_pid: u32,
    phase: u8,
    task_flags: u16,
}

impl Actor {
    /// A followed process.
    #[inline(always)]
    pub(crate) fn new(task: Typed, followed: &Followed) -> Self {
        let state = &followed.state;
        let start_ns = if state.start_ns != 0 {
            state.start_ns
        } else {
            task::start_ns(task)
        };
        let ns_pid = if state.ns_pid != 0 {
            state.ns_pid
        } else {
            task::ns_pid(task).number
        };
        Actor {
            task,
            pid: followed.pid,
            scope: state.scope,
            start_ns,
            ns_pid,
            phase: state.phase,
            task_flags: state.task_flags,
        }
    }

    /// A process that belongs to no scope and does something to one.
    #[inline(always)]
    pub(crate) fn outside(task: Typed, scope: u64) -> Self {
        Actor {
            task,
            pid: task::pid(task),
            scope,
            start_ns: task::start_ns(task),
            ns_pid: task::ns_pid(task).number,
            phase: Phase::Outside as u8,
            task_flags: 0,
        }
    }

    #[inline(always)]
    fn header(&self, kind: EventKind, hook: Hook, stream: u8) -> EventHeader {
        let [uid, gid, _, _] = task::ids(self.task);
        EventHeader {
            version: ABI_VERSION,
            kind: kind as u16,
            len_bytes: 0,
            seq: 0,
            boot_ns: kernel::boot_ns(),
            scope: self.scope,
            cgroup: task::cgroup(self.task),
            start_ns: self.start_ns,
            pid: self.pid,
            tid: task::tid(self.task),
            uid,
            gid,
            ns_pid: self.ns_pid,
            missing: 0,
            hook: hook as u16,
            cpu: kernel::cpu() as u16,
            stream,
            phase: self.phase,
            task_flags: self.task_flags,
            comm: task::comm(self.task),
        }
    }
}

/// A record in the making. Dropping it gives the buffer back.
pub(crate) struct Record<B> {
    scratch: &'static mut Scratch,
    kind: EventKind,
    body: PhantomData<B>,
}

impl<B: 'static> Record<B> {
    /// Where the parts begin.
    const BODY_END: u64 = (size_of::<EventHeader>() + size_of::<B>()) as u64;

    /// Claims this CPU's buffer and writes the head. `None` (and a counted loss) if another program holds it.
    #[inline(always)]
    pub(crate) fn begin(kind: EventKind, hook: Hook, actor: &Actor) -> Option<Self> {
        const { assert!(align_of::<B>() <= 8 && size_of::<B>().is_multiple_of(8)) };
        let Some(scratch) = claim() else {
            count_map_full(actor.scope, kind);
            return None;
        };
        scratch.missing = 0;
        scratch.set_pos(Self::BODY_END);
        let head = scratch.at(0).cast::<EventHeader>();
        // SAFETY: the buffer begins at a multiple of 8 and has room for the head.
        unsafe { head.write(actor.header(kind, hook, STREAM_TASK)) };
        Some(Record {
            scratch,
            kind,
            body: PhantomData,
        })
    }

    /// The body. It holds what the last record left there: assign all of it.
    #[inline(always)]
    pub(crate) fn body(&mut self) -> &mut B {
        let body = self.scratch.at(size_of::<EventHeader>() as u64).cast::<B>();
        // SAFETY: the place is inside the buffer, aligned to 8, and bodies are integers only, so any bytes are valid.
        unsafe { &mut *body }
    }

    /// The buffer, for the loops that fill parts.
    #[inline(always)]
    pub(crate) fn scratch(&mut self) -> &mut Scratch {
        self.scratch
    }

    /// Adds a NUL-ended kernel string as a part (without its NUL), or notes `missing`.
    #[inline(always)]
    pub(crate) fn kernel_text(&mut self, tag: PartTag, address: u64, missing: u32) {
        self.text(tag, missing, |to, len| kernel::read_string(address, to, len));
    }

    /// Adds a NUL-ended user string as a part (without its NUL), or notes `missing`.
    #[inline(always)]
    pub(crate) fn user_text(&mut self, tag: PartTag, address: u64, missing: u32) {
        self.text(tag, missing, |to, len| kernel::read_user_string(address, to, len));
    }

    /// Adds what `read` puts at the place that it is given, which has the room that it is told.
    #[inline(always)]
    fn text(&mut self, tag: PartTag, missing: u32, read: impl FnOnce(*mut c_void, u32) -> Option<u32>) {
        let start = self.scratch.open_part();
        let pos = self.scratch.pos();
        let to = self.scratch.at(pos).cast::<c_void>();
        match read(to, TEXT_ROOM as u32) {
            Some(len) => {
                if len as usize == TEXT_ROOM {
                    self.scratch.miss(header::missing::TEXT_CUT);
                }
                self.scratch.set_pos(pos + u64::from(len) - 1);
                self.scratch.close_part(start, tag);
            }
            None => {
                self.scratch.set_pos(start);
                self.scratch.miss(missing);
            }
        }
    }

    /// Adds `len` bytes that the kernel can read (a map value, say) as a part.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, tag: PartTag, address: u64, len: u32) {
        let start = self.scratch.open_part();
        if self.scratch.copy_kernel(address, len) {
            self.scratch.close_part(start, tag);
        } else {
            self.scratch.set_pos(start);
        }
    }

    /// Sends the record, or counts it as lost.
    #[inline(always)]
    pub(crate) fn submit(self, actor: &Actor) -> Option<()> {
        let len = self.scratch.pos() & (2 * RECORD_BYTES as u64 - 1);
        let len = if len > RECORD_BYTES as u64 {
            RECORD_BYTES as u64
        } else {
            len
        };
        let head = self.scratch.at(0).cast::<EventHeader>();
        // SAFETY: `begin` wrote a head there.
        let head = unsafe { &mut *head };
        head.len_bytes = len as u32;
        head.seq = next_seq();
        head.missing = self.scratch.missing as u32;
        let ring = (&raw const RING).cast_mut().cast::<c_void>();
        let from = self.scratch.at(0).cast::<c_void>();
        // SAFETY: the ring is a ring, and the verifier checks that the buffer has `len` bytes.
        let code = unsafe { generated::bpf_ringbuf_output(ring, from, len, wake_flags()) };
        if code != 0 {
            count_ring_full(actor.scope, self.kind);
        }
        Some(())
    }
}

impl<B> Drop for Record<B> {
    #[inline(always)]
    fn drop(&mut self) {
        release(self.scratch);
    }
}

/// Head and body in one reservation: for programs that may not hold the buffer, because they can be preempted or run
/// inside another one.
#[repr(C)]
struct Fixed<B> {
    header: EventHeader,
    body: B,
}

/// Sends a record without parts, in the stream of the socket hooks.
#[inline(always)]
pub(crate) fn fixed<B: Copy + 'static>(kind: EventKind, hook: Hook, actor: &Actor, missing: u32, body: B) {
    let mut header = actor.header(kind, hook, STREAM_SOCK);
    header.len_bytes = size_of::<Fixed<B>>() as u32;
    header.missing = missing;
    match RING.reserve::<Fixed<B>>(0) {
        Some(mut entry) => {
            entry.write(Fixed { header, body });
            entry.submit(wake_flags());
        }
        None => count_ring_full(actor.scope, kind),
    }
}

/// This CPU's buffer, if nobody has it. Two claims can both fail, but never both succeed: the counter is raised
/// before it is read, and whoever does not read 1 gives up.
#[inline(always)]
fn claim() -> Option<&'static mut Scratch> {
    let scratch = SCRATCH.get_ptr_mut(kernel::cpu())?;
    // SAFETY: the map returned the pointer; `claims` says whether anybody else uses the rest.
    let scratch = unsafe { &mut *scratch };
    scope::add(&mut scratch.claims, 1);
    let claims = &raw const scratch.claims;
    // SAFETY: a reference is valid; volatile, because others on this CPU change it.
    if unsafe { claims.read_volatile() } == 1 {
        return Some(scratch);
    }
    release(scratch);
    None
}

#[inline(always)]
fn release(scratch: &mut Scratch) {
    scope::add(&mut scratch.claims, u64::MAX);
}

/// Numbers every record of this CPU's task stream, the lost ones too. Only the program that holds the buffer asks.
#[inline(always)]
fn next_seq() -> u64 {
    let Some(stats) = CPU_STATS.get_ptr_mut(0) else {
        return 0;
    };
    // SAFETY: the map returned the pointer to this CPU's own slot.
    let seq = unsafe { &mut (*stats).seq[usize::from(STREAM_TASK)] };
    *seq += 1;
    *seq
}

/// Wakes the reader once when a quarter of the ring is full, never per event.
#[inline(always)]
fn wake_flags() -> u64 {
    let available = RING.query(AVAIL_DATA);
    let quarter = RING.query(RING_SIZE) / 4;
    if available >= quarter && available < quarter + WAKE_BYTES {
        FORCE_WAKEUP
    } else {
        NO_WAKEUP
    }
}

#[inline(always)]
fn count_ring_full(scope: u64, kind: EventKind) {
    if let Some(stats) = CPU_STATS.get_ptr_mut(0) {
        // SAFETY: the map returned the pointer to this CPU's own slot.
        let count = unsafe { &mut (*stats).ring_full[kind as usize] };
        scope::add(count, 1);
    }
    count_scope(scope, kind);
}

/// Counts something that found no room in a map, and would have led to an event of `kind`.
#[inline(always)]
pub(crate) fn count_map_full(scope: u64, kind: EventKind) {
    if let Some(stats) = CPU_STATS.get_ptr_mut(0) {
        // SAFETY: the map returned the pointer to this CPU's own slot.
        let count = unsafe { &mut (*stats).map_full[kind as usize] };
        scope::add(count, 1);
    }
    count_scope(scope, kind);
}

#[inline(always)]
fn count_scope(scope: u64, kind: EventKind) {
    if let Some(state) = scope::state(scope) {
        scope::add(&mut state.lost[kind as usize], 1);
    }
}
