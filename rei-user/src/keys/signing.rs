//! Ed25519: the keys that sign, and the check of what they signed.

use std::io;

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::secret::Secret;
use crate::format::Hex;

/// The secret half of an Ed25519 key: its seed.
pub struct SigningSeed(Secret);

impl SigningSeed {
    /// The seed with these bytes.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        SigningSeed(secret)
    }

    /// A fresh one.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn random() -> io::Result<Self> {
        Secret::random().map(SigningSeed)
    }

    /// The bytes, for a key file.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.0
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> Hex<32> {
        Hex(self.key().verifying_key().to_bytes())
    }

    /// Signs a message.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Hex<64> {
        Hex(self.key().sign(message).to_bytes())
    }

    /// Wiped by its own drop.
    fn key(&self) -> SigningKey {
        SigningKey::from_bytes(self.0.bytes())
    }
}

/// Whether the signature is this public key's over the message. Strict: no key and no signature of small
/// order, one spelling of each.
#[must_use]
pub fn verifies(public: &Hex<32>, message: &[u8], signature: &Hex<64>) -> bool {
    VerifyingKey::from_bytes(&public.0).is_ok_and(|key| {
        key.verify_strict(message, &Signature::from_bytes(&signature.0))
            .is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_signatures_are_those_of_the_vectors() {
        let first = SigningSeed::new(Secret::new([1; 32]));
        let second = SigningSeed::new(Secret::new([2; 32]));
        assert_eq!(
            first.public().to_string(),
            "8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
        );
        assert_eq!(
            second.public().to_string(),
            "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"
        );
        let log = Hex(std::array::from_fn(|at| at as u8));
        let message = crate::format::segment_key_message(&log, 0, &first.public(), &second.public());
        let signature = first.sign(&message);
        assert_eq!(
            signature.to_string(),
            "c9d8aa2fb47328e6803e2b3ccfb1ce6da22af2d7d3aa4d6bdb4a4df5320f477f97166b4846426f1ed4663f31c95f997a06f162dd3ff4aee13d267b3d3f762a09"
        );
        assert!(verifies(&first.public(), &message, &signature));
        assert!(!verifies(&second.public(), &message, &signature));
        assert!(!verifies(&first.public(), &message[1..], &signature));
    }

    #[test]
    fn a_key_of_small_order_verifies_nothing() {
        // The neutral point: with it, a signature of zeros fits every message unless checked strictly.
        let mut point = [0; 32];
        point[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!verifies(&Hex(point), b"anything", &Hex(signature)));
    }
}
