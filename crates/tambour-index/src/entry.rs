//! Entries of an index: what each of them says of the rows that it is of.

use crate::IndexError;
use crate::filter::{Scheme, bits_per_value, hashes_of_column};
use crate::kind::{Index, Kind, bare};
use crate::text;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_schema::DataType as ArrowType;
use std::collections::HashSet;
use tambour_part::column::{concat, read_bulk, read_single};
use tambour_part::types::{DataType, Strings};
use tambour_table::TableError;
use tambour_table::prune::ranks;

/// What an entry says.
#[derive(Debug)]
pub(crate) enum Entry {
    /// Nothing: there are too many values.
    Silent,
    /// Minima and maxima: an array of two for each column.
    Ranges(Vec<ArrayRef>),
    /// All combinations of values: an array of this many for each column.
    Rows(Vec<ArrayRef>, usize),
    /// A filter for each column.
    Filters(Vec<Vec<u8>>, Scheme),
}

impl Entry {
    /// Decodes an entry.
    pub(crate) fn read(
        index: &Index,
        extension: &str,
        entry: usize,
        bytes: &[u8],
    ) -> Result<Self, IndexError> {
        match index.kind {
            Kind::Minmax => Ok(Self::Ranges(ranges(index, extension, bytes, 1)?)),
            Kind::Set => set(index, entry, bytes),
            Kind::Bloom(rate) => bloom(index, rate, entry, bytes),
            Kind::Words(shape) | Kind::Grams(_, shape) => {
                if bytes.len() != shape.bytes * index.columns.len() {
                    let reason =
                        format!("filters of {} bytes, {} are wanted", bytes.len(), shape.bytes);
                    return Err(IndexError::malformed(entry, reason));
                }
                let filters = bytes.chunks_exact(shape.bytes).map(<[u8]>::to_vec);
                Ok(Self::Filters(filters.collect(), Scheme::Pair(shape)))
            }
            // It has files of its own.
            Kind::Text | Kind::Other => Ok(Self::Silent),
        }
    }

