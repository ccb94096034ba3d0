//! Tells release builds from which commit they are, for the pages of benchmarks. `TAMBOUR_COMMIT` in the environment wins.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TAMBOUR_COMMIT");
    // Developers' builds would be linked again after every commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if !is_release || std::env::var_os("TAMBOUR_COMMIT").is_some() {
        return;
    }
    // Absent in a published crate, and then nothing is told.
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return };
    println!("cargo:rustc-env=TAMBOUR_COMMIT={commit}");
    // Every commit and checkout writes there.
    if let Some(log) =
        git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists())
    {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// What git says, if it says something.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
