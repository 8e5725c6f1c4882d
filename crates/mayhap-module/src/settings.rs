//! The operator's settings.

use crate::args::{decimal, integer};

/// Defaults of new filters. Set by arguments when the module is loaded, and by `CONFIG SET`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `bf-error-rate`: the false-positive rate of filters that `BF.ADD` and similar commands
    /// create.
    pub error_rate: f64,
    /// `bf-initial-size`: their capacity.
    pub initial_size: u64,
    /// `bf-expansion-factor`: what their total capacity is multiplied by when they are full; 0 if
    /// they do not grow. `None` for the default of their kind.
    pub expansion: Option<u32>,
    /// `max-filter-bytes`: the maximum bytes of one filter; 0 for no limit.
    pub max_filter_bytes: u64,
    /// `compat`: whether new filters use RedisBloom's own scheme.
    pub compat: bool,
}

/// A configuration of RedisBloom's cuckoo filters, by its name there.
#[derive(Clone, Copy, Debug)]
pub struct Cuckoo {
    /// Its name.
    pub name: &'static str,
    /// RedisBloom's default.
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
    pub fn note(&self) -> Option<String> {
        let why = match self.name {
            "cf-max-expansions" => "filters grow without limit",
            "cf-bucket-size" => "only CF.INFO shows it: quotient filters have no buckets",
            "cf-max-iterations" => "only CF.INFO shows it: no insert moves items around",
            _ => return None,
        };
        Some(format!("{} has no effect: {why}", self.name))
    }
}

/// What filters of `CF.*` are made like when a command does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooSettings {
    /// `cf-initial-size`.
    pub initial_size: u64,
    /// `cf-bucket-size`.
    pub bucket_size: u16,
    /// `cf-max-iterations`.
    pub max_iterations: u16,
    /// `cf-expansion-factor`.
    pub expansion: u16,
}

impl CuckooSettings {
    /// Of the values of [`Cuckoo::ALL`], which are within what is allowed.
    pub fn of(values: &[i64; Cuckoo::ALL.len()]) -> CuckooSettings {
        let [bucket_size, initial_size, max_iterations, expansion, _] = *values;
        let small = |value: i64| u16::try_from(value).unwrap_or(u16::MAX);
        CuckooSettings {
            initial_size: u64::try_from(initial_size).unwrap_or(1024),
            bucket_size: small(bucket_size),
            max_iterations: small(max_iterations),
            expansion: small(expansion),
        }
    }
}

impl Default for CuckooSettings {
    fn default() -> CuckooSettings {
        CuckooSettings::of(&Cuckoo::ALL.map(|cuckoo| cuckoo.usual))
    }
}

/// The reply shapes, where the two modules differ: `replies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// RedisBloom: booleans and maps in RESP3; one field of `BF.INFO` in an array (RESP2) or a map
    /// (RESP3).
    #[default]
    RedisBloom,
    /// valkey-bloom: integers and arrays in both protocols; one field of `BF.INFO` is the bare
    /// value.
    ValkeyBloom,
}

impl Replies {
    /// Their names, in order.
    pub const NAMES: [&str; 2] = ["redisbloom", "valkey-bloom"];

    /// By its index in [`NAMES`](Replies::NAMES).
    pub fn at(place: usize) -> Replies {
        if place == 1 { Replies::ValkeyBloom } else { Replies::RedisBloom }
    }
}

impl Settings {
    /// The defaults.
    pub const DEFAULT: Settings = Settings {
        error_rate: 0.01,
        initial_size: 100,
        expansion: None,
        max_filter_bytes: 0,
        compat: false,
    };
    /// Maximum capacity of a command, as in RedisBloom.
    pub const MAX_CAPACITY: u64 = 1 << 30;
    /// Maximum expansion of a command, as in RedisBloom.
    pub const MAX_EXPANSION: u32 = 32768;
    /// The default for Mayhap's own filters: few layers to look up.
    pub const USUAL_EXPANSION: u32 = 4;
    /// The default for RedisBloom's scheme, as there.
    pub const COMPAT_EXPANSION: u32 = 2;

    /// Those that RedisBloom has too, by its names.
    pub const SHARED: [&str; 3] = ["bf-error-rate", "bf-initial-size", "bf-expansion-factor"];

    /// One of [`SHARED`](Settings::SHARED), as text.
    pub fn get(&self, name: &str) -> String {
        match name {
            "bf-error-rate" => self.error_rate.to_string(),
            "bf-initial-size" => self.initial_size.to_string(),
            _ => self.expansion().to_string(),
        }
    }

    /// Set one of [`SHARED`](Settings::SHARED), or return what is allowed.
    pub fn set(&mut self, name: &str, value: &[u8]) -> Result<(), String> {
        let within = |least: i64, most: i64| {
            let got = integer(value).filter(|got| (least..=most).contains(got));
            got.ok_or(format!("Value for `{name}` must be in the range [{least}, {most}]"))
        };
        match name {
            "bf-error-rate" => {
                let rate =
                    decimal(value).filter(|rate| (mayhap::Spec::MIN_FPR..1.0).contains(rate));
                let least = mayhap::Spec::MIN_FPR;
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

    /// The growth of filters that an add creates: as set, or the default.
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
