//! Paths as text: made plain without asking the file system, and the process's own place in /proc.

use std::borrow::Cow;

/// A path that was made plain.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain<'a> {
    pub(super) path: Cow<'a, [u8]>,
    /// It held `..`: through a symlink it may mean something else.
    pub(super) has_parents: bool,
}

/// Takes out empty components, `.` and `..`.
pub(super) fn plain(path: &[u8]) -> Plain<'_> {
    let is_odd = |name: &[u8]| name.is_empty() || name == b"." || name == b"..";
    let is_plain = path == b"/"
        || path
            .strip_prefix(b"/")
            .is_some_and(|rest| !rest.split(|byte| *byte == b'/').any(is_odd));
    if is_plain || !path.starts_with(b"/") {
        return Plain {
            path: Cow::Borrowed(path),
            has_parents: path.split(|byte| *byte == b'/').any(|name| name == b".."),
        };
    }
    let mut names: Vec<&[u8]> = Vec::new();
    let mut has_parents = false;
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                has_parents = true;
                names.pop();
            }
            name => names.push(name),
        }
    }
    let mut path: Vec<u8> = names.iter().flat_map(|name| [b"/", *name].concat()).collect();
    if path.is_empty() {
        path.push(b'/');
    }
    Plain {
        path: Cow::Owned(path),
        has_parents,
    }
}

/// `/proc/17/maps` of process 17 as `/proc/self/maps`, `/proc/thread-self/x` as `/proc/self/task/0/x`; other paths as
/// they are.
pub(super) fn own_proc(path: &[u8], own_pid: u32) -> Cow<'_, [u8]> {
    let Some(rest) = path.strip_prefix(b"/proc/") else {
        return Cow::Borrowed(path);
    };
    let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    if name == b"thread-self" {
        return Cow::Owned([b"/proc/self/task/0", tail].concat());
    }
    if own_pid != 0 && name == own_pid.to_string().as_bytes() {
        return Cow::Owned([b"/proc/self", tail].concat());
    }
    Cow::Borrowed(path)
}

/// Whether `path` is `directory` or lies below it.
pub(super) fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_plain() {
        let table: [(&[u8], &[u8], bool); 9] = [
            (b"/a/b", b"/a/b", false),
            (b"/", b"/", false),
            (b"//a/./b/", b"/a/b", false),
            (b"/a/../b", b"/b", true),
            (b"/../..", b"/", true),
            (b"/a/..", b"/", true),
            (b"x/../y", b"x/../y", true),
            (b"", b"", false),
            (b"/..a/b..", b"/..a/b..", false),
        ];
        for (path, expected, has_parents) in table {
            let made = plain(path);
            assert_eq!(
                (made.path.as_ref(), made.has_parents),
                (expected, has_parents),
                "{path:?}"
            );
        }
    }

    #[test]
    fn only_the_own_process_is_self() {
        assert_eq!(own_proc(b"/proc/17/maps", 17).as_ref(), b"/proc/self/maps");
        assert_eq!(own_proc(b"/proc/17", 17).as_ref(), b"/proc/self");
        for path in [
            &b"/proc/170/maps"[..],
            b"/proc/1/maps",
            b"/proc/0/maps",
            b"/x/proc/17/maps",
        ] {
            assert_eq!(own_proc(path, 17).as_ref(), path);
        }
        assert_eq!(own_proc(b"/proc/0/maps", 0).as_ref(), b"/proc/0/maps");
        assert_eq!(
            own_proc(b"/proc/thread-self/comm", 17).as_ref(),
            b"/proc/self/task/0/comm"
        );
    }

    #[test]
    fn below_means_whole_components() {
        assert!(is_below(b"/a/b", b"/a") && is_below(b"/a", b"/a"));
        assert!(!is_below(b"/ab", b"/a") && !is_below(b"/", b"/a"));
    }
}
