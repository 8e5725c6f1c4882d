//! valkey-bloom's chain for code that learns the format when it runs.

use super::{Chain, Layer, LayerInfo, Seed, ValkeyBloom};
use crate::Growth;
use crate::cow::{CowFilter, Owned, ReadOnly, array, borrow_range, param};
use crate::family::{BYTES, Choices, Family, FormatRow, SeedChoice, never};
use crate::{
    Bytes, Foreign, ForeignError, Format, Parts, Reader, StoredArray, Summary, ids, limits,
};
use std::fmt;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::ValkeyBloom,
        name: "valkey-bloom",
        programs: "valkey-bloom",
        file: "what `BF.LOAD` takes",
        detected: "yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices { growth: true, seed: SeedChoice::Keys, ..Choices::NONE },
    }],
    is_certain: |_, bytes| Chain::open(bytes).is_ok(),
    is_possible: never,
    open: |_, file, _| open(file),
    create: |_, new| {
        let expansion = match new.options.making.growth {
            None => 2,
            Some(Growth::By(0)) => {
                return Err(ForeignError::field("expansion", 0, "1 or more, or nonscaling"));
            }
            Some(Growth::By(expansion)) => expansion,
            Some(Growth::Never) => 0,
        };
        let seed = match new.seed() {
            Some(crate::Seed::Keys(seed)) => seed,
            _ => Seed::FIXED,
        };
        create(new.keys, new.fpr, expansion, seed)
    },
    from_parts: |_, data, arrays, _| from_parts(data, arrays),
};

/// What `BF.LOAD` takes.
fn open(file: &Bytes) -> Result<Box<dyn Foreign>, ForeignError> {
    let chain = Chain::read(file.as_ref(), |range| borrow_range(file, range))?;
    Ok(Box::new(CowFilter::<Chain>::Borrowed(chain)))
}

/// What `BF.RESERVE` makes.
fn create(
    keys: u64,
    fpr: f64,
    expansion: u32,
    seed: Seed,
) -> Result<Box<dyn Foreign>, ForeignError> {
    Ok(Box::new(CowFilter::Owned(Chain::reserve(keys, fpr, expansion, seed)?)))
}

/// Back from the parts it was kept as.
fn from_parts(
    data: &mut Reader<'_>,
    arrays: Vec<StoredArray>,
) -> Result<Box<dyn Foreign>, ForeignError> {
    let expansion = data.u32_le("expansion")?;
    let (fpr, tightening) = (data.f64_le("rate")?, data.f64_le("tightening ratio")?);
    let is_random = data.u8("random seed")? != 0;
    let seed = Seed { bytes: data.array("seed")?, is_random };
    data.end()?;
    let rule = ValkeyBloom::new(expansion, fpr, tightening, seed)?;
    let mut layers = Vec::new();
    for StoredArray { params, bytes: bits } in arrays {
        let probes = limits::probes(param(&params, 1)?)?;
        let count = |at| Ok::<_, ForeignError>(i64::try_from(param(&params, at)?).unwrap_or(-1));
        let bytes = bits.as_ref().len() as u64;
        let info = LayerInfo::new(bytes, probes, count(2)?, count(3)?)?;
        layers.push(Layer::new(&rule, info, bits)?);
    }
    Ok(Box::new(CowFilter::<Chain>::Borrowed(Chain::of_layers(rule, layers)?)))
}

impl<B: AsRef<[u8]> + fmt::Debug + Send + Sync + 'static> ReadOnly for Chain<B> {
    fn summary(&self) -> Summary {
        let rule = self.rule();
        let expansion = match rule.expansion() {
            0 => "none".to_owned(),
            expansion => expansion.to_string(),
        };
        let seed = if rule.seed().is_random { "random" } else { "fixed" };
        let details = vec![
            ("expansion", expansion),
            ("tightening", rule.tightening().to_string()),
            ("seed", seed.to_owned()),
        ];
        Summary {
            format: Format::ValkeyBloom,
            scheme: ids::VALKEY_BLOOM,
            details,
            capacity: self.capacity(),
            fpr: rule.fpr(),
            keys: Some(self.items()),
            layers: self.layers().len() as u64,
            bits: self.bits(),
            probes: self.newest().info().probes,
            fill: self.fill(),
            estimate: self.estimate(),
            fpr_now: self.fpr_now(),
        }
    }

    fn contains_key(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        Chain::contains_keys(self, keys, answers);
    }

    fn write_as(&self, format: Format, mut to: &mut dyn Write) -> Result<(), ForeignError> {
        if format != Format::ValkeyBloom {
            return Err(ForeignError::Untranslatable { from: Format::ValkeyBloom, to: format });
        }
        Ok(self.write_to(&mut to)?)
    }

    fn parts(&self) -> Parts<'_> {
        let rule = self.rule();
        let mut data = rule.expansion().to_le_bytes().to_vec();
        data.extend(rule.fpr().to_le_bytes());
        data.extend(rule.tightening().to_le_bytes());
        data.push(rule.seed().is_random.into());
        data.extend(rule.seed().bytes);
        let kept = |layer: &'_ Layer<B>| [layer.items(), layer.capacity()];
        Parts {
            format: Format::ValkeyBloom,
            scheme: ids::VALKEY_BLOOM,
            data,
            capacity: self.capacity(),
            fpr: rule.fpr(),
            keys: self.items().min(1 << 56),
            arrays: self.layers().iter().map(|l| array(l.filter(), &kept(l))).collect(),
        }
    }
}

impl Owned for Chain {
    type Borrowed = Chain<Bytes>;

    fn copy_of(lent: &Chain<Bytes>) -> Result<Chain, ForeignError> {
        lent.copied()
    }

    fn insert_keys(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        Chain::insert_keys(self, keys, new)
    }

    fn union_owned(&mut self, other: &Chain) -> Result<(), ForeignError> {
        self.union(other)
    }

    fn union_borrowed(&mut self, other: &Chain<Bytes>) -> Result<(), ForeignError> {
        self.union(other)
    }
}
