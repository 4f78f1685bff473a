//! The programs that a policy declares, found in an image when the run starts: name → file, and its SHA-256.
//!
//! A bare name is looked up in PATH, and symlinks are followed: `python3` is `/usr/bin/python3.11`. Records hold both
//! names. Patterns stand for themselves and are not looked for.

use std::fmt::Write as _;
use std::fs::File;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::engine::ContainerFacts;
use crate::glob::Variable;
use crate::image::{Absence, Image, Source};
use crate::policy::{Policy, Program, ProgramName};

/// The usual PATH, where a container has none: execvp(3).
const USUAL_SEARCH_PATH: &str = "/bin:/usr/bin";
/// Words of a command line that are looked up. A container that has more of them is not started by hand.
const WORDS_MAX: usize = 1024;

/// A declared program, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundProgram {
    /// The rule's place among the policy's programs.
    pub place: usize,
    /// The rule's name.
    pub rule: String,
    /// The path or the bare name, as declared.
    pub declared: String,
    /// Its path, or what was found for it in PATH, before symlinks were followed.
    pub name: Option<Vec<u8>>,
    /// The file, without symlinks.
    pub path: Option<Vec<u8>>,
    /// Its SHA-256, where the rule names one.
    pub sha256: Option<[u8; 32]>,
    /// Whose files were looked at.
    pub source: Source,
    /// Why there is no file, or no SHA-256, or the wrong one.
    pub fault: Option<String>,
}

/// Where programs are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The value of PATH, if it has one.
    pub search_path: Option<&'a str>,
    /// The working directory.
    pub workdir: Option<&'a [u8]>,
}

/// The programs that the policy declares, in a container.
#[must_use]
pub fn in_container(policy: &Policy, facts: &ContainerFacts) -> Vec<FoundProgram> {
    let image = Image::of_container(facts);
    let search = Search {
        search_path: facts.search_path.as_deref(),
        workdir: Some(facts.workdir.as_deref().unwrap_or("/").as_bytes()),
    };
    find(policy, Source::Image, &image, search)
}

/// The programs that the policy declares, on this machine.
#[must_use]
pub fn on_host(policy: &Policy, search: Search<'_>) -> Vec<FoundProgram> {
    find(policy, Source::Host, &Ok(Image::host()), search)
}

/// Files of the image that the words of Entrypoint and Cmd lead to; `None` if its layers cannot be read.
#[must_use]
pub fn named(facts: &ContainerFacts) -> Option<Vec<Vec<u8>>> {
    let image = Image::of_container(facts).ok()?;
    let workdir = facts.workdir.as_deref().unwrap_or("/").as_bytes();
    let search_path = facts.search_path.as_deref().unwrap_or(USUAL_SEARCH_PATH);
    let mut files = Vec::new();
    for word in facts.argv.iter().map(String::as_bytes).take(WORDS_MAX) {
        let found = match word {
            b"" => continue,
            [b'/', ..] => image.find(word),
            _ if word.contains(&b'/') => image.find(&[workdir, b"/", word].concat()),
            _ => image.look_up(word, search_path).map(|(_, file)| file),
        };
        match found {
            Ok(file) => files.push(file.path),
            // A word may be anything; one that is too long to be a name is none.
            Err(Absence::Unreadable(_, error)) if error.kind() != io::ErrorKind::InvalidFilename => {
                return None;
            }
            Err(_) => {}
        }
    }
    Some(files)
}

fn find(
    policy: &Policy,
    source: Source,
    image: &Result<Image, String>,
    search: Search<'_>,
) -> Vec<FoundProgram> {
    let rules = policy.programs.iter().enumerate();
    let found = rules
        .filter(|(_, rule)| rule.what.is_from(source.name()))
        .filter_map(|(place, rule)| {
            let literal = rule.what.literal(&[Variable("workdir", search.workdir)])?;
            let mut found = FoundProgram {
                place,
                rule: rule.name.clone(),
                declared: rule.what.name.text().to_owned(),
                name: None,
                path: None,
                sha256: None,
                source,
                fault: None,
            };
            let file = match image {
                Ok(image) => found.look(&rule.what, literal, image, search),
                Err(why) => {
                    found.fault = Some(why.clone());
                    None
                }
            };
            Some((found, file))
        });
    // Every file is open before the first is read: a container that ends meanwhile may take its layers with it.
    let found: Vec<(FoundProgram, Option<File>)> = found.collect();
    found
        .into_iter()
        .map(|(mut found, file)| {
            let wanted = policy.programs.get(found.place).and_then(|rule| rule.what.sha256);
            if let (Some(wanted), Some(file)) = (wanted, file) {
                found.hash(file, &wanted);
            }
            found
        })
        .collect()
}

impl FoundProgram {
    /// Finds the file; opens it, if the rule names a SHA-256.
    fn look(
        &mut self,
        program: &Program,
        literal: Vec<u8>,
        image: &Image,
        search: Search<'_>,
    ) -> Option<File> {
        let result = match &program.name {
            ProgramName::Command(_) => image
                .look_up(&literal, search.search_path.unwrap_or(USUAL_SEARCH_PATH))
                .map_err(|absence| format!("in PATH, {absence}")),
            ProgramName::Path(_) => match image.find(&literal) {
                Ok(file) => Ok((literal, file)),
                Err(absence) => Err(absence.to_string()),
            },
        };
        let (name, file) = result.map_err(|fault| self.fault = Some(fault)).ok()?;
        self.name = Some(name);
        self.path = Some(file.path.clone());
        program.sha256?;
        file.open()
            .map_err(|error| self.fault = Some(unreadable(&error)))
            .ok()
    }

