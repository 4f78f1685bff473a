//! The command line: arguments and their shapes only, no input or output.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde_json::Value;

use crate::attach::RING_BYTES_DEFAULT;
use crate::enrich::{Access, Errno, Origin};
use crate::fold::KeepEvents;
use crate::keys::host::KEYS_DIRECTORY;
use crate::policy::Severity;

pub use self::verify::{VERIFY_HELP, VerifyArgs};

mod value;
mod verify;

/// Exit code of `rei run` when it could not do its work.
pub const EXIT_RUN_FAILED: u8 = 125;
/// Exit code of every other command when it could not do its work.
pub const EXIT_FAILED: u8 = 2;
/// Exit code of `rei run` when there are findings that make it fail.
pub const EXIT_RUN_FINDINGS: u8 = 101;
/// Exit code of every other command when there are findings, or something is bad.
pub const EXIT_FINDINGS: u8 = 1;
/// Exit code of `rei run` when the record is incomplete.
pub const EXIT_RUN_INCOMPLETE: u8 = 103;
/// Exit code of every other command when the record is incomplete.
pub const EXIT_INCOMPLETE: u8 = 3;

/// What was asked for.
#[derive(Debug, Parser)]
#[command(
    name = "rei",
    version,
    about = "A flight recorder and auditor for containers.",
    max_term_width = 100
)]
pub struct Cli {
    /// Which command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command and observe it from its first instruction to its end
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Observe containers that already run, until they end, Ctrl-C, or --for
    #[command(after_help = ATTACH_HELP)]
    Attach(AttachArgs),
    /// Ask the SafetyGate about one planned tool call
    #[command(after_help = GATE_HELP)]
    Gate(GateArgs),
    /// Check a policy, or ask what it answers
    Policy(PolicyCommandArgs),
    /// Make the keys that logs are sealed with: once per host
    #[command(after_help = KEYGEN_HELP)]
    Keygen(KeygenArgs),
    /// Check sealed logs, and say how far that reaches
    #[command(after_help = VERIFY_HELP)]
    Verify(VerifyArgs),
    /// Say what this host allows, and the next step for each gap
    Doctor(DoctorArgs),
    /// Enter a cgroup, then become the command
    #[command(name = "__stage", hide = true)]
    Stage(StageArgs),
}

const RUN_HELP: &str = "\
`docker run ...` is recognised: the container that it creates is observed. Anything else runs in a
fresh cgroup. stdin, stdout, stderr, terminal and signals belong to the command.

Exit codes: the command's own; 101 if there are findings (see --fail-on); 103 if the record is incomplete; 125 if rei could not do its work;
126 if the command cannot be executed; 127 if it is not found.

Examples:
  rei run -- docker run --rm alpine ls /
  rei run --json -o events.jsonl -- ./build.sh";

const ATTACH_HELP: &str = "\
A target is a container's name or id, a process id, or the directory of a cgroup v2.
What happened before rei came is not in the record: it is always incomplete.

Exit codes: 3 (incomplete); 1 if there are findings (see --fail-on); 0 with --allow-incomplete; 2 if rei could not do its work.";

const GATE_HELP: &str = "\
Exit codes: 0 approved; 1 not approved; 2 if rei could not do its work.

Examples:
  rei gate benchtop_probe_temperature
  rei gate scpi_send --arg body='COND 100' --policy bench.toml
  rei gate open_files --arg 'paths:=[\"/a\", \"/b\"]' --json";

const KEYGEN_HELP: &str = "\
The first recording makes the keys too. What is there is never overwritten.
stdout gets the public key that the auditor pins. The verification key stays in a file, is never printed, and has to
leave the host: whoever has it can check what was sealed, and could also forge it.

Exit codes: 0; 2 if rei could not do its work.";

/// `rei run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Write events as JSON lines to the file given with -o
    #[arg(long, requires = "output")]
    pub json: bool,
    /// File for the JSON lines; made before anything starts
    #[arg(short, long = "out", value_name = "FILE", requires = "json")]
    pub output: Option<PathBuf>,
    /// Options shared with the other recording commands.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// The command and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `rei attach`
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// Write events as JSON lines, to stdout unless -o is given
    #[arg(long)]
    pub json: bool,
    /// File for the JSON lines; `ATTACHED` is printed to stdout once the kernel side is armed
    #[arg(short, long = "out", value_name = "FILE", requires = "json")]
    pub output: Option<PathBuf>,
    /// End after this time (`500ms`, `3s`, `2m`, `1h`)
    #[arg(long = "for", value_name = "TIME", value_parser = value::duration)]
    pub duration: Option<Duration>,
    /// Options shared with the other recording commands.
    #[command(flatten)]
    pub recording: RecordingArgs,
    /// Container name or id, process id, or cgroup directory
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<OsString>,
}

