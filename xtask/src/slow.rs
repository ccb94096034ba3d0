//! The slow tiers that are one or two calls of cargo: flips, kills, vectors, the browser, Miri, AArch64.

use crate::{Outcome, root, run, run_with, test};
use std::fs::File;
use std::process::Command;
use std::time::{Duration, Instant};

/// Every bit of a record store of a megabyte: about a minute and a half of processor time, on all processors.
pub(crate) fn flips() -> Outcome {
    let test = ["test", "--locked", "--release", "--package", "tambour-record", "--lib"];
    run("cargo", &[&test[..], &["--", "--ignored", "every_bit_of_a_megabyte"]].concat())
}

/// The tests that need a browser; they fail without one.
pub(crate) fn report() -> Outcome {
    let package = ["test", "--locked", "--package", "tambour-bench", "--test", "browser"];
    run("cargo", &[&package[..], &["--", "--ignored"]].concat())
}

/// Undefined behaviour in what Miri can run: the scalar kernels and the codecs above them.
pub(crate) fn miri() -> Outcome {
    let scalar = [("TAMBOUR_ISA", "scalar"), ("MIRIFLAGS", "-Zmiri-disable-isolation")];
    run_with(
        "cargo",
        &["+nightly", "miri", "test", "-p", "tambour-kernel", "--features", "arrow"],
        &scalar,
    )
}

/// The kernels' tests for AArch64, in an emulator where this machine is another one.
pub(crate) fn aarch64() -> Outcome {
    let emulator =
        if cfg!(target_arch = "aarch64") { "" } else { "qemu-aarch64 -L /usr/aarch64-linux-gnu" };
    let cross = [
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", emulator),
    ];
    let target = "--target=aarch64-unknown-linux-gnu";
    let variables = if emulator.is_empty() { &[][..] } else { &cross[..] };
    run_with("cargo", &["test", "--package=tambour-kernel", "--lib", target], variables)?;
    let clippy = ["clippy", "--package=tambour-kernel", "--no-deps", "--all-targets", target];
    run("cargo", &[&clippy[..], &["--", "-D", "warnings"]].concat())
}

/// Vectors of every codec that ClickHouse (chdb) makes, many more than are kept, against our decoders and encoders.
pub(crate) fn vectors() -> Outcome {
    let python = test::virtual_environment()?;
    let path = root().join("target/vectors.tsv");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let line = format!("{} oracle/codec_vectors.py large", python.display());
    println!("$ {line} > {}", path.display());
    let status = Command::new(&python)
        .args(["oracle/codec_vectors.py", "large"])
        .current_dir(root())
        .stdout(File::create(&path).map_err(failed)?)
        .status()
        .map_err(|error| format!("{line}: {error}"))?;
    if !status.success() {
        return Err(format!("{line}: {status}"));
    }
    let test = ["test", "--locked", "--package", "tambour-codec", "--test", "clickhouse"];
    let which = ["--", "--ignored", "more_vectors_of_clickhouse"];
    let path = path.display().to_string();
    run_with("cargo", &[&test[..], &which].concat(), &[("TAMBOUR_VECTORS", &path)])
}

/// The tests that kill writers of tables, records and SQLite databases, again and again for that many seconds.
#[expect(clippy::disallowed_methods, reason = "loops for a given time")]
pub(crate) fn kill(seconds: &str) -> Outcome {
    let seconds = seconds.parse().map_err(|error| format!("seconds {seconds:?}: {error}"))?;
    let packages = ["tambour-table", "tambour-record", "tambour-sqlite"].map(|it| ["-p", it]);
    let test = [&["test", "--locked"], packages.as_flattened()].concat();
    run("cargo", &[&test[..], &["--no-run"]].concat())?;
    let end = Instant::now() + Duration::from_secs(seconds);
    for round in 1.. {
        println!("== round {round}");
        run("cargo", &[&test[..], &["--lib", "--tests", "kill"]].concat())?;
        if Instant::now() >= end {
            break;
        }
    }
    Ok(())
}