    fn hash(&mut self, file: File, wanted: &[u8; 32]) {
        match sha256(file) {
            Ok(found) => {
                if found != *wanted {
                    self.fault = Some("the file has another SHA-256 than the rule names".to_owned());
                }
                self.sha256 = Some(found);
            }
            Err(error) => self.fault = Some(unreadable(&error)),
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("the file cannot be read for its SHA-256: {error}")
}

fn sha256(mut file: File) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match io::Read::read(&mut file, &mut chunk)? {
            0 => return Ok(digest.finalize().into()),
            count => digest.update(&chunk[..count]),
        }
    }
}

/// A digest as hexadecimal digits.
#[must_use]
pub fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::policy::Source as PolicySource;

    /// SHA-256 of nothing.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn policy(text: &str) -> Policy {
        Policy::parse(text, PolicySource::Shipped)
            .unwrap_or_else(|problems| panic!("{problems}"))
            .policy
    }

    /// A container whose image has `/usr/bin/tool-2` (empty), `/usr/bin/tool` that leads to it, and `/job`.
    fn facts(directory: &std::path::Path) -> ContainerFacts {
        let bin = directory.join("usr/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(directory.join("job")).unwrap();
        for file in [bin.join("tool-2"), directory.join("job/step")] {
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink("tool-2", bin.join("tool")).unwrap();
        ContainerFacts {
            layers: vec![directory.to_owned()],
            search_path: Some("/usr/local/bin:/usr/bin".to_owned()),
            workdir: Some("/job".to_owned()),
            ..ContainerFacts::default()
        }
    }

    #[test]
    fn each_declared_program_is_found_or_not_and_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let facts = facts(directory.path());
        let wrong = EMPTY.replace('e', "0");
        // declared, name, path, fault
        struct Row<'r>(&'r str, Option<&'r str>, Option<&'r str>, Option<&'r str>);
        let table: [Row<'_>; 6] = [
            Row("\"tool\"", Some("/usr/bin/tool"), Some("/usr/bin/tool-2"), None),
            Row(
                "\"/usr/bin/tool\"",
                Some("/usr/bin/tool"),
                Some("/usr/bin/tool-2"),
                None,
            ),
            Row("\"${workdir}/step\"", Some("/job/step"), Some("/job/step"), None),
            Row("\"other\"", None, None, Some("in PATH, there is no such file")),
            Row(
                &format!("{{ path = \"/usr/bin/tool\", sha256 = \"{EMPTY}\" }}"),
                Some("/usr/bin/tool"),
                Some("/usr/bin/tool-2"),
                None,
            ),
            Row(
                &format!("{{ path = \"tool\", sha256 = \"{wrong}\" }}"),
                Some("/usr/bin/tool"),
                Some("/usr/bin/tool-2"),
                Some("the file has another SHA-256 than the rule names"),
            ),
        ];
        for Row(declared, name, path, fault) in table {
            let found = in_container(&policy(&format!("programs = [{declared}]")), &facts);
            let [found] = found.as_slice() else {
                panic!("{declared}: {found:?}")
            };
            assert_eq!(found.name.as_deref(), name.map(str::as_bytes), "{declared}");
            assert_eq!(found.path.as_deref(), path.map(str::as_bytes), "{declared}");
            assert_eq!(found.fault.as_deref(), fault, "{declared}");
            let is_hashed = declared.contains("sha256");
            assert_eq!(
                found.sha256.map(|digest| hexadecimal(&digest)),
                is_hashed.then(|| EMPTY.to_owned())
            );
        }
    }

    #[test]
    fn the_words_of_a_command_line_lead_to_files() {
        let directory = tempfile::tempdir().unwrap();
        let long = "x".repeat(300);
        let words = [
            "/usr/bin/tool",
            "-c",
            "./step",
            "tool-2",
            "",
            "gone/x",
            "/job/../job/step",
            "echo a; b",
            &long,
        ];
        let facts = ContainerFacts {
            argv: words.map(str::to_owned).to_vec(),
            ..facts(directory.path())
        };
        let named: Vec<String> = named(&facts)
            .unwrap()
            .into_iter()
            .map(|path| String::from_utf8(path).unwrap())
            .collect();
        assert_eq!(
            named,
            ["/usr/bin/tool-2", "/job/step", "/usr/bin/tool-2", "/job/step"]
        );
        assert_eq!(super::named(&ContainerFacts::default()), None);
        let gone = ContainerFacts {
            layers: vec!["/nowhere".into()],
            ..facts
        };
        assert_eq!(super::named(&gone), None);
    }

    #[test]
    fn patterns_and_files_from_elsewhere_are_not_looked_for() {
        let directory = tempfile::tempdir().unwrap();
        let facts = facts(directory.path());
        let text =
            "programs = [\"/usr/bin/*\", \"${entrypoint}\", { path = \"/job/step\", origins = [\"bind\"] }]";
        assert_eq!(in_container(&policy(text), &facts), []);
    }

    #[test]
    fn without_layers_nothing_is_found() {
        let facts = ContainerFacts {
            storage_driver: Some("zfs".to_owned()),
            ..ContainerFacts::default()
        };
        let found = in_container(&policy("programs = [\"/bin/*\", \"/bin/sh\"]"), &facts);
        let [found] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert!(found.path.is_none() && found.fault.as_ref().unwrap().contains("zfs"));
    }

    #[test]
    fn on_the_host_the_files_are_the_hosts() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        facts(&real);
        let bin = format!("{}/usr/bin", real.display());
        let search = Search {
            search_path: Some(&bin),
            workdir: None,
        };
        let found = on_host(&policy("programs = [\"tool\"]"), search);
        assert_eq!(found[0].path.as_deref(), Some(format!("{bin}/tool-2").as_bytes()));
        assert_eq!(found[0].source, Source::Host);
    }
}
