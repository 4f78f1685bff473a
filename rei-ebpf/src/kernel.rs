//! Reading kernel and user memory.
//!
//! Two ways. A [`Typed`] pointer came from the kernel with its type; the verifier checks every load through it, and
//! the load costs as much as in C. A plain address is read with a helper that reports a fault instead of causing one.

use core::arch::asm;

use aya_ebpf::cty::c_void;
use aya_ebpf::helpers::generated;
use aya_ebpf::programs::BtfTracePointContext;
use rei_ebpf_common::kernel::{ABSENT, Offsets};

/// Set by user space before load and frozen, so that the verifier knows every value.
#[unsafe(no_mangle)]
static OFFSETS: Offsets = Offsets::ABSENT;

/// One offset. Volatile, because the compiler must not believe the value in this object.
macro_rules! offset {
    ($field:ident) => {
        $crate::kernel::frozen(core::mem::offset_of!(rei_ebpf_common::kernel::Offsets, $field))
    };
}
pub(crate) use offset;

/// Reads the field of [`OFFSETS`] that begins at byte `place`.
#[inline(always)]
pub(crate) fn frozen(place: usize) -> u64 {
    let address = (&raw const OFFSETS)
        .cast::<u8>()
        .wrapping_add(place)
        .cast::<u64>();
    // SAFETY: `place` comes from offset_of, so this is a field of the static; all fields are u64.
    unsafe { address.read_volatile() }
}

/// Whether the running kernel has an optional field.
#[inline(always)]
pub(crate) fn is_present(offset: u64) -> bool {
    offset != ABSENT
}

/// A pointer whose type the verifier knows (`PTR_TO_BTF_ID`).
#[derive(Clone, Copy)]
pub(crate) struct Typed(*const u8);

impl Typed {
    /// The current task.
    #[inline(always)]
    pub(crate) fn current() -> Self {
        // SAFETY: the helper takes no arguments and always returns the running task.
        let task = unsafe { generated::bpf_get_current_task_btf() };
        Typed(task.cast_const().cast())
    }

    /// Argument `index` of a BTF tracepoint, which must be a pointer there.
    #[inline(always)]
    pub(crate) fn argument(context: &BtfTracePointContext, index: usize) -> Self {
        Typed(context.arg(index))
    }

    /// Loads the scalar at `offset`.
    #[inline(always)]
    pub(crate) fn load<T: Copy>(self, offset: u64) -> T {
        let address = self.0.wrapping_add(offset as usize).cast::<T>();
        // SAFETY: the verifier refuses the program unless this load stays inside the struct; a pointer that has gone
        // stale reads as zero, because such loads have a fault handler (BPF_PROBE_MEM).
        unsafe { address.read_volatile() }
    }

    /// Loads the pointer at `offset`; it keeps its type.
    #[inline(always)]
    pub(crate) fn follow(self, offset: u64) -> Self {
        Typed(self.load(offset))
    }

    /// The address as a number, which has no type any more.
    #[inline(always)]
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }
}

/// Copies a `T` from kernel memory.
#[inline(always)]
pub(crate) fn read<T: Copy + Default>(address: u64) -> Option<T> {
    let mut value = T::default();
    read_into(address, (&raw mut value).cast(), size_of::<T>() as u32).then_some(value)
}

/// Copies `len` bytes from kernel memory to `to`, which must have room for them; false if that faults.
#[inline(always)]
pub(crate) fn read_into(address: u64, to: *mut c_void, len: u32) -> bool {
    // SAFETY: the helper checks the source itself; the verifier checks that `to` has `len` bytes.
    let code = unsafe { generated::bpf_probe_read_kernel(to, len, address as *const c_void) };
    code == 0
}

/// Copies `len` bytes from user memory to `to`; false if a page is not resident.
#[inline(always)]
pub(crate) fn read_user_into(address: u64, to: *mut c_void, len: u32) -> bool {
    // SAFETY: the helper checks the source itself; the verifier checks that `to` has `len` bytes.
    let code = unsafe { generated::bpf_probe_read_user(to, len, address as *const c_void) };
    code == 0
}

/// Copies a string with its NUL from kernel memory; the length includes the NUL. At most `len` bytes are written.
#[inline(always)]
pub(crate) fn read_string(address: u64, to: *mut c_void, len: u32) -> Option<u32> {
    // SAFETY: the helper checks the source itself; the verifier checks that `to` has `len` bytes.
    let code = unsafe { generated::bpf_probe_read_kernel_str(to, len, address as *const c_void) };
    if code > 0 { Some(code as u32) } else { None }
}

/// Copies a string with its NUL from user memory; the length includes the NUL. At most `len` bytes are written.
#[inline(always)]
pub(crate) fn read_user_string(address: u64, to: *mut c_void, len: u32) -> Option<u32> {
    // SAFETY: the helper checks the source itself; the verifier checks that `to` has `len` bytes.
    let code = unsafe { generated::bpf_probe_read_user_str(to, len, address as *const c_void) };
    if code > 0 { Some(code as u32) } else { None }
}

/// Hides from the compiler what it knows of a value, so that a bound that follows is really computed: the verifier
/// knows less than the compiler.
#[inline(always)]
pub(crate) fn opaque(value: u32) -> u32 {
    let mut value = u64::from(value);
    // SAFETY: a register is moved to itself. (No instruction at all would leave two lines at one place, which the
    // kernel refuses.)
    unsafe { asm!("{0} = {0}", inout(reg) value, options(nomem, nostack, preserves_flags)) };
    value as u32
}

/// `CLOCK_BOOTTIME` in nanoseconds.
#[inline(always)]
pub(crate) fn boot_ns() -> u64 {
    // SAFETY: the helper takes no arguments and has no effect.
    unsafe { generated::bpf_ktime_get_boot_ns() }
}

/// Number of the CPU that runs the program.
#[inline(always)]
pub(crate) fn cpu() -> u32 {
    // SAFETY: the helper takes no arguments and has no effect.
    unsafe { generated::bpf_get_smp_processor_id() as u32 }
}
