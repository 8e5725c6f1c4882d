//! `cargo xtask cross`, and a part of `soak`: the engine's tests on other architectures, emulated.
//!
//! The standard library comes from rustup; linker, C library and emulator come from Debian's
//! packages, if `apt-get` is available. If something is missing, that target is skipped.

use crate::steps::{self, Step, StepResult, cargo, succeeds};
use crate::{Error, no_arguments, tools};
use std::process::ExitCode;

/// A target, and its names elsewhere.
struct Machine {
    /// What it covers that this machine does not.
    why: &'static str,
    target: &'static str,
    /// In the names of its gcc and of the folder with its libraries.
    gnu: &'static str,
    /// In the name of Debian's package of its C library.
    debian: &'static str,
    qemu: &'static str,
}

const MACHINES: &[Machine] = &[
    Machine {
        why: "NEON",
        target: "aarch64-unknown-linux-gnu",
        gnu: "aarch64-linux-gnu",
        debian: "arm64",
        qemu: "qemu-aarch64",
    },
    Machine {
        why: "big-endian",
        target: "s390x-unknown-linux-gnu",
        gnu: "s390x-linux-gnu",
        debian: "s390x",
        qemu: "qemu-s390x",
    },
    Machine {
        why: "32 bits",
        target: "armv7-unknown-linux-gnueabihf",
        gnu: "arm-linux-gnueabihf",
        debian: "armhf",
        qemu: "qemu-arm",
    },
];

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("cross", args)?;
    Ok(steps::run(&steps()))
}

/// One step per target.
pub fn steps() -> Vec<Step> {
    let step = |machine: &'static Machine| {
        let Machine { why, target, .. } = machine;
        Step::new(format!("tests on {target} ({why})"), || tests_on(machine))
    };
    MACHINES.iter().map(step).collect()
}

fn tests_on(machine: &Machine) -> StepResult {
    let Machine { target, gnu, debian, qemu, .. } = machine;
    let linker = format!("{gnu}-gcc");
    let ready = tools::target(target)
        .and_then(|()| tools::program(&linker, &format!("gcc-{gnu}")))
        // Debian's gcc only recommends it, and without it nothing links.
        .and_then(|()| {
            tools::file(&format!("/usr/{gnu}/lib/crt1.o"), &format!("libc6-dev-{debian}-cross"))
        })
        .and_then(|()| tools::program(qemu, "qemu-user"));
    if let Err(why) = ready {
        return StepResult::Skipped(format!("cannot run {target} here: {why}"));
    }
    succeeds(
        cargo("test -p mayhap --lib --tests --target")
            .arg(target)
            // Rates follow from the bits, which the other tests compare; measuring takes long.
            .args(["--", "--skip", "meets_its_rate", "--skip", "meet_their_rate"])
            .env(setting(target, "LINKER"), linker)
            .env(setting(target, "RUNNER"), format!("{qemu} -L /usr/{gnu}")),
    )
}

/// Cargo's environment variable for a setting of a target.
fn setting(target: &str, name: &str) -> String {
    format!("CARGO_TARGET_{}_{name}", target.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_spelled_as_cargo_reads_them() {
        assert_eq!(
            setting("s390x-unknown-linux-gnu", "RUNNER"),
            "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER"
        );
    }
}
