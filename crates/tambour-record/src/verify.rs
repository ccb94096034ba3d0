//! Checks everything that a store holds.

use super::RecordError;
use super::dictionary;
use super::keys;
use super::layout::{MARKER, NEXT_DICTIONARY, RecordStore};
use super::search;
use super::view::{Segment, View, ViewOptions};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;

/// What was checked and what was found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Categories.
    pub categories: usize,
    /// Segments.
    pub segments: usize,
    /// Records that could be read.
    pub records: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// All that is wrong.
    pub damage: Vec<RecordError>,
}

/// Reads all of a store and checks all sums. An error only when there is no store to check.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use std::sync::Arc;
/// # use tambour_record::*;
/// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
/// # let writer = store.writer("default")?;
/// writer.append(b"whole", None)?;
/// let verified = verify(&storage, "events".as_ref())?;
/// assert_eq!((verified.records, verified.damage.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(storage: &Arc<dyn Storage>, path: &Path) -> Result<Verified, RecordError> {
    let mut verified = Verified::default();
    let store = match RecordStore::open(storage, path) {
        Ok(store) => store,
        Err(error @ RecordError::NotAStore { .. }) => return Err(error),
        Err(error) => {
            verified.damage.push(error);
            return Ok(verified);
        }
    };
    for category in store.categories()? {
        verified.categories += 1;
        match store.view(&category, &ViewOptions { memory_bytes: 0 }) {
            Ok(view) => verify_view(view, &mut verified),
            Err(error) => verified.damage.push(error),
        }
        let file = path.join(&category).join(NEXT_DICTIONARY);
        if storage.exists(&file).unwrap_or(false) {
            verified.damage.extend(check_dictionary(&store, &file).err());
        }
    }
    check_marker(&store, &mut verified);
    Ok(verified)
}

/// The number in the marker is that in all files; that is what its own digits are checked by.
pub(super) fn check_marker(store: &RecordStore, verified: &mut Verified) {
    let path = store.path.join(MARKER);
    match store.storage.read(&path, 1 << 16) {
        Ok(text) if text == store.marker() => {}
        Ok(_) => verified.damage.push(RecordError::Corrupt {
            path,
            offset: 0,
            what: "the marker",
            expected: "the text of this format".to_owned(),
            got: "another one".to_owned(),
        }),
        Err(cause) => verified.damage.push(RecordError::file("read", &path)(cause)),
    }
}

pub(super) fn check_dictionary(store: &RecordStore, path: &Path) -> Result<(), RecordError> {
    let bytes = store.storage.read(path, 1 << 20).map_err(RecordError::file("read", path))?;
    let (number, dictionary, _) =
        dictionary::from_file(&bytes).map_err(|damage| damage.within(path, 0))?;
    if number != store.number {
        let (path, expected) = (path.to_owned(), store.number);
        return Err(RecordError::OtherStore { path, expected, got: number });
    }
    // The one way to write it: a flip that was made good is one that is there.
    if dictionary::to_file(&dictionary, number)? != bytes {
        return Err(RecordError::Corrupt {
            path: path.to_owned(),
            offset: 0,
            what: "a dictionary",
            expected: "what was written".to_owned(),
            got: "repairable damage".to_owned(),
        });
    }
    Ok(())
}

/// Checks what reading all records does not.
pub(super) fn check_files(view: &View, found: &mut Vec<RecordError>) {
    for (number, slot) in view.slots.iter().enumerate() {
        match &slot.segment {
            Segment::Sealed(sealed) => {
                if sealed.repairs.is_empty() {
                    found.extend(sealed.check_guard().err());
                }
                // Opened once more, since errors are not to be copied.
                for repair in &sealed.repairs {
                    found.push(repair.again());
                }
            }
            Segment::Open(open) => {
                found.extend(open.damage.iter().map(RecordError::again));
                found.extend(open.check().err());
                // At the end of the log the scan reports it.
                let is_last = number + 1 == view.slots.len();
                found.extend(open.tail_damage().filter(|_| !is_last));
            }
            // Reported by the scan.
            Segment::Broken(..) => {}
        }
    }
}

fn verify_view(view: View, verified: &mut Verified) {
    let view = Arc::new(view);
    verified.segments += view.slots.len();
    check_files(&view, &mut verified.damage);
    keys::check(&view, &mut verified.damage);
    search::check(view.store(), &view, &mut verified.damage);
    let mut reader = view.reader();
    let scanned = reader.scan_each(0..u64::MAX, |scanned| {
        match scanned {
            Ok(scanned) => {
                verified.records += 1;
                verified.raw_bytes += scanned.record.len() as u64;
            }
            Err(error) => verified.damage.push(error),
        }
        ControlFlow::<()>::Continue(())
    });
    debug_assert!(scanned.is_none(), "the visitor does not break");
}
