//! A `docker run` command line as the user wrote it: which engine it talks to, and where its container id
//! goes.
//!
//! Takes the words after `rei run --`. Gives a [`DockerRun`], or `None` if the words are something else.
//! Only what rei needs is understood; whatever docker itself would refuse is left to docker.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Options of the docker CLI itself (before the subcommand) that take a value.
const GLOBAL_WITH_VALUE: [&str; 10] = [
    "--config",
    "--context",
    "--host",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "-H",
    "-c",
    "-l",
];

/// Options of `docker run` that take no value (docker CLI 20.10 to 28); every other option takes one.
const RUN_WITHOUT_VALUE: [&str; 15] = [
    "--detach",
    "--disable-content-trust",
    "--help",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--rm",
    "--sig-proxy",
    "--tty",
    "--use-api-socket",
];
/// One-letter options of `docker run` without a value.
const RUN_LETTERS_WITHOUT_VALUE: &[u8] = b"diPqt";

/// A `docker run` that the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DockerRun {
    words: Vec<OsString>,
    /// Index of the first word after `run`.
    options_at: usize,
    /// Where docker writes the container's id, if the user asked for that.
    cidfile: Option<PathBuf>,
    detached: bool,
    host: Option<OsString>,
    context: Option<OsString>,
    config: Option<PathBuf>,
}

/// Whether the words are a `podman run`, which needs an engine that rei does not know yet.
#[must_use]
pub fn is_podman_run(words: &[OsString]) -> bool {
    words.first().is_some_and(|word| file_name(word) == "podman") && subcommand_at(words).is_some()
}

impl DockerRun {
    /// Reads a command line; `None` if it is no `docker run` or `docker container run`.
    #[must_use]
    pub fn parse(words: &[OsString]) -> Option<Self> {
        if words.first().is_none_or(|word| file_name(word) != "docker") {
            return None;
        }
        let options_at = subcommand_at(words)?;
        let mut parsed = Self {
            words: words.to_vec(),
            options_at,
            cidfile: None,
            detached: false,
            host: None,
            context: None,
            config: None,
        };
        parsed.read_global_options();
        parsed.read_run_options();
        Some(parsed)
    }

    /// File that docker writes the container's id to, if the user named one.
    #[must_use]
    pub fn cidfile(&self) -> Option<&Path> {
        self.cidfile.as_deref()
    }

    /// Whether the docker CLI exits while the container runs on.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Value of `-H`.
    #[must_use]
    pub fn host(&self) -> Option<&OsStr> {
        self.host.as_deref()
    }

    /// Value of `--context`.
    #[must_use]
    pub fn context(&self) -> Option<&OsStr> {
        self.context.as_deref()
    }

