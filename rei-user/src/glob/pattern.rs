//! Patterns with `${entrypoint}` and `${workdir}` in them: text → [`Pattern`] → [`Glob`], once a container is known.

use super::{Glob, Variable};

/// A pattern of objects that may hold variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    fixed: Option<Glob>,
}

/// Variables that a pattern may hold.
const VARIABLES: [&str; 2] = ["entrypoint", "workdir"];

impl Pattern {
    /// Reads it, and tries it with values in place of the variables.
    ///
    /// # Errors
    /// In words, if it can never match or names an unknown variable.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = Glob::variables(text);
        if let Some(unknown) = names.iter().find(|name| !VARIABLES.contains(name)) {
            return Err(format!(
                "there is no variable {unknown:?}; there are ${{entrypoint}} and ${{workdir}}"
            ));
        }
        let tried = VARIABLES.map(|name| Variable(name, Some(b"/x")));
        let substituted = Glob::substituted(text, &tried).unwrap_or_else(|| text.to_owned());
        let glob = Glob::object(&substituted)?;
        Ok(Pattern {
            text: text.to_owned(),
            fixed: names.is_empty().then_some(glob),
        })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The pattern, where it holds no variable.
    #[must_use]
    pub fn fixed(&self) -> Option<&Glob> {
        self.fixed.as_ref()
    }

    /// The pattern with its variables' values; `None` where a value is not known: then it matches nothing.
    #[must_use]
    pub fn bind(&self, variables: &[Variable<'_>]) -> Option<Glob> {
        match &self.fixed {
            Some(glob) => Some(glob.clone()),
            None => match Glob::substituted(&self.text, variables)?.as_str() {
                // The root directory, whose slash was taken off.
                "" => Glob::object("/").ok(),
                text => Glob::object(text).ok(),
            },
        }
    }
}
