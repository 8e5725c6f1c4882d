//! The parameters of a filter, validated once.

use crate::hash::Secret;
use crate::scheme::Native;
use std::fmt;

pub(crate) const MAX_CAPACITY: u64 = 1 << 48;
pub(crate) const MIN_FPR: f64 = 1e-12;
pub(crate) const MAX_PROBES: u32 = 64;

/// The parameters of a filter: capacity, false-positive rate, and hash.
///
/// Plain data that every kind understands, so an invalid number is rejected in exactly one place.
///
/// ```
/// use mayhap::{Spec, SpecError};
/// let spec = Spec::new(1_000_000, 0.01)?.with_seed(42);
/// assert_eq!(spec.capacity(), 1_000_000);
/// assert!(matches!(Spec::new(1_000, 1.0), Err(SpecError::Rate { .. })));
/// assert_eq!(Spec::new(0, 0.01)?.capacity(), 1); // no keys yet: not an error
/// # Ok::<(), SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    capacity: u64,
    fpr: f64,
    scheme: Native,
    optimize: Optimize,
}

/// What the layout of a [`Blocked`](crate::Blocked) filter, and of every filter made of such, is chosen
/// for.
///
/// ```
/// use mayhap::{Blocked, Optimize, Spec};
/// let spec = Spec::new(1_000_000, 0.001)?.with_columns();
/// let bytes = |optimize| Blocked::new(spec.with_optimize(optimize)).map(|f| f.as_bytes().len());
/// assert!(bytes(Optimize::Memory)? < bytes(Optimize::Balanced)?);
/// assert!(bytes(Optimize::Speed)? < bytes(Optimize::Balanced)? * 11 / 10);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Optimize {
    /// At most about 7.5% more bits than [`Classic`](crate::Classic), in the fewest cache lines that
    /// allow it: what is chosen unless something else is asked for.
    #[default]
    Balanced,
    /// One cache line per key for as long as it costs at most 10% more memory than balanced.
    Speed,
    /// The smallest layout there is. Lookups of keys that are in touch up to four cache lines, and
    /// inserts take several times as long.
    Memory,
}

impl Optimize {
    /// All of them.
    pub const ALL: &[Optimize] = &[Optimize::Balanced, Optimize::Speed, Optimize::Memory];

    /// The number in files.
    pub(crate) const fn id(self) -> u64 {
        self as u64
    }

    pub(crate) fn from_id(id: u64) -> Option<Optimize> {
        Optimize::ALL.iter().copied().find(|optimize| optimize.id() == id)
    }
}

impl Spec {
    /// The most keys a filter may be made for.
    pub const MAX_CAPACITY: u64 = MAX_CAPACITY;
    /// The lowest rate that may be asked for.
    pub const MIN_FPR: f64 = MIN_FPR;
    /// The most probes per key.
    pub const MAX_PROBES: u32 = MAX_PROBES;

    /// `capacity` keys at a false-positive rate of `fpr`: 0.01 is one in a hundred. An empty list is not an
    /// error: a capacity of 0 is taken as 1.
    pub fn new(capacity: u64, fpr: f64) -> Result<Spec, SpecError> {
        let capacity = capacity.max(1);
        if capacity > MAX_CAPACITY {
            return Err(SpecError::Capacity { got: capacity });
        }
        // Not `<`: a NaN must be rejected too.
        if !(MIN_FPR..1.0).contains(&fpr) {
            return Err(SpecError::Rate { got: fpr });
        }
        let floor = crate::sizing::collision_rate(capacity);
        if fpr < 2.0 * floor {
            return Err(SpecError::BelowHash { got: fpr, floor });
        }
        Ok(Spec { capacity, fpr, scheme: Native::default(), optimize: Optimize::Balanced })
    }

    /// The parameters of an existing filter, whatever they are.
    pub(crate) fn unchecked(capacity: u64, fpr: f64, scheme: Native) -> Spec {
        Spec { capacity, fpr, scheme, optimize: Optimize::Balanced }
    }

    /// Hash with XXH3-64 under this seed. The default is seed 0.
    ///
    /// For integer keys, and any others of exactly eight bytes, a seed is only an exclusive or with
    /// the key: with another seed, the hash of `k` is that of some other integer with this one. So
    /// two filters over all integers of a range are as likely to have false positives with
    /// different seeds as with one, but a set of keys chosen to collide with one seed can be moved
    /// to any other. The rule is frozen, since files depend on it. Against callers who choose their
    /// keys use [`with_secret`](Spec::with_secret).
    ///
    /// ```
    /// use mayhap::scheme::{Native, Scheme};
    /// let [a, b] = [Native::seeded(0), Native::seeded(7)];
    /// let moved = |key: u64| key ^ 0x0000_0039_0700_0000; // what the two seeds differ by
    /// assert!((0..1000).all(|key| b.hash(key) == a.hash(moved(key))));
    /// ```
    pub fn with_seed(self, seed: u64) -> Spec {
        Spec { scheme: Native::seeded(seed), ..self }
    }

