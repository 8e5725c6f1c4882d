//! The machine the numbers were taken on.

use std::fs::read_to_string;

/// Facts worth knowing beside a number, one per line.
pub fn facts() -> Vec<(&'static str, String)> {
    let cpus = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = field(&read_to_string("/proc/meminfo").unwrap_or_default(), "MemTotal");
    let gib = memory.trim_end_matches(" kB").parse::<f64>().map_or(0.0, |kb| kb / (1 << 20) as f64);
    let huge = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let huge = huge.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    vec![
        ("processor", field(&cpus, "model name")),
        ("cores", cores.to_string()),
        ("memory", format!("{gib:.1} GiB")),
        ("cache", field(&cpus, "cache size")),
        ("vector instructions", vectors().to_owned()),
        ("huge pages", huge.map_or("unknown", |(on, _)| on).to_owned()),
    ]
}

pub fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return if is_x86_feature_detected!("avx512f") {
        "AVX-512"
    } else if is_x86_feature_detected!("avx2") {
        "AVX2"
    } else {
        "SSE2"
    };
    #[cfg(not(target_arch = "x86_64"))]
    if cfg!(target_arch = "aarch64") { "NEON" } else { "unknown" }
}

/// The peak memory of this process, in bytes.
pub fn peak_memory() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    field(&status, "VmHWM").trim_end_matches(" kB").parse::<u64>().map_or(0, |kb| kb << 10)
}

fn field(text: &str, name: &str) -> String {
    let of = |line: &str| {
        let (label, value) = line.split_once(':')?;
        (label.trim() == name).then(|| value.trim().to_owned())
    };
    text.lines().find_map(of).unwrap_or_else(|| "unknown".to_owned())
}
