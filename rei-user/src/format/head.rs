//! The first line of a segment, and the seal that ends a batch.

use serde::{Deserialize, Serialize};

use super::tree::Hash;
use super::value::{Count, Decimal, Hex, Raw};

/// `head`: the first line of every segment, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The log's id.
    pub log: Hex<16>,
    /// The origin line of its checkpoints, as C2SP says: a name without scheme, spaces and `+`. [`super::log_origin`]
    /// makes it of the host's name and the log's id.
    pub origin: String,
    /// This segment's Ed25519 public key.
    pub vk: Hex<32>,
    /// The next segment's.
    pub nvk: Hex<32>,
    /// Ed25519 by this segment's key over [`segment_key_message`].
    pub ks: Hex<64>,
    /// How the segment before ended.
    pub prev: Previous,
    /// The log's place in the series of its host; the same in every segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// `rei-log/1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fmt: Option<String>,
    /// The machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The program that writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<Writer>,
    /// When batches and segments end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
    /// Both clocks when the segment was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clocks>,
}

/// How the segment before ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Previous {
    /// Its number; `null` for the first segment.
    pub seg: Option<Count>,
    /// How it ended.
    pub state: PreviousState,
    /// Its last complete line; absent for the first segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<Count>,
    /// Epoch of its last seal; absent for the first segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_e: Option<Count>,
    /// After a crash: bytes after its last line feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<Count>,
    /// After a crash: SHA-256 of those bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_sha256: Option<Hash>,
    /// After a crash: the head token as it was found; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<FoundToken>,
}

impl Previous {
    /// Of the first segment.
    pub const NONE: Self = Previous {
        seg: None,
        state: PreviousState::None,
        last_seq: None,
        last_e: None,
        tail: None,
        tail_sha256: None,
        head: None,
    };
}

/// How a segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PreviousState {
    /// There was none.
    None,
    /// With a closing seal.
    Closed,
    /// Without one.
    Crash,
}

/// A head token as it was found: possibly not even a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundToken {
    /// Its first line.
    pub b: String,
    /// Its second line.
    pub tag: String,
}

/// The log's place in the series of its host, certified by the host's log key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Birth {
    /// The series.
    pub series: Hex<16>,
    /// The log's number in it.
    pub i: Count,
    /// Public key of segment 0.
    pub vk0: Hex<32>,
    /// The host's public log key.
    pub hk: Hex<32>,
    /// Ed25519 by the host's log key over [`birth_message`].
    pub hs: Hex<64>,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// /etc/machine-id; empty if there is none.
    pub machine_id: String,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// The host name.
    pub hostname: String,
    /// The kernel's release, as uname says.
    pub kernel: String,
}

/// The program that writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writer {
    /// rei's version.
    pub version: String,
    /// Its process id.
    pub pid: Count,
    /// Random: two writers from one key state differ here.
    pub nonce: Hex<16>,
}

/// When batches and segments end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Most lines of a batch.
    pub batch: Count,
    /// Milliseconds after a batch's first line.
    pub delay_ms: Count,
    /// Seconds without a line until an empty batch is sealed.
    pub idle_s: Count,
    /// Bytes after which a segment ends.
    pub roll_bytes: Count,
    /// Seconds after which a segment ends.
    pub roll_s: Count,
}

/// Both clocks at one moment, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// `CLOCK_REALTIME`.
    pub wall: Decimal,
    /// `CLOCK_BOOTTIME`.
    pub boot: Decimal,
}

/// `seal`: the end of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Epoch: seals of this segment before this one.
    pub e: Count,
    /// Lines since the seal before.
    pub n: Count,
    /// [`seal_flag`].
    pub f: Count,
    /// Root of the tree over all lines before this one.
    pub r: Hash,
    /// Events lost so far, in the whole log.
    pub lost: Decimal,
    /// HMAC-SHA256 over `rei/seal/1\0`, the log's id and this line up to the tag's digits.
    pub tag: Hash,
}

/// Bits of a seal's `f`.
pub mod seal_flag {
    /// The segment ends here.
    pub const CLOSE: u64 = 1;
    /// Sealed at once, because of a finding.
    pub const URGENT: u64 = 2;
    /// Every bit that has a meaning.
    pub const ALL: u64 = CLOSE | URGENT;
}

/// What [`Head::ks`] signs.
#[must_use]
pub fn segment_key_message(log: &Hex<16>, segment: u64, vk: &Hex<32>, nvk: &Hex<32>) -> Vec<u8> {
    let mut message = b"rei/segkey/1\0".to_vec();
    message.extend_from_slice(&log.0);
    message.extend_from_slice(&segment.to_be_bytes());
    message.extend_from_slice(&vk.0);
    message.extend_from_slice(&nvk.0);
    message
}

/// What [`Birth::hs`] signs.
#[must_use]
pub fn birth_message(log: &Hex<16>, series: &Hex<16>, number: u64, vk0: &Hex<32>) -> Vec<u8> {
    let mut message = b"rei/birth-cert/1\0".to_vec();
    message.extend_from_slice(&log.0);
    message.extend_from_slice(&series.0);
    message.extend_from_slice(&number.to_be_bytes());
    message.extend_from_slice(&vk0.0);
    message
}

/// `undecodable`: bytes from the kernel side that are no record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undecodable {
    /// What is wrong with them.
    pub why: String,
    /// The bytes, in base64.
    pub bytes_b64: Raw,
}
