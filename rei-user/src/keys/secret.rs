//! 32 secret bytes: wiped when dropped, never shown, compared in constant time.

use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use zeroize::Zeroize as _;

use crate::format::Hex;

/// Bytes in a secret.
pub const SECRET_BYTES: usize = 32;

/// A secret. It has no `Debug` and no `Display`: it can get into no message.
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// Takes the bytes; whoever holds another copy has to wipe it.
    #[must_use]
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Secret(bytes)
    }

    /// From the kernel's generator.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut secret = Secret([0; SECRET_BYTES]);
        fill_random(&mut secret.0)?;
        Ok(secret)
    }

    /// The bytes, for a key file or a key of the next library.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// Whether both are the same, in a time that does not depend on where they differ.
    #[must_use]
    pub fn equals(&self, other: &Secret) -> bool {
        let difference = self.0.iter().zip(&other.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }

    /// HKDF-Expand (RFC 5869) with SHA-256 and 32 bytes of output: one block. `info` is the concatenation of
    /// the parts.
    pub(super) fn expand(&self, info: &[&[u8]]) -> Secret {
        let mut mac = self.mac(info);
        mac.update(&[1]);
        Secret(mac.finalize().into_bytes().into())
    }

    /// HMAC-SHA256 of the concatenation of the parts.
    pub(super) fn tag(&self, parts: &[&[u8]]) -> Hex<32> {
        Hex(self.mac(parts).finalize().into_bytes().into())
    }

    /// Whether the tag is that of the parts; compared in constant time.
    pub(super) fn verifies(&self, parts: &[&[u8]], tag: &Hex<32>) -> bool {
        self.mac(parts).verify_slice(&tag.0).is_ok()
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.block().0.into());
        for part in parts {
            mac.update(part);
        }
        mac
    }

    /// HMAC's key block: the secret, filled with zeros.
    fn block(&self) -> Block {
        let mut block = Block([0; BLOCK_BYTES]);
        block.0[..SECRET_BYTES].copy_from_slice(&self.0);
        block
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Block length of SHA-256.
const BLOCK_BYTES: usize = 64;

struct Block([u8; BLOCK_BYTES]);

impl Drop for Block {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Fills bytes from the kernel's generator.
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Hex, Secret};

    #[test]
    fn hmac_is_that_of_rfc_4231() {
        // Test case 2: the key `Jefe`, which a block fills with zeros like any shorter key.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let secret = Secret::new(key);
        let tag = secret.tag(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(
            tag.to_string(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(secret.verifies(&[b"what do ya want for nothing?"], &tag));
        let Hex(mut other) = tag;
        other[31] ^= 1;
        assert!(!secret.verifies(&[b"what do ya want for nothing?"], &Hex(other)));
    }

    #[test]
    fn secrets_are_compared_byte_by_byte() {
        let secret = Secret::new([7; 32]);
        assert!(secret.equals(&Secret::new([7; 32])));
        for at in 0..32 {
            let mut bytes = [7; 32];
            bytes[at] ^= 0x80;
            assert!(!secret.equals(&Secret::new(bytes)), "{at}");
        }
    }

    #[test]
    fn random_secrets_differ() {
        let (one, other) = (
            Secret::random().expect("random bytes"),
            Secret::random().expect("random bytes"),
        );
        assert!(!one.equals(&other));
    }
}
