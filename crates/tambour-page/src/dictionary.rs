//! Dictionaries for zstd and LZ4: what the store has.

use std::sync::Arc;

/// Largest dictionary that is read.
pub(crate) const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// Most dictionaries of a store.
pub(crate) const DICTIONARIES_MAX: usize = 1024;

/// A dictionary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dictionary {
    /// Its number, from 1.
    pub(crate) id: u16,
    pub(crate) bytes: Vec<u8>,
}

/// The dictionaries of a store. Clones share the bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dictionaries(Vec<Arc<Dictionary>>);

impl Dictionaries {
    pub(crate) fn get(&self, id: u16) -> Option<&Arc<Dictionary>> {
        self.0.iter().find(|dictionary| dictionary.id == id)
    }

    pub(crate) fn add(&mut self, dictionary: Dictionary) {
        self.0.push(Arc::new(dictionary));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Dictionary>> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number after the highest.
    pub(crate) fn next_id(&self) -> Option<u16> {
        self.0.iter().map(|dictionary| dictionary.id).max().unwrap_or(0).checked_add(1)
    }
}
