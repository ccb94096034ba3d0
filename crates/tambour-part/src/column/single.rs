//! Values in single form: those of primary.idx, partition.dat and minmax files, one after the other without streams.

use super::bytes::{put_varint, varint};
use super::coerce::{logical_nulls, refuse_nulls};
use super::fault::{Fault, Way};
use super::memory::{MemorySinks, MemorySource, MemorySources};
use super::path::Path;
use super::tree::Nulls;
use super::{ColumnReader, Layout, Sinks, fixed, string_write};
use crate::types::{DataType, Strings};
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType as Arrow;

/// The most bytes of values that stand for NULLs, each of which is one byte in the file.
const NULLS_BYTES_MAX: usize = 256 << 20;

/// What errors call the column of such values.
const COLUMN: &str = "key";

/// Appends one value in the single value binary form of primary.idx, partition.dat and minmax files (format document §7).
pub fn write_single(
    values: &ArrayRef,
    row: usize,
    data_type: &DataType,
    target: &mut Vec<u8>,
) -> Result<(), PartError> {
    if row >= values.len() {
        return Err(PartError::argument(format!("row {row} of a column of {} rows", values.len())));
    }
    if !data_type.accepts(values.data_type()) {
        let reason = format!("Arrow type {} does not fit {data_type}", values.data_type());
        return Err(PartError::value(Place::column(COLUMN), reason));
    }
    put(&values.slice(row, 1), data_type, target)
        .map_err(|fault| fault.into_error(COLUMN, row as u64, Way::Write))
}

/// Appends the value of an array of one row.
fn put(value: &ArrayRef, data_type: &DataType, target: &mut Vec<u8>) -> Result<(), Fault> {
    match data_type {
        DataType::Nullable(inner) => {
            let null = *value.data_type() == Arrow::Null || logical_nulls(value).is_some();
            target.push(u8::from(null));
            if null { Ok(()) } else { put(value, inner, target) }
        }
        DataType::LowCardinality(inner) => put(value, inner, target),
        DataType::Tuple(elements) => {
            refuse_nulls(value, Nulls::Refused)?;
            let columns =
                value.as_struct_opt().map(arrow_array::StructArray::columns).unwrap_or_default();
            elements
                .iter()
                .zip(columns)
                .try_for_each(|((_, inner), column)| put(column, inner, target))
        }
        DataType::Array(inner) => {
            refuse_nulls(value, Nulls::Refused)?;
            let elements = match value.data_type() {
                Arrow::List(_) => value.as_list::<i32>().value(0),
                Arrow::LargeList(_) => value.as_list::<i64>().value(0),
                _ => value.as_fixed_size_list().value(0),
            };
            put_varint(target, elements.len() as u64);
            (0..elements.len()).try_for_each(|at| put(&elements.slice(at, 1), inner, target))
        }
        DataType::Map(..) => Err(Fault::Other { reason: "a Map cannot be a key".to_owned() }),
        DataType::String => {
            refuse_nulls(value, Nulls::Refused)?;
            string_write::write(value, target)
        }
        _ => {
            refuse_nulls(value, Nulls::Refused)?;
            match fixed::find(data_type) {
                Some(fixed) => fixed::write(fixed.as_ref(), value, target),
                None => Err(Fault::Other {
                    reason: format!("{data_type} is not a type that columns can have"),
                }),
            }
        }
    }
}

/// Reads `rows` x `types` values in single value form, row after row, into one array per type; all of `source` must be used.
pub fn read_single(
    source: &[u8],
    types: &[DataType],
    rows: usize,
    strings: Strings,
) -> Result<Vec<ArrayRef>, PartError> {
    // Laid out as a part lays them out, they are read like any column; dictionaries are made afterwards.
    let plain: Vec<DataType> = types.iter().map(without_low_cardinality).collect();
    let path = Path::new(COLUMN);
    let mut columns: Vec<MemorySinks> = types.iter().map(|_| MemorySinks::default()).collect();
    let mut values = Values { bytes: source, at: 0 };
    if !types.is_empty() {
        for _ in 0..rows {
            for (data_type, column) in plain.iter().zip(&mut columns) {
                values.transpose(data_type, &path, column)?;
            }
        }
    }
    if values.at < source.len() {
        return Err(values.malformed("there are bytes after the last value"));
    }
    let columns = types.iter().zip(&plain).zip(columns);
    columns
        .map(|((data_type, plain), column)| read_column(column, plain, data_type, rows, strings))
        .collect()
}

