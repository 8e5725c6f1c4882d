//! What a file does not say, what its keys are, and how a new filter is made where its program leaves a
//! choice.

use crate::family::{BitsPerKey, Choices, SeedChoice};
use crate::{ForeignError, Format, valkey_bloom};
use mayhap::key::{KeyEncoding, KeyValue};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What a file does not say, and its reader must.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Probes per key, for formats that keep no count of them.
    pub probes: Option<u32>,
    /// The column of a Parquet file.
    pub column: Option<String>,
    /// What the keys are.
    pub key_type: KeyType,
    /// How a new filter is made.
    pub making: CreateOptions,
}

impl Options {
    /// Nothing known but what the file says; keys are bytes.
    pub fn new() -> Options {
        Options::default()
    }

    /// With this many probes per key.
    pub fn with_probes(self, probes: u32) -> Options {
        Options { probes: Some(probes), ..self }
    }

    /// With this column of a Parquet file.
    pub fn with_column(self, column: impl Into<String>) -> Options {
        Options { column: Some(column.into()), ..self }
    }

    /// With keys of this type.
    pub fn with_key_type(self, key_type: KeyType) -> Options {
        Options { key_type, ..self }
    }

    /// With a new filter made like this.
    pub fn with_create_options(self, making: CreateOptions) -> Options {
        Options { making, ..self }
    }

    /// The probes, which this format's file does not say.
    pub(crate) fn probes_of(&self, format: Format) -> Result<u32, ForeignError> {
        self.probes.ok_or(ForeignError::Missing { format, what: Missing::Probes })
    }
}

/// Choices beside the number of keys and the rate. What nobody chooses is as the format's program has it
/// by default; what the format has no choice of is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CreateOptions {
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
    pub fn of(format: Format) -> &'static [Variant] {
        format.row().choices.variants
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
        ForeignError::Choice { format, choice: Choice::Variant(self), has }
    }
}

/// A choice that is left to whoever makes a filter of some formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Bits per key instead of a rate.
    BitsPerKey,
    /// What happens when it is full.
    Growth,
    /// A seed.
    Seed,
    /// A seed of another form than this one.
    SeedForm,
    /// This form.
    Variant(Variant),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::BitsPerKey => f.write_str("bits per key to choose"),
            Choice::Growth => f.write_str("growth to choose"),
            Choice::Seed => f.write_str("seed"),
            Choice::SeedForm => f.write_str("such seed"),
            Choice::Variant(variant) => write!(f, "variant {variant}"),
        }
    }
}

/// What a file does not say, and must be known to open it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The number of probes.
    Probes,
    /// Which column, where several have filters, or none has: their names.
    Column(Vec<String>),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Probes => write!(
                f,
                "the number of probes, which is the number of hash functions its program was given"
            ),
            Missing::Column(names) if names.is_empty() => {
                write!(f, "the column, though none of this one has a filter")
            }
            Missing::Column(names) => write!(f, "the column, one of {}", names.join(", ")),
        }
    }
}

impl CreateOptions {
    /// Fails where the format leaves no such choice.
    pub fn check(&self, format: Format) -> Result<(), ForeignError> {
        let choices = format.row().choices;
        let refuse =
            |choice: Choice, has: String| Err(ForeignError::Choice { format, choice, has });
        match (self.bits_per_key, choices.bits_per_key) {
            (None, _) | (Some(_), BitsPerKey::Any) => {}
            (Some(bits), BitsPerKey::Whole) if bits.fract() == 0.0 => {}
            (Some(bits), BitsPerKey::Whole) => {
                return Err(ForeignError::field("bits per key", bits, "a whole number"));
            }
            (Some(_), BitsPerKey::No) => {
                let have = having(|choices| choices.bits_per_key != BitsPerKey::No);
                let has = format!("{have} have; others are made for a rate");
                return refuse(Choice::BitsPerKey, has);
            }
        }
        if self.growth.is_some() && !choices.growth {
            return refuse(Choice::Growth, having(|choices| choices.growth) + " have");
        }
        match (self.seed, choices.seed) {
            (None, _) | (Some(Seed::Keys(_)), SeedChoice::Keys) => {}
            (Some(Seed::Number(_)), SeedChoice::Number(variant))
                if self.variant.is_none_or(|asked| asked == variant) => {}
            (Some(_), SeedChoice::Number(variant)) => {
                return refuse(Choice::SeedForm, format!("a number, in variant {variant}"));
            }
            (Some(_), SeedChoice::Keys) => {
                return refuse(Choice::SeedForm, "`random`, or 64 hexadecimal digits".to_owned());
            }
            (Some(_), SeedChoice::No) => {
                let have = having(|choices| choices.seed != SeedChoice::No);
                return refuse(Choice::Seed, have + " have");
            }
        }
        match self.variant {
            Some(variant) if !choices.variants.contains(&variant) => {
                Err(variant.unknown_to(format))
            }
            _ => Ok(()),
        }
    }
}

