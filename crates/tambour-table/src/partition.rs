//! Which partition a row belongs to, and the ranges of the columns that decide it.

use super::chunk::{Chunk, Order};
use super::key::{Key, Keys, OwnedKey};
use crate::TableError;
use crate::schema::TableDefinition;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat;
use arrow_select::take::take;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::types::DataType;
use tambour_part::write::Partition;

/// Most partitions that one insert may touch.
pub(super) const PARTITIONS_MAX: usize = 10_000;

/// Values of the partition key with their types, one row each.
pub(super) type Values = Vec<(DataType, ArrayRef)>;

/// Tells the partitions of rows apart, and numbers them in the order in which they appear.
#[derive(Debug)]
pub(super) struct Partitioner {
    key: Key,
    numbers: HashMap<Box<[u8]>, usize>,
    values: Vec<Values>,
}

impl Partitioner {
    pub(super) fn new(
        definition: &TableDefinition,
        schema: &SchemaRef,
    ) -> Result<Self, TableError> {
        let columns = definition.plain_columns();
        let key = Key::new(&definition.partition_by, &columns, schema)?;
        Ok(Self { key, numbers: HashMap::new(), values: Vec::new() })
    }

    /// Splits the rows of a chunk: the number of each partition that it touches, and its rows in the order in which they came.
    pub(super) fn split(&mut self, chunk: &Chunk) -> Result<Vec<(usize, Order)>, TableError> {
        if self.key.is_empty() {
            if self.values.is_empty() {
                self.values.push(Vec::new());
            }
            return Ok(vec![(0, Order::Range(0..chunk.rows()))]);
        }
        let mut split: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut slots: HashMap<usize, usize> = HashMap::new();
        let mut start = 0_u32;
        for batch in chunk.batches() {
            let keys = self.key.evaluate(batch)?;
            let mut slot = 0;
            for row in 0..batch.num_rows() {
                if row == 0 || keys.compare(row - 1, &keys, row).is_ne() {
                    let number = self.number(&keys, row, batch)?;
                    slot = *slots.entry(number).or_insert_with(|| {
                        split.push((number, Vec::new()));
                        split.len() - 1
                    });
                }
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "rows of a chunk are numbered in 32 bits"
                )]
                split[slot].1.push(start + row as u32);
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rows of a chunk are numbered in 32 bits"
            )]
            {
                start += batch.num_rows() as u32;
            }
        }
        Ok(split.into_iter().map(|(number, rows)| (number, Order::from_rows(rows))).collect())
    }

    /// Values of the key in a partition.
    pub(super) fn values(&self, number: usize) -> &Values {
        &self.values[number]
    }

    /// The number of the partition of a row, a new one if it is the first of its partition.
    fn number(
        &mut self,
        keys: &Keys,
        row: usize,
        batch: &RecordBatch,
    ) -> Result<usize, TableError> {
        let mut small = [0; 16];
        let bytes = keys.bytes(row, &mut small).unwrap_or_default();
        if let Some(number) = self.numbers.get(bytes) {
            return Ok(*number);
        }
        if self.values.len() == PARTITIONS_MAX {
            return Err(TableError::Partitions { limit: PARTITIONS_MAX });
        }
        let values = self.key.values(&batch.slice(row, 1))?;
        let values = values.iter().map(|array| single(array, 0)).collect::<Result<Vec<_>, _>>()?;
        self.values.push(self.key.types().iter().cloned().zip(values).collect());
        self.numbers.insert(bytes.into(), self.values.len() - 1);
        Ok(self.values.len() - 1)
    }
}

/// The columns that the partition key reads: their ranges are kept in every part.
#[derive(Debug)]
pub(super) struct RangeColumns {
    columns: Vec<RangeColumn>,
}

#[derive(Debug)]
struct RangeColumn {
    name: String,
    data_type: DataType,
    key: Key,
}

/// Smallest and largest values of columns so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ends: Vec<[(OwnedKey, ArrayRef); 2]>,
}

