//! RedisBloom's chain for code that learns the format when it runs.

use super::{Chain, Header, Layout, Link, LinkInfo, Scaling, dump};
use crate::Growth;
use crate::cow::{CowFilter, Owned, ReadOnly, array, borrow_range, param};
use crate::family::{BYTES, Choices, Family, FormatRow, never};
use crate::{Bytes, Foreign, ForeignError, Format, Parts, Reader, StoredArray, Summary};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use std::fmt;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[
        FormatRow {
            format: Format::Redisbloom,
            name: "redisbloom",
            programs: "RedisBloom",
            file: "the chunks of `BF.SCANDUMP`, one after another",
            detected: "yes",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { growth: true, ..Choices::NONE },
        },
        FormatRow {
            format: Format::RedisbloomDump,
            name: "redisbloom-dump",
            programs: "RedisBloom",
            file: "what `DUMP` gives and `RESTORE` takes",
            detected: "yes",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { growth: true, ..Choices::NONE },
        },
    ],
    is_certain: |format, bytes| match format {
        Format::RedisbloomDump => dump::is_dump(bytes),
        _ => Chain::open(bytes).is_ok(),
    },
    is_possible: never,
    open: |format, file, _| open(format, file),
    create: |format, new| {
        // As BF.RESERVE does: it grows where more keys come than were thought.
        let scaling = match new.options.making.growth {
            None => Scaling::By(2),
            Some(Growth::By(growth)) => Scaling::By(growth),
            Some(Growth::Never) => Scaling::Fixed,
        };
        create(format, new.keys, new.fpr, scaling)
    },
    from_parts: |_, data, arrays, _| from_parts(data, arrays),
};

/// A chain and how it came: as chunks, or as a payload written with these options.
#[derive(Debug)]
struct Encoded<B> {
    chain: Chain<B>,
    dump: Option<dump::Options>,
}

/// The chunks of `BF.SCANDUMP` one after another, or the payload of `DUMP`.
fn open(format: Format, file: &Bytes) -> Result<Box<dyn Foreign>, ForeignError> {
    if format == Format::RedisbloomDump {
        // What is compressed must be copied, so all is: payloads end at 512 MB.
        let (chain, options) = dump::decode_with_options(file.as_ref())?;
        return Ok(Box::new(CowFilter::Owned(Encoded { chain, dump: Some(options) })));
    }
    let chain = Chain::read(file.as_ref(), |range| borrow_range(file, range))?;
    Ok(Box::new(CowFilter::<Encoded<AlignedBuf>>::Borrowed(Encoded { chain, dump: None })))
}

/// What `BF.RESERVE` makes.
fn create(
    format: Format,
    keys: u64,
    fpr: f64,
    scaling: Scaling,
) -> Result<Box<dyn Foreign>, ForeignError> {
    let chain = Chain::reserve(keys, fpr, scaling)?;
    let dump = (format == Format::RedisbloomDump).then(dump::Options::default);
    Ok(Box::new(CowFilter::Owned(Encoded { chain, dump })))
}

/// Back from the parts it was kept as.
fn from_parts(
    data: &mut Reader<'_>,
    arrays: Vec<StoredArray>,
) -> Result<Box<dyn Foreign>, ForeignError> {
    let (options, growth) = (data.u32_le("options")?, data.u32_le("growth")?);
    let layout = match data.u8("layout")? {
        0 => Layout::Entries64,
        1 => Layout::Entries32,
        2 => Layout::NoGrowth,
        other => return Err(ForeignError::field("layout", other, "0 to 2")),
    };
    let dump = match data.u8("form")? {
        0 => None,
        1 => {
            let rdb_version = data.u16_le("RDB version")?;
            Some(dump::Options { rdb_version, compress: data.u8("compression")? != 0 })
        }
        other => return Err(ForeignError::field("form", other, "0 or 1")),
    };
    data.end()?;
    let mut links = Vec::new();
    for StoredArray { params, bytes: bits } in &arrays {
        let small = |at| {
            let number = param(params, at)?;
            u32::try_from(number).map_err(|_| ForeignError::field("parameter", number, "32 bits"))
        };
        links.push(LinkInfo {
            bytes: bits.as_ref().len() as u64,
            bits: param(params, 7)?,
            hashes: small(1)?,
            items: param(params, 2)?,
            error: f64::from_bits(param(params, 3)?),
            bits_per_entry: f64::from_bits(param(params, 4)?),
            entries: param(params, 5)?,
            n2: small(6)?.try_into().unwrap_or(u8::MAX),
        });
    }
    let header = Header { options, growth, layout, links };
    let items = header.links.iter().fold(0u64, |sum, link| sum.saturating_add(link.items));
    header.check(items, true)?;
    let mut arrays = arrays.into_iter();
    let missing = || ForeignError::field("arrays", 0, "one a link");
    let bits = |_: &_| arrays.next().map(|array| array.bytes).ok_or_else(missing);
    let chain = Chain::of_header(&header, bits)?;
    Ok(Box::new(CowFilter::<Encoded<AlignedBuf>>::Borrowed(Encoded { chain, dump })))
}

