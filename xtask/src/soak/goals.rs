//! What must hold, and the trials that try it: one part of `cargo xtask soak` for each goal.

use super::trial::Trial;
use super::{fuzz, kills, memory_checks, platforms, power};
use crate::{live, test};

/// A goal, which is a part of the soak.
pub struct Goal {
    pub part: &'static str,
    pub promise: &'static str,
    /// What must fail in its trials, and does.
    pub control: &'static str,
    pub trials: fn() -> Vec<Trial>,
}

impl Goal {
    pub fn names(&self) -> Vec<String> {
        (self.trials)().into_iter().map(|trial| trial.name).collect()
    }
}

/// In the order of the page; what takes longest comes last.
pub const GOALS: &[Goal] = &[
    Goal {
        part: "damage",
        promise: "Every flipped bit, truncation and addition is detected, for every kind of filter",
        control: "the same files undamaged open, and headers resealed after damage pass the header's check",
        trials: || {
            vec![
                Trial::tests(
                    "damaged files of every kind",
                    &[
                        "test -p mayhap --lib -- flipped every_cut every_truncation survived resealed resealing hostile unsound",
                        "test -p mayhap-store --test replace -- damage_is_found",
                        "test -p mayhap-seen --test suite -- damage:: no_flip_and_no_cut any_bytes_are",
                    ],
                ),
                Trial::tests(
                    "random flips in a large file",
                    &["test -p mayhap --test promises -- flips_in_a_large_file_are_found"],
                ),
                Trial::tests(
                    "damaged files of other programs",
                    &["test -p mayhap-foreign --test damaged --test damaged_by_name --test detect"],
                ),
            ]
        },
    },
    Goal {
        part: "kills",
        promise: "kill -9 at any moment of a save, an add, a dedup state or a seen store loses nothing acknowledged",
        control: "a file that is overwritten in place is broken by the same kills; marks not yet synced are lost",
        trials: || {
            vec![
                Trial::new("kill -9 of the command", kills::cycles),
                Trial::tests(
                    "kill -9 of a writer that replaces a file",
                    &[
                        "test -p mayhap-store --test replace -- killed_in_the_middle the_kill_test_sees",
                        "test -p mayhap-cli --test faults -- sudden_death",
                        "test -p mayhap-cli --test dedup -- killed",
                    ],
                ),
                Trial::tests(
                    "kill -9 of a seen store",
                    &["test -p mayhap-seen --test suite -- crash::"],
                ),
            ]
        },
    },
    Goal {
        part: "power",
        promise: "A power cut loses nothing acknowledged: ext4 on a loop device, shut down without flushing its journal",
        control: "lines appended to a file without fsync are lost in the same cuts",
        trials: || vec![Trial::new("power cuts on ext4", power::cuts)],
    },
    Goal {
        part: "disks",
        promise: "EIO and ENOSPC at every write, sync, rename and truncate: a clear error, and nothing lost",
        control: "a run in which no call fails must succeed, and one with a failed call must not exit with 0",
        trials: || {
            vec![
                Trial::tests("every call fails once", &["test -p mayhap-cli --test injected"]),
                Trial::tests(
                    "full disks",
                    &[
                        "test -p mayhap-cli --test faults -- disk limit",
                        "test -p mayhap-store --test replace -- full_disk failed_write devices",
                        "test -p mayhap-seen --test suite -- faults::",
                    ],
                ),
            ]
        },
    },
    Goal {
        part: "threads",
        promise: "64 threads insert at once: the same bits as one thread; two processes on one file lose no update",
        control: "loom finds the bit that a plain store loses, and ids that read-change-write loses on Redis",
        trials: || {
            vec![
                Trial::tests(
                    "64 writers of a million keys each",
                    &["test -p mayhap --test endurance -- sixty_four_writers"],
                ),
                Trial::tests(
                    "shared filters and files",
                    &[
                        "test -p mayhap --lib -- shared_equals_sequential growing_under_many_writers saving_while_others_write",
                        "test -p mayhap-store --test replace -- two_processes one_writer",
                        "test -p mayhap-seen --test suite -- crowd::",
                    ],
                ),
                Trial::new("loom models", || platforms::outcome(test::loom())),
            ]
        },
    },
    Goal {
        part: "adversaries",
        promise: "Whoever chooses keys and lookups cannot raise the false-positive rate of a keyed filter",
        control: "the same keys raise the rate of a filter with a public hash several times over",
        trials: || {
            vec![
                Trial::tests(
                    "chosen keys and forged lookups",
                    &["test -p mayhap --test promises -- chosen_keys"],
                ),
                Trial::tests(
                    "hostile clients, dumps and headers",
                    &[
                        "test -p mayhap-module --test servers -- hostile:: mutation::",
                        "test -p mayhap-foreign --test memory --test growth",
                    ],
                ),
            ]
        },
    },
    Goal {
        part: "huge",
        promise: "A billion keys in a filter past 4 GiB: none is missing",
        control: "keys that were not inserted are absent but for the false-positive rate",
        trials: || {
            vec![Trial::tests(
                "a billion keys",
                &["test -p mayhap --test promises -- huge_filters"],
            )]
        },
    },
    Goal {
        part: "memory",
        promise: "The unsafe parts under AddressSanitizer and Miri",
        control: "AddressSanitizer and Miri stop a program that reads one byte past its array",
        trials: memory_checks::trials,
    },
    Goal {
        part: "dependencies",
        promise: "Licences, bans and sources of all dependencies are those of deny.toml; no advisory is known",
        control: "the list of the engine's dependencies is tested with one too many",
        trials: || {
            vec![
                Trial::new("licences, bans and sources", || platforms::outcome(test::deny())),
                Trial::new("advisories", platforms::advisories),
                Trial::new("the workflow file", platforms::workflow),
            ]
        },
    },
    Goal {
        part: "outages",
        promise: "A stopped, slow, restarting or demoted server: every call ends within its deadline and names the node",
        control: "ids are lost by clients that read, change and write back; a wrong password never fails open",
        trials: || {
            vec![
                Trial::tests(
                    "seen lists on servers that fail",
                    &[
                        "test -p mayhap-seen --test suite -- outages:: refusals:: replicas:: attack:: tasks::",
                    ],
                ),
                Trial::tests(
                    "filters on servers that fail",
                    &[
                        "test -p mayhap-redis --test servers -- outages:: loading:: identity::",
                        "test -p mayhap-redis --features async,tls --test tls",
                    ],
                ),
                Trial::tests(
                    "the command and servers that fail",
                    &["test -p mayhap-cli --test redis"],
                ),
            ]
        },
    },
    Goal {
        part: "arrivals",
        promise: "Bursts, skew, duplicates and any order of keys: the rate stays within 1.02 of the one asked for",
        control: "a sizing error of ten percent is noticed",
        trials: || {
            vec![Trial::tests(
                "rates of every kind",
                &[
                    "test -p mayhap --test rates",
                    "test -p mayhap --lib -- the_rate_holds rate_is rates_are_met absent_keys_pass wrong_size_would_show",
                ],
            )]
        },
    },
    Goal {
        part: "clocks",
        promise: "Clocks that jump forward, back or stand still: forgetting is bounded, and there is a way back",
        control: "a window filled under a right clock forgets what it should",
        trials: || {
            vec![Trial::tests(
                "clocks that jump",
                &[
                    "test -p mayhap --lib -- clocks_ forgets hot_keys a_span_is_remembered",
                    "test -p mayhap-cli --test round_trips -- clock window",
                    "test -p mayhap-seen --test suite -- windows_of offers_lapse policy::a_server_tells",
                ],
            )]
        },
    },
    Goal {
        part: "inputs",
        promise: "Inputs that grow, shrink, are replaced or vanish while they are read: old or new, or exit 2",
        control: "inputs left alone give the exact answer of awk",
        trials: || {
            vec![Trial::tests(
                "inputs and outputs that change",
                &["test -p mayhap-cli --test dedup", "test -p mayhap-cli --test input"],
            )]
        },
    },
    Goal {
        part: "kernels",
        promise: "Every kernel gives the answers of the portable one, in callers compiled for any machine",
        control: "an undeclared register is noticed",
        trials: || {
            vec![
                Trial::new("the engine on each kernel of this machine", || {
                    platforms::outcome(test::kernels())
                }),
                Trial::new("the engine compiled for newer machines", || {
                    platforms::outcome(test::newer_machines())
                }),
            ]
        },
    },
    Goal {
        part: "releases",
        promise: "Files, states, stores and dumps of earlier versions are read for ever, byte for byte",
        control: "golden false positives move when a hash or a probe does",
        trials: || {
            vec![Trial::tests(
                "golden files",
                &[
                    "test -p mayhap --test golden --test reader",
                    "test -p mayhap --lib -- golden frozen",
                    "test -p mayhap-foreign --test golden",
                    "test -p mayhap-seen --test suite -- golden::",
                ],
            )]
        },
    },
    Goal {
        part: "together",
        promise: "Two of every verb at once on one file or store: both land, or the second waits or is told",
        control: "writers without the lock lose updates, which the count shows",
        trials: || {
            vec![Trial::tests(
                "verbs at once",
                &[
                    "test -p mayhap-cli --test faults -- writer",
                    "test -p mayhap-cli --test dedup -- at_once one_writer",
                    "test -p mayhap-cli --test seen -- at_once",
                    "test -p mayhap-cli --test redis -- at_once",
                ],
            )]
        },
    },
    Goal {
        part: "deletes",
        promise: "Deletable kinds answer as a multiset does: no false negative while removes do not exceed inserts",
        control: "a model that forgets one insert in a thousand is contradicted",
        trials: || {
            vec![
                Trial::tests(
                    "a hundred million inserts and removes",
                    &["test -p mayhap --test endurance -- deletable_kinds"],
                ),
                Trial::tests("quotient filters", &["test -p mayhap --lib -- quotient"]),
            ]
        },
    },
    Goal {
        part: "kinds",
        promise: "Ribbon, Quotient and the columns of Blocked keep the promises of every kind",
        control: "contrived hashes and wrong sizes are noticed",
        trials: || {
            vec![
                Trial::tests("every kind of filter", &["test -p mayhap --lib -- filter::"]),
                Trial::tests("exact lists", &["test -p mayhap --test promises -- a_cascade"]),
            ]
        },
    },
    Goal {
        part: "python",
        promise: "The Python package keeps the promises of keys, batches, files and signals, and leaks nothing",
        control: "types that are no keys are refused by name",
        trials: || vec![Trial::tests("the Python package", &["test -p mayhap-python"])],
    },
    Goal {
        part: "cross",
        promise: "The engine on emulated machines: NEON, big-endian, 32 bits",
        control: "golden files written on x86-64 are compared there",
        trials: || crate::cross::steps().into_iter().map(Trial::from).collect(),
    },
    Goal {
        part: "oldest-rust",
        promise: "The oldest compiler that Cargo.toml promises builds everything",
        control: "none",
        trials: || vec![Trial::new("the oldest compiler promised", platforms::oldest_rust)],
    },
    Goal {
        part: "features",
        promise: "Every set of features compiles without a warning",
        control: "none",
        trials: platforms::feature_lints,
    },
    Goal {
        part: "live",
        promise: "Filters exchanged with the programs whose formats they are",
        control: "each program's own false positives are compared, which a wrong hash would not have",
        trials: || live::steps().into_iter().map(Trial::from).collect(),
    },
    Goal {
        part: "cluster",
        promise: "A cluster of three primaries and three replicas under load, failovers and slot moves loses nothing acknowledged",
        control: "the load is counted: a run in which nothing was added fails",
        trials: || {
            vec![
                Trial::tests(
                    "filters in a cluster",
                    &[
                        "test -p mayhap-redis --test servers -- cluster::acknowledged",
                        "test -p mayhap-module --test servers -- cluster::acknowledged",
                    ],
                ),
                Trial::tests(
                    "seen lists in a cluster",
                    &["test -p mayhap-seen --test suite -- cluster::"],
                ),
            ]
        },
    },
    Goal {
        part: "fuzz",
        promise: "No input crashes a parser, takes more than 1 GiB or 5 s",
        control: "a parser with a planted defect is broken by the same fuzzer",
        trials: fuzz::trials,
    },
];
