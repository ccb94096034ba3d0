//! Types that would hold the values of a column, too, and what that would save.

use crate::sample::Sample;
use crate::streams::Streams;
use crate::{AdviseOptions, Measure, chains};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as Arrow, TimeUnit};
use std::collections::HashSet;
use tambour_codec::choose::Objective;
use tambour_part::DataType;
use tambour_part::choose::facts::Facts;
use tambour_part::choose::{integer, is_wide_integer};
use tambour_part::types::{Column, Strings};
use tambour_table::TableError;

/// Most different texts for which LowCardinality is tried: beyond, its dictionaries are split.
const DIFFERENT_MAX: usize = 8192;
/// Rows per different text from which on it is tried.
const ROWS_PER_DIFFERENT: usize = 8;

/// Another type.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeAdvice {
    /// The type.
    pub data_type: DataType,
    /// Why it would do.
    pub reason: String,
    /// What it would take, with the best chain for the goal.
    pub measure: Measure,
    /// Bytes that it would save against the best chain for the present type; negative if it would take more.
    pub saved: i64,
}

/// A type to try.
struct Candidate {
    data_type: DataType,
    reason: String,
}

/// Tries what the facts allow.
pub(super) fn advise(
    sample: &Sample,
    index: usize,
    best: &[Measure; 3],
    options: &AdviseOptions,
) -> Result<Vec<TypeAdvice>, TableError> {
    let column = &sample.columns[index];
    let arrays = sample.arrays(index);
    let goal = Objective::ALL.iter().position(|goal| *goal == options.goal).unwrap_or_default();
    let present = best[goal.min(2)].stored_bytes;
    let mut found = Vec::new();
    for Candidate { data_type, reason } in
        candidates(&column.data_type, &sample.facts[index], &arrays)
    {
        // What a library of dates cannot read is not a date: the type is not offered then.
        let Some(arrays) = converted(&arrays, &data_type) else { continue };
        let other = Column { name: column.name.clone(), data_type: data_type.clone() };
        let Ok(streams) = Streams::of(&other, &arrays, options.server()) else { continue };
        let (measured, _) = chains::rank(&streams, &data_type, sample.scale(), options)?;
        let Some(measure) = measured
            .into_iter()
            .min_by(|a, b| a.cost(options.goal).total_cmp(&b.cost(options.goal)))
        else {
            continue;
        };
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let saved = signed(present) - signed(measure.stored_bytes);
        found.push(TypeAdvice { data_type, reason, measure, saved });
    }
    // A narrower type is worth something in memory as well; the others are only about bytes.
    found.retain(|advice| advice.saved > 0 || narrower(&advice.data_type, &column.data_type));
    found.sort_by_key(|advice| std::cmp::Reverse(advice.saved));
    Ok(found)
}

fn narrower(new: &DataType, old: &DataType) -> bool {
    match (new.fixed_width(), old.fixed_width()) {
        (Some(new_width), Some(old_width)) => {
            new_width < old_width || (old.is_nullable() && !new.is_nullable())
        }
        _ => old.is_nullable() && !new.is_nullable(),
    }
}

fn candidates(data_type: &DataType, facts: &Facts, arrays: &[ArrayRef]) -> Vec<Candidate> {
    let mut found = Vec::new();
    let (inner, nullable) = match data_type {
        DataType::Nullable(inner) => (inner.as_ref(), true),
        other => (other, false),
    };
    let keeps_nulls = nullable && facts.nulls > 0;
    let mut add = |inner: DataType, reason: String| {
        let data_type = if keeps_nulls { DataType::Nullable(Box::new(inner)) } else { inner };
        found.push(Candidate { data_type, reason });
    };
    if facts.rows == 0 || facts.nulls == facts.rows {
        return found;
    }
    if nullable && !keeps_nulls {
        add(inner.clone(), "no value is NULL".to_owned());
    }
    let range = |low: i128, high: i128| format!("all values are {low} to {high}");
    match (inner, facts.range) {
        (DataType::Float32 | DataType::Float64, Some((low, high))) if !facts.fractional => {
            if let Some(integer) = integer(low, high) {
                add(integer, format!("whole numbers only: {}", range(low, high)));
            }
        }
        (DataType::DateTime64 { zone, .. }, Some((low, high)))
            if !facts.subsecond && low >= 0 && high <= i128::from(u32::MAX) =>
        {
            add(
                DataType::DateTime { zone: zone.clone() },
                "no value has a fraction of a second".to_owned(),
            );
        }
        (inner, Some((low, high))) if is_wide_integer(inner) => {
            let narrow =
                integer(low, high).filter(|narrow| narrow.fixed_width() < inner.fixed_width());
            if let Some(narrow) = narrow {
                add(narrow, range(low, high));
            }
        }
        _ => {}
    }
    if *inner == DataType::String {
        texts(facts, &mut add);
        if let Some(different) = different(arrays) {
            let inner = if keeps_nulls {
                DataType::Nullable(Box::new(DataType::String))
            } else {
                DataType::String
            };
            let data_type = DataType::LowCardinality(Box::new(inner));
            found.push(Candidate {
                data_type,
                reason: format!("{different} different values in the sample"),
            });
        }
    }
    found
}

/// What texts can become.
fn texts(facts: &Facts, add: &mut dyn FnMut(DataType, String)) {
    let Some(readings) = facts.readings else { return };
    if readings.date {
        add(DataType::Date32, "every text is a date".to_owned());
    }
    if readings.time {
        add(
            DataType::DateTime { zone: Some("UTC".to_owned()) },
            "every text is a date and a time".to_owned(),
        );
    }
    if let (true, Some((low, high))) = (readings.number, facts.range)
        && let Some(integer) = integer(low, high)
    {
        add(integer, format!("every text is a whole number, {low} to {high}"));
    }
}

/// How many different texts there are, if they are few.
fn different(arrays: &[ArrayRef]) -> Option<usize> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut rows = 0;
    for array in arrays {
        let texts: Box<dyn Iterator<Item = Option<&str>>> = match array.data_type() {
            Arrow::Utf8View => Box::new(array.as_string_view().iter()),
            Arrow::Utf8 => Box::new(array.as_string::<i32>().iter()),
            _ => return None,
        };
        rows += array.len();
        for text in texts.flatten() {
            seen.insert(text);
            if seen.len() > DIFFERENT_MAX {
                return None;
            }
        }
    }
    (seen.len() * ROWS_PER_DIFFERENT <= rows).then_some(seen.len())
}

/// The arrays in a form that a type takes; `None` if a value cannot be converted.
fn converted(arrays: &[ArrayRef], data_type: &DataType) -> Option<Vec<ArrayRef>> {
    let convert = |array: &ArrayRef| {
        if data_type.accepts(array.data_type()) {
            return Some(array.clone());
        }
        let inner = match data_type {
            DataType::Nullable(inner) => inner,
            other => other,
        };
        let wanted = match inner {
            DataType::DateTime { .. } => Arrow::Timestamp(TimeUnit::Second, None),
            other if other.fixed_width().is_some() && is_whole(other) => Arrow::Int64,
            other => other.arrow(Strings::Utf8),
        };
        let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
        arrow_cast::cast_with_options(array, &wanted, &strict).ok()
    };
    arrays.iter().map(convert).collect()
}

fn is_whole(data_type: &DataType) -> bool {
    is_wide_integer(data_type) || matches!(data_type, DataType::UInt8 | DataType::Int8)
}
