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

/// Lines of the verifier's log in a reason. With debug output on it is the tail, which says what was refused;
/// otherwise the head is enough to recognise the case.
const LOG_LINES_BRIEF: usize = 3;
/// Lines of the verifier's log with debug output on.
const LOG_LINES_DEBUG: usize = 60;

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

/// The error, and for a refusal the usual cause.
fn with_hint(error: &io::Error) -> String {
    let mode = lockdown::mode();
    match (error.kind(), mode.is_active()) {
        (io::ErrorKind::PermissionDenied, true) => format!("{error} (the kernel is locked down: {mode})"),
        (io::ErrorKind::PermissionDenied, false) => {
            format!("{error} (missing capability, or a security module)")
        }
        _ => error.to_string(),
    }
}

/// The part of the verifier's log that goes into a reason.
fn excerpt(log: &str, debug: bool) -> String {
    let lines: Vec<&str> = log
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    if debug {
        let tail = &lines[lines.len().saturating_sub(LOG_LINES_DEBUG)..];
        return format!("\nverifier log, last lines:\n{}", tail.join("\n"));
    }
    let head = &lines[..lines.len().min(LOG_LINES_BRIEF)];
    format!("; verifier: {} (RUST_LOG=debug shows more)", head.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_the_head_or_with_debug_the_tail() {
        let log: String = (0..100).map(|line| format!("line {line}\n")).collect();
        assert_eq!(excerpt("", false), "");
        assert_eq!(
            excerpt(&log, false),
            "; verifier: line 0 / line 1 / line 2 (RUST_LOG=debug shows more)"
        );
        let tail = excerpt(&log, true);
        assert!(
            tail.contains("line 40\n") && tail.ends_with("line 99") && !tail.contains("line 39\n"),
            "{tail}"
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
