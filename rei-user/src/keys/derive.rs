//! Which key comes from which: the whole derivation, pure, shared by writer and verifier.
//!
//! A host's series gives each log its first master key; a master key gives the step keys of its segment and
//! the master key of the next; a step key gives the keys of one seal and the next step. Each key is of a type
//! of its own, so that none can stand for another. `docs/format.md` has the formulas.

use super::id::{LogId, SeriesId};
use super::secret::Secret;
use crate::format::Hex;

/// Most logs of a series that a number is believed for: what is derived costs one HMAC a log, and a number
/// read from a hostile header must not cost hours.
pub const LOGS_MAX: u64 = 1 << 22;

/// `R_i`: the state of a series before its log `i` is born.
pub struct SeriesKey(Secret);

impl SeriesKey {
    /// The key with these bytes.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        SeriesKey(secret)
    }

    /// The bytes, for a key file.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.0
    }

    /// `M_0[i]`, where `i` is this key's own number.
    #[must_use]
    pub fn master(&self, series: SeriesId, i: u64) -> MasterKey {
        MasterKey(self.0.expand(&[b"rei/log/1\0", series.bytes(), &i.to_be_bytes()]))
    }

    /// `R_{i+1}`, where `i` is this key's own number.
    #[must_use]
    pub fn next(&self, series: SeriesId, i: u64) -> SeriesKey {
        SeriesKey(
            self.0
                .expand(&[b"rei/series/1\0", series.bytes(), &i.to_be_bytes()]),
        )
    }

    /// The tag of an entry of the series' own list, written while the series stands at `i`, this key's own
    /// number.
    #[must_use]
    pub fn entry_tag(&self, series: SeriesId, i: u64, entry: &[u8]) -> Hex<32> {
        self.entry_key(series, i).tag(&[b"rei/entry/1\0", entry])
    }

    /// Whether an entry's tag is right; compared in constant time.
    #[must_use]
    pub fn verifies_entry(&self, series: SeriesId, i: u64, entry: &[u8], tag: &Hex<32>) -> bool {
        self.entry_key(series, i)
            .verifies(&[b"rei/entry/1\0", entry], tag)
    }

    fn entry_key(&self, series: SeriesId, i: u64) -> Secret {
        self.0
            .expand(&[b"rei/entries/1\0", series.bytes(), &i.to_be_bytes()])
    }
}

/// What the auditor keeps: `R_0` and the series' name. Every key of the series can be derived from it.
pub struct VerificationKey {
    /// The series.
    pub series: SeriesId,
    /// `R_0`.
    pub r0: SeriesKey,
}

impl VerificationKey {
    /// `R_i`; `None` from [`LOGS_MAX`] on.
    #[must_use]
    pub fn series_key(&self, i: u64) -> Option<SeriesKey> {
        if i >= LOGS_MAX {
            return None;
        }
        let first = SeriesKey::new(Secret::new(*self.r0.secret().bytes()));
        Some((0..i).fold(first, |key, number| key.next(self.series, number)))
    }

    /// `M_0` of the series' log `i`; `None` from [`LOGS_MAX`] on.
    #[must_use]
    pub fn master(&self, i: u64) -> Option<MasterKey> {
        Some(self.series_key(i)?.master(self.series, i))
    }
}

/// `M_n`: opens segment `n` of a log.
pub struct MasterKey(Secret);

impl MasterKey {
    /// The key with these bytes.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        MasterKey(secret)
    }

    /// The bytes, for a key state.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.0
    }

    /// `S[n][0]`, where `n` is this key's own segment.
    #[must_use]
    pub fn step(&self, log: LogId, n: u64) -> StepKey {
        StepKey(self.0.expand(&[b"rei/seg/1\0", log.bytes(), &n.to_be_bytes()]))
    }

    /// `M_{n+1}`, where `n` is this key's own segment.
    #[must_use]
    pub fn next(&self, log: LogId, n: u64) -> MasterKey {
        MasterKey(self.0.expand(&[b"rei/master/1\0", log.bytes(), &n.to_be_bytes()]))
    }

    /// The key of the birth token: of `M_0` only.
    #[must_use]
    pub fn birth_key(&self, log: LogId) -> HeadKey {
        HeadKey(self.0.expand(&[b"rei/birth/1\0", log.bytes()]))
    }
}

/// `S[n][e]`: lives from seal `e - 1` to seal `e` of segment `n`, in memory only.
pub struct StepKey(Secret);

impl StepKey {
    /// The key with these bytes.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        StepKey(secret)
    }

    /// The bytes, for the locked page that a writer keeps it in.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.0
    }

    /// `K[n][e]`, where `e` is this key's own epoch.
    #[must_use]
    pub fn tag_key(&self, e: u64) -> TagKey {
        TagKey(self.0.expand(&[b"rei/tag/1\0", &e.to_be_bytes()]))
    }

    /// `Hk[n][e]`, where `e` is this key's own epoch.
    #[must_use]
    pub fn head_key(&self, e: u64) -> HeadKey {
        HeadKey(self.0.expand(&[b"rei/head/1\0", &e.to_be_bytes()]))
    }

    /// `S[n][e+1]`, where `e` is this key's own epoch.
    #[must_use]
    pub fn next(&self, e: u64) -> StepKey {
        StepKey(self.0.expand(&[b"rei/step/1\0", &e.to_be_bytes()]))
    }
}

