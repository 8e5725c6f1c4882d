//! How a new filter is made, where its program leaves its users a choice.

use crate::{ForeignError, Format, valkey_bloom};
use std::fmt;
use std::str::FromStr;

/// Choices beside the number of keys and the rate. What nobody chooses is as the format's program has it
/// by default; what the format has no choice of is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Making {
    /// Bits a key instead of a rate: the LevelDB family, which takes whole numbers, and RocksDB.
    pub bits_per_key: Option<f64>,
    /// What happens when a RedisBloom or valkey-bloom filter is full.
    pub growth: Option<Growth>,
    /// What hashes depend on: Spark's second version, valkey-bloom.
    pub seed: Option<Seed>,
    /// Which form, where the format has several.
    pub variant: Option<Variant>,
}

/// What happens when a filter is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// One so many times as large is put beside it: `EXPANSION`.
    By(u32),
    /// No more keys are taken: `NONSCALING`.
    Never,
}

/// A seed, as formats have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A number: Spark.
    Number(i32),
    /// Two SipHash keys: valkey-bloom.
    Keys(valkey_bloom::Seed),
}

/// One of the forms that a format comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variant {
    /// Guava since 33.4.0, which chooses probes by the rate.
    Since33_4,
    /// Guava before it, which chooses them by the bits.
    Before33_4,
    /// RocksDB since format version 5.
    FastLocal,
    /// RocksDB before it.
    Legacy,
    /// bits-and-blooms `WriteTo`.
    Binary,
    /// bits-and-blooms `MarshalJSON`.
    Json,
    /// Spark before 4.1.
    V1,
    /// Spark since 4.1.
    V2,
    /// DCSO as it is.
    Plain,
    /// DCSO compressed.
    Gzip,
    /// poppy for nothing in particular.
    None,
    /// poppy for size.
    Space,
    /// poppy for speed.
    Speed,
    /// poppy for both.
    Best,
}

impl Variant {
    /// Every one there is.
    pub const ALL: [Variant; 14] = [
        Variant::Since33_4,
        Variant::Before33_4,
        Variant::FastLocal,
        Variant::Legacy,
        Variant::Binary,
        Variant::Json,
        Variant::V1,
        Variant::V2,
        Variant::Plain,
        Variant::Gzip,
        Variant::None,
        Variant::Space,
        Variant::Speed,
        Variant::Best,
    ];

    /// The forms of a format, its default first.
    pub const fn of(format: Format) -> &'static [Variant] {
        match format {
            Format::Guava => &[Variant::Since33_4, Variant::Before33_4],
            Format::Rocksdb => &[Variant::FastLocal, Variant::Legacy],
            Format::BitsAndBlooms => &[Variant::Binary, Variant::Json],
            Format::Spark => &[Variant::V1, Variant::V2],
            Format::Dcso => &[Variant::Plain, Variant::Gzip],
            Format::Poppy => &[Variant::None, Variant::Space, Variant::Speed, Variant::Best],
            _ => &[],
        }
    }

    /// The name people type.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Since33_4 => "since-33.4",
            Variant::Before33_4 => "before-33.4",
            Variant::FastLocal => "fast-local",
            Variant::Legacy => "legacy",
            Variant::Binary => "binary",
            Variant::Json => "json",
            Variant::V1 => "v1",
            Variant::V2 => "v2",
            Variant::Plain => "plain",
            Variant::Gzip => "gzip",
            Variant::None => "none",
            Variant::Space => "space",
            Variant::Speed => "speed",
            Variant::Best => "best",
        }
    }

    /// This is none of the format's.
    pub(crate) fn unknown_to(self, format: Format) -> ForeignError {
        let names: Vec<_> = Variant::of(format).iter().map(|variant| variant.name()).collect();
        let has = if names.is_empty() { "it has none".into() } else { names.join(", ") };
        ForeignError::Option { format, option: format!("--variant {self}"), has }
    }
}