    /// Hash with SipHash and a secret: safe against callers who choose their keys.
    pub fn with_secret(self, secret: Secret) -> Spec {
        Spec { scheme: Native::keyed(secret), ..self }
    }

    /// Hash as another filter does.
    pub fn with_scheme(self, scheme: Native) -> Spec {
        Spec { scheme, ..self }
    }

    /// Hash and probe by the second schemes, with the same seed or secret: lines of
    /// [`Blocked`](crate::Blocked), and of every filter made of such, may have
    /// [columns](crate::sizing::ProbeRule::Columns), which makes inserts two to three times as fast and
    /// lookups of one key a fifth to a half faster, for up to 5% more bits; and integers are hashed by two
    /// folded products. Such filters merge with their like only, and are not read by releases before 0.2.
    ///
    /// ```
    /// # use mayhap::{Blocked, Spec};
    /// let mut seen = Blocked::new(Spec::new(1_000_000, 0.01)?.with_columns())?;
    /// assert!(seen.insert(7u64) && seen.contains(7u64));
    /// assert_eq!(seen.shape().probes(), 8);
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn with_columns(self) -> Spec {
        let scheme = match (self.scheme.seed(), self.scheme.secret()) {
            (_, Some(secret)) => Native::columns_keyed(secret),
            (seed, None) => Native::columns(seed.unwrap_or(0)),
        };
        Spec { scheme, ..self }
    }

    /// Choose layouts for this: see [`Optimize`]. It has an effect on filters of lines whose scheme has
    /// columns: see [`with_columns`](Spec::with_columns).
    pub fn with_optimize(self, optimize: Optimize) -> Spec {
        Spec { optimize, ..self }
    }

    /// What layouts are chosen for.
    pub fn optimize(&self) -> Optimize {
        self.optimize
    }

    /// Which layouts a filter of lines may have.
    pub(crate) fn layouts(&self) -> Layouts {
        use crate::scheme::Scheme;
        match self.scheme.id().has_columns() {
            true => Layouts::All(self.optimize),
            false => Layouts::Scattered,
        }
    }

    /// The number of keys the false-positive rate must hold for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The false-positive rate at capacity.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// The rate left for the bits, so that together with hash collisions the target is met.
    pub(crate) fn fpr_of_bits(&self) -> f64 {
        self.fpr - crate::sizing::collision_rate(self.capacity)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.scheme
    }

    /// The same, for probes that outlive the call.
    #[inline]
    pub(crate) fn scheme_ref(&self) -> &Native {
        &self.scheme
    }
}

/// Which layouts a filter of lines may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layouts {
    /// Those of the first probe rule, chosen as ever: layers of old filters must stay alike.
    #[default]
    Scattered,
    /// All there are.
    All(Optimize),
}

