//! How many bytes rows will take in a part before compression, so that granules of wide rows stay small.

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, DictionaryArray, OffsetSizeTrait, RecordBatch};
use arrow_data::ByteView;
use arrow_schema::DataType;

/// Bytes of the length in front of a string, about.
const LENGTH_BYTES: u64 = 1;
/// Bytes of the length of an array.
const SIZE_BYTES: u64 = 8;

/// How many of the `rows` from `start` fit into `budget` bytes; at least one if `force` is set.
pub(crate) fn rows_that_fit(
    batch: &RecordBatch,
    start: usize,
    rows: usize,
    budget: u64,
    force: bool,
) -> (usize, u64) {
    let whole = cost(batch, start, rows);
    if whole <= budget {
        return (rows, whole);
    }
    // The cost grows with the rows: the largest count that fits lies in fits..over.
    let (mut fits, mut over) = (0, rows);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if cost(batch, start, middle) <= budget {
            fits = middle;
        } else {
            over = middle;
        }
    }
    let fits = if force { fits.max(1) } else { fits };
    (fits, cost(batch, start, fits))
}

/// Bytes of rows of a batch.
fn cost(batch: &RecordBatch, start: usize, rows: usize) -> u64 {
    batch.columns().iter().map(|column| array_cost(column.as_ref(), start, rows)).sum()
}

fn array_cost(array: &dyn Array, start: usize, rows: usize) -> u64 {
    let count = rows as u64;
    match array.data_type() {
        DataType::Utf8 => spanned(array.as_string::<i32>().value_offsets(), start, rows),
        DataType::LargeUtf8 => spanned(array.as_string::<i64>().value_offsets(), start, rows),
        DataType::Binary => spanned(array.as_binary::<i32>().value_offsets(), start, rows),
        DataType::LargeBinary => spanned(array.as_binary::<i64>().value_offsets(), start, rows),
        DataType::Utf8View => viewed(array.as_string_view().views(), start, rows),
        DataType::BinaryView => viewed(array.as_binary_view().views(), start, rows),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            nested(list.value_offsets(), list.values().as_ref(), start, rows)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            nested(list.value_offsets(), list.values().as_ref(), start, rows)
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            nested(map.value_offsets(), map.entries(), start, rows)
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            let values = array.as_fixed_size_list().values();
            SIZE_BYTES * count + array_cost(values.as_ref(), start * size, rows * size)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            columns.iter().map(|column| array_cost(column.as_ref(), start, rows)).sum()
        }
        DataType::Dictionary(key, _) => dictionary(array, key, count),
        DataType::FixedSizeBinary(size) => u64::try_from(*size).unwrap_or(0) * count,
        DataType::Boolean | DataType::Null => count,
        other => other.primitive_width().unwrap_or(8) as u64 * count,
    }
}

fn spanned<O: OffsetSizeTrait>(offsets: &[O], start: usize, rows: usize) -> u64 {
    let (first, last) = ends(offsets, start, rows);
    (last - first) as u64 + LENGTH_BYTES * rows as u64
}

fn ends<O: OffsetSizeTrait>(offsets: &[O], start: usize, rows: usize) -> (usize, usize) {
    let end = |index: usize| offsets.get(index).map_or(0, |offset| offset.as_usize());
    (end(start), end(start + rows))
}

fn viewed(views: &[u128], start: usize, rows: usize) -> u64 {
    let views = views.get(start..start + rows).unwrap_or_default();
    let lengths: u64 = views.iter().map(|view| u64::from(ByteView::from(*view).length)).sum();
    lengths + LENGTH_BYTES * rows as u64
}

fn nested<O: OffsetSizeTrait>(offsets: &[O], values: &dyn Array, start: usize, rows: usize) -> u64 {
    let (first, last) = ends(offsets, start, rows);
    SIZE_BYTES * rows as u64 + array_cost(values, first, last - first)
}

/// Rows of a dictionary array cost what an average value costs.
fn dictionary(array: &dyn Array, key: &DataType, rows: u64) -> u64 {
    fn average<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> u64 {
        let values = array.values();
        array_cost(values.as_ref(), 0, values.len()).div_ceil((values.len() as u64).max(1))
    }
    use arrow_array::types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    let average = match key {
        DataType::Int8 => average(array.as_dictionary::<Int8Type>()),
        DataType::Int16 => average(array.as_dictionary::<Int16Type>()),
        DataType::Int32 => average(array.as_dictionary::<Int32Type>()),
        DataType::Int64 => average(array.as_dictionary::<Int64Type>()),
        DataType::UInt8 => average(array.as_dictionary::<UInt8Type>()),
        DataType::UInt16 => average(array.as_dictionary::<UInt16Type>()),
        DataType::UInt32 => average(array.as_dictionary::<UInt32Type>()),
        DataType::UInt64 => average(array.as_dictionary::<UInt64Type>()),
        _ => SIZE_BYTES,
    };
    average * rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, ListArray, StringArray, StringViewArray, UInt64Array};
    use std::sync::Arc;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("c", column)]).unwrap()
    }

    #[test]
    fn rows_cost_what_they_take() {
        let numbers = batch(Arc::new(UInt64Array::from_iter_values(0..100)));
        assert_eq!(rows_that_fit(&numbers, 0, 100, 800, false), (100, 800));
        assert_eq!(rows_that_fit(&numbers, 10, 90, 79, false), (9, 72));
        assert_eq!(rows_that_fit(&numbers, 10, 90, 7, true), (1, 8));
        assert_eq!(rows_that_fit(&numbers, 10, 90, 7, false), (0, 0));
        let words = ["", "a", "a string that is longer than a view holds"];
        for column in [
            Arc::new(StringArray::from_iter_values(words)) as ArrayRef,
            Arc::new(StringViewArray::from_iter_values(words)),
        ] {
            assert_eq!(cost(&batch(column), 1, 2), 1 + 1 + 42 + 1 - 1);
        }
        let lists = ListArray::from_iter_primitive::<arrow_array::types::Int16Type, _, _>([
            Some(vec![Some(1); 5]),
            Some(vec![]),
            Some(vec![Some(2); 3]),
        ]);
        assert_eq!(cost(&batch(Arc::new(lists)), 1, 2), 16 + 6);
    }
}
