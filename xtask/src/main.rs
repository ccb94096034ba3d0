//! The project's own tools: `cargo xtask <command>`. Standard library only.
//!
//! | command | what it does |
//! |---|---|
//! | `test` | every test of the everyday tier: unit, laws per ISA level, docs, oracle (chdb), tour as smoke test |
//! | `lint` | rustfmt, clippy, tidy, rustdoc, all with warnings as errors |
//! | `tidy` | dependency order of the layers, file lengths, module docs, links, changelog |
//! | `tour` | builds a release binary and runs the main job on the files in `data/` |
//! | `isa` | the laws once per `TAMBOUR_ISA` level (part of `test`) |
//! | `fuzz [SECONDS]` | every fuzz target for that long (nightly toolchain, cargo-fuzz) |
//! | `miri` | the kernels' scalar paths and the codecs under Miri (nightly toolchain) |
//! | `aarch64` | the kernels' tests for AArch64 under qemu-user (needs the rustup target, gcc-aarch64-linux-gnu, qemu-user) |
//! | `deny` | licences and advisories (cargo-deny) |
//! | `report` | the page of the benchmarks, opened in headless Chromium (Debian's package `chromium`) |
//! | `filesystems` | the page store on images of ext4, xfs and btrfs, and on a full disk (root, loop devices, mkfs of each) |
//! | `flips` | every bit of a record store of a megabyte (`TAMBOUR_FLIP_STEP=N`: every Nth; `TAMBOUR_FLIP_FIRST=K`: from the Kth on) |
//! | `lines [CHECKOUT]` | lines of code per crate, without comments and tests |
//! | `mariadb DIRECTORY` | unpacks a MariaDB server of Debian's packages there, for `bench pages --mariadb` (apt-get, dpkg; installs nothing) |
//! | `mariadb-tests DIRECTORY` | the tests that start such a server (slow tier) |
//! | `scale` | the large measurements of docs/benchmarks.md against chdb |
//!
//! `test` and `lint` are what continuous integration runs; the rest are slow tiers, run before a release.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

mod filesystems;
mod layers;
mod lines;
mod mariadb;
mod test;
mod tidy;
mod tour;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What a command returns; the text says what went wrong.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::all(),
        ["lint"] => lint(),
        ["tidy"] => tidy::check(&root()),
        ["tour"] => tour::release(),
        ["isa"] => test::isa_levels(),
        ["fuzz", rest @ ..] => fuzz(rest.first().copied().unwrap_or("60")),
        ["miri"] => miri(),
        ["aarch64"] => aarch64(),
        ["deny"] => run("cargo", &["deny", "check"]),
        ["report"] => report(),
        ["filesystems"] => filesystems::all(),
        ["flips"] => flips(),
        ["lines"] => lines::print(&root()),
        ["lines", checkout] => lines::print(checkout.as_ref()),
        ["mariadb", directory] => mariadb::unpack(directory),
        ["mariadb-tests", directory] => mariadb::test(directory),
        ["scale", rest @ ..] => test::scale(rest),
        _ => {
            Err("usage: cargo xtask test|lint|tidy|tour|isa|fuzz [SECONDS]|miri|aarch64|deny|report|filesystems|flips|lines|mariadb[-tests] DIRECTORY|scale"
                .into())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| manifest.to_path_buf(), Path::to_path_buf)
}

/// Runs a program in the root of the workspace; its output goes where ours goes.
fn run(program: &str, arguments: &[&str]) -> Outcome {
    run_with(program, arguments, &[])
}

/// The same with variables set.
fn run_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let line = format!("{program} {}", arguments.join(" "));
    println!("$ {line}");
    let status = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root())
        .status()
        .map_err(|error| format!("{line}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// Runs a program and returns its standard output.
fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let line = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("{line}: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{line}: {}: {}", output.status, reason.trim()));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{line}: {error}"))
}

/// What a reviewer would say first, said by tools.
fn lint() -> Outcome {
    run("cargo", &["fmt", "--all", "--check"])?;
    tidy::check(&root())?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    let deny_warnings = [("RUSTDOCFLAGS", "-D warnings")];
    run_with("cargo", &["doc", "--workspace", "--no-deps", "--locked"], &deny_warnings)
}

/// Every fuzz target for some seconds each.
fn fuzz(seconds: &str) -> Outcome {
    let targets = output("cargo", &["+nightly", "fuzz", "list"])?;
    let time = format!("-max_total_time={seconds}");
    for target in targets.lines() {
        // New finds go to the corpus, which is not committed; the seeds are.
        let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
        for directory in [&corpus, &seeds] {
            std::fs::create_dir_all(root().join(directory))
                .map_err(|error| format!("{directory}: {error}"))?;
        }
        run("cargo", &["+nightly", "fuzz", "run", target, &corpus, &seeds, "--", &time])?;
    }
    Ok(())
}

/// Every bit of a record store of a megabyte: about a minute and a half of processor time, on all processors.
fn flips() -> Outcome {
    let test = ["test", "--locked", "--release", "--package", "tambour-record", "--lib"];
    run("cargo", &[&test[..], &["--", "--ignored", "every_bit_of_a_megabyte"]].concat())
}

/// The tests that need a browser; they fail without one.
fn report() -> Outcome {
    let package = ["test", "--locked", "--package", "tambour-bench", "--test", "browser"];
    run("cargo", &[&package[..], &["--", "--ignored"]].concat())
}

/// Undefined behaviour in what Miri can run: the scalar kernels and the codecs above them.
fn miri() -> Outcome {
    let scalar = [("TAMBOUR_ISA", "scalar"), ("MIRIFLAGS", "-Zmiri-disable-isolation")];
    run_with("cargo", &["+nightly", "miri", "test", "-p", "tambour-kernel"], &scalar)
}

/// The kernels' tests for AArch64, in an emulator where this machine is another one.
fn aarch64() -> Outcome {
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
