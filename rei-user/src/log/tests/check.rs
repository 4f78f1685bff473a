//! A small verifier for the writer's own tests, from the text of the format: what a holder of the
//! verification key, the host's public key and the host's state would see. It stops at the first violation.

use std::collections::BTreeMap;
use std::path::Path;

use crate::format::{
    Body, FoundToken, Frontier, Hash, Head, Hex, Note, Previous, PreviousState, Token, before_tag,
    birth_message, genesis, key_id, leaf, log_origin, read_line, segment_key_message, segment_key_name,
    split_file,
};
use crate::keys::derive::{HeadKey, MasterKey, StepKey, VerificationKey};
use crate::keys::directory::KeyDirectory;
use crate::keys::id::LogId;
use crate::keys::signing::verifies;
use crate::keys::state::LogKeys;
use crate::log::read::segment_file;

/// What was seen of a log without a violation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Segments.
    pub(super) segments: u64,
    /// Whole lines.
    pub(super) lines: u64,
    /// Whether the last segment is closed.
    pub(super) is_closed: bool,
    /// Kind of each line.
    pub(super) kinds: Vec<String>,
    /// Flags of each seal.
    pub(super) flags: Vec<u64>,
    /// Checkpoints.
    pub(super) checkpoints: u64,
    /// The newest `lost`.
    pub(super) lost: u64,
    /// How the segment before each header's ended.
    pub(super) previous: Vec<Previous>,
}

struct Check {
    log: LogId,
    master: MasterKey,
    frontier: Frontier,
    roots: BTreeMap<u64, Hash>,
    previous: Hash,
    segment_keys: Vec<Hex<32>>,
    announced: Option<Hex<32>>,
    /// Keys of the head tokens of each seal, by segment and epoch.
    head_keys: BTreeMap<(i64, u64), HeadKey>,
    last_epochs: Vec<Option<u64>>,
    end: (bool, Vec<u8>),
    seen: Seen,
}

type Checked<T> = Result<T, String>;

fn must(holds: bool, violation: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(violation()) }
}

/// Checks the log in a directory against the keys beside it.
pub(super) fn check(
    log: &Path,
    keys: &Path,
    auditor: &VerificationKey,
    host: &(String, Hex<32>),
) -> Checked<Seen> {
    let files: Vec<Vec<u8>> = (0..)
        .map_while(|segment| std::fs::read(log.join(segment_file(segment))).ok())
        .collect();
    let first = files
        .first()
        .and_then(|file| file.split(|byte| *byte == b'\n').next());
    let Some(Ok((_, Body::Head(head)))) = first.map(read_line) else {
        return Ok(Seen::default());
    };
    let birth = head.birth.as_ref().ok_or("BIRTH missing")?;
    let id = LogId(head.log);
    let master = auditor.master(birth.i.value()).ok_or("a large number")?;
    must(birth.series == auditor.series.0 && birth.hk == host.1, || {
        "BIRTH".to_owned()
    })?;
    let message = birth_message(&head.log, &birth.series, birth.i.value(), &birth.vk0);
    must(verifies(&host.1, &message, &birth.hs), || "BIRTH_CERT".to_owned())?;
    let mut check = Check {
        log: id,
        head_keys: BTreeMap::from([((-1, 0), master.birth_key(id))]),
        master,
        frontier: Frontier::default(),
        roots: BTreeMap::new(),
        previous: genesis(&head.log),
        segment_keys: Vec::new(),
        announced: None,
        last_epochs: Vec::new(),
        end: (true, Vec::new()),
        seen: Seen::default(),
    };
    for (number, file) in files.iter().enumerate() {
        let is_last = number + 1 == files.len();
        check.segment(number as u64, file, birth, is_last)?;
    }
    check.end(log, keys, host)?;
    Ok(check.seen)
}

