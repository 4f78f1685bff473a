//! Changes bytes at random, from a seed.

/// Longest input.
const BYTES_MAX: usize = 200_000;
/// What JSON, numbers and the format's own words are sensitive to.
const WORDS: [&[u8]; 22] = [
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b",",
    b":",
    b"null",
    b"true",
    b"-0",
    b"1e9",
    b"9007199254740992",
    b"18446744073709551616",
    b"%%\n",
    b"\n\n",
    "\u{2014} ".as_bytes(),
    b"\xff",
    b"\"seal\"",
    b"\"head\"",
];

/// A source of inputs.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Mutator {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// A random number below `limit` (xorshift64*).
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let number = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        (number % limit.max(1) as u64) as usize
    }

    /// One of the corpus, changed in one or more places.
    pub(crate) fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, corpus);
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(64)).min(bytes.len());
        match self.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            4 => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            5 => bytes.truncate(at),
            6 => {
                // The end of another one.
                let other = &corpus[self.below(corpus.len())];
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            7 => {
                // Another digit: numbers and hashes stay numbers and hashes.
                let digit = b"0123456789abcdef"[self.below(16)];
                if let Some(byte) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_hexdigit()) {
                    *byte = digit;
                }
            }
            _ => {
                let filler = WORDS[self.below(WORDS.len())].repeat(1 << self.below(14));
                bytes.splice(at..at, filler.into_iter().take(BYTES_MAX / 2));
            }
        }
    }
}
