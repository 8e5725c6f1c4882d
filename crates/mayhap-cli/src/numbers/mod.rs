//! Numbers as people write them and like to read them: one file a quantity.

mod count;
mod duration;
mod rate;
mod size;

pub use count::{count, grouped, plural, rounded};
pub use duration::{duration, human_duration};
pub use rate::{percent, rate, rate_flag};
pub use size::{bytes, size, size_flag};

/// A number with its unit cut off: `"64MiB"` is 64 and `"MiB"`.
///
/// Groups may be set off by `_` or `,` (`1_000_000`), and what `plan` and `info` print can be
/// pasted back.
fn split_unit(text: &str) -> Option<(f64, &str)> {
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
fn whole(value: f64) -> Option<u64> {
    let rounded = value.round();
    let close = (value - rounded).abs() <= 1e-9 * rounded.abs().max(1.0);
    (close && (0.0..1.8e19).contains(&rounded)).then_some(rounded as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is typed, there is an answer or an error.
    #[test]
    fn nonsense_is_refused_and_no_more() {
        let parts = [
            "", "1", "9e9", "e", "-", "+", ".", ",", "_", "%", "/", "é", "m", "MiB", "∞", " ", "\0",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let text = format!("{a}{b}{c}");
                    _ = (count(&text), rate(&text), size(&text), duration(&text));
                }
            }
        }
    }
}
