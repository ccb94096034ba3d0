//! What a release would do, without doing it: `cargo xtask release --dry-run [--no-build]`.
//!
//! Checks what crates.io asks of every crate that is published, packs them all in the order in which they would go there,
//! compares the interfaces with the last tag, and makes the archives of the program. Nothing leaves this machine.

use crate::programs::{self, Need};
use crate::tidy::{directories, file_name, read};
use crate::{Outcome, layers, output, root, run, run_with};
use std::fs;
use std::path::{Path, PathBuf};

/// What crates.io shows of a crate; each must be in its manifest, or be taken from the workspace's.
const FIELDS: [&str; 9] = [
    "description",
    "version",
    "edition",
    "rust-version",
    "license",
    "repository",
    "readme",
    "keywords",
    "categories",
];

/// Bytes that crates.io takes of one crate.
const CRATE_BYTES_MAX: u64 = 10 << 20;

/// A system that the program is built for.
struct Target {
    triple: &'static str,
    needs: &'static [Need],
    /// Prefix of the linker's tools, where they are not the system's own.
    tools: &'static str,
}

const TARGETS: [Target; 2] = [
    Target { triple: "x86_64-unknown-linux-gnu", needs: &[], tools: "" },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        needs: &[programs::CROSS_TARGET, programs::CROSS_LINKER],
        tools: "aarch64-linux-gnu-",
    },
];

/// All of it. Without `build`, the archives are left out.
pub(crate) fn dry_run(build: bool) -> Outcome {
    let names = published()?;
    metadata(&names)?;
    pack(&names)?;
    semver(&names)?;
    if !build {
        println!("archives: left out, as asked");
        return Ok(());
    }
    TARGETS.iter().try_for_each(archive)
}

/// Names of the crates that are published, in an order in which each comes after those it depends on.
fn published() -> Result<Vec<String>, String> {
    let order = layers::order(&root())?;
    let mut names = Vec::new();
    for name in order {
        let path = manifest_of(&name);
        if path.exists() && !is_private(&read(&path)?) {
            names.push(name);
        }
    }
    Ok(names)
}

fn manifest_of(name: &str) -> PathBuf {
    root().join("crates").join(name).join("Cargo.toml")
}

fn is_private(manifest: &str) -> bool {
    manifest.lines().any(|line| line.trim() == "publish = false")
}

/// Fields, versions, dependencies that crates.io would refuse.
fn metadata(names: &[String]) -> Outcome {
    let workspace = read(&root().join("Cargo.toml"))?;
    let version = value(&workspace, "version").ok_or("Cargo.toml: the workspace has no version")?;
    let mut found = Vec::new();
    for name in names {
        let manifest = read(&manifest_of(name))?;
        found.extend(lacking(&manifest).map(|field| format!("{name}: lacks {field}")));
        for dependency in layers::dependencies(&manifest) {
            let is_ours = dependency.starts_with("tambour");
            if is_ours && !names.contains(&dependency) {
                found.push(format!("{name}: depends on {dependency}, which is not published"));
            } else if is_ours && !is_versioned(&workspace, &dependency, version) {
                found.push(format!("Cargo.toml: {dependency} must have version = \"{version}\""));
            }
        }
    }
    for entry in directories(&root().join("crates"))? {
        let name = file_name(&entry);
        if !names.contains(&name) {
            println!("{name}: not published");
        }
    }
    if !found.is_empty() {
        found.dedup();
        return Err(format!("metadata:\n  {}", found.join("\n  ")));
    }
    println!("metadata: {} crates, version {version}", names.len());
    Ok(())
}

/// Fields that a manifest does not have.
fn lacking(manifest: &str) -> impl Iterator<Item = &'static str> {
    let package = manifest.split("\n[").next().unwrap_or_default();
    let has = |field: &str| {
        package.lines().any(|line| {
            line.strip_prefix(field).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        })
    };
    let missing: Vec<&str> = FIELDS.into_iter().filter(|field| !has(field)).collect();
    missing.into_iter()
}

/// The first `key = "value"` of a manifest.
fn value<'text>(manifest: &'text str, key: &str) -> Option<&'text str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
    line.split('"').next()
}

/// Whether the workspace names a crate of ours with the version that would be published.
fn is_versioned(workspace: &str, dependency: &str, version: &str) -> bool {
    let prefix = format!("{dependency} = {{ path = ");
    let wanted = format!("version = \"{version}\"");
    workspace.lines().any(|line| line.starts_with(&prefix) && line.contains(&wanted))
}