/// What `rei run` and `rei attach` share.
#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// Size of the kernel's event buffer: a power of two, a multiple of the page size
    #[arg(long, value_name = "N", default_value_t = RING_BYTES_DEFAULT, value_parser = value::ring_bytes)]
    pub ring_bytes: u32,
    /// Do not let an incomplete record change the exit code
    #[arg(long)]
    pub allow_incomplete: bool,
    /// Directory of the sealed log: made if it is not there; must hold no log [default: a new one in /var/lib/rei/runs]
    #[arg(long, value_name = "DIR")]
    pub log: Option<PathBuf>,
    /// Where the keys are.
    #[command(flatten)]
    pub keys: KeysArgs,
    /// Raw events that the log keeps beside what is folded from them: findings, all or none
    #[arg(long, value_name = "WHICH", default_value = "findings", value_parser = value::keep_events)]
    pub keep_events: KeepEvents,
    /// Test aid: leave the event buffer unread for this many milliseconds
    #[arg(long, value_name = "MS", hide = true)]
    pub stall_reader: Option<u64>,
    /// The policy and what extends it.
    #[command(flatten)]
    pub policy: PolicyArgs,
}

/// `rei gate`
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The tool's name
    #[arg(value_name = "NAME")]
    pub tool_name: String,
    /// An argument of the call: `KEY=TEXT`, or `KEY:=JSON`
    #[arg(long = "arg", value_name = "KEY=VALUE", value_parser = value::tool_argument)]
    pub args: Vec<(String, Value)>,
    /// Policy whose gate rules are asked first: a file, or the name of a shipped one
    #[arg(long, value_name = "NAME|FILE")]
    pub policy: Option<PathBuf>,
    /// Seal the decision, arguments included, in a log in this directory, before it is given
    #[arg(long, value_name = "DIR")]
    pub log: Option<PathBuf>,
    /// Where the keys that seal it are.
    #[command(flatten)]
    pub keys: KeysArgs,
    /// Write the decision as JSON
    #[arg(long)]
    pub json: bool,
}

/// The policy of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArgs {
    /// Policy file, or one of the shipped ambient-only (for containers), read-only, observe (for plain commands)
    #[arg(long, value_name = "NAME|FILE")]
    pub policy: Option<PathBuf>,
    /// Allow reading what matches, for this run: an input
    #[arg(long, visible_alias = "input", value_name = "GLOB")]
    pub allow_read: Vec<String>,
    /// Allow reading and changing what matches, for this run: an output
    #[arg(long, visible_alias = "output", value_name = "GLOB")]
    pub allow_write: Vec<String>,
    /// Allow contacting an address (10.0.0.0/8:443, name:port) or a unix socket (unix:PATH), for this run
    #[arg(long, value_name = "ADDRESS")]
    pub allow_connect: Vec<String>,
    /// Allow executing a program of the image, for this run
    #[arg(long, value_name = "PATH")]
    pub allow_exec: Vec<String>,
    /// Allow an environment name, where the policy judges names, for this run
    #[arg(long, value_name = "NAME")]
    pub allow_env: Vec<String>,
    /// The mildest finding that makes the run fail: caution, tripped or blocked [default: the policy's]
    #[arg(long, value_name = "SEVERITY", value_parser = value::severity)]
    pub fail_on: Option<Severity>,
    /// Start with an unsafe policy of one's own without asking
    #[arg(long)]
    pub allow_unsafe: bool,
}

/// `rei policy`
#[derive(Debug, Args)]
pub struct PolicyCommandArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// What can be done with a policy.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Read a policy and say everything that is wrong with it
    Check(PolicyCheckArgs),
    /// Say what a policy answers to one operation, which rule does, and what was tried
    #[command(after_help = EXPLAIN_HELP)]
    Explain(Box<PolicyExplainArgs>),
}

const EXPLAIN_HELP: &str = "\
Asks the tripwires and the gate.

Exit codes: 0 if no tripwire fires and the gate does not block; 1 otherwise; 2 if rei could not do its work.

Examples:
  rei policy explain ambient-only --op open --path /etc/shadow --access read --origin image
  rei policy explain build.toml --op connect --address 10.0.0.1:443
  rei policy explain build.toml --op exec --path /bin/sh --arg -c --arg 'rm -r /'
  rei policy explain build.toml --op open --path /dev/sda --access write --block-device 8:0";

/// `rei policy check`
#[derive(Debug, Args)]
pub struct PolicyCheckArgs {
    /// Policy file, or a shipped policy's name
    #[arg(value_name = "FILE")]
    pub policy: PathBuf,
}

