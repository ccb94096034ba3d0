//! An opened part: its metadata, all of it checked, and readers of its columns.

mod damaged;
mod facts;
mod files;
mod keys;
mod layouts;
mod marks;
mod mend;
mod open;
mod rebuild;
mod sizes;
mod skip;
mod view;

pub(crate) use files::{PROJECTION_SUFFIX, PartFiles, file_hash, refuse_holes};
pub(crate) use open::ROW_EXISTS;
pub(crate) use skip::SKIP_INDEX_PREFIX;

use crate::PartError;
use crate::column::{Layout, Stream};
use crate::mark::{Granules, MarkFormat, Marks};
use crate::stream::cache::{BlockCache, PartCache};
use crate::types::{Column, DataType, Strings};
use arrow_array::ArrayRef;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tambour_storage::{Lock, Storage};

pub use crate::budget::BATCH_BYTES_MAX;
pub use crate::read::{CACHED_GRANULES_MAX, PartReader, RowFilter};
pub use crate::verify::{Damage, Verification};
pub use facts::{StreamMarks, Totals};
pub use mend::Mend;
pub use skip::{SkipBytes, SkipFile, SkipSizes};
pub(crate) use view::single;
pub use view::{Derive, Seen, SeenKey, Source, View};

/// How the data of a part is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file per stream.
    Wide,
    /// One data.bin.
    Compact,
}

/// Sizes of one column in bytes. A stream that Nested columns share counts for the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSize {
    /// Its `.bin` files (in a compact part: its share of data.bin).
    pub compressed: u64,
    /// The same after decoding.
    pub uncompressed: u64,
    /// Its mark files (in a compact part: its share of the one).
    pub marks: u64,
    /// The codecs that its blocks really use, as `CODEC(…)` texts without duplicates, most blocks first.
    pub codecs: Vec<String>,
}

/// A column that is there but cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableColumn {
    /// Its name, unescaped.
    pub name: String,
    /// Its type as columns.txt has it.
    pub type_text: String,
    /// What is not supported.
    pub reason: String,
}

/// What a caller knows of a part that the part does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The table's `index_granularity`. Parts with `.mrk` or `.cmrk` do not record it; without it, it is taken from the
    /// marks of a column whose values have a fixed width, or else assumed to be ClickHouse's default of 8192.
    pub index_granularity: Option<u64>,
    /// The name that the directory may be given while it is read: files that are gone are looked for there.
    pub renamed_to: Option<PathBuf>,
    /// Opens what is left of a part that is too damaged to be opened: files that are gone make their columns unreadable
    /// instead of the part, and sizes and hashes of checksums.txt are not asked for. Blocks, marks and values are checked
    /// as ever when they are read.
    pub damaged: bool,
    /// The table's columns, for a damaged part whose own list of them is lost, or says something else without proof.
    pub columns: Option<Vec<Column>>,
    /// The hash that the table knows the part by ([`Part::content_hash`]), for a damaged part: tells a checksums.txt that is
    /// another part's.
    pub content_hash: Option<String>,
}

/// A column and how it lies in the part.
#[derive(Clone, Debug)]
pub(crate) struct StoredColumn {
    pub(crate) column: Column,
    pub(crate) layout: Layout,
    /// Its place in columns.txt.
    pub(crate) position: usize,
    pub(crate) streams: Vec<Stream>,
}

/// What only compact parts have.
#[derive(Clone, Debug)]
pub(crate) struct CompactLayout {
    pub(crate) marks: Marks,
    /// First mark of each column of columns.txt in a record.
    pub(crate) bases: Vec<usize>,
    /// Substreams of each column, if marks are per substream.
    pub(crate) substreams: Option<Vec<Vec<String>>>,
}

/// Name of the data file of a compact part.
pub(crate) const COMPACT_FILE: &str = "data.bin";

