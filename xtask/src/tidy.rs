//! Rules about the sources that no compiler checks.

use crate::{Outcome, book, contenders, layers, lines, output, picture, snippets, words};
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of code in a file; docs, comments, blank lines and tests do not count.
const CODE_LINES_MAX: usize = 600;

/// Files that are longer for a reason. This list may only shrink.
const LONGER: [(&str, usize); 0] = [];

/// What lies at the root. A file that is not here was left by a test or an experiment.
const AT_ROOT: [&str; 18] = [
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "GLOSSARY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "STYLE.md",
    "book.toml",
    "clippy.toml",
    "deny.toml",
    "pyproject.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
];

/// Runs every rule and lists all violations.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut found = Vec::new();
    strays(root, &mut found)?;
    layers::check(root, &mut found)?;
    contenders::check(root, &mut found)?;
    sources(root, &mut found)?;
    book::check(root, &mut found)?;
    snippets::rust(root, &mut found)?;
    picture::check(root, &mut found)?;
    golden(root, &mut found)?;
    changelog(root, &mut found)?;
    words::check(root, &mut found)?;
    if found.is_empty() {
        println!("tidy: ok");
        return Ok(());
    }
    Err(format!("tidy found {}:\n  {}", found.len(), found.join("\n  ")))
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Files that git has at the root although nobody put them there on purpose.
fn strays(root: &Path, found: &mut Vec<String>) -> Outcome {
    let shown = root.display().to_string();
    let listed = output("git", &["-C", &shown, "ls-files", "--cached", ":(glob)*"])?;
    let strays = listed.lines().filter(|name| !AT_ROOT.contains(name));
    found.extend(strays.map(|name| format!("{name}: does not belong at the root; remove it")));
    Ok(())
}

/// File lengths, module docs, unfinished places, ASCII.
fn sources(root: &Path, found: &mut Vec<String>) -> Outcome {
    for path in files(&[root.join("crates"), root.join("xtask"), root.join("fuzz")], "rs")? {
        let text = read(&path)?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let lines = lines::of_text(&text);
        let limit = LONGER
            .iter()
            .find(|(name, _)| *name == shown)
            .map_or(CODE_LINES_MAX, |(_, lines)| *lines);
        if lines > limit && !shown.contains("/tests/") {
            found.push(format!(
                "{shown}: {lines} lines of code, more than {limit}; would two rooms be better?"
            ));
        }
        if !text.starts_with("//!") && !text.starts_with("#!") {
            found.push(format!("{shown}: does not start with module docs"));
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if !code.is_ascii() {
                found.push(format!("{shown}:{}: not ASCII outside a comment", number + 1));
            }
            // Spelled in two pieces so that this line is not one of them.
            for word in [
                concat!("TO", "DO"),
                concat!("FIX", "ME"),
                concat!("todo", "!("),
                concat!("unimplemented", "!("),
            ] {
                if line.contains(word) {
                    found.push(format!("{shown}:{}: {word}", number + 1));
                }
            }
        }
    }
    Ok(())
}

/// The pages in a folder itself.
pub(crate) fn pages_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(pages)
}

/// Golden files are added, never edited: golden/MANIFEST holds a hash of each.
fn golden(root: &Path, found: &mut Vec<String>) -> Outcome {
    let folder = root.join("golden");
    if !folder.exists() {
        return Ok(());
    }
    let manifest = read(&folder.join("MANIFEST"))?;
    let mut listed: Vec<(&str, &str)> =
        manifest.lines().filter_map(|line| line.split_once("  ")).collect();
    listed.sort_unstable_by_key(|(_, name)| *name);
    for path in files(std::slice::from_ref(&folder), "")? {
        let name = path.strip_prefix(&folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if name == "MANIFEST" || name == "README.md" {
            continue;
        }
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let hash = format!("{:016x}", fnv1a(&bytes));
        match listed.binary_search_by_key(&name.as_str(), |(_, listed)| listed) {
            Ok(index) if listed[index].0 == hash => {}
            Ok(_) => found.push(format!("golden/{name}: edited; golden files are only ever added")),
            Err(_) => found.push(format!("golden/MANIFEST lacks the line \"{hash}  {name}\"")),
        }
    }
    for (_, name) in listed {
        if !folder.join(name).exists() {
            found.push(format!("golden/{name}: listed in golden/MANIFEST but gone"));
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits: enough to notice an edit.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// Every release says what happened to the formats.
fn changelog(root: &Path, found: &mut Vec<String>) -> Outcome {
    let text = read(&root.join("CHANGELOG.md"))?;
    for section in text.split("\n## ").skip(1) {
        if !section.contains("### Format") {
            let title = section.lines().next().unwrap_or_default();
            found.push(format!("CHANGELOG.md: {title} has no Format section"));
        }
    }
    Ok(())
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(crate) fn directories(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect())
}

/// Files below some folders with an extension (any, if it is empty), sorted; build output is passed over.
pub(crate) fn files(folders: &[PathBuf], extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut pending: Vec<PathBuf> =
        folders.iter().filter(|folder| folder.exists()).cloned().collect();
    let mut files = Vec::new();
    while let Some(folder) = pending.pop() {
        let entries =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let name = file_name(&path);
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | "corpus" | "artifacts") {
                    pending.push(path);
                }
            } else if extension.is_empty()
                || path.extension().is_some_and(|found| found == extension)
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn fnv1a_has_its_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
