//! Which kernel runs: the best this machine has, or the one that `MAYHAP_KERNEL` names.
//!
//! Found out once for the whole process. From then on it is one relaxed load, as with the standard
//! library's own detection.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The kernels there are, each worse than the next where a machine has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kernel {
    Scalar = 1,
    #[cfg_attr(not(target_arch = "aarch64"), allow(dead_code, reason = "another machine's"))]
    Neon = 2,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "another machine's"))]
    Avx2 = 3,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "another machine's"))]
    Avx512 = 4,
}

impl Kernel {
    pub(super) const ALL: [Kernel; 4] =
        [Kernel::Scalar, Kernel::Neon, Kernel::Avx2, Kernel::Avx512];

    /// As `MAYHAP_KERNEL` spells it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kernel::Scalar => "scalar",
            Kernel::Neon => "neon",
            Kernel::Avx2 => "avx2",
            Kernel::Avx512 => "avx512",
        }
    }

    /// Whether this machine can run it.
    pub(super) fn is_supported(self) -> bool {
        match self {
            Kernel::Scalar => true,
            Kernel::Neon => {
                cfg!(all(target_arch = "aarch64", target_endian = "little", not(miri)))
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx2 => {
                // Every machine with AVX2 has BMI2 too, whose multiply spares the loops two moves.
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")
            }
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx512 => {
                // What came with the first servers that had AVX-512, all that followed have.
                Kernel::Avx2.is_supported()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            Kernel::Avx2 | Kernel::Avx512 => false,
        }
    }

    /// The kernel of this name if the machine has it, else the best it has: a name that means
    /// nothing here must not stop a program.
    fn chosen(name: Option<&str>) -> Kernel {
        let supported = || Kernel::ALL.into_iter().filter(|kernel| kernel.is_supported());
        let named = supported().find(|kernel| Some(kernel.name()) == name);
        named.or_else(|| supported().max()).unwrap_or(Kernel::Scalar)
    }
}

/// 0 until it is found out, then the number of the kernel in use.
static IN_USE: AtomicU8 = AtomicU8::new(0);

/// Whether the kernel in use is this one or a better one.
#[inline(always)]
pub(super) fn at_least(kernel: Kernel) -> bool {
    let in_use = match IN_USE.load(Relaxed) {
        0 => find_out(),
        known => known,
    };
    in_use >= kernel as u8
}

#[cold]
#[inline(never)]
fn find_out() -> u8 {
    let named = std::env::var("MAYHAP_KERNEL");
    let kernel = Kernel::chosen(named.as_deref().ok()) as u8;
    IN_USE.store(kernel, Relaxed);
    kernel
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also holds whoever runs the tests to what they asked for: with a name that is misspelt or
    /// not to be had here, they would test something else than they think.
    #[test]
    fn the_kernel_that_was_asked_for_is_in_use() {
        let named = std::env::var("MAYHAP_KERNEL").ok();
        let want = match &named {
            Some(name) => Kernel::ALL.into_iter().find(|kernel| kernel.name() == name),
            None => Kernel::ALL.into_iter().filter(|kernel| kernel.is_supported()).max(),
        };
        let want = want.unwrap_or_else(|| panic!("MAYHAP_KERNEL is {named:?}: no such kernel"));
        assert!(want.is_supported(), "MAYHAP_KERNEL is {named:?}: not on this machine");
        assert!(at_least(want));
        assert!(Kernel::ALL.into_iter().all(|better| better <= want || !at_least(better)));
    }

    #[test]
    fn a_name_that_means_nothing_here_is_ignored() {
        let best = Kernel::chosen(None);
        assert!(best.is_supported());
        assert_eq!(Kernel::chosen(Some("abacus")), best);
        assert_eq!(Kernel::chosen(Some("")), best);
        for kernel in Kernel::ALL {
            let want = if kernel.is_supported() { kernel } else { best };
            assert_eq!(Kernel::chosen(Some(kernel.name())), want);
        }
    }
}