/// An immutable directory of sorted rows.
#[derive(Debug)]
pub struct Part {
    pub(crate) files: PartFiles,
    name: String,
    content_hash: String,
    rows: u64,
    /// Readable columns that users see, and how they lie.
    columns: Vec<Column>,
    pub(crate) stored: Vec<StoredColumn>,
    /// The mask of lightweight deletes.
    pub(crate) row_exists: Option<StoredColumn>,
    unreadable: Vec<UnreadableColumn>,
    pub(crate) format: MarkFormat,
    pub(crate) granules: Granules,
    pub(crate) compact: Option<CompactLayout>,
    /// Marks of streams that were read so far, by stem.
    marks: Mutex<HashMap<String, Arc<Marks>>>,
    /// Files of marks in the place of which others were found.
    rebuilt: Vec<String>,
    /// `partition.dat` and `minmax_*.idx`.
    values: BTreeMap<String, Vec<u8>>,
    index: Mutex<Option<LoadedIndex>>,
    sizes: OnceLock<Vec<ColumnSize>>,
    /// How its table sees it, if not as it is.
    view: Option<View>,
    /// Where small reads look for blocks first.
    pub(crate) blocks: OnceLock<PartCache>,
    /// Keeps writers from removing its directory.
    held: Option<Arc<dyn Lock>>,
}

/// The primary index and the types it was decoded with.
type LoadedIndex = (Vec<DataType>, Vec<ArrayRef>);