    /// Value of `--config`.
    #[must_use]
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The program, as the user wrote it.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.words[0]
    }

    /// Whether the program is there to be started.
    #[must_use]
    pub fn is_installed(&self) -> bool {
        let program = Path::new(self.program());
        if program.components().count() > 1 {
            return program.exists();
        }
        let search_path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&search_path).any(|directory| directory.join(program).is_file())
    }

    /// The command line as the user wrote it.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The command line with `--cidfile` added.
    #[must_use]
    pub fn with_cidfile(&self, cidfile: &Path) -> Vec<OsString> {
        let mut words = self.words.clone();
        let option = [OsString::from("--cidfile"), cidfile.as_os_str().to_owned()];
        words.splice(self.options_at..self.options_at, option);
        words
    }

    fn read_global_options(&mut self) {
        let before = self.words[1..self.options_at].to_vec();
        let mut rest = before.into_iter();
        while let Some(word) = rest.next() {
            let (name, attached) = split_option(&word, b"Hcl");
            let value = match attached {
                Some(value) => value,
                None if takes_global_value(&name) => rest.next().unwrap_or_default(),
                None => continue,
            };
            match name.as_bytes() {
                b"-H" | b"--host" => self.host = Some(value),
                b"-c" | b"--context" => self.context = Some(value),
                b"--config" => self.config = Some(value.into()),
                _ => {}
            }
        }
    }

    fn read_run_options(&mut self) {
        let options = self.words[self.options_at..].to_vec();
        let mut rest = options.into_iter();
        while let Some(word) = rest.next() {
            let bytes = word.as_bytes();
            if bytes == b"--" || bytes == b"-" || !bytes.starts_with(b"-") {
                break; // The image; what follows belongs to the container.
            }
            if bytes.starts_with(b"--") {
                let (name, attached) = split_option(&word, b"");
                let has_value = !runs_without_value(&name);
                let value = if has_value && attached.is_none() {
                    rest.next()
                } else {
                    attached
                };
                match name.as_bytes() {
                    b"--cidfile" => self.cidfile = value.filter(|value| !value.is_empty()).map(PathBuf::from),
                    b"--detach" => self.detached = value.is_none_or(|value| is_true(&value)),
                    _ => {}
                }
            } else if self.read_letters(&bytes[1..]) {
                rest.next();
            }
        }
    }

    /// Reads a cluster of one-letter options; true if its last one takes the next word as its value.
    fn read_letters(&mut self, cluster: &[u8]) -> bool {
        let mut letters = cluster;
        while let Some((letter, tail)) = letters.split_first() {
            if !RUN_LETTERS_WITHOUT_VALUE.contains(letter) {
                return tail.is_empty();
            }
            let explicit = tail.strip_prefix(b"=");
            if *letter == b'd' {
                self.detached = explicit.is_none_or(|value| is_true(OsStr::from_bytes(value)));
            }
            if explicit.is_some() {
                return false;
            }
            letters = tail;
        }
        false
    }
}

/// Index of the first word after `run` or `container run`.
fn subcommand_at(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if !word.as_bytes().starts_with(b"-") {
            break;
        }
        let (name, attached) = split_option(word, b"Hcl");
        at += if attached.is_none() && takes_global_value(&name) {
            2
        } else {
            1
        };
    }
    if words.get(at).is_some_and(|word| word == "container") {
        at += 1;
    }
    words.get(at).filter(|word| *word == "run").map(|_| at + 1)
}

/// Splits `--name=value`; and `-Xvalue` or `-X=value` where the letter is one of `letters`.
fn split_option(word: &OsStr, letters: &[u8]) -> (OsString, Option<OsString>) {
    let bytes = word.as_bytes();
    if !bytes.starts_with(b"--") && bytes.len() > 2 && letters.contains(&bytes[1]) {
        let value = bytes[2..].strip_prefix(b"=").unwrap_or(&bytes[2..]);
        return (
            OsStr::from_bytes(&bytes[..2]).to_owned(),
            Some(OsStr::from_bytes(value).to_owned()),
        );
    }
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (
            OsStr::from_bytes(&bytes[..at]).to_owned(),
            Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned()),
        ),
        None => (word.to_owned(), None),
    }
}

fn takes_global_value(name: &OsStr) -> bool {
    GLOBAL_WITH_VALUE.iter().any(|known| name == *known)
}

fn runs_without_value(name: &OsStr) -> bool {
    RUN_WITHOUT_VALUE.iter().any(|known| name == *known)
}

/// Go's `strconv.ParseBool`, which docker uses; what it refuses, docker refuses.
fn is_true(value: &OsStr) -> bool {
    matches!(value.as_bytes(), b"1" | b"t" | b"T" | b"true" | b"TRUE" | b"True")
}

