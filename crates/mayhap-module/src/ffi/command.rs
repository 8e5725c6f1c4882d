//! Trampolines: from the server's call to a row of the table, and from its reply to the server's.

use super::api::{self, Api, Ctx, Str, api, bytes_of};
use super::keys::ServerKeys;
use super::{config, docs};
use crate::table::{COMMANDS, CUCKOO, Command, Family};
use crate::{Args, CommandError, Replies, Reply};
use std::cell::RefCell;
use std::ffi::{CString, c_int, c_long};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One function per row: the server calls them without saying which command it is.
macro_rules! trampolines {
    ($cuckoo:literal: $($row:literal)*) => { [$(call::<$cuckoo, $row>),*] };
}

/// The functions to register, one per row.
pub const TRAMPOLINES: [api::CommandFn; COMMANDS.len()] =
    trampolines!(false: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);

/// What to register for each row of `CF.*`.
pub const CUCKOO_TRAMPOLINES: [api::CommandFn; CUCKOO.len()] =
    trampolines!(true: 0 1 2 3 4 5 6 7 8 9 10 11 12 13);

/// A row of one table or the other.
const fn row(cuckoo: bool, row: usize) -> &'static Command {
    if cuckoo { &CUCKOO[row] } else { &COMMANDS[row] }
}

unsafe extern "C" fn call<const CF: bool, const ROW: usize>(
    ctx: *mut Ctx,
    argv: *mut *mut Str,
    argc: c_int,
) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the server gives `argc` strings that live as long as the command runs.
        unsafe { run::<CF, ROW>(ctx, argv, argc) }
    }));
    outcome.unwrap_or_else(|_| {
        // SAFETY: the context is that of the running command.
        unsafe { (api().reply_error)(ctx, c"ERR internal error: this is a bug of mayhap".as_ptr()) }
    })
}

/// Up to this many arguments are kept on the stack: a command about one item then costs little.
const FEW_WORDS: usize = 8;
/// Maximum capacity that is kept from one command to the next.
const KEPT_WORDS: usize = 4096;

thread_local! {
    /// The buffer for the arguments of a command; kept, so that no command must allocate.
    static WORDS: RefCell<Vec<&'static [u8]>> = const { RefCell::new(Vec::new()) };
}

/// # Safety
///
/// `argv` must hold `argc` strings of the command that runs in `ctx`.
#[inline]
unsafe fn run<const CF: bool, const ROW: usize>(
    ctx: *mut Ctx,
    argv: *mut *mut Str,
    argc: c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    let strings = unsafe { std::slice::from_raw_parts(argv, usize::try_from(argc).unwrap_or(0)) };
    let api = api();
    // SAFETY: the strings live until the command is done, and the words are forgotten before.
    let word = |string: &*mut Str| -> &'static [u8] { unsafe { bytes_of(api, *string) } };
    let mut few = [&[][..]; FEW_WORDS];
    if let Some(few) = few.get_mut(..strings.len()) {
        // The first one stays empty: the row knows its name.
        few.iter_mut().zip(strings).skip(1).for_each(|(to, string)| *to = word(string));
        return answer::<CF, ROW>(api, ctx, strings, few);
    }
    // Taken out rather than borrowed: a command may run inside of another's notification.
    let mut words = WORDS.take();
    words.clear();
    words.extend(strings.iter().map(word));
    let status = answer::<CF, ROW>(api, ctx, strings, &words);
    // After a command with a million arguments the buffer is freed.
    if words.capacity() <= KEPT_WORDS {
        words.clear();
        WORDS.set(words);
    }
    status
}

/// Which row it is is known when compiling: its arity is a number then, and its handler is called
/// directly.
#[inline(always)]
fn answer<const CF: bool, const ROW: usize>(
    api: &'static Api,
    ctx: *mut Ctx,
    strings: &[*mut Str],
    words: &[&[u8]],
) -> c_int {
    let (command, args) = (const { row(CF, ROW) }, Args::new(words));
    if const { row(CF, ROW).must_be_asked() } && answers_for_keys(command, ctx, &args) {
        return api::OK;
    }
    let (least, most) = const { row(CF, ROW).words() };
    if !(least..=most).contains(&words.len()) {
        return refuse(ctx, &CommandError::Arity);
    }
    let family = if CF { Family::Cuckoo } else { Family::Bloom };
    // SAFETY: context and strings are those of the running command.
    let mut keys = unsafe { ServerKeys::new(api, ctx, strings, family) };
    let outcome = (const { row(CF, ROW).run })(&mut keys, &args);
    // The most common one is handled here: the others have memory to free.
    if let Ok(Reply::Bool(yes)) = outcome {
        std::mem::forget(outcome);
        return send_bool(api, ctx, yes);
    }
    match outcome {
        Ok(reply) => send(ctx, &reply),
        Err(error) => refuse(ctx, &error),
    }
}