/// `K[n][e]`: makes and checks the tag of one seal.
pub struct TagKey(Secret);

impl TagKey {
    /// The tag of a seal line: over the line up to the tag's digits.
    #[must_use]
    pub fn tag(&self, log: LogId, prefix: &[u8]) -> Hex<32> {
        self.0.tag(&[b"rei/seal/1\0", log.bytes(), prefix])
    }

    /// Whether a seal's tag is right; compared in constant time.
    #[must_use]
    pub fn verifies(&self, log: LogId, prefix: &[u8], tag: &Hex<32>) -> bool {
        self.0.verifies(&[b"rei/seal/1\0", log.bytes(), prefix], tag)
    }
}

/// `Hk[n][e]`: makes and checks one head token.
pub struct HeadKey(Secret);

impl HeadKey {
    /// The tag of a head token with this first line.
    #[must_use]
    pub fn tag(&self, b: &[u8]) -> Hex<32> {
        self.0.tag(&[b"rei/headtok/1\0", b])
    }

    /// Whether a head token's tag is right; compared in constant time.
    #[must_use]
    pub fn verifies(&self, b: &[u8], tag: &Hex<32>) -> bool {
        self.0.verifies(&[b"rei/headtok/1\0", b], tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: LogId = LogId::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

    fn m0() -> MasterKey {
        MasterKey::new(Secret::new(std::array::from_fn(|at| 0x20 + at as u8)))
    }

    fn hex(secret: &Secret) -> String {
        Hex(*secret.bytes()).to_string()
    }

    #[test]
    fn the_keys_of_a_log_are_those_of_the_vectors() {
        let first = m0().step(LOG, 0);
        assert_eq!(
            hex(first.secret()),
            "1eb846ffe927baf436fa22a722139771ccf913a6b2a3298fe33aa1f71f57cb50"
        );
        assert_eq!(
            hex(&first.tag_key(0).0),
            "0a902bafd7fb72d58e3a6b3ded11dec8a1d9845148f093d5854a38dd659d9ac9"
        );
        let second = first.next(0);
        assert_eq!(
            hex(second.secret()),
            "ab5c5568fa814c24ae0a84f5d541a35e19fc7b536661b7262ac616942432b83f"
        );
        assert_eq!(
            hex(&second.tag_key(1).0),
            "1f3bb8764f3da2be2819e250bf256a2a179e6b2169855f45460e17f4e618df80"
        );
        assert_eq!(
            hex(m0().next(LOG, 0).secret()),
            "345a3958a81f7b84be4d63f0d5070b61c291aedc71e341992e06c0d230627333"
        );
    }

    #[test]
    fn the_tokens_of_the_vectors_verify() {
        let head = br#"{"log":"000102030405060708090a0b0c0d0e0f","seg":0,"e":1,"seq":3,"h":"bf8ea7fe84e8b3ac6ad595215537d8c5d54fdf798cdb8a2d9e896df001f19c50","f":0}"#;
        let key = m0().step(LOG, 0).next(0).head_key(1);
        assert_eq!(
            key.tag(head).to_string(),
            "d71469561ca284795a52ce4c2006eb8777b4c018f98966a9dbcd36b87ae232e4"
        );
        assert!(key.verifies(head, &key.tag(head)));
        assert!(!m0().step(LOG, 0).head_key(0).verifies(head, &key.tag(head)));
        let birth = br#"{"log":"000102030405060708090a0b0c0d0e0f","seg":-1,"e":0,"seq":-1,"h":"6e6db90080a20e2a29effc34b0e75dd721dd394f1241b72e506196f7db7d2b90","f":0}"#;
        assert_eq!(
            m0().birth_key(LOG).tag(birth).to_string(),
            "962acd92e1f14bf0f10dbab2fae0396ff94c7a9e5efebf7219d1678f3fde031d"
        );
    }

    /// Computed apart from this program, with Python's hmac: `docs/format.md` has the formulas.
    #[test]
    fn the_keys_of_a_series_are_those_that_were_computed_elsewhere() {
        let series = SeriesId::new([0xa0; 16]);
        let key = VerificationKey {
            series,
            r0: SeriesKey::new(Secret::new([0x42; 32])),
        };
        let masters = [0, 1, 2].map(|i| hex(key.master(i).expect("a small number").secret()));
        assert_eq!(masters, MASTERS);
        let second = key.series_key(1).expect("a small number");
        assert_eq!(second.entry_tag(series, 1, b"{}").to_string(), ENTRY_TAG);
        assert!(second.verifies_entry(series, 1, b"{}", &second.entry_tag(series, 1, b"{}")));
        assert!(!second.verifies_entry(series, 2, b"{}", &second.entry_tag(series, 1, b"{}")));
        assert!(key.master(LOGS_MAX).is_none());
    }

    const MASTERS: [&str; 3] = [
        "5ea0812d136c27ea55ecf2eee6faafc891b99626cca0fdbca39804656bb872d0",
        "9d7e3e20917cd30a59927f604e89d7a58c6d1da03b8d0752e3874772a00df423",
        "a17e4d15f9475148e1618805a19a470a4ec6138d2f3622b4cf4ec36dcff621e4",
    ];
    const ENTRY_TAG: &str = "1294d8d834f5186515c3f5733045555a54988e3a138113c1a81e74ffb99918fe";
}