fn file_name(word: &OsStr) -> &OsStr {
    Path::new(word).file_name().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn parse(line: &str) -> DockerRun {
        DockerRun::parse(&words(line)).unwrap_or_else(|| panic!("not understood: {line}"))
    }

    #[test]
    fn other_commands_are_not_docker_run() {
        for line in [
            "ls run",
            "docker",
            "docker ps",
            "docker exec run x",
            "docker container ls",
            "docker --context run ps",
            "docker -H",
            "dockerd run x",
            "docker container",
            "docker help run",
        ] {
            assert_eq!(DockerRun::parse(&words(line)), None, "{line}");
        }
        assert_eq!(DockerRun::parse(&[]), None);
    }

    #[test]
    fn finds_run_after_global_options() {
        for (line, at) in [
            ("docker run x", 2),
            ("/usr/bin/docker run x", 2),
            ("docker container run x", 3),
            ("docker --context remote run x", 4),
            ("docker --context=remote -D run x", 4),
            ("docker -H unix:///x.sock --tls container run x", 6),
            ("docker -Hunix:///x.sock -l debug run x", 5),
        ] {
            assert_eq!(parse(line).options_at, at, "{line}");
        }
    }

    #[test]
    fn reads_global_options() {
        let run = parse("docker -H tcp://far:2375 --context=a --config /c run x");
        assert_eq!(run.host(), Some(OsStr::new("tcp://far:2375")));
        assert_eq!(run.context(), Some(OsStr::new("a")));
        assert_eq!(run.config(), Some(Path::new("/c")));
        assert_eq!(
            parse("docker -Htcp://far run x").host(),
            Some(OsStr::new("tcp://far"))
        );
        assert_eq!(parse("docker run -h name -c 5 x").host(), None);
        assert_eq!(parse("docker run -h name -c 5 x").context(), None);
    }

    #[test]
    fn adds_the_cidfile_before_the_users_options() {
        let with = parse("docker container run --rm x sh").with_cidfile(Path::new("/run/c"));
        assert_eq!(with, words("docker container run --cidfile /run/c --rm x sh"));
    }

    #[test]
    fn finds_the_users_cidfile_only_before_the_image() {
        for line in [
            "docker run --cidfile /c x",
            "docker run --cidfile=/c x",
            "docker run --rm -it -e A=B --name n --cidfile /c x --cidfile /other",
            "docker run -p8080:80 -v /a:/b --init --cidfile /c x",
            "docker run -itv /a:/b --mount type=tmpfs,dst=/t --cidfile /c x",
            "docker run --privileged=true --new-option value --cidfile /c x",
            "docker run -h host -m 5m -uroot -w/ --cidfile /c x",
        ] {
            assert_eq!(parse(line).cidfile(), Some(Path::new("/c")), "{line}");
        }
        for line in [
            "docker run x --cidfile /c",
            "docker run --name --cidfile x",
            "docker run -e --cidfile x",
            "docker run -- --cidfile /c",
            "docker run -it x sh -c --cidfile",
            "docker run --rm",
            "docker run --cidfile",
        ] {
            assert_eq!(parse(line).cidfile(), None, "{line}");
        }
    }

    #[test]
    fn detached_in_every_spelling() {
        for line in [
            "-d",
            "--detach",
            "-itd",
            "-d=true",
            "--detach=1",
            "-dp80:80",
            "--rm -dit",
            "-d=false -d",
        ] {
            assert!(parse(&format!("docker run {line} x")).is_detached(), "{line}");
        }
        for line in [
            "--rm",
            "--detach=false",
            "-d=false",
            "-it",
            "-e -d",
            "--name -d",
            "-ed",
            "-pd",
        ] {
            assert!(!parse(&format!("docker run {line} x")).is_detached(), "{line}");
        }
        assert!(!parse("docker run x -d").is_detached());
    }

    #[test]
    fn podman_is_known_by_name_only() {
        assert!(is_podman_run(&words("podman run x")));
        assert!(is_podman_run(&words("/usr/bin/podman container run x")));
        assert!(!is_podman_run(&words("podman ps")));
        assert!(!is_podman_run(&words("docker run x")));
    }

    #[test]
    fn bytes_that_are_not_utf8_survive() {
        let odd = OsStr::from_bytes(b"--cidfile=/\xff").to_owned();
        let run = DockerRun::parse(&[OsString::from("docker"), OsString::from("run"), odd]).unwrap();
        assert_eq!(
            run.cidfile().map(|path| path.as_os_str().as_bytes()),
            Some(&b"/\xff"[..])
        );
    }
}
