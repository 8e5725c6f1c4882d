//! The time, for files that remember it and windows that forget by it.

use mayhap::window::Moment;

pub use mayhap_store::clock::{now_ms, now_s};

/// The time as a window takes it.
pub fn now() -> Moment {
    Moment::ticks(now_ms())
}

/// Seconds since 1970 as `2026-11-16 02:30:00 UTC`.
pub fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (mut year, mut day) = (1970, days);
    // Four hundred years have always the same number of days.
    year += 400 * (day / 146_097);
    day %= 146_097;
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02}:{second:02} UTC", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_the_calendars() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_760_000_000), "2025-10-09 08:53:20 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00:00 UTC");
        _ = date(u64::MAX);
    }
}
