//! The operations that rei observes: their tool names, and the arguments that each can have.
//!
//! A rule about an operation may only name these arguments. Planned tools may have any.

/// An operation that rei observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the tool names are the words of the product")]
pub enum Operation {
    ReadFile,
    ListDirectory,
    ReadDevice,
    ReadKernel,
    WriteFile,
    WriteDevice,
    WriteKernel,
    ChangePath,
    ConnectTcp,
    SendUdp,
    ConnectUnix,
    SendRaw,
    SendPacket,
    ConnectVsock,
    AcceptTcp,
    MapExecutable,
    LoadModule,
    LoadBpf,
    TraceProcess,
    EnterNamespace,
    LeaveScope,
    /// Its tool name is the program's base name: the workload chooses it.
    Exec,
}

/// An argument of an observed operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArgName {
    /// What is done, where one tool name stands for several calls.
    Op,
    /// Path, by the kernel's word where there is one.
    Path,
    /// Ways of using a file: a list.
    Access,
    /// Flags of the call.
    Flags,
    /// Name of the file system.
    Fs,
    /// Where the file comes from.
    Origin,
    /// IP address, without port; for others the address as text.
    Address,
    /// Port: the one that is contacted, or the one that accepts.
    Port,
    /// Name of the error of an attempt that failed.
    Errno,
    /// How sure the object is.
    Confidence,
    /// The program's arguments: a list.
    Argv,
    /// Device node: `block MAJOR:MINOR` or `char MAJOR:MINOR`.
    Device,
    /// Whose /proc entry: `self` or `other`.
    Process,
    /// Who owns the unix socket, by its inode: `container-engine` or `containerd`.
    Peer,
}

/// What kind of value an argument has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgKind {
    Text,
    Number,
    Address,
}

impl ArgName {
    /// Every argument.
    pub const ALL: [ArgName; 14] = [
        ArgName::Op,
        ArgName::Path,
        ArgName::Access,
        ArgName::Flags,
        ArgName::Fs,
        ArgName::Origin,
        ArgName::Address,
        ArgName::Port,
        ArgName::Errno,
        ArgName::Confidence,
        ArgName::Argv,
        ArgName::Device,
        ArgName::Process,
        ArgName::Peer,
    ];

    /// The name used in rules.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ArgName::Op => "op",
            ArgName::Path => "path",
            ArgName::Access => "access",
            ArgName::Flags => "flags",
            ArgName::Fs => "fs",
            ArgName::Origin => "origin",
            ArgName::Address => "address",
            ArgName::Port => "port",
            ArgName::Errno => "errno",
            ArgName::Confidence => "confidence",
            ArgName::Argv => "argv",
            ArgName::Device => "device",
            ArgName::Process => "process",
            ArgName::Peer => "peer",
        }
    }

    /// The argument of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        ArgName::ALL.into_iter().find(|arg| arg.name() == name)
    }

    pub(super) const fn kind(self) -> ArgKind {
        match self {
            ArgName::Flags | ArgName::Port => ArgKind::Number,
            ArgName::Address => ArgKind::Address,
            _ => ArgKind::Text,
        }
    }

    /// Every value that the argument can have, where that is a short list.
    pub(super) const fn vocabulary(self) -> Option<&'static [&'static str]> {
        match self {
            ArgName::Access => Some(&[
                "read",
                "write",
                "create",
                "truncate",
                "append",
                "directory",
                "path_only",
            ]),
            ArgName::Confidence => Some(&[
                "kernel_object",
                "kernel_text",
                "argument_text",
                "exit_only",
                "checked",
                "unresolved",
                "contested",
            ]),
            ArgName::Process => Some(&["self", "other"]),
            ArgName::Peer => Some(&["container-engine", "containerd"]),
            _ => None,
        }
    }
}