impl<B: AsRef<[u8]> + fmt::Debug + Send + Sync + 'static> ReadOnly for Encoded<B> {
    fn summary(&self) -> Summary {
        let Encoded { chain, dump } = self;
        let scaling = match chain.scaling() {
            Scaling::By(growth) => growth.to_string(),
            Scaling::Fixed => "none".to_owned(),
        };
        let mut details = vec![("expansion", scaling)];
        if let Some(options) = dump {
            details.push(("rdb version", options.rdb_version.to_string()));
        }
        if chain.header().layout != Layout::Entries64 {
            details.push(("layout", "that of RedisBloom 2.2.0 and earlier".to_owned()));
        }
        let newest = chain.newest();
        Summary {
            format: self.format(),
            scheme: newest.filter().scheme().id(),
            details,
            capacity: chain.capacity(),
            fpr: chain.links().iter().map(|link| link.info().error).sum(),
            keys: Some(chain.items()),
            layers: chain.links().len() as u64,
            bits: chain.bits(),
            probes: newest.info().hashes,
            fill: chain.fill(),
            estimate: chain.estimate(),
            fpr_now: chain.fpr_now(),
        }
    }

    fn contains_key(&self, key: &[u8]) -> bool {
        self.chain.contains(key)
    }

    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        self.chain.contains_keys(keys, answers);
    }

    fn write_as(&self, format: Format, mut to: &mut dyn Write) -> Result<(), ForeignError> {
        match format {
            Format::Redisbloom => Ok(self.chain.write_to(&mut to)?),
            Format::RedisbloomDump => {
                Ok(dump::write(&self.chain, self.dump.unwrap_or_default(), &mut to)?)
            }
            _ => Err(ForeignError::Untranslatable { from: self.format(), to: format }),
        }
    }

    fn parts(&self) -> Parts<'_> {
        let header = self.chain.header();
        let mut data = header.options.to_le_bytes().to_vec();
        data.extend(header.growth.to_le_bytes());
        data.push(match header.layout {
            Layout::Entries64 => 0,
            Layout::Entries32 => 1,
            Layout::NoGrowth => 2,
        });
        data.push(self.dump.is_some().into());
        if let Some(options) = self.dump {
            data.extend(options.rdb_version.to_le_bytes());
            data.push(options.compress.into());
        }
        let kept = |link: &'_ Link<B>| {
            let info = link.info();
            let (error, bits_per_entry) = (info.error.to_bits(), info.bits_per_entry.to_bits());
            [info.items, error, bits_per_entry, info.entries, info.n2.into(), info.bits]
        };
        let links = self.chain.links().iter();
        Parts {
            format: self.format(),
            scheme: self.chain.newest().filter().scheme().id(),
            data,
            capacity: self.chain.capacity(),
            fpr: header.links.first().map_or(0.0, |link| link.error),
            keys: self.chain.items().min(1 << 56),
            arrays: links.map(|link| array(link.filter(), &kept(link))).collect(),
        }
    }
}

impl<B> Encoded<B> {
    fn format(&self) -> Format {
        match self.dump {
            Some(_) => Format::RedisbloomDump,
            None => Format::Redisbloom,
        }
    }
}

impl Owned for Encoded<AlignedBuf> {
    type Borrowed = Encoded<Bytes>;

    fn copy_of(lent: &Encoded<Bytes>) -> Result<Encoded<AlignedBuf>, ForeignError> {
        Ok(Encoded { chain: lent.chain.copied()?, dump: lent.dump })
    }

    fn insert_keys(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        self.chain.insert_keys(keys, new)
    }

    fn union_owned(&mut self, other: &Encoded<AlignedBuf>) -> Result<(), ForeignError> {
        self.chain.union(&other.chain)
    }

    fn union_borrowed(&mut self, other: &Encoded<Bytes>) -> Result<(), ForeignError> {
        self.chain.union(&other.chain)
    }
}
