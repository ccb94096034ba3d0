//! Where the objects of a disk lie: in a store or, as a copy, on this machine.

use super::metadata::Piece;
use super::place;
use crate::error::{StoreError, io as told_io};
use crate::{is_url, open_with, settings};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::{ReadAt, Storage};

/// The variable for all disks; for one of them, its name follows.
const VARIABLE: &str = "TAMBOUR_DISK";
/// Names of disks that nobody chose: those of tables that have a disk of their own.
const UNNAMED: &str = "__tmp_internal_";

/// The objects of a disk.
#[derive(Debug)]
pub(super) struct Objects {
    storage: Arc<dyn Storage>,
    /// The endpoint, with its prefix.
    place: PathBuf,
}

impl Objects {
    pub(super) fn new(storage: Arc<dyn Storage>, place: &Path) -> Self {
        Self { storage, place: place.to_owned() }
    }

    /// Where the environment says that they are. One of the disk's files is named if it says nothing.
    pub(super) fn find(disk: &Path, path: &Path) -> Result<Self, StoreError> {
        let variables = settings::variables();
        let own = place::name(disk).filter(|name| !name.starts_with(UNNAMED)).map(variable);
        let names = own.iter().map(String::as_str).chain([VARIABLE]);
        let set = |name: &str| Some((name.to_owned(), variables.get(name)?));
        let Some((name, value)) = names.filter_map(set).find(|(_, value)| !value.is_empty()) else {
            let name = own.unwrap_or_else(|| VARIABLE.to_owned());
            return Err(StoreError::NoDisk { path: path.to_owned(), name });
        };
        let place = Path::new(value);
        if is_url(place) {
            return Ok(Self::new(open_with(place, &variables)?, place));
        }
        let storage = tambour_storage::disk();
        if storage.list(place).is_err() {
            return Err(StoreError::DiskPlace { name, value: value.clone() });
        }
        let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        Ok(Self::new(storage, &place))
    }

    /// Opens the object of a piece, for the file at `path`, and compares its size.
    pub(super) fn open(
        &self,
        piece: &Piece,
        is_whole: bool,
        path: &Path,
    ) -> io::Result<Arc<dyn ReadAt>> {
        let wrong = |problem| {
            let path = path.to_owned();
            told_io(Arc::new(StoreError::Metadata { path, problem }))
        };
        let places = self.places(&piece.key, is_whole);
        for place in &places {
            let object = match self.storage.open(place) {
                Err(error) if super::is_nothing(&error) => continue,
                object => object?,
            };
            if object.len() == piece.size {
                return Ok(object);
            }
            let (got, expected) = (object.len(), piece.size);
            let place = place.display();
            return Err(wrong(format!("its object {place} has {got} bytes, not {expected}")));
        }
        let place = places.first().unwrap_or(&self.place).display();
        Err(wrong(format!("its object {place} does not exist")))
    }

    /// Where an object may be. A key that begins at the bucket has the end of the endpoint at its beginning: `prefix/abc/def` below
    /// `s3://bucket/prefix`. A copy may begin anywhere between, so that shorter ends are tried next.
    fn places(&self, key: &str, is_whole: bool) -> Vec<PathBuf> {
        if !is_whole {
            return vec![self.place.join(key)];
        }
        // Of a URL, the scheme and the bucket are not part of any key.
        let fixed = if is_url(&self.place) { 2 } else { 0 };
        let own: Vec<_> = self.place.components().skip(fixed).collect();
        let wanted: Vec<_> = Path::new(key).components().collect();
        let most = own.len().min(wanted.len().saturating_sub(1));
        let overlaps = (0..=most).rev().filter(|&count| own.ends_with(&wanted[..count]));
        let roots = overlaps.filter_map(|count| self.place.ancestors().nth(count));
        roots.map(|root| root.join(key)).collect()
    }
}

/// The variable of a disk.
fn variable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{VARIABLE}_{}", name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_storage::memory::Memory;

    #[test]
    fn keys_begin_at_the_bucket_or_at_the_endpoint() {
        for (place, key, is_whole, expected) in [
            (
                "s3://bucket/pre",
                "pre/abc/def",
                true,
                &["s3://bucket/pre/abc/def", "s3://bucket/pre/pre/abc/def"][..],
            ),
            ("s3://bucket/a/b/", "a/b/x", true, &["s3://bucket/a/b/x", "s3://bucket/a/b/a/b/x"]),
            ("s3://bucket", "pre/abc/def", true, &["s3://bucket/pre/abc/def"]),
            ("s3://pre", "pre/abc/def", true, &["s3://pre/pre/abc/def"]),
            ("s3://bucket/pre", "abc/def", false, &["s3://bucket/pre/abc/def"]),
            ("/copy/pre", "pre/x", true, &["/copy/pre/x", "/copy/pre/pre/x"]),
            ("/copy", "copy", true, &["/copy/copy"]),
        ] {
            let objects = Objects::new(Arc::new(Memory::new()), Path::new(place));
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(objects.places(key, is_whole), expected, "{place} {key}");
        }
        assert_eq!(variable("s3-cold.1"), "TAMBOUR_DISK_S3_COLD_1");
    }
}
