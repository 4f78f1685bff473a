//! Declared addresses: text → [`Endpoint`].

use std::ops::RangeInclusive;

use crate::cidr::Cidr;

/// Transport of a contact, as far as rules tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Ports that a rule names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<RangeInclusive<u16>>);

impl Ports {
    /// Every port.
    #[must_use]
    pub fn all() -> Self {
        Ports(vec![0..=u16::MAX])
    }

    /// From the texts of numbers and ranges.
    pub(super) fn of(ranges: Vec<RangeInclusive<u16>>) -> Self {
        Ports(ranges)
    }

    /// Whether `port` is one of them.
    #[must_use]
    pub fn has(&self, port: u16) -> bool {
        self.0.iter().any(|range| range.contains(&port))
    }

    pub(super) fn covers(&self, other: &Ports) -> bool {
        let is_within = |narrow: &RangeInclusive<u16>| {
            self.0
                .iter()
                .any(|wide| wide.start() <= narrow.start() && narrow.end() <= wide.end())
        };
        other.0.iter().all(is_within)
    }
}

/// `443` or `8000-8999`.
pub(super) fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let number = |text: &str| {
        text.parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("{text:?} is not a port; a port is a number from 1 to 65535"))
    };
    match text.split_once('-') {
        None => number(text).map(|port| port..=port),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("it can never match: {first} is above {last}"));
            }
            Ok(first..=last)
        }
    }
}

/// What a network rule allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where to.
    pub to: Destination,
    /// Which ports.
    pub ports: Ports,
    /// Which transport; `None` for any, raw included.
    pub transport: Option<Transport>,
}

/// Where a network rule leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Addresses.
    Net(Cidr),
    /// A name that is looked up when the run starts.
    Name(String),
}

impl Endpoint {
    /// `address`, `address/bits`, `name`, each with or without `:port` or `:first-last`. IPv6 with a port is written
    /// `[address]:port`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let any_port = |to| Endpoint {
            to,
            ports: Ports::all(),
            transport: None,
        };
        if let Some(rest) = text.strip_prefix('[') {
            let Some((address, rest)) = rest.split_once(']') else {
                return Err(format!("{text:?}: `[` without `]`"));
            };
            let to = destination(address)?;
            return match rest.strip_prefix(':') {
                None if rest.is_empty() => Ok(any_port(to)),
                None => Err(format!("{text:?}: after `]` comes `:` and a port")),
                Some(port) => Ok(Endpoint {
                    ports: Ports::of(vec![ports(port)?]),
                    ..any_port(to)
                }),
            };
        }
        match text.rsplit_once(':') {
            Some((head, port)) if !head.contains(':') => Ok(Endpoint {
                ports: Ports::of(vec![ports(port)?]),
                ..any_port(destination(head)?)
            }),
            _ => Ok(any_port(destination(text)?)),
        }
    }

    /// Whether everything that `other` allows is allowed by this one too.
    pub(super) fn covers(&self, other: &Endpoint) -> bool {
        let is_place = match (&self.to, &other.to) {
            (Destination::Net(own), Destination::Net(other)) => own.covers(other),
            (Destination::Name(own), Destination::Name(other)) => own == other,
            _ => false,
        };
        is_place
            && self.ports.covers(&other.ports)
            && (self.transport.is_none() || self.transport == other.transport)
    }
}

/// An address, a prefix or a name.
pub(super) fn destination(text: &str) -> Result<Destination, String> {
    if let Some(cidr) = Cidr::parse(text) {
        return cidr.map(Destination::Net);
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if text.len() <= 253 && !is_number && text.trim_end_matches('.').split('.').all(is_label) {
        return Ok(Destination::Name(text.to_ascii_lowercase()));
    }
    Err(format!(
        "{text:?} is no address, no prefix (10.0.0.0/8) and no host name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_or_refused() {
        for text in [
            "10.0.0.0/8",
            "10.0.0.0/8:443",
            "192.0.2.1:80-90",
            "::1",
            "[::1]:80",
            "[fe80::/10]:1-65535",
            "db.example:5432",
            "localhost",
            "a_b.c:1",
        ] {
            assert!(Endpoint::parse(text).is_ok(), "{text}");
        }
        for text in [
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0:0",
            "10.0.0.0:90-80",
            "10.0.0.0:x",
            "[::1",
            "[::1]80",
            "",
            "-a.b",
            "a b",
            "300.1.1.1",
            "1.2.3",
            "fe80::1/10",
            "db.example:70000",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn covering_looks_at_place_ports_and_transport() {
        let covers = |wide: &str, narrow: &str| {
            Endpoint::parse(wide)
                .unwrap()
                .covers(&Endpoint::parse(narrow).unwrap())
        };
        assert!(covers("10.0.0.0/8", "10.1.0.0/16:443"));
        assert!(covers("10.0.0.0/8:1-500", "10.1.0.0/16:443"));
        assert!(!covers("10.0.0.0/8:444", "10.1.0.0/16:443"));
        assert!(!covers("10.1.0.0/16", "10.0.0.0/8"));
        assert!(!covers("::/0", "10.0.0.0/8"));
        let tcp = Endpoint {
            transport: Some(Transport::Tcp),
            ..Endpoint::parse("10.0.0.0/8").unwrap()
        };
        assert!(!tcp.covers(&Endpoint::parse("10.0.0.0/8").unwrap()));
        assert!(Endpoint::parse("10.0.0.0/8").unwrap().covers(&tcp));
    }
}
