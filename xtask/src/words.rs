//! Words and phrases that native readers stumble over, and that must not come back: comments, messages and pages.
//!
//! What was left when the list was made is counted per folder; a count may only shrink. Some of what is counted is good
//! English (`left behind` is not counted at all), so that no count has to become zero.

use crate::{Outcome, tidy};
use std::collections::BTreeMap;
use std::path::Path;

/// A phrase in lower case, and what to write.
const PHRASES: [(&str, &str); 6] = [
    ("are no", "are not"),
    ("behind", "after, past, with"),
    ("is no", "is not a"),
    ("lies outside of", "is outside"),
    ("so many", "this many, as many, at most N"),
    ("so much", "this much, as much, at most N"),
];

/// How often a folder still has a phrase. These numbers may only shrink.
const LEFT: &[(&str, &str, usize)] = &[
    (".", "behind", 1),
    (".", "is no", 1),
    ("crates/tambour", "behind", 1),
    ("crates/tambour-bench", "behind", 9),
    ("crates/tambour-bench", "so many", 3),
    ("crates/tambour-capi", "behind", 1),
    ("crates/tambour-capi", "so many", 1),
    ("crates/tambour-check", "behind", 1),
    ("crates/tambour-check", "so many", 1),
    ("crates/tambour-cli", "is no", 2),
    ("crates/tambour-cli", "so many", 1),
    ("crates/tambour-codec", "behind", 1),
    ("crates/tambour-function", "are no", 3),
    ("crates/tambour-function", "behind", 1),
    ("crates/tambour-function", "is no", 1),
    ("crates/tambour-kernel", "behind", 1),
    ("crates/tambour-kernel", "is no", 1),
    ("crates/tambour-message", "behind", 1),
    ("crates/tambour-page", "is no", 3),
    ("crates/tambour-part", "behind", 1),
    ("crates/tambour-record", "behind", 1),
    ("crates/tambour-sql", "are no", 1),
    ("crates/tambour-sql", "behind", 1),
    ("crates/tambour-sql", "is no", 1),
    ("crates/tambour-sqlite", "behind", 1),
    ("crates/tambour-sqlite", "so many", 1),
    ("crates/tambour-storage", "is no", 1),
    ("crates/tambour-table", "is no", 1),
    ("docs", "are no", 3),
    ("docs", "behind", 6),
    ("docs", "is no", 5),
    ("fuzz", "behind", 1),
];

/// Counts every phrase and reports folders that have more of one than is left to them.
pub(crate) fn check(root: &Path, found: &mut Vec<String>) -> Outcome {
    let mut places = BTreeMap::<(String, &str), Vec<String>>::new();
    let folders = ["crates", "docs", "fuzz", "oracle", "xtask"].map(|folder| root.join(folder));
    let mut paths = tidy::files(&folders, "rs")?;
    paths.extend(tidy::files(&folders, "md")?);
    paths.extend(tidy::pages_of(root)?);
    for path in paths {
        let inside = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        // This list itself.
        if inside == "xtask/src/words.rs" {
            continue;
        }
        for (number, line) in
            prose(&tidy::read(&path)?, path.extension().is_some_and(|it| it == "rs"))
        {
            for phrase in phrases(line) {
                let key = (folder(&inside), phrase);
                places.entry(key).or_default().push(format!("{inside}:{number}"));
            }
        }
    }
    for ((folder, phrase), places) in places {
        let left = LEFT.iter().find(|(of, what, _)| (*of, *what) == (folder.as_str(), phrase));
        let left = left.map_or(0, |(_, _, count)| *count);
        if places.len() > left {
            let better = PHRASES.iter().find(|(name, _)| *name == phrase).map_or("", |pair| pair.1);
            found.push(format!(
                "{folder}: `{phrase}` {} times, {left} may be left; write {better}: {}",
                places.len(),
                places.join(", ")
            ));
        } else if places.len() < left {
            println!("words: {folder} has `{phrase}` only {} times; lower its count", places.len());
        }
    }
    Ok(())
}

/// `crates/NAME`, the first folder, or `.` for files of the root.
fn folder(inside: &str) -> String {
    let parts: Vec<&str> = inside.split('/').collect();
    match parts[..] {
        ["crates", name, ..] => format!("crates/{name}"),
        [first, _, ..] => first.to_owned(),
        _ => ".".to_owned(),
    }
}

/// The numbers of lines, and what of them people read: all of a page; of code what follows a quote or a comment mark, and
/// texts that go on over several lines.
fn prose(text: &str, is_code: bool) -> Vec<(usize, &str)> {
    let mut goes_on = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = match () {
            () if !is_code || goes_on => Some(0),
            () => [line.find('"'), line.find("//")].into_iter().flatten().min(),
        };
        goes_on = is_code && start.is_some() && line.ends_with('\\');
        lines.extend(start.and_then(|start| line.get(start..)).map(|piece| (index + 1, piece)));
    }
    lines
}

/// The phrases that a line has, as often as it has them.
fn phrases(line: &str) -> Vec<&'static str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    let line = line.to_ascii_lowercase();
    let words: Vec<&str> = line.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (phrase, _) in PHRASES {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        for (at, window) in words.windows(wanted.len()).enumerate() {
            let (before, after) = (&words[..at], words.get(at + wanted.len()));
            if window == wanted && !is_fine(phrase, before, after.copied().unwrap_or_default()) {
                found.push(phrase);
            }
        }
    }
    found
}

/// Left behind, so many that, there is no, is no longer.
fn is_fine(phrase: &str, before: &[&str], after: &str) -> bool {
    let is_among = |word: &str, list: &[&str]| list.contains(&word);
    match phrase {
        "behind" => {
            before.iter().any(|word| is_among(word, &["left", "leave", "leaves", "leaving"]))
        }
        "so many" | "so much" => after == "that",
        "is no" | "are no" => {
            is_among(before.last().unwrap_or(&""), &["there", "here", "it"])
                || is_among(after, &["longer", "more", "less", "good", "matter", "reason", "use"])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{phrases, prose};

    #[test]
    fn phrases_are_whole_words_with_exceptions() {
        assert_eq!(phrases("a block is no part; bytes behind it"), ["behind", "is no"]);
        assert_eq!(phrases("There is no part, encode_behind left nothing behind"), [""; 0]);
        assert_eq!(phrases("so many that it stops, so many rows"), ["so many"]);
        assert_eq!(phrases("is nothing, is no longer"), [""; 0]);
    }

    #[test]
    fn comments_and_texts_are_prose() {
        let code = "let behind = 1;\nlet x = \"a \\\n  b\"; // c\ncode();";
        let lines: Vec<usize> = prose(code, true).iter().map(|(number, _)| *number).collect();
        assert_eq!(lines, [2, 3]);
        assert_eq!(prose("text", false), [(1, "text")]);
    }
}
