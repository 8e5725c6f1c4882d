//! The key that says what a filter over many keys is.
//!
//! A descriptor is a dump like any other (the head with the secret, then a file as in
//! docs/FORMAT.md) of a filter in pieces whose pieces are elsewhere: a header and no arrays. So it
//! has version, checksums, capacity, rate, scheme, normaliser and notes as a file has them. The
//! identity of the shards is one of the notes, so that earlier releases read the descriptor too.

use crate::dump::{HEAD_BYTES, Head, is_ours};
use crate::identity::{FilterId, Mark};
use mayhap::format::{Container, NoteError, Notes, outline_of_shards, shards_of, write};
use mayhap::sizing::MAX_SHARDS;
use mayhap::{Kind, Native, SchemeId, Sharded, Spec, SpecError};

/// What a filter over many keys is: all that a client must know.
///
/// ```
/// use mayhap::{Spec, format::Notes};
/// use mayhap_redis::Descriptor;
/// let spec = Spec::new(2_000_000_000, 0.01)?.with_seed(7);
/// let about = Descriptor::new(spec, 64, Notes::new())?;
/// assert!(about.shard_capacity() > 2_000_000_000 / 64); // room for chance
/// assert_eq!(Descriptor::decode(&about.encode()), Ok(about));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    spec: Spec,
    shards: u32,
    shard_capacity: u64,
    notes: Notes,
    mark: Mark,
}

impl Descriptor {
    /// Of a filter to this wish over so many keys, 1 to 4096.
    pub fn new(spec: Spec, shards: u32, notes: Notes) -> Result<Descriptor, SpecError> {
        let shard_capacity = Sharded::part(spec, shards)?.capacity();
        Ok(Descriptor { spec, shards, shard_capacity, notes, mark: Mark::None })
    }

    /// Of a filter in pieces that exists.
    pub fn of<B: AsRef<[u8]>>(filter: &Sharded<B>, notes: Notes) -> Descriptor {
        let shards = filter.shards();
        Descriptor {
            spec: filter.spec(),
            shards: shards.len() as u32,
            shard_capacity: shards.first().map_or(0, |shard| shard.spec().capacity()),
            notes,
            mark: Mark::None,
        }
    }

    /// The same, with shards that are known by this mark. Fails where notes leave no room for it.
    pub(crate) fn marked(self, mark: Mark) -> Result<Descriptor, NoteError> {
        if let Some((name, value)) = mark.note() {
            self.notes.clone().with(name, value)?;
        }
        Ok(Descriptor { mark, ..self })
    }

    /// How its shards are known to be its own.
    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether every shard carries the identity of the whole, so that one which was deleted and
    /// made again is noticed. Not so for filters that earlier releases made.
    pub fn has_identity(&self) -> bool {
        self.mark != Mark::None
    }

    /// Capacity and rate of the whole, and how keys are hashed: that decides their shard.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How many keys it lies in.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// What each of them is made for.
    pub fn shard_capacity(&self) -> u64 {
        self.shard_capacity
    }

    /// What else is noted, the normaliser of keys for one.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let outline = outline_of_shards(self.spec, self.shards, self.shard_capacity);
        let mut file = Vec::new();
        // A vector takes everything, and the outline keeps its limits.
        let notes = self.notes.clone();
        let notes = match self.mark.note() {
            // It was tried when the mark was made.
            Some((name, value)) => notes.with(name, value).unwrap_or_default(),
            None => notes,
        };
        _ = write(&mut file, &outline, &notes);
        let head =
            Head { shard: None, secret: self.spec.scheme().secret(), bytes: file.len() as u64 };
        [head.encode(), file].concat()
    }

    /// Whether these bytes begin as a descriptor does.
    pub fn is_one(bytes: &[u8]) -> bool {
        is_ours(bytes)
    }

    /// Read one. Every byte is checked; what is wrong is told in words.
    pub fn decode(bytes: &[u8]) -> Result<Descriptor, String> {
        let (head, file) =
            bytes.split_at_checked(HEAD_BYTES).ok_or_else(|| "cut off".to_owned())?;
        let head = Head::decode(head)?;
        if head.bytes != file.len() as u64 {
            return Err(format!("{} bytes where {} are told of", file.len(), head.bytes));
        }
        let container = Container::open(file).map_err(|error| error.to_string())?;
        container.verify().map_err(|error| error.to_string())?;
        let header = container.header();
        if header.kind != Kind::Sharded || !header.leaves.is_empty() {
            return Err(format!("it is a {} filter, not what tells of shards", header.kind));
        }
        let (shards, shard_capacity) = shards_of(header).map_err(|error| error.to_string())?;
        let scheme = match (header.scheme, head.secret) {
            (SchemeId::XXH3, None) => Native::seeded(header.fingerprint),
            (SchemeId::SIP13, Some(secret)) if secret.check() == header.fingerprint => {
                Native::keyed(secret)
            }
            (id, _) => return Err(format!("scheme {} without what goes with it", id.0)),
        };
        let spec = Spec::new(header.capacity, header.fpr).map_err(|error| error.to_string())?;
        if shard_capacity == 0 || shard_capacity > header.capacity || shards > MAX_SHARDS {
            return Err(format!("{shards} shards of {shard_capacity} keys"));
        }
        let (notes, mark) = split(&header.notes)?;
        Ok(Descriptor { spec: spec.with_scheme(scheme), shards, shard_capacity, notes, mark })
    }
}

/// The notes of the filter itself, and how its shards are known.
fn split(noted: &Notes) -> Result<(Notes, Mark), String> {
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
    let wrong = |error: NoteError| error.to_string();
    let mut notes = Notes::new().with_created(noted.created());
    notes = notes.with_normaliser(noted.normaliser()).map_err(wrong)?;
    let others = noted.pairs().filter(|(name, _)| ![Mark::STAMP, Mark::WITNESS].contains(name));
    for (name, value) in others {
        notes = notes.with(name, value).map_err(wrong)?;
    }
    Ok((notes, mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Secret;
    use mayhap::format::Notes;
    use proptest::prelude::*;

    fn samples() -> [Descriptor; 4] {
        let spec = Spec::new(5_000_000, 0.01).unwrap();
        let notes = Notes::new().with_created(7).with_normaliser("url").unwrap();
        let keyed = spec.with_secret(Secret::from_bytes([5; 16]));
        let id = FilterId::parse("0123456789abcdef0123456789abcdef").unwrap();
        let plain = Descriptor::new(spec.with_seed(9), 64, notes).unwrap();
        [
            plain.clone(),
            Descriptor::new(keyed, 4096, Notes::new()).unwrap(),
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
        let file = filter.encode(&Notes::new());
        let head = Head { shard: None, secret: None, bytes: file.len() as u64 };
        let said = Descriptor::decode(&[head.encode(), file].concat()).unwrap_err();
        assert!(said.contains("sharded"), "{said}");
        assert_eq!(Descriptor::of(&filter, Notes::new()).shards(), 3);
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in any::<Vec<u8>>()) {
            _ = Descriptor::decode(&bytes);
            _ = Head::decode(&bytes);
        }
    }
}
