//! Choices for tests that are the same at every run.

/// Draws numbers by a fixed rule (xorshift), from a seed that is not 0.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// A number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).unwrap()
    }

    /// One of the choices.
    pub(crate) fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// Some of the choices, each at most once, in their order.
    pub(crate) fn some<T: Clone>(&mut self, choices: &[T], most: usize) -> Vec<T> {
        let mut places: Vec<usize> = (0..self.below(most + 1))
            .map(|_| self.below(choices.len()))
            .collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| choices[place].clone()).collect()
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
