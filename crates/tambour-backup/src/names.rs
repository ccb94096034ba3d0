//! Files by name, and the directories that their names imply.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use tambour_storage::Entry;
use tambour_storage::read_only::plain;

/// Values of files by their names, which are relative and have `/` between their parts.
#[derive(Debug)]
pub(crate) struct Names<T> {
    files: BTreeMap<String, T>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { files: BTreeMap::new() }
    }
}

impl<T> Names<T> {
    /// Adds a file; false if the name is not that of a file below a root, or is taken.
    pub(crate) fn add(&mut self, name: &str, file: T) -> bool {
        let Some(name) = plain(Path::new(name)).filter(|name| !name.is_empty()) else {
            return false;
        };
        self.files.insert(name, file).is_none()
    }

    /// The file of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&T> {
        self.files.get(name)
    }

    /// All files, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file))
    }

    /// True for a file, or a directory that a file is in; the root is there always.
    pub(crate) fn exists(&self, name: &str) -> bool {
        self.files.contains_key(name) || name.is_empty() || self.below(name).next().is_some()
    }

    /// What a directory holds, sorted by name; `NotFound` if no file is in it.
    pub(crate) fn list(
        &self,
        directory: &str,
        length: impl Fn(&T) -> u64,
    ) -> io::Result<Vec<Entry>> {
        let skip = if directory.is_empty() { 0 } else { directory.len() + 1 };
        let mut entries = BTreeMap::new();
        for (name, file) in self.below(directory) {
            let rest = &name[skip..];
            let (own, is_file) = match rest.split_once('/') {
                Some((own, _)) => (own, false),
                None => (rest, true),
            };
            let length = if is_file { length(file) } else { 0 };
            let entry = Entry { name: own.to_owned(), is_directory: !is_file, is_file, length };
            entries.insert(own, entry);
        }
        let found = !entries.is_empty() || directory.is_empty();
        if found { Ok(entries.into_values().collect()) } else { Err(ErrorKind::NotFound.into()) }
    }

    /// The files in a directory and below.
    fn below(&self, directory: &str) -> impl Iterator<Item = (&str, &T)> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let start = self.files.range(prefix.clone()..);
        start.take_while(move |(name, _)| name.starts_with(&prefix)).map(|(n, f)| (n.as_str(), f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_those_of_the_names() {
        let mut names = Names::default();
        for (name, length) in [("a/b/c", 3), ("a/d", 1), ("./e", 2), ("a.b", 4)] {
            assert!(names.add(name, length), "{name}");
        }
        for wrong in ["/a", "../a", "a/../b", "", ".", "a/d"] {
            assert!(!names.add(wrong, 9), "{wrong:?}");
        }
        let list = |directory: &str| {
            let entries = names.list(directory, |&length| length).ok()?;
            let shown = entries.into_iter().map(|it| (it.name, it.is_directory, it.length));
            Some(shown.collect::<Vec<_>>())
        };
        let entry = |name: &str, is_directory, length| (name.to_owned(), is_directory, length);
        let root = vec![entry("a", true, 0), entry("a.b", false, 4), entry("e", false, 2)];
        assert_eq!(list(""), Some(root));
        assert_eq!(list("a"), Some(vec![entry("b", true, 0), entry("d", false, 9)]));
        assert_eq!(list("a/b"), Some(vec![entry("c", false, 3)]));
        assert_eq!(list("x"), None);
        assert!(names.exists("a/b") && names.exists("") && !names.exists("a/bc"));
    }
}
