//! Where JSON lines go: a file or stdout, in whole lines only, with the first failure kept.
//!
//! Takes bytes in any portions; the report buffers them. After a failed write the file is cut back to its
//! last whole line and everything that follows is dropped without an error: a full disk must not change what
//! happens to the container.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc;

use anyhow::{Context, Result};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// A destination of JSON lines.
pub struct Output {
    sink: Sink,
    /// Bytes of whole lines that the file holds.
    whole_bytes: u64,
    /// Bytes after the last newline that the file holds.
    torn_bytes: u64,
    is_broken: bool,
    failures: mpsc::SyncSender<io::Error>,
}

enum Sink {
    File(File),
    Stdout,
    #[cfg(test)]
    Fake(tests::Fake),
}

/// Tells whether an [`Output`] failed.
pub struct OutputHealth {
    name: String,
    failures: mpsc::Receiver<io::Error>,
}

impl OutputHealth {
    /// Where the lines go, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first failure, if there was one.
    #[must_use]
    pub fn failure(&self) -> Option<io::Error> {
        self.failures.try_recv().ok()
    }
}

impl Output {
    /// Makes (or empties) the file. A FIFO must have a reader already.
    ///
    /// # Errors
    /// If it cannot be made, or is a FIFO without a reader.
    pub fn to_file(path: &Path) -> Result<(Self, OutputHealth)> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            // Otherwise opening a FIFO would wait for its reader, for ever if none comes.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(|error| {
                let words = refused(path, error.raw_os_error());
                anyhow::Error::new(error).context(words)
            })?;
        // From here on a slow reader is waited for, as with stdout.
        let blocking = fcntl_getfl(&file).map(|flags| flags - OFlags::NONBLOCK);
        blocking
            .and_then(|flags| fcntl_setfl(&file, flags))
            .with_context(|| {
                format!(
                    "cannot set {} to wait for room; give -o another file",
                    path.display()
                )
            })?;
        Ok(Self::new(Sink::File(file), path.display().to_string()))
    }

    /// Writes to stdout.
    #[must_use]
    pub fn to_stdout() -> (Self, OutputHealth) {
        Self::new(Sink::Stdout, "stdout".to_owned())
    }

    fn new(sink: Sink, name: String) -> (Self, OutputHealth) {
        let (failures, receiver) = mpsc::sync_channel(1);
        let output = Self {
            sink,
            whole_bytes: 0,
            torn_bytes: 0,
            is_broken: false,
            failures,
        };
        (
            output,
            OutputHealth {
                name,
                failures: receiver,
            },
        )
    }

    fn write_through(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_broken {
            let written = match self.sink.write(rest) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other,
            };
            match written {
                Ok(count) => {
                    self.count(&rest[..count]);
                    rest = &rest[count..];
                }
                Err(error) => self.fail(error),
            }
        }
    }

    fn count(&mut self, written: &[u8]) {
        match written.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => {
                self.whole_bytes += self.torn_bytes + at as u64 + 1;
                self.torn_bytes = (written.len() - at - 1) as u64;
            }
            None => self.torn_bytes += written.len() as u64,
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.is_broken = true;
        self.sink.cut(self.whole_bytes);
        // One place is enough: only the first failure is told, and there is only one.
        let _ = self.failures.try_send(error);
    }
}

/// Why the file at `path` cannot be written, as far as the error's number tells.
fn refused(path: &Path, number: Option<i32>) -> String {
    // Of a FIFO: nobody reads it. Sockets and devices without a driver say so as well.
    if number == Some(Errno::NXIO.raw_os_error()) {
        return format!(
            "nobody reads {}; start its reader before rei, or give -o a plain file",
            path.display()
        );
    }
    format!(
        "cannot write {}; give -o a file in a directory that exists and is writable",
        path.display()
    )
}

