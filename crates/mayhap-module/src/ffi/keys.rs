//! The server's keys, as one command sees them.

use super::api::{self, Api, Ctx, Key, Str, api};
use super::{config, data_type, load};
use crate::filter::Filter;
use crate::settings::CuckooSettings;
use crate::table::Family;
use crate::{Clock, CommandError, KeyArg, Keyspace, Replicate, Settings};
use mayhap::Secret;
use std::ffi::{CString, c_int};

/// The keys of a running command.
pub struct ServerKeys<'a> {
    /// Looked up once per command, not once per call.
    api: &'static Api,
    ctx: *mut Ctx,
    /// The arguments as the server holds them.
    words: &'a [*mut Str],
    /// Whose values the command may see: those of the other family are of the wrong type.
    family: Family,
}

impl<'a> ServerKeys<'a> {
    /// # Safety
    ///
    /// `ctx` and `words` must be those of the command that runs, for `'a`.
    #[inline]
    pub unsafe fn new(
        api: &'static Api,
        ctx: *mut Ctx,
        words: &'a [*mut Str],
        family: Family,
    ) -> ServerKeys<'a> {
        ServerKeys { api, ctx, words, family }
    }

    fn name(&self, key: KeyArg<'_>) -> Result<*mut Str, CommandError> {
        self.words.get(key.at).copied().ok_or(CommandError::Arity)
    }

    /// The value of a key; null if there is none.
    #[inline]
    fn value(&mut self, key: KeyArg<'_>, mode: c_int) -> Result<*mut Filter, CommandError> {
        let name = self.name(key)?;
        // SAFETY: context and name are those of the running command. The value outlives the
        // handle: nothing deletes keys while a command of ours runs.
        unsafe {
            let handle = (self.api.open_key)(self.ctx, name, mode);
            if handle.is_null() {
                return Ok(std::ptr::null_mut());
            }
            let value = value_at(self.api, handle, self.family);
            (self.api.close_key)(handle);
            value
        }
    }

    /// Store a filter under a key that holds one or nothing; `expires` may read the key before.
    fn put(
        &mut self,
        key: KeyArg<'_>,
        filter: Filter,
        expires: impl FnOnce(*mut Key) -> Option<i64>,
    ) -> Result<(), CommandError> {
        let name = self.name(key)?;
        let of = data_type::for_filter(&filter);
        let value = Box::into_raw(Box::new(filter));
        // SAFETY: context and name are those of the running command; the value is a boxed filter
        // and belongs to the server once it is set.
        unsafe {
            let handle = (self.api.open_key)(self.ctx, name, api::READ | api::WRITE);
            let expires_ms = expires(handle);
            let set = (self.api.set_value)(handle, of, value.cast()) == api::OK;
            if let Some(at) = expires_ms.filter(|_| set) {
                (self.api.set_expire)(handle, at);
            }
            (self.api.close_key)(handle);
            if !set {
                drop(Box::from_raw(value));
                return Err(CommandError::NO_MEMORY);
            }
        }
        Ok(())
    }

    fn flags(&self) -> c_int {
        // SAFETY: the context is that of the running command.
        unsafe { (self.api.context_flags)(self.ctx) }
    }

    /// Numbers of the section `memory` of the server's `INFO`.
    fn memory_numbers<const N: usize>(&mut self, names: [&std::ffi::CStr; N]) -> Option<[u64; N]> {
        let api = self.api;
        let (open, close) = (api.server_info?, api.free_server_info?);
        let number = api.server_info_number?;
        // SAFETY: the context is that of the running command; the data is freed after its use.
        unsafe {
            let data = open(self.ctx, c"memory".as_ptr());
            if data.is_null() {
                return None;
            }
            let numbers = names.map(|name| {
                let mut failed = 0;
                let got = number(data, name.as_ptr(), &mut failed);
                if failed == api::OK { got } else { 0 }
            });
            close(self.ctx, data);
            Some(numbers)
        }
    }
}

fn now_ms() -> u64 {
    // SAFETY: both clocks may be read at any time.
    let ms = unsafe {
        match api().cached_microseconds {
            Some(clock) => clock() / 1000,
            None => (api().milliseconds)(),
        }
    };
    u64::try_from(ms).unwrap_or(0)
}

/// # Safety
///
/// The handle must be open.
#[inline]
unsafe fn value_at(
    api: &Api,
    handle: *mut Key,
    family: Family,
) -> Result<*mut Filter, CommandError> {
    // SAFETY: open by the caller's word.
    unsafe {
        let found = (api.type_of)(handle);
        if found.is_null() {
            return match (api.key_type)(handle) {
                api::KEY_EMPTY => Ok(std::ptr::null_mut()),
                _ => Err(CommandError::WRONG_TYPE),
            };
        }
        if !data_type::is_ours(found, family) {
            return Err(CommandError::WRONG_TYPE);
        }
        Ok((api.value_of)(handle).cast())
    }
}

