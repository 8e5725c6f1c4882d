//! The server's functions.

use std::ffi::{CStr, c_char, c_double, c_int, c_long, c_longlong, c_ulonglong, c_void};
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Success.
pub const OK: c_int = 0;
/// Failure.
pub const ERR: c_int = 1;
pub const READ: c_int = 1;
pub const WRITE: c_int = 2;
pub const KEY_EMPTY: c_int = 0;
/// We handle errors while reading an RDB file; without it the server exits.
pub const HANDLE_IO_ERRORS: c_int = 1;
/// We signal modified keys ourselves.
pub const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 2;
/// We keep no state beside the keys, so a replica may go on answering while it loads.
pub const HANDLE_REPL_ASYNC_LOAD: c_int = 4;
/// Of keyspace events: a module's.
pub const NOTIFY_MODULE: c_int = 1 << 13;
/// `maxmemory` is set, and applies to this server: on a replica it usually does not.
pub const FLAG_MAXMEMORY: c_int = 1 << 8;
/// It evicts keys when that is reached.
pub const FLAG_EVICT: c_int = 1 << 9;
pub const FLAG_REPLICATED: c_int = 1 << 12;
pub const FLAG_LOADING: c_int = 1 << 13;
pub const FLAG_RESP3: c_int = 1 << 22;
/// A number may be written with a unit: `512mb`.
pub const CONFIG_MEMORY: u32 = 1 << 7;
/// The name gets no module prefix. Redis 8 supports it, older servers and Valkey reject it.
pub const CONFIG_UNPREFIXED: u32 = 1 << 9;
/// What a command does with a key.
pub const KEY_RO: u64 = 1;
pub const KEY_RW: u64 = 1 << 1;
/// What it does with the data in it, for ACL rules.
pub const KEY_ACCESS: u64 = 1 << 4;
pub const KEY_INSERT: u64 = 1 << 6;
pub const KEY_DELETE: u64 = 1 << 7;
/// There are keys that this spec does not find: ask the command.
pub const KEY_INCOMPLETE: u64 = 1 << 9;
/// It depends on the arguments: ask the command.
pub const KEY_VARIABLE_FLAGS: u64 = 1 << 10;

/// Opaque types of the server.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}

opaque!(Ctx, Key, Str, Io, Type, Cmd, Digest, Info, InfoData, DefragCtx);

pub type CommandFn = unsafe extern "C" fn(*mut Ctx, *mut *mut Str, c_int) -> c_int;

/// A type's callbacks, as of version 3 of the structure.
#[repr(C)]
pub struct TypeMethods {
    pub version: u64,
    pub rdb_load: Option<unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void>,
    pub rdb_save: Option<unsafe extern "C" fn(*mut Io, *mut c_void)>,
    pub aof_rewrite: Option<unsafe extern "C" fn(*mut Io, *mut Str, *mut c_void)>,
    pub mem_usage: Option<unsafe extern "C" fn(*const c_void) -> usize>,
    pub digest: Option<unsafe extern "C" fn(*mut Digest, *mut c_void)>,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub aux_load: *mut c_void,
    pub aux_save: *mut c_void,
    pub aux_save_triggers: c_int,
    pub free_effort: Option<unsafe extern "C" fn(*mut Str, *const c_void) -> usize>,
    pub unlink: *mut c_void,
    pub copy: Option<unsafe extern "C" fn(*mut Str, *mut Str, *const c_void) -> *mut c_void>,
    pub defrag: Option<unsafe extern "C" fn(*mut DefragCtx, *mut Str, *mut *mut c_void) -> c_int>,
}

type GetConfigString = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut Str;
type SetConfigString =
    unsafe extern "C" fn(*const c_char, *mut Str, *mut c_void, *mut *mut Str) -> c_int;
type GetConfigNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
type SetConfigNumber =
    unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut Str) -> c_int;
