//! How much memory a filter may take.

use std::fmt;
use std::fs;

/// The most memory that filters may take.
///
/// ```
/// use mayhap_store::budget::Budget;
/// let budget = Budget::of_bytes(1 << 20);
/// assert!(budget.check(1 << 20).is_ok());
/// let error = budget.check(3 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "3.15 MB of memory needed, 1.05 MB allowed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    bytes: u64,
}

impl Default for Budget {
    /// Half of the machine's memory; no limit if that is unknown.
    fn default() -> Budget {
        Budget { bytes: machine_bytes().map_or(u64::MAX, |bytes| bytes / 2) }
    }
}

impl Budget {
    /// A limit in bytes.
    pub const fn of_bytes(bytes: u64) -> Budget {
        Budget { bytes }
    }

    /// The limit in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fails if more is needed than allowed.
    pub fn check(&self, need: u64) -> Result<(), OverBudget> {
        if need <= self.bytes {
            return Ok(());
        }
        Err(OverBudget { need, have: self.bytes })
    }
}

/// More memory needed than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Bytes needed.
    pub need: u64,
    /// Bytes allowed.
    pub have: u64,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (need, have) = (human_bytes(self.need), human_bytes(self.have));
        write!(f, "{need} of memory needed, {have} allowed")
    }
}

impl std::error::Error for OverBudget {}

/// Bytes as `2.4 GB`: three digits, in powers of 1000, as disks and the web count.
pub fn human_bytes(bytes: u64) -> String {
    let steps = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let value = bytes as f64;
    // 999,999 is 1.00 MB and not 1000 kB.
    let Some((scale, unit)) = steps.into_iter().find(|(scale, _)| value >= scale * 0.9995) else {
        return format!("{bytes} B");
    };
    let scaled = value / scale;
    let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
    format!("{scaled:.digits$} {unit}")
}

/// The memory of this machine, or of its container. `None` if the system does not say.
pub fn machine_bytes() -> Option<u64> {
    let all = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let container = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let container = container.and_then(|text| text.trim().parse().ok());
    [all, container].into_iter().flatten().min()
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_from_meminfo() {
        assert_eq!(total("MemTotal:       24682176 kB\nMemFree: 1 kB\n"), Some(24_682_176 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: 99999999999999999999 kB\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_some() {
        assert!(machine_bytes().unwrap() > 1 << 20);
        assert_eq!(Budget::default().bytes(), machine_bytes().unwrap() / 2);
    }
}
