//! Lists of `count::base64` filters, as programs with the Go package `kevburnsjr/bloomfilter` keep
//! them in Redis: newest first, one slice per element.
//!
//! Read and written byte for byte as they do: the filter's size follows from the ids and the
//! false-positive rate of a *slice* (so the rate over all slices is up to `slices` times as high),
//! an element counts the ids it took for new, and takes calls until their ids might exceed its
//! capacity by ten.

use crate::list::{Explanation, List, Operation};
use crate::policy::Policy;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::Hash;
use mayhap::scheme::Scheme;
use mayhap_foreign::flat::{FlatFilter, FlatFormat};
use mayhap_foreign::hash::fnv1a_32_mixed;
use mayhap_foreign::kevburnsjr::{self, Kevburnsjr, SEEDS};
use std::fmt::Write;

/// A call may exceed the capacity of a slice by this many ids, less one.
const SLACK: u64 = 10;

type Filter<B> = FlatFilter<Kevburnsjr, B>;

/// One owner's list in the Go package's layout.
#[derive(Clone, Debug, Default)]
pub struct GoList {
    slices: Vec<(u64, Filter<Vec<u8>>)>,
    /// Offers, which the Go package does not have.
    offers: List,
    /// Bytes of all of it on the server.
    bytes: u64,
}

impl GoList {
    /// Malformed elements are skipped, as Go programs do.
    pub(crate) fn read(elements: &[Vec<u8>], offers: List, bytes: u64, policy: &Policy) -> GoList {
        let slices = elements.iter().take(policy.slices() as usize);
        let slices = slices.filter_map(|element| {
            let (count, bytes) = parse(element)?;
            let filter =
                FlatFilter::assemble(Kevburnsjr::Raw, bytes, probes(policy), (0, 0.0, 0)).ok()?;
            Some((count, filter))
        });
        GoList { slices: slices.collect(), offers, bytes }
    }

    /// For each id, whether it is marked.
    pub(crate) fn which_are_marked(&self, ids: &[&[u8]]) -> Vec<bool> {
        let mut marked = vec![false; ids.len()];
        let Some((_, newest)) = self.slices.first() else { return marked };
        // The hashes do not depend on the size of the filters.
        let mut hashes = Vec::new();
        Kevburnsjr::hash_keys(newest.scheme(), ids, &mut hashes);
        // Branchless; for most absent keys the first probe is enough.
        let (mut places, mut passed) = (vec![0; ids.len()], 0);
        for (at, (first, _)) in hashes.iter().enumerate() {
            places[passed] = at;
            passed += usize::from(self.may_hold(*first));
        }
        for at in &places[..passed] {
            marked[*at] = self.find(hashes[*at]).is_some();
        }
        marked
    }

    /// For each id whether a deed would find it known: marked, or on offer for deeds on the
    /// unseen.
    pub(crate) fn known(&self, operation: &Operation, ids: &[&[u8]], hashes: &[Hash]) -> Vec<bool> {
        let mut known = self.which_are_marked(ids);
        if *operation != Operation::Mark && !self.offers.is_empty() {
            let offered = self.offers.known(operation, hashes);
            known.iter_mut().zip(offered).for_each(|(known, offered)| *known |= offered);
        }
        known
    }

    /// Whether the first probe finds a set bit in any slice.
    #[inline]
    fn may_hold(&self, first: u32) -> bool {
        self.slices.iter().any(|(_, filter)| {
            let at = filter.scheme().positions((first, 0), filter.shape().bits, 1).next();
            let byte = at.and_then(|at| Some((at, filter.as_bytes().get(at as usize / 8)?)));
            byte.is_some_and(|(at, byte)| byte >> (at % 8) & 1 == 1)
        })
    }

    /// The newest slice that contains it. Its hashes do not depend on the size of the filters.
    fn find(&self, hashes: (u32, u32)) -> Option<usize> {
        self.slices.iter().position(|(_, filter)| filter.contains_hash(hashes))
    }

    fn slice_of(&self, id: &[u8]) -> Option<usize> {
        self.find((first_hash(id), second_hash(id)))
    }

