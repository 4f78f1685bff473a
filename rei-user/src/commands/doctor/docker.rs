//! Does the Docker engine answer, and who is it? Plain commands can be observed without one.

use std::io;

use anyhow::Result;

use super::Finding;
use crate::commands::runtime;
use crate::engine::docker::Docker;

const CHECK: &str = "docker";

pub(super) fn finding() -> Finding {
    of_engine(Docker::of_environment())
}

fn of_engine(docker: Result<Docker>) -> Finding {
    let docker = match docker {
        Ok(docker) => docker,
        Err(error) => {
            return Finding::gap(
                CHECK,
                format!("{error:#}"),
                "unset DOCKER_HOST, or run rei on that host",
            );
        }
    };
    match runtime().and_then(|runtime| runtime.block_on(docker.version())) {
        // Debug quoting: what a socket says must not move the cursor.
        Ok(version) => Finding::ok(
            CHECK,
            format!("engine {version:?} at {}", docker.socket().display()),
        ),
        Err(error) => Finding::gap(CHECK, format!("{error:#}"), next_step(&error)),
    }
}

fn next_step(error: &anyhow::Error) -> &'static str {
    match error
        .root_cause()
        .downcast_ref::<io::Error>()
        .map(io::Error::kind)
    {
        Some(io::ErrorKind::NotFound) => {
            "install and start Docker to observe containers (plain commands need none)"
        }
        Some(io::ErrorKind::PermissionDenied) => "run rei as root (sudo)",
        Some(io::ErrorKind::ConnectionRefused) => "start it (`systemctl start docker`, or `dockerd`)",
        _ => "look at the engine's own log; set DOCKER_HOST if its socket is another one",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::thread;

    use super::super::Status;
    use super::*;

    fn at(socket: &Path) -> Finding {
        of_engine(Docker::at(&format!("unix://{}", socket.display())))
    }

    /// What is found at an engine that gives one answer.
    fn answering(answer: &'static [u8]) -> Finding {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let engine = thread::spawn(move || {
            let (mut asker, _) = listener.accept().expect("somebody asks");
            let read = asker.read(&mut [0; 1024]).expect("a question");
            assert!(read > 0);
            asker.write_all(answer).expect("the answer goes out");
        });
        let finding = at(&socket);
        engine.join().expect("without a panic");
        finding
    }

    #[test]
    fn an_engine_is_named_with_its_version() {
        let body = b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"Version\":\"20.10.24\"}";
        let finding = answering(body);
        assert_eq!(finding.status, Status::Ok, "{}", finding.found);
        assert!(
            finding.found.starts_with("engine \"20.10.24\" at /"),
            "{}",
            finding.found
        );
    }

    #[test]
    fn what_is_no_engine_is_a_gap() {
        let answers: [&[u8]; 4] = [
            b"\r\n",
            b"HTTP/1.1 500 Oops\r\nContent-Length: 15\r\n\r\n{\"Version\":\"1\"}",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            b"SSH-2.0-OpenSSH\r\n",
        ];
        for answer in answers {
            let finding = answering(answer);
            assert_eq!(finding.status, Status::Gap, "{}", finding.found);
        }
    }

    #[test]
    fn no_socket_a_dead_one_and_another_host_are_gaps() {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("docker.sock");
        assert!(at(&socket).next_step.expect("one").starts_with("install"));
        drop(UnixListener::bind(&socket).expect("a socket"));
        assert!(at(&socket).next_step.expect("one").starts_with("start it"));
        let remote = of_engine(Docker::at("tcp://10.0.0.1:2375"));
        assert_eq!(remote.status, Status::Gap);
        assert!(remote.next_step.expect("one").contains("DOCKER_HOST"));
    }
}
