//! The command line: arguments and their shapes only, no input or output.

/// `rei doctor`
#[derive(Debug)]
pub struct DoctorArgs {
    /// Write JSON to stdout
    pub json: bool,
}
