//! Quantities as people write them.

/// A number with its unit cut off: `"64MiB"` is 64 and `"MiB"`.
///
/// Groups may be set off by `_` or `,` (`1_000_000`), and what hosts print can be pasted back.
pub fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let mut end = 0;
    let bytes = text.as_bytes();
    while end < bytes.len() {
        let exponent = matches!(bytes[end], b'e' | b'E')
            && matches!(bytes.get(end + 1), Some(b'0'..=b'9' | b'+' | b'-'));
        let sign = matches!(bytes[end], b'+' | b'-')
            && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(exponent || sign || matches!(bytes[end], b'0'..=b'9' | b'.' | b'_' | b',')) {
            break;
        }
        end += 1;
    }
    let (number, unit) = text.split_at(end);
    // Rust's own parser takes "inf" and "nan", which never get here: they start with a letter.
    let number = number.replace(['_', ','], "").parse().ok()?;
    Some((number, unit.trim()))
}

/// A float as a whole number, if it is one (or near enough: 2.4e9 · 1.0).
pub fn whole(value: f64) -> Option<u64> {
    let rounded = value.round();
    let close = (value - rounded).abs() <= 1e-9 * rounded.abs().max(1.0);
    (close && (0.0..1.8e19).contains(&rounded)).then_some(rounded as u64)
}

/// Read a number of bytes: `64MiB`, `500MB`, `1.5G`. `MB` and `M` are powers of 1000, `MiB` of 1024.
///
/// ```
/// use mayhap_store::quantity::bytes;
/// assert_eq!((bytes("64MiB"), bytes("1.5kB")), (Ok(64 << 20), Ok(1500)));
/// assert!(bytes("many").is_err());
/// ```
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size: write 64MiB, 500MB or 2GB");
    let (number, unit) = split_unit(text).ok_or_else(wrong)?;
    let unit = unit.to_ascii_lowercase();
    let (letter, base) = match unit.as_str() {
        "" | "b" => ("", 1000.0),
        unit => match unit.strip_suffix("ib") {
            Some(letter) if !letter.is_empty() => (letter, 1024.0),
            _ => (unit.strip_suffix('b').unwrap_or(unit), 1000.0),
        },
    };
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == letter);
    let power = power.ok_or_else(wrong)?;
    // Half a byte of 1.3 MiB is nobody's concern.
    whole((number * f64::powi(base, power as i32)).floor()).ok_or_else(wrong)
}
