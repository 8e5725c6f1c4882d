//! `COMMAND DOCS` and `COMMAND INFO`, from the table.

use super::api::{self, Cmd, api};
use super::load;
use crate::table::{Access, Arg, Command, Value};
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null;

#[repr(C)]
struct Version {
    version: c_int,
    history_bytes: usize,
    key_spec_bytes: usize,
    arg_bytes: usize,
}

#[repr(C)]
struct History {
    since: *const c_char,
    changes: *const c_char,
}

#[repr(C)]
struct KeySpec {
    notes: *const c_char,
    flags: u64,
    begin_search: c_int,
    /// A union of an index, and a word with a place: the index is the first of four bytes.
    begin: [u64; 2],
    find_keys: c_int,
    /// A union of three numbers: last key, step, limit.
    find: [c_int; 3],
}

#[repr(C)]
struct ArgInfo {
    name: *const c_char,
    kind: c_int,
    key_spec: c_int,
    token: *const c_char,
    summary: *const c_char,
    since: *const c_char,
    flags: c_int,
    deprecated_since: *const c_char,
    subargs: *mut ArgInfo,
    display_text: *const c_char,
}

#[repr(C)]
struct CommandInfo {
    version: *const Version,
    summary: *const c_char,
    complexity: *const c_char,
    since: *const c_char,
    history: *const History,
    tips: *const c_char,
    arity: c_int,
    key_specs: *const KeySpec,
    args: *mut ArgInfo,
}

const STRING: c_int = 0;
const INTEGER: c_int = 1;
const DOUBLE: c_int = 2;
const KEY: c_int = 3;
const PURE_TOKEN: c_int = 6;
const ONE_OF: c_int = 7;
const OPTIONAL: c_int = 1;
const MULTIPLE: c_int = 2;
const BY_INDEX: c_int = 2;
const BY_RANGE: c_int = 2;
/// Owns what the server is shown; the server copies it.
#[derive(Default)]
struct Texts(Vec<CString>);

impl Texts {
    fn add(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let at = text.as_ptr(); // on the heap: moving the string does not move its bytes
        self.0.push(text);
        at
    }
}

/// Describe a command to the server, if it supports that.
pub fn describe(handle: *mut Cmd, command: &Command) {
    let Some(set) = api().set_command_info else { return };
    let mut texts = Texts::default();
    let version = Version {
        version: 1,
        history_bytes: size_of::<History>(),
        key_spec_bytes: size_of::<KeySpec>(),
        arg_bytes: size_of::<ArgInfo>(),
    };
    let history = [History { since: null(), changes: null() }];
    let key_specs = key_specs(command);
    // Lists end with a zeroed entry. Sublists must not move, so they come first.
    let mut sublists: Vec<Vec<ArgInfo>> = Vec::new();
    let mut args: Vec<ArgInfo> = Vec::new();
    let mut key_spec = 0;
    for arg in command.args {
        let mut info = argument(arg, &mut texts, &mut sublists);
        if info.kind == KEY {
            info.key_spec = key_spec;
            key_spec += 1;
        }
        args.push(info);
    }
    args.push(end());
    let info = CommandInfo {
        version: &version,
        summary: texts.add(command.about),
        complexity: texts.add(command.cost),
        since: texts.add(env!("CARGO_PKG_VERSION")),
        history: history.as_ptr(),
        tips: null(),
        arity: command.arity(),
        key_specs: key_specs.as_ptr(),
        args: args.as_mut_ptr(),
    };
    // SAFETY: the structures are laid out as in `redismodule.h`, whose sizes `version` tells, and
    // live until the call returns; the server copies them.
    let told = unsafe { set(handle, (&raw const info).cast::<c_void>()) } == api::OK;
    if !told {
        let line = format!("the server refuses to be told about {}", command.name);
        load::log(std::ptr::null_mut(), &line);
    }
}