type GetConfigBool = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
type GetConfigEnum = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
type SetConfigEnum =
    unsafe extern "C" fn(*const c_char, c_int, *mut c_void, *mut *mut Str) -> c_int;
type SetConfigBool =
    unsafe extern "C" fn(*const c_char, c_int, *mut c_void, *mut *mut Str) -> c_int;

/// Declares the functions: required ones, and those that some servers lack.
macro_rules! api {
    (
        needed { $($need:ident = $need_name:literal: fn($($need_arg:ty),* $(; $dots:tt)?) $(-> $need_ret:ty)?;)* }
        wanted { $($want:ident = $want_name:literal: fn($($want_arg:ty),*) $(-> $want_ret:ty)?;)* }
    ) => {
        /// The functions of the server that loaded us.
        pub struct Api {
            $(pub $need: unsafe extern "C" fn($($need_arg),* $(, $dots)?) $(-> $need_ret)?,)*
            $(pub $want: Option<unsafe extern "C" fn($($want_arg),*) $(-> $want_ret)?>,)*
        }

        impl Api {
            /// Look all of them up. Returns the name of the first required one that is missing.
            fn resolve(get: GetApi) -> Result<Api, &'static CStr> {
                Ok(Api {
                    // SAFETY: each name is given the type that `redismodule.h` declares for it.
                    $($need: unsafe { find(get, $need_name) }.ok_or($need_name)?,)*
                    // SAFETY: likewise.
                    $($want: unsafe { find(get, $want_name) },)*
                })
            }
        }
    };
}