/// Whether the server only asks for the positions of the keys.
fn answers_for_keys(command: &Command, ctx: *mut Ctx, args: &Args<'_>) -> bool {
    // SAFETY: the context is that of the running command.
    unsafe {
        if (api().is_keys_request)(ctx) == 0 {
            return false;
        }
        for place in command.key_places(args) {
            // Without flags a key counts as read and written, which needs permission for both.
            match api().key_at_with_flags {
                Some(key_at) => {
                    let flags = docs::key_flags(command.access_at(place, args));
                    key_at(ctx, place as c_int, flags as c_int);
                }
                None => (api().key_at)(ctx, place as c_int),
            }
        }
    }
    true
}

fn refuse(ctx: *mut Ctx, error: &CommandError) -> c_int {
    // SAFETY: the context is that of the running command; the line ends in a zero.
    unsafe {
        match error {
            CommandError::Arity => (api().wrong_arity)(ctx),
            CommandError::Text(line) => {
                // A line of the protocol: the client's bytes must not end it.
                let line = line.replace(['\0', '\r', '\n'], " ");
                (api().reply_error)(ctx, CString::new(line).unwrap_or_default().as_ptr())
            }
        }
    }
}

/// Yes or no, in the configured shape.
#[inline]
fn send_bool(api: &Api, ctx: *mut Ctx, yes: bool) -> c_int {
    // SAFETY: the context is that of the running command.
    unsafe {
        match config::replies() {
            Replies::RedisBloom => (api.reply_bool)(ctx, yes.into()),
            Replies::ValkeyBloom => (api.reply_long_long)(ctx, yes.into()),
        }
    }
}

fn send(ctx: *mut Ctx, reply: &Reply<'_>) -> c_int {
    let api = api();
    let replies = config::replies();
    // SAFETY: the context is that of the running command, and every pointer goes with its length.
    unsafe {
        let bytes = |bytes: &[u8]| (api.reply_bytes)(ctx, bytes.as_ptr().cast(), bytes.len());
        match reply {
            Reply::Ok => (api.reply_simple)(ctx, c"OK".as_ptr()),
            Reply::Null => (api.reply_null)(ctx),
            Reply::Int(number) => (api.reply_long_long)(ctx, *number),
            Reply::Double(number) => (api.reply_double)(ctx, *number),
            Reply::Bool(yes) => send_bool(api, ctx, *yes),
            Reply::Text(text) => bytes(text.as_bytes()),
            Reply::Line(text) => bytes(text.as_bytes()),
            Reply::Bools(all) => {
                (api.reply_array)(ctx, all.len() as c_long);
                all.iter().for_each(|yes| _ = send_bool(api, ctx, *yes));
                api::OK
            }
            Reply::Taken(all) => {
                let resp3 = (api.context_flags)(ctx) & api::FLAG_RESP3 != 0;
                (api.reply_array)(ctx, all.len() as c_long);
                for taken in all {
                    match *taken || resp3 && replies == Replies::RedisBloom {
                        true => send_bool(api, ctx, *taken),
                        false => (api.reply_long_long)(ctx, -1),
                    };
                }
                api::OK
            }
            Reply::Ints(all) => {
                (api.reply_array)(ctx, all.len() as c_long);
                all.iter().for_each(|number| _ = (api.reply_long_long)(ctx, *number));
                api::OK
            }
            Reply::LastChunk => {
                (api.reply_array)(ctx, 2);
                (api.reply_long_long)(ctx, 0);
                (api.reply_null)(ctx)
            }
            Reply::BoolsUntil(all, error) => {
                (api.reply_array)(ctx, all.len() as c_long + 1);
                all.iter().for_each(|yes| _ = send_bool(api, ctx, *yes));
                refuse(ctx, error)
            }
            Reply::Lines(lines) => {
                (api.reply_array)(ctx, lines.len() as c_long);
                lines.iter().for_each(|line| _ = bytes(line.as_bytes()));
                api::OK
            }
            Reply::Words(words) => {
                (api.reply_array)(ctx, words.len() as c_long);
                words.iter().for_each(|word| _ = bytes(word));
                api::OK
            }
            Reply::Fields(fields) => {
                match replies {
                    Replies::RedisBloom => (api.reply_map)(ctx, fields.len() as c_long),
                    Replies::ValkeyBloom => (api.reply_array)(ctx, 2 * fields.len() as c_long),
                };
                for (name, value) in fields {
                    // Simple strings, like RedisBloom.
                    (api.reply_simple)(ctx, CString::new(*name).unwrap_or_default().as_ptr());
                    send(ctx, value);
                }
                api::OK
            }
            Reply::Field(_, value) if replies == Replies::ValkeyBloom => send(ctx, value),
            Reply::Field(name, value) => {
                if (api.context_flags)(ctx) & api::FLAG_RESP3 != 0 {
                    (api.reply_map)(ctx, 1);
                    (api.reply_simple)(ctx, CString::new(*name).unwrap_or_default().as_ptr());
                } else {
                    (api.reply_array)(ctx, 1);
                }
                send(ctx, value)
            }
            Reply::Chunk(next, chunk) => {
                (api.reply_array)(ctx, 2);
                (api.reply_long_long)(ctx, i64::try_from(*next).unwrap_or(0));
                bytes(chunk)
            }
        }
    }
}
