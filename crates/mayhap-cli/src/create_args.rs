//! Flags of verbs that make filters: which kind, and what other programs leave to choose.

use crate::exit::error_with_hint;
use crate::globals::Globals;
use crate::numbers::{self, rate_flag};
use crate::print;
use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap::key::decode_hex;
use mayhap::sizing::QuotientShape;
use mayhap::{Kind, KindSpec};
use mayhap_foreign::{CreateOptions, Format, Growth, Seed, Variant, valkey_bloom};
use std::time::Duration;

/// A kind, or the choice left to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindArg(pub Option<Kind>);

/// The kinds that a flag names: shards are asked for by their number.
fn named() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| *kind != Kind::Sharded)
}

/// The name of a kind, or `auto`.
pub fn kind() -> impl TypedValueParser<Value = KindArg> {
    let auto = "blocked where the number of keys is known, scalable where it is not, quotient with --deletes";
    let auto = PossibleValue::new("auto").help(auto);
    let kinds = named().map(|kind| PossibleValue::new(kind.name()).help(kind.about()));
    PossibleValuesParser::new(std::iter::once(auto).chain(kinds))
        .map(|name| KindArg(Kind::from_name(&name)))
}

impl KindArg {
    /// The name as the flag takes it.
    pub fn name(self) -> &'static str {
        self.0.map_or("auto", Kind::name)
    }
}

/// Whether keys are removed again, and how much is to come.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct RemovalArgs {
    /// Keys will be removed later: build a quotient filter, unless --kind names another kind that
    /// can remove
    #[arg(long)]
    deletes: bool,

    /// Keep the rate of a quotient filter until it holds this many times the keys, rounded up to a
    /// power of two; each doubling costs one bit per key from the start. Without this option it
    /// grows as well, but its rate rises
    #[arg(long, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    growth: Option<u32>,
}

impl RemovalArgs {
    /// Whether anything was said.
    pub fn are_given(&self) -> bool {
        self.deletes || self.growth.is_some()
    }

    /// Whether a quotient filter is what these flags mean beside a kind, or none.
    pub fn is_quotient(&self, kind: KindArg) -> bool {
        kind.0 == Some(Kind::Quotient) || (kind.0.is_none() && self.are_given())
    }

    /// The quotient filter.
    pub fn spec(&self) -> KindSpec {
        KindSpec::Quotient { expected_growth: self.growth.unwrap_or(1) }
    }

    /// Fails for kinds that cannot.
    pub fn check(&self, kind: KindArg) -> anyhow::Result<()> {
        if let Some(named) = kind.0.filter(|kind| self.deletes && !kind.traits().removes) {
            return Err(error_with_hint(
                format!("--deletes: keys cannot be removed from a {named} filter"),
                "leave out --kind for a quotient filter, or --deletes",
            ));
        }
        if self.growth.is_some() && !self.is_quotient(kind) {
            return Err(error_with_hint(
                format!("--growth: not for a {} filter", kind.name()),
                "leave it out, or take --kind quotient; --kind scalable grows at its rate by itself",
            ));
        }
        Ok(())
    }

    /// Say so where a high rate buys nothing.
    pub fn warn(&self, kind: KindArg, fpr: Option<f64>, globals: &Globals) {
        let largest = QuotientShape::LARGEST_USEFUL_FPR;
        let buys_nothing = |fpr: &f64| self.is_quotient(kind) && *fpr > largest && !globals.quiet;
        if let Some(fpr) = fpr.filter(buys_nothing) {
            let (asked, same) = (rate_flag(fpr), numbers::percent(largest));
            let what =
                format!("-p {asked}: a quotient filter costs as much at {same}, and has that rate");
            print::warning(
                &what,
                Some("--kind blocked takes less memory where nothing is removed"),
            );
        }
    }
}

/// What a window spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowSpan {
    /// The last keys.
    Keys(u64),
    /// The last while.
    Time(Duration),
}

/// Read what a window spans: `10M` keys, `10m` of time.
pub fn window_span(text: &str) -> Result<WindowSpan, String> {
    let wrong = |_| format!("{text:?} is neither a number of keys (10M) nor a time (24h)");
    match numbers::duration(text) {
        Ok(time) => Ok(WindowSpan::Time(time)),
        Err(_) => numbers::count(text).map(WindowSpan::Keys).map_err(wrong),
    }
}

/// What other programs leave to choose beside keys and rate.
#[derive(Args, Clone, Debug, Default)]
pub struct ForeignCreateArgs {
    /// Bits per key, instead of a rate (the LevelDB family, rocksdb)
    #[arg(long, value_name = "BITS", conflicts_with = "fpr")]
    #[arg(help_heading = "Other programs", display_order = 83)]
    bits_per_key: Option<f64>,

