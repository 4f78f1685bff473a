//! `open`, `openat`, `openat2`, `creat`.

use aya_ebpf::cty::c_void;
use rei_ebpf_common::evidence;
use rei_ebpf_common::file::FileFacts;
use rei_ebpf_common::header::{EventKind, Hook, missing};
use rei_ebpf_common::open::OpenBody;
use rei_ebpf_common::part::PartTag;
use rei_ebpf_common::syscall::Class;

use crate::calls::Request;
use crate::emit::{Actor, Record, TEXT_ROOM};
use crate::kernel::{self, Typed};
use crate::maps::Call;
use crate::scope::Followed;
use crate::{file, path, table};

/// `O_CREAT | O_WRONLY | O_TRUNC`, what `creat` means (fs/open.c).
const CREAT_FLAGS: u64 = 0o1101;

/// What an open asks for, from its registers.
#[derive(Clone, Copy)]
struct Asked {
    dirfd: i32,
    path: u64,
    flags: u64,
    mode: u32,
    /// Address of `struct open_how`, 0 for the other calls.
    how: u64,
}

#[inline(always)]
fn asked(request: &Request) -> Asked {
    let first = request.argument(0);
    let second = request.argument(1);
    let third = request.argument(2);
    match request.class {
        Class::Open => Asked {
            dirfd: file::AT_FDCWD,
            path: first,
            flags: u64::from(second as u32),
            mode: third as u32,
            how: 0,
        },
        Class::Creat => Asked {
            dirfd: file::AT_FDCWD,
            path: first,
            flags: CREAT_FLAGS,
            mode: second as u32,
            how: 0,
        },
        Class::Openat2 => Asked {
            dirfd: first as i32,
            path: second,
            flags: 0,
            mode: 0,
            how: third,
        },
        _ => Asked {
            dirfd: first as i32,
            path: second,
            flags: u64::from(third as u32),
            mode: request.argument(3) as u32,
            how: 0,
        },
    }
}

/// Keeps what was asked: the text may be changed, and the base directory moved, before the call ends.
#[inline(always)]
pub(crate) fn enter(task: Typed, call: &mut Call, request: &Request) {
    let asked = asked(request);
    keep_text(task, call, asked.dirfd, asked.path);
    call.how = [asked.flags, u64::from(asked.mode), 0];
    call.how_read = 1;
    if asked.how != 0 {
        let to = (&raw mut call.how).cast::<c_void>();
        call.how_read = u32::from(kernel::read_user_into(asked.how, to, 24));
    }
}

/// Keeps the argument text and the identity of the base directory.
#[inline(always)]
pub(crate) fn keep_text(task: Typed, call: &mut Call, dirfd: i32, text: u64) {
    let to = call.text.as_mut_ptr().cast::<c_void>();
    call.text_len = kernel::read_user_string(text, to, TEXT_ROOM as u32).unwrap_or(0);
    call.base_dentry = file::base(task, dirfd, call.text[0]).map_or(0, |base| base.dentry);
}

/// Reports the object that was opened, or what was asked for in vain.
#[inline(always)]
pub(crate) fn exit(
    task: Typed,
    followed: &Followed,
    request: &Request,
    call: Option<&Call>,
    result: i64,
) -> Option<()> {
    let asked = asked(request);
    let actor = Actor::new(task, followed);
    let mut record = Record::<OpenBody>::begin(EventKind::Open, Hook::SysExit, &actor)?;
    let mut body = OpenBody {
        file: FileFacts::default(),
        ret: result,
        entry_ns: 0,
        asked_flags: asked.flags,
        resolve: 0,
        asked_mode: asked.mode,
        dirfd: asked.dirfd,
        syscall: request.number,
        evidence: evidence_of(task, request, call),
    };
    if asked.how != 0 {
        let how = how(call, asked.how);
        if how.is_none() {
            record.scratch().miss(missing::HOW);
        }
        let [flags, mode, resolve] = how.unwrap_or([0; 3]);
        body.asked_flags = flags;
        body.asked_mode = mode as u32;
        body.resolve = resolve;
    }
    if let Some(call) = call {
        body.entry_ns = call.entry_ns;
    }
    if result >= 0 {
        add_entry_text(&mut record, call, asked.path);
        match file::of_descriptor(task, result as i32) {
            Some(opened) => body.file = file::describe(record.scratch(), task, opened),
            None => record.scratch().miss(missing::OBJECT),
        }
        // Last: whoever changes the descriptor leaves a mark before, so a change that was read has left one.
        body.evidence |= contested(task, call, result as i32);
    } else {
        body.evidence |= add_texts(&mut record, task, call, asked.dirfd, asked.path);
    }
    *record.body() = body;
    record.submit(&actor)
}

