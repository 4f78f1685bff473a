//! Did another task change this descriptor while the call was in flight?
//!
//! Between the moment that an open installs its file and the moment that the exit of the call is seen, another thread
//! can put a different file under the same number. Every call that replaces or closes a descriptor of a *shared* table
//! therefore leaves a mark, before it begins and when it has ended; an open or connect that ends looks for one.
//! Marks live in a fixed array indexed by a hash of table and number: a collision can make a record contested that was
//! not, never the other way round.

use rei_ebpf_common::syscall::Class;

use crate::kernel::{self, Typed, offset, read};
use crate::maps::{Call, TABLE_SLOTS};
use crate::scope;

/// Number of marks; 1 MiB of them.
pub(crate) const SLOTS: u32 = 65_536;

/// `EBADF`, include/uapi/asm-generic/errno-base.h.
const EBADF: i64 = 9;

/// Stands for "any descriptor": `close_range` changes many at once.
const ANY_FD: i32 = i32::MAX;

/// One mark.
#[repr(C)]
pub(crate) struct Slot {
    /// Changing calls that have begun and not ended.
    changing: u64,
    /// `boot_ns` of the last end.
    last_ns: u64,
}

/// The task's descriptor table, if others use it too (`files_struct.count` above 1), else 0.
#[inline(always)]
pub(crate) fn shared(task: Typed) -> u64 {
    let files = task.follow(offset!(task_files));
    if files.address() == 0 {
        return 0;
    }
    let users: i32 = files.load(offset!(files_count));
    if users > 1 { address(task) } else { 0 }
}

/// The address of the task's descriptor table as a plain number: the verifier allows no arithmetic on typed pointers.
#[inline(always)]
fn address(task: Typed) -> u64 {
    read(task.address() + offset!(task_files)).unwrap_or(0)
}

/// A call that changes descriptors begins.
#[inline(always)]
pub(crate) fn enter(task: Typed, call: &mut Call, class: Class, arguments: [u64; 3]) {
    let table = shared(task);
    call.slot_table = table;
    call.slot_fd = match class {
        Class::Close => arguments[0] as i32,
        Class::DupTo => arguments[1] as i32,
        _ => ANY_FD,
    };
    if table != 0
        && let Some(slot) = slot(table, call.slot_fd)
    {
        scope::add(&mut slot.changing, 1);
    }
}

/// It has ended with `result`. A call that failed has changed nothing; only `close` lets go of the descriptor even if
/// it reports an error, unless there was none.
#[inline(always)]
pub(crate) fn exit(call: &Call, class: Class, result: i64) {
    if call.slot_table == 0 {
        return;
    }
    let has_changed = result >= 0 || (matches!(class, Class::Close) && result != -EBADF);
    if let Some(slot) = slot(call.slot_table, call.slot_fd) {
        if has_changed {
            slot.last_ns = kernel::boot_ns();
        }
        scope::add(&mut slot.changing, u64::MAX);
    }
}

/// The thread ended inside the call.
#[inline(always)]
pub(crate) fn abandon(call: &Call) {
    exit(call, Class::CloseRange, 0);
}

/// Whether descriptor `fd` of `task` may have been changed by others since `since_ns`.
#[inline(always)]
pub(crate) fn is_contested(task: Typed, fd: i32, since_ns: u64) -> bool {
    let table = address(task);
    touched(table, fd, since_ns) || touched(table, ANY_FD, since_ns)
}

#[inline(always)]
fn touched(table: u64, fd: i32, since_ns: u64) -> bool {
    match slot(table, fd) {
        Some(slot) => {
            let slot = &raw const *slot;
            // SAFETY: a reference is valid; volatile, because other CPUs change it.
            let slot = unsafe { slot.read_volatile() };
            slot.changing != 0 || slot.last_ns >= since_ns
        }
        None => true,
    }
}

#[inline(always)]
fn slot(table: u64, fd: i32) -> Option<&'static mut Slot> {
    // Fibonacci hashing: the golden ratio spreads neighbouring tables and numbers over the array.
    let mixed = (table ^ (fd as u32 as u64) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let slot = TABLE_SLOTS.get_ptr_mut((mixed >> 48) as u32 % SLOTS)?;
    // SAFETY: the map returned the pointer; an array's elements live as long as the program.
    Some(unsafe { &mut *slot })
}