api! {
    needed {
        set_module_attribs = c"RedisModule_SetModuleAttribs": fn(*mut Ctx, *const c_char, c_int, c_int);
        create_command = c"RedisModule_CreateCommand": fn(*mut Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int;
        get_command = c"RedisModule_GetCommand": fn(*mut Ctx, *const c_char) -> *mut Cmd;
        wrong_arity = c"RedisModule_WrongArity": fn(*mut Ctx) -> c_int;
        reply_long_long = c"RedisModule_ReplyWithLongLong": fn(*mut Ctx, c_longlong) -> c_int;
        reply_double = c"RedisModule_ReplyWithDouble": fn(*mut Ctx, c_double) -> c_int;
        reply_bool = c"RedisModule_ReplyWithBool": fn(*mut Ctx, c_int) -> c_int;
        reply_null = c"RedisModule_ReplyWithNull": fn(*mut Ctx) -> c_int;
        reply_error = c"RedisModule_ReplyWithError": fn(*mut Ctx, *const c_char) -> c_int;
        reply_simple = c"RedisModule_ReplyWithSimpleString": fn(*mut Ctx, *const c_char) -> c_int;
        reply_array = c"RedisModule_ReplyWithArray": fn(*mut Ctx, c_long) -> c_int;
        reply_map = c"RedisModule_ReplyWithMap": fn(*mut Ctx, c_long) -> c_int;
        reply_bytes = c"RedisModule_ReplyWithStringBuffer": fn(*mut Ctx, *const c_char, usize) -> c_int;
        open_key = c"RedisModule_OpenKey": fn(*mut Ctx, *mut Str, c_int) -> *mut Key;
        close_key = c"RedisModule_CloseKey": fn(*mut Key);
        key_type = c"RedisModule_KeyType": fn(*mut Key) -> c_int;
        type_of = c"RedisModule_ModuleTypeGetType": fn(*mut Key) -> *mut Type;
        value_of = c"RedisModule_ModuleTypeGetValue": fn(*mut Key) -> *mut c_void;
        set_value = c"RedisModule_ModuleTypeSetValue": fn(*mut Key, *mut Type, *mut c_void) -> c_int;
        set_expire = c"RedisModule_SetAbsExpire": fn(*mut Key, c_longlong) -> c_int;
        expire_of = c"RedisModule_GetAbsExpire": fn(*mut Key) -> c_longlong;
        signal_modified = c"RedisModule_SignalModifiedKey": fn(*mut Ctx, *mut Str) -> c_int;
        notify = c"RedisModule_NotifyKeyspaceEvent": fn(*mut Ctx, c_int, *const c_char, *mut Str) -> c_int;
        replicate = c"RedisModule_Replicate": fn(*mut Ctx, *const c_char, *const c_char; ...) -> c_int;
        replicate_verbatim = c"RedisModule_ReplicateVerbatim": fn(*mut Ctx) -> c_int;
        context_flags = c"RedisModule_GetContextFlags": fn(*mut Ctx) -> c_int;
        milliseconds = c"RedisModule_Milliseconds": fn() -> c_longlong;
        random_bytes = c"RedisModule_GetRandomBytes": fn(*mut u8, usize);
        create_string = c"RedisModule_CreateString": fn(*mut Ctx, *const c_char, usize) -> *mut Str;
        free_string = c"RedisModule_FreeString": fn(*mut Ctx, *mut Str);
        string_bytes = c"RedisModule_StringPtrLen": fn(*const Str, *mut usize) -> *const c_char;
        is_keys_request = c"RedisModule_IsKeysPositionRequest": fn(*mut Ctx) -> c_int;
        key_at = c"RedisModule_KeyAtPos": fn(*mut Ctx, c_int);
        create_type = c"RedisModule_CreateDataType": fn(*mut Ctx, *const c_char, c_int, *mut TypeMethods) -> *mut Type;
        set_options = c"RedisModule_SetModuleOptions": fn(*mut Ctx, c_int);
        is_io_error = c"RedisModule_IsIOError": fn(*mut Io) -> c_int;
        save_unsigned = c"RedisModule_SaveUnsigned": fn(*mut Io, u64);
        load_unsigned = c"RedisModule_LoadUnsigned": fn(*mut Io) -> u64;
        save_double = c"RedisModule_SaveDouble": fn(*mut Io, c_double);
        load_double = c"RedisModule_LoadDouble": fn(*mut Io) -> c_double;
        save_bytes = c"RedisModule_SaveStringBuffer": fn(*mut Io, *const c_char, usize);
        load_bytes = c"RedisModule_LoadStringBuffer": fn(*mut Io, *mut usize) -> *mut c_char;
        emit_aof = c"RedisModule_EmitAOF": fn(*mut Io, *const c_char, *const c_char; ...);
        digest_bytes = c"RedisModule_DigestAddStringBuffer": fn(*mut Digest, *const c_char, usize);
        digest_end = c"RedisModule_DigestEndSequence": fn(*mut Digest);
        log = c"RedisModule_Log": fn(*mut Ctx, *const c_char, *const c_char; ...);
        log_io = c"RedisModule_LogIOError": fn(*mut Io, *const c_char, *const c_char; ...);
        free = c"RedisModule_Free": fn(*mut c_void);
    }
    wanted {
        is_name_busy = c"RedisModule_IsModuleNameBusy": fn(*const c_char) -> c_int;
        set_command_info = c"RedisModule_SetCommandInfo": fn(*mut Cmd, *const c_void) -> c_int;
        add_category = c"RedisModule_AddACLCategory": fn(*mut Ctx, *const c_char) -> c_int;
        set_categories = c"RedisModule_SetCommandACLCategories": fn(*mut Cmd, *const c_char) -> c_int;
        cached_microseconds = c"RedisModule_CachedMicroseconds": fn() -> c_longlong;
        register_info = c"RedisModule_RegisterInfoFunc": fn(*mut Ctx, unsafe extern "C" fn(*mut Info, c_int)) -> c_int;
        info_section = c"RedisModule_InfoAddSection": fn(*mut Info, *const c_char) -> c_int;
        info_number = c"RedisModule_InfoAddFieldULongLong": fn(*mut Info, *const c_char, c_ulonglong) -> c_int;
        server_info = c"RedisModule_GetServerInfo": fn(*mut Ctx, *const c_char) -> *mut InfoData;
        free_server_info = c"RedisModule_FreeServerInfo": fn(*mut Ctx, *mut InfoData);
        server_info_number = c"RedisModule_ServerInfoGetFieldUnsigned": fn(*mut InfoData, *const c_char, *mut c_int) -> c_ulonglong;
        register_string = c"RedisModule_RegisterStringConfig": fn(*mut Ctx, *const c_char, *const c_char, u32, GetConfigString, SetConfigString, *mut c_void, *mut c_void) -> c_int;
        register_number = c"RedisModule_RegisterNumericConfig": fn(*mut Ctx, *const c_char, c_longlong, u32, c_longlong, c_longlong, GetConfigNumber, SetConfigNumber, *mut c_void, *mut c_void) -> c_int;
        register_bool = c"RedisModule_RegisterBoolConfig": fn(*mut Ctx, *const c_char, c_int, u32, GetConfigBool, SetConfigBool, *mut c_void, *mut c_void) -> c_int;
        register_enum = c"RedisModule_RegisterEnumConfig": fn(*mut Ctx, *const c_char, c_int, u32, *mut *const c_char, *const c_int, c_int, GetConfigEnum, SetConfigEnum, *mut c_void, *mut c_void) -> c_int;
        load_configs = c"RedisModule_LoadConfigs": fn(*mut Ctx) -> c_int;
        load_default_configs = c"RedisModule_LoadDefaultConfigs": fn(*mut Ctx) -> c_int;
        key_at_with_flags = c"RedisModule_KeyAtPosWithFlags": fn(*mut Ctx, c_int, c_int);
        defrag_alloc = c"RedisModule_DefragAlloc": fn(*mut DefragCtx, *mut c_void) -> *mut c_void;
    }
}

pub type GetApi = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;

static API: OnceLock<Api> = OnceLock::new();
/// The same, loaded once: every command uses it several times.
static FOUND: AtomicPtr<Api> = AtomicPtr::new(std::ptr::null_mut());

/// Look one function up.
///
/// # Safety
///
/// `F` must be the type of a pointer to the function of this name.
pub unsafe fn find<F: Copy>(get: GetApi, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let mut found: *mut c_void = std::ptr::null_mut();
    // SAFETY: the server's lookup takes a name and a place for a pointer.
    let status = unsafe { get(name.as_ptr(), &mut found) };
    if status != OK || found.is_null() {
        return None;
    }
    // SAFETY: not null, and of this type by the caller's word; both are one pointer wide.
    Some(unsafe { std::mem::transmute_copy(&found) })
}

/// The lookup function of the server that loads us.
///
/// # Safety
///
/// `ctx` must be the context that the server gives to `RedisModule_OnLoad`.
pub unsafe fn getter(ctx: *mut Ctx) -> GetApi {
    // SAFETY: the first field of that context is the lookup function, by the server's contract.
    unsafe { *ctx.cast::<GetApi>() }
}

/// Look all functions up, once. Returns the name of a missing one.
pub fn init(get: GetApi) -> Result<&'static Api, &'static CStr> {
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let api = Api::resolve(get)?;
    let api = API.get_or_init(|| api);
    FOUND.store(std::ptr::from_ref(api).cast_mut(), Release);
    Ok(api)
}

/// The server's functions. None of our code runs before they are set.
#[inline(always)]
pub fn api() -> &'static Api {
    // SAFETY: null, or what `init` has stored, which is never freed.
    unsafe { FOUND.load(Acquire).as_ref() }.expect("the module is loaded")
}

/// The bytes of a server's string.
///
/// # Safety
///
/// The string must live, unchanged, for `'a`.
#[inline]
pub unsafe fn bytes_of<'a>(api: &Api, string: *const Str) -> &'a [u8] {
    let mut count = 0;
    // SAFETY: the string lives by the caller's word.
    unsafe {
        let start = (api.string_bytes)(string, &mut count);
        if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), count) }
    }
}
