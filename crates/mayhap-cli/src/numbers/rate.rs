//! How often it may err: `1%`, `0.01`, `1/1000`, `1e-6`.

use super::split_unit;

/// Read a rate. Whether a filter can have it is for the engine to say.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is no rate: write 1%, 0.01, 1/1000 or 1e-6");
    let value = if let Some((one, many)) = text.split_once('/') {
        let [(one, ""), (many, "")] =
            [split_unit(one).ok_or_else(wrong)?, split_unit(many).ok_or_else(wrong)?]
        else {
            return Err(wrong());
        };
        one / many
    } else {
        match split_unit(text).ok_or_else(wrong)? {
            (value, "") => value,
            (value, "%") => value / 100.0,
            _ => return Err(wrong()),
        }
    };
    if (mayhap::Spec::MIN_FPR..1.0).contains(&value) {
        return Ok(value);
    }
    // Whoever types a number from 1 to 100 most likely means percent.
    if (1.0..100.0).contains(&value) && !text.contains(['%', '/']) {
        let share = rate_flag(value / 100.0);
        return Err(format!("{text:?} is a rate of 1 or more: {value}% is {share} or {value}%"));
    }
    Err(format!("{text:?}: a rate is between 1e-12 and 1 (100%)"))
}

/// A rate as people read it: `1%`, `0.1%`, `39.3%`, and `1e-6` where percents have too many
/// zeros.
pub fn percent(rate: f64) -> String {
    let percents = rate * 100.0;
    if rate == 0.0 {
        "0".to_owned()
    } else if percents >= 99.95 {
        // A hundred is for certainty only.
        if rate >= 1.0 { "100%".to_owned() } else { ">99.9%".to_owned() }
    } else if percents >= 0.001 {
        // Three digits, and no zeros at the end.
        let digits = (2 - percents.log10().floor() as i32).clamp(0, 5) as usize;
        let text = format!("{percents:.digits$}");
        let text =
            if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        format!("{text}%")
    } else {
        let text = format!("{rate:.1e}");
        text.replacen(".0e", "e", 1)
    }
}

/// A rate as a flag takes it, to the last digit: `0.01`, `1e-6`.
pub fn rate_flag(rate: f64) -> String {
    if rate < 1e-4 { format!("{rate:e}") } else { rate.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        for text in ["1%", "0.01", "1/100", "1e-2", "1 %", "10/1000", ".01"] {
            assert_eq!(rate(text), Ok(0.01), "{text}");
        }
        assert_eq!(rate("1e-6"), Ok(1e-6));
        for text in ["", "%", "0", "1", "100%", "-1%", "1/0", "1%%", "nan", "1e-13", "1/2/3", "1M"]
        {
            assert!(rate(text).is_err(), "{text:?}: {:?}", rate(text));
        }
    }

    #[test]
    fn a_bare_number_of_percents_is_explained() {
        assert_eq!(rate("1").unwrap_err(), "\"1\" is a rate of 1 or more: 1% is 0.01 or 1%");
        assert_eq!(
            rate("2.5").unwrap_err(),
            "\"2.5\" is a rate of 1 or more: 2.5% is 0.025 or 2.5%"
        );
        assert!(rate("100%").unwrap_err().contains("between"));
        assert!(rate("200").unwrap_err().contains("between"));
    }

    #[test]
    fn rates_are_written() {
        let rates = [0.01, 0.393_469, 0.001, 1e-6, 0.0, 1.0, 0.9999, 0.05, 0.25, 0.0104, 3.2e-9];
        let want =
            ["1%", "39.3%", "0.1%", "1e-6", "0", "100%", ">99.9%", "5%", "25%", "1.04%", "3.2e-9"];
        assert_eq!(rates.map(percent), want);
        assert_eq!(rate(&percent(0.001)), Ok(0.001));
        assert_eq!([0.01, 1e-4, 1e-11].map(rate_flag), ["0.01", "0.0001", "1e-11"]);
    }
}