/// What a command does with a key, as the server's flags.
pub fn key_flags(access: Access) -> u64 {
    match access {
        Access::Read => api::KEY_RO | api::KEY_ACCESS,
        // The server wants one of insert, update and delete, whichever fits best.
        Access::Write => api::KEY_RW | api::KEY_INSERT,
        Access::Delete => api::KEY_RW | api::KEY_DELETE,
        Access::ReadWrite => api::KEY_RW | api::KEY_ACCESS | api::KEY_INSERT,
    }
}

/// One per argument that is a key, or a list of them, and a zeroed entry.
///
/// Of a list only the first key is known: what follows may be the word that ends it. So the server
/// asks the command.
fn key_specs(command: &Command) -> Vec<KeySpec> {
    let is_key = |arg: &&Arg| matches!(arg, Arg::Key(_) | Arg::Keys(_));
    let variable = command.args.iter().any(|arg| matches!(arg, Arg::WriteFlag(_)));
    let keys = command.args.iter().take_while(is_key).enumerate();
    let mut specs: Vec<KeySpec> = keys
        .map(|(at, arg)| {
            let mut flags = key_flags(command.access(arg));
            if matches!(arg, Arg::Keys(_)) {
                flags |= api::KEY_INCOMPLETE;
            }
            if variable {
                flags |= api::KEY_VARIABLE_FLAGS;
            }
            KeySpec {
                notes: null(),
                flags,
                begin_search: BY_INDEX,
                begin: [(at as u64 + 1).to_le(), 0],
                find_keys: BY_RANGE,
                find: [0, 1, 0],
            }
        })
        .collect();
    specs.push(KeySpec {
        notes: null(),
        flags: 0,
        begin_search: 0,
        begin: [0; 2],
        find_keys: 0,
        find: [0; 3],
    });
    specs
}

fn argument(arg: &Arg, texts: &mut Texts, sublists: &mut Vec<Vec<ArgInfo>>) -> ArgInfo {
    let kind_of = |value: &Value| match value {
        Value::Text => STRING,
        Value::Integer => INTEGER,
        Value::Double => DOUBLE,
    };
    let mut info = end();
    info.key_spec = -1;
    match arg {
        Arg::Key(name) | Arg::Keys(name) => {
            (info.name, info.kind) = (texts.add(name), KEY);
            info.flags = if matches!(arg, Arg::Keys(_)) { MULTIPLE } else { 0 };
        }
        Arg::One(name, value) => (info.name, info.kind) = (texts.add(name), kind_of(value)),
        Arg::Items => (info.name, info.flags) = (texts.add("item"), MULTIPLE),
        Arg::Word(word) | Arg::Flag(word) | Arg::WriteFlag(word) => {
            (info.name, info.kind) = (texts.add(&word.to_lowercase()), PURE_TOKEN);
            info.token = texts.add(word);
            info.flags = if matches!(arg, Arg::Word(_)) { 0 } else { OPTIONAL };
        }
        Arg::Option(word, name, value) => {
            (info.name, info.kind) = (texts.add(name), kind_of(value));
            (info.token, info.flags) = (texts.add(word), OPTIONAL);
        }
        Arg::OneOf(name, words) => {
            let mut list: Vec<ArgInfo> = Vec::with_capacity(words.len() + 1);
            for word in *words {
                list.push(argument(&Arg::Word(word), texts, sublists));
            }
            list.push(end());
            (info.name, info.kind, info.flags) = (texts.add(name), ONE_OF, OPTIONAL);
            info.subargs = list.as_mut_ptr(); // on the heap, as above
            sublists.push(list);
        }
    }
    info
}

fn end() -> ArgInfo {
    ArgInfo {
        name: null(),
        kind: STRING,
        key_spec: 0,
        token: null(),
        summary: null(),
        since: null(),
        flags: 0,
        deprecated_since: null(),
        subargs: std::ptr::null_mut(),
        display_text: null(),
    }
}
