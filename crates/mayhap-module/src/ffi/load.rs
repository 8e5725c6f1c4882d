//! What happens when a server loads the module.

use super::api::{self, Ctx, Info, Str, api, bytes_of};
use super::command::{CUCKOO_TRAMPOLINES, TRAMPOLINES};
use super::{alloc, config, data_type, docs, guarded};
use crate::stats::STATS;
use crate::table::{COMMANDS, CUCKOO, Command, Family, Origin};
use std::ffi::{CStr, CString, c_int};
use std::sync::OnceLock;

const NAME: &CStr = c"mayhap";
const API_VERSION: c_int = 1;
/// 0.1.0 is 100.
const VERSION: c_int = 100;

/// The ACL category of a command: RedisBloom's holds the commands that it has there, because rules written
/// for it are to allow no more. All others are in one of their own, and so is everything under another
/// prefix.
fn category(family: Family, origin: Origin) -> &'static CStr {
    match (origin, family) {
        (Origin::Compatible, Family::Bloom) if has_usual_names() => c"bloom",
        (Origin::Compatible, Family::Cuckoo) if has_usual_names() => c"cuckoo",
        _ => c"mayhap",
    }
}

/// RedisBloom's categories. The last three are empty here: a server does not start with an ACL file that
/// names a category it does not know.
const CATEGORIES: [&CStr; 5] = [c"bloom", c"cuckoo", c"cms", c"topk", c"tdigest"];

static PREFIX: OnceLock<String> = OnceLock::new();

/// Whether commands are called `BF.*` and `CF.*`.
fn has_usual_names() -> bool {
    PREFIX.get().is_none_or(|prefix| prefix.eq_ignore_ascii_case("bf"))
}

/// The name of a command as it is registered: `bf.add`, or whatever the prefix makes of it. In
/// lowercase, as the server's own commands are and RedisBloom's: `ACL CAT` shows it as it is.
///
/// Another prefix than `bf` also keeps `CF.*` out of the way of another module's: with `mh` they are
/// `mhcf.*`.
pub fn full_name(family: Family, name: &str) -> String {
    let prefix = PREFIX.get().map_or("bf", String::as_str);
    match (family, prefix) {
        (Family::Bloom, prefix) => format!("{prefix}.{name}").to_lowercase(),
        (Family::Cuckoo, "bf") => format!("cf.{name}").to_lowercase(),
        (Family::Cuckoo, prefix) => format!("{prefix}cf.{name}").to_lowercase(),
    }
}

/// The name of a command that replicas are told, ours or one of the server's.
pub fn replicated_name(name: &str) -> String {
    match name.strip_prefix("CF.") {
        Some(name) => full_name(Family::Cuckoo, name),
        None if COMMANDS.iter().any(|row| row.name == name) => full_name(Family::Bloom, name),
        None => name.to_owned(),
    }
}

/// The one door the server knows.
///
/// # Safety
///
/// Only a server may call it, with a context and `argc` strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut Ctx,
    argv: *mut *mut Str,
    argc: c_int,
) -> c_int {
    // SAFETY: the context is the one that the server gives when it loads a module.
    let get = unsafe { api::getter(ctx) };
    // Before anything else: what is allocated now must be freed by the same allocator.
    alloc::init(get);
    guarded(api::ERR, || {
        // SAFETY: the server gives `argc` strings that live while we load.
        let words: Vec<&[u8]> = unsafe {
            let Ok(_) = api::init(get) else { return api::ERR };
            let count = usize::try_from(argc).unwrap_or(0);
            let strings: &[*mut Str] =
                if count == 0 { &[] } else { std::slice::from_raw_parts(argv, count) };
            strings.iter().map(|string| bytes_of(api(), *string)).collect()
        };
        match load(ctx, &words) {
            Ok(()) => api::OK,
            Err(why) => {
                log(ctx, &why);
                api::ERR
            }
        }
    })
}