impl Write for Output {
    /// Takes everything, always; [`OutputHealth`] tells whether it arrived.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_through(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()?;
                Ok(bytes.len())
            }
            #[cfg(test)]
            Sink::Fake(fake) => fake.write(bytes),
        }
    }

    /// Takes a torn line away again. Devices and pipes cannot do that; nothing is lost by trying.
    fn cut(&mut self, whole_bytes: u64) {
        match self {
            Sink::File(file) => {
                let _ = file.set_len(whole_bytes);
            }
            Sink::Stdout => {}
            #[cfg(test)]
            Sink::Fake(fake) => fake.cut(whole_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A file on a disk with room for `room` bytes.
    pub(super) struct Fake {
        content: Arc<Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Fake {
        pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut content = self.content.lock().unwrap();
            let count = bytes.len().min(self.room - content.len());
            content.extend_from_slice(&bytes[..count]);
            if count == 0 {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(count)
            }
        }

        pub(super) fn cut(&mut self, whole_bytes: u64) {
            self.content.lock().unwrap().truncate(whole_bytes as usize);
        }
    }

    #[test]
    fn a_full_disk_leaves_whole_lines_at_every_size() {
        let lines: &[&[u8]] = &[b"{\"a\":1}\n", b"{\"b\":22}\n", b"{\"c\":333}\n"];
        let whole = lines.concat();
        for room in 0..=whole.len() {
            let content = Arc::new(Mutex::new(Vec::new()));
            let (mut output, health) = Output::new(
                Sink::Fake(Fake {
                    content: Arc::clone(&content),
                    room,
                }),
                "fake".to_owned(),
            );
            for line in lines {
                output.write_all(line).unwrap();
            }
            drop(output);
            let kept = content.lock().unwrap();
            assert!(whole.starts_with(&kept), "room {room}");
            assert!(kept.is_empty() || kept.ends_with(b"\n"), "room {room}");
            let failure = health.failure().map(|error| error.kind());
            let expected = (room < whole.len()).then_some(io::ErrorKind::StorageFull);
            assert_eq!(failure, expected, "room {room}");
        }
    }

    #[test]
    fn a_large_portion_is_cut_at_a_line_too() {
        let line = [&[b'x'; 99][..], b"\n"].concat();
        let many = line.repeat(2000);
        let content = Arc::new(Mutex::new(Vec::new()));
        let room = 150_050;
        let (mut output, health) = Output::new(
            Sink::Fake(Fake {
                content: Arc::clone(&content),
                room,
            }),
            "fake".to_owned(),
        );
        for portion in many.chunks(64 * 1024) {
            output.write_all(portion).unwrap();
        }
        drop(output);
        assert_eq!(content.lock().unwrap().len(), 150_000);
        assert!(health.failure().is_some());
    }

    #[test]
    fn files_are_made_or_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.jsonl");
        std::fs::write(&path, "old").unwrap();
        let (mut output, health) = Output::to_file(&path).unwrap();
        output.write_all(b"new\n").unwrap();
        drop(output);
        assert_eq!(std::fs::read(&path).unwrap(), b"new\n");
        assert!(health.failure().is_none());
        let error = Output::to_file(&directory.path().join("no/such"))
            .map(|_| ())
            .unwrap_err();
        assert!(error.to_string().contains("no/such"));
    }

    #[test]
    fn a_device_without_room_is_a_failure() {
        let (mut output, health) = Output::to_file(Path::new("/dev/full")).unwrap();
        output.write_all(b"line\n").unwrap();
        assert_eq!(
            health.failure().map(|error| error.kind()),
            Some(io::ErrorKind::StorageFull)
        );
    }

    #[test]
    fn a_fifo_needs_its_reader_first_and_then_waits_for_it() {
        use std::io::Read;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let error = Output::to_file(&path).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("nobody reads") && error.contains("/fifo"),
            "{error}"
        );

        let mut reader = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(&path)
            .unwrap();
        let (mut output, health) = Output::to_file(&path).unwrap();
        // More than a pipe holds: the writer has to wait, and nothing is lost by that.
        let line = [&[b'x'; 99][..], b"\n"].concat();
        let writer = std::thread::spawn(move || {
            (0..4096).for_each(|_| output.write_all(&line).unwrap());
        });
        fcntl_setfl(&reader, fcntl_getfl(&reader).unwrap() - OFlags::NONBLOCK).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        writer.join().unwrap();
        assert_eq!(read.len(), 4096 * 100);
        assert!(health.failure().is_none());
    }
}
