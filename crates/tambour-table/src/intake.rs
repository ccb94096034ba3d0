//! The entrance of an insert: batches are checked against the table, made cheap to keep, and measured.

use super::canonical::Canonical;
use crate::TableError;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, GenericByteViewArray, RecordBatch, make_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::{interleave, interleave_record_batch};
use std::sync::Arc;
use tambour_part::types::Column;

/// Batches with fewer rows are put together.
const SMALL_ROWS: usize = 4096;

/// Strings that keep this many times their own bytes alive are copied.
const WASTE_FACTOR: usize = 2;
/// …but not for less than this.
const WASTE_MIN: usize = 64 << 10;

/// Collects batches until they are taken as a chunk.
#[derive(Debug)]
pub(super) struct Intake {
    columns: Vec<Canonical>,
    schema: Option<SchemaRef>,
    dictionaries: Dictionaries,
    small: Vec<RecordBatch>,
    small_rows: usize,
    batches: Vec<RecordBatch>,
    bytes: usize,
    rows: usize,
}

impl Intake {
    pub(super) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.iter().map(Canonical::new).collect(),
            schema: None,
            dictionaries: Dictionaries::default(),
            small: Vec::new(),
            small_rows: 0,
            batches: Vec::new(),
            bytes: 0,
            rows: 0,
        }
    }

    /// Adds rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        let batch = self.adapt(batch)?;
        let batch = self.dictionaries.unify(batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let (batch, bytes) = compact(batch, &mut self.dictionaries)?;
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows = self.rows.saturating_add(batch.num_rows());
        if batch.num_rows() >= SMALL_ROWS {
            self.gather_small()?;
            self.batches.push(batch);
        } else {
            self.small_rows += batch.num_rows();
            self.small.push(batch);
            if self.small_rows >= SMALL_ROWS {
                self.gather_small()?;
            }
        }
        Ok(())
    }

    /// Bytes of memory that the collected rows keep.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many rows were collected.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// A look at the rows so far, in order.
    pub(super) fn batches(&mut self) -> Result<&[RecordBatch], TableError> {
        self.gather_small()?;
        Ok(&self.batches)
    }

    /// The rows so far, in order.
    pub(super) fn take(&mut self) -> Result<Vec<RecordBatch>, TableError> {
        self.gather_small()?;
        (self.bytes, self.rows) = (0, 0);
        self.dictionaries.forget();
        Ok(std::mem::take(&mut self.batches))
    }

    fn gather_small(&mut self) -> Result<(), TableError> {
        self.small_rows = 0;
        let small = std::mem::take(&mut self.small);
        match small.as_slice() {
            [] => {}
            [one] => self.batches.push(one.clone()),
            [first, ..] => {
                let batch = concat_batches(&first.schema(), &small)
                    .map_err(TableError::arrow("putting small batches together"))?;
                self.batches.push(batch);
            }
        }
        Ok(())
    }

    /// Gives the columns the table's names, types and Arrow forms, and makes sure that all batches have the same ones.
    fn adapt(&mut self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let rows = |field, expected: String, got: String| TableError::Rows { field, expected, got };
        if batch.num_columns() != self.columns.len() {
            let (expected, got) = (self.columns.len().to_string(), batch.num_columns().to_string());
            return Err(rows("number of columns", expected, got));
        }
        let arrays: Vec<ArrayRef> = self
            .columns
            .iter()
            .zip(batch.columns())
            .map(|(column, values)| column.adapt(values))
            .collect::<Result<_, _>>()?;
        let schema = self.schema.get_or_insert_with(|| {
            let fields = self.columns.iter().zip(&arrays);
            let fields = fields.map(|(column, values)| column.field(values.data_type()));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        });
        for (field, column) in schema.fields().iter().zip(&arrays) {
            if field.data_type() != column.data_type() {
                let describe = |data_type| format!("{}: {data_type}", field.name());
                let (expected, got) = (describe(field.data_type()), describe(column.data_type()));
                return Err(rows("Arrow type of a column", expected, got));
            }
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
            .map_err(TableError::arrow("naming the columns of a batch"))
    }
}

/// Remembers the dictionary of each column. Equal dictionaries are replaced by one and the same, since only then does
/// Arrow put batches together without building new dictionaries (and without overflowing their small keys).
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    known: Vec<Option<ArrayRef>>,
    /// Known, but not measured yet since the last chunk.
    is_new: Vec<bool>,
}