/// The formats that leave a choice, by name.
fn having(choice: impl Fn(&Choices) -> bool) -> String {
    let formats = Format::ALL.iter().filter(|format| choice(&format.row().choices));
    list(&formats.map(|format| format.name()).collect::<Vec<_>>(), "and")
}

/// Names in a sentence.
fn list(names: &[&str], last: &str) -> String {
    match names {
        [names @ .., end] if !names.is_empty() => format!("{} {last} {end}", names.join(", ")),
        _ => names.concat(),
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

/// What the keys of a filter are, in the program that made it. No format's file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Strings and byte strings: the bytes as they are.
    #[default]
    Bytes,
    /// 64-bit integers (Java's `long`), written as decimal numbers.
    I64,
    /// 32-bit integers (Java's `int`), written as decimal numbers.
    I32,
    /// Strings hashed as UTF-16 (Java's `unencodedCharsFunnel`), written as UTF-8.
    Utf16,
}

impl KeyType {
    /// All of them.
    pub const ALL: [KeyType; 4] = [KeyType::Bytes, KeyType::I64, KeyType::I32, KeyType::Utf16];

    /// The name people type.
    pub const fn name(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::I64 => "i64",
            KeyType::I32 => "i32",
            KeyType::Utf16 => "utf16",
        }
    }

    /// The bytes that a format hashes for a key written like this.
    ///
    /// Guava and Parquet take integers little-endian, in their own width; Spark and ORC widen them
    /// to 64 bits; kevburnsjr's `AddInt` takes 4 bytes big-endian. Formats without integers refuse
    /// them: where a program adds `42` as text, the type is `bytes`.
    ///
    /// ```
    /// use mayhap_foreign::{Format, KeyType};
    /// assert_eq!(KeyType::I32.key(Format::Guava, b"-2")?.as_ref(), [0xfe, 0xff, 0xff, 0xff]);
    /// assert_eq!(KeyType::Utf16.key(Format::Guava, "é".as_bytes())?.as_ref(), [0xe9, 0]);
    /// assert!(KeyType::I64.key(Format::Guava, b"forty-two").is_err());
    /// assert!(KeyType::I64.key(Format::Leveldb, b"42").is_err());
    /// # Ok::<(), mayhap_foreign::ForeignError>(())
    /// ```
    pub fn key(self, format: Format, text: &[u8]) -> Result<Cow<'_, [u8]>, ForeignError> {
        let encoding = self.encoding(format)?;
        let value = match (encoding, self) {
            (KeyEncoding::Bytes, _) => return Ok(Cow::Borrowed(text)),
            (KeyEncoding::Utf16, _) => {
                KeyValue::Text(str::from_utf8(text).map_err(|_| bad(text, "UTF-8"))?)
            }
            (_, KeyType::I32) => number::<i32>(text, "a 32-bit integer")?.into(),
            _ => number::<i64>(text, "a 64-bit integer")?.into(),
        };
        let encoded = encoding.encode(value).map_err(|_| bad(text, encoding_name(encoding)))?;
        Ok(Cow::Owned(encoded.as_ref().to_vec()))
    }

    /// How the format's programs make bytes of such keys; an error where they have none.
    ///
    /// ```
    /// use mayhap::key::KeyEncoding;
    /// use mayhap_foreign::{Format, KeyType, guava};
    /// let encoding = KeyType::I32.encoding(Format::Guava)?;
    /// assert_eq!(encoding, KeyEncoding::I32);
    /// let mut filter = guava::create(100, 0.01, guava::Release::default())?;
    /// filter.insert(encoding.encode(7)?);
    /// assert!(filter.contains(encoding.encode(7i64)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A typed value by itself does not compile, since it would be hashed as other bytes:
    ///
    /// ```compile_fail
    /// # use mayhap_foreign::guava;
    /// # let filter = guava::create(100, 0.01, guava::Release::default())?;
    /// filter.contains(7i32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encoding(self, format: Format) -> Result<KeyEncoding, ForeignError> {
        let key_types = format.row().key_types;
        let found = key_types.iter().find(|(key_type, _)| *key_type == self);
        found.map(|(_, encoding)| *encoding).ok_or_else(|| {
            let names: Vec<_> = key_types.iter().map(|(key_type, _)| key_type.name()).collect();
            ForeignError::KeyType { format, got: self.name(), need: list(&names, "or") }
        })
    }

    /// Fails where the format's programs have no such keys.
    pub fn check(self, format: Format) -> Result<(), ForeignError> {
        self.encoding(format).map(drop)
    }
}

