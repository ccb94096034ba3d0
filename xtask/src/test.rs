//! The everyday tests, in the order in which they say most: Rust, laws per ISA level, oracle, tour.

use crate::{Outcome, output, root, run, run_with, tour};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose results may depend on the instruction set.
const DISPATCHED: [&str; 4] = ["tambour-kernel", "tambour-codec", "tambour-part", "tambour-check"];

/// All of it.
pub(crate) fn all() -> Outcome {
    let python = virtual_environment()?;
    run("cargo", &["test", "--workspace", "--locked"])?;
    isa_levels()?;
    oracle(&python)?;
    tour::smoke(&binary("debug"))
}

/// The layers below SQL: quick to build, and what continuous integration runs until those above are settled.
pub(crate) fn layers() -> Outcome {
    let mut arguments = vec!["test", "--locked"];
    for name in [
        "tambour-kernel",
        "tambour-codec",
        "tambour-part",
        "tambour-store",
        "tambour-files",
        "tambour-check",
        "xtask",
    ] {
        arguments.extend(["--package", name]);
    }
    run("cargo", &arguments)
}

/// The laws once per level of `TAMBOUR_ISA` that this machine has.
///
/// The test programs of the plain run are run again: asking cargo for some packages only would select other features
/// of the dependencies and build them once more.
pub(crate) fn isa_levels() -> Outcome {
    let programs = test_programs()?;
    for level in levels() {
        for program in &programs {
            run_with(program, &["--quiet"], &[("TAMBOUR_ISA", level)])?;
        }
    }
    Ok(())
}

/// Test programs of the crates that dispatch on the instruction set.
fn test_programs() -> Result<Vec<String>, String> {
    let arguments = ["test", "--workspace", "--locked", "--lib", "--tests", "--no-run"];
    let built = Command::new("cargo")
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo test --no-run: {error}"))?;
    let messages = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() {
        return Err(format!("cargo test --no-run: {}: {messages}", built.status));
    }
    // A line is: Executable unittests src/lib.rs (target/debug/deps/tambour_kernel-0123456789abcdef)
    let mut programs = Vec::new();
    for line in messages.lines().filter(|line| line.trim_start().starts_with("Executable")) {
        let path =
            line.rsplit_once('(').map(|(_, path)| path.trim_end_matches(')')).unwrap_or_default();
        let directory = DISPATCHED.iter().any(|name| {
            let stem = path.rsplit('/').next().unwrap_or_default();
            stem.starts_with(&name.replace('-', "_")) || line.contains(&format!("{name}/"))
        });
        if directory {
            programs.push(root().join(path).to_string_lossy().into_owned());
        }
    }
    if programs.is_empty() {
        return Err("cargo test --no-run named no test programs".into());
    }
    Ok(programs)
}

/// Levels below the best one, which the plain run has tested.
#[cfg(target_arch = "x86_64")]
fn levels() -> Vec<&'static str> {
    let mut levels = vec!["scalar"];
    if is_x86_feature_detected!("avx2") {
        levels.push("avx2");
    }
    levels
}

/// Levels below the best one, which the plain run has tested.
#[cfg(not(target_arch = "x86_64"))]
fn levels() -> Vec<&'static str> {
    vec!["scalar"]
}

/// Where cargo put a binary of ours.
pub(crate) fn binary(profile: &str) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join(profile).join("tambour")
}

/// The tests against ClickHouse itself (chdb), through the command line.
fn oracle(python: &Path) -> Outcome {
    let python = python.to_string_lossy();
    let tambour = binary("debug");
    let tambour = tambour.to_string_lossy();
    run_with(&python, &["-m", "pytest", "-q", "oracle"], &[("TAMBOUR", &tambour)])
}

/// The measurements of docs/benchmarks.md at their full size: 10 million rows and TPC-H scale 1, beside chdb.
pub(crate) fn scale(arguments: &[&str]) -> Outcome {
    let python = virtual_environment()?;
    run("cargo", &["build", "--release", "--locked", "--package", "tambour-cli"])?;
    let python = python.to_string_lossy();
    let tambour = binary("release");
    let tambour = tambour.to_string_lossy();
    let mut words = vec!["oracle/scale.py"];
    words.extend(arguments);
    run_with(&python, &words, &[("TAMBOUR", &tambour)])
}

/// `.venv` with the pinned packages of oracle/requirements.txt; made or mended if it differs.
fn virtual_environment() -> Result<PathBuf, String> {
    let directory = root().join(".venv");
    let python = directory.join("bin/python");
    let wanted = root().join("oracle/requirements.txt");
    let wanted =
        fs::read_to_string(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    let stamp = directory.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    println!(
        "making .venv with the packages of oracle/requirements.txt (ClickHouse as a library: about 550 MB)"
    );
    output("python3", &["-m", "venv", ".venv"])?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        "oracle/requirements.txt",
    ];
    output(&python.to_string_lossy(), &pip)?;
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}
