//! Checkpoints: what the log was, signed by the host and by the segment.

use crate::format::{Checkpoint, Hash, Hex, Note, NoteSignature, key_id, segment_key_name};
use crate::keys::host::HostKey;
use crate::keys::signing::SigningSeed;

/// The note of a log of this origin, of `size` lines with this root, signed by the host's log key and by the segment's.
///
/// To be made of durable lines only: two checkpoints that do not fit together are proof of a fork.
#[must_use]
pub fn checkpoint(
    origin: &str,
    (size, root): (u64, Hash),
    host: &HostKey,
    segment: u64,
    signing: &SigningSeed,
) -> String {
    let name = segment_key_name(origin, segment);
    let checkpoint = Checkpoint {
        origin: origin.to_owned(),
        size,
        root,
    };
    let text = checkpoint.text();
    let of_host = signature(host.origin(), &host.public(), host.sign(text.as_bytes()));
    let of_segment = signature(&name, &signing.public(), signing.sign(text.as_bytes()));
    Note::write(&checkpoint, &[of_host, of_segment])
}

fn signature(name: &str, public: &Hex<32>, signature: Hex<64>) -> NoteSignature {
    NoteSignature {
        name: name.to_owned(),
        key_id: key_id(name, public),
        signature: signature.0.to_vec(),
    }
}