fn without_low_cardinality(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LowCardinality(inner) => without_low_cardinality(inner),
        DataType::Array(inner) => DataType::Array(Box::new(without_low_cardinality(inner))),
        DataType::Tuple(elements) => DataType::Tuple(
            elements
                .iter()
                .map(|(name, inner)| (name.clone(), without_low_cardinality(inner)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn read_column(
    streams: MemorySinks,
    plain: &DataType,
    data_type: &DataType,
    rows: usize,
    strings: Strings,
) -> Result<ArrayRef, PartError> {
    let mut sources = MemorySources::default();
    for (name, bytes) in streams.streams {
        sources.insert(name, MemorySource::new(&bytes));
    }
    let mut reader = ColumnReader::new(COLUMN, plain, &Layout::default(), strings)?;
    let array = reader.read(&mut sources, &[rows])?;
    let wanted = data_type.arrow(strings);
    if *array.data_type() == wanted {
        return Ok(array);
    }
    if rows == 0 {
        return Ok(new_empty_array(&wanted));
    }
    // Arrow makes dictionaries of strings with offsets, not of views.
    let offsets = match (&wanted, array.data_type()) {
        (Arrow::Dictionary(_, value), Arrow::Utf8View | Arrow::BinaryView) => {
            arrow_cast::cast(&array, value)
        }
        _ => Ok(array),
    };
    let cast = offsets.and_then(|array| arrow_cast::cast(&array, &wanted));
    cast.map_err(|error| Fault::from(error).into_error(COLUMN, 0, Way::Read))
}

/// Values one after the other.
struct Values<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Values<'_> {
    fn malformed(&self, reason: &'static str) -> PartError {
        PartError::malformed(Place::default().at(self.at as u64), reason)
    }

    fn take(&mut self, count: usize) -> Result<&[u8], PartError> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let Some(end) = end else {
            return Err(self.malformed("a value is cut off"));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, PartError> {
        let found = varint(&self.bytes[self.at..]);
        match found.and_then(|(length, head)| Some((usize::try_from(length).ok()?, head))) {
            Some((length, head)) => {
                self.at += head;
                Ok(length)
            }
            None => Err(self.malformed("a length is cut off or too long")),
        }
    }

    /// Moves one value to the streams of a column.
    fn transpose(
        &mut self,
        data_type: &DataType,
        path: &Path,
        column: &mut MemorySinks,
    ) -> Result<(), PartError> {
        match data_type {
            DataType::Nullable(inner) => {
                let null = self.take(1)?[0];
                column.stream(&path.helper(".null")).push(null);
                match null {
                    0 => self.transpose(inner, path, column),
                    1 => {
                        // One byte stands for a whole value here.
                        let target = column.stream(&path.values());
                        let length = target.len().saturating_add(inner.fixed_width().unwrap_or(1));
                        if length > NULLS_BYTES_MAX {
                            let (limit, got) = (NULLS_BYTES_MAX as u64, length as u64);
                            return Err(PartError::limit(
                                Place::default(),
                                "bytes of NULLs",
                                limit,
                                got,
                            ));
                        }
                        target.resize(length, 0);
                        Ok(())
                    }
                    _ => Err(self.malformed("a NULL is neither 0 nor 1")),
                }
            }
            DataType::Tuple(elements) => {
                let mut elements = elements.iter().enumerate();
                elements.try_for_each(|(index, (name, inner))| {
                    self.transpose(inner, &path.member(name.as_deref(), index), column)
                })
            }
            DataType::Array(inner) => {
                let length = self.length()?;
                column.stream(&path.sizes()).extend_from_slice(&(length as u64).to_le_bytes());
                let elements = path.elements();
                (0..length).try_for_each(|_| self.transpose(inner, &elements, column))
            }
            DataType::String => {
                let start = self.at;
                let length = self.length()?;
                self.take(length)?;
                column.stream(&path.values()).extend_from_slice(&self.bytes[start..self.at]);
                Ok(())
            }
            other => match other.fixed_width() {
                Some(width @ 1..) => {
                    let bytes = self.take(width)?;
                    column.stream(&path.values()).extend_from_slice(bytes);
                    Ok(())
                }
                _ => {
                    Err(PartError::unsupported(Place::default(), format!("a key of type {other}")))
                }
            },
        }
    }
}
