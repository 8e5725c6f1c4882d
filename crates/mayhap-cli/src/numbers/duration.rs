//! How long: `30s`, `15m`, `2h`, `7d`, `1h30m`.

use super::split_unit;
use std::time::Duration;

/// Read a span of time.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write 30s, 15m, 2h, 7d or 1h30m");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let end = rest[letters..]
            .find(|c: char| !c.is_ascii_alphabetic())
            .map_or(rest.len(), |at| letters + at);
        let (number, unit) = split_unit(&rest[..end]).ok_or_else(wrong)?;
        let each = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 7.0 * 86_400.0,
            _ => return Err(wrong()),
        };
        seconds += number * each;
        rest = rest[end..].trim_start();
    }
    match Duration::try_from_secs_f64(seconds) {
        Ok(span) if !span.is_zero() => Ok(span),
        _ => Err(format!("{text:?}: a time must be longer than nothing")),
    }
}

/// A span as `1.2 ms`, `3.4 s`, `5 min 20 s`, `2 h`, `7 d`.
pub fn human_duration(span: Duration) -> String {
    let seconds = span.as_secs_f64();
    if seconds < 1e-3 {
        return format!("{:.1} µs", seconds * 1e6);
    }
    if seconds < 1.0 {
        return format!("{:.1} ms", seconds * 1e3);
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = span.as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let mut rest = whole;
    let mut parts = Vec::new();
    for (size, unit) in units {
        if rest >= size {
            parts.push(format!("{} {unit}", rest / size));
            rest %= size;
        }
    }
    parts.truncate(2);
    parts.join(" ")
}

/// A span as a flag takes it: `7d`, `90m`, `1500ms`.
pub fn duration_flag(span: Duration) -> String {
    let ms = span.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let unit = units.into_iter().find(|(each, _)| ms > 0 && ms.is_multiple_of(*each));
    unit.map_or_else(|| "1ms".to_owned(), |(each, unit)| format!("{}{unit}", ms / each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_back() {
        for flag in ["7d", "24h", "90m", "1500ms", "61s"] {
            let back = duration(&duration_flag(duration(flag).unwrap()));
            assert_eq!(back, duration(flag), "{flag}");
        }
        assert_eq!(duration_flag(Duration::from_secs(86_400)), "1d");
        assert_eq!(duration_flag(Duration::from_nanos(1)), "1ms");
    }

    #[test]
    fn times_are_read() {
        let good = [
            ("30s", 30_000),
            ("500ms", 500),
            ("15m", 900_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("7d", 604_800_000),
            ("1.5h", 5_400_000),
        ];
        for (text, want) in good {
            assert_eq!(duration(text), Ok(Duration::from_millis(want)), "{text}");
        }
        for text in ["", "30", "s", "1x", "0s", "-1s", "1h30", "1M", "1e300d", "ünd"] {
            assert!(duration(text).is_err(), "{text:?}: {:?}", duration(text));
        }
    }

    #[test]
    fn times_are_spoken() {
        let spans = [0.0123, 3.44, 320.0, 7200.0, 604_800.0].map(Duration::from_secs_f64);
        assert_eq!(spans.map(human_duration), ["12.3 ms", "3.4 s", "5 min 20 s", "2 h", "7 d"]);
    }
}