impl Check {
    fn segment(&mut self, n: u64, file: &[u8], birth: &crate::format::Birth, is_last: bool) -> Checked<()> {
        let mut step = self.master.step(self.log, n);
        self.last_epochs.push(None);
        let (mut epoch, mut unsealed, mut is_closed) = (0, 0, false);
        let before = std::mem::take(&mut self.end);
        let whole = file
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let lines = file[..whole].split_inclusive(|byte| *byte == b'\n');
        for (at, line) in lines.map(|line| &line[..line.len() - 1]).enumerate() {
            let name = || format!("segment {n} line {at}");
            let (place, body) = read_line(line).map_err(|error| format!("{}: {error}", name()))?;
            must(!is_closed, || format!("{} LINE_AFTER_CLOSE", name()))?;
            must(place.segment == n, || format!("{} SEG_NUMBER", name()))?;
            must(place.sequence == self.seen.lines, || format!("{} SEQ", name()))?;
            must(place.previous == self.previous, || format!("{} CHAIN", name()))?;
            must(matches!(body, Body::Head(_)) == (at == 0), || {
                format!("{} HEADER_POSITION", name())
            })?;
            self.seen.kinds.push(body.kind().to_owned());
            match &body {
                Body::Head(head) => self.header(n, head, birth, &before)?,
                Body::Seal(seal) => {
                    must(seal.e.value() == epoch, || format!("{} EPOCH_GAP", name()))?;
                    must(seal.n.value() == unsealed, || format!("{} SEAL_COUNT", name()))?;
                    must(seal.r == self.frontier.root(), || format!("{} ROOT", name()))?;
                    must(seal.lost.0 >= self.seen.lost, || format!("{} LOST_BACK", name()))?;
                    let prefix = before_tag(line).unwrap_or_default();
                    let is_right = step.tag_key(epoch).verifies(self.log, prefix, &seal.tag);
                    must(is_right, || format!("{} TAG", name()))?;
                    self.head_keys
                        .insert((n.cast_signed(), epoch), step.head_key(epoch));
                    self.last_epochs[n as usize] = Some(epoch);
                    step = StepKey::next(&step, epoch);
                    self.seen.lost = seal.lost.0;
                    self.seen.flags.push(seal.f.value());
                    (epoch, unsealed, is_closed) = (epoch + 1, 0, seal.f.value() & 1 == 1);
                }
                _ => {}
            }
            if !matches!(body, Body::Seal(_)) {
                unsealed += 1;
            }
            self.previous = leaf(line);
            self.frontier.push(self.previous);
            self.seen.lines += 1;
            self.roots.insert(self.seen.lines, self.frontier.root());
        }
        must(whole == file.len() || !is_closed, || {
            format!("segment {n}: bytes after close")
        })?;
        must(epoch > 0 || is_last, || format!("segment {n} UNSEALED"))?;
        self.end = (is_closed, file[whole..].to_vec());
        self.seen.segments += 1;
        self.seen.is_closed = is_closed;
        self.master = self.master.next(self.log, n);
        Ok(())
    }

    fn header(
        &mut self,
        n: u64,
        head: &Head,
        birth: &crate::format::Birth,
        before: &(bool, Vec<u8>),
    ) -> Checked<()> {
        must(head.log == self.log.0, || "LOG_ID".to_owned())?;
        must(head.birth.as_ref() == Some(birth), || "BIRTH differs".to_owned())?;
        must(n > 0 || birth.vk0 == head.vk, || "BIRTH vk0".to_owned())?;
        must(self.announced.is_none_or(|key| key == head.vk), || {
            format!("SEGKEY_CHAIN {n}")
        })?;
        let message = segment_key_message(&head.log, n, &head.vk, &head.nvk);
        must(verifies(&head.vk, &message, &head.ks), || {
            format!("SEGKEY_SIG {n}")
        })?;
        self.announced = Some(head.nvk);
        self.segment_keys.push(head.vk);
        self.seen.previous.push(head.prev.clone());
        let previous = &head.prev;
        let Some(m) = n.checked_sub(1) else {
            return must(*previous == Previous::NONE, || {
                "PREV_STATE of the first".to_owned()
            });
        };
        let (is_closed, tail) = before;
        let state = if *is_closed {
            PreviousState::Closed
        } else {
            PreviousState::Crash
        };
        let is_right = previous.seg.map(crate::format::Count::value) == Some(m)
            && previous.state == state
            && previous.last_seq.map(crate::format::Count::value) == self.seen.lines.checked_sub(1)
            && previous.last_e.map(crate::format::Count::value) == self.last_epochs[m as usize];
        must(is_right, || format!("PREV_STATE of {n}: {previous:?}"))?;
        if *is_closed {
            return must(previous.tail.is_none(), || format!("PREV_STATE of {n}"));
        }
        let sha256: [u8; 32] = sha2::Digest::finalize(sha2::Digest::chain_update(
            <sha2::Sha256 as sha2::Digest>::new(),
            tail,
        ))
        .into();
        let is_right = previous.tail.map(crate::format::Count::value) == Some(tail.len() as u64)
            && previous.tail_sha256 == Some(Hex(sha256));
        must(is_right, || format!("PREV_STATE of {n}: tail"))?;
        self.token(previous.head.as_ref(), m)
    }

