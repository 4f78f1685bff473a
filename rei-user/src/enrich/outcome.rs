//! How a call ended: return value → outcome, and the names of errors.

use std::fmt;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It succeeded.
    Ok,
    /// It was begun; the result is not known here: `EINPROGRESS` of connect, `SYN_SENT` outside a connect
    /// call, a datagram on its way.
    InProgress,
    /// It failed with this errno.
    Failed(Errno),
}

impl Outcome {
    /// The outcome of a call that returned `ret`: a value, or minus errno.
    pub(super) fn of_call(ret: i64) -> Self {
        if ret >= 0 {
            Outcome::Ok
        } else {
            Outcome::Failed(Errno(ret.unsigned_abs()))
        }
    }

    /// The outcome of a connect: one that is in progress has not failed.
    pub(super) fn of_connect(ret: i64) -> Self {
        match Outcome::of_call(ret) {
            Outcome::Failed(Errno::EINPROGRESS) => Outcome::InProgress,
            outcome => outcome,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ok => out.write_str("ok"),
            Outcome::InProgress => out.write_str("in_progress"),
            Outcome::Failed(errno) => errno.fmt(out),
        }
    }
}

/// A Linux error number, x86-64. `Display` gives its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub u64);

impl Errno {
    /// No such file or directory.
    pub const ENOENT: Errno = Errno(2);
    /// A component of the path is no directory.
    pub const ENOTDIR: Errno = Errno(20);
    /// Bad address: the kernel itself could not read an argument.
    pub const EFAULT: Errno = Errno(14);
    /// The connection is being made.
    pub const EINPROGRESS: Errno = Errno(115);
}

impl fmt::Display for Errno {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = usize::try_from(self.0)
            .ok()
            .and_then(|number| NAMES.get(number))
            .filter(|name| !name.is_empty());
        if let Some(name) = named {
            return out.write_str(name);
        }
        // Kernel-internal numbers that the exit tracepoint sees before the signal code replaces them:
        // include/linux/errno.h.
        match self.0 {
            512 => out.write_str("ERESTARTSYS"),
            513 => out.write_str("ERESTARTNOINTR"),
            514 => out.write_str("ERESTARTNOHAND"),
            515 => out.write_str("ENOIOCTLCMD"),
            516 => out.write_str("ERESTART_RESTARTBLOCK"),
            517 => out.write_str("EPROBE_DEFER"),
            518 => out.write_str("EOPENSTALE"),
            524 => out.write_str("ENOTSUPP"),
            number => write!(out, "E{number}"),
        }
    }
}

/// include/uapi/asm-generic/errno-base.h and errno.h, by number; empty where there is none (0, 41, 58).
#[rustfmt::skip]
const NAMES: [&str; 134] = [
    "", "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR",
    "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS",
    "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY",
    "ELOOP", "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH",
    "ENOCSI", "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC", "EBADSLT", "", "EBFONT", "ENOSTR",
    "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT", "ECOMM",
    "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC",
    "ELIBBAD", "ELIBSCN", "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK",
    "EDESTADDRREQ", "EMSGSIZE", "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT",
    "EOPNOTSUPP", "EPFNOSUPPORT", "EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH",
    "ENETRESET", "ECONNABORTED", "ECONNRESET", "ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN",
    "ETOOMANYREFS", "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH", "EALREADY", "EINPROGRESS",
    "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM", "EMEDIUMTYPE",
    "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE",
    "ERFKILL", "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_kernel_names() {
        let table = [
            (0, "ok"),
            (7, "ok"),
            (-1, "EPERM"),
            (-2, "ENOENT"),
            (-11, "EAGAIN"),
            (-13, "EACCES"),
            (-20, "ENOTDIR"),
            (-35, "EDEADLK"),
            (-36, "ENAMETOOLONG"),
            (-40, "ELOOP"),
            (-41, "E41"),
            (-42, "ENOMSG"),
            (-95, "EOPNOTSUPP"),
            (-111, "ECONNREFUSED"),
            (-115, "EINPROGRESS"),
            (-133, "EHWPOISON"),
            (-134, "E134"),
            (-512, "ERESTARTSYS"),
            (i64::MIN, "E9223372036854775808"),
        ];
        for (ret, name) in table {
            assert_eq!(Outcome::of_call(ret).to_string(), name, "{ret}");
        }
        assert_eq!(Outcome::of_connect(-115), Outcome::InProgress);
        assert_eq!(Outcome::of_connect(-114).to_string(), "EALREADY");
    }
}
