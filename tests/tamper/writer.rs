//! A second writer of `rei-log/1`, made from docs/format.md alone: it shares no line with rei's own.
//!
//! It works in memory, with fixed seeds and clocks, so that the same calls give the same bytes. What it holds at any
//! moment is what the owner of the host has then: a clone of it is the attacker who came at that time.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::files::Files;
pub(crate) use crate::host::Host;

pub(crate) type Bytes32 = [u8; 32];

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(parts: &[&[u8]]) -> Bytes32 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn mac(key: &Bytes32, parts: &[&[u8]]) -> Bytes32 {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

pub(crate) fn expand(key: &Bytes32, parts: &[&[u8]]) -> Bytes32 {
    let mut all = parts.to_vec();
    all.push(&[1]);
    mac(key, &all)
}

pub(crate) fn sign(seed: &Bytes32, message: &[u8]) -> [u8; 64] {
    SigningKey::from_bytes(seed).sign(message).to_bytes()
}

pub(crate) fn public(seed: &Bytes32) -> Bytes32 {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

/// The root of RFC 6962, as it is defined there.
pub(crate) fn root(leaves: &[Bytes32]) -> Bytes32 {
    match leaves {
        [] => sha256(&[]),
        [one] => *one,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            sha256(&[&[1], &root(left), &root(right)])
        }
    }
}

/// A signed note.
pub(crate) fn note(body: &str, signers: &[(String, Bytes32)]) -> String {
    let mut text = format!("{body}\n");
    for (name, seed) in signers {
        let id = &sha256(&[name.as_bytes(), b"\n", &[1], &public(seed)])[..4];
        let value = STANDARD.encode([id, &sign(seed, body.as_bytes())].concat());
        text.push_str(&format!("\u{2014} {name} {value}\n"));
    }
    text
}

/// A log that is being written.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) log: [u8; 16],
    pub(crate) origin: String,
    /// The name of the host's key.
    pub(crate) host_name: String,
    /// The files as they are now.
    pub(crate) files: Files,
    /// The key state: generation, `M`, seed of the signing key.
    pub(crate) slots: Vec<(u64, Bytes32, Bytes32)>,
    pub(crate) segment: u64,
    /// Epoch of the next seal.
    pub(crate) epoch: u64,
    step: Bytes32,
    signing: Bytes32,
    host_seed: Option<Bytes32>,
    birth: String,
    /// After `prev` and `birth`: what else the headers say.
    pub(crate) header_rest: String,
    pub(crate) leaves: Vec<Bytes32>,
    unsealed: u64,
    pub(crate) lost: u64,
    salt: u8,
}

