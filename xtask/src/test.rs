//! The everyday tests, in the order in which they say most: Rust, laws per ISA level, oracle, Python, snippets of the docs,
//! tour.

use crate::{Outcome, output, python, root, run, run_with, snippets, tour};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Crates whose results may depend on the instruction set.
const DISPATCHED: [&str; 4] = ["tambour-kernel", "tambour-codec", "tambour-part", "tambour-check"];

/// All of it.
pub(crate) fn all() -> Outcome {
    let python = virtual_environment()?;
    rust()?;
    isa_levels()?;
    oracle(&python)?;
    python::check(&python, "debug")?;
    snippets::check(&binary("debug"))?;
    tour::smoke(&binary("debug"))
}

/// The tests that cargo runs, all of them even after one fails.
///
/// Who sees only the last lines of a log still learns which tests failed and where: the error names them.
fn rust() -> Outcome {
    let mut cargo = Command::new("cargo")
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo test: {error}"))?;
    let output = cargo.stdout.take().ok_or("cargo test: no standard output")?;
    let mut failed = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| format!("cargo test: {error}"))?;
        println!("{line}");
        if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            failed.push(name.to_owned());
        } else if let Some((_, place)) = line.split_once(" panicked at ") {
            failed.push(format!("(at {})", place.trim_end_matches(':')));
        }
    }
    let status = cargo.wait().map_err(|error| format!("cargo test: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("cargo test: {status}: {}", failed.join(", ")))
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
    let messages = output(
        "cargo",
        &[
            "test",
            "--workspace",
            "--locked",
            "--lib",
            "--tests",
            "--no-run",
            "--message-format=json",
            "--quiet",
        ],
    )?;
    let programs: Vec<String> = messages
        .lines()
        .filter(|line| {
            DISPATCHED.iter().any(|name| line.contains(&format!("/crates/{name}/Cargo.toml\"")))
        })
        .filter_map(|line| {
            let (_, rest) = line.split_once("\"executable\":\"")?;
            rest.split_once('"').map(|(path, _)| path.to_owned())
        })
        .collect();
    for name in DISPATCHED {
        let stem = format!("/{}-", name.replace('-', "_"));
        if !programs.iter().any(|path| path.contains(&stem)) {
            return Err(format!("cargo test --no-run named no test program of {name}"));
        }
    }
    Ok(programs)
}

/// Levels below the best one, which the plain run has tested.
#[cfg(target_arch = "x86_64")]
fn levels() -> Vec<&'static str> {
    let mut levels = vec!["scalar"];
    if is_x86_feature_detected!("ssse3") {
        levels.push("ssse3");
    }
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

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Where cargo put a binary of ours.
pub(crate) fn binary(profile: &str) -> PathBuf {
    target().join(profile).join("tambour")
}

/// The tests against ClickHouse, in two processes: each has a server of its own, and half of the time one engine waits for the other.
const ORACLE: [&str; 6] = ["-m", "pytest", "-q", "oracle", "-n", "2"];

/// The tests against ClickHouse itself (chdb), through the command line.
fn oracle(python: &Path) -> Outcome {
    let python = python.to_string_lossy();
    let tambour = binary("debug");
    let tambour = tambour.to_string_lossy();
    run_with(&python, &ORACLE, &[("TAMBOUR", &tambour)])
}

/// The same with every function over every tuple of types, and in every time zone: hours.
pub(crate) fn oracle_in_full() -> Outcome {
    let python = virtual_environment()?;
    run("cargo", &["build", "--workspace", "--locked", "--bin", "tambour"])?;
    let (python, tambour) = (python.to_string_lossy(), binary("debug"));
    let tambour = tambour.to_string_lossy();
    let everything = [
        ("TAMBOUR", &*tambour),
        ("FUNCTIONS_FULL", "1"),
        ("SHAPES_FULL", "1"),
        ("VARIANTS", "20000"),
        ("TREES", "20000"),
        ("TAMBOUR_ZONES", "all"),
        ("TAMBOUR_HARMS", "2"),
        ("TAMBOUR_FLIPS", "20"),
    ];
    // One test of these takes an hour.
    let words = [&ORACLE[..], &["-o", "faulthandler_timeout=0"]].concat();
    run_with(&python, &words, &everything)
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

/// The tests of the package for Python alone.
pub(crate) fn python() -> Outcome {
    python::check(&virtual_environment()?, "debug")
}

/// `.venv` with the pinned packages of oracle/requirements.txt; made or mended if it differs.
pub(crate) fn virtual_environment() -> Result<PathBuf, String> {
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