impl Making {
    /// Fails where the format leaves no such choice.
    pub fn check(&self, format: Format) -> Result<(), ForeignError> {
        use Format::*;
        let missing = |option: &str, has: &str| {
            Err(ForeignError::Option { format, option: option.to_owned(), has: has.to_owned() })
        };
        if let Some(bits) = self.bits_per_key {
            match format {
                Rocksdb => {}
                Leveldb | LeveldbOld | Goleveldb | Badger if bits.fract() == 0.0 => {}
                Leveldb | LeveldbOld | Goleveldb | Badger => {
                    return Err(ForeignError::field("bits per key", bits, "a whole number"));
                }
                _ => {
                    let has = "the LevelDB family and rocksdb have; others are made for a rate";
                    return missing("--bits-per-key", has);
                }
            }
        }
        if self.growth.is_some() && !matches!(format, Redisbloom | RedisbloomDump | ValkeyBloom) {
            let has = "redisbloom, redisbloom-dump and valkey-bloom have";
            return missing("--expansion or --nonscaling", has);
        }
        match (self.seed, format) {
            (None, _) | (Some(Seed::Keys(_)), ValkeyBloom) => {}
            (Some(Seed::Number(_)), Spark) if self.variant != Some(Variant::V1) => {}
            (Some(_), Spark) => return missing("such --seed", "a number, in variant v2"),
            (Some(_), ValkeyBloom) => {
                return missing("such --seed", "`random`, or 64 hexadecimal digits");
            }
            (Some(_), _) => return missing("--seed", "spark and valkey-bloom have"),
        }
        match self.variant {
            Some(variant) if !Variant::of(format).contains(&variant) => {
                Err(variant.unknown_to(format))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no form of any format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariant(String);

impl fmt::Display for UnknownVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no variant {:?}", self.0)
    }
}

impl std::error::Error for UnknownVariant {}

impl FromStr for Variant {
    type Err = UnknownVariant;

    fn from_str(name: &str) -> Result<Variant, UnknownVariant> {
        let found = Variant::ALL.into_iter().find(|variant| variant.name() == name);
        found.ok_or_else(|| UnknownVariant(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_some_format_s_and_has_its_name() {
        for variant in Variant::ALL {
            assert_eq!(variant.name().parse(), Ok(variant));
            let owners = Format::ALL.into_iter().filter(|f| Variant::of(*f).contains(&variant));
            assert_eq!(owners.count(), 1, "{variant}");
        }
        assert!("v3".parse::<Variant>().unwrap_err().to_string().contains("v3"));
    }

    #[test]
    fn what_a_format_leaves_no_choice_of_is_refused() {
        let refused = |making: Making, format: Format| match making.check(format) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let bits = Making { bits_per_key: Some(10.0), ..Making::default() };
        assert_eq!(refused(bits, Format::Badger), "");
        assert!(refused(bits, Format::Guava).contains("guava has no --bits-per-key"));
        let half = Making { bits_per_key: Some(9.5), ..Making::default() };
        assert_eq!(refused(half, Format::Rocksdb), "");
        assert!(refused(half, Format::Leveldb).contains("a whole number"));
        let fixed = Making { growth: Some(Growth::Never), ..Making::default() };
        assert_eq!(refused(fixed, Format::ValkeyBloom), "");
        assert!(refused(fixed, Format::Spark).contains("redisbloom"));
        let seed = Making { seed: Some(Seed::Number(-7)), ..Making::default() };
        assert_eq!(refused(seed, Format::Spark), "");
        assert!(refused(seed, Format::ValkeyBloom).contains("64 hexadecimal digits"));
        assert!(refused(seed, Format::Orc).contains("orc has no --seed"));
        let v1 = Making { variant: Some(Variant::V1), ..seed };
        assert!(refused(v1, Format::Spark).contains("variant v2"));
        let json = Making { variant: Some(Variant::Json), ..Making::default() };
        assert_eq!(refused(json, Format::BitsAndBlooms), "");
        assert!(refused(json, Format::Spark).contains("spark has no --variant json: v1, v2"));
        assert!(refused(json, Format::Orc).contains("it has none"));
    }
}