impl RangeColumns {
    pub(super) fn new(
        definition: &TableDefinition,
        schema: &SchemaRef,
    ) -> Result<Self, TableError> {
        let all = definition.plain_columns();
        let key = Key::new(&definition.partition_by, &all, schema)?;
        let mut columns = Vec::new();
        for name in key.columns() {
            let column = all.iter().find(|column| column.name == name);
            let data_type = column.map(|column| column.data_type.clone()).ok_or_else(|| {
                TableError::UnknownColumn {
                    clause: "PARTITION BY".to_owned(),
                    name: name.to_owned(),
                }
            })?;
            let expression = crate::schema::expression::Expression::Column(name.to_owned());
            let key = Key::new(&[expression], &all, schema)?;
            columns.push(RangeColumn { name: name.to_owned(), data_type, key });
        }
        Ok(Self { columns })
    }

    /// Widens ranges by the rows of a batch. NULL and NaN count as larger than everything, as in the order of keys.
    pub(super) fn widen(&self, ranges: &mut Ranges, batch: &RecordBatch) -> Result<(), TableError> {
        let is_first = ranges.ends.is_empty();
        for (index, column) in self.columns.iter().enumerate() {
            let keys = column.key.evaluate(batch)?;
            let Some((smallest, largest)) = keys.extremes() else { return Ok(()) };
            let values = column.key.values(batch)?;
            let end = |row: usize| -> Result<(OwnedKey, ArrayRef), TableError> {
                Ok((keys.owned(row), single(&values[0], row)?))
            };
            if is_first {
                ranges.ends.push([end(smallest)?, end(largest)?]);
                continue;
            }
            let [low, high] = &mut ranges.ends[index];
            if keys.compare_owned(smallest, &low.0).is_lt() {
                *low = end(smallest)?;
            }
            if keys.compare_owned(largest, &high.0).is_gt() {
                *high = end(largest)?;
            }
        }
        Ok(())
    }

    /// Compares ranges with recorded ones (two values each): equal, within them (`Less`), or not (`Greater`); `None` where
    /// there is no record.
    pub(super) fn compare(
        &self,
        ranges: &Ranges,
        mut recorded: impl FnMut(&str) -> Result<Option<ArrayRef>, TableError>,
    ) -> Result<Vec<(&str, Option<Ordering>)>, TableError> {
        let mut result = Vec::with_capacity(self.columns.len());
        for (column, [low, high]) in self.columns.iter().zip(&ranges.ends) {
            // ClickHouse leaves NaN out of ranges, we do not: either is right.
            let is_float = matches!(
                values_type(&column.data_type),
                DataType::Float32 | DataType::Float64 | DataType::BFloat16
            );
            if is_float {
                continue;
            }
            let order = match recorded(&column.name)? {
                None => None,
                Some(values) if values.len() != 2 => Some(Ordering::Greater),
                Some(values) => {
                    let keys = column.key.of_values(&[values])?;
                    let below = keys.compare_owned(0, &low.0);
                    Some(match (below, keys.compare_owned(1, &high.0)) {
                        (Ordering::Equal, Ordering::Equal) => Ordering::Equal,
                        (Ordering::Greater, _) | (_, Ordering::Less) => Ordering::Greater,
                        _ => Ordering::Less,
                    })
                }
            };
            result.push((column.name.as_str(), order));
        }
        Ok(result)
    }

    /// The partition as parts record it.
    pub(super) fn partition(
        &self,
        values: &Values,
        ranges: &Ranges,
    ) -> Result<Partition, TableError> {
        let mut partition = Partition { values: values.clone(), ranges: Vec::new() };
        for (column, [low, high]) in self.columns.iter().zip(&ranges.ends) {
            let both = concat(&[low.1.as_ref(), high.1.as_ref()])
                .map_err(TableError::arrow("putting a range together"))?;
            partition.ranges.push((column.name.clone(), column.data_type.clone(), both));
        }
        Ok(partition)
    }
}

fn values_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => values_type(inner),
        _ => data_type,
    }
}

/// One value as an array of its own, which keeps nothing else alive.
fn single(array: &ArrayRef, row: usize) -> Result<ArrayRef, TableError> {
    #[expect(clippy::cast_possible_truncation, reason = "batches have fewer rows")]
    let index = UInt32Array::from(vec![row as u32]);
    let value = take(array, &index, None).map_err(TableError::arrow("taking a value"))?;
    Ok(match value.data_type() {
        arrow_schema::DataType::Utf8View => Arc::new(value.as_string_view().gc()),
        arrow_schema::DataType::BinaryView => Arc::new(value.as_binary_view().gc()),
        _ => value,
    })
}