    /// When full, add a layer N times as large (redisbloom, valkey-bloom) [default: 2]
    #[arg(long, value_name = "N", conflicts_with = "nonscaling")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Other programs", display_order = 84)]
    expansion: Option<u32>,

    /// When full, accept no more keys (redisbloom, valkey-bloom)
    #[arg(long, help_heading = "Other programs", display_order = 85)]
    nonscaling: bool,

    #[command(flatten)]
    variant: VariantArg,
}

/// Which form of a format.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VariantArg {
    /// Which form, where the format has several: json of bits-and-blooms, v2 of spark
    #[arg(long, value_name = "NAME", value_parser = variants(), hide_possible_values = true)]
    #[arg(help_heading = "Other programs", display_order = 86)]
    #[arg(long_help = long_help())]
    pub variant: Option<Variant>,
}

fn variants() -> impl TypedValueParser<Value = Variant> {
    let names = PossibleValuesParser::new(Variant::ALL.map(Variant::name));
    names.try_map(|name| name.parse::<Variant>())
}

fn long_help() -> String {
    let mut help = "Variant of the format; the first is the default.".to_owned();
    for format in Format::ALL {
        let names: Vec<_> = Variant::of(format).iter().map(|variant| variant.name()).collect();
        if !names.is_empty() {
            help += &format!("\n\n{format}: {}", names.join(", "));
        }
    }
    help
}

impl ForeignCreateArgs {
    /// Whether anything was chosen.
    pub fn are_given(&self) -> bool {
        let ForeignCreateArgs { bits_per_key, expansion, nonscaling, variant } = self;
        bits_per_key.is_some() || expansion.is_some() || *nonscaling || variant.variant.is_some()
    }

    /// All choices together.
    pub fn choices(&self, seed: Option<&SeedArg>) -> anyhow::Result<CreateOptions> {
        if self.bits_per_key.is_some_and(|bits| !(0.5..=1000.0).contains(&bits)) {
            return Err(error_with_hint("--bits-per-key: not 0.5 to 1000", "10 make a rate of 1%"));
        }
        let growth = match self.expansion {
            Some(expansion) => Some(Growth::By(expansion)),
            None => self.nonscaling.then_some(Growth::Never),
        };
        let seed = seed.map(SeedArg::foreign).transpose()?;
        let variant = self.variant.variant;
        Ok(CreateOptions { bits_per_key: self.bits_per_key, growth, seed, variant })
    }
}

/// What `--seed` takes: a number, and for valkey-bloom its 32 bytes or none in particular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedArg {
    /// A number.
    Number(i128),
    /// 64 hexadecimal digits.
    Bytes([u8; 32]),
    /// One drawn at random.
    Random,
}

impl SeedArg {
    /// As one of our filters has it.
    pub fn native(&self) -> anyhow::Result<u64> {
        match self {
            SeedArg::Number(number) => u64::try_from(*number).map_err(|_| {
                error_with_hint(format!("--seed {number}: below 0"), "a seed is 0 to 2^64 - 1")
            }),
            _ => Err(error_with_hint(
                "--seed: Mayhap's own filters take a number",
                "--keyed hashes under a random secret",
            )),
        }
    }

    fn foreign(&self) -> anyhow::Result<Seed> {
        Ok(match self {
            SeedArg::Number(number) => {
                let number = i32::try_from(*number).map_err(|_| {
                    error_with_hint(
                        format!("--seed {number}: not an integer of 32 bits"),
                        "that is what the format has room for: -2147483648 to 2147483647",
                    )
                })?;
                Seed::Number(number)
            }
            SeedArg::Bytes(bytes) => Seed::Keys(valkey_bloom::Seed::random(*bytes)),
            SeedArg::Random => {
                let mut bytes = [0; 32];
                getrandom::fill(&mut bytes).context("drawing a random seed")?;
                Seed::Keys(valkey_bloom::Seed::random(bytes))
            }
        })
    }
}

/// Read a seed.
pub fn seed(text: &str) -> Result<SeedArg, String> {
    let wrong = || format!("{text:?} is no number, nor 64 hexadecimal digits, nor `random`");
    if text == "random" {
        return Ok(SeedArg::Random);
    }
    let mut bytes = [0; 32];
    if decode_hex(text.as_bytes(), &mut bytes) {
        return Ok(SeedArg::Bytes(bytes));
    }
    let number = text.parse().ok().filter(|number| *number <= u64::MAX.into());
    number.map(SeedArg::Number).ok_or_else(wrong)
}
