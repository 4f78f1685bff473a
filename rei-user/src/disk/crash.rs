//! What a crash leaves, for tests: every state of a directory between two durable steps, and with a torn
//! write.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::watch;

/// The content of a directory at one moment.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    directories: Vec<PathBuf>,
    files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

impl Snapshot {
    pub(crate) fn take(root: &Path) -> Self {
        let mut snapshot = Snapshot {
            directories: Vec::new(),
            files: BTreeMap::new(),
        };
        snapshot.add(root, Path::new(""));
        snapshot
    }

    fn add(&mut self, root: &Path, below: &Path) {
        for entry in fs::read_dir(root.join(below)).expect("a directory of the test") {
            let entry = entry.expect("an entry");
            let name = below.join(entry.file_name());
            let metadata = entry.metadata().expect("an entry's metadata");
            if metadata.is_dir() {
                self.directories.push(name.clone());
                self.add(root, &name);
            } else {
                let content = fs::read(entry.path()).expect("a file of the test");
                self.files.insert(name, (metadata.permissions().mode(), content));
            }
        }
    }

    /// Puts everything into an empty directory.
    pub(crate) fn restore(&self, root: &Path) {
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of the test");
        };
        for directory in &self.directories {
            fs::create_dir_all(root.join(directory)).expect("a directory of the test");
            set(&root.join(directory), 0o700);
        }
        for (name, (mode, content)) in &self.files {
            fs::write(root.join(name), content).expect("a file of the test");
            set(&root.join(name), *mode);
        }
    }

    /// This state, with the writes that lead to the next one cut short, in the files that can be torn.
    fn torn(&self, next: &Snapshot, can_tear: fn(&Path) -> bool) -> Vec<Snapshot> {
        let mut states = Vec::new();
        for (name, (mode, after)) in next.files.iter().filter(|(name, _)| can_tear(name)) {
            let Some((_, before)) = self.files.get(name) else {
                continue;
            };
            let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
            let end = (same..after.len())
                .rev()
                .find(|at| before.get(*at) != after.get(*at))
                .map_or(same, |at| at + 1);
            let length = end - same;
            for cut in [1, length / 3, length.saturating_sub(1)] {
                if cut == 0 || cut >= length {
                    continue;
                }
                let mut content = after[..same + cut].to_vec();
                content.extend_from_slice(before.get(same + cut..).unwrap_or_default());
                let mut state = self.clone();
                state.files.insert(name.clone(), (*mode, content));
                states.push(state);
            }
        }
        states
    }
}

/// Every state that a crash during `action` could leave in `root`, in order: before each durable step, with
/// each write torn where `can_tear` says so of its file, and at the end.
pub(crate) fn states<T>(
    root: &Path,
    can_tear: fn(&Path) -> bool,
    action: impl FnOnce() -> T,
) -> (Vec<Snapshot>, T) {
    let taken = Rc::new(RefCell::new(Vec::new()));
    let (sink, from) = (Rc::clone(&taken), root.to_owned());
    let watcher = move |_| {
        sink.borrow_mut().push(Snapshot::take(&from));
        Ok(())
    };
    let result = watch::with(watcher, action);
    taken.borrow_mut().push(Snapshot::take(root));
    let mut whole = taken.take();
    whole.dedup_by(|next, before| next == before);
    let mut states = Vec::new();
    for (at, state) in whole.iter().enumerate() {
        states.push(state.clone());
        if let Some(next) = whole.get(at + 1) {
            states.extend(state.torn(next, can_tear));
        }
    }
    (states, result)
}
