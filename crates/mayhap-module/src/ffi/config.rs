//! Settings: from the arguments of `loadmodule`, and from `CONFIG`.

use super::api::{self, Ctx, Str, api, bytes_of};
use super::guarded;
use crate::Settings;
use crate::args::{decimal, integer, is};
use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::sync::{Mutex, PoisonError};

static SETTINGS: Mutex<Settings> = Mutex::new(Settings::DEFAULT);

/// As they are now.
pub fn settings() -> Settings {
    *SETTINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn change(with: impl FnOnce(&mut Settings)) {
    with(&mut SETTINGS.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Read the arguments of `loadmodule`; gives the prefix of the commands, or what is wrong.
pub fn read_arguments(words: &[&[u8]]) -> Result<String, String> {
    let (mut settings, mut prefix) = (Settings::DEFAULT, "BF".to_owned());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let name = String::from_utf8_lossy(word).into_owned();
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let bad = || format!("bad value for {name}: {}", String::from_utf8_lossy(value));
        if is(word, "PREFIX") {
            let letters =
                (1..=32).contains(&value.len()) && value.iter().all(u8::is_ascii_alphanumeric);
            prefix =
                letters.then(|| String::from_utf8_lossy(value).to_uppercase()).ok_or_else(bad)?;
        } else if is(word, "ERROR_RATE") {
            settings.error_rate = decimal(value).filter(is_rate).ok_or_else(bad)?;
        } else if is(word, "INITIAL_SIZE") {
            let most = Settings::MAX_CAPACITY as i64;
            let got = integer(value).filter(|got| (1..=most).contains(got));
            settings.initial_size = got.ok_or_else(bad)? as u64;
        } else if is(word, "EXPANSION") {
            let most = i64::from(Settings::MAX_EXPANSION);
            let got = integer(value).filter(|got| (1..=most).contains(got));
            settings.expansion = got.ok_or_else(bad)? as u32;
        } else if is(word, "MAX_FILTER_BYTES") {
            let got = integer(value).and_then(|got| u64::try_from(got).ok());
            settings.max_filter_bytes = got.ok_or_else(bad)?;
        } else if is(word, "COMPAT") {
            settings.compat = match () {
                () if is(value, "yes") => true,
                () if is(value, "no") => false,
                () => return Err(bad()),
            };
        } else {
            return Err(format!(
                "unknown argument {name}: there are PREFIX, ERROR_RATE, INITIAL_SIZE, EXPANSION, MAX_FILTER_BYTES and COMPAT"
            ));
        }
    }
    change(|now| *now = settings);
    Ok(prefix)
}

fn is_rate(rate: &f64) -> bool {
    (mayhap::MIN_FPR..1.0).contains(rate)
}

const ERROR_RATE: &CStr = c"bf-error-rate";
const INITIAL_SIZE: &CStr = c"bf-initial-size";
const EXPANSION: &CStr = c"bf-expansion-factor";
const MAX_FILTER_BYTES: &CStr = c"max-filter-bytes";
const COMPAT: &CStr = c"compat";

/// Offer the settings to `CONFIG`, where the server has that: each as `mayhap.<name>`.
pub fn register(ctx: *mut Ctx) {
    let api = api();
    let (Some(string), Some(number), Some(bool), Some(load)) =
        (api.register_string, api.register_number, api.register_bool, api.load_configs)
    else {
        return;
    };
    let now = settings();
    let rate = CString::new(now.error_rate.to_string()).unwrap_or_default();
    let none = std::ptr::null_mut();
    // SAFETY: the context is that of loading; names and defaults are copied by the server, and the
    // functions live as long as the module, which is never unloaded.
    unsafe {
        string(ctx, ERROR_RATE.as_ptr(), rate.as_ptr(), 0, get_rate, set_rate, none, none);
        let numbers = [
            (INITIAL_SIZE, now.initial_size, 0, 1, Settings::MAX_CAPACITY as i64),
            (EXPANSION, now.expansion.into(), 0, 1, Settings::MAX_EXPANSION.into()),
            (MAX_FILTER_BYTES, now.max_filter_bytes, api::CONFIG_MEMORY, 0, i64::MAX),
        ];
        for (name, value, flags, least, most) in numbers {
            let value = i64::try_from(value).unwrap_or(i64::MAX);
            number(
                ctx,
                name.as_ptr(),
                value,
                flags,
                least,
                most,
                get_number,
                set_number,
                none,
                none,
            );
        }
        bool(ctx, COMPAT.as_ptr(), now.compat.into(), 0, get_compat, set_compat, none, none);
        load(ctx);
    }
}

thread_local! {
    /// The string last given to `CONFIG GET`: the server does not free it.
    static SHOWN: std::cell::Cell<*mut Str> = const { std::cell::Cell::new(std::ptr::null_mut()) };
}

unsafe extern "C" fn get_rate(_: *const c_char, _: *mut c_void) -> *mut Str {
    guarded(std::ptr::null_mut(), || {
        let text = settings().error_rate.to_string();
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

unsafe extern "C" fn set_rate(
    _: *const c_char,
    value: *mut Str,
    _: *mut c_void,
    error: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        // SAFETY: the server gives a string, and a place for one of ours that it will free.
        unsafe {
            let Some(rate) = decimal(bytes_of(api(), value)).filter(is_rate) else {
                let text = "bf-error-rate must lie between 1e-12 and 1";
                *error =
                    (api().create_string)(std::ptr::null_mut(), text.as_ptr().cast(), text.len());
                return api::ERR;
            };
            change(|settings| settings.error_rate = rate);
            api::OK
        }
    })
}

/// # Safety
///
/// The name must be one that the server gives to a callback of ours.
unsafe fn is_name(name: *const c_char, ours: &CStr) -> bool {
    // SAFETY: it ends in a zero by the server's contract. Some servers give the name with the
    // module's prefix.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    name.ends_with(ours.to_bytes())
}

unsafe extern "C" fn get_number(name: *const c_char, _: *mut c_void) -> c_longlong {
    guarded(0, || {
        let now = settings();
        // SAFETY: the name comes from the server.
        let value = unsafe {
            match () {
                () if is_name(name, INITIAL_SIZE) => now.initial_size,
                () if is_name(name, EXPANSION) => now.expansion.into(),
                () => now.max_filter_bytes,
            }
        };
        i64::try_from(value).unwrap_or(i64::MAX)
    })
}

unsafe extern "C" fn set_number(
    name: *const c_char,
    value: c_longlong,
    _: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    guarded(api::ERR, || {
        let value = u64::try_from(value).unwrap_or(0); // within the limits it was registered with
        // SAFETY: the name comes from the server.
        unsafe {
            match () {
                () if is_name(name, INITIAL_SIZE) => change(|now| now.initial_size = value),
                () if is_name(name, EXPANSION) => change(|now| now.expansion = value as u32),
                () => change(|now| now.max_filter_bytes = value),
            }
        }
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