/// `open_how` as it was at entry, or as it is now.
#[inline(always)]
fn how(call: Option<&Call>, address: u64) -> Option<[u64; 3]> {
    if let Some(call) = call
        && call.how_read != 0
    {
        return Some(call.how);
    }
    let mut how = [0u64; 3];
    kernel::read_user_into(address, (&raw mut how).cast(), 24).then_some(how)
}

/// What is known of any call.
#[inline(always)]
pub(crate) fn evidence_of(task: Typed, request: &Request, call: Option<&Call>) -> u32 {
    let mut bits = 0;
    if request.compat {
        bits |= evidence::COMPAT;
    }
    let shared_at_entry = call.is_some_and(|call| call.table_shared != 0);
    if shared_at_entry || table::shared(task) != 0 {
        bits |= evidence::TABLE_SHARED;
    }
    if call.is_some() {
        bits |= evidence::ENTRY_SEEN;
    }
    bits
}

/// Whether descriptor `fd` may be another one than the call meant. Without an entry nobody can say.
#[inline(always)]
pub(crate) fn contested(task: Typed, call: Option<&Call>, fd: i32) -> u32 {
    let contested = match call {
        Some(call) if call.table_shared == 0 && table::shared(task) == 0 => false,
        Some(call) => table::is_contested(task, fd, call.entry_ns),
        None => true,
    };
    if contested { evidence::CONTESTED } else { 0 }
}

/// The text that was asked: as kept at entry, or as it is now.
#[inline(always)]
fn add_entry_text<B: 'static>(record: &mut Record<B>, call: Option<&Call>, text: u64) {
    match call {
        Some(call) if call.text_len > 0 => add_kept_text(record, call),
        _ => {
            record.scratch().miss(missing::TEXT_ENTRY);
            record.user_text(PartTag::TextExit, text, missing::TEXT_EXIT);
        }
    }
}

/// The text as kept at entry.
#[inline(always)]
pub(crate) fn add_kept_text<B: 'static>(record: &mut Record<B>, call: &Call) {
    if call.text_len as usize == TEXT_ROOM {
        record.scratch().miss(missing::TEXT_CUT);
    }
    record.bytes(PartTag::TextEntry, call.text.as_ptr() as u64, call.text_len - 1);
}

/// Both texts and the base directory of a call that failed. Returns bits of [`evidence`].
#[inline(always)]
pub(crate) fn add_texts<B: 'static>(
    record: &mut Record<B>,
    task: Typed,
    call: Option<&Call>,
    dirfd: i32,
    text: u64,
) -> u32 {
    let kept = call.filter(|call| call.text_len > 0);
    match kept {
        Some(call) => add_kept_text(record, call),
        None => record.scratch().miss(missing::TEXT_ENTRY),
    }
    record.user_text(PartTag::TextExit, text, missing::TEXT_EXIT);
    let mut first = [0u8; 1];
    if !kernel::read_user_into(text, first.as_mut_ptr().cast(), 1)
        && let Some(call) = kept
    {
        first[0] = call.text[0];
    }
    let Some(base) = file::base(task, dirfd, first[0]) else {
        record.scratch().miss(missing::BASE);
        return 0;
    };
    path::add(record.scratch(), PartTag::Base, base, missing::BASE);
    match kept {
        Some(call) if call.base_dentry != base.dentry => evidence::BASE_CHANGED,
        _ => 0,
    }
}