/// `rei policy explain`
#[derive(Debug, Args)]
pub struct PolicyExplainArgs {
    /// Policy file, or a shipped policy's name
    #[arg(value_name = "FILE")]
    pub policy: PathBuf,
    /// The operation
    #[arg(long, value_parser = ["open", "connect", "exec"])]
    pub op: String,
    /// Path of the file, program or unix socket, as the kernel would show it
    #[arg(long)]
    pub path: Option<OsString>,
    /// What an open does: read, write, create, truncate, append, directory, path_only; several with commas
    #[arg(long, value_delimiter = ',', default_value = "read", value_parser = value::access)]
    pub access: Vec<Access>,
    /// Where the file comes from: image, upper, bind:SOURCE, volume:NAME, tmpfs, proc, sys, dev, memfd, engine, host,
    /// unknown
    #[arg(long, default_value = "image", value_parser = value::origin)]
    pub origin: Origin,
    /// Major and minor number of a character device
    #[arg(long, value_name = "MAJOR:MINOR", value_parser = value::device)]
    pub device: Option<(u32, u32)>,
    /// Major and minor number of a block device
    #[arg(long, value_name = "MAJOR:MINOR", value_parser = value::device, conflicts_with = "device")]
    pub block_device: Option<(u32, u32)>,
    /// Address and port of a connect
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub address: Option<SocketAddr>,
    /// Whose unix socket it is, by its inode
    #[arg(long, value_parser = ["container-engine", "containerd"])]
    pub peer: Option<String>,
    /// TCP or UDP
    #[arg(long, default_value = "tcp", value_parser = ["tcp", "udp"])]
    pub protocol: String,
    /// An argument of an exec, after the program's own name
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
    /// The operation failed with this error: ENOENT, EACCES, EPERM, ...
    #[arg(long, value_parser = value::errno)]
    pub errno: Option<Errno>,
    /// Value of ${workdir}
    #[arg(long)]
    pub workdir: Option<OsString>,
    /// Value of ${entrypoint}
    #[arg(long)]
    pub entrypoint: Option<OsString>,
    /// A mount point of the container, beside its root
    #[arg(long = "mount", value_name = "PATH")]
    pub mounts: Vec<OsString>,
}

/// `rei keygen`
#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// The host's name in checkpoints, without spaces and `+` [default: the host name, then /rei]
    #[arg(long, value_name = "NAME")]
    pub origin: Option<String>,
    /// Write JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Where the keys are.
    #[command(flatten)]
    pub keys: KeysArgs,
}

/// Where the keys of this host are.
#[derive(Clone, Debug, Args)]
pub struct KeysArgs {
    /// Directory of this host's keys; never a directory of logs
    #[arg(long = "keys", value_name = "DIR", default_value = KEYS_DIRECTORY)]
    pub directory: PathBuf,
}

/// `rei doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Write JSON to stdout
    #[arg(long)]
    pub json: bool,
    /// Where the keys are.
    #[command(flatten)]
    pub keys: KeysArgs,
}

/// `rei __stage`
#[derive(Debug, Args)]
pub struct StageArgs {
    /// The cgroup's directory
    pub cgroup: PathBuf,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

impl Command {
    /// Exit code of this command when it could not do its work.
    #[must_use]
    pub fn failure_code(&self) -> u8 {
        match self {
            Command::Run(_) | Command::Stage(_) => EXIT_RUN_FAILED,
            Command::Attach(_)
            | Command::Policy(_)
            | Command::Gate(_)
            | Command::Keygen(_)
            | Command::Verify(_)
            | Command::Doctor(_) => EXIT_FAILED,
        }
    }
}

/// Exit code for arguments that could not be understood: that of the command that was probably meant.
#[must_use]
pub fn usage_failure_code(arguments: &[OsString]) -> u8 {
    match arguments.get(1) {
        Some(word) if word == "run" || word == "__stage" => EXIT_RUN_FAILED,
        _ => EXIT_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(words)
    }

    #[test]
    fn definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_takes_everything_after_the_dashes() {
        let cli = parse(&[
            "rei",
            "run",
            "--allow-incomplete",
            "--",
            "ls",
            "--json",
            "-o",
            "--",
        ])
        .unwrap();
        let Command::Run(run) = cli.command else {
            panic!("not run")
        };
        assert_eq!(run.command, ["ls", "--json", "-o", "--"]);
        assert!(run.recording.allow_incomplete && !run.json);
        assert_eq!(run.recording.ring_bytes, RING_BYTES_DEFAULT);
    }

    #[test]
    fn run_wants_dashes_a_command_and_a_file_for_json() {
        for words in [
            &["rei", "run"][..],
            &["rei", "run", "ls"],
            &["rei", "run", "--"],
            &["rei", "run", "--json", "--", "ls"],
            &["rei", "run", "-o", "x", "--", "ls"],
            &["rei", "run", "--nope", "--", "ls"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn usage_failures_follow_the_command() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            usage_failure_code(&words(&["rei", "run", "--nope"])),
            EXIT_RUN_FAILED
        );
        assert_eq!(usage_failure_code(&words(&["rei", "attach"])), EXIT_FAILED);
        assert_eq!(usage_failure_code(&words(&["rei"])), EXIT_FAILED);
    }
}
