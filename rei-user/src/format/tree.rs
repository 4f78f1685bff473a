//! Hashes of lines: one hash is chain and Merkle leaf at once.

use sha2::{Digest as _, Sha256};

use super::value::Hex;

/// A SHA-256.
pub type Hash = Hex<32>;

/// `p` of the first line of a log: where its chain begins.
#[must_use]
pub fn genesis(log: &Hex<16>) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(b"rei/genesis/1\0");
    hasher.update(log.0);
    Hex(hasher.finalize().into())
}

/// The hash of a line without its line feed: a leaf of RFC 6962, and `p` of the next line.
#[must_use]
pub fn leaf(line: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update(line);
    Hex(hasher.finalize().into())
}

/// The hash of two subtrees (RFC 6962).
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([1]);
    hasher.update(left.0);
    hasher.update(right.0);
    Hex(hasher.finalize().into())
}

/// What of a growing Merkle tree has to be kept to know its root: at most 64 hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Roots of the complete subtrees, the largest first.
    subtrees: Vec<Hash>,
    size: u64,
}

impl Frontier {
    /// The frontier of a tree of this many leaves; `None` if the number of hashes does not belong to it.
    #[must_use]
    pub fn of(size: u64, subtrees: Vec<Hash>) -> Option<Self> {
        (size.count_ones() as usize == subtrees.len()).then_some(Frontier { subtrees, size })
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As many complete subtrees end here as there are ones at the low end of the size.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                hash = node(&left, &hash);
            }
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    /// Leaves so far.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Roots of the complete subtrees, the largest first.
    #[must_use]
    pub fn subtrees(&self) -> &[Hash] {
        &self.subtrees
    }

    /// The root; of an empty tree the hash of nothing (RFC 6962 section 2.1).
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut from_the_right = self.subtrees.iter().rev();
        let Some(last) = from_the_right.next() else {
            return Hex(Sha256::digest(b"").into());
        };
        from_the_right.fold(*last, |right, left| node(left, &right))
    }
}

#[cfg(test)]
mod tests {
    use super::{Frontier, Hash, Hex, leaf, node};

    /// RFC 6962 section 2.1, as it is written there.
    fn root_by_definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Frontier::default().root(),
            [one] => *one,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                let (left, right) = leaves.split_at(split);
                node(&root_by_definition(left), &root_by_definition(right))
            }
        }
    }

    #[test]
    fn the_root_is_that_of_rfc_6962() {
        let mut frontier = Frontier::default();
        let mut leaves = Vec::new();
        assert_eq!(
            frontier.root().to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        for number in 0_u32..400 {
            let hash = leaf(&number.to_le_bytes());
            leaves.push(hash);
            frontier.push(hash);
            assert_eq!(frontier.root(), root_by_definition(&leaves), "{number}");
            assert_eq!(frontier.size(), leaves.len() as u64);
            let kept = Frontier::of(frontier.size(), frontier.subtrees().to_vec());
            assert_eq!(kept.as_ref(), Some(&frontier));
        }
        assert_eq!(Frontier::of(3, vec![Hex([0; 32])]), None);
    }
}
