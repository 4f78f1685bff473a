//! Addresses that share their first bits: text → [`Cidr`], and a prefix trie that finds those an address belongs to.

use std::net::IpAddr;

/// Addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// One address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Cidr { address, bits }
    }

    /// `10.0.0.0/8`, `::1`; `None` if it is not written with digits.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, String>> {
        let (address, bits) = match text.split_once('/') {
            None => return text.parse().ok().map(|address| Ok(Cidr::of(address))),
            Some(split) => split,
        };
        let address: IpAddr = address.parse().ok()?;
        Some(Self::with_bits(address, bits, text))
    }

    fn with_bits(address: IpAddr, bits: &str, text: &str) -> Result<Self, String> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits
            .parse::<u8>()
            .ok()
            .filter(|bits| *bits <= most)
            .ok_or_else(|| format!("{text:?}: the prefix length is a number from 0 to {most}"))?;
        let cidr = Cidr { address, bits };
        let network = cidr.network();
        if network != address {
            return Err(format!(
                "{text:?} has bits beyond its prefix; write {network}/{bits}, or the address alone"
            ));
        }
        Ok(cidr.canonical())
    }

    /// Addresses are compared in their IPv4 form where they have one.
    fn canonical(self) -> Self {
        let address = self.address.to_canonical();
        let bits = match (self.address, address) {
            (IpAddr::V6(_), IpAddr::V4(_)) => self.bits.saturating_sub(96),
            _ => self.bits,
        };
        Cidr { address, bits }
    }

    fn network(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4((u32::from(address) & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6((u128::from(address) & mask).into())
            }
        }
    }

    /// Whether the address is one of them.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.covers(&Cidr::of(address))
    }

    pub(crate) fn covers(&self, other: &Cidr) -> bool {
        self.address.is_ipv4() == other.address.is_ipv4()
            && self.bits <= other.bits
            && Cidr {
                bits: self.bits,
                ..*other
            }
            .network()
                == self.address
    }
}

/// Finds the rules of an address in as many steps as it has bits, however many rules there are.
#[derive(Debug)]
pub struct CidrTrie {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    next: [Option<usize>; 2],
    rules: Vec<usize>,
}

/// Roots of both address families.
const ROOT_V4: usize = 0;
const ROOT_V6: usize = 1;

impl Default for CidrTrie {
    fn default() -> Self {
        CidrTrie {
            nodes: vec![Node::default(), Node::default()],
        }
    }
}

impl CidrTrie {
    /// Adds a rule.
    pub fn insert(&mut self, cidr: Cidr, rule: usize) {
        let (mut at, bits) = start(cidr.address);
        for index in 0..cidr.bits {
            let bit = bit(bits, index);
            at = match self.nodes[at].next[bit] {
                Some(next) => next,
                None => {
                    self.nodes.push(Node::default());
                    let next = self.nodes.len() - 1;
                    self.nodes[at].next[bit] = Some(next);
                    next
                }
            };
        }
        self.nodes[at].rules.push(rule);
    }

    /// Rules whose prefix holds the address, the widest first.
    #[must_use]
    pub fn matching(&self, address: IpAddr) -> Vec<usize> {
        let (mut at, bits) = start(address.to_canonical());
        let mut found = self.nodes[at].rules.clone();
        for index in 0..128 {
            match self.nodes[at].next[bit(bits, index)] {
                Some(next) => at = next,
                None => break,
            }
            found.extend_from_slice(&self.nodes[at].rules);
        }
        found
    }
}

/// The root of the family, and the address with its first bit highest.
fn start(address: IpAddr) -> (usize, u128) {
    match address {
        IpAddr::V4(address) => (ROOT_V4, u128::from(u32::from(address)) << 96),
        IpAddr::V6(address) => (ROOT_V6, u128::from(address)),
    }
}

fn bit(bits: u128, index: u8) -> usize {
    usize::from(bits >> (127 - index) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        Cidr::parse(text).unwrap().unwrap()
    }

    #[test]
    fn an_ipv4_prefix_in_ipv6_form_is_the_ipv4_prefix() {
        assert_eq!(cidr("::ffff:10.0.0.0/104"), cidr("10.0.0.0/8"));
        assert!(cidr("::ffff:0:0/96").has("192.0.2.1".parse().unwrap()));
        assert!(!cidr("::/0").has("192.0.2.1".parse().unwrap()));
        assert!(Cidr::parse("::ffff:10.0.0.0/95").unwrap().is_err());
    }

    #[test]
    fn the_trie_finds_every_prefix() {
        let texts = [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.2.3",
            "10.1.2.3/32",
            "::/0",
            "fe80::/10",
            "::1",
        ];
        let mut trie = CidrTrie::default();
        for (place, text) in texts.iter().enumerate() {
            trie.insert(cidr(text), place);
        }
        let table: [(&str, &[usize]); 8] = [
            ("10.1.2.3", &[0, 1, 2, 3]),
            ("10.1.2.4", &[0, 1]),
            ("11.0.0.1", &[0]),
            ("::ffff:10.1.2.4", &[0, 1]),
            ("::1", &[4, 6]),
            ("fe80::1", &[4, 5]),
            ("febf::1", &[4, 5]),
            ("fec0::1", &[4]),
        ];
        for (address, expected) in table {
            assert_eq!(trie.matching(address.parse().unwrap()), expected, "{address}");
        }
        assert!(
            CidrTrie::default()
                .matching("10.1.2.3".parse().unwrap())
                .is_empty()
        );
    }
}
