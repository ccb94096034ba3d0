//! The project's own tools: `cargo xtask <command>`. Standard library only.
//!
//! | command | what it does |
//! |---|---|
//! | `test` | every test of the everyday tier: unit, laws per ISA level, docs, oracle (chdb), tour as smoke test |
//! | `lint` | rustfmt, clippy, tidy, rustdoc, all with warnings as errors |
//! | `tidy` | dependency order of the layers, file lengths, module docs, links, picture, changelog |
//! | `tour` | builds the program as the tests do and runs the main job on the files in `data/` |
//! | `smoke` | the tour with the debug binary that is there (part of `test`) |
//! | `isa` | the laws once per `TAMBOUR_ISA` level (part of `test`) |
//! | `nightly [MINUTES [STEP]...]` | everything slow in that time, or some of it; a table of what ran and what was left out |
//! | `fuzz [SECONDS]` | every fuzz target for that long (nightly toolchain, cargo-fuzz); adds to `fuzz/COUNTS.tsv` |
//! | `kill [SECONDS]` | the tests that kill a writer, again and again |
//! | `python` | the package for Python and its tests (part of `test`) |
//! | `vectors` | many vectors of codecs that ClickHouse makes (chdb), against ours |
//! | `miri` | the kernels' scalar paths and the codecs under Miri (nightly toolchain) |
//! | `aarch64` | the kernels' tests for AArch64 under qemu-user (needs the rustup target, gcc-aarch64-linux-gnu, qemu-user) |
//! | `deny` | licences and advisories (cargo-deny) |
//! | `report` | the page of the benchmarks, opened in headless Chromium (Debian's package `chromium`) |
//! | `filesystems` | page stores and tables on images of ext4, xfs and btrfs, and on a full disk (root, loop devices, mkfs of each) |
//! | `flips` | every bit of a record store of a megabyte (`TAMBOUR_FLIP_STEP=N`: every Nth; `TAMBOUR_FLIP_FIRST=K`: from the Kth on) |
//! | `lines [CHECKOUT]` | lines of code per crate, without comments and tests |
//! | `mariadb DIRECTORY` | unpacks a MariaDB server of Debian's packages there, for `bench pages --mariadb` (apt-get, dpkg; installs nothing) |
//! | `mariadb-tests DIRECTORY` | the tests that start such a server (slow tier) |
//! | `oracle` | ClickHouse compared over every function, type and time zone (hours) |
//! | `scale` | the large measurements of docs/benchmarks.md against chdb |
//! | `picture [--measure]` | docs/figures/scan.svg from docs/figures/scan.tsv; measures first, if asked |
//! | `snippets` | calls of `tambour` in the documentation against its help; runs those of the README (part of `test`) |
//! | `book` | the guides as a book in target/book (mdbook) |
//! | `release --dry-run [--no-build]` | what a release would do: metadata, packages, versions, archives of the program |
//!
//! `test` and `lint` are what continuous integration runs; `nightly` runs the slow tiers.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks")]

mod book;
mod contenders;
mod filesystems;
mod fuzz;
mod layers;
mod lines;
mod mariadb;
mod nightly;
mod picture;
mod programs;
mod python;
mod release;
mod slow;
mod snippets;
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
        ["tour"] => tour::first(),
        ["smoke"] => tour::smoke(&test::binary("debug")),
        ["isa"] => test::isa_levels(),
        ["fuzz", rest @ ..] => fuzz::all(rest.first().copied().unwrap_or("60")),
        ["fuzz-build"] => fuzz::build(),
        ["nightly"] => nightly::run("240", &[]),
        ["nightly", minutes, only @ ..] => nightly::run(minutes, only),
        ["miri"] => slow::miri(),
        ["aarch64"] => slow::aarch64(),
        ["deny"] => run("cargo", &["deny", "check"]),
        ["report"] => slow::report(),
        ["filesystems"] => filesystems::all(),
        ["flips"] => slow::flips(),
        ["oracle"] => test::oracle_in_full(),
        ["kill", rest @ ..] => slow::kill(rest.first().copied().unwrap_or("60")),
        ["python"] => test::python(),
        ["vectors"] => slow::vectors(),
        ["snippets"] => snippets::command(),
        ["book"] => book::build(),
        ["picture"] => picture::draw(),
        ["picture", "--measure", rest @ ..] => picture::measure(rest),
        ["release", "--dry-run"] => release::dry_run(true),
        ["release", "--dry-run", "--no-build"] => release::dry_run(false),
        ["lines"] => lines::print(&root()),
        ["lines", checkout] => lines::print(checkout.as_ref()),
        ["mariadb", directory] => mariadb::unpack(directory),
        ["mariadb-tests", directory] => mariadb::test(directory),
        ["scale", rest @ ..] => test::scale(rest),
        _ => {
            Err("usage: cargo xtask test|lint|tidy|tour|isa|nightly [MINUTES [STEP]...]|fuzz [SECONDS]|kill [SECONDS]|miri|aarch64|python|vectors|deny|report|filesystems|flips|lines|mariadb[-tests] DIRECTORY|scale|picture [--measure]|snippets|book|release --dry-run [--no-build]"
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
