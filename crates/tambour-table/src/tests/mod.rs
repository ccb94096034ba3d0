//! Tests of whole tables: what goes in comes out, whatever happens in between.

mod alter;
mod background;
mod blocks;
mod crash;
mod damage;
mod directory;
mod evolve;
mod keys;
mod kill;
mod layout;
mod readers;
mod rewrite;
mod rows;
mod salvage;
mod server;
mod statistics;

use super::insert::{Existing, Insert, InsertOptions, InsertSummary};
use super::merge::{OptimizeOptions, OptimizeSummary, optimize};
use super::verify::verify;
use super::{PartName, Table};
use crate::TableError;
use crate::schema::TableDefinition;
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray,
    StringViewArray, UInt32Array, UInt64Array,
};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Strings, arrow_schema};
use tambour_part::write::Dialect;
use tambour_storage::Storage;

/// A small table with a partition key, a sorting key of two columns, and types that are laid out differently.
const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
     e Enum8('low' = -1, 'high' = 1), id UInt64) \
     ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (k, s) SETTINGS index_granularity = 16";

fn definition(statement: &str) -> TableDefinition {
    TableDefinition::parse(statement).unwrap()
}

/// A real directory, in memory if there is such a place: these tests make very many files, and cut no power.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn options() -> InsertOptions {
    InsertOptions {
        existing: Existing::Append,
        seen: None,
        dialect: Dialect::New,
        rows_per_part: None,
        memory_bytes: 64 << 20,
        threads: 1,
    }
}

/// Rows made from numbers, for tables with columns of [`STATEMENT`]: what decides about partition, order, and all else.
fn rows(definition: &TableDefinition, first_id: u64, seeds: &[(u16, u32)]) -> RecordBatch {
    let schema = arrow_schema(&definition.plain_columns(), Strings::Utf8);
    let column = |field: &arrow_schema::FieldRef| {
        cast(&column(field.name(), first_id, seeds), field.data_type()).unwrap()
    };
    let columns = schema.fields().iter().map(column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn column(name: &str, first_id: u64, seeds: &[(u16, u32)]) -> ArrayRef {
    let days = seeds.iter().map(|(d, _)| *d);
    let keys = seeds.iter().map(|(_, k)| *k);
    match name {
        "d" => Arc::new(Date32Array::from_iter_values(days.map(|d| i32::from(d) % 400 + 19_000))),
        "k" => Arc::new(UInt32Array::from_iter_values(keys)),
        "s" => Arc::new(StringViewArray::from_iter_values(
            keys.map(|k| format!("text {} of a row", k.wrapping_mul(2_654_435_761) % 97)),
        )),
        "n" => {
            Arc::new(keys.map(|k| (k % 3 > 0).then_some(i64::from(k) - 20)).collect::<Int64Array>())
        }
        "l" => {
            Arc::new(StringViewArray::from_iter_values(days.map(|d| format!("label {}", d % 7))))
        }
        "e" => {
            let labels = Int8Array::from_iter_values(days.map(|d| i8::from(d % 2 == 0)));
            let names = Arc::new(StringArray::from(vec!["low", "high"]));
            Arc::new(DictionaryArray::<Int8Type>::new(labels, names))
        }
        _ => Arc::new(UInt64Array::from_iter_values(first_id..first_id + seeds.len() as u64)),
    }
}

fn insert(
    storage: &Arc<dyn Storage>,
    path: &Path,
    definition: &TableDefinition,
    options: InsertOptions,
    batches: &[RecordBatch],
) -> Result<InsertSummary, TableError> {
    let mut insert = Insert::begin(storage, path, definition, options)?;
    for batch in batches {
        insert.write(batch.clone())?;
    }
    insert.commit()
}

fn merge_all(
    storage: &Arc<dyn Storage>,
    path: &Path,
    memory_bytes: u64,
) -> Result<OptimizeSummary, TableError> {
    optimize(
        storage,
        path,
        &OptimizeOptions { memory_bytes, threads: 1, now: None, partition: None },
        &mut |_| {},
    )
}

/// All rows of batches as bytes that compare equal if and only if the rows do; sorted.
fn contents(batches: &[RecordBatch]) -> Vec<Vec<u8>> {
    let Some(first) = batches.first() else { return Vec::new() };
    let fields = first.schema();
    let fields = fields.fields().iter().map(|field| SortField::new(field.data_type().clone()));
    let converter = RowConverter::new(fields.collect()).unwrap();
    let mut result = Vec::new();
    for batch in batches {
        let rows = converter.convert_columns(batch.columns()).unwrap();
        result.extend(rows.iter().map(|row| row.data().to_vec()));
    }
    result.sort_unstable();
    result
}

/// The rows of a part, in order.
fn read_part(table: &Table, part: usize) -> Vec<RecordBatch> {
    let part = &table.parts()[part];
    let index = |wanted: &tambour_part::types::Column| {
        part.columns().iter().position(|column| column.name == wanted.name).unwrap()
    };
    let request = ReadRequest {
        columns: table.columns().iter().map(index).collect(),
        granules: std::iter::once(0..part.granules().len()).collect(),
        batch_rows: 50,
        strings: Strings::Utf8,
    };
    part.read(request).unwrap().map(Result::unwrap).collect()
}

/// The rows of a table, sorted as [`contents`] does.
fn read(storage: &Arc<dyn Storage>, path: &Path) -> Result<Vec<Vec<u8>>, TableError> {
    let table = Table::open_on(storage, path)?;
    let parts = 0..table.parts().len();
    let batches: Vec<RecordBatch> = parts.flat_map(|part| read_part(&table, part)).collect();
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
    assert!(table.rows() == rows || (table.rows() > rows && table.has_deleted_rows()));
    Ok(contents(&batches))
}

/// Everything in the directory must belong to the table, and be sound.
fn assert_tidy(storage: &Arc<dyn Storage>, path: &Path) {
    let table = Table::open_on(storage, path).unwrap();
    let known =
        ["tambour.json", ".tambour.lock", "format_version.txt", "detached", "tambour_statistics"];
    for entry in storage.list(path).unwrap() {
        let is_live = table.part_names().contains(&entry.name) && entry.is_directory;
        assert!(is_live || known.contains(&entry.name.as_str()), "leftover {:?}", entry.name);
    }
    for (name, part) in table.part_names().iter().zip(table.parts()) {
        assert!(PartName::parse(name).is_some());
        assert_eq!(part.name(), name);
    }
    let seen = verify(storage, path, &mut |_| {}).unwrap();
    assert!(seen.damage.is_empty(), "{:?}", seen.damage);
    assert_eq!(seen.rows, table.rows());
}
