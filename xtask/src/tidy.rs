//! Rules about the sources that no compiler checks.

use crate::Outcome;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first. A crate depends on crates further left only.
const LAYERS: [&str; 12] = [
    "tambour-kernel",
    "tambour-int",
    "tambour-codec",
    "tambour-messages",
    "tambour-part",
    "tambour-store",
    "tambour-files",
    "tambour-sql",
    "tambour-sqlite",
    "tambour",
    "tambour-bench",
    "tambour-cli",
];

/// Crates that stand beside the layers and may use any of them, but no layer uses them (other than in tests).
const BESIDE: [&str; 4] =
    ["tambour-check", "tambour-capi", "tambour-sqlite-extension", "tambour-python"];

/// Layers with `unsafe`: the kernels, the calls of C xxHash that benchmarks compare with, and the VFS that SQLite calls. There it is denied but for
/// named exceptions.
const UNSAFE: [&str; 3] = ["tambour-kernel", "tambour-bench", "tambour-sqlite"];

/// What a layer must not know: crates by prefix, and the layers that may use them.
const STRANGERS: [(&str, &[&str]); 2] = [
    (
        "arrow",
        &[
            "tambour-part",
            "tambour-store",
            "tambour-files",
            "tambour-sql",
            "tambour",
            "tambour-cli",
        ],
    ),
    ("datafusion", &["tambour-sql", "tambour", "tambour-cli"]),
];

/// Most lines of code in a file; docs, comments, blank lines and tests do not count.
const CODE_LINES_MAX: usize = 600;

/// Files that are longer for a reason. This list may only shrink.
const LONGER: [(&str, usize); 0] = [];

/// Runs every rule and lists all violations.
pub(crate) fn check(root: &Path) -> Outcome {
    let mut found = Vec::new();
    layers(root, &mut found)?;
    sources(root, &mut found)?;
    links(root, &mut found)?;
    golden(root, &mut found)?;
    changelog(root, &mut found)?;
    if found.is_empty() {
        println!("tidy: ok");
        return Ok(());
    }
    Err(format!("tidy found {}:\n  {}", found.len(), found.join("\n  ")))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Dependency order, and strangers.
fn layers(root: &Path, found: &mut Vec<String>) -> Outcome {
    let mut members = directories(&root.join("crates"))?;
    members.sort();
    for member in members {
        let name = file_name(&member);
        let level = LAYERS.iter().position(|layer| *layer == name);
        if level.is_none() && !BESIDE.contains(&name.as_str()) {
            found.push(format!("{name}: not in the order of the layers (xtask/src/tidy.rs)"));
        }
        let manifest = read(&member.join("Cargo.toml"))?;
        for dependency in dependencies(&manifest) {
            let below = LAYERS.iter().position(|layer| *layer == dependency);
            let wrong = match (level, below) {
                (Some(level), Some(below)) => below >= level,
                (Some(_), None) => BESIDE.contains(&dependency.as_str()),
                (None, _) => false,
            };
            if wrong {
                found.push(format!("{name} depends on {dependency}, which is not below it"));
            }
            for (stranger, allowed) in STRANGERS {
                let is_layer = level.is_some();
                if is_layer && dependency.starts_with(stranger) && !allowed.contains(&name.as_str())
                {
                    found.push(format!("{name} must not know {dependency}"));
                }
            }
        }
        let lib = member.join("src/lib.rs");
        if lib.exists() && !read(&lib)?.starts_with("//! ") {
            found.push(format!("{}: does not start with module docs", lib.display()));
        }
        if level.is_some()
            && !UNSAFE.contains(&name.as_str())
            && lib.exists()
            && !read(&lib)?.contains("forbid(unsafe_code)")
        {
            found.push(format!("{}: lacks #![forbid(unsafe_code)]", lib.display()));
        }
    }
    Ok(())
}

/// Names in `[dependencies]` (and its target-specific forms), not those for tests and build scripts.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]")
                && !line.contains("dev-")
                && !line.contains("build-");
        } else if inside && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// File lengths, module docs, unfinished places, ASCII.
fn sources(root: &Path, found: &mut Vec<String>) -> Outcome {
    for path in files(&[root.join("crates"), root.join("xtask"), root.join("fuzz")], "rs")? {
        let text = read(&path)?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let lines = code_lines(&text);
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

/// Lines that are neither blank nor comments, up to the test module.
fn code_lines(text: &str) -> usize {
    text.lines()
        .map(str::trim)
        .take_while(|line| *line != "#[cfg(test)]")
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

/// Relative links in Markdown lead somewhere.
fn links(root: &Path, found: &mut Vec<String>) -> Outcome {
    let mut pages = files(&[root.join("docs")], "md")?;
    for entry in fs::read_dir(root).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    for page in pages {
        let text = read(&page)?;
        let folder = page.parent().unwrap_or(root);
        for piece in text.split("](").skip(1) {
            let target = piece.split([')', '#', ' ']).next().unwrap_or_default();
            let elsewhere =
                target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !folder.join(target).exists() {
                found.push(format!("{}: link to {target} leads nowhere", page.display()));
            }
        }
    }
    Ok(())
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

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn directories(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect())
}

/// Files below some folders with an extension (any, if it is empty), sorted; build output is passed over.
fn files(folders: &[PathBuf], extension: &str) -> Result<Vec<PathBuf>, String> {
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
    use super::{code_lines, dependencies, fnv1a};

    #[test]
    fn only_plain_dependencies_count() {
        let manifest = "[dependencies]\na.workspace = true\n# b = 1\nc = { path = \"x\" }\n[dev-dependencies]\nd = 1\n\
                        [target.'cfg(unix)'.dependencies]\ne = 1\n[lints]\nworkspace = true\n";
        assert_eq!(dependencies(manifest), ["a", "c", "e"]);
    }

    #[test]
    fn comments_blanks_and_tests_are_no_code() {
        assert_eq!(
            code_lines("//! doc\n\nfn a() {}\n// why\nfn b() {}\n#[cfg(test)]\nmod tests {}\n"),
            2
        );
    }

    #[test]
    fn fnv1a_has_its_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
