//! The law of the layers, read from the one place where it is written: the block `layers` of ARCHITECTURE.md.

use crate::Outcome;
use crate::tidy::{directories, file_name, read};
use std::path::Path;

/// Layers with `unsafe`: the kernels, and the border to SQLite.
const UNSAFE: [&str; 2] = ["tambour-kernel", "tambour-sqlite"];

/// What a layer must not know: crates by prefix, and the lowest layer that may use them.
const STRANGERS: [(&str, &str); 2] = [("arrow", "tambour-part"), ("datafusion", "tambour-dialect")];

/// What the kernels vouch to, by a feature of theirs: ADR 30.
const VOUCHED: [&str; 2] = ["arrow-array", "arrow-buffer"];

/// Lines of code that a crate may have; more is two crates.
const CRATE_LINES_MAX: usize = 16_000;

/// The floors, lowest first, and the crates that stand beside them.
struct Law {
    floors: Vec<Vec<String>>,
    beside: Vec<String>,
}

impl Law {
    /// Reads the block: a floor per line, and one line that begins with `beside:`.
    fn read(root: &Path) -> Result<Self, String> {
        let text = read(&root.join("ARCHITECTURE.md"))?;
        let block = text.split("```layers\n").nth(1).and_then(|rest| rest.split("```").next());
        let block = block.ok_or("ARCHITECTURE.md: lacks the block ```layers")?;
        let mut law = Self { floors: Vec::new(), beside: Vec::new() };
        let names = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.strip_prefix("beside:") {
                Some(rest) => law.beside = names(rest),
                None => law.floors.push(names(line)),
            }
        }
        Ok(law)
    }

    fn floor(&self, name: &str) -> Option<usize> {
        self.floors.iter().position(|floor| floor.iter().any(|it| it == name))
    }

    /// Why a crate may not depend on another, if it may not.
    fn violation(&self, name: &str, dependency: &str) -> Option<String> {
        let is_beside = |name: &str| self.beside.iter().any(|it| it == name);
        let wrong = match (self.floor(name), self.floor(dependency)) {
            (Some(floor), Some(below)) => below >= floor,
            (Some(_), None) => is_beside(dependency),
            (None, _) => false,
        };
        if wrong {
            return Some(format!("{name} depends on {dependency}, which is not on a lower floor"));
        }
        let floor = self.floor(name)?;
        let (stranger, from) =
            STRANGERS.into_iter().find(|(stranger, _)| dependency.starts_with(stranger))?;
        let is_vouched = name == UNSAFE[0] && VOUCHED.contains(&dependency);
        let allowed = is_vouched || self.floor(from).is_some_and(|from| floor >= from);
        (!allowed).then(|| format!("{name} must not know {stranger}: only {from} and above do"))
    }
}

/// Dependency order, strangers, sizes of crates, `unsafe`.
pub(crate) fn check(root: &Path, found: &mut Vec<String>) -> Outcome {
    let law = Law::read(root)?;
    let mut members = directories(&root.join("crates"))?;
    members.sort();
    for member in &members {
        let name = file_name(member);
        let is_layer = law.floor(&name).is_some();
        if !is_layer && !law.beside.contains(&name) {
            found.push(format!("{name}: not in the block ```layers of ARCHITECTURE.md"));
        }
        let manifest = read(&member.join("Cargo.toml"))?;
        let dependencies = dependencies(&manifest);
        found.extend(dependencies.iter().filter_map(|it| law.violation(&name, it)));
        let lib = member.join("src/lib.rs");
        if !lib.exists() {
            continue;
        }
        let text = read(&lib)?;
        if !text.starts_with("//! ") {
            found.push(format!("{}: does not start with module docs", lib.display()));
        }
        if is_layer && !UNSAFE.contains(&name.as_str()) && !text.contains("forbid(unsafe_code)") {
            found.push(format!("{}: lacks #![forbid(unsafe_code)]", lib.display()));
        }
        let lines = crate::lines::of_crate(member)?;
        if lines > CRATE_LINES_MAX {
            found.push(format!(
                "{name}: {lines} lines of code, more than {CRATE_LINES_MAX}; would two crates be better?"
            ));
        }
    }
    for name in law.floors.iter().flatten().chain(&law.beside) {
        if !root.join("crates").join(name).exists() {
            found.push(format!("ARCHITECTURE.md: the layers name {name}, which is not a crate"));
        }
    }
    Ok(())
}

/// Names of all crates, each after those of the floors below it.
pub(crate) fn order(root: &Path) -> Result<Vec<String>, String> {
    let law = Law::read(root)?;
    Ok(law.floors.into_iter().flatten().chain(law.beside).collect())
}

/// Names in `[dependencies]` (and its target-specific forms), not those for tests and build scripts.
pub(crate) fn dependencies(manifest: &str) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::{Law, dependencies};

    #[test]
    fn only_plain_dependencies_count() {
        let manifest = "[dependencies]\na.workspace = true\n# b = 1\nc = { path = \"x\" }\n[dev-dependencies]\nd = 1\n\
                        [target.'cfg(unix)'.dependencies]\ne = 1\n[lints]\nworkspace = true\n";
        assert_eq!(dependencies(manifest), ["a", "c", "e"]);
    }

    #[test]
    fn floors_look_down_only() {
        let names = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let law = Law {
            floors: vec![names("a"), names("tambour-part b"), names("tambour-sql")],
            beside: names("check"),
        };
        assert_eq!(law.violation("b", "a"), None);
        assert!(law.violation("a", "b").is_some());
        assert!(law.violation("b", "tambour-part").is_some(), "they share a floor");
        assert!(law.violation("b", "check").is_some());
        assert_eq!(law.violation("check", "b"), None);
        assert!(law.violation("a", "arrow-array").is_some());
        assert_eq!(law.violation("b", "arrow-array"), None);
        assert!(law.violation("b", "datafusion").is_some());
    }
}