/// Packs the crates together, so that each finds the others, and looks at what is in the packages.
fn pack(names: &[String]) -> Outcome {
    let mut arguments = vec!["package", "--locked", "--offline", "--no-verify", "--allow-dirty"];
    for name in names {
        arguments.extend(["--package", name]);
    }
    run("cargo", &arguments)?;
    let version =
        value(&read(&root().join("Cargo.toml"))?, "version").unwrap_or_default().to_owned();
    println!("{:<24}{:>10}{:>8}", "package", "bytes", "files");
    for name in names {
        let path = target().join("package").join(format!("{name}-{version}.crate"));
        let shown = path.display().to_string();
        let bytes = fs::metadata(&path).map_err(|error| format!("{shown}: {error}"))?.len();
        let list = output("tar", &["--list", "--gzip", "--file", &shown])?;
        println!("{name:<24}{bytes:>10}{:>8}", list.lines().count());
        if bytes > CRATE_BYTES_MAX {
            return Err(format!("{shown}: {bytes} bytes; crates.io takes {CRATE_BYTES_MAX}"));
        }
        if !list.lines().any(|line| line.ends_with("/README.md")) {
            return Err(format!("{shown}: has no README.md"));
        }
    }
    Ok(())
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The interfaces of the libraries against those of the last tag.
fn semver(names: &[String]) -> Outcome {
    let Ok(tag) = output("git", &["describe", "--tags", "--abbrev=0", "--match", "v*"]) else {
        println!("semver: left out: there is no tag v* to compare with");
        return Ok(());
    };
    if let Err(reason) = programs::SEMVER.check() {
        println!("semver: left out: {reason}");
        return Ok(());
    }
    let mut arguments = vec!["semver-checks", "--baseline-rev", tag.trim()];
    for name in names {
        if root().join("crates").join(name).join("src/lib.rs").exists() {
            arguments.extend(["--package", name]);
        }
    }
    run("cargo", &arguments)
}

/// Builds the program for a system, strips it, and packs it with its manual, completions and licences.
fn archive(to: &Target) -> Outcome {
    if let Err(reason) = programs::check_all(to.needs) {
        println!("{}: left out: {reason}", to.triple);
        return Ok(());
    }
    let variable = |name: &str| name.to_owned() + &to.triple.replace('-', "_");
    let compiler = format!("{}gcc", to.tools);
    let linker = variable("CARGO_TARGET_").to_uppercase() + "_LINKER";
    let cross = [(linker.as_str(), compiler.as_str()), (&variable("CC_"), &compiler)];
    let variables = if to.tools.is_empty() { &[][..] } else { &cross[..] };
    let build =
        ["build", "--release", "--locked", "--package", "tambour-cli", "--target", to.triple];
    run_with("cargo", &build, variables)?;
    let version =
        value(&read(&root().join("Cargo.toml"))?, "version").unwrap_or_default().to_owned();
    let name = format!("tambour-{version}-{}", to.triple);
    let folder = target().join("release-dry-run").join(&name);
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    fs::create_dir_all(folder.join("completions")).map_err(failed(&folder))?;
    let binary = target().join(to.triple).join("release/tambour").display().to_string();
    let stripped = folder.join("tambour").display().to_string();
    run(&format!("{}strip", to.tools), &["--strip-all", "-o", &stripped, &binary])?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(root().join(file), folder.join(file)).map_err(failed(&folder))?;
    }
    // The program for this machine tells them; those for others say the same.
    let ours = target().join(host_triple()).join("release/tambour");
    let ours = if ours.exists() { ours.display().to_string() } else { binary };
    output(&ours, &["man", &folder.join("man1").display().to_string()])?;
    for shell in ["bash", "zsh", "fish"] {
        let path = folder.join("completions").join(format!("tambour.{shell}"));
        fs::write(&path, output(&ours, &["completions", shell])?).map_err(failed(&path))?;
    }
    let above = target().join("release-dry-run").display().to_string();
    let file = format!("{above}/{name}.tar.gz");
    run("tar", &["--create", "--gzip", "--file", &file, "--directory", &above, &name])?;
    run("sha256sum", &[&file])
}

fn host_triple() -> &'static str {
    if cfg!(target_arch = "aarch64") { TARGETS[1].triple } else { TARGETS[0].triple }
}

#[cfg(test)]
mod tests {
    use super::{is_private, is_versioned, lacking, value};

    const MANIFEST: &str = "[package]\nname = \"a\"\ndescription = \"b\"\nversion.workspace = true\n\
        edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
        repository.workspace = true\nreadme = \"README.md\"\nkeywords.workspace = true\n\n[lints]\ncategories = 1\n";

    #[test]
    fn what_a_manifest_lacks_is_found() {
        assert_eq!(lacking(MANIFEST).collect::<Vec<_>>(), ["categories"]);
        assert!(!is_private(MANIFEST) && is_private("[package]\npublish = false\n"));
    }

    #[test]
    fn versions_of_our_own_crates_are_those_that_are_published() {
        let workspace = "version = \"0.2.0\"\na = { path = \"crates/a\", version = \"0.1.0\" }\n";
        assert_eq!(value(workspace, "version"), Some("0.2.0"));
        assert!(!is_versioned(workspace, "a", "0.2.0") && is_versioned(workspace, "a", "0.1.0"));
    }
}
