//! Values that a program hands over one by one, gathered for one filter before it changes.

use super::typed::{TypedBatch, ValueError, ValueRules};
use super::{CHUNK, Each, Filter, HostError, KeySource, Lookup, Needs, Tally};
use crate::keys::KeyBuffer;
use mayhap::Hash;
use mayhap::key::KeyValue;
use mayhap::scheme::Native;
use std::ops::ControlFlow;

/// Values as the keys of one filter, in the least memory that it can be filled from: eight bytes per key
/// where it hashes keys by itself, else their bytes.
///
/// Every value is checked as it is gathered, and the filter changes afterwards: a value in the middle that
/// is no key leaves it as it was.
///
/// ```
/// use mayhap_store::{BuildSpec, Filter, Gathered, TypedBatch};
/// let mut filter = Filter::create(&BuildSpec { capacity: Some(100), ..BuildSpec::default() })?;
/// let mut keys = Gathered::of(&filter, filter.value_rules(&Default::default())?);
/// keys.push(TypedBatch::Bytes(&[b"ada", b"eve"]))?;
/// keys.push_integers(&[7, -7, u64::MAX.into()])?;
/// filter.fill(&keys, Default::default())?;
/// assert_eq!(filter.info(0).keys, Some(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gathered {
    rules: ValueRules,
    kept: Kept,
    /// Of the batch at hand.
    hashes: Vec<Hash>,
    encoded: KeyBuffer,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Kept {
    Hashes(Native, Vec<Hash>),
    Keys(KeyBuffer),
}

impl Gathered {
    /// For this filter, by these rules.
    pub fn of(filter: &Filter, rules: ValueRules) -> Gathered {
        let kept = match filter.needs() {
            Needs::Hashes(scheme) => Kept::Hashes(scheme, Vec::new()),
            _ => Kept::Keys(KeyBuffer::default()),
        };
        Gathered::new(rules, kept)
    }

    /// For a filter to be built that hashes by this scheme.
    pub fn hashed(scheme: Native, rules: ValueRules) -> Gathered {
        Gathered::new(rules, Kept::Hashes(scheme, Vec::new()))
    }

    /// For a filter to be built that needs the bytes of its keys.
    pub fn bytes(rules: ValueRules) -> Gathered {
        Gathered::new(rules, Kept::Keys(KeyBuffer::default()))
    }

    fn new(rules: ValueRules, kept: Kept) -> Gathered {
        let (hashes, encoded, buffer) = Default::default();
        Gathered { rules, kept, hashes, encoded, buffer }
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        match &self.kept {
            Kept::Hashes(_, hashes) => hashes.len(),
            Kept::Keys(keys) => keys.keys(),
        }
    }

    /// Take in a batch of values.
    pub fn push(&mut self, batch: TypedBatch<'_>) -> Result<(), ValueError> {
        if !self.rules.are_direct() {
            return match batch {
                TypedBatch::Bytes(keys) => self.encoded(keys.iter().map(|key| (*key).into())),
                TypedBatch::Signed(keys) => self.encoded(keys.iter().map(|key| (*key).into())),
                TypedBatch::Unsigned(keys) => self.encoded(keys.iter().map(|key| (*key).into())),
            };
        }
        match &mut self.kept {
            Kept::Hashes(scheme, kept) => {
                match batch {
                    TypedBatch::Bytes(keys) => scheme.hash_batch(keys, &mut self.hashes),
                    TypedBatch::Signed(keys) => scheme.hash_batch(keys, &mut self.hashes),
                    TypedBatch::Unsigned(keys) => scheme.hash_batch(keys, &mut self.hashes),
                }
                kept.extend_from_slice(&self.hashes);
            }
            Kept::Keys(kept) => match batch {
                TypedBatch::Bytes(keys) => keys.iter().for_each(|key| kept.push(key)),
                TypedBatch::Signed(keys) => {
                    keys.iter().for_each(|key| kept.push(&key.to_le_bytes()));
                }
                TypedBatch::Unsigned(keys) => {
                    keys.iter().for_each(|key| kept.push(&key.to_le_bytes()));
                }
            },
        }
        Ok(())
    }

