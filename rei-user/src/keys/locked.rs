//! The secrets of a writer, in a page of memory that is neither swapped out nor dumped nor inherited.

use zeroize::Zeroize as _;

use super::derive::StepKey;
use super::secret::{SECRET_BYTES, Secret};
use super::signing::SigningSeed;
use crate::sys::{Page, PageGuard};

/// The step key and the signing seed of the open segment. Wiped when dropped.
pub struct LockedKeys {
    page: Box<Page>,
    guard: PageGuard,
}

impl LockedKeys {
    /// An empty page.
    #[must_use]
    pub fn new() -> Self {
        let page = Page::new();
        let guard = PageGuard::over(&page);
        LockedKeys { page, guard }
    }

    /// Whether the kernel agreed to keep the page in memory; if not, the keys might be swapped out.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        self.guard.is_locked()
    }

    /// Takes the keys in.
    pub fn put(&mut self, step: &StepKey, signing: &SigningSeed) {
        self.put_step(step);
        self.page.0[SECRET_BYTES..2 * SECRET_BYTES].copy_from_slice(signing.secret().bytes());
    }

    /// Replaces the step key; the one before is gone.
    pub fn put_step(&mut self, step: &StepKey) {
        self.page.0[..SECRET_BYTES].copy_from_slice(step.secret().bytes());
    }

    /// A copy of the step key, wiped when it is dropped.
    #[must_use]
    pub fn step(&self) -> StepKey {
        StepKey::new(self.copy(0))
    }

    /// A copy of the signing seed, wiped when it is dropped.
    #[must_use]
    pub fn signing(&self) -> SigningSeed {
        SigningSeed::new(self.copy(SECRET_BYTES))
    }

    fn copy(&self, at: usize) -> Secret {
        let mut bytes = [0; SECRET_BYTES];
        bytes.copy_from_slice(&self.page.0[at..at + SECRET_BYTES]);
        Secret::new(bytes)
    }
}

impl Default for LockedKeys {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for LockedKeys {
    fn drop(&mut self) {
        self.page.0.zeroize();
        self.guard.release(&self.page);
    }
}

/// Keeps other processes of the same user from reading this one's memory, and the kernel from dumping it.
///
/// Lost at exec, so it does not reach the observed command; `RLIMIT_CORE` would, which is why it is left
/// alone.
///
/// # Errors
/// If the kernel refuses.
pub fn guard_process() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_out_as_they_went_in_and_one_is_replaced() {
        let mut keys = LockedKeys::new();
        keys.put(
            &StepKey::new(Secret::new([1; 32])),
            &SigningSeed::new(Secret::new([2; 32])),
        );
        keys.put_step(&StepKey::new(Secret::new([3; 32])));
        assert!(keys.step().secret().equals(&Secret::new([3; 32])));
        assert!(keys.signing().secret().equals(&Secret::new([2; 32])));
        assert!(!keys.page.0.contains(&1));
    }

    #[test]
    fn the_page_is_locked_and_left_out_of_dumps_and_children() {
        let keys = LockedKeys::new();
        assert!(keys.is_locked(), "RLIMIT_MEMLOCK allows a page");
        let address = keys.page.0.as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("/proc is mounted");
        let mut of_the_page = maps.lines().skip_while(|line| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let range = range.and_then(|(low, high)| {
                Some(usize::from_str_radix(low, 16).ok()?..usize::from_str_radix(high, 16).ok()?)
            });
            !range.is_some_and(|range| range.contains(&address))
        });
        let flags = of_the_page
            .find(|line| line.starts_with("VmFlags:"))
            .expect("a mapping");
        for flag in ["lo", "dd", "wf"] {
            assert!(
                flags.split_whitespace().any(|word| word == flag),
                "{flag}: {flags}"
            );
        }
    }
}
