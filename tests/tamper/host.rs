//! What outlives a log: its host's series and log key, made from docs/format.md alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::writer::{Bytes32, expand, hex, public, sha256, sign};

/// The C2SP text of a public key.
fn vkey(name: &str, key: &Bytes32) -> String {
    let id = &sha256(&[name.as_bytes(), b"\n", &[1], key])[..4];
    let text = STANDARD.encode([&[1][..], key].concat());
    format!("{name}+{}+{text}", hex(id))
}

/// What outlives a log: its series and its log key.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) origin: String,
    pub(crate) series: [u8; 16],
    pub(crate) number: u64,
    ratchet: Bytes32,
    pub(crate) seed: Bytes32,
}

impl Host {
    /// Everything about it is made of this byte.
    pub(crate) fn new(salt: u8) -> Self {
        Host {
            origin: "rei.example/node-7".to_owned(),
            series: [salt; 16],
            number: 0,
            ratchet: [0x40 + salt; 32],
            seed: [0x80 + salt; 32],
        }
    }

    /// The verification key file, as it is made with the series.
    pub(crate) fn verification_key(&self) -> String {
        assert_eq!(self.number, 0, "it is made before the first log");
        let (series, r0) = (hex(&self.series), hex(&self.ratchet));
        format!("rei-verification-key/1\nseries {series}\nr0 {r0}\n")
    }

    /// The file `host.pub`.
    pub(crate) fn public_key(&self) -> String {
        vkey(&self.origin, &public(&self.seed)) + "\n"
    }

    /// `M[0]` of the next log, and what its headers say of its birth.
    pub(crate) fn birth(&mut self, log: &[u8; 16], vk0: &Bytes32) -> (Bytes32, String) {
        let number = self.number.to_be_bytes();
        let master = expand(&self.ratchet, &[b"rei/log/1\0", &self.series, &number]);
        let signed = [b"rei/birth-cert/1\0", &log[..], &self.series, &number, vk0].concat();
        let birth = format!(
            r#","birth":{{"series":"{}","i":{},"vk0":"{}","hk":"{}","hs":"{}"}}"#,
            hex(&self.series),
            self.number,
            hex(vk0),
            hex(&public(&self.seed)),
            hex(&sign(&self.seed, &signed))
        );
        self.ratchet = expand(&self.ratchet, &[b"rei/series/1\0", &self.series, &number]);
        self.number += 1;
        (master, birth)
    }
}
