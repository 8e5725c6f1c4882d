//! `BF.DEBUG`.

use crate::{Args, CommandError, Keyspace, Reply};

/// `BF.DEBUG key`
///
/// The lines are RedisBloom's, character by character: programs parse them.
pub fn debug<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let now = keys.clock().ms();
    let filter = keys.read(args.key(1))?.ok_or(CommandError::NOT_FOUND)?;
    let mut lines = vec![format!("size:{}", filter.items(now)?)];
    lines.extend(filter.layers()?.iter().map(|layer| {
        format!(
            "bytes:{} bits:{} hashes:{} hashwidth:{} capacity:{} size:{} ratio:{}",
            layer.bytes,
            layer.bits,
            layer.hashes,
            layer.hash_bits,
            layer.capacity,
            layer.items,
            general(layer.fpr)
        )
    }));
    Ok(Reply::Lines(lines))
}

/// A number as C's `%g` prints it: six digits, without trailing zeros.
fn general(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let rounded = format!("{number:.5e}");
    let (digits, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trim(&format!("{number:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn numbers_are_printed_as_in_c() {
        for (number, text) in [
            (0.01, "0.01"),
            (0.0005, "0.0005"),
            (0.000125, "0.000125"),
            (6.25e-05, "6.25e-05"),
            (1.5625e-05, "1.5625e-05"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (0.099_999_99, "0.1"),
            (9.999_999e-5, "0.0001"),
            (1e-12, "1e-12"),
            (0.0, "0"),
        ] {
            assert_eq!(general(number), text);
        }
    }
}
