//! Counts lines of code: neither blank nor comments nor tests. `cargo xtask lines` prints them per crate.

use crate::Outcome;
use crate::tidy::{directories, file_name, files, read};
use std::path::Path;

/// Prints the lines of every crate of a checkout, and their sum.
pub(crate) fn print(checkout: &Path) -> Outcome {
    let mut members = directories(&checkout.join("crates"))?;
    members.sort();
    let mut total = 0;
    for member in &members {
        let lines = of_crate(member)?;
        total += lines;
        println!("{:24} {lines:>7}", file_name(member));
    }
    println!("{:24} {total:>7}", "all");
    Ok(())
}

/// Lines of code of a crate's `src`, tests apart.
pub(crate) fn of_crate(member: &Path) -> Result<usize, String> {
    let mut lines = 0;
    for path in files(&[member.join("src")], "rs")? {
        let is_test = path.components().any(|part| part.as_os_str() == "tests")
            || path.file_name().is_some_and(|name| name == "tests.rs");
        if !is_test {
            lines += of_text(&read(&path)?);
        }
    }
    Ok(lines)
}

/// Lines that are neither blank nor comments, without the items that stand under `#[cfg(test)]`.
pub(crate) fn of_text(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            // The module of tests is the last thing in a file; a declaration of one may stand anywhere.
            if lines.next().is_some_and(|next| next.ends_with('{')) {
                break;
            }
        } else if !line.is_empty() && !line.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn counts_code_only() {
        let text = "//! doc\n\nfn a() {}\n// why\n#[cfg(test)]\nmod laws;\nfn b() {}\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(of_text(text), 2);
    }
}
