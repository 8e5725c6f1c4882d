//! What filter to make: flags, counted keys and memory put together.

use super::Build;
use crate::budget::MaxMemory;
use crate::exit::{Hint, refuse};
use crate::globals::Globals;
use crate::kind::{GROWTH, KindArg};
use crate::numbers;
use crate::progress::Progress;
use mayhap::sizing::{
    BlockedShape, ClassicShape, Layout, Plan, ScalableShape, ShardedShape, hash_floor,
};
use mayhap::{
    AnyFilter, Bitmap, Blocked, Classic, Counting, MIN_FPR, Native, Scalable, Sharded, Spec,
    SpecError, Window, Windowed,
};
use mayhap_store::keys::Reading;
use std::time::Duration;

/// The rate where nobody says.
pub const RATE: f64 = 0.01;
/// Where a filter begins that grows with a stream: 158 kB at 1%.
const FIRST_KEYS: u64 = 100_000;

/// What a window spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// The last keys.
    Keys(u64),
    /// The last while.
    Time(Duration),
}

/// Read what a window spans: `10M` keys, `10m` of time.
pub fn span(text: &str) -> Result<Span, String> {
    let wrong = |_| format!("{text:?} is neither a number of keys (10M) nor a time (24h)");
    match numbers::duration(text) {
        Ok(time) => Ok(Span::Time(time)),
        Err(_) => numbers::count(text).map(Span::Keys).map_err(wrong),
    }
}

/// A filter to be made.
pub struct Wish {
    pub kind: KindArg,
    pub capacity: u64,
    pub fpr: f64,
    /// Where memory was given, and the bits are laid out to fit.
    bytes: Option<u64>,
    window: Window,
    /// Pieces, where it is to be in some.
    shards: Option<u32>,
}

impl Wish {
    /// Put together what was asked for. May read all inputs once, to count them.
    pub fn of(build: &Build, reading: &Reading, globals: &Globals) -> anyhow::Result<Wish> {
        refuse_what_cannot_be(build)?;
        let sized = build.capacity.is_some() || build.memory.is_some() || reading.is_rereadable();
        let kind = match build.kind {
            KindArg::Auto if build.window.is_some() || build.generations.is_some() => {
                KindArg::Windowed
            }
            KindArg::Auto if sized || build.shards.is_some() => KindArg::Blocked,
            KindArg::Auto => KindArg::Scalable,
            kind => kind,
        };
        let window = match build.window {
            Some(Span::Time(time)) => {
                Window::span(time.as_millis().try_into().unwrap_or(u64::MAX), build.generations())
            }
            _ => Window::last_keys(build.generations()),
        };
        let layout = layout(build, kind);
        let capacity = capacity(build, kind, reading, globals)?;
        let (fpr, shards) = (build.rate.unwrap_or(RATE), build.shards);
        let mut wish = Wish { kind, capacity, fpr, bytes: None, window, shards };
        if let (None, Some(bytes), Some(layout)) = (build.rate, build.memory, layout) {
            let keys = capacity.max(1);
            wish.fpr = rate_in(layout, keys, bytes).hint(format!(
                "`mayhap plan -n {keys} --memory {}` shows what can be had",
                numbers::size_flag(bytes)
            ))?;
            wish.bytes = Some(bytes);
        }
        Ok(wish)
    }

    /// Fails where the filter would take more than it may.
    pub fn check_memory(&self, memory: MaxMemory) -> anyhow::Result<()> {
        let pieces = self.shards.map(|shards| Layout::Sharded { shards });
        let layout = pieces.or_else(|| self.kind.layout(self.window.generations()));
        let layout = layout.map(|layout| match layout {
            Layout::Windowed { generations } if self.window.ticks().is_some() => {
                Layout::TimeWindowed { generations }
            }
            other => other,
        });
        let Some(layout) = layout else { return Ok(()) };
        if self.kind == KindArg::Fuse && self.capacity == 0 {
            return Ok(());
        }
        let need = match self.bytes {
            Some(bytes) => bytes,
            None => Plan::for_rate(layout, self.capacity, self.fpr)?.bytes(),
        };
        memory.check(need, self.capacity)
    }

    /// What it is made for.
    pub fn spec(&self, scheme: Native) -> Result<Spec, SpecError> {
        Ok(Spec::new(self.capacity, self.fpr)?.with_scheme(scheme))
    }

    /// The filter, with nothing in.
    pub fn empty(&self, scheme: Native) -> Result<AnyFilter, SpecError> {
        let (keys, bits) = (self.capacity, self.bytes.map(|bytes| bytes.saturating_mul(8)));
        if let Some(shards) = self.shards {
            let spec = self.spec(scheme)?;
            return Ok(match bits {
                Some(bits) => {
                    let each = ShardedShape::for_bits(keys, bits, shards).each;
                    Sharded::with_shape(spec, shards, each)?.into()
                }
                None => Sharded::new(spec, shards)?.into(),
            });
        }
        Ok(match (self.kind, bits) {
            (KindArg::Bitmap, _) => Bitmap::new().into(),
            (KindArg::Classic, Some(bits)) => {
                Classic::with_shape(self.spec(scheme)?, ClassicShape::for_bits(keys, bits))?.into()
            }
            (KindArg::Classic, None) => Classic::new(self.spec(scheme)?)?.into(),
            (KindArg::Counting, Some(bits)) => {
                Counting::with_shape(self.spec(scheme)?, ClassicShape::for_bits(keys, bits / 4))?
                    .into()
            }
            (KindArg::Counting, None) => Counting::new(self.spec(scheme)?)?.into(),
            (KindArg::Scalable, _) => Scalable::new(self.spec(scheme)?)?.into(),
            (KindArg::Windowed, _) => Windowed::new(self.spec(scheme)?, self.window)?.into(),
            (_, Some(bits)) => {
                Blocked::with_shape(self.spec(scheme)?, BlockedShape::for_bits(keys, bits))?.into()
            }
            (_, None) => Blocked::new(self.spec(scheme)?)?.into(),
        })
    }
}