impl Writer {
    /// A log that a host certifies.
    pub(crate) fn new(host: &mut Host, log: u8) -> Self {
        let id = [log; 16];
        let seed = seed_of(log, 0);
        let (master, birth) = host.birth(&id, &public(&seed));
        let origin = format!("{}/{}", host.origin, hex(&id));
        let mut writer = Self::with_master(id, &origin, master, log);
        writer.host_name.clone_from(&host.origin);
        writer.host_seed = Some(host.seed);
        writer.birth = birth;
        writer.header_rest = concat!(
            r#","fmt":"rei-log/1","host":{"machine_id":"m","boot_id":"boot-1","#,
            r#""hostname":"node-7","kernel":"6.12"}"#
        )
        .to_owned();
        writer.open(r#"{"seg":null,"state":"none"}"#);
        writer
    }

    /// The log of the worked example: no host knows it.
    pub(crate) fn bare(log: [u8; 16], origin: &str, master: Bytes32) -> Self {
        let mut writer = Self::with_master(log, origin, master, 0);
        writer.open(r#"{"seg":null,"state":"none"}"#);
        writer
    }

    fn with_master(log: [u8; 16], origin: &str, master: Bytes32, salt: u8) -> Self {
        let mut writer = Writer {
            log,
            origin: origin.to_owned(),
            files: Files::default(),
            slots: vec![(0, master, seed_of(salt, 0))],
            segment: 0,
            epoch: 0,
            step: [0; 32],
            signing: [0; 32],
            host_seed: None,
            host_name: String::new(),
            birth: String::new(),
            header_rest: String::new(),
            leaves: Vec::new(),
            unsealed: 0,
            lost: 0,
            salt,
        };
        let genesis = writer.genesis();
        let token = writer.token(-1, 0, -1, &genesis, 0);
        let key = expand(&master, &[b"rei/birth/1\0", &log]);
        writer.files.head = Some(tagged(&token, &key));
        writer
    }

    pub(crate) fn genesis(&self) -> Bytes32 {
        sha256(&[b"rei/genesis/1\0", &self.log])
    }

    /// Opens segment [`Writer::segment`], as the text says.
    pub(crate) fn open(&mut self, prev: &str) {
        let n = self.segment;
        self.slots.retain(|slot| slot.0 >= n);
        let (_, master, seed) = *self.slots.iter().find(|slot| slot.0 == n).expect("its key");
        let number = n.to_be_bytes();
        if self.slots.iter().all(|slot| slot.0 != n + 1) {
            let next = expand(&master, &[b"rei/master/1\0", &self.log, &number]);
            self.slots.push((n + 1, next, seed_of(self.salt, n + 1)));
        }
        let next_seed = self.slots.iter().find(|slot| slot.0 == n + 1).expect("kept").2;
        (self.signing, self.epoch, self.unsealed) = (seed, 0, 0);
        self.step = expand(&master, &[b"rei/seg/1\0", &self.log, &number]);
        let (vk, nvk) = (public(&seed), public(&next_seed));
        let signed = [b"rei/segkey/1\0", &self.log[..], &number, &vk, &nvk].concat();
        let body = format!(
            r#"{{"log":"{}","origin":"{}","vk":"{}","nvk":"{}","ks":"{}","prev":{prev}{}{}}}"#,
            hex(&self.log),
            self.origin,
            hex(&vk),
            hex(&nvk),
            hex(&sign(&seed, &signed)),
            self.birth,
            self.header_rest
        );
        self.files.segments.push(Some(Vec::new()));
        self.line("head", &body);
        self.seal(0);
        self.slots.retain(|slot| slot.0 != n);
    }

    /// A line of any kind.
    pub(crate) fn line(&mut self, kind: &str, body: &str) {
        let line = self.envelope(kind, body);
        self.put(line.as_bytes());
        self.unsealed += 1;
    }

    /// A line that says nothing.
    pub(crate) fn event(&mut self) {
        let number = self.leaves.len();
        self.line("ctl", &format!(r#"{{"what":"operator","text":"line {number}"}}"#));
    }

    pub(crate) fn envelope(&self, kind: &str, body: &str) -> String {
        let sequence = self.leaves.len() as u64;
        let previous = self.leaves.last().copied().unwrap_or_else(|| self.genesis());
        format!(
            r#"{{"v":1,"seg":{},"seq":{sequence},"k":"{kind}","t":"{}","b":"{}","p":"{}","d":{body}}}"#,
            self.segment,
            1_767_225_600_000_000_000 + 1000 * (sequence + 1),
            1_000_000_000 + 1000 * (sequence + 1),
            hex(&previous)
        )
    }

    pub(crate) fn put(&mut self, line: &[u8]) {
        self.leaves.push(sha256(&[&[0], line]));
        let file = self.files.segments.last_mut().and_then(Option::as_mut);
        let file = file.expect("an open segment");
        file.extend_from_slice(line);
        file.push(b'\n');
    }

    /// Ends a batch, and writes the head token.
    pub(crate) fn seal(&mut self, flags: u64) {
        self.seal_as(self.epoch, flags);
    }

    /// A seal that says that it is of this epoch: only the true one is honest.
    pub(crate) fn seal_as(&mut self, epoch: u64, flags: u64) {
        let body = format!(
            r#"{{"e":{epoch},"n":{},"f":{flags},"r":"{}","lost":"{}","tag":""}}"#,
            self.unsealed,
            hex(&root(&self.leaves)),
            self.lost
        );
        let line = self.envelope("seal", &body);
        let covered = line.strip_suffix("\"}}").expect("the end of a seal").to_owned();
        let key = expand(&self.step, &[b"rei/tag/1\0", &self.epoch.to_be_bytes()]);
        let tag = mac(&key, &[b"rei/seal/1\0", &self.log, covered.as_bytes()]);
        self.put(format!("{covered}{}\"}}}}", hex(&tag)).as_bytes());
        self.files.head = Some(self.token_as(self.segment, epoch, flags));
        let number = self.epoch.to_be_bytes();
        self.step = expand(&self.step, &[b"rei/step/1\0", &number]);
        self.epoch += 1;
        self.unsealed = 0;
    }

    /// A token for the last line, labelled with this segment and epoch, made with the key of now.
    pub(crate) fn token_as(&self, segment: u64, epoch: u64, flags: u64) -> Vec<u8> {
        let key = expand(&self.step, &[b"rei/head/1\0", &self.epoch.to_be_bytes()]);
        let sequence = self.leaves.len() as i64 - 1;
        let last = *self.leaves.last().expect("a line");
        tagged(&self.token(segment as i64, epoch, sequence, &last, flags), &key)
    }

    fn token(&self, segment: i64, epoch: u64, sequence: i64, hash: &Bytes32, flags: u64) -> String {
        format!(
            r#"{{"log":"{}","seg":{segment},"e":{epoch},"seq":{sequence},"h":"{}","f":{flags}}}"#,
            hex(&self.log),
            hex(hash)
        )
    }

    /// The checkpoint of the lines so far.
    pub(crate) fn note(&self) -> String {
        let mut signers = vec![(format!("{}/seg/{}", self.origin, self.segment), self.signing)];
        signers.splice(0..0, self.host_seed.map(|seed| (self.host_name.clone(), seed)));
        note(&self.note_body(), &signers)
    }

    pub(crate) fn note_body(&self) -> String {
        let text = STANDARD.encode(root(&self.leaves));
        format!("{}\n{}\n{text}\n", self.origin, self.leaves.len())
    }

    pub(crate) fn checkpoint(&mut self) {
        let note = self.note() + "%%\n";
        let checkpoints = self.files.checkpoints.get_or_insert_default();
        checkpoints.extend_from_slice(note.as_bytes());
    }

    /// The clean end of a segment.
    pub(crate) fn close(&mut self) {
        self.seal(1);
        self.checkpoint();
    }

    /// The next segment after a clean end.
    pub(crate) fn roll(&mut self) {
        let (last, epoch) = (self.leaves.len() - 1, self.epoch - 1);
        let prev = format!(
            r#"{{"seg":{},"state":"closed","last_seq":{last},"last_e":{epoch}}}"#,
            self.segment
        );
        self.segment += 1;
        self.open(&prev);
    }

    /// A new process after a crash: says what it finds and goes on. `head` is the head file that it embeds; none if
    /// it finds none.
    pub(crate) fn restart_with(&mut self, head: Option<&[u8]>) {
        let file = self.files.segments.last().cloned().flatten().expect("a segment");
        let whole = file.iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
        let tail = &file[whole..];
        self.read_again();
        let lines = String::from_utf8(file[..whole].to_vec()).expect("text");
        let seals = lines
            .lines()
            .filter(|line| line.contains(r#""k":"seal""#))
            .count();
        let mut prev = format!(
            r#"{{"seg":{},"state":"crash","last_seq":{},"last_e":{},"tail":{},"tail_sha256":"{}""#,
            self.segment,
            self.leaves.len() - 1,
            seals - 1,
            tail.len(),
            hex(&sha256(&[tail]))
        );
        if let Some(head) = head {
            let text = String::from_utf8(head.to_vec()).expect("text");
            let (token, tag) = text.trim_end().split_once('\n').expect("two lines");
            let token = token.replace('"', "\\\"");
            prev.push_str(&format!(r#","head":{{"b":"{token}","tag":"{tag}"}}"#));
        }
        prev.push('}');
        self.segment += 1;
        self.open(&prev);
    }

    /// [`Writer::restart_with`] the head file that is there.
    pub(crate) fn restart(&mut self) {
        let head = self.files.head.clone();
        self.restart_with(head.as_deref());
    }

    /// Chain, tree and counts from the files: what a new process does, and an owner after a cut.
    pub(crate) fn read_again(&mut self) {
        self.leaves.clear();
        self.unsealed = 0;
        for file in self.files.segments.iter().flatten() {
            let mut lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
            lines.pop();
            for line in lines {
                self.leaves.push(sha256(&[&[0], line]));
                let is_seal = line.windows(10).any(|part| part == br#""k":"seal""#);
                self.unsealed = if is_seal { 0 } else { self.unsealed + 1 };
            }
        }
    }

    /// The key state file of the host.
    pub(crate) fn key_state(&self) -> Vec<u8> {
        let mut file = vec![0; 8192];
        for (generation, master, seed) in &self.slots {
            let mut slot = [
                b"REIKEY01",
                &generation.to_be_bytes()[..],
                &self.log,
                master,
                seed,
            ]
            .concat();
            slot.extend_from_slice(&crc32(&slot).to_le_bytes());
            let at = 4096 * (generation % 2) as usize;
            file[at..at + slot.len()].copy_from_slice(&slot);
        }
        file
    }
}

fn seed_of(salt: u8, segment: u64) -> Bytes32 {
    [salt.wrapping_add(segment as u8 + 1); 32]
}

fn tagged(token: &str, key: &Bytes32) -> Vec<u8> {
    let tag = mac(key, &[b"rei/headtok/1\0", token.as_bytes()]);
    format!("{token}\n{}\n", hex(&tag)).into_bytes()
}

fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256)
        .map(|byte| {
            (0..8).fold(byte, |crc: u32, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xedb8_8320
                } else {
                    crc >> 1
                }
            })
        })
        .collect();
    !bytes.iter().fold(!0, |crc: u32, byte| {
        table[((crc ^ u32::from(*byte)) & 255) as usize] ^ crc >> 8
    })
}
