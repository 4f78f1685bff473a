//! Permission for aya to copy map values and globals as bytes.

use crate::kernel::Offsets;
use crate::maps::{Control, CpuStats, ScopeState, TaskState};

// SAFETY: repr(C), made of u64 only, so every bit pattern is valid and there is no padding.
unsafe impl aya::Pod for Offsets {}
// SAFETY: repr(C), made of integers only, sized as the sum of its fields (asserted beside it).
unsafe impl aya::Pod for ScopeState {}
// SAFETY: repr(C), made of u64 only, sized as the sum of its fields (asserted beside it).
unsafe impl aya::Pod for CpuStats {}
// SAFETY: repr(C), made of integers only, sized as the sum of its fields (asserted beside it).
unsafe impl aya::Pod for TaskState {}
// SAFETY: repr(C), made of integers only, sized as the sum of its fields (asserted beside it).
unsafe impl aya::Pod for Control {}
