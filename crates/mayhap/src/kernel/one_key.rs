//! One key at a time: hash, lookup and insert with as few branches as there can be.

use super::{Line, columns};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512, has_avx2, has_avx512, ring, scalar};
use crate::Key;
use crate::hash::Hash;
use crate::scheme::{Native, Scheme, ShortHash};
use crate::sizing::{BlockedShape, Columns};

/// What a lookup of a single key needs to know before it starts, found out when a filter is made:
/// every instruction of a lookup keeps the next key's cache miss waiting.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(all(target_arch = "x86_64", not(miri))),
    allow(dead_code, reason = "where there is one kernel, nothing is chosen")
)]
pub(crate) struct OneKeyKernel {
    /// How keys are hashed and looked up in one call.
    hash_and_look: Fast,
    /// How hashes are looked up.
    look: Fast,
    columns: Columns,
    /// Bytes of the array where either of the two is fast.
    bytes: usize,
    hash: ShortHash,
    scattered: ScatteredKernel,
}

/// Functions that have a layout of columns and an instruction set to themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fast {
    /// None: keyed, or probes anywhere in a line, or no such instructions.
    No,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
}

impl Fast {
    fn best() -> Fast {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx512() {
            return Fast::Avx512;
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx2() {
            return Fast::Avx2;
        }
        Fast::No
    }
}

/// Calls a function with the kernel that the filter has found out to be the best, if its array is as
/// long as it was then: what is behind an `AsRef` may change.
macro_rules! fast {
    ($kernel:expr, $which:ident, $lines:expr, $function:ident($($argument:expr),*)) => {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if $kernel.$which == Fast::Avx512 && $lines.as_flattened().len() == $kernel.bytes {
            // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected when the kernel was chosen, and the
            // lines are as many as those of the shape, which is valid.
            return unsafe { columns::avx512::$function($($argument),*) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if $kernel.$which == Fast::Avx2 && $lines.as_flattened().len() == $kernel.bytes {
            // SAFETY: AVX2 and BMI2 were detected when the kernel was chosen, and the lines are as many
            // as those of the shape, which is valid.
            return unsafe { columns::avx2::$function($($argument),*) };
        }
    };
}

impl OneKeyKernel {
    /// For a valid shape, and keys hashed by this scheme.
    pub(crate) fn new(shape: BlockedShape, scheme: &Native) -> OneKeyKernel {
        let columns = shape.layout_of_columns();
        let look = if columns.is_some() && shape.is_valid() { Fast::best() } else { Fast::No };
        let hash = scheme.short_hash();
        OneKeyKernel {
            hash_and_look: if hash.is_some() { look } else { Fast::No },
            look,
            columns: columns.unwrap_or(Columns::OneLine),
            bytes: usize::try_from(shape.bits() / 8).unwrap_or(usize::MAX),
            hash: hash.unwrap_or_default(),
            scattered: ScatteredKernel::new(shape),
        }
    }

    pub(crate) fn shape(&self) -> BlockedShape {
        self.scattered.shape
    }

    /// As if the machine had no AVX-512.
    #[cfg(all(test, target_arch = "x86_64", not(miri)))]
    pub(super) fn without_avx512(&mut self) {
        for which in [&mut self.hash_and_look, &mut self.look] {
            if *which == Fast::Avx512 {
                *which = Fast::Avx2;
            }
        }
        self.scattered.avx512 = None;
    }

    /// May this key be in?
    #[inline(always)]
    pub(crate) fn contains_key(&self, lines: &[Line], scheme: &Native, key: impl Key) -> bool {
        fast!(self, hash_and_look, lines, contains_key(lines, self.columns, &self.hash, key));
        self.contains(lines, scheme.hash(key))
    }

    /// Set the key's bits; whether any was clear.
    #[inline(always)]
    pub(crate) fn insert_key(&self, lines: &mut [Line], scheme: &Native, key: impl Key) -> bool {
        fast!(self, hash_and_look, lines, insert_key(lines, self.columns, &self.hash, key));
        self.insert(lines, scheme.hash(key))
    }

    /// May the key of this hash be in?
    #[inline(always)]
    pub(crate) fn contains(&self, lines: &[Line], hash: Hash) -> bool {
        fast!(self, look, lines, contains_hash(lines, self.columns, hash));
        if self.scattered.shape.layout_of_columns().is_some() {
            return columns::contains(lines, self.columns, hash);
        }
        self.scattered.contains(lines, hash)
    }

    /// Set the bits of this hash; whether any was clear.
    #[inline(always)]
    pub(crate) fn insert(&self, lines: &mut [Line], hash: Hash) -> bool {
        fast!(self, look, lines, insert_hash(lines, self.columns, hash));
        if self.scattered.shape.layout_of_columns().is_some() {
            return columns::insert(lines, self.columns, hash);
        }
        self.scattered.insert(lines, hash)
    }
}

/// The same for probes anywhere in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScatteredKernel {
    /// Where one line a key and one vector of probes is all there is and the machine has such
    /// vectors.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) avx2: Option<&'static avx2::Table>,
    /// The same, where the machine has AVX-512 too.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) avx512: Option<&'static avx2::Table>,
    /// Likewise, where a key has several lines.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    multi_line: Option<&'static avx2::Table>,
    shape: BlockedShape,
}

impl ScatteredKernel {
    pub(super) fn new(shape: BlockedShape) -> ScatteredKernel {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let (avx2, multi_line) = {
            let table = if has_avx2() { avx2::table(shape.probes_per_line) } else { None };
            if shape.lines_per_key == 1 { (table, None) } else { (None, table) }
        };
        ScatteredKernel {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            avx512: avx2.filter(|_| has_avx512()),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            avx2,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            multi_line,
            shape,
        }
    }

    /// May this key be in? All of its lines must agree.
    #[inline(always)]
    pub(super) fn contains(&self, lines: &[Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.avx512 {
            let line = &lines[scalar::line_of(hash, lines.len() as u64)];
            // SAFETY: the field is set where AVX-512 was detected; the callee asks nothing else.
            return unsafe { avx512::one_contains(line, scalar::first_half(hash), table) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.avx2 {
            let line = &lines[scalar::line_of(hash, lines.len() as u64)];
            // SAFETY: there is a table, so AVX2 was detected; the callee asks nothing else.
            return unsafe { avx2::one_contains(line, scalar::first_half(hash), table) };
        }
        self.contains_otherwise(lines, hash)
    }

    /// Out of line: the common filter takes the short way above.
    #[inline(never)]
    fn contains_otherwise(&self, lines: &[Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.multi_line {
            if has_avx512() {
                return ring::one_contains(lines, self.shape, hash, |line, hash| {
                    // SAFETY: AVX-512 was detected above; the callee asks nothing else.
                    unsafe { avx512::one_contains(line, scalar::first_half(*hash), table) }
                });
            }
            return ring::one_contains(lines, self.shape, hash, |line, hash| {
                // SAFETY: there is a table, so AVX2 was detected; the callee asks nothing else.
                unsafe { avx2::one_contains(line, scalar::first_half(*hash), table) }
            });
        }
        super::contains(lines, self.shape, hash)
    }

    /// Set the key's bits; whether any was clear.
    #[inline(always)]
    pub(super) fn insert(&self, lines: &mut [Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.avx2.is_some() {
            let line = &mut lines[scalar::line_of(hash, lines.len() as u64)];
            let (half, probes) = (scalar::first_half(hash), self.shape.probes_per_line);
            // SAFETY: there is a table, so AVX2 and BMI2 were detected; the callee asks nothing
            // else.
            return unsafe { avx2::one_insert(line, half, probes) };
        }
        super::insert(lines, &self.shape, hash)
    }
}
