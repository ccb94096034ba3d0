//! The guides as a book: `docs/SUMMARY.md` is its table of contents, `cargo xtask book` builds it with mdBook, and tidy
//! checks it without: every page is listed, every link and every anchor leads somewhere.

use crate::tidy::{files, read};
use crate::{Outcome, programs, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Builds the book into `target/book`.
pub(crate) fn build() -> Outcome {
    programs::MDBOOK.check()?;
    run("mdbook", &["build"])?;
    println!("the book: target/book/index.html");
    Ok(())
}

/// All that is wrong with the pages.
pub(crate) fn check(root: &Path, found: &mut Vec<String>) -> Outcome {
    let mut pages = files(&[root.join("docs"), root.join("data"), root.join("golden")], "md")?;
    for entry in fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    for member in crate::tidy::directories(&root.join("crates"))? {
        pages.extend(Some(member.join("README.md")).filter(|path| path.exists()));
    }
    for page in &pages {
        links(root, page, found)?;
    }
    summary(root, found)
}

/// Relative links lead to files, and their anchors to headings; those of the book stay in it.
fn links(root: &Path, page: &Path, found: &mut Vec<String>) -> Outcome {
    let shown = page.strip_prefix(root).unwrap_or(page).display();
    let folder = page.parent().unwrap_or(root);
    let is_guide = page.starts_with(root.join("docs"));
    for link in targets(&read(page)?) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let target = if path.is_empty() { page.to_path_buf() } else { folder.join(path) };
        if !target.exists() {
            found.push(format!("{shown}: link to {path} leads nowhere"));
        } else if is_guide && !normal(&target).starts_with(root.join("docs")) {
            found.push(format!("{shown}: {path} is not in the book; link to its address"));
        } else if !anchor.is_empty()
            && target.extension().is_some_and(|it| it == "md")
            && !anchors(&read(&target)?).contains(anchor)
        {
            found.push(format!("{shown}: {link} names a heading that is not there"));
        }
    }
    Ok(())
}

/// Every page below `docs/` is in the summary once.
fn summary(root: &Path, found: &mut Vec<String>) -> Outcome {
    let folder = root.join("docs");
    let listed: Vec<PathBuf> = targets(&read(&folder.join("SUMMARY.md"))?)
        .into_iter()
        .map(|link| normal(&folder.join(link)))
        .collect();
    for page in files(std::slice::from_ref(&folder), "md")? {
        let times = listed.iter().filter(|path| **path == page).count();
        let shown = page.strip_prefix(root).unwrap_or(&page).display();
        if times != 1 && !page.ends_with("SUMMARY.md") {
            found.push(format!("docs/SUMMARY.md: has {shown} {times} times, not once"));
        }
    }
    Ok(())
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        if component == Component::ParentDir {
            path.pop();
        } else {
            path.push(component);
        }
        path
    })
}

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Targets of the links of a page.
fn targets(text: &str) -> Vec<String> {
    let links = prose(text).flat_map(|line| line.split("](").skip(1));
    let ends = |link: &str| link.split([')', ' ']).next().unwrap_or_default().to_owned();
    links.map(ends).filter(|link| !link.is_empty()).collect()
}

/// Anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let headings = prose(text).filter(|line| line.starts_with('#'));
    for heading in headings.map(|line| line.trim_start_matches('#').trim()) {
        let kept = heading.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            letter if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
            _ => None,
        });
        let anchor: String = kept.collect();
        let again = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|it| !anchors.contains(it));
        anchors.extend(free);
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::{anchors, normal, targets};
    use std::path::{Path, PathBuf};

    #[test]
    fn links_in_code_do_not_count() {
        let text = "[a](b.md#c) and [d](e.md \"title\")\n```\n[f](g.md)\n```\n[h](#i)\n";
        assert_eq!(targets(text), ["b.md#c", "e.md", "#i"]);
    }

    #[test]
    fn headings_make_anchors() {
        let anchors = anchors("# The book\n## Import, `sql`\n```\n# no\n```\n## A\n### A\n");
        let anchors: Vec<&str> = anchors.iter().map(String::as_str).collect();
        assert_eq!(anchors, ["a", "a-1", "import-sql", "the-book"]);
    }

    #[test]
    fn paths_without_steps_up() {
        assert_eq!(normal(Path::new("/a/b/../c.md")), PathBuf::from("/a/c.md"));
    }
}
