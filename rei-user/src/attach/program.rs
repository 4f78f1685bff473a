//! One kernel-side program: load it, attach it, or say what the kernel has against it.

use std::fs::File;
use std::io;

use anyhow::{Context, Result, anyhow};
use aya::programs::cgroup_sock_addr::CgroupSockAddrLink;
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{BtfTracePoint, CgroupAttachMode, CgroupSockAddr, ProgramError};
use aya::{Btf, Ebpf};
use rei_ebpf_common::hooks::{Attach, Program};
use tracing::Level;

use super::lockdown;

/// Lines of the verifier's log in a reason: the verdict stands at the end.
const LOG_LINES_BRIEF: usize = 1;
/// Lines of the verifier's log with debug output on.
const LOG_LINES_DEBUG: usize = 60;
/// How the lines begin that the verifier writes after its verdict.
const STATISTICS: [&str; 3] = ["processed ", "verification time ", "stack depth "];
/// errno of a refusal for lack of rights.
const EPERM: i32 = 1;

/// Keeps one program attached. Dropping it detaches.
pub(super) enum Link {
    Tracepoint(#[expect(dead_code, reason = "held for its drop")] BtfTracePointLink),
    SockAddr(#[expect(dead_code, reason = "held for its drop")] CgroupSockAddrLink),
}

/// Hands the program to the kernel's verifier.
pub(super) fn load(ebpf: &mut Ebpf, program: &Program, btf: &Btf) -> Result<()> {
    let loaded = match program.attach {
        Attach::BtfTracepoint(name) => tracepoint(ebpf, program)?.load(name, btf),
        Attach::CgroupSockAddr => sock_addr(ebpf, program)?.load(),
    };
    loaded.map_err(|error| refused(program, "load", error))
}

/// Attaches a loaded program.
pub(super) fn attach(ebpf: &mut Ebpf, program: &Program, cgroup_root: &File) -> Result<Link> {
    let refused = |error| refused(program, "attach", error);
    match program.attach {
        Attach::BtfTracepoint(_) => {
            let tracepoint = tracepoint(ebpf, program)?;
            let link = tracepoint.attach().map_err(refused)?;
            tracepoint.take_link(link).map(Link::Tracepoint).map_err(refused)
        }
        Attach::CgroupSockAddr => {
            let sock_addr = sock_addr(ebpf, program)?;
            // By link, which allows other programs beside it. Other modes pass flags that kernels refuse.
            let link = sock_addr
                .attach(cgroup_root, CgroupAttachMode::Single)
                .map_err(refused)?;
            sock_addr.take_link(link).map(Link::SockAddr).map_err(refused)
        }
    }
}

fn tracepoint<'a>(ebpf: &'a mut Ebpf, program: &Program) -> Result<&'a mut BtfTracePoint> {
    let found = ebpf.program_mut(program.name).ok_or_else(|| stale(program))?;
    found
        .try_into()
        .with_context(|| format!("the eBPF object's program {} is no BTF tracepoint", program.name))
}

fn sock_addr<'a>(ebpf: &'a mut Ebpf, program: &Program) -> Result<&'a mut CgroupSockAddr> {
    let found = ebpf.program_mut(program.name).ok_or_else(|| stale(program))?;
    found.try_into().with_context(|| {
        format!(
            "the eBPF object's program {} is no cgroup address program",
            program.name
        )
    })
}

fn stale(program: &Program) -> anyhow::Error {
    anyhow!(
        "the eBPF object has no program {}: it is stale, build rei again",
        program.name
    )
}

/// The kernel's reason in one text.
fn refused(program: &Program, what: &str, error: ProgramError) -> anyhow::Error {
    let name = program.name;
    match error {
        ProgramError::LoadError {
            io_error,
            verifier_log,
        } => {
            let debug = tracing::enabled!(Level::DEBUG);
            let log = excerpt(&verifier_log.to_string(), debug);
            anyhow!(
                "the kernel refuses to {what} program {name}: {}{log}",
                with_hint(&io_error)
            )
        }
        ProgramError::SyscallError(error) => {
            anyhow!(
                "the kernel refuses to {what} program {name}: {}: {}",
                error.call,
                with_hint(&error.io_error)
            )
        }
        other => anyhow::Error::new(other).context(format!("cannot {what} program {name}")),
    }
}

/// The error, and for a refusal the usual cause. (EACCES is the verifier's verdict on the program, not a
/// matter of rights.)
fn with_hint(error: &io::Error) -> String {
    if error.raw_os_error() != Some(EPERM) {
        return error.to_string();
    }
    let mode = lockdown::mode();
    if mode.is_active() {
        format!("{error} (the kernel is locked down: {mode})")
    } else {
        format!("{error} (missing capability, or a security module)")
    }
}

/// The part of the verifier's log that goes into a reason: its end, without the statistics.
fn excerpt(log: &str, debug: bool) -> String {
    let mut lines: Vec<&str> = log
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let statistics = |line: &&str| STATISTICS.iter().any(|start| line.starts_with(start));
    while lines.last().is_some_and(statistics) {
        lines.pop();
    }
    let wanted = if debug { LOG_LINES_DEBUG } else { LOG_LINES_BRIEF };
    let tail = &lines[lines.len().saturating_sub(wanted)..];
    match (tail.is_empty(), debug) {
        (true, _) => String::new(),
        (false, true) => format!("\nverifier log, last lines:\n{}", tail.join("\n")),
        (false, false) => format!("; verifier: {} (REI_DEBUG=debug shows more)", tail.join(" / ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_verdict_or_with_debug_what_led_to_it() {
        let log: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let log = log + "invalid access\nverification time 20 usec\nprocessed 17 insns (limit 1000000)\n\n";
        assert_eq!(excerpt("", false), "");
        assert_eq!(excerpt("processed 0 insns", true), "");
        assert_eq!(
            excerpt(&log, false),
            "; verifier: invalid access (REI_DEBUG=debug shows more)"
        );
        let tail = excerpt(&log, true);
        assert!(
            tail.contains("line 99\n") && tail.ends_with("invalid access") && !tail.contains("line 40\n"),
            "{tail}"
        );
    }

    #[test]
    fn only_a_lack_of_rights_is_called_one() {
        assert!(with_hint(&io::Error::from_raw_os_error(EPERM)).contains('('));
        assert_eq!(
            with_hint(&io::Error::from_raw_os_error(13)),
            "Permission denied (os error 13)"
        );
    }

    #[test]
    fn a_refused_load_names_the_program_and_the_error() {
        let program = Program {
            name: "sys_enter",
            attach: Attach::BtfTracepoint("sys_enter"),
            sensor: rei_ebpf_common::hooks::Sensor::Syscalls,
        };
        let error = ProgramError::SyscallError(aya::sys::SyscallError {
            call: "bpf_link_create",
            io_error: io::Error::from_raw_os_error(22),
        });
        let text = refused(&program, "attach", error).to_string();
        assert_eq!(
            text,
            "the kernel refuses to attach program sys_enter: bpf_link_create: Invalid argument (os error 22)"
        );
    }
}