    /// The rule for a token that goes with segment `n`, which is the last one so far.
    fn token(&self, found: Option<&FoundToken>, n: u64) -> Checked<()> {
        let found = found.ok_or("HEADTOK_MISSING")?;
        let token = Token::read(found.b.as_bytes()).ok_or("HEADTOK_FORGED: no token")?;
        let tag = Hex::parse(&found.tag).ok_or("HEADTOK_FORGED: no tag")?;
        let epoch = token.e.value();
        must(token.seg <= n.cast_signed(), || {
            "TRUNCATED_TAIL: segment".to_owned()
        })?;
        let last = |segment: i64| usize::try_from(segment).ok().and_then(|at| self.last_epochs[at]);
        if token.seg >= 0 {
            let last = last(token.seg).ok_or("TRUNCATED_TAIL: no seal")?;
            must(epoch <= last, || "TRUNCATED_TAIL: epoch".to_owned())?;
            must(last - epoch <= 1, || "HEADTOK_STALE: epoch".to_owned())?;
        }
        for segment in token.seg + 1..=n.cast_signed() {
            must(last(segment).unwrap_or(0) == 0, || {
                "HEADTOK_STALE: segment".to_owned()
            })?;
        }
        let key = self
            .head_keys
            .get(&(token.seg, epoch))
            .ok_or("HEADTOK_FORGED: no such seal")?;
        must(key.verifies(found.b.as_bytes(), &tag), || {
            "HEADTOK_FORGED: tag".to_owned()
        })
    }

    fn end(&mut self, log: &Path, keys: &Path, host: &(String, Hex<32>)) -> Checked<()> {
        let top = self.seen.segments - 1;
        let file = std::fs::read(log.join("head")).map_err(|error| format!("head: {error}"))?;
        let found = split_file(&file).map(|(b, tag)| FoundToken {
            b: b.to_owned(),
            tag: tag.to_owned(),
        });
        self.token(found.as_ref(), top)?;
        self.checkpoints(log, host)?;
        let directory = KeyDirectory::open(keys).map_err(|error| error.to_string())?;
        let state =
            LogKeys::open(&directory.ok_or("no keys")?, self.log).map_err(|error| error.to_string())?;
        let (lowest, highest) = (state.lowest().unwrap_or(u64::MAX), state.highest().unwrap_or(0));
        // A segment whose header is not whole yet is no segment: its number is still the next one.
        let fits = lowest <= top + 1 && highest > top;
        must(fits, || format!("KEYSTATE_GEN {lowest}..={highest}, top {top}"))
    }

    fn checkpoints(&mut self, log: &Path, (host, public): &(String, Hex<32>)) -> Checked<()> {
        let origin = log_origin(host, &self.log.0);
        let text = std::fs::read_to_string(log.join("checkpoints")).unwrap_or_default();
        let Some(whole) = text.rfind("%%\n") else {
            return Ok(());
        };
        for note in text[..whole].split("%%\n") {
            let note = Note::read(note).ok_or_else(|| format!("no note: {note:?}"))?;
            let checkpoint = &note.checkpoint;
            must(checkpoint.origin == origin, || "CP_ORIGIN".to_owned())?;
            let root = self.roots.get(&checkpoint.size);
            let root = root.ok_or("LOG_SHORTER_THAN_CHECKPOINT")?;
            must(*root == checkpoint.root, || "CP_ROOT".to_owned())?;
            let [of_host, of_segment] = &note.signatures[..] else {
                return Err("CP_SIG: not two signatures".to_owned());
            };
            let segment = self.segment_keys.iter().enumerate().find(|(n, key)| {
                let name = segment_key_name(&origin, *n as u64);
                of_segment.name == name && of_segment.key_id == key_id(&name, key)
            });
            let (_, segment_key) = segment.ok_or("CP_SIG: an unknown segment")?;
            for (key, signature) in [(public, of_host), (segment_key, of_segment)] {
                let bytes = <[u8; 64]>::try_from(&*signature.signature).map_err(|_| "CP_SIG: length")?;
                let message = checkpoint.text();
                must(verifies(key, message.as_bytes(), &Hex(bytes)), || {
                    "CP_SIG".to_owned()
                })?;
            }
            self.seen.checkpoints += 1;
        }
        Ok(())
    }
}
