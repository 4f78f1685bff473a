//! A file as the kernel's object shows it: facts, path, mount point, origin, and the words for them.

use std::borrow::Cow;

use rei_ebpf_common::file::{FileFacts, file_flag};
use rei_ebpf_common::header::missing;
use rei_ebpf_common::part::PartTag;

use crate::decode::Event;
use crate::enrich::access::file_type;
use crate::enrich::file_system;
use crate::enrich::origin::Origin;

/// A file as the kernel's object shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub(super) facts: FileFacts,
    pub(super) path: Option<Vec<u8>>,
    pub(super) origin: Origin,
}

impl File {
    /// What the kernel side read from the object.
    #[must_use]
    pub fn facts(&self) -> &FileFacts {
        &self.facts
    }

    /// Its path in the container's mount namespace. Without a leading slash where there is no way from the
    /// root: an object of no directory (`memfd:x`, `pipe:[12]`), or a path whose beginning was cut or could
    /// not be read.
    #[must_use]
    pub fn path(&self) -> Option<&[u8]> {
        self.path.as_deref()
    }

    /// Where it comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the flag (see [`file_flag`]) is set.
    #[must_use]
    pub fn is(&self, flag: u32) -> bool {
        self.facts.flags & flag != 0
    }

    /// Name of the file system, or its magic number.
    #[must_use]
    pub fn fs_words(&self) -> Cow<'static, str> {
        match file_system::name(self.facts.magic) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("{:#x}", self.facts.magic)),
        }
    }

    /// `major:minor` of the device that it is on.
    #[must_use]
    pub fn dev_words(&self) -> String {
        device_words(self.facts.dev)
    }

    /// `major:minor` of the device that it stands for, if it is a device node.
    #[must_use]
    pub fn rdev_words(&self) -> Option<String> {
        let kind = self.facts.mode & file_type::MASK;
        [file_type::CHARACTER, file_type::BLOCK]
            .contains(&kind)
            .then(|| device_words(self.facts.rdev))
    }

    /// Mode in octal, type included.
    #[must_use]
    pub fn mode_words(&self) -> String {
        format!("{:o}", self.facts.mode)
    }

    /// The layer of an overlay that it is in: `upper`, `lower`; `None` elsewhere.
    #[must_use]
    pub fn overlay_name(&self) -> Option<&'static str> {
        let is_upper = self.is(file_flag::OVERLAY_UPPER);
        self.is(file_flag::OVERLAY_KNOWN)
            .then_some(if is_upper { "upper" } else { "lower" })
    }

    /// Names of what else is true of it.
    pub fn flag_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        const FLAGS: [(u32, &str); 4] = [
            (file_flag::DELETED, "deleted"),
            (file_flag::DETACHED, "detached"),
            (file_flag::FOREIGN_NS, "foreign_mount_namespace"),
            (file_flag::DISCONNECTED, "disconnected"),
        ];
        FLAGS
            .into_iter()
            .filter(|(flag, _)| self.is(*flag))
            .map(|(_, name)| name)
    }
}

/// The kernel's encoding of a device: major << 20 | minor.
fn device_words(number: u32) -> String {
    format!("{}:{}", number >> 20, number & 0xf_ffff)
}

/// Renders the part `Path` of an object.
pub(super) fn render_path(event: &Event, facts: &FileFacts) -> Option<Vec<u8>> {
    let mut path = event.path(PartTag::Path)?;
    if facts.flags & file_flag::DISCONNECTED != 0 {
        path.remove(0);
        return Some(render_nameless(path, facts));
    }
    if event.is_missing(missing::PATH_CUT | missing::PATH_UNREADABLE) {
        path.remove(0);
    }
    Some(path)
}

/// Objects of no directory, as /proc/PID/fd shows them.
fn render_nameless(name: Vec<u8>, facts: &FileFacts) -> Vec<u8> {
    let kind = match facts.magic {
        file_system::PIPEFS => "pipe",
        file_system::SOCKFS => "socket",
        file_system::NSFS => "ns",
        file_system::ANON_INODE => return [b"anon_inode:", name.as_slice()].concat(),
        _ if name.is_empty() => "disconnected",
        _ => return name,
    };
    format!("{kind}:[{}]", facts.ino).into_bytes()
}

/// The directory that the file's mount is mounted on, from the components that do not belong to the mount.
/// `None` where the path does not reach the root of the container's mount namespace.
pub(super) fn mount_point(event: &Event, facts: &FileFacts) -> Option<Vec<u8>> {
    let off_the_tree = file_flag::DISCONNECTED | file_flag::DETACHED | file_flag::FOREIGN_NS;
    if facts.flags & off_the_tree != 0 || event.is_missing(missing::PATH_CUT | missing::PATH_UNREADABLE) {
        return None;
    }
    let leaf_first = event.part(PartTag::Path)?;
    let components: Vec<&[u8]> = leaf_first
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    let own = usize::try_from(facts.mount_components).ok()?;
    let above = components.get(own..)?;
    if above.is_empty() {
        return Some(b"/".to_vec());
    }
    Some(
        above
            .iter()
            .rev()
            .flat_map(|name| [b"/", *name].concat())
            .collect(),
    )
}
