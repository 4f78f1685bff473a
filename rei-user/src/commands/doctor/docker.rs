//! Does the Docker engine answer, and who is it? Plain commands can be observed without one.

use std::env;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::Finding;

const CHECK: &str = "docker";
/// Where Docker listens unless `DOCKER_HOST` says otherwise.
const HOST_DEFAULT: &str = "unix:///var/run/docker.sock";
/// How long the engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than any engine says about its version.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// HTTP/1.0: the answer ends where the connection does, and comes in one piece.
const QUESTION: &[u8] = b"GET /version HTTP/1.0\r\nHost: docker\r\n\r\n";

pub(super) fn finding() -> Finding {
    let host = env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    at(host.as_deref().unwrap_or(HOST_DEFAULT))
}

fn at(host: &str) -> Finding {
    let Some(path) = host.strip_prefix("unix://") else {
        return Finding::gap(
            CHECK,
            format!("DOCKER_HOST={host:?} is no unix socket: its containers may run on another kernel"),
            "unset DOCKER_HOST, or run rei on that host",
        );
    };
    match ask(Path::new(path)) {
        Ok(answer) => answered(path, &answer),
        Err(error) => {
            let found = format!("{path:?} does not answer: {error}");
            let next = match error.kind() {
                io::ErrorKind::NotFound => {
                    "install and start Docker to observe containers (plain commands need none)"
                }
                io::ErrorKind::PermissionDenied => "run rei as root (sudo)",
                _ => "start it (`systemctl start docker`, or `dockerd`)",
            };
            Finding::gap(CHECK, found, next)
        }
    }
}

fn ask(socket: &Path) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(QUESTION)?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

fn answered(path: &str, answer: &[u8]) -> Finding {
    match version(answer) {
        // Debug quoting: what a socket says must not move the cursor.
        Some(version) => Finding::ok(CHECK, format!("engine {version:?} at {path:?}")),
        None => Finding::gap(
            CHECK,
            format!("{path:?} answers, but not as a Docker engine"),
            "set DOCKER_HOST to the engine's socket",
        ),
    }
}

/// `Version` of a successful answer's JSON body.
fn version(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?;
    let facts: serde_json::Value = serde_json::from_str(body).ok().filter(|_| status == "200")?;
    facts.get("Version")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::super::Status;
    use super::*;

    /// An engine that gives one answer.
    fn engine(answer: &'static [u8]) -> (tempfile::TempDir, String) {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        thread::spawn(move || {
            let (mut asker, _) = listener.accept().expect("somebody asks");
            let mut question = [0; QUESTION.len()];
            asker.read_exact(&mut question).expect("a question");
            asker.write_all(answer).expect("the answer goes out");
        });
        let host = format!("unix://{}", socket.display());
        (dir, host)
    }

    #[test]
    fn an_engine_is_named_with_its_version() {
        let (_dir, host) =
            engine(b"HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n\r\n{\"Version\":\"20.10.24\"}\n");
        let finding = at(&host);
        assert_eq!(finding.status, Status::Ok);
        assert!(
            finding.found.starts_with("engine \"20.10.24\" at "),
            "{}",
            finding.found
        );
    }

    #[test]
    fn what_is_no_engine_is_a_gap() {
        let answers: [&[u8]; 4] = [
            b"",
            b"HTTP/1.0 500 Oops\r\n\r\n{\"Version\":\"1\"}",
            b"HTTP/1.0 200 OK\r\n\r\nhello",
            b"SSH-2.0\r\n\r\n{}",
        ];
        for answer in answers {
            let (_dir, host) = engine(answer);
            assert_eq!(
                at(&host).status,
                Status::Gap,
                "{}",
                String::from_utf8_lossy(answer)
            );
        }
    }

    #[test]
    fn no_socket_a_dead_one_and_another_host_are_gaps() {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("docker.sock");
        let host = format!("unix://{}", socket.display());
        assert!(at(&host).next_step.expect("one").starts_with("install"));
        drop(UnixListener::bind(&socket).expect("a socket"));
        assert!(at(&host).next_step.expect("one").starts_with("start it"));
        assert!(at("tcp://10.0.0.1:2375").found.contains("no unix socket"));
    }
}