/// How the bits are laid out.
fn layout(build: &Build, kind: KindArg) -> Option<Layout> {
    match (build.shards, kind.layout(build.generations())) {
        (Some(shards), _) => Some(Layout::Sharded { shards }),
        (None, Some(Layout::Windowed { generations }))
            if matches!(build.window, Some(Span::Time(_))) =>
        {
            Some(Layout::TimeWindowed { generations })
        }
        (None, layout) => layout,
    }
}

/// How many keys to make room for; 0 where the kind takes what comes.
fn capacity(
    build: &Build,
    kind: KindArg,
    reading: &Reading,
    globals: &Globals,
) -> anyhow::Result<u64> {
    if let Some(keys) = build.capacity {
        return Ok(keys);
    }
    if let Some(Span::Keys(keys)) = build.window {
        return Ok(keys);
    }
    let Some(layout) = layout(build, kind) else { return Ok(0) };
    if let (Some(fpr), Some(bytes)) = (build.rate, build.memory) {
        return Ok(Plan::for_keys(layout, fpr, bytes)?.keys());
    }
    if reading.is_rereadable() {
        return Ok(count(reading, globals)?.max(1));
    }
    if let Some(bytes) = build.memory {
        return Ok(Plan::for_keys(layout, RATE, bytes)?.keys());
    }
    match kind {
        KindArg::Fuse => Ok(0),
        KindArg::Scalable => Ok(FIRST_KEYS),
        _ if build.shards.is_some() => Err(refuse(
            "the keys of a pipe cannot be counted, and pieces must know what they are made for",
            "say how many will come with -n",
        )),
        _ => Err(refuse(
            format!(
                "the keys of a pipe cannot be counted, and a {} filter must know their number",
                kind.name()
            ),
            "say how many will come with -n, or let it grow with --kind scalable",
        )),
    }
}

fn refuse_what_cannot_be(build: &Build) -> anyhow::Result<()> {
    if build.capacity.is_some() && build.rate.is_some() && build.memory.is_some() {
        return Err(refuse(
            "keys, rate and memory were all given: any two decide the third",
            "leave out -n, -p or --memory",
        ));
    }
    let windowed = matches!(build.kind, KindArg::Auto | KindArg::Windowed);
    if !windowed && (build.window.is_some() || build.generations.is_some()) {
        let flag = if build.window.is_some() { "--window" } else { "--generations" };
        return Err(refuse(
            format!("{flag}: a {} filter forgets nothing", build.kind.name()),
            "--kind windowed does",
        ));
    }
    match (build.window, build.capacity) {
        (Some(Span::Keys(_)), Some(_)) => Err(refuse(
            "-n and a --window of keys say the same thing twice",
            "leave out -n, or give the window as a time, as in --window 24h",
        )),
        (None, None) if build.kind == KindArg::Windowed || build.generations.is_some() => {
            Err(refuse(
                "a windowed filter must know what to remember",
                "say --window 10M for the last ten million keys, or --window 24h with -n for the keys of a day",
            ))
        }
        _ if build.kind == KindArg::Bitmap
            && (build.rate.is_some() || build.capacity.is_some() || build.memory.is_some()) =>
        {
            Err(refuse(
                "a bitmap is exact and as large as its ids make it: -n, -p and --memory do not apply",
                "leave them out",
            ))
        }
        _ if build.kind == KindArg::Bitmap
            && (build.keyed || build.key_file.is_named() || build.seed.is_some()) =>
        {
            Err(refuse(
                "a bitmap hashes nothing: --keyed, --key-file and --seed do not apply",
                "leave them out",
            ))
        }
        _ => Ok(()),
    }
}

/// The rate to ask for so that the filter fits.
fn rate_in(layout: Layout, keys: u64, bytes: u64) -> Result<f64, SpecError> {
    let plan = Plan::for_memory(layout, keys, bytes)?;
    let mut fpr = match layout {
        // Its plan tells the rate before it grows; the wish is for all that it grows to.
        Layout::Scalable { .. } => {
            let shape = ScalableShape::for_bits(keys, GROWTH, keys, bytes.saturating_mul(8));
            shape.ok_or(SpecError::TooSmall { bytes })?.fpr
        }
        _ => plan.fpr(),
    };
    // With more memory than keys can use: the lowest rate there is.
    fpr = fpr.max(MIN_FPR).max(2.0 * hash_floor(keys));
    if matches!(
        layout,
        Layout::Windowed { .. } | Layout::TimeWindowed { .. } | Layout::Scalable { .. }
    ) {
        // These are laid out by rate alone, in whole lines: a little more rate, until they fit.
        while fpr < 0.99 && Plan::for_rate(layout, keys, fpr)?.bytes() > bytes {
            fpr *= 1.01;
        }
    }
    Spec::new(keys, fpr).map(|spec| spec.fpr())
}

/// How many keys the inputs have, by reading them once.
fn count(reading: &Reading, globals: &Globals) -> anyhow::Result<u64> {
    let _progress = Progress::of(reading.watch(), "count", false, globals);
    Ok(reading.count()?)
}
