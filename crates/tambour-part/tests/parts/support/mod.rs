//! What the tests of whole parts share.

pub(crate) mod tsv;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::concat::concat_batches;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Column, DataType, Strings};
use tambour_part::write::{Dialect, PartSpec, PartSummary, Partition, StringLayout};
use tambour_part::{Part, PartError, PartWriter};
use tambour_storage::memory::Memory;
use tambour_storage::{Storage, disk};

/// The directory with parts of ClickHouse 18.16.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/clickhouse-18.16").join(name)
}

/// One range of granules.
pub(crate) fn one(start: usize, end: usize) -> Vec<Range<usize>> {
    std::iter::once(start..end).collect()
}

/// All rows of a part.
pub(crate) fn read_all(part: &Arc<Part>) -> Result<RecordBatch, PartError> {
    let all = one(0, part.granules().len());
    read_granules(part, (0..part.columns().len()).collect(), all, 1 << 20)
}

pub(crate) fn read_granules(
    part: &Arc<Part>,
    columns: Vec<usize>,
    granules: Vec<Range<usize>>,
    batch_rows: usize,
) -> Result<RecordBatch, PartError> {
    let strings = Strings::Binary;
    let reader = part.read(ReadRequest { columns, granules, batch_rows, strings })?;
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>()?;
    Ok(concat_batches(&schema, &batches).unwrap())
}

/// The golden part with most types.
pub(crate) fn zoo() -> (Vec<Column>, RecordBatch) {
    let part = Part::open(&disk(), &golden("t/202402_1_1_0")).unwrap();
    let columns = part.columns().to_vec();
    (columns, read_all(&Arc::new(part)).unwrap())
}

/// A new empty storage with the table's directory `t`.
pub(crate) fn memory() -> (Memory, Arc<dyn Storage>) {
    let memory = Memory::new();
    memory.create_directory(Path::new("t")).unwrap();
    memory.sync_directory(Path::new("")).unwrap();
    (memory.clone(), Arc::new(memory))
}

/// How a test writes a part.
#[derive(Clone)]
pub(crate) struct Writing {
    pub(crate) columns: Vec<Column>,
    pub(crate) codec: &'static str,
    /// Columns that make up the primary key.
    pub(crate) keys: Vec<usize>,
    pub(crate) index_granularity: usize,
    pub(crate) dialect: Dialect,
    pub(crate) threads: usize,
    pub(crate) strings: StringLayout,
    pub(crate) sparse_ratio: Option<f64>,
    /// Rows of each call.
    pub(crate) rows_per_call: usize,
}

impl Writing {
    pub(crate) fn new(columns: &[Column], dialect: Dialect) -> Self {
        Self {
            columns: columns.to_vec(),
            codec: "LZ4",
            keys: vec![0],
            index_granularity: 256,
            dialect,
            threads: 1,
            strings: StringLayout::Inline,
            sparse_ratio: None,
            rows_per_call: usize::MAX,
        }
    }

    pub(crate) fn spec(&self) -> PartSpec {
        let codec: CodecSpec = self.codec.parse().unwrap();
        let key_type = |key: &usize| -> DataType { self.columns[*key].data_type.clone() };
        PartSpec {
            columns: self.columns.iter().map(|column| (column.clone(), codec.clone())).collect(),
            key_types: self.keys.iter().map(key_type).collect(),
            index_granularity: self.index_granularity,
            dialect: self.dialect,
            threads: self.threads,
            strings: self.strings,
            sparse_ratio: self.sparse_ratio,
        }
    }

    /// Writes all rows; after an error, gives up.
    pub(crate) fn write(
        &self,
        storage: &Arc<dyn Storage>,
        path: &Path,
        rows: &RecordBatch,
        partition: &Partition,
    ) -> Result<PartSummary, PartError> {
        let mut writer = PartWriter::create(storage, path, self.spec())?;
        let mut start = 0;
        while start < rows.num_rows() {
            let count = self.rows_per_call.min(rows.num_rows() - start);
            let batch = rows.slice(start, count);
            let keys: Vec<ArrayRef> =
                self.keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
            if let Err(error) = writer.write(&batch, &keys) {
                drop(writer.abort());
                return Err(error);
            }
            start += count;
        }
        writer.finish(partition)
    }
}

/// Contents of all files of a directory, sorted by name.
pub(crate) fn contents(storage: &dyn Storage, path: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = storage.list(path).unwrap();
    let read = |name: &str| storage.read(&path.join(name), u64::MAX).unwrap();
    entries.into_iter().map(|entry| (entry.name.clone(), read(&entry.name))).collect()
}
