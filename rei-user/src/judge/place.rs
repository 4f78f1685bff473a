//! What kind of object an open is about, for its tool name.

use crate::enrich::{Access, AccessSet};

/// What kind of object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A device node.
    Device,
    /// A file of the kernel's own file systems.
    Kernel,
    /// Anything else.
    Other,
}

impl Place {
    /// By the text alone: of an open that failed nothing else is known.
    #[must_use]
    pub fn of_text(path: &[u8]) -> Self {
        if path.starts_with(b"/dev/") && !path.starts_with(b"/dev/shm/") {
            Place::Device
        } else if path.starts_with(b"/proc/") || path.starts_with(b"/sys/") {
            Place::Kernel
        } else {
            Place::Other
        }
    }

    /// The tool name of an open.
    #[must_use]
    pub fn tool_name(self, access: AccessSet) -> &'static str {
        match self {
            Place::Device if access.changes() => "write_device",
            Place::Device => "read_device",
            Place::Kernel if access.changes() => "write_kernel",
            Place::Kernel => "read_kernel",
            Place::Other if access.changes() => "write_file",
            Place::Other if access.has(Access::Directory) => "list_directory",
            Place::Other => "read_file",
        }
    }
}

/// Whose entry a path of /proc is; `None` if it is no process's. `own_pid` is the acting process, 0 if unknown.
#[must_use]
pub fn process_of(path: &[u8], own_pid: u32) -> Option<&'static str> {
    let name = path.strip_prefix(b"/proc/")?.split(|byte| *byte == b'/').next()?;
    if name == b"self" || name == b"thread-self" || name == own_pid.to_string().as_bytes() {
        return Some("self");
    }
    (!name.is_empty() && name.iter().all(u8::is_ascii_digit)).then_some("other")
}

/// The tool name of an exec: the program's base name.
#[must_use]
pub fn program_name(path: Option<&[u8]>) -> String {
    let name = path.and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}
