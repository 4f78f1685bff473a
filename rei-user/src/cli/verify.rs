//! Arguments of `rei verify`.

use std::path::PathBuf;

use clap::Args;

use crate::format::Hex;

/// What `--help` says at its end.
pub const VERIFY_HELP: &str = "\
Without any option, accidents and naive edits are found: whoever recomputes the hashes passes. --pub says who wrote a log
and protects what checkpoints cover; --key protects every sealed batch; --trusted-checkpoint shows roll-backs and cut ends.
On the host itself, its own key state vouches for the end.

Exit codes: 0 as written and closed; 1 tampered; 2 could not be checked; 3 without an end (open, or its writer crashed), or
not anchored where that is required.

Examples:
  rei verify --pub host.pub --key verification.key run/
  rei verify --key verification.key --series /mnt/evidence/runs
  rei verify --json run/ | jq -r .newest_checkpoint.note > checkpoint";

/// `rei verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Directory of a log, or of several
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Verification key of the host's series: a secret, so only its file can be given
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The host's public log key (host.pub): pins who may have written the logs
    #[arg(long = "pub", value_name = "FILE")]
    pub public: Option<PathBuf>,
    /// A checkpoint of this log that was kept outside the host
    #[arg(long, value_name = "FILE")]
    pub trusted_checkpoint: Option<PathBuf>,
    /// The log that it has to be
    #[arg(long, value_name = "HEX", value_parser = parse_log_id)]
    pub log_id: Option<Hex<16>>,
    /// Exit with 3 if no checkpoint from outside vouches for a log
    #[arg(long)]
    pub require_anchor: bool,
    /// Check also that no number of the host's series is missing
    #[arg(long, requires = "key")]
    pub series: bool,
    /// Directory of the host's keys, on the host itself [default: /var/lib/rei/keys, if it is there]
    #[arg(long, value_name = "DIR")]
    pub keys: Option<PathBuf>,
    /// Write one JSON object (docs/verify.schema.json)
    #[arg(long)]
    pub json: bool,
}

fn parse_log_id(text: &str) -> Result<Hex<16>, String> {
    Hex::parse(text).ok_or_else(|| "write 32 lower-case hexadecimal digits".to_owned())
}
