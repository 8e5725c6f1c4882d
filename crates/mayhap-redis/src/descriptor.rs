//! The key that describes a filter sharded over many keys.
//!
//! A descriptor is a dump (the head with the secret, then a file as in docs/FORMAT.md) of a sharded
//! filter whose shards are elsewhere: a header and no arrays. So it has version, checksums,
//! capacity, false-positive rate, scheme, normaliser and metadata like a file. The identity of the
//! shards is stored in the metadata, so that earlier releases can read the descriptor too.

use crate::identity::{FilterId, Mark};
use mayhap::format::dump::DumpHead;
use mayhap::format::{Container, Metadata, MetadataError, layout_of_shards, shards_of, write};
use mayhap::scheme::Native;
use mayhap::sizing::MAX_SHARDS;
use mayhap::{Kind, Secret, Sharded, Spec, SpecError};

/// The description of a sharded filter: everything a client must know.
///
/// ```
/// use mayhap::{Spec, format::Metadata};
/// use mayhap_redis::Descriptor;
/// let spec = Spec::new(2_000_000_000, 0.01)?.with_seed(7);
/// let about = Descriptor::new(spec, 64, Metadata::new())?;
/// assert!(about.shard_capacity() > 2_000_000_000 / 64); // room for chance
/// assert_eq!(Descriptor::decode(&about.encode()), Ok(about));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    spec: Spec,
    shards: u32,
    shard_capacity: u64,
    metadata: Metadata,
    mark: Mark,
}

impl Descriptor {
    /// For a filter with this spec over this many shards, 1 to 4096.
    pub fn new(spec: Spec, shards: u32, metadata: Metadata) -> Result<Descriptor, SpecError> {
        let shard_capacity = Sharded::part(spec, shards)?.capacity();
        Ok(Descriptor { spec, shards, shard_capacity, metadata, mark: Mark::None })
    }

    /// Of an existing sharded filter.
    pub fn of<B: AsRef<[u8]>>(filter: &Sharded<B>, metadata: Metadata) -> Descriptor {
        let shards = filter.shards();
        Descriptor {
            spec: filter.spec(),
            shards: shards.len() as u32,
            shard_capacity: shards.first().map_or(0, |shard| shard.spec().capacity()),
            metadata,
            mark: Mark::None,
        }
    }

    /// The same, with this mark of its shards. Fails if the metadata leaves no space for it.
    pub(crate) fn marked(self, mark: Mark) -> Result<Descriptor, MetadataError> {
        if let Some((name, value)) = mark.note() {
            self.metadata.clone().with(name, value)?;
        }
        Ok(Descriptor { mark, ..self })
    }

    /// How its shards are identified.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether every shard carries the identity of the filter, so that a shard which was deleted
    /// and created again is noticed. Not so for filters created by earlier releases.
    pub fn has_identity(&self) -> bool {
        self.mark != Mark::None
    }

    /// Capacity and false-positive rate of the whole filter, and the hash that maps keys to shards.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// The number of shards.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// The capacity of one shard.
    pub fn shard_capacity(&self) -> u64 {
        self.shard_capacity
    }

    /// Metadata, such as the normaliser of keys.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Encode it.
    pub fn encode(&self) -> Vec<u8> {
        let layout = layout_of_shards(self.spec, self.shards, self.shard_capacity);
        let mut file = Vec::new();
        // Writing to a vector cannot fail, and the layout is within its limits.
        let metadata = self.metadata.clone();
        let metadata = match self.mark.note() {
            // Checked when the mark was set.
            Some((name, value)) => metadata.with(name, value).unwrap_or_default(),
            None => metadata,
        };
        _ = write(&mut file, &layout, &metadata);
        let head = DumpHead::of_file(file.len() as u64, self.spec.scheme().secret());
        [head.encode(), file].concat()
    }

    /// Whether these bytes start like a descriptor.
    pub fn is_one(bytes: &[u8]) -> bool {
        DumpHead::is_head(bytes)
    }

