//! How large: `64MiB`, `500MB`, `1.5G`.

pub use mayhap_store::budget::human_bytes as bytes;
pub use mayhap_store::quantity::bytes as size;

/// Bytes as a flag takes them, to the last one: `500MB`, `64MiB`, `1234B`.
pub fn size_flag(bytes: u64) -> String {
    let units = [
        (1_000_000_000, "GB"),
        (1 << 30, "GiB"),
        (1_000_000, "MB"),
        (1 << 20, "MiB"),
        (1_000, "kB"),
    ];
    let fits = |(scale, _): &(u64, &str)| bytes > 0 && bytes.is_multiple_of(*scale);
    match units.into_iter().find(fits) {
        Some((scale, unit)) => format!("{}{unit}", bytes / scale),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let good = [
            ("0", 0),
            ("512", 512),
            ("64MiB", 64 << 20),
            ("64 mib", 64 << 20),
            ("500MB", 500_000_000),
            ("500M", 500_000_000),
            ("1.5kB", 1500),
            ("2G", 2_000_000_000),
            ("1TiB", 1 << 40),
            ("100B", 100),
        ];
        for (text, want) in good {
            assert_eq!(size(text), Ok(want), "{text}");
        }
        for text in ["", "MB", "-1", "1XB", "1MM", "1iB", "nan", "9999999PB"] {
            assert!(size(text).is_err(), "{text:?}: {:?}", size(text));
        }
    }

    #[test]
    fn sizes_are_flags_again() {
        for bytes in [0, 1, 500_000_000, 64 << 20, 1234, 2_000_000_000, u64::MAX / 4096] {
            let back = size(&size_flag(bytes)).unwrap();
            assert!(back.abs_diff(bytes) <= bytes >> 50, "{bytes}: {}", size_flag(bytes));
        }
        assert_eq!([500_000_000, 64 << 20, 1234].map(size_flag), ["500MB", "64MiB", "1234B"]);
    }

    #[test]
    fn sizes_are_written() {
        let written = [0, 999, 1_000, 2_396_000_000, 499_999_999, 999_999, 12_345].map(bytes);
        assert_eq!(written, ["0 B", "999 B", "1.00 kB", "2.40 GB", "500 MB", "1.00 MB", "12.3 kB"]);
        assert_eq!(size(&bytes(2_400_000_000)), Ok(2_400_000_000));
    }
}