const FILE: &[ArgName] = &[
    ArgName::Path,
    ArgName::Access,
    ArgName::Flags,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Errno,
    ArgName::Confidence,
];
const DEVICE: &[ArgName] = &[
    ArgName::Path,
    ArgName::Access,
    ArgName::Flags,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Device,
    ArgName::Errno,
    ArgName::Confidence,
];
const KERNEL: &[ArgName] = &[
    ArgName::Path,
    ArgName::Access,
    ArgName::Flags,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Process,
    ArgName::Errno,
    ArgName::Confidence,
];
const CHANGE: &[ArgName] = &[
    ArgName::Op,
    ArgName::Path,
    ArgName::Flags,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Errno,
    ArgName::Confidence,
];
const INET: &[ArgName] = &[
    ArgName::Address,
    ArgName::Port,
    ArgName::Errno,
    ArgName::Confidence,
];
const PORTLESS: &[ArgName] = &[ArgName::Address, ArgName::Errno, ArgName::Confidence];
const UNIX: &[ArgName] = &[
    ArgName::Address,
    ArgName::Path,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Peer,
    ArgName::Errno,
    ArgName::Confidence,
];
const EXEC: &[ArgName] = &[
    ArgName::Op,
    ArgName::Path,
    ArgName::Argv,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Errno,
    ArgName::Confidence,
];
const MODULE: &[ArgName] = &[
    ArgName::Path,
    ArgName::Flags,
    ArgName::Fs,
    ArgName::Origin,
    ArgName::Errno,
    ArgName::Confidence,
];
const CALL: &[ArgName] = &[ArgName::Op, ArgName::Flags, ArgName::Errno, ArgName::Confidence];
const MOVE: &[ArgName] = &[ArgName::Confidence];

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 22] = [
        Operation::ReadFile,
        Operation::ListDirectory,
        Operation::ReadDevice,
        Operation::ReadKernel,
        Operation::WriteFile,
        Operation::WriteDevice,
        Operation::WriteKernel,
        Operation::ChangePath,
        Operation::ConnectTcp,
        Operation::SendUdp,
        Operation::ConnectUnix,
        Operation::SendRaw,
        Operation::SendPacket,
        Operation::ConnectVsock,
        Operation::AcceptTcp,
        Operation::MapExecutable,
        Operation::LoadModule,
        Operation::LoadBpf,
        Operation::TraceProcess,
        Operation::EnterNamespace,
        Operation::LeaveScope,
        Operation::Exec,
    ];

    /// The tool name; `None` for an exec, which is named by its program.
    #[must_use]
    pub const fn tool_name(self) -> Option<&'static str> {
        Some(match self {
            Operation::ReadFile => "read_file",
            Operation::ListDirectory => "list_directory",
            Operation::ReadDevice => "read_device",
            Operation::ReadKernel => "read_kernel",
            Operation::WriteFile => "write_file",
            Operation::WriteDevice => "write_device",
            Operation::WriteKernel => "write_kernel",
            Operation::ChangePath => "change_path",
            Operation::ConnectTcp => "connect_tcp",
            Operation::SendUdp => "send_udp",
            Operation::ConnectUnix => "connect_unix",
            Operation::SendRaw => "send_raw",
            Operation::SendPacket => "send_packet",
            Operation::ConnectVsock => "connect_vsock",
            Operation::AcceptTcp => "accept_tcp",
            Operation::MapExecutable => "map_executable",
            Operation::LoadModule => "load_module",
            Operation::LoadBpf => "load_bpf",
            Operation::TraceProcess => "trace_process",
            Operation::EnterNamespace => "enter_namespace",
            Operation::LeaveScope => "leave_scope",
            Operation::Exec => return None,
        })
    }

    /// The operation of this tool name.
    #[must_use]
    pub fn of_tool_name(name: &str) -> Option<Self> {
        Operation::ALL
            .into_iter()
            .find(|operation| operation.tool_name() == Some(name))
    }

    /// The arguments that it can have.
    #[must_use]
    pub const fn args(self) -> &'static [ArgName] {
        match self {
            Operation::ReadFile
            | Operation::ListDirectory
            | Operation::WriteFile
            | Operation::MapExecutable => FILE,
            Operation::ReadDevice | Operation::WriteDevice => DEVICE,
            Operation::ReadKernel | Operation::WriteKernel => KERNEL,
            Operation::ChangePath => CHANGE,
            Operation::ConnectTcp | Operation::SendUdp | Operation::ConnectVsock | Operation::AcceptTcp => {
                INET
            }
            Operation::SendRaw | Operation::SendPacket => PORTLESS,
            Operation::ConnectUnix => UNIX,
            Operation::LoadModule => MODULE,
            Operation::LoadBpf | Operation::TraceProcess | Operation::EnterNamespace => CALL,
            Operation::LeaveScope => MOVE,
            Operation::Exec => EXEC,
        }
    }

    /// Whether its address is an IP address.
    pub(super) const fn has_ip_address(self) -> bool {
        matches!(
            self,
            Operation::ConnectTcp | Operation::SendUdp | Operation::SendRaw | Operation::AcceptTcp
        )
    }

    /// Every value that its `op` can have.
    pub(super) const fn ops(self) -> Option<&'static [&'static str]> {
        match self {
            Operation::ChangePath => Some(&[
                "unlink",
                "rename",
                "mkdir",
                "rmdir",
                "link",
                "symlink",
                "mknod",
                "truncate",
                "chmod",
                "chown",
                "setxattr",
                "mount",
                "umount",
                "pivot_root",
                "chroot",
            ]),
            Operation::TraceProcess => Some(&["ptrace", "process_vm_writev", "pidfd_getfd"]),
            Operation::Exec => Some(&["exec"]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for operation in Operation::ALL {
            let back = operation.tool_name().and_then(Operation::of_tool_name);
            assert_eq!(back.unwrap_or(Operation::Exec), operation);
        }
        for (index, arg) in ArgName::ALL.into_iter().enumerate() {
            assert_eq!((arg as usize, ArgName::of_name(arg.name())), (index, Some(arg)));
        }
        assert_eq!(Operation::of_tool_name("exec"), None);
    }
}
