//! The directory of a store: its marker, its categories, the names of its files.

use super::RecordError;
use super::codec::Codec;
use super::view::{View, ViewOptions};
use super::writer::Writer;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_kernel::hash::crc32c;
use tambour_storage::commit::{Replaced, replace};
use tambour_storage::{Storage, StorageError};

/// The file that makes a directory a record store.
pub const MARKER: &str = "tambour-records.json";
/// The dictionary for the next open segment of a category.
pub(super) const NEXT_DICTIONARY: &str = "next.dictionary";
/// Longest marker that is read.
const MARKER_BYTES_MAX: u64 = 1 << 16;
/// Longest name of a category.
const NAME_BYTES_MAX: usize = 64;
/// So often a directory is listed again that changes meanwhile.
const LISTINGS_MAX: usize = 16;
/// Least and most raw bytes of a segment.
const SEGMENT_BYTES: (u64, u64) = (1 << 10, 256 << 20);

/// What a store is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Raw bytes after which a segment is full: 16 to 64 MiB is a good choice.
    pub segment_bytes: u64,
    /// How sealed segments are encoded.
    pub codec: Codec,
}

impl Default for Settings {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, codec: Codec::Lz4 }
    }
}

/// The marker as JSON.
#[derive(Serialize, Deserialize)]
struct Marker {
    schema: String,
    store: String,
    segment_bytes: u64,
    codec: String,
    /// Sum of the other fields.
    sum: u32,
}

impl Marker {
    fn sum_of(&self) -> u32 {
        let Self { schema, store, segment_bytes, codec, .. } = self;
        crc32c(0, format!("{schema} {store} {segment_bytes} {codec}").as_bytes())
    }
}

const SCHEMA: &str = "tambour/records/1";

/// A record store: a directory of categories.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use std::sync::Arc;
/// # use tambour_record::*;
/// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
/// # let writer = store.writer("default")?;
/// store.writer("audit")?.append(b"somebody logged in", None)?;
/// assert_eq!(store.categories()?, ["audit", "default"]);
/// assert!(RecordStore::is_at(&*storage, "events".as_ref()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RecordStore {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) path: PathBuf,
    /// Number of the store, in all its files.
    pub(super) number: u64,
    pub(super) settings: Settings,
}