impl Keyspace for ServerKeys<'_> {
    #[inline]
    fn read(&mut self, key: KeyArg<'_>) -> Result<Option<&Filter>, CommandError> {
        let value = self.value(key, api::READ)?;
        // SAFETY: values of our types are boxed filters, and only this command touches them.
        Ok(unsafe { value.as_ref() })
    }

    #[inline]
    fn write(&mut self, key: KeyArg<'_>) -> Result<Option<&mut Filter>, CommandError> {
        let value = self.value(key, api::READ | api::WRITE)?;
        // SAFETY: as for `read`; the borrow of the keyspace makes it the only one.
        Ok(unsafe { value.as_mut() })
    }

    fn create(
        &mut self,
        key: KeyArg<'_>,
        filter: Filter,
        expires_ms: Option<i64>,
    ) -> Result<(), CommandError> {
        if !self.value(key, api::READ | api::WRITE)?.is_null() {
            return Err(CommandError::EXISTS);
        }
        self.put(key, filter, |_| expires_ms)
    }

    fn replace(&mut self, key: KeyArg<'_>, filter: Filter) -> Result<(), CommandError> {
        let api = self.api;
        self.put(key, filter, |handle| {
            // SAFETY: the handle is open.
            let at = unsafe { (api.expire_of)(handle) };
            (at >= 0).then_some(at)
        })
    }

    fn changed(&mut self, key: KeyArg<'_>, event: &'static str, replicate: Replicate) {
        let Ok(name) = self.name(key) else { return };
        // Our own names contain no zero byte.
        let event = CString::new(event).unwrap_or_default();
        // SAFETY: context and name are those of the running command; the strings made for the
        // replicas are kept by the server as long as it needs them.
        unsafe {
            (self.api.signal_modified)(self.ctx, name);
            (self.api.notify)(self.ctx, api::NOTIFY_MODULE, event.as_ptr(), name);
            match replicate {
                Replicate::Verbatim => _ = (self.api.replicate_verbatim)(self.ctx),
                Replicate::As(command, words) => {
                    let command = load::replicated_name(command);
                    let command = CString::new(command).unwrap_or_default();
                    let make = |word: &Vec<u8>| {
                        (self.api.create_string)(self.ctx, word.as_ptr().cast(), word.len())
                    };
                    let words: Vec<*mut Str> = words.iter().map(make).collect();
                    (self.api.replicate)(
                        self.ctx,
                        command.as_ptr(),
                        c"v".as_ptr(),
                        words.as_ptr(),
                        words.len(),
                    );
                    words.iter().for_each(|word| (self.api.free_string)(self.ctx, *word));
                }
            }
        }
    }

    fn settings(&self) -> Settings {
        config::settings()
    }

    fn cuckoo_settings(&self) -> CuckooSettings {
        config::cuckoo_settings()
    }

    #[inline]
    fn clock(&self) -> Clock {
        Clock::Server(now_ms)
    }

    fn secret(&mut self) -> Secret {
        let mut bytes = [0; 16];
        // SAFETY: sixteen bytes to write to, and sixteen asked for.
        unsafe { (self.api.random_bytes)(bytes.as_mut_ptr(), bytes.len()) };
        Secret::from_bytes(bytes)
    }

    fn room_bytes(&mut self, has: u64) -> u64 {
        // What a primary could hold a replica must hold, and what is in the file was held once.
        if self.flags() & (api::FLAG_REPLICATED | api::FLAG_LOADING) != 0 {
            return u64::MAX;
        }
        let limit = match self.settings().max_filter_bytes {
            0 => u64::MAX,
            most => most.saturating_sub(has),
        };
        let flags = self.flags();
        let names =
            [c"used_memory", c"mem_not_counted_for_evict", c"maxmemory", c"total_system_memory"];
        let Some([used, uncounted, max, system]) = self.memory_numbers(names) else { return limit };
        let mut room = limit;
        if system > 0 {
            room = room.min(system.saturating_sub(used));
        }
        // A server that evicts makes room after the command, as for any other key: it has refused
        // the command already if it could not come below its limit before.
        if flags & api::FLAG_MAXMEMORY != 0 && flags & api::FLAG_EVICT == 0 {
            // Counted as the server counts: without the buffers of replicas.
            room = room.min(max.saturating_sub(used.saturating_sub(uncounted)));
        }
        room
    }
}
