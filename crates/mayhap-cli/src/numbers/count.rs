//! How many: `10M`, `2G`, `2e9`, `1_000_000`.

use super::{split_unit, whole};

/// Read a number of keys or lines.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no count: write 5000, 10M, 2G or 2e9");
    let (number, unit) = split_unit(text).ok_or_else(wrong)?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" | "B" => 1e9,
        "T" => 1e12,
        // `--window 10m` is ten minutes, so a million must not be spelled alike anywhere.
        "m" => return Err(format!("{text:?} is no count: a million is a capital M")),
        _ => return Err(wrong()),
    };
    whole(number * factor).ok_or_else(wrong)
}

/// 1234567 as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 line`, `2,000 lines`.
pub fn plural(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

/// 404123456 as `404M`: three digits and a unit, as they can be typed in again.
pub fn rounded(number: u64) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let value = number as f64;
    let Some((scale, unit)) = steps.into_iter().find(|(scale, _)| value >= *scale) else {
        return number.to_string();
    };
    let scaled = value / scale;
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    let text = format!("{scaled:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let good = [
            ("0", 0),
            ("5000", 5_000),
            ("10M", 10_000_000),
            ("10 M", 10_000_000),
            ("2G", 2_000_000_000),
            ("2e9", 2_000_000_000),
            ("1.5k", 1_500),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("281474976710656", 1 << 48),
        ];
        for (text, want) in good {
            assert_eq!(count(text), Ok(want), "{text}");
        }
        for text in ["", "M", "1.5", "-1", "10m", "10MB", "nan", "inf", "1e30", "0x10", "1e"] {
            assert!(count(text).is_err(), "{text:?}: {:?}", count(text));
        }
    }

    #[test]
    fn one_thing_is_singular() {
        let written = [0, 1, 2, 1_000].map(|number| plural(number, "line"));
        assert_eq!(written, ["0 lines", "1 line", "2 lines", "1,000 lines"]);
    }

    #[test]
    fn counts_are_written() {
        assert_eq!(["0", "999", "1,000", "12,345,678"], [0, 999, 1000, 12_345_678].map(grouped));
        let written = [7, 1_000, 1_234_000, 404_123_456, 2_000_000_000].map(rounded);
        assert_eq!(written, ["7", "1k", "1.23M", "404M", "2G"]);
        assert_eq!(count(&rounded(1_234_000)), Ok(1_230_000));
    }
}