const fn encoding_name(encoding: KeyEncoding) -> &'static str {
    match encoding {
        KeyEncoding::I32 | KeyEncoding::I32Be => "a 32-bit integer",
        KeyEncoding::I64 => "a 64-bit integer",
        _ => "text",
    }
}

/// The number that this text is.
pub(crate) fn number<T: FromStr>(text: &[u8], need: &'static str) -> Result<T, ForeignError> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| bad(text, need))
}

/// This text is no key of the sort.
pub(crate) fn bad(text: &[u8], need: &'static str) -> ForeignError {
    let shown = &text[..text.len().min(80)];
    ForeignError::Key { got: String::from_utf8_lossy(shown).into_owned(), need }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no type of keys has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKeyType(String);

impl fmt::Display for UnknownKeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no type of keys {:?}: there are bytes, i64, i32, utf16", self.0)
    }
}

impl std::error::Error for UnknownKeyType {}

impl FromStr for KeyType {
    type Err = UnknownKeyType;

    fn from_str(name: &str) -> Result<KeyType, UnknownKeyType> {
        let found = KeyType::ALL.into_iter().find(|key_type| key_type.name() == name);
        found.ok_or_else(|| UnknownKeyType(name.to_owned()))
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
        let refused = |making: CreateOptions, format: Format| match making.check(format) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let bits = CreateOptions { bits_per_key: Some(10.0), ..CreateOptions::default() };
        assert_eq!(refused(bits, Format::Badger), "");
        assert!(refused(bits, Format::Guava).contains("guava has no bits per key"));
        let half = CreateOptions { bits_per_key: Some(9.5), ..CreateOptions::default() };
        assert_eq!(refused(half, Format::Rocksdb), "");
        assert!(refused(half, Format::Leveldb).contains("a whole number"));
        let fixed = CreateOptions { growth: Some(Growth::Never), ..CreateOptions::default() };
        assert_eq!(refused(fixed, Format::ValkeyBloom), "");
        assert!(refused(fixed, Format::Spark).contains("redisbloom"));
        let seed = CreateOptions { seed: Some(Seed::Number(-7)), ..CreateOptions::default() };
        assert_eq!(refused(seed, Format::Spark), "");
        assert!(refused(seed, Format::ValkeyBloom).contains("64 hexadecimal digits"));
        assert!(refused(seed, Format::Orc).contains("orc has no seed"));
        let v1 = CreateOptions { variant: Some(Variant::V1), ..seed };
        assert!(refused(v1, Format::Spark).contains("variant v2"));
        let json = CreateOptions { variant: Some(Variant::Json), ..CreateOptions::default() };
        assert_eq!(refused(json, Format::BitsAndBlooms), "");
        assert!(refused(json, Format::Spark).contains("spark has no variant json: v1, v2"));
        assert!(refused(json, Format::Orc).contains("it has none"));
    }
}
