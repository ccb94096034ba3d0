//! Whether the rows in another order would take less: tried on a part of the sample.

use crate::sample::Sample;
use crate::streams::Streams;
use crate::{AdviseOptions, ColumnAdvice, chains};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use std::collections::HashSet;
use tambour_codec::choose;
use tambour_codec::spec::CodecCall;
use tambour_part::types::Column;
use tambour_table::TableError;

/// Most rows that are sorted.
const ROWS_MAX: usize = 262_144;
/// Columns that may lead an order.
const LEADERS_MAX: usize = 3;
/// Rows per different value from which on a column may lead.
const ROWS_PER_DIFFERENT: usize = 16;
/// An order has to save this much of all bytes.
const GAIN_MIN: f64 = 0.03;

/// An order of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderAdvice {
    /// The columns to sort by, the first first; rows that are equal in them keep their order.
    pub columns: Vec<String>,
    /// Bytes of the rows that were tried, as they are ...
    pub now_bytes: u64,
    /// ... and in this order, with the same chains.
    pub stored_bytes: u64,
    /// Rows that were tried.
    pub rows: u64,
}

/// Tries orders with the chains that are best for the goal.
pub(super) fn advise(
    sample: &Sample,
    columns: &[ColumnAdvice],
    options: &AdviseOptions,
) -> Result<Option<OrderAdvice>, TableError> {
    let Some(rows) = rows(sample)? else { return Ok(None) };
    let leaders = leaders(&rows)?;
    if leaders.is_empty() || rows.num_columns() < 2 {
        return Ok(None);
    }
    let now_bytes = stored(&sample.columns, rows.columns(), columns, options)?;
    let mut orders: Vec<Vec<usize>> = leaders.iter().map(|leader| vec![*leader]).collect();
    if leaders.len() > 1 {
        orders.push(leaders);
    }
    let mut best: Option<OrderAdvice> = None;
    for order in orders {
        let sorted = sorted(&rows, &order)?;
        let stored_bytes = stored(&sample.columns, &sorted, columns, options)?;
        let better = best.as_ref().is_none_or(|best| stored_bytes < best.stored_bytes);
        if better && (stored_bytes as f64) < now_bytes as f64 * (1.0 - GAIN_MIN) {
            let names = order.iter().map(|index| sample.columns[*index].name.clone()).collect();
            let rows = rows.num_rows() as u64;
            best = Some(OrderAdvice { columns: names, now_bytes, stored_bytes, rows });
        }
    }
    Ok(best)
}

/// Some rows of each run, as many as can be sorted quickly.
fn rows(sample: &Sample) -> Result<Option<RecordBatch>, TableError> {
    let Some(first) = sample.runs.first() else { return Ok(None) };
    let share = ROWS_MAX / sample.runs.len().max(1);
    let some: Vec<RecordBatch> =
        sample.runs.iter().map(|run| run.slice(0, run.num_rows().min(share))).collect();
    let rows = arrow_select::concat::concat_batches(&first.schema(), &some);
    rows.map(Some).map_err(TableError::arrow("gather rows"))
}

/// The columns of few different values, the fewest first.
fn leaders(rows: &RecordBatch) -> Result<Vec<usize>, TableError> {
    let mut found = Vec::new();
    for (index, array) in rows.columns().iter().enumerate() {
        let Ok(converter) = RowConverter::new(vec![SortField::new(array.data_type().clone())])
        else {
            continue;
        };
        let converted = converter.convert_columns(std::slice::from_ref(array));
        let converted = converted.map_err(TableError::arrow("compare rows"))?;
        let limit = rows.num_rows() / ROWS_PER_DIFFERENT;
        let mut seen = HashSet::new();
        for row in &converted {
            seen.insert(row.data());
            if seen.len() > limit {
                break;
            }
        }
        if (2..=limit).contains(&seen.len()) {
            found.push((seen.len(), index));
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().take(LEADERS_MAX).map(|(_, index)| index).collect())
}

fn sorted(rows: &RecordBatch, order: &[usize]) -> Result<Vec<ArrayRef>, TableError> {
    let keys: Vec<ArrayRef> = order.iter().map(|index| rows.column(*index).clone()).collect();
    let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
    let converted = RowConverter::new(fields)
        .and_then(|converter| converter.convert_columns(&keys))
        .map_err(TableError::arrow("compare rows"))?;
    let count = u32::try_from(rows.num_rows()).unwrap_or(u32::MAX);
    let mut indexes: Vec<u32> = (0..count).collect();
    indexes.sort_by_key(|index| converted.row(*index as usize));
    let indexes = UInt32Array::from(indexes);
    let take = |array: &ArrayRef| arrow_select::take::take(array, &indexes, None);
    let taken: Result<Vec<ArrayRef>, _> = rows.columns().iter().map(take).collect();
    taken.map_err(TableError::arrow("sort rows"))
}

/// Bytes of the columns, each with its chain.
fn stored(
    columns: &[Column],
    arrays: &[ArrayRef],
    advice: &[ColumnAdvice],
    options: &AdviseOptions,
) -> Result<u64, TableError> {
    let mut bytes = 0;
    for ((column, array), advice) in columns.iter().zip(arrays).zip(advice) {
        let streams = Streams::of(column, std::slice::from_ref(array), options.server())?;
        // An order that pays with a quick codec pays with its slow kin.
        let best = &advice.best(options.goal).spec;
        let mut spec = choose::quick(best).unwrap_or_else(|| best.clone());
        let mut least = chains::measure(&streams, &spec, 1.0, options)?.stored_bytes;
        // Sorted values repeat, which packing alone does not see.
        if spec.generic_only().to_string() == "NONE" {
            spec.calls.retain(|call| call.name != "NONE");
            let arguments = vec!["1".to_owned()];
            spec.calls.push(CodecCall { name: "ZSTD".to_owned(), arguments });
            least = least.min(chains::measure(&streams, &spec, 1.0, options)?.stored_bytes);
        }
        bytes += least;
    }
    Ok(bytes)
}