impl Dictionaries {
    /// Replaces dictionaries that equal the known one of their column.
    pub(super) fn unify(&mut self, batch: RecordBatch) -> Result<RecordBatch, TableError> {
        let is_dictionary =
            |column: &ArrayRef| matches!(column.data_type(), DataType::Dictionary(..));
        if !batch.columns().iter().any(is_dictionary) {
            return Ok(batch);
        }
        self.known.resize(batch.num_columns(), None);
        self.is_new.resize(batch.num_columns(), false);
        let (schema, mut columns, _) = batch.into_parts();
        for (index, column) in columns.iter_mut().enumerate() {
            let Some(dictionary) = column.as_any_dictionary_opt() else { continue };
            let values = dictionary.values();
            match &self.known[index] {
                Some(known) if Arc::ptr_eq(known, values) => {}
                Some(known) if known.len() == values.len() && known == values => {
                    *column = dictionary.with_values(Arc::clone(known));
                }
                _ => {
                    self.known[index] = Some(Arc::clone(values));
                    self.is_new[index] = true;
                }
            }
        }
        RecordBatch::try_new(schema, columns)
            .map_err(TableError::arrow("sharing the dictionaries of batches"))
    }

    fn measure_once(&mut self, index: usize) -> bool {
        self.is_new.get_mut(index).is_some_and(std::mem::take)
    }

    /// Dictionaries count again for the next chunk.
    fn forget(&mut self) {
        for (is_new, known) in self.is_new.iter_mut().zip(&self.known) {
            *is_new = known.is_some();
        }
    }
}

/// Rows of several batches, by batch and row. A dictionary that all of them share stays what it is: Arrow would put as many copies
/// of it together as there are batches, and values that are known by their places in it, as those of an Enum, would be lost.
pub(super) fn interleaved(
    batches: &[&RecordBatch],
    places: &[(usize, usize)],
) -> Result<RecordBatch, ArrowError> {
    let [first, ..] = batches else { return interleave_record_batch(batches, places) };
    let column = |index: usize| {
        let columns: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(index)).collect();
        let shared = first.column(index).as_any_dictionary_opt().map(AnyDictionaryArray::values);
        let is_shared = |shared: &&ArrayRef| {
            columns.iter().all(|it| Arc::ptr_eq(it.as_any_dictionary().values(), shared))
        };
        match shared.filter(is_shared) {
            None => {
                let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
                interleave(&columns, places)
            }
            Some(values) => {
                let keys: Vec<&dyn Array> =
                    columns.iter().map(|it| it.as_any_dictionary().keys()).collect();
                let keys = interleave(&keys, places)?.to_data().into_builder();
                let data_type = first.column(index).data_type().clone();
                let data = keys.data_type(data_type).child_data(vec![values.to_data()]).build()?;
                // The dictionary is the same one, not one that is equal.
                Ok(make_array(data).as_any_dictionary().with_values(Arc::clone(values)))
            }
        }
    };
    let columns: Vec<ArrayRef> = (0..first.num_columns()).map(column).collect::<Result<_, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(first.schema(), columns, &options)
}

/// Copies strings that keep far more memory alive than they need; returns the bytes that the batch keeps.
fn compact(
    batch: RecordBatch,
    dictionaries: &mut Dictionaries,
) -> Result<(RecordBatch, usize), TableError> {
    let (schema, mut columns, rows) = batch.into_parts();
    let mut bytes = 0_usize;
    for (index, column) in columns.iter_mut().enumerate() {
        bytes += match column.data_type() {
            DataType::Utf8View => {
                let (compacted, bytes) = compact_views::<StringViewType>(column.as_string_view());
                *column = compacted.unwrap_or_else(|| Arc::clone(column));
                bytes
            }
            DataType::BinaryView => {
                let (compacted, bytes) = compact_views::<BinaryViewType>(column.as_binary_view());
                *column = compacted.unwrap_or_else(|| Arc::clone(column));
                bytes
            }
            _ => match column.as_any_dictionary_opt() {
                Some(dictionary) => {
                    let values = dictionaries.measure_once(index);
                    data_bytes(&dictionary.keys().to_data())
                        + if values { data_bytes(&dictionary.values().to_data()) } else { 0 }
                }
                None => data_bytes(&column.to_data()),
            },
        };
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(TableError::arrow("compacting a batch"))?;
    Ok((batch, bytes))
}

fn compact_views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> (Option<ArrayRef>, usize) {
    let views = std::mem::size_of_val::<[u128]>(array.views());
    let pinned: usize = array.data_buffers().iter().map(arrow_buffer::Buffer::len).sum();
    let used = array.total_buffer_bytes_used();
    if pinned > WASTE_MIN + WASTE_FACTOR.saturating_mul(used) {
        (Some(Arc::new(array.gc())), views + used)
    } else {
        (None, views + used.min(pinned))
    }
}

/// Bytes of the slice of an array, children included.
fn data_bytes(data: &ArrayData) -> usize {
    // What the slice size leaves out: the buffers that views point into.
    fn viewed(data: &ArrayData) -> usize {
        let own = match data.data_type() {
            DataType::Utf8View | DataType::BinaryView => {
                data.buffers().iter().skip(1).map(arrow_buffer::Buffer::len).sum()
            }
            _ => 0,
        };
        data.child_data().iter().map(viewed).sum::<usize>() + own
    }
    let sliced = data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size());
    sliced + viewed(data)
}