    /// Decode it, with every byte verified; an error is a text.
    pub fn decode(bytes: &[u8]) -> Result<Descriptor, String> {
        let halves = bytes.split_at_checked(DumpHead::ONE_PART_BYTES);
        let (head, file) = halves.ok_or_else(|| "cut off".to_owned())?;
        let head = DumpHead::decode(head).and_then(|head| head.single_file());
        let head = head.map_err(|error| error.to_string())?;
        if head.bytes != file.len() as u64 {
            return Err(format!("{} bytes where {} are declared", file.len(), head.bytes));
        }
        let container = Container::open(file).map_err(|error| error.to_string())?;
        container.verify().map_err(|error| error.to_string())?;
        let header = container.header();
        if header.kind != Kind::Sharded || !header.arrays.is_empty() {
            return Err(format!("it is a {} filter, not what tells of shards", header.kind));
        }
        let (shards, shard_capacity) = shards_of(header).map_err(|error| error.to_string())?;
        let (id, seed_or_check) = (header.scheme, header.seed_or_key_check);
        let wrong = |secret: Secret| secret.check() != seed_or_check;
        let scheme = Native::of_id(id, seed_or_check, head.secret)
            .filter(|_| !head.secret.is_some_and(wrong))
            .ok_or_else(|| format!("scheme {} without what goes with it", id.0))?;
        let spec = Spec::new(header.capacity, header.fpr).map_err(|error| error.to_string())?;
        if shard_capacity == 0 || shard_capacity > header.capacity || shards > MAX_SHARDS {
            return Err(format!("{shards} shards of {shard_capacity} keys"));
        }
        let (metadata, mark) = split(&header.metadata)?;
        Ok(Descriptor { spec: spec.with_scheme(scheme), shards, shard_capacity, metadata, mark })
    }
}

/// The filter's own metadata, and the mark of its shards.
fn split(noted: &Metadata) -> Result<(Metadata, Mark), String> {
    let id = |name| {
        let id =
            |text| FilterId::parse(text).ok_or_else(|| format!("{name}={text} is no identity"));
        noted.get(name).map(id).transpose()
    };
    let mark = match (id(Mark::STAMP)?, id(Mark::WITNESS)?) {
        (None, None) => Mark::None,
        (Some(id), None) => Mark::Stamp(id),
        (None, Some(id)) => Mark::Witness(id),
        (Some(_), Some(_)) => return Err("two identities".to_owned()),
    };
    let wrong = |error: MetadataError| error.to_string();
    let mut metadata = Metadata::new().with_created(noted.created());
    metadata = metadata.with_normalizer(noted.normalizer()).map_err(wrong)?;
    let others = noted.pairs().filter(|(name, _)| ![Mark::STAMP, Mark::WITNESS].contains(name));
    for (name, value) in others {
        metadata = metadata.with(name, value).map_err(wrong)?;
    }
    Ok((metadata, mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Secret;
    use mayhap::format::Metadata;
    use proptest::prelude::*;

    fn samples() -> [Descriptor; 4] {
        let spec = Spec::new(5_000_000, 0.01).unwrap();
        let metadata = Metadata::new().with_created(7).with_normalizer("url").unwrap();
        let keyed = spec.with_secret(Secret::from_bytes([5; 16]));
        let id = FilterId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let plain = Descriptor::new(spec.with_seed(9), 64, metadata).unwrap();
        [
            plain.clone(),
            Descriptor::new(keyed, 4096, Metadata::new()).unwrap(),
            plain.clone().marked(Mark::Stamp(id)).unwrap(),
            plain.marked(Mark::Witness(id)).unwrap(),
        ]
    }

    #[test]
    fn what_was_written_is_read_and_is_small() {
        for about in samples() {
            let bytes = about.encode();
            assert!(bytes.len() < 300, "{}", bytes.len());
            assert_eq!(Descriptor::decode(&bytes), Ok(about));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        for about in samples() {
            let good = about.encode();
            for bit in 0..8 * good.len() {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(Descriptor::decode(&bad).is_err(), "bit {bit}");
            }
            assert!((0..good.len()).all(|cut| Descriptor::decode(&good[..cut]).is_err()));
        }
    }

    #[test]
    fn a_filter_is_no_descriptor() {
        let filter = Sharded::new(Spec::new(100, 0.01).unwrap(), 3).unwrap();
        let file = filter.encode(&Metadata::new());
        let head = DumpHead::of_file(file.len() as u64, None);
        let message = Descriptor::decode(&[head.encode(), file].concat()).unwrap_err();
        assert!(message.contains("sharded"), "{message}");
        assert_eq!(Descriptor::of(&filter, Metadata::new()).shards(), 3);
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in any::<Vec<u8>>()) {
            _ = Descriptor::decode(&bytes);
        }
    }
}
