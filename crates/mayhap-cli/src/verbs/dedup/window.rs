//! How long a line is remembered.

use crate::numbers;
use std::str::FromStr;
use std::time::Duration;

/// How long a line is remembered: for so many distinct lines, or for such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Keys(u64),
    Time(Duration),
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        if let Ok(keys) = numbers::count(text) {
            return if keys > 0 {
                Ok(Window::Keys(keys))
            } else {
                Err("it must be 1 or more".into())
            };
        }
        let wrong = |_| format!("{text:?} is neither a count (10M) nor a time (30s, 15m, 2h, 7d)");
        numbers::duration(text).map(Window::Time).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_lines_and_ten_minutes_are_told_apart() {
        assert_eq!("10M".parse(), Ok(Window::Keys(10_000_000)));
        assert_eq!("10m".parse(), Ok(Window::Time(Duration::from_secs(600))));
        for wrong in ["0", "", "x", "0s"] {
            assert!(wrong.parse::<Window>().is_err(), "{wrong}");
        }
    }
}
