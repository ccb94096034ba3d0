//! Programs that a command needs and that may not be there, each with the words that install it.

use std::process::{Command, Stdio};

/// Something that must be there before a command can run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// A command that succeeds if it is there.
    probe: &'static [&'static str],
    /// What is missing otherwise, and how to get it.
    missing: &'static str,
}

pub(crate) const FUZZ: Need = Need {
    probe: &["cargo", "+nightly", "fuzz", "--version"],
    missing: "cargo-fuzz or the nightly toolchain is missing: rustup toolchain install nightly && cargo install cargo-fuzz",
};
pub(crate) const MIRI: Need = Need {
    probe: &["cargo", "+nightly", "miri", "--version"],
    missing: "Miri is missing: rustup +nightly component add miri rust-src",
};
pub(crate) const DENY: Need = Need {
    probe: &["cargo", "deny", "--version"],
    missing: "cargo-deny is missing: cargo install cargo-deny",
};
pub(crate) const CHROMIUM: Need = Need {
    probe: &["chromium", "--version"],
    missing: "chromium is missing: apt-get install chromium",
};
pub(crate) const ROOT: Need = Need {
    probe: &["test", "-w", "/dev/loop-control"],
    missing: "file systems need root and loop devices",
};
pub(crate) const CROSS_LINKER: Need = Need {
    probe: &["aarch64-linux-gnu-gcc", "--version"],
    missing: "the linker for AArch64 is missing: apt-get install gcc-aarch64-linux-gnu",
};
pub(crate) const CROSS_TARGET: Need = Need {
    probe: &["sh", "-c", "rustup target list --installed | grep -q aarch64-unknown-linux-gnu"],
    missing: "the target is missing: rustup target add aarch64-unknown-linux-gnu",
};
pub(crate) const EMULATOR: Need = Need {
    probe: &["qemu-aarch64", "--version"],
    missing: "the emulator is missing: apt-get install qemu-user",
};
pub(crate) const PYTHON: Need = Need {
    probe: &["python3", "-m", "venv", "--help"],
    missing: "python3 with its module venv is missing: apt-get install python3-venv",
};
pub(crate) const MDBOOK: Need =
    Need { probe: &["mdbook", "--version"], missing: "mdbook is missing: cargo install mdbook" };
pub(crate) const SEMVER: Need = Need {
    probe: &["cargo", "semver-checks", "--version"],
    missing: "cargo-semver-checks is missing: cargo install cargo-semver-checks",
};

impl Need {
    /// Whether it is there; otherwise what is missing.
    pub(crate) fn check(self) -> Result<(), String> {
        let found = self.probe.split_first().is_some_and(|(program, arguments)| {
            Command::new(program)
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        });
        if found { Ok(()) } else { Err(self.missing.to_owned()) }
    }
}

/// Checks several; the first that is missing.
pub(crate) fn check_all(needs: &[Need]) -> Result<(), String> {
    needs.iter().try_for_each(|need| need.check())
}

#[cfg(test)]
mod tests {
    use super::Need;

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        let need = |probe| Need { probe, missing: "get it" };
        assert_eq!(need(&["true"]).check(), Ok(()));
        assert_eq!(need(&["false"]).check(), Err("get it".to_owned()));
        assert_eq!(need(&["no-such-program-here"]).check(), Err("get it".to_owned()));
    }
}