    pub(crate) fn explain(&self, id: &[u8], hash: Hash) -> Explanation {
        match self.slice_of(id) {
            Some(slice) => {
                let false_positive_rate = self.slices[slice].1.fpr_now();
                Explanation::Seen { slice, since: None, before: None, false_positive_rate }
            }
            None => self.offers.explain(hash),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn offers(&self) -> &List {
        &self.offers
    }

    /// Ids, slices, and the false-positive rate.
    pub(crate) fn numbers(&self) -> (u64, u64, f64) {
        let ids = self.slices.iter().map(|(count, _)| *count).sum();
        let false_positive_rate = self.slices.iter().map(|(_, filter)| filter.fpr_now()).sum();
        (ids, self.slices.len() as u64, false_positive_rate)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.offers.is_empty()
    }
}

/// The two hash functions of the package.
#[inline]
fn first_hash(id: &[u8]) -> u32 {
    fnv1a_32_mixed(id.iter().copied(), 0)
}

#[inline]
fn second_hash(id: &[u8]) -> u32 {
    fnv1a_32_mixed(id.iter().copied(), SEEDS[1])
}

/// The positions of ids in the base64 code of an element of the policy's shape.
pub(crate) struct Bits {
    pub probes: u32,
    /// Characters of the code, and its padding.
    pub chars: u64,
    pub padding: &'static str,
    /// For each probe of each id: the character, and the bit's weight in it.
    pub places: Vec<u32>,
}

pub(crate) fn bits(ids: &[&[u8]], policy: &Policy) -> Option<Bits> {
    let parameters = kevburnsjr::estimate_parameters(policy.ids().into(), policy.rate());
    let (bits, probes) = parameters.ok()?;
    let scheme = Kevburnsjr::Raw.scheme(bits)?;
    let mut places = Vec::with_capacity(ids.len() * probes as usize * 2);
    for id in ids {
        for at in scheme.positions(scheme.hash_bytes(id), bits, probes) {
            // Base64 reads each byte from its highest bit on.
            let at = at ^ 7;
            places.extend([(at / 6) as u32, 32 >> (at % 6)]);
        }
    }
    let padding = ["", "==", "="][(bits / 8 % 3) as usize];
    Some(Bits { probes, chars: bits.div_ceil(6), padding, places })
}

/// An element takes a call if its count plus the call's ids stays below this.
pub(crate) fn room(policy: &Policy) -> u64 {
    u64::from(policy.ids()) + SLACK
}

/// What marking does to the elements of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListUpdate {
    /// The newest element is replaced by this.
    pub head: Option<Vec<u8>>,
    /// These are pushed before it, one after another.
    pub pushed: Vec<Vec<u8>>,
}

/// Mark ids as the Go programs do, given the newest element.
pub(crate) fn mark(head: Option<&[u8]>, ids: &[&[u8]], policy: &Policy) -> ListUpdate {
    let mut edit = ListUpdate::default();
    // A call with more ids than a slice holds would overfill it; it is split.
    for batch in ids.chunks(policy.ids() as usize) {
        let newest = edit.pushed.last().or(edit.head.as_ref()).map(Vec::as_slice).or(head);
        let (is_new, element) = mark_once(newest, batch, policy);
        if Some(element.as_slice()) == newest {
            continue;
        }
        if is_new {
            edit.pushed.push(element);
        } else if let Some(last) = edit.pushed.last_mut() {
            *last = element;
        } else {
            edit.head = Some(element);
        }
    }
    edit
}

/// The new newest element, and whether it is pushed or replaces the old one.
fn mark_once(newest: Option<&[u8]>, ids: &[&[u8]], policy: &Policy) -> (bool, Vec<u8>) {
    let room = room(policy);
    let reused = newest
        .and_then(parse)
        .filter(|(count, _)| count.saturating_add(ids.len() as u64) < room)
        .and_then(|(count, bytes)| Some((count, kevburnsjr::decode(&bytes, probes(policy)).ok()?)));
    let is_new = reused.is_none();
    // A policy's numbers are within what a filter can have.
    let empty = || kevburnsjr::create(policy.ids().into(), policy.rate()).ok().map(|new| (0, new));
    let Some((mut count, mut filter)) = reused.or_else(empty) else { return (false, vec![]) };
    for id in ids {
        let hash = filter.scheme().hash_bytes(id);
        if !filter.contains_hash(hash) {
            filter.insert_hash(hash);
            count += 1;
        }
    }
    let mut element = String::with_capacity(filter.as_bytes().len() * 4 / 3 + 16);
    _ = write!(element, "{count}::");
    STANDARD.encode_string(filter.as_bytes(), &mut element);
    (is_new, element.into_bytes())
}

fn probes(policy: &Policy) -> u32 {
    let parameters = kevburnsjr::estimate_parameters(policy.ids().into(), policy.rate());
    parameters.map_or(1, |(_, probes)| probes)
}

/// Count and filter of an element: one `::`, base64 after it, whole buckets.
fn parse(element: &[u8]) -> Option<(u64, Vec<u8>)> {
    let text = std::str::from_utf8(element).ok()?;
    let (count, code) = text.split_once("::")?;
    let bytes = STANDARD.decode(code).ok()?;
    (!bytes.is_empty() && bytes.len().is_multiple_of(4)).then_some(())?;
    Some((count.parse().ok()?, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Apply `mark` as a server would, newest element first.
    fn driven(policy: &Policy, keys: std::ops::Range<u32>, batch: usize) -> Vec<Vec<u8>> {
        let mut elements: Vec<Vec<u8>> = vec![];
        let keys: Vec<String> = keys.map(|n| format!("key-{n}")).collect();
        for ids in keys.chunks(batch) {
            let ids: Vec<&[u8]> = ids.iter().map(String::as_bytes).collect();
            let edit = mark(elements.first().map(Vec::as_slice), &ids, policy);
            if let Some(head) = edit.head {
                elements[0] = head;
            }
            edit.pushed.into_iter().for_each(|element| elements.insert(0, element));
            elements.truncate(policy.slices() as usize);
        }
        elements
    }

    fn has(list: &GoList, id: &str) -> bool {
        list.slice_of(id.as_bytes()).is_some()
    }

    fn golden(name: &str) -> Vec<Vec<u8>> {
        let path =
            format!("{}/../../testdata/foreign/num-base64-list/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(path).unwrap();
        text.split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Lists that the Go package wrote: we write the same bytes, and read the same answers.
    #[test]
    fn lists_of_the_go_package_are_written_to_the_byte_and_read() {
        let cases = [
            ("list_1k.txt", "", 1000, 20, vec![698u32]),
            ("list_10k_by_2500.txt", "ids=2500,rate=0.05", 10_000, 100, vec![11, 13, 18, 21, 22]),
        ];
        for (name, policy, keys, batch, false_positives) in cases {
            let policy: Policy = policy.parse().unwrap();
            let elements = golden(name);
            assert!(driven(&policy, 0..keys, batch) == elements, "{name}: other bytes");
            let list = GoList::read(&elements, List::default(), 0, &policy);
            let all: Vec<String> = (0..keys).map(|n| format!("key-{n}")).collect();
            assert!(all.iter().all(|id| has(&list, id)));
            let found = |n: &u32| has(&list, &format!("probe-{n}"));
            let found: Vec<u32> = (0..1000).filter(found).take(5).collect();
            assert_eq!(found, false_positives, "{name}");
        }
    }

    #[test]
    fn what_is_no_element_is_passed_over() {
        for bad in ["", "5", "5::", "5::a::b", "x::AAAAAAAA", "5::!!!!", "5::AAAA", "-1::AAAAAAAA"]
        {
            assert_eq!(parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse(b"7::AAAAAA=="), Some((7, vec![0; 4])));
        let policy = Policy::default();
        let edit = mark(Some(b"5::not base64"), &[b"a"], &policy);
        assert!(edit.head.is_none() && edit.pushed.len() == 1, "what is there stays");
    }

    #[test]
    fn a_call_too_large_for_a_slice_takes_several() {
        let policy = Policy::default();
        let elements = driven(&policy, 0..3500, 3500);
        assert_eq!(elements.len(), 4);
        let list = GoList::read(&elements, List::default(), 0, &policy);
        assert!((0..3500).all(|n| has(&list, &format!("key-{n}"))));
    }

    #[test]
    fn nothing_new_changes_nothing() {
        let policy = Policy::default();
        let elements = driven(&policy, 0..10, 10);
        assert_eq!(mark(Some(&elements[0]), &[b"key-3"], &policy), ListUpdate::default());
    }
}
