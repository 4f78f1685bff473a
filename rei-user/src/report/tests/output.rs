//! Where the lines go, and how a command ends.

use super::*;

#[test]
fn a_full_disk_is_an_error_and_the_summary_can_still_be_had() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut report = Report::new(Some(Box::new(Full)), policy(""));
    let start = RunStart {
        command: Vec::new(),
        target: "plain",
        sensors: Vec::new(),
        programs: Vec::new(),
    };
    assert_eq!(
        report.begin(&start).unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
    assert!(report.summary(&ended()).is_complete());
    assert!(report.finish(ended()).is_err());
}

#[test]
fn exits_are_codes_or_signals() {
    assert_eq!(
        CommandExit::of(ExitStatus::from_raw(3 << 8)),
        Some(CommandExit::Code(3))
    );
    assert_eq!(
        CommandExit::of(ExitStatus::from_raw(9)),
        Some(CommandExit::Signal(9))
    );
}
