//! What numbers may be, said once.

use crate::ForeignError;
use mayhap::{Spec, SpecError};
use std::fmt::Display;

/// As many probes as the engine makes for other programs. None is no filter: everything passes.
pub(crate) fn probes(got: u64) -> Result<u32, ForeignError> {
    let probes = u32::try_from(got).ok().filter(|probes| (1..=2048).contains(probes));
    probes.ok_or_else(|| ForeignError::field("probes", got, "from 1 to 2048"))
}

/// A count that Java keeps in an `int`, where nothing is no count.
pub(crate) fn positive_i32(field: &'static str, got: i32) -> Result<u32, ForeignError> {
    let count = u32::try_from(got).ok().filter(|count| *count > 0);
    count.ok_or_else(|| ForeignError::field(field, got, "from 1 to 2147483647"))
}

/// A count that must fit into an `int`.
pub(crate) fn i32_of(
    field: &'static str,
    got: impl TryInto<i32> + Copy + Display,
) -> Result<i32, ForeignError> {
    got.try_into().map_err(|_| ForeignError::field(field, got, "at most 2147483647 in this format"))
}

/// A count that must fit into a byte.
pub(crate) fn u8_of(
    field: &'static str,
    got: impl TryInto<u8> + Copy + Display,
) -> Result<u8, ForeignError> {
    got.try_into().map_err(|_| ForeignError::field(field, got, "at most 255 in this format"))
}

/// A wish that a filter can be made to: so many keys, which are given back, at a rate between.
pub(crate) fn check_target(keys: u64, fpr: f64) -> Result<u64, ForeignError> {
    if keys > Spec::MAX_CAPACITY {
        return Err(SpecError::Capacity { got: keys }.into());
    }
    // Their formulas would make something of any rate, and nothing useful past these.
    if !(Spec::MIN_FPR..1.0).contains(&fpr) {
        return Err(SpecError::Rate { got: fpr }.into());
    }
    Ok(keys)
}

/// The largest growth factor of a chain: the most that RedisBloom 8 lets anybody ask for.
const MAX_GROWTH: u32 = 32_768;
/// A layer has at most so many times the bits that its growth alone explains. A rate of one half or less
/// explains a factor of 2, the powers of two of old filters another, and the rest is for rates near 1.
const MAX_BITS_OF_A_TIGHTER_RATE: u64 = 16;
/// Layers up to this size follow any growth factor in one step.
const FREE_BYTES: u64 = 64 << 20;
/// Larger ones have at most so many times the bytes of the layer before.
const MAX_STEP: u64 = 64;

/// A growth factor that is followed. What a file says of it is not held against anything when it is
/// read, for reading needs none.
pub(crate) fn growth(got: u32) -> Result<u32, ForeignError> {
    if (1..=MAX_GROWTH).contains(&got) {
        return Ok(got);
    }
    let need = "from 1 to 32768 for a filter that takes more keys: build a larger one";
    Err(ForeignError::field("growth of a full filter", got, need))
}

/// The layer that follows one of `newest` bytes. `sized` makes the layer of a growth factor, `bytes` says
/// what it takes: a few bytes of a file must not claim gigabytes.
///
/// A layer of more than 64 MiB has at most 64 times the bytes of the one before it. A larger growth factor
/// is followed in several steps then, which both programs read: links need not differ by the factor.
pub(crate) fn next_layer<T>(
    newest: u64,
    growth: u32,
    sized: impl Fn(u32) -> Result<T, ForeignError>,
    bytes: impl Fn(&T) -> u64,
) -> Result<T, ForeignError> {
    let mut growth = self::growth(growth)?;
    let in_one_step = newest.saturating_mul(MAX_STEP).max(FREE_BYTES);
    loop {
        let next = sized(growth)?;
        let most = newest.saturating_mul(MAX_BITS_OF_A_TIGHTER_RATE).saturating_mul(growth.into());
        if bytes(&next) > most {
            let got =
                format!("{} after one of {newest}, which is to grow by {growth}", bytes(&next));
            let need = "at most 16 times as many as the growth explains: build a larger filter";
            return Err(ForeignError::field("bytes of the next layer", got, need));
        }
        if bytes(&next) <= in_one_step || growth == 1 {
            return Ok(next);
        }
        growth = (growth / 2).max(1);
    }
}

/// Java's `Math.round` of what is not negative.
pub(crate) fn round(x: f64) -> u64 {
    (x + 0.5).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_growth_factor_is_followed_in_steps() {
        let step = |newest: u64, growth: u32, bits_ratio: u64| {
            let sized = |growth: u32| Ok(newest * u64::from(growth) * bits_ratio);
            next_layer(newest, growth, sized, |bytes| *bytes).ok()
        };
        assert_eq!(step(128, 32_768, 2), Some(128 * 32_768 * 2), "small: at once");
        assert_eq!(step(8 << 10, 32_768, 4), Some(64 << 20), "at most 64 MiB");
        assert_eq!(step(1 << 20, 32_768, 1), Some(64 << 20));
        assert_eq!(step(1 << 30, 32_768, 1), Some(64 << 30), "or 64 times what is there");
        assert_eq!(step(1 << 30, 2, 2), Some(4 << 30));
        assert!(step(8, 2, 17).is_none(), "more than the factor explains");
        assert!(step(1 << 30, 32_768, 17).is_none());
        assert!(step(8, 0, 1).is_none() && step(8, 32_769, 1).is_none());
    }
}
