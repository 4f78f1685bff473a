//! I2: the network.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::policy::{Endpoint, Transport};
use crate::tripwire::file::absent;
use crate::tripwire::lexical::plain;
use crate::tripwire::matcher::{Matcher, PathRule};
use crate::tripwire::operation::{Circumstance, Contact, Peer};
use crate::tripwire::{Answer, Ground, Wire};

impl Matcher {
    /// Whether the contact trips I2.
    pub fn contact(&mut self, contact: &Contact<'_>, circumstance: &Circumstance) -> Answer {
        if circumstance.reached_nothing {
            return Answer::allowed(Ground::Harmless("the kernel itself could not read the address"));
        }
        if !circumstance.is_settled() {
            let why = format!(
                "its address is {}, and that is never allowed",
                circumstance.confidence.name()
            );
            return Answer::tripped(Wire::I2, circumstance, why);
        }
        match contact.peer {
            Peer::Nobody => Answer::allowed(Ground::Harmless("no address: the socket is disconnected")),
            Peer::Route => Answer::allowed(Ground::Harmless("a netlink route query")),
            Peer::Inet(address) => self.inet(address, contact.transport, circumstance),
            Peer::Unix(name) => self.unix(name, circumstance),
            Peer::Other(_) => Answer::tripped(
                Wire::I2,
                circumstance,
                "no rule can declare an address of this family",
            ),
            Peer::Unknown => Answer::tripped(Wire::I2, circumstance, "its address is not known"),
        }
    }

    fn inet(
        &mut self,
        address: SocketAddr,
        transport: Option<Transport>,
        circumstance: &Circumstance,
    ) -> Answer {
        let policy = Arc::clone(&self.policy);
        for place in self.network_rules_for(address.ip()) {
            let rule = &policy.network[place];
            match objection(&rule.what, address.port(), transport) {
                None => {
                    return Answer::allowed(Ground::Declared {
                        rule: rule.name.clone(),
                    });
                }
                Some(objection) => self.note(|| format!("{}: no: {objection}", rule.name)),
            }
        }
        self.note(|| format!("no other rule of {} holds the address", policy.network.len()));
        let why = if address.ip().is_loopback() {
            "an address that is not declared; loopback is none by default: relays live there"
        } else {
            "an address that is not declared"
        };
        Answer::tripped(Wire::I2, circumstance, why)
    }

    fn unix(&mut self, name: &[u8], circumstance: &Circumstance) -> Answer {
        if circumstance.is_path_cut {
            return Answer::tripped(
                Wire::I2,
                circumstance,
                "its path is cut, and a cut path is never allowed",
            );
        }
        let plain = plain(name);
        if circumstance.is_absence() && self.is_on_root(&plain.path) {
            return Answer::allowed(absent());
        }
        let rules = if plain.has_parents {
            Vec::new()
        } else {
            self.rules_for(&plain.path)
        };
        let declared = rules.into_iter().find_map(|rule| match rule {
            PathRule::Unix(place) => Some(self.policy.unix[place].name.clone()),
            _ => None,
        });
        match declared {
            Some(rule) => Answer::allowed(Ground::Declared { rule }),
            None => {
                let count = self.policy.unix.len();
                self.note(|| format!("no rule of {count} for unix sockets matches"));
                Answer::tripped(Wire::I2, circumstance, "a unix socket that is not declared")
            }
        }
    }
}

/// Why a rule that holds the address does not allow the contact.
fn objection(endpoint: &Endpoint, port: u16, transport: Option<Transport>) -> Option<&'static str> {
    match transport {
        // Raw packets choose their ports themselves.
        None if endpoint.transport.is_some() || endpoint.ports != crate::policy::Ports::all() => {
            Some("it is neither TCP nor UDP, and the rule names a port or a protocol")
        }
        Some(_) if !endpoint.ports.has(port) => Some("another port"),
        Some(found) if endpoint.transport.is_some_and(|wanted| wanted != found) => Some("another protocol"),
        _ => None,
    }
}
