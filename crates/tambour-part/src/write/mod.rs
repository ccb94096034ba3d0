//! Writing a wide part: rows are cut into granules, each column is encoded by itself, files are hashed on the way.

mod amend;
mod column;
mod cost;
mod mask;
mod recode;
mod sparse;
mod strings;

pub use amend::{Amender, Amendment, can_amend};
pub use mask::{can_mask, mask};
pub use recode::{RecodeSummary, check as check_recode, check_codec, recode};
pub use sparse::{SPARSE_RATIO_DEFAULT, SPARSE_SINCE};
pub use strings::{StringLayout, stored_bytes};

use crate::column::{Layout, check_shared_sizes, write_single};
use crate::manifest::checksums::{CHECKSUMS_FILE, Checksums};
use crate::manifest::columns::{self, COLUMNS_FILE};
use crate::manifest::guard::{GUARD_FILE, Guard, files_hash};
use crate::manifest::serialization::SERIALIZATION_FILE;
use crate::name::escape;
use crate::part::file_hash;
use crate::partition;
use crate::statistics::{ColumnStatistics, Gatherer};
use crate::stream::write::write_file;
use crate::types::{Column, DataType};
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef, RecordBatch};
use column::{ColumnEncoder, Piece};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use strings::Opening;
use tambour_codec::spec::CodecSpec;
use tambour_storage::Storage;

/// Most bytes of a granule before compression in the new dialect; ClickHouse's `index_granularity_bytes`.
pub const GRANULE_BYTES_MAX: u64 = 10 << 20;
/// Fewest rows of a call for which threads are worth their start.
const PARALLEL_ROWS_MIN: usize = 4096;
/// Codecs that ClickHouse 18.16 reads.
const OLD_CODECS: [&str; 4] = ["NONE", "LZ4", "LZ4HC", "ZSTD"];

/// Which ClickHouse versions can attach what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `.mrk2`, final mark (ClickHouse 19.11 and later).
    #[default]
    New,
    /// `.mrk`, no final mark, only NONE, LZ4 and ZSTD (18.16 and everything later).
    Old,
}

impl Dialect {
    /// Extension of the mark files.
    fn extension(self) -> &'static str {
        match self {
            Self::New => "mrk2",
            Self::Old => "mrk",
        }
    }
}

/// What a part to be written is like.
#[derive(Clone, Debug)]
pub struct PartSpec {
    /// Columns with their codecs.
    pub columns: Vec<(Column, CodecSpec)>,
    /// Types of the primary key expressions; empty for `tuple()`.
    pub key_types: Vec<DataType>,
    /// Rows of a granule. In the new dialect a granule of wide rows has fewer, so that it stays under
    /// [`GRANULE_BYTES_MAX`].
    pub index_granularity: usize,
    /// The dialect.
    pub dialect: Dialect,
    /// Threads that may encode columns at the same time (1 = none besides the caller's).
    pub threads: usize,
    /// How strings are laid out; the old dialect has them inline.
    pub strings: StringLayout,
    /// A column is written sparse if a larger share of its first rows than this has the default value: read by ClickHouse 22.1 and
    /// later. `None`, or 1: no column, as in the old dialect.
    pub sparse_ratio: Option<f64>,
}

impl PartSpec {
    fn check(&self) -> Result<(), PartError> {
        if self.columns.is_empty() {
            return Err(PartError::argument("a part needs a column"));
        }
        if self.index_granularity == 0 {
            return Err(PartError::argument("index_granularity must be at least 1"));
        }
        let mut names = std::collections::HashSet::new();
        for (column, codec) in &self.columns {
            let place = || Place::column(&column.name);
            if column.name.is_empty() || !names.insert(&column.name) {
                return Err(PartError::value(place(), "column shares its name with another"));
            }
            check_dialect(self.dialect, &column.name, codec)?;
        }
        Ok(())
    }
}

/// Refuses codecs that the versions of the old dialect do not read.
fn check_dialect(dialect: Dialect, column: &str, codec: &CodecSpec) -> Result<(), PartError> {
    let is_old = codec.is_auto()
        || codec.calls.len() == 1
            && codec.calls.iter().all(|call| OLD_CODECS.contains(&call.name.as_str()));
    if dialect == Dialect::New || is_old {
        return Ok(());
    }
    let reason = format!("the old dialect has no CODEC({codec})");
    Err(PartError::value(Place::column(column), reason))
}

/// The partition of a part: key values, and ranges of its source columns.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    /// Type and one-row array per PARTITION BY expression; empty for none.
    pub values: Vec<(DataType, ArrayRef)>,
    /// Column name, its type, and a two-row array: minimum and maximum.
    pub ranges: Vec<(String, DataType, ArrayRef)>,
}

