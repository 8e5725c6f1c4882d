//! What an operator may set.

use crate::args::{decimal, integer};

/// What filters are made like when a command does not say. Set by arguments when the module is
/// loaded, and by `CONFIG SET`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `bf-error-rate`: the rate of filters that `BF.ADD` and its like create.
    pub error_rate: f64,
    /// `bf-initial-size`: their capacity.
    pub initial_size: u64,
    /// `bf-expansion-factor`: what their total capacity is multiplied by when they are full; 0 if
    /// they do not grow. `None` for what is usual for their kind.
    pub expansion: Option<u32>,
    /// `max-filter-bytes`: the most bytes of one filter; 0 for as much as the server has.
    pub max_filter_bytes: u64,
    /// `compat`: whether new filters are RedisBloom's own scheme.
    pub compat: bool,
}

/// A configuration of RedisBloom's cuckoo filters, which are none of ours. It is taken, kept and
/// shown, so that a server starts with the configuration it has, and does nothing.
#[derive(Clone, Copy, Debug)]
pub struct Cuckoo {
    /// Its name.
    pub name: &'static str,
    /// What RedisBloom has when nobody sets it.
    pub usual: i64,
    /// What RedisBloom allows.
    pub allowed: (i64, i64),
}

impl Cuckoo {
    /// All of them.
    pub const ALL: [Cuckoo; 5] = [
        Cuckoo { name: "cf-bucket-size", usual: 2, allowed: (1, 255) },
        Cuckoo { name: "cf-initial-size", usual: 1024, allowed: (4, 1 << 30) },
        Cuckoo { name: "cf-max-iterations", usual: 20, allowed: (1, 65535) },
        Cuckoo { name: "cf-expansion-factor", usual: 1, allowed: (0, 32768) },
        Cuckoo { name: "cf-max-expansions", usual: 32, allowed: (1, 65536) },
    ];

    /// The value, or what is allowed.
    pub fn parse(&self, value: &[u8]) -> Result<i64, String> {
        let (name, (least, most)) = (self.name, self.allowed);
        let got = integer(value).filter(|got| (least..=most).contains(got));
        got.ok_or(format!("Value for `{name}` must be in the range [{least}, {most}]"))
    }

    /// What is written to the log where somebody sets it.
    pub fn note(&self) -> String {
        format!("{} has no effect: this module has no cuckoo filters (CF.*)", self.name)
    }
}

/// Whose shapes replies have, where the two differ: `replies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// Booleans and maps in RESP3; one field of `BF.INFO` in an array (RESP2) or a map (RESP3).
    #[default]
    RedisBloom,
    /// Integers and arrays in both protocols; one field of `BF.INFO` is the bare value.
    ValkeyBloom,
}

impl Replies {
    /// Their names, in order.
    pub const NAMES: [&str; 2] = ["redisbloom", "valkey-bloom"];

    /// By its place in [`NAMES`](Replies::NAMES).
    pub fn at(place: usize) -> Replies {
        if place == 1 { Replies::ValkeyBloom } else { Replies::RedisBloom }
    }
}

impl Settings {
    /// As they are when nobody sets anything.
    pub const DEFAULT: Settings = Settings {
        error_rate: 0.01,
        initial_size: 100,
        expansion: None,
        max_filter_bytes: 0,
        compat: false,
    };
    /// The largest capacity a command may ask for, as in RedisBloom.
    pub const MAX_CAPACITY: u64 = 1 << 30;
    /// The largest expansion a command may ask for, as in RedisBloom.
    pub const MAX_EXPANSION: u32 = 32768;
    /// What is usual for our own filters: few layers to ask.
    pub const USUAL_EXPANSION: u32 = 4;
    /// What is usual for RedisBloom's scheme, and its default.
    pub const COMPAT_EXPANSION: u32 = 2;

    /// Those that RedisBloom has too, as its configurations are called.
    pub const SHARED: [&str; 3] = ["bf-error-rate", "bf-initial-size", "bf-expansion-factor"];

    /// One of [`SHARED`](Settings::SHARED), as text.
    pub fn get(&self, name: &str) -> String {
        match name {
            "bf-error-rate" => self.error_rate.to_string(),
            "bf-initial-size" => self.initial_size.to_string(),
            _ => self.expansion().to_string(),
        }
    }

    /// Set one of [`SHARED`](Settings::SHARED), or tell what is allowed.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<(), String> {
        let within = |least: i64, most: i64| {
            let got = integer(value).filter(|got| (least..=most).contains(got));
            got.ok_or(format!("Value for `{name}` must be in the range [{least}, {most}]"))
        };
        match name {
            "bf-error-rate" => {
                let rate = decimal(value).filter(|rate| (mayhap::MIN_FPR..1.0).contains(rate));
                let least = mayhap::MIN_FPR;
                self.error_rate =
                    rate.ok_or(format!("Value for `{name}` must be in the range [{least:e}, 1)"))?;
            }
            "bf-initial-size" => {
                self.initial_size = within(1, Settings::MAX_CAPACITY as i64)? as u64;
            }
            _ => self.expansion = Some(within(0, Settings::MAX_EXPANSION.into())? as u32),
        }
        Ok(())
    }

    /// How filters grow that an add creates: as set, or as usual.
    pub fn expansion(&self) -> u32 {
        self.expansion.unwrap_or(match self.compat {
            true => Settings::COMPAT_EXPANSION,
            false => Settings::USUAL_EXPANSION,
        })
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}