fn load(ctx: *mut Ctx, words: &[&[u8]]) -> Result<(), String> {
    let api = api();
    // SAFETY: the context is that of loading, and names end in a zero.
    unsafe {
        (api.set_module_attribs)(ctx, NAME.as_ptr(), VERSION, API_VERSION);
        if api.is_name_busy.is_some_and(|is_busy| is_busy(NAME.as_ptr()) != 0) {
            return Err("a module called mayhap is loaded already".to_owned());
        }
        let options =
            api::HANDLE_IO_ERRORS | api::NO_IMPLICIT_SIGNAL_MODIFIED | api::HANDLE_REPL_ASYNC_LOAD;
        (api.set_options)(ctx, options);
    }
    let arguments = config::read_arguments(words)?;
    arguments.notes.iter().for_each(|line| log(ctx, line));
    _ = PREFIX.set(arguments.prefix);
    if !data_type::register(ctx) {
        return Err("the server refuses the type mayhap-bf".to_owned());
    }
    config::register(ctx)?;
    if let Some(add) = api.add_category {
        let others = CATEGORIES.into_iter().filter(|_| has_usual_names());
        for category in others.chain([c"mayhap"]) {
            // SAFETY: likewise. Another module may have made it already, which is as good.
            unsafe { add(ctx, category.as_ptr()) };
        }
    }
    for (command, door) in COMMANDS.iter().zip(TRAMPOLINES) {
        register(ctx, Family::Bloom, command, door)?;
    }
    for (command, trampoline) in CUCKOO.iter().zip(CUCKOO_TRAMPOLINES) {
        register(ctx, Family::Cuckoo, command, trampoline)?;
    }
    if let Some(register) = api.register_info {
        // SAFETY: likewise; the function lives as long as the module.
        unsafe { register(ctx, info) };
    }
    Ok(())
}

fn register(
    ctx: *mut Ctx,
    family: Family,
    command: &Command,
    door: api::CommandFn,
) -> Result<(), String> {
    let name = full_name(family, command.name);
    let c_name = CString::new(name.as_str()).unwrap_or_default();
    let flags = CString::new(command.flag_words()).unwrap_or_default();
    // SAFETY: the context is that of loading, names end in a zero, and the server copies them.
    unsafe {
        let made = (api().create_command)(ctx, c_name.as_ptr(), door, flags.as_ptr(), 1, 1, 1);
        if made != api::OK {
            return Err(format!(
                "{name} belongs to another module: load this one with another prefix, as in PREFIX MH"
            ));
        }
        let handle = (api().get_command)(ctx, c_name.as_ptr());
        if handle.is_null() {
            return Ok(());
        }
        docs::describe(handle, command);
        if let Some(set) = api().set_categories {
            let access = if command.writes() { "write" } else { "read" };
            let category = category(family, command.origin).to_string_lossy();
            let words = CString::new(format!("{access} {category}"));
            set(handle, words.unwrap_or_default().as_ptr());
        }
    }
    Ok(())
}

/// Write a line to the server's log; without a context outside of a command.
pub fn log(ctx: *mut Ctx, line: &str) {
    let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the format takes one string, which ends in a zero.
    unsafe { (api().log)(ctx, c"warning".as_ptr(), c"%s".as_ptr(), line.as_ptr()) };
}

/// `INFO mayhap`.
unsafe extern "C" fn info(info: *mut Info, _for_crash_report: c_int) {
    guarded((), || {
        let (Some(section), Some(number)) = (api().info_section, api().info_number) else { return };
        // SAFETY: the server gave it to the callback that runs; names end in a zero.
        unsafe {
            if section(info, c"stats".as_ptr()) != api::OK {
                return; // another section was asked for
            }
            for (name, value) in STATS.rows() {
                number(info, CString::new(name).unwrap_or_default().as_ptr(), value);
            }
        }
    });
}