    /// True if it is right about all of these rows, which have the columns of the index. NULL, NaN and zeros are not asked after.
    pub(crate) fn covers(&self, index: &Index, rows: &RecordBatch) -> Result<bool, IndexError> {
        match self {
            Self::Silent => Ok(true),
            Self::Ranges(ends) => {
                for ((column, ends), values) in index.columns.iter().zip(ends).zip(rows.columns()) {
                    if !lie_between(values, ends, &column.data_type)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Rows(known, _) => {
                let known = keys(known, index)?;
                let known: HashSet<&Vec<u8>> = known.iter().flatten().collect();
                let found = keys(rows.columns(), index)?;
                Ok(found.iter().flatten().all(|key| known.contains(key)))
            }
            Self::Filters(filters, scheme) => {
                let mut is_right = true;
                for ((column, filter), values) in
                    index.columns.iter().zip(filters).zip(rows.columns())
                {
                    let mut each = |hashes: &[u64]| {
                        is_right &= hashes.iter().all(|hash| scheme.has(filter, *hash));
                    };
                    hashes_of_column(index.kind, values, &column.data_type, &mut each)?;
                }
                Ok(is_right)
            }
        }
    }
}

/// Decodes one entry of an index in a file with this extension, as a query does; the number of values in it, of a filter its bits. An
/// error if the bytes are not an entry of it. Of an inverted index the first byte says which piece of its files they are; the number of
/// tokens.
pub fn decode(index: &Index, extension: &str, bytes: &[u8]) -> Result<usize, IndexError> {
    if index.kind == Kind::Text {
        return text::decode(bytes);
    }
    Ok(match Entry::read(index, extension, 0, bytes)? {
        Entry::Silent => 0,
        Entry::Ranges(ends) => ends.iter().map(Array::len).sum(),
        Entry::Rows(_, rows) => rows,
        Entry::Filters(filters, _) => 8 * filters.iter().map(Vec::len).sum::<usize>(),
    })
}

/// Decodes entries of minima and maxima that lie one after the other: for each column all minima and then all maxima.
pub(crate) fn ranges(
    index: &Index,
    extension: &str,
    bytes: &[u8],
    entries: usize,
) -> Result<Vec<ArrayRef>, IndexError> {
    let types = index.types();
    // The form of before had one flag for both ends of a Nullable, and NULLs in neither.
    if extension != "idx2" && types.iter().any(is_nullable) {
        return Err(IndexError::Unusable { reason: "its form is older than NULLs in it" });
    }
    let ends: Vec<DataType> = types.iter().flat_map(|it| [it.clone(), it.clone()]).collect();
    let arrays = read_single(bytes, &ends, entries, Strings::Binary)?;
    let columns = index.columns.iter().zip(arrays.chunks_exact(2));
    columns.map(|(column, pair)| joined(&column.name, pair)).collect()
}

/// Two arrays as one. The dictionary of an enum has all its names in the order of the type, and stays as it is.
fn joined(column: &str, pair: &[ArrayRef]) -> Result<ArrayRef, IndexError> {
    let dictionaries: Option<Vec<_>> = pair.iter().map(|it| it.as_any_dictionary_opt()).collect();
    if let Some([first, second]) = dictionaries.as_deref()
        && first.values().to_data() == second.values().to_data()
    {
        let failed = || TableError::arrow("join ends of ranges");
        let keys = arrow_select::concat::concat(&[first.keys(), second.keys()]).map_err(failed())?;
        let data = keys.to_data().into_builder().data_type(pair[0].data_type().clone());
        let data = data.child_data(vec![first.values().to_data()]).build().map_err(failed())?;
        return Ok(make_array(data));
    }
    Ok(concat(column, pair)?)
}

fn set(index: &Index, entry: usize, bytes: &[u8]) -> Result<Entry, IndexError> {
    let Some((head, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(IndexError::malformed(entry, "its number of values is cut off"));
    };
    let rows = u64::from_le_bytes(*head);
    if rows == 0 && rest.is_empty() {
        return Ok(Entry::Silent);
    }
    let rows = usize::try_from(rows).ok().filter(|rows| (1..=rest.len()).contains(rows));
    let Some(rows) = rows else {
        return Err(IndexError::malformed(entry, "it has not as many values as it says"));
    };
    Ok(Entry::Rows(read_bulk(rest, &index.types(), rows, Strings::Binary)?, rows))
}

fn bloom(index: &Index, rate: f64, entry: usize, bytes: &[u8]) -> Result<Entry, IndexError> {
    let head = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let Some((head, rest)) = bytes.split_at_checked(head).filter(|(head, _)| head.len() <= 9)
    else {
        return Err(IndexError::malformed(entry, "its number of values is cut off"));
    };
    let values = head.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    let (columns, values) = (index.columns.len(), usize::try_from(values).unwrap_or(usize::MAX));
    if values == 0 && rest.is_empty() {
        return Ok(Entry::Silent);
    }
    let size = rest.len() / columns;
    let bits = bits_per_value(size, values).filter(|_| rest.len() == size * columns);
    let Some(bits) = bits else {
        let reason = format!("filters of {} bytes are not those of {values} values", rest.len());
        return Err(IndexError::malformed(entry, reason));
    };
    let filters = rest.chunks_exact(size).map(<[u8]>::to_vec).collect();
    Ok(Entry::Filters(filters, Scheme::of_rate(rate, bits)))
}

fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => is_nullable(inner),
        _ => false,
    }
}

/// True for values of which ClickHouse's order and equality say less than their bytes.
fn is_float(data_type: &DataType) -> bool {
    matches!(bare(data_type), DataType::Float32 | DataType::Float64 | DataType::BFloat16)
}

fn is_vague(values: &ArrayRef) -> Result<Vec<bool>, IndexError> {
    let floats = arrow_cast::cast(values, &ArrowType::Float64);
    let floats = floats.map_err(TableError::arrow("compare floats"))?;
    let floats = floats.as_primitive::<Float64Type>();
    Ok(floats.iter().map(|it| it.is_none_or(|it| it.is_nan() || it == 0.0)).collect())
}

/// True if all values lie between the two ends.
fn lie_between(
    values: &ArrayRef,
    ends: &ArrayRef,
    data_type: &DataType,
) -> Result<bool, IndexError> {
    let (Some(values_ranks), Some(ends_ranks)) =
        (ranks(values, data_type)?, ranks(ends, data_type)?)
    else {
        return Ok(true);
    };
    let vague = if is_float(data_type) { is_vague(values)? } else { vec![false; values.len()] };
    let nulls = values.logical_nulls();
    let (low, high) = (ends_ranks.row(0), ends_ranks.row(1));
    let low_open = ends.is_null(0) && !ends.is_null(1);
    Ok((0..values.len()).all(|row| {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let rank = values_ranks.row(row);
        is_null || vague[row] || ((low_open || low <= rank) && rank <= high)
    }))
}

/// Rows of values as keys that are equal where the values are; nothing for those that are not asked after.
fn keys(values: &[ArrayRef], index: &Index) -> Result<Vec<Option<Vec<u8>>>, IndexError> {
    let rows = values.first().map_or(0, Array::len);
    let mut keys = vec![Some(Vec::new()); rows];
    for (column, values) in index.columns.iter().zip(values) {
        let Some(ranks) = ranks(values, &column.data_type)? else { return Ok(Vec::new()) };
        let vague = if is_float(&column.data_type) { is_vague(values)? } else { vec![false; rows] };
        for (row, key) in keys.iter_mut().enumerate() {
            match key {
                Some(key) if !vague[row] => {
                    let bytes = ranks.row(row);
                    key.extend_from_slice(&(bytes.data().len() as u64).to_le_bytes());
                    key.extend_from_slice(bytes.data());
                }
                _ => *key = None,
            }
        }
    }
    Ok(keys)
}