    /// Take in integers from -2^63 to 2^64 - 1; others are no keys.
    pub fn push_integers(&mut self, numbers: &[i128]) -> Result<(), ValueError> {
        let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
        if !self.rules.are_direct() || numbers.iter().any(|number| !range.contains(number)) {
            return self.encoded(numbers.iter().map(|number| KeyValue::Integer(*number)));
        }
        // One key whatever the sign's type: the low 64 bits.
        let narrow: Vec<u64> = numbers.iter().map(|number| *number as u64).collect();
        self.push(TypedBatch::Unsigned(&narrow))
    }

    /// Encode a batch by the rules, then take it in as bytes.
    fn encoded<'v>(
        &mut self,
        values: impl Iterator<Item = KeyValue<'v>>,
    ) -> Result<(), ValueError> {
        self.encoded.clear();
        for value in values {
            self.encoded.push(self.rules.encode(value, &mut self.buffer)?);
        }
        let keys: Vec<&[u8]> = self.encoded.iter().collect();
        match &mut self.kept {
            Kept::Hashes(scheme, kept) => {
                scheme.hash_batch(&keys, &mut self.hashes);
                kept.extend_from_slice(&self.hashes);
            }
            Kept::Keys(kept) => keys.iter().for_each(|key| kept.push(key)),
        }
        Ok(())
    }
}

/// Keys whose bytes are gone are asked for by their hashes of another scheme.
#[derive(Debug, thiserror::Error)]
#[error("keys were gathered for a filter that hashes in another way")]
struct OtherScheme;

impl KeySource for Gathered {
    fn is_repeatable(&self) -> bool {
        true
    }

    fn count(&self) -> Result<Option<u64>, HostError> {
        Ok(Some(self.keys() as u64))
    }

    fn hashes(&self, scheme: Native, each: &mut Each<'_, [Hash]>) -> Result<Tally, HostError> {
        let mut tally = Tally::default();
        match &self.kept {
            Kept::Hashes(of, _) if *of != scheme => return Err(HostError::new(OtherScheme)),
            Kept::Hashes(_, hashes) => {
                for chunk in hashes.chunks(CHUNK) {
                    tally.records += chunk.len() as u64;
                    if each(chunk).is_break() {
                        break;
                    }
                }
            }
            Kept::Keys(keys) => {
                let (all, mut hashes): (Vec<&[u8]>, _) = (keys.iter().collect(), Vec::new());
                for chunk in all.chunks(CHUNK) {
                    tally.records += chunk.len() as u64;
                    scheme.hash_batch(chunk, &mut hashes);
                    if each(&hashes).is_break() {
                        break;
                    }
                }
            }
        }
        Ok(tally)
    }

    fn hashes_unordered(
        &self,
        scheme: Native,
        each: &(dyn Fn(&[Hash]) + Sync),
    ) -> Result<Tally, HostError> {
        self.hashes(scheme, &mut |hashes| {
            each(hashes);
            ControlFlow::Continue(())
        })
    }

    fn keys(&self, each: &mut Each<'_, KeyBuffer>) -> Result<Tally, HostError> {
        match &self.kept {
            Kept::Hashes(..) => Err(HostError::new(OtherScheme)),
            Kept::Keys(keys) => {
                _ = each(keys);
                Ok(Tally { records: keys.keys() as u64, ..Tally::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_rules::{KeyRequest, KeyType};
    use crate::{BuildSpec, KeyRules};

    #[test]
    fn what_is_gathered_one_way_is_found_the_other() -> Result<(), Box<dyn std::error::Error>> {
        let spec = BuildSpec { capacity: Some(100), ..BuildSpec::default() };
        for key_type in [KeyType::Bytes, KeyType::I64] {
            let asked = KeyRequest { key_type: Some(key_type), ..KeyRequest::default() };
            let rules = ValueRules::new(KeyRules::new(&asked)?);
            for mut keys in [Gathered::hashed(spec.scheme, rules), Gathered::bytes(rules)] {
                keys.push_integers(&[-1, 7])?;
                keys.push(TypedBatch::Unsigned(&[8]))?;
                keys.push(TypedBatch::Signed(&[-9]))?;
                let outside = keys.push_integers(&[1 << 64]).unwrap_err();
                assert!(matches!(outside, ValueError::Integer { .. }));
                assert_eq!(keys.keys(), 4);
                let mut filter = Filter::create(&spec)?;
                filter.fill(&keys, Default::default())?;
                let found = |key: i64| filter.contains_key(&key.to_le_bytes());
                assert!([-1, 7, 8, -9].into_iter().all(found));
                assert!(!found(9));
            }
        }
        Ok(())
    }
}
