//! Settings: from the arguments of `loadmodule`, and from `CONFIG`.

use super::api::{self, Ctx, Str, api, bytes_of};
use super::{guarded, load};
use crate::arguments::Arguments;
use crate::settings::CuckooSettings;
use crate::{Cuckoo, Replies, Settings};
use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

static SETTINGS: Mutex<Settings> = Mutex::new(Settings::DEFAULT);
/// The values of [`Cuckoo::ALL`].
static CUCKOO: Mutex<[i64; Cuckoo::ALL.len()]> = Mutex::new([0; Cuckoo::ALL.len()]);
/// Separate from the others, because every command reads it.
static VALKEY_REPLIES: AtomicBool = AtomicBool::new(false);
/// While the server hands out the values it has for us, and the defaults for the rest: these
/// defaults. Empty at other times.
static DEFAULTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The current settings.
pub fn settings() -> Settings {
    *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn change<T>(with: impl FnOnce(&mut Settings) -> T) -> T {
    with(&mut SETTINGS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn cuckoo<T>(with: impl FnOnce(&mut [i64; Cuckoo::ALL.len()]) -> T) -> T {
    with(&mut CUCKOO.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What filters of `CF.*` are made like.
pub fn cuckoo_settings() -> CuckooSettings {
    cuckoo(|values| CuckooSettings::of(values))
}

/// The reply shapes.
#[inline]
pub fn replies() -> Replies {
    Replies::at(VALKEY_REPLIES.load(Relaxed).into())
}

/// Parse the arguments of `loadmodule`, or return what is wrong.
pub fn read_arguments(words: &[&[u8]]) -> Result<Arguments, String> {
    let arguments = Arguments::parse(words)?;
    change(|now| *now = arguments.settings);
    cuckoo(|now| *now = arguments.cuckoo);
    VALKEY_REPLIES.store(arguments.replies == Replies::ValkeyBloom, Relaxed);
    Ok(arguments)
}

const MAX_FILTER_BYTES: &CStr = c"max-filter-bytes";
const COMPAT: &CStr = c"compat";
const REPLIES: &CStr = c"replies";

/// The number of text settings: RedisBloom's, of both its kinds of filters.
const TEXTS: usize = Settings::SHARED.len() + Cuckoo::ALL.len();

fn text_name(at: usize) -> &'static str {
    match Settings::SHARED.get(at) {
        Some(name) => name,
        None => Cuckoo::ALL[at - Settings::SHARED.len()].name,
    }
}

fn text(at: usize) -> String {
    match at.checked_sub(Settings::SHARED.len()) {
        None => settings().get(text_name(at)),
        Some(at) => cuckoo(|values| values[at].to_string()),
    }
}

fn set_text(at: usize, value: &[u8]) -> Result<(), String> {
    // A setting with two names is set twice by the server, and the default of one name must not
    // undo the value of the other. An unset one has its default already.
    let defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    let now = text(at);
    match defaults.get(at) {
        Some(usual) if usual.as_bytes() == value => return Ok(()),
        Some(usual) if *usual != now && now.as_bytes() != value => {
            let (name, value) = (text_name(at), String::from_utf8_lossy(value));
            let line = format!("{name} is set twice, to {now} and to {value}: the latter counts");
            load::log(std::ptr::null_mut(), &line);
        }
        _ => {}
    }
    drop(defaults);
    match at.checked_sub(Settings::SHARED.len()) {
        None => change(|settings| settings.set(text_name(at), value)),
        Some(at) => {
            let value = Cuckoo::ALL[at].parse(value)?;
            cuckoo(|values| values[at] = value);
            if let Some(note) = Cuckoo::ALL[at].note() {
                load::log(std::ptr::null_mut(), &note);
            }
            Ok(())
        }
    }
}

/// Register the settings with `CONFIG`, if the server has that: each as `mayhap.<name>`, and those
/// of RedisBloom also by its own names where the server allows names without a prefix.
pub fn register(ctx: *mut Ctx) -> Result<(), String> {
    let api = api();
    let (Some(number), Some(bool), Some(choice), Some(load)) =
        (api.register_number, api.register_bool, api.register_enum, api.load_configs)
    else {
        return Ok(());
    };
    // The function was introduced together with names without a prefix.
    if api.load_default_configs.is_some() {
        // If another module has the first of the names, it has them all.
        let mine = |at: &usize| register_text(ctx, *at, api::CONFIG_UNPREFIXED);
        _ = (0..TEXTS).take_while(mine).count();
    }
    (0..Settings::SHARED.len()).for_each(|at| _ = register_text(ctx, at, 0));
    let now = settings();
    let most = i64::try_from(now.max_filter_bytes).unwrap_or(i64::MAX);
    let names = Replies::NAMES.map(|name| CString::new(name).unwrap_or_default());
    let mut names = names.each_ref().map(|name| name.as_ptr());
    let (values, none) = ([0, 1], std::ptr::null_mut());
    // SAFETY: the context is that of loading; names and defaults are copied by the server, and the
    // functions live as long as the module, which is never unloaded.
    let loaded = unsafe {
        let name = MAX_FILTER_BYTES.as_ptr();
        number(
            ctx,
            name,
            most,
            api::CONFIG_MEMORY,
            0,
            i64::MAX,
            get_max_bytes,
            set_max_bytes,
            none,
            none,
        );
        bool(ctx, COMPAT.as_ptr(), now.compat.into(), 0, get_compat, set_compat, none, none);
        choice(
            ctx,
            REPLIES.as_ptr(),
            (replies() == Replies::ValkeyBloom).into(),
            0,
            names.as_mut_ptr(),
            values.as_ptr(),
            names.len() as c_int,
            get_replies,
            set_replies,
            none,
            none,
        );
        *DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner) = (0..TEXTS).map(text).collect();
        let loaded = load(ctx) == api::OK;
        DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner).clear();
        loaded
    };
    let why = "a configuration of the module is wrong: the line before this one tells which";
    if loaded { Ok(()) } else { Err(why.to_owned()) }
}

/// Whether the server accepts this setting.
fn register_text(ctx: *mut Ctx, at: usize, flags: u32) -> bool {
    let Some(string) = api().register_string else { return false };
    let name = CString::new(text_name(at)).unwrap_or_default();
    let usual = CString::new(text(at)).unwrap_or_default();
    let (none, which) = (std::ptr::null_mut(), std::ptr::without_provenance_mut(at));
    // SAFETY: as in `register`; what is kept for us is a number and no place in memory.
    unsafe {
        string(ctx, name.as_ptr(), usual.as_ptr(), flags, get_text, set_text_of, none, which)
            == api::OK
    }
}

thread_local! {
    /// The string last returned to `CONFIG GET`: the server does not free it.
    static SHOWN: std::cell::Cell<*mut Str> = const { std::cell::Cell::new(std::ptr::null_mut()) };
}

unsafe extern "C" fn get_text(_: *const c_char, which: *mut c_void) -> *mut Str {
    guarded(std::ptr::null_mut(), || {
        let text = text(which.addr());
        // SAFETY: a string without a context is ours to free; the one before was used at once.
        unsafe {
            let before = SHOWN.replace(std::ptr::null_mut());
            if !before.is_null() {
                (api().free_string)(std::ptr::null_mut(), before);
            }
            let shown =
                (api().create_string)(std::ptr::null_mut(), text.as_ptr().cast(), text.len());
            SHOWN.set(shown);
            shown
        }
    })
}

unsafe extern "C" fn set_text_of(
    _: *const c_char,
    value: *mut Str,
    which: *mut c_void,
    error: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        // SAFETY: the server gives a string, and a place for one of ours that it will free.
        unsafe {
            let Err(text) = set_text(which.addr(), bytes_of(api(), value)) else { return api::OK };
            *error = (api().create_string)(std::ptr::null_mut(), text.as_ptr().cast(), text.len());
            api::ERR
        }
    })
}

unsafe extern "C" fn get_max_bytes(_: *const c_char, _: *mut c_void) -> c_longlong {
    guarded(0, || i64::try_from(settings().max_filter_bytes).unwrap_or(i64::MAX))
}

unsafe extern "C" fn set_max_bytes(
    _: *const c_char,
    value: c_longlong,
    _: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        // Within the limits it was registered with.
        change(|settings| settings.max_filter_bytes = u64::try_from(value).unwrap_or(0));
        api::OK
    })
}

unsafe extern "C" fn get_replies(_: *const c_char, _: *mut c_void) -> c_int {
    guarded(0, || (replies() == Replies::ValkeyBloom).into())
}

unsafe extern "C" fn set_replies(
    _: *const c_char,
    value: c_int,
    _: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        VALKEY_REPLIES.store(value == 1, Relaxed);
        api::OK
    })
}

unsafe extern "C" fn get_compat(_: *const c_char, _: *mut c_void) -> c_int {
    guarded(0, || settings().compat.into())
}

unsafe extern "C" fn set_compat(
    _: *const c_char,
    value: c_int,
    _: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        change(|settings| settings.compat = value != 0);
        api::OK
    })
}