impl Part {
    /// Opens a part and checks its metadata: every small file against its hash in checksums.txt, every listed file's size,
    /// marks against count.txt, the partition id in the directory's name against partition.dat. Mark files and the
    /// primary index are checked when they are first used.
    pub fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Self, PartError> {
        Self::open_with(storage, path, &OpenOptions::default())
    }
    /// The same, with what the caller knows of the table.
    pub fn open_with(
        storage: &Arc<dyn Storage>,
        path: &Path,
        options: &OpenOptions,
    ) -> Result<Self, PartError> {
        if options.damaged {
            return damaged::open(storage, path, options);
        }
        open::open(storage, path, options)
    }
    /// The same part once more, without what was read of it so far: locks cannot be copied.
    fn again(&self) -> Self {
        Self {
            files: self.files.again(),
            name: self.name.clone(),
            content_hash: self.content_hash.clone(),
            rows: self.rows,
            columns: self.columns.clone(),
            stored: self.stored.clone(),
            row_exists: self.row_exists.clone(),
            unreadable: self.unreadable.clone(),
            format: self.format,
            granules: self.granules.clone(),
            compact: self.compact.clone(),
            marks: Mutex::new(self.found_marks()),
            rebuilt: self.rebuilt.clone(),
            values: self.values.clone(),
            index: Mutex::default(),
            sizes: self.sizes.clone(),
            view: self.view.clone(),
            blocks: self.blocks.clone(),
            held: self.held.clone(),
        }
    }
    /// The same part, which keeps something as long as it is there: what stops its directory from being removed.
    #[must_use]
    pub fn holding(self, held: Arc<dyn Lock>) -> Self {
        Self { held: Some(held), ..self }
    }
    /// From now on, reads of a few granules keep the blocks that they decode, and look for them there. The first call counts.
    pub fn cache_blocks(&self, cache: &Arc<BlockCache>) {
        let hash = self.is_proven().then_some(self.content_hash.as_str());
        self.blocks.get_or_init(|| PartCache::new(cache, hash));
    }
    /// The directory.
    pub fn path(&self) -> &Path {
        &self.files.path
    }
    /// The directory's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// True if checksums.txt was read and is taken for this part's: what it lists is what is there.
    pub fn is_proven(&self) -> bool {
        self.files.sums.is_some()
    }
    /// Wide or compact.
    pub fn form(&self) -> Form {
        if self.format.is_compact() { Form::Compact } else { Form::Wide }
    }
    /// Rows stored. Rows that lightweight deletes hide are counted too, see [`Part::has_deleted_rows`].
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// True if the part has a mask of lightweight deletes, so that readers may hand out fewer than [`Part::rows`].
    pub fn has_deleted_rows(&self) -> bool {
        self.row_exists.is_some()
    }
    /// True if the names of its columns stand in the names of its files or streams, too; false if only columns.txt says them.
    pub fn has_names(&self) -> bool {
        self.compact.as_ref().is_none_or(|compact| compact.substreams.is_some())
    }
    /// The readable columns, in the order of columns.txt, or as its table sees them ([`Part::seen_as`]). ClickHouse's own
    /// (`_row_exists`, `_block_number`, `_block_offset`) are not among them.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// Columns whose type or serialization this version does not know.
    pub fn unreadable_columns(&self) -> &[UnreadableColumn] {
        &self.unreadable
    }
    /// Of a damaged part, the bits that were put right in the files that were read so far, each with the name of its file.
    pub fn mends(&self) -> Vec<(String, Mend)> {
        self.files.mends()
    }
    /// Of a damaged part, the files of marks that were lost and found again by reading the streams.
    pub fn rebuilt_marks(&self) -> &[String] {
        &self.rebuilt
    }
    /// Marks that no file has.
    fn found_marks(&self) -> HashMap<String, Arc<Marks>> {
        if self.rebuilt.is_empty() {
            return HashMap::new();
        }
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Rows of each granule (the final mark is dropped).
    pub fn granules(&self) -> &[u64] {
        &self.granules.rows
    }
    /// True if the primary index has an entry for the part's last row.
    pub fn has_final_mark(&self) -> bool {
        self.granules.final_mark
    }
    /// Extension of its mark files (`mrk2`, `cmrk4`, …).
    pub fn mark_extension(&self) -> &str {
        self.format.extension
    }
    /// Bytes of all its files (projections left out).
    pub fn bytes_on_disk(&self) -> u64 {
        self.files.lengths.values().sum()
    }
    /// Its files with their sizes, sorted by name.
    pub fn files(&self) -> Vec<(String, u64)> {
        self.files.lengths.iter().map(|(name, length)| (name.clone(), *length)).collect()
    }
    /// Sizes and codecs per column (reads the block headers of its files, not the payloads). Computed once.
    pub fn column_sizes(&self) -> Result<Vec<ColumnSize>, PartError> {
        if let Some(sizes) = self.sizes.get() {
            return Ok(sizes.clone());
        }
        let stored = sizes::column_sizes(self)?;
        let sizes = match &self.view {
            Some(view) => view.columns.iter().map(|seen| seen.size(&stored)).collect(),
            None => stored,
        };
        Ok(self.sizes.get_or_init(|| sizes).clone())
    }
    /// A hash of the contents (hex): of checksums.txt and columns.txt where there is a checksums.txt, else of names and
    /// sizes.
    pub fn content_hash(&self) -> String {
        self.content_hash.clone()
    }
    /// A reader of some columns over ranges of granules. Lightweight deletes (`_row_exists`) are applied.
    #[expect(clippy::needless_pass_by_value, reason = "a request is made for one read")]
    pub fn read(self: &Arc<Self>, request: ReadRequest) -> Result<PartReader, PartError> {
        PartReader::new(self, &request, false)
    }
    /// The same for a read that is part of a larger one: it leaves the cache of blocks alone, however small it is.
    #[expect(clippy::needless_pass_by_value, reason = "a request is made for one read")]
    pub fn scan(self: &Arc<Self>, request: ReadRequest) -> Result<PartReader, PartError> {
        PartReader::new(self, &request, true)
    }
    /// Reads and checks everything: hashes of all files, all blocks, all marks, all values of all columns.
    pub fn verify(self: &Arc<Self>) -> Verification {
        crate::verify::verify(self)
    }
    /// The same for a part that may be too damaged to be opened: what can be checked without opening it is.
    pub fn verify_at(
        storage: &Arc<dyn Storage>,
        path: &Path,
        options: &OpenOptions,
    ) -> Verification {
        crate::verify::verify_at(storage, path, options)
    }
}

/// What to read of a part.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Indexes into [`Part::columns`], in the order in which they are wanted. May be empty: batches with a row count only.
    pub columns: Vec<usize>,
    /// Ranges of granules, ascending, not overlapping.
    pub granules: Vec<Range<usize>>,
    /// Rows that a batch should have at least (whole granules are read; the last batch of a range may be shorter, and
    /// so is one of rows so wide that it would take more than about 64 MiB).
    pub batch_rows: usize,
    /// How `String` columns are handed out.
    pub strings: Strings,
}