impl RecordStore {
    /// Makes a store in a new or empty directory.
    pub fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        settings: &Settings,
    ) -> Result<Self, RecordError> {
        if !(SEGMENT_BYTES.0..=SEGMENT_BYTES.1).contains(&settings.segment_bytes) {
            let (least, most) = SEGMENT_BYTES;
            let problem = format!("segments have {least} to {most} bytes");
            return Err(RecordError::Argument { problem });
        }
        let exists = storage.exists(path).map_err(RecordError::file("look for", path))?;
        if !exists {
            storage.create_directory(path).map_err(RecordError::file("create", path))?;
            sync_parent(&**storage, path)?;
        } else if !storage.list(path).map_err(RecordError::file("list", path))?.is_empty() {
            return Err(RecordError::Exists { path: path.to_owned() });
        }
        // Keys of a hasher are random: nothing else here needs randomness.
        let number = RandomState::new().build_hasher().finish();
        let (storage, path) = (Arc::clone(storage), path.to_owned());
        let store = Self { storage, path, number, settings: settings.clone() };
        replace_file(&*store.storage, &store.path, MARKER, &store.marker())?;
        Ok(store)
    }

    /// The text of the marker.
    pub(super) fn marker(&self) -> Vec<u8> {
        let mut marker = Marker {
            schema: SCHEMA.to_owned(),
            store: format!("{:016x}", self.number),
            segment_bytes: self.settings.segment_bytes,
            codec: self.settings.codec.name().to_owned(),
            sum: 0,
        };
        marker.sum = marker.sum_of();
        serde_json::to_vec_pretty(&marker).expect("a marker is plain numbers and texts")
    }

    /// The store whose marker cannot be read, as its files tell: the number that most of them have. `None` without files.
    pub(super) fn guess(
        storage: &Arc<dyn Storage>,
        path: &Path,
    ) -> Result<Option<Self>, RecordError> {
        let mut store = Self {
            storage: Arc::clone(storage),
            path: path.to_owned(),
            number: 0,
            settings: Settings::default(),
        };
        let mut numbers = std::collections::BTreeMap::<u64, usize>::new();
        for category in store.categories()? {
            let directory = store.directory(&category)?;
            for (base, kind, _) in segment_files(&**storage, &directory)? {
                let file = directory.join(file_name(base, kind));
                let number = match kind {
                    FileKind::Sealed => storage
                        .open(&file)
                        .ok()
                        .and_then(|opened| super::sealed::read_header(&*opened, &file).ok())
                        .map(|(header, _)| header.store),
                    FileKind::Open => super::open::OpenSegment::read(&**storage, &file, None, None)
                        .ok()
                        .map(|open| open.header.store),
                };
                if let Some(number) = number {
                    *numbers.entry(number).or_default() += 1;
                }
            }
        }
        let Some((number, _)) = numbers.into_iter().max_by_key(|entry| entry.1) else {
            return Ok(None);
        };
        store.number = number;
        Ok(Some(store))
    }

    /// Whether a directory is a record store.
    pub fn is_at(storage: &dyn Storage, path: &Path) -> bool {
        storage.exists(&path.join(MARKER)).unwrap_or(false)
    }

    /// Opens a store.
    pub fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, RecordError> {
        let file = path.join(MARKER);
        let text = storage.read(&file, MARKER_BYTES_MAX).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                RecordError::NotAStore { path: path.to_owned(), marker: MARKER }
            }
            _ => RecordError::file("read", &file)(cause),
        })?;
        let bad = |what, expected: &str, got: String| RecordError::Corrupt {
            path: file.clone(),
            offset: 0,
            what,
            expected: expected.to_owned(),
            got,
        };
        let marker: Marker = serde_json::from_slice(&text)
            .map_err(|error| bad("the marker", "JSON", error.to_string()))?;
        if marker.schema != SCHEMA {
            return Err(bad("schema of the marker", SCHEMA, marker.schema));
        }
        let sum = marker.sum_of();
        if marker.sum != sum {
            return Err(bad("sum of the marker", &sum.to_string(), marker.sum.to_string()));
        }
        let number = u64::from_str_radix(&marker.store, 16)
            .map_err(|_| bad("number of the store", "16 hexadecimal digits", marker.store))?;
        let codec = [Codec::Raw, Codec::Lz4, Codec::Zstd]
            .into_iter()
            .find(|codec| codec.name() == marker.codec)
            .ok_or_else(|| bad("codec", "raw, lz4 or zstd", marker.codec))?;
        let (least, most) = SEGMENT_BYTES;
        if !(least..=most).contains(&marker.segment_bytes) {
            let got = marker.segment_bytes.to_string();
            return Err(bad("bytes of a segment", &format!("{least} to {most}"), got));
        }
        let settings = Settings { segment_bytes: marker.segment_bytes, codec };
        Ok(Self { storage: Arc::clone(storage), path: path.to_owned(), number, settings })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the store was made for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Names of all categories, sorted.
    pub fn categories(&self) -> Result<Vec<String>, RecordError> {
        let entries =
            self.storage.list(&self.path).map_err(RecordError::file("list", &self.path))?;
        let categories =
            entries.into_iter().filter(|e| e.is_directory && check_name(&e.name).is_ok());
        Ok(categories.map(|entry| entry.name).collect())
    }

    /// The directory of a category.
    pub(super) fn directory(&self, category: &str) -> Result<PathBuf, RecordError> {
        check_name(category)?;
        Ok(self.path.join(category))
    }

    /// Opens a category for reading, as it is now.
    pub fn view(&self, category: &str, options: &ViewOptions) -> Result<View, RecordError> {
        View::open(self, category, options)
    }

    /// Opens a category for writing; makes it if it is not there. Nobody else may be writing to it.
    pub fn writer(&self, category: &str) -> Result<Writer, RecordError> {
        Writer::open(self, category)
    }
}

