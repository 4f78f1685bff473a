//! What an act is about, in one name: for findings and lineage.

use crate::enrich::{AccessSet, Act, Enriched, File, Origin};

/// What an act is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Path, address or program; of a script the script. `None` where it is not known.
    pub name: Option<&'a [u8]>,
    /// What an open did with it, or was to do.
    pub access: AccessSet,
    /// Where its file comes from, if there is one.
    pub origin: Option<&'a Origin>,
}

impl Enriched {
    /// What the act is about.
    #[must_use]
    pub fn object(&self) -> Object<'_> {
        let (name, access, file) = match self.act() {
            Act::Open(opened) => (
                opened.path.as_deref().or(opened.text.best()),
                opened.access,
                opened.file.as_ref(),
            ),
            Act::Contact(contact) => (
                contact.address.as_deref(),
                AccessSet::default(),
                contact.file.as_ref(),
            ),
            Act::Exec(executed) => {
                let path = executed.file.as_ref().and_then(File::path);
                (
                    executed.script.as_deref().or(path),
                    AccessSet::default(),
                    executed.file.as_ref(),
                )
            }
            Act::ExecAttempt(attempted) => {
                let name = attempted.path.as_deref().or(attempted.text.best());
                (name, AccessSet::default(), attempted.file.as_ref())
            }
            Act::Life => (None, AccessSet::default(), None),
        };
        Object {
            name,
            access,
            origin: file.map(File::origin),
        }
    }
}
