//! Checkpoints: C2SP tlog-checkpoint notes, signed as C2SP signed-note says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::tree::Hash;
use super::value::Hex;

/// Between the notes of a file of checkpoints, on a line of its own.
pub const SEPARATOR: &str = "%%";
/// The signature algorithm Ed25519 (C2SP signed-note).
const ED25519: u8 = 1;
/// What a signature's line begins with: an em dash and a space.
const SIGNATURE_MARK: &str = "\u{2014} ";
/// Most signatures that are read of one note.
const SIGNATURES_MAX: usize = 64;

/// A tree head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log.
    pub origin: String,
    /// Lines.
    pub size: u64,
    /// Root over them.
    pub root: Hash,
}

/// One signature of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The key's name.
    pub name: String,
    /// [`key_id`].
    pub key_id: [u8; 4],
    /// The signature.
    pub signature: Vec<u8>,
}

/// A note as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it says.
    pub checkpoint: Checkpoint,
    /// The signatures; those of unknown keys are to be ignored.
    pub signatures: Vec<NoteSignature>,
}

/// The origin of a log: one that no other log of the host has, so that no checkpoint can be taken for another log's.
#[must_use]
pub fn log_origin(host: &str, log: &Hex<16>) -> String {
    format!("{host}/{log}")
}

/// The host's part of the origin of a log.
#[must_use]
pub fn host_of_origin<'a>(origin: &'a str, log: &Hex<16>) -> &'a str {
    origin
        .strip_suffix(log.to_string().as_str())
        .and_then(|host| host.strip_suffix('/'))
        .unwrap_or(origin)
}

/// The name of a segment's key.
#[must_use]
pub fn segment_key_name(origin: &str, segment: u64) -> String {
    format!("{origin}/seg/{segment}")
}

/// First bytes of the SHA-256 of name and key (C2SP signed-note).
#[must_use]
pub fn key_id(name: &str, public: &Hex<32>) -> [u8; 4] {
    let mut hasher = Sha256::new();
    hasher.update(name.as_bytes());
    hasher.update([b'\n', ED25519]);
    hasher.update(public.0);
    let digest = hasher.finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// Whether a text can be an origin and a key's name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text
            .chars()
            .any(|char| char.is_whitespace() || char.is_control() || char == '+')
}

impl Checkpoint {
    /// The text that is signed.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            STANDARD.encode(self.root.0)
        )
    }

    /// Reads what [`Checkpoint::text`] wrote. Extension lines are taken and ignored.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let origin = lines.next().filter(|origin| !origin.is_empty())?;
        let size = lines.next()?;
        let is_plain =
            size == "0" || !size.starts_with('0') && size.bytes().all(|byte| byte.is_ascii_digit());
        let root: [u8; 32] = STANDARD.decode(lines.next()?).ok()?.try_into().ok()?;
        if !is_plain || lines.any(str::is_empty) {
            return None;
        }
        Some(Checkpoint {
            origin: origin.to_owned(),
            size: size.parse().ok()?,
            root: Hex(root),
        })
    }
}

impl Note {
    /// The note: its text, an empty line, and a line for each signature.
    #[must_use]
    pub fn write(checkpoint: &Checkpoint, signatures: &[NoteSignature]) -> String {
        let mut note = checkpoint.text();
        note.push('\n');
        for signature in signatures {
            let mut bytes = signature.key_id.to_vec();
            bytes.extend_from_slice(&signature.signature);
            note.push_str(SIGNATURE_MARK);
            note.push_str(&signature.name);
            note.push(' ');
            note.push_str(&STANDARD.encode(bytes));
            note.push('\n');
        }
        note
    }

    /// Reads a note; `None` if it is none.
    #[must_use]
    pub fn read(note: &str) -> Option<Self> {
        let (text, signatures) = note.split_once("\n\n")?;
        let checkpoint = Checkpoint::read(&format!("{text}\n"))?;
        let signatures: Vec<NoteSignature> = signatures
            .strip_suffix('\n')?
            .split('\n')
            .take(SIGNATURES_MAX + 1)
            .map(NoteSignature::read)
            .collect::<Option<_>>()?;
        (signatures.len() <= SIGNATURES_MAX).then_some(Note {
            checkpoint,
            signatures,
        })
    }
}

impl NoteSignature {
    fn read(line: &str) -> Option<Self> {
        let (name, bytes) = line.strip_prefix(SIGNATURE_MARK)?.split_once(' ')?;
        let bytes = STANDARD.decode(bytes).ok()?;
        let (key_id, signature) = bytes.split_first_chunk::<4>()?;
        is_name(name).then(|| NoteSignature {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// A public key as C2SP writes it: `name+keyid+base64`.
#[must_use]
pub fn write_vkey(name: &str, public: &Hex<32>) -> String {
    let mut key = vec![ED25519];
    key.extend_from_slice(&public.0);
    format!("{name}+{}+{}", Hex(key_id(name, public)), STANDARD.encode(key))
}

/// Reads [`write_vkey`]: the name and the key. `None` if it is no Ed25519 key, or its id is not its own.
#[must_use]
pub fn read_vkey(text: &str) -> Option<(String, Hex<32>)> {
    let (name, rest) = text.split_once('+')?;
    let (id, key) = rest.split_once('+')?;
    let key = STANDARD.decode(key).ok()?;
    let (algorithm, key) = key.split_first()?;
    let public = Hex(<[u8; 32]>::try_from(key).ok()?);
    let is_right = *algorithm == ED25519 && is_name(name) && Hex::<4>::parse(id)?.0 == key_id(name, &public);
    is_right.then(|| (name.to_owned(), public))
}

#[cfg(test)]
mod tests {
    use super::{Checkpoint, Hex, Note, NoteSignature, read_vkey, write_vkey};

    #[test]
    fn a_note_survives() {
        let checkpoint = Checkpoint {
            origin: "rei.example/node-7".to_owned(),
            size: 4,
            root: Hex([3; 32]),
        };
        let signatures = [NoteSignature {
            name: "rei.example/node-7/seg/0".to_owned(),
            key_id: [1, 2, 3, 4],
            signature: vec![5; 64],
        }];
        let text = Note::write(&checkpoint, &signatures);
        let note = Note::read(&text).expect("a note");
        assert_eq!(note.checkpoint, checkpoint);
        assert_eq!(note.signatures, signatures);
        for wrong in [
            "",
            "a\n",
            "a\n1\n\n",
            "a\n01\nAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n\n\u{2014} n AQIDBA==\n",
            "a\n1\nAwM=\n\n\u{2014} n AQIDBA==\n",
            "a\n1\nAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n\n- n AQIDBA==\n",
            "a\n1\nAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=\n\n\u{2014} n AQID\n",
        ] {
            assert_eq!(Note::read(wrong), None, "{wrong:?}");
        }
    }

    /// The example of C2SP signed-note.
    #[test]
    fn the_public_key_of_c2sp_is_read() {
        let text = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
        let (name, public) = read_vkey(text).expect("a key");
        assert_eq!(name, "example.com/foo");
        assert_eq!(write_vkey(&name, &public), text);
        assert_eq!(read_vkey(&text.replace("530d", "530e")), None);
        assert_eq!(read_vkey(&text.replace("foo", "fop")), None);
        assert_eq!(read_vkey("a+b"), None);
    }
}