/// The category that a store has before anybody names one.
pub(super) const DEFAULT: &str = "default";

/// Names of categories are names of directories everywhere.
fn check_name(name: &str) -> Result<(), RecordError> {
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty()
        || name.len() > NAME_BYTES_MAX
        || name.starts_with('.')
        || !name.chars().all(good)
    {
        let problem = format!(
            "{name:?} is not a name for a category: use up to {NAME_BYTES_MAX} letters, digits, `_`, `-`, `.`"
        );
        return Err(RecordError::Argument { problem });
    }
    Ok(())
}

/// The category that a file lies in: the name of its directory.
pub(super) fn category_of(file: &Path) -> &str {
    let directory = file.parent().and_then(Path::file_name);
    directory.and_then(std::ffi::OsStr::to_str).unwrap_or_default()
}

/// What a file of a category is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    Sealed,
    Open,
}

/// Name of the file of a segment.
pub(super) fn file_name(base: u64, kind: FileKind) -> String {
    let extension = if kind == FileKind::Sealed { "sealed" } else { "open" };
    format!("{base:020}.{extension}")
}

/// Segment files of a category, by base; a sealed one before an open one of the same base.
pub(super) fn segment_files(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Vec<(u64, FileKind, u64)>, RecordError> {
    let entries = storage.list(directory).map_err(RecordError::file("list", directory))?;
    let mut files: Vec<_> = entries
        .iter()
        .filter(|entry| entry.is_file)
        .filter_map(|entry| {
            let (base, extension) = entry.name.split_once('.')?;
            let kind = match extension {
                "sealed" => FileKind::Sealed,
                "open" => FileKind::Open,
                _ => return None,
            };
            let number: u64 = base.parse().ok()?;
            (base.len() == 20).then_some((number, kind, entry.length))
        })
        .collect();
    files.sort_unstable();
    Ok(files)
}

/// The same, listed until nothing changes: a directory that is listed while files are renamed may show neither the old name nor
/// the new one.
pub(super) fn settled_files(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Vec<(u64, FileKind, u64)>, RecordError> {
    let mut files = segment_files(storage, directory)?;
    for _ in 0..LISTINGS_MAX {
        let again = segment_files(storage, directory)?;
        let names = |files: &[(u64, FileKind, u64)]| -> Vec<_> {
            files.iter().map(|file| (file.0, file.1)).collect()
        };
        let same = names(&files) == names(&again);
        files = again;
        if same {
            break;
        }
    }
    Ok(files)
}

/// Replaces a file atomically and durably.
pub(super) fn replace_file(
    storage: &dyn Storage,
    directory: &Path,
    name: &str,
    contents: &[u8],
) -> Result<(), RecordError> {
    match replace(storage, directory, name, contents) {
        Replaced::Durable => Ok(()),
        Replaced::Unchanged(error) | Replaced::Unknown(error) => Err(from_store(error, directory)),
    }
}

/// The same error, as one of records.
pub(super) fn from_store(error: StorageError, directory: &Path) -> RecordError {
    match error {
        StorageError::Locked { path, holder } => RecordError::Locked { path, holder },
        StorageError::File { operation, path, cause } => {
            RecordError::File { operation, path, cause }
        }
        other => RecordError::File {
            operation: "change",
            path: directory.to_owned(),
            cause: std::io::Error::other(other),
        },
    }
}

/// Makes the name of a new directory durable.
pub(super) fn sync_parent(storage: &dyn Storage, path: &Path) -> Result<(), RecordError> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    storage.sync_directory(parent).map_err(RecordError::file("sync", parent))
}