impl Partition {
    /// The partition id as ClickHouse names it (`all`, `202402`, `202402--5`, 32 hex digits); docs/format/part.md.
    pub fn id(&self) -> Result<String, PartError> {
        let mut values = Vec::new();
        for (data_type, array) in &self.values {
            let mut bytes = Vec::new();
            write_single(array, 0, data_type, &mut bytes)?;
            values.push((data_type, bytes));
        }
        partition::id(values.iter().map(|(data_type, bytes)| (*data_type, bytes.as_slice())))
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartSummary {
    /// Rows.
    pub rows: u64,
    /// Granules.
    pub granules: u64,
    /// Bytes of all files.
    pub bytes_on_disk: u64,
    /// Bytes of the columns before compression.
    pub uncompressed: u64,
    /// Of the columns that have them, if they were asked for.
    pub statistics: Vec<ColumnStatistics>,
}

/// The granule that is open.
#[derive(Clone, Copy, Debug, Default)]
struct OpenGranule {
    rows: usize,
    bytes: u64,
}

/// Writes a part into a new directory (which the caller renames when all is durable). After an error only
/// [`PartWriter::abort`] makes sense; dropping it leaves the directory as it is.
#[derive(Debug)]
pub struct PartWriter {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    spec: PartSpec,
    columns: Vec<ColumnEncoder>,
    /// Beside each column; all empty unless they are asked for.
    gatherers: Vec<Option<Gatherer>>,
    /// The columns of the spec.
    schema: Vec<Column>,
    strings: StringLayout,
    /// Columns that are written sparse.
    sparse: Vec<bool>,
    /// Rows that wait until the layout is chosen.
    opening: Option<Opening>,
    open: OpenGranule,
    /// Rows of all granules, the open one included.
    granules: Vec<u64>,
    rows: u64,
    index: Vec<u8>,
    /// Key of the last row so far.
    last_key: Vec<u8>,
    failed: bool,
}

impl PartWriter {
    /// Creates the directory and prepares the streams.
    pub fn create(
        storage: &Arc<dyn Storage>,
        path: &Path,
        spec: PartSpec,
    ) -> Result<Self, PartError> {
        spec.check()?;
        let candidates = strings::candidates(&spec);
        let has_choice = !candidates.is_empty() || spec.has_sparse_candidates();
        let strings = match (spec.strings, spec.dialect) {
            (StringLayout::Smaller, _) | (_, Dialect::Old) => StringLayout::Inline,
            (asked, Dialect::New) => asked,
        };
        // Made in any case, so that what cannot be written is refused at once.
        let sparse = vec![false; spec.columns.len()];
        let columns = encoders(storage, path, &spec, strings, &sparse)?;
        let schema = spec.columns.iter().map(|(column, _)| column.clone()).collect();
        let gatherers = spec.columns.iter().map(|_| None).collect();
        let created = storage.create_directory(path);
        created.map_err(|cause| PartError::io(path, "create directory", cause))?;
        Ok(Self {
            storage: Arc::clone(storage),
            path: path.to_owned(),
            spec,
            columns,
            gatherers,
            schema,
            strings,
            sparse,
            opening: has_choice.then(|| Opening::new(candidates)),
            open: OpenGranule::default(),
            granules: Vec::new(),
            rows: 0,
            index: Vec::new(),
            last_key: Vec::new(),
            failed: false,
        })
    }

    /// Gathers statistics of the rows to come, for [`PartSummary::statistics`].
    pub fn gather_statistics(&mut self) {
        let columns = self.spec.columns.iter();
        self.gatherers = columns.map(|(column, _)| Gatherer::new(column)).collect();
    }

    /// Appends rows, already sorted. `batch` has the columns of the spec in their order; `keys` the values of the primary
    /// key expressions for the same rows. How rows are cut into calls makes no difference to the granules.
    pub fn write(&mut self, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<(), PartError> {
        self.check_input(batch, keys)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let Some(opening) = &mut self.opening else { return self.append(batch, keys) };
        let is_enough = opening.push(batch, keys);
        if is_enough { self.begin() } else { Ok(()) }
    }

    /// Chooses the layout by the rows that are there, and writes them.
    fn begin(&mut self) -> Result<(), PartError> {
        let Some(opening) = self.opening.take() else { return Ok(()) };
        self.failed = true;
        if let Some(strings) = opening.choose(&self.spec)? {
            self.strings = strings;
        }
        self.sparse = self.spec.sparse_columns(opening.rows, |column| opening.values(column))?;
        let (storage, path, spec) = (&self.storage, &self.path, &self.spec);
        self.columns = encoders(storage, path, spec, self.strings, &self.sparse)?;
        self.failed = false;
        for (batch, keys) in opening.batches {
            self.append(&batch, &keys)?;
        }
        Ok(())
    }

    fn append(&mut self, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<(), PartError> {
        self.failed = true;
        check_shared_sizes(&self.schema, batch.columns(), self.rows)?;
        let pieces = self.cut(batch);
        self.write_keys(keys, &pieces, batch.num_rows() - 1)?;
        let threads = if batch.num_rows() < PARALLEL_ROWS_MIN { 1 } else { self.spec.threads };
        let jobs = self.columns.iter_mut().zip(&mut self.gatherers).zip(batch.columns());
        in_parallel(threads, jobs, |((column, gatherer), values)| {
            if let Some(gatherer) = gatherer {
                let add = |piece: &Piece| {
                    gatherer.add(&values.slice(piece.start, piece.rows), piece.opens);
                };
                pieces.iter().for_each(add);
            }
            column.write(values, &pieces)
        })?;
        self.rows += batch.num_rows() as u64;
        self.failed = false;
        Ok(())
    }

    fn check_input(&self, batch: &RecordBatch, keys: &[ArrayRef]) -> Result<(), PartError> {
        if self.failed {
            return Err(PartError::argument("the part's writer failed before"));
        }
        if batch.num_columns() != self.columns.len() {
            let wanted = self.columns.len();
            let reason = format!("batch has {} columns, the part {wanted}", batch.num_columns());
            return Err(PartError::argument(reason));
        }
        let fits = keys.len() == self.spec.key_types.len()
            && keys.iter().all(|key| key.len() == batch.num_rows());
        if fits { Ok(()) } else { Err(PartError::argument("keys do not fit the batch")) }
    }

    /// Cuts a batch into pieces of granules.
    fn cut(&mut self, batch: &RecordBatch) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < batch.num_rows() {
            let opens = self.open.rows == 0;
            let room = self.spec.index_granularity - self.open.rows;
            let wanted = room.min(batch.num_rows() - start);
            let (rows, bytes) = match self.spec.dialect {
                Dialect::Old => (wanted, 0),
                Dialect::New => {
                    let budget = GRANULE_BYTES_MAX.saturating_sub(self.open.bytes);
                    cost::rows_that_fit(batch, start, wanted, budget, opens)
                }
            };
            if rows == 0 {
                self.open = OpenGranule::default();
                continue;
            }
            pieces.push(Piece { start, rows, opens });
            if opens {
                self.granules.push(0);
            }
            if let Some(granule) = self.granules.last_mut() {
                *granule += rows as u64;
            }
            self.open.rows += rows;
            self.open.bytes += bytes;
            if self.open.rows == self.spec.index_granularity {
                self.open = OpenGranule::default();
            }
            start += rows;
        }
        pieces
    }

    fn write_keys(
        &mut self,
        keys: &[ArrayRef],
        pieces: &[Piece],
        last: usize,
    ) -> Result<(), PartError> {
        let types = &self.spec.key_types;
        for piece in pieces.iter().filter(|piece| piece.opens) {
            for (key, data_type) in keys.iter().zip(types) {
                write_single(key, piece.start, data_type, &mut self.index)?;
            }
        }
        self.last_key.clear();
        for (key, data_type) in keys.iter().zip(types) {
            write_single(key, last, data_type, &mut self.last_key)?;
        }
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.opening.as_ref().map_or(0, |opening| opening.rows as u64)
    }

    /// Writes index, partition, count and checksums, and syncs every file and the directory. (The directory's own name
    /// becomes durable when the caller syncs the parent.)
    pub fn finish(mut self, partition: &Partition) -> Result<PartSummary, PartError> {
        if self.failed {
            return Err(PartError::argument("the part's writer failed before"));
        }
        self.begin()?;
        let (storage, path, dialect) = (&self.storage, &self.path, self.spec.dialect);
        let sparse = self.schema.iter().zip(&self.columns).zip(&self.sparse);
        let sparse = sparse.filter(|(_, is_sparse)| **is_sparse);
        let sparse: Vec<(&str, u64)> =
            sparse.map(|((column, it), _)| (column.name.as_str(), it.defaults())).collect();
        let serialization = sparse::serialization(self.strings, &sparse, self.rows)?;
        let rows = (dialect == Dialect::New).then_some(self.granules.as_slice());
        let done = Mutex::new(Vec::new());
        in_parallel(self.spec.threads, self.columns.into_iter(), |column| {
            let files = column.finish(storage, path, dialect.extension(), rows)?;
            done.lock().unwrap_or_else(PoisonError::into_inner).push(files);
            Ok(())
        })?;
        let finished = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut sums = Checksums::default();
        sums.files.extend(finished.into_iter().flatten());
        let uncompressed = sums.files.values().filter_map(|sum| sum.contents).map(|c| c.0).sum();

        let mut small = partition_files(partition, self.rows)?;
        small.push(("count.txt".to_owned(), self.rows.to_string().into_bytes()));
        if let Some(serialization) = serialization {
            small.push((SERIALIZATION_FILE.to_owned(), serialization));
        }
        if !self.spec.key_types.is_empty() {
            let mut index = self.index;
            if dialect == Dialect::New {
                index.extend_from_slice(&self.last_key);
            }
            small.push(("primary.idx".to_owned(), index));
        }
        for (name, contents) in small {
            let sum = write_file(storage, path.join(&name), &contents)?;
            sums.files.insert(name, sum);
        }
        let mut bytes_on_disk: u64 = sums.files.values().map(|sum| sum.size).sum();
        let columns = columns::print(self.spec.columns.iter().map(|(column, _)| column));
        let guard = Guard {
            columns_file: file_hash(columns.as_bytes()),
            files: files_hash(&sums),
            index_granularity: self.spec.index_granularity as u64,
        };
        let sum = write_file(storage, path.join(GUARD_FILE), guard.print().as_bytes())?;
        bytes_on_disk += sum.size;
        sums.files.insert(GUARD_FILE.to_owned(), sum);
        let list = sums.print().map_err(|cause| PartError::Block {
            place: Box::new(Place::file(path.join(CHECKSUMS_FILE))),
            cause,
        })?;
        for (name, contents) in [(COLUMNS_FILE, columns.as_bytes()), (CHECKSUMS_FILE, &list)] {
            bytes_on_disk += write_file(storage, path.join(name), contents)?.size;
        }
        let synced = storage.sync_directory(path);
        synced.map_err(|cause| PartError::io(path, "sync directory", cause))?;
        let granules = self.granules.len() as u64;
        let gathered = self.gatherers.into_iter().flatten();
        let statistics = gathered.filter_map(Gatherer::finish).collect();
        Ok(PartSummary { rows: self.rows, granules, bytes_on_disk, uncompressed, statistics })
    }

    /// Gives up: removes the directory.
    pub fn abort(self) -> Result<(), PartError> {
        let Self { storage, path, columns, .. } = self;
        drop(columns);
        let removed = storage.remove_directory(&path);
        removed.map_err(|cause| PartError::io(&path, "remove directory", cause))
    }
}

/// What encodes the columns of a part.
fn encoders(
    storage: &Arc<dyn Storage>,
    path: &Path,
    spec: &PartSpec,
    strings: StringLayout,
    sparse: &[bool],
) -> Result<Vec<ColumnEncoder>, PartError> {
    let is_dictionary = |column: &Column| matches!(column.data_type, DataType::LowCardinality(_));
    let dictionaries = spec.columns.iter().filter(|(column, _)| is_dictionary(column)).count();
    let mut owners = HashMap::new();
    let mut made = Vec::with_capacity(spec.columns.len());
    for ((column, codec), is_sparse) in spec.columns.iter().zip(sparse) {
        let codec = match spec.dialect {
            Dialect::New => codec.clone(),
            Dialect::Old => codec.plain(),
        };
        let layout = Layout { sparse: *is_sparse, ..strings.layout() };
        made.push(ColumnEncoder::new(
            (storage, path),
            column,
            &codec,
            (&layout, column::learned_rows(dictionaries)),
            &mut owners,
        )?);
    }
    Ok(made)
}

/// `partition.dat` and the `minmax_*.idx` (which an empty part does not have).
fn partition_files(partition: &Partition, rows: u64) -> Result<Vec<(String, Vec<u8>)>, PartError> {
    let mut files = Vec::new();
    if !partition.values.is_empty() {
        let mut contents = Vec::new();
        for (data_type, array) in &partition.values {
            write_single(array, 0, data_type, &mut contents)?;
        }
        files.push((partition::PARTITION_FILE.to_owned(), contents));
    }
    for (column, data_type, array) in &partition.ranges {
        if rows == 0 {
            break;
        }
        let mut contents = Vec::new();
        write_single(array, 0, data_type, &mut contents)?;
        write_single(array, 1, data_type, &mut contents)?;
        files.push((partition::minmax_file(&escape(column)), contents));
    }
    Ok(files)
}

/// Runs jobs on up to `threads` threads, the caller's among them; the first error that is met.
fn in_parallel<J: Send>(
    threads: usize,
    jobs: impl ExactSizeIterator<Item = J> + Send,
    run: impl Fn(J) -> Result<(), PartError> + Sync,
) -> Result<(), PartError> {
    let threads = threads.clamp(1, jobs.len().max(1));
    if threads == 1 {
        for job in jobs {
            run(job)?;
        }
        return Ok(());
    }
    let queue = Mutex::new(jobs);
    let failure = Mutex::new(None);
    let work = || {
        loop {
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(job) = job else { break };
            if failure.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                break;
            }
            if let Err(error) = run(job) {
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