/// Why no filter can have these parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecError {
    /// A capacity of zero, or more than 2⁴⁸ keys.
    Capacity {
        /// The capacity given.
        got: u64,
    },
    /// A false-positive rate that is not a number between 1e-12 and 1.
    Rate {
        /// The rate given.
        got: f64,
    },
    /// So many keys that 64-bit hashes collide more often than the false-positive rate allows.
    BelowHash {
        /// The rate given.
        got: f64,
        /// The probability that an absent key has the same hash as one of that many keys.
        floor: f64,
    },
    /// A false-positive rate below 2⁻³², for a kind with fingerprints of at most 32 bits.
    Width {
        /// The rate given.
        got: f64,
    },
    /// Two passes over the same keys gave different ones.
    Passes {
        /// Hashes of the first pass.
        first: u64,
        /// Hashes of a later one; the same number where only the hashes differ.
        later: u64,
    },
    /// More or fewer than 1 to 64 probes.
    Probes {
        /// The probes given.
        got: u32,
    },
    /// A layout of lines that the scheme does not have.
    Shape {
        /// The layout given.
        shape: crate::sizing::BlockedShape,
    },
    /// A growth factor below 2 or above 1024.
    Growth {
        /// The factor given.
        got: u32,
    },
    /// A layout that no quotient filter can have.
    Range {
        /// The range of fingerprints given.
        range: u64,
        /// The remainder bits given.
        remainder_bits: u32,
    },
    /// No shards, or more than 4096.
    Shards {
        /// The shards given.
        got: u32,
    },
    /// A window of no generations, more than 1024, or one that spans no time.
    Window {
        /// The generations given.
        generations: u32,
        /// The time the window spans, in the caller's ticks; 0 for a window of keys.
        span: u64,
    },
    /// The kind cannot be planned, or made in this way.
    Kind {
        /// The kind.
        kind: crate::Kind,
        /// What it cannot do, and what to do instead.
        what: &'static str,
    },
    /// The false-positive rate cannot be reached in so little memory, whatever the layout.
    TooSmall {
        /// The memory given.
        bytes: u64,
    },
    /// The allocation failed.
    Memory {
        /// The memory needed.
        bytes: u64,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SpecError::Capacity { got } => {
                write!(f, "capacity of {got} keys: it must lie between 1 and 2^48")
            }
            SpecError::Rate { got } => {
                write!(
                    f,
                    "false-positive rate of {got}: it must be at least 1e-12 and below 1; 0.01 is one in a hundred"
                )
            }
            SpecError::BelowHash { got, floor } => write!(
                f,
                "false-positive rate of {got:e}: with this many keys 64-bit hashes alone collide at {floor:.1e}; ask for at least twice that"
            ),
            SpecError::Width { got } => write!(
                f,
                "false-positive rate of {got:e}: fingerprints have 1 to 32 bits, so it must be at least 2^-32 (2.4e-10); a blocked filter goes down to 1e-12"
            ),
            SpecError::Passes { first, later } => write!(
                f,
                "keys changed between passes: {first} in the first, {later} in a later one (or as many others); every pass must give the same keys"
            ),
            SpecError::Probes { got } => {
                write!(f, "{got} probes per key: there must be 1 to {MAX_PROBES}")
            }
            SpecError::Shape { shape } => write!(
                f,
                "{shape}: with columns a key has one line of 8, two half lines of 4 or two lines of 8, \
                 lines are an odd number, and with two lines per key twice one"
            ),
            SpecError::Growth { got } => {
                write!(f, "growth factor of {got}: it must lie between 2 and 1024")
            }
            SpecError::Range { range, remainder_bits } => write!(
                f,
                "a range of {range} fingerprints with {remainder_bits} bits stored of each: there must be 1 to 2^63, and 1 to 48 bits"
            ),
            SpecError::Shards { got } => {
                write!(f, "{got} shards: there must be 1 to {}", crate::sizing::MAX_SHARDS)
            }
            SpecError::Window { generations, span: 0 } => write!(
                f,
                "window of {generations} generations: there must be 1 to 1024, and a window of time must span some"
            ),
            SpecError::Window { generations, span } => {
                let (s, t) = (plural_s(generations.into()), plural_s(span));
                write!(
                    f,
                    "window of {generations} generation{s} over {span} tick{t}: there must be 1 to 1024, each at least one tick"
                )
            }
            SpecError::Kind { kind, what } => write!(f, "a {kind} filter {what}"),
            SpecError::TooSmall { bytes } => {
                let s = plural_s(bytes);
                write!(f, "{bytes} byte{s} of memory: too little for any useful rate")
            }
            SpecError::Memory { bytes } => {
                let s = plural_s(bytes);
                write!(f, "{bytes} byte{s} of memory: the system cannot give so much")
            }
        }
    }
}

/// What follows the unit of a count.
const fn plural_s(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_numbers_are_refused_with_what_was_got() {
        for fpr in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, 1e-13] {
            let error = Spec::new(10, fpr).unwrap_err();
            assert!(matches!(error, SpecError::Rate { .. }), "{fpr}: {error}");
        }
        for capacity in [MAX_CAPACITY + 1, u64::MAX] {
            assert_eq!(Spec::new(capacity, 0.5), Err(SpecError::Capacity { got: capacity }));
        }
        assert!(matches!(Spec::new(MAX_CAPACITY, 1e-12), Err(SpecError::BelowHash { .. })));
        assert!(Spec::new(MAX_CAPACITY, 0.01).is_ok());
    }

    #[test]
    fn messages_say_what_is_allowed() {
        let said = Spec::new(5, 2.0).unwrap_err().to_string();
        assert_eq!(
            said,
            "false-positive rate of 2: it must be at least 1e-12 and below 1; 0.01 is one in a hundred"
        );
    }
}
