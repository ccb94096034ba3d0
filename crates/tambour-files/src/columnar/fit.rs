//! Arrays of a file into the form of a table's column, checked value by value where the types differ.

use crate::build::{self, NOT_UTF8};
use crate::columnar::facts::{is_date32, is_text};
use crate::columnar::misfit::{Misfit, OUT_OF_RANGE, first, text};
use crate::columnar::{raw, whole};
use crate::error::NOT_NULLABLE;
use crate::infer::Reading;
use crate::infer::evidence::DATE_DAYS;
use crate::infer::unify::are_named;
use crate::output::{Style, Text};
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt32Array, make_array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType as Arrow, Field, Fields, TimeUnit};
use arrow_select::take::take;
use std::sync::Arc;
use tambour_part::DataType;

/// What may not be lost of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Care {
    /// As in [`Reading::exact`].
    pub(crate) exact: bool,
    /// As in [`Reading::finite`].
    pub(crate) finite: bool,
}

/// Brings an array into the form of `target`, whose Arrow field is `field`.
pub(crate) fn fit(
    array: &ArrayRef,
    from: &Field,
    target: &DataType,
    field: &Field,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    let fitted = convert(array, from, target, field.data_type(), care)?;
    let nested = matches!(target, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    if !field.is_nullable() && !nested && fitted.logical_null_count() > 0 {
        let nulls = fitted.logical_nulls();
        let row =
            (0..fitted.len()).find(|&row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)));
        let value = b"NULL".to_vec();
        return Err(Misfit::Value { row: row.unwrap_or(0), reason: NOT_NULLABLE, value });
    }
    Ok(fitted)
}

/// A column that the file does not have: NULL, or what is empty.
pub(crate) fn missing(target: &DataType, rows: usize) -> Result<ArrayRef, Misfit> {
    let reading = Reading::plain(target.clone());
    let mut builder = build::builder(&reading, rows)?;
    for row in 0..rows {
        let refuse = |reason| Misfit::Value { row, reason, value: Vec::new() };
        builder.null().map_err(refuse)?;
    }
    Ok(builder.finish()?)
}

fn convert(
    array: &ArrayRef,
    from: &Field,
    target: &DataType,
    to: &Arrow,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    match target.unwrapped() {
        // A column of nothing has no type of its own.
        DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)
            if *array.data_type() == Arrow::Null =>
        {
            missing(target, array.len())
        }
        DataType::Array(inner) => list(array, from, inner, to, care),
        DataType::Tuple(elements) => tuple(array, from, elements, to, care),
        DataType::Map(key, value) => map(array, from, [key, value], to, care),
        scalar => {
            if care.exact
                && let Some(precision) = whole::precision(scalar)
            {
                whole::check_exact(array, precision)?;
            }
            let fitted = self::scalar(array, from, target, scalar, to, care)?;
            check_range(&fitted, scalar)?;
            if care.finite {
                check_finite(array, &fitted)?;
            }
            Ok(fitted)
        }
    }
}

/// How a scalar gets from one type to the other.
enum Way {
    /// It is there already.
    Same,
    /// By Arrow's cast, which makes NULL of what does not fit.
    Cast,
    /// By way of its text, with all checks that reading text has.
    Text,
    None,
}

fn scalar(
    array: &ArrayRef,
    from: &Field,
    target: &DataType,
    scalar: &DataType,
    to: &Arrow,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    if let Some(integers) = raw::integers(array, scalar) {
        return Ok(integers);
    }
    match way(array.data_type(), scalar, to) {
        Way::Same => Ok(Arc::clone(array)),
        Way::Cast => {
            let options = CastOptions { safe: true, ..CastOptions::default() };
            let cast = cast_with_options(array, to, &options)?;
            lost(array, &cast)?;
            Ok(cast)
        }
        Way::Text if !matches!(to, Arrow::FixedSizeBinary(_)) => by_text(array, from, target, care),
        Way::Text => match raw::values(array, scalar)? {
            Some(values) => Ok(values),
            None => by_text(array, from, target, care),
        },
        Way::None => Err(Misfit::Type),
    }
}

fn way(from: &Arrow, scalar: &DataType, to: &Arrow) -> Way {
    use DataType as T;
    let value = match from {
        Arrow::Dictionary(_, value) => value.as_ref(),
        other => other,
    };
    let timestamp = matches!(value, Arrow::Date64 | Arrow::Timestamp(..));
    let number = value.is_integer() || value.is_floating();
    let casts = match scalar {
        // UUIDs and big integers are bytes too, but as text they are meant to be read.
        T::String => is_text(value),
        T::Ipv4 => from.is_integer(),
        // From a timestamp the text tells whether it is midnight.
        T::Date | T::Date32 => *value == Arrow::Date32,
        T::DateTime { .. } | T::DateTime64 { .. } => timestamp || *value == Arrow::Date32,
        T::Decimal { .. } | T::Int128 | T::UInt128 => {
            value.is_integer()
                || decimal_scale(value).is_some_and(|scale| Some(scale) <= decimal_scale(to))
        }
        T::Float32 => number,
        T::Float64 => number || decimal_scale(value).is_some(),
        _ => to.is_integer() && value.is_integer(),
    };
    let foreign = matches!(value, Arrow::Union(..) | Arrow::Duration(_) | Arrow::Interval(_));
    // The values of an enumeration's dictionary may stand in another order, and not every float is a BFloat16.
    let checked = matches!(scalar, T::Enum8(_) | T::Enum16(_) | T::BFloat16);
    if from == to && !checked {
        Way::Same
    } else if casts {
        Way::Cast
    } else if foreign || from.is_nested() {
        Way::None
    } else {
        Way::Text
    }
}

fn decimal_scale(data_type: &Arrow) -> Option<i8> {
    match data_type {
        Arrow::Decimal32(_, scale)
        | Arrow::Decimal64(_, scale)
        | Arrow::Decimal128(_, scale)
        | Arrow::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The first value that a cast has lost.
fn lost(before: &ArrayRef, after: &ArrayRef) -> Result<(), Misfit> {
    if before.logical_null_count() == after.logical_null_count() {
        return Ok(());
    }
    let (old, new) = (before.logical_nulls(), after.logical_nulls());
    let null =
        |nulls: &Option<NullBuffer>, row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let row = (0..before.len()).find(|&row| !null(&old, row) && null(&new, row)).unwrap_or(0);
    let field = Field::new("", before.data_type().clone(), true);
    let value = text(before, &field, row);
    let reason = if is_text(before.data_type()) { NOT_UTF8 } else { OUT_OF_RANGE };
    Err(Misfit::Value { row, reason, value })
}

/// Refuses a number that has become infinite.
fn check_finite(before: &ArrayRef, after: &ArrayRef) -> Result<(), Misfit> {
    let Some(after) = after.as_primitive_opt::<arrow::Float32Type>() else { return Ok(()) };
    let data_type = before.data_type();
    if !(data_type.is_numeric() && after.iter().flatten().any(f32::is_infinite)) {
        return Ok(());
    }
    let before = cast_with_options(before, &Arrow::Float64, &CastOptions::default())?;
    let numbers = before.as_primitive::<arrow::Float64Type>();
    let pairs = numbers.iter().zip(after).enumerate();
    let is_lost = |pair: (Option<f64>, Option<f32>)| match pair {
        (Some(before), Some(after)) => before.is_finite() && after.is_infinite(),
        _ => false,
    };
    let Some((row, _)) = pairs.into_iter().find(|(_, pair)| is_lost(*pair)) else { return Ok(()) };
    let field = Field::new("", before.data_type().clone(), true);
    Err(Misfit::Value { row, reason: OUT_OF_RANGE, value: text(&before, &field, row) })
}

/// Reads the values' texts as if they stood in a file of text.
fn by_text(
    array: &ArrayRef,
    from: &Field,
    target: &DataType,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    let texts = Text::new(array.as_ref(), from, Style::Plain).map_err(|_| Misfit::Type)?;
    let data_type = match target {
        DataType::Nullable(_) | DataType::LowCardinality(_) => target.clone(),
        // Whether NULL is allowed is checked after the conversion, for all ways alike.
        other => other.clone().made_nullable(),
    };
    let reading = Reading { exact: care.exact, ..Reading::plain(data_type) };
    let mut builder = build::builder(&reading, array.len())?;
    let mut value = Vec::new();
    for row in 0..array.len() {
        let outcome = if texts.is_null(row) {
            builder.null()
        } else {
            value.clear();
            texts.write(row, &mut value);
            // What has no text is not stored as the words of an error.
            if texts.has_text(row) { builder.text(&value) } else { Err(OUT_OF_RANGE) }
        };
        outcome.map_err(|reason| Misfit::Value { row, reason, value: value.clone() })?;
    }
    Ok(builder.finish()?)
}

/// What Arrow holds and the ClickHouse type does not.
fn check_range(array: &ArrayRef, scalar: &DataType) -> Result<(), Misfit> {
    let outside = match scalar {
        DataType::Date => {
            first(array.as_primitive::<arrow::Date32Type>().iter(), |day| DATE_DAYS.contains(&day))
        }
        DataType::Date32 => first(array.as_primitive::<arrow::Date32Type>().iter(), is_date32),
        DataType::DateTime { .. } => {
            first(array.as_primitive::<arrow::TimestampSecondType>().iter(), |second| {
                u32::try_from(second).is_ok()
            })
        }
        DataType::DateTime64 { .. } => outside_of_days(array),
        _ => None,
    };
    let Some(row) = outside else { return Ok(()) };
    let field = Field::new("", array.data_type().clone(), true);
    Err(Misfit::Value { row, reason: OUT_OF_RANGE, value: text(array, &field, row) })
}

fn outside_of_days(array: &ArrayRef) -> Option<usize> {
    let fits = |per_day: i64| {
        move |ticks: i64| i32::try_from(ticks.div_euclid(per_day)).is_ok_and(is_date32)
    };
    match array.data_type() {
        Arrow::Timestamp(TimeUnit::Second, _) => {
            first(array.as_primitive::<arrow::TimestampSecondType>().iter(), fits(86_400))
        }
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            first(array.as_primitive::<arrow::TimestampMillisecondType>().iter(), fits(86_400_000))
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            let values = array.as_primitive::<arrow::TimestampMicrosecondType>();
            first(values.iter(), fits(86_400_000_000))
        }
        // All of its 584 years are inside, but for those before 1900.
        _ => first(
            array.as_primitive_opt::<arrow::TimestampNanosecondType>()?.iter(),
            fits(86_400_000_000_000),
        ),
    }
}

/// Offsets and values of lists, without what NULL lists may hide.
fn packed(
    offsets: &[i32],
    values: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(OffsetBuffer<i32>, ArrayRef), Misfit> {
    let (first, last) = match (offsets.first(), offsets.last()) {
        (Some(&first), Some(&last)) => (first, last),
        _ => (0, 0),
    };
    let hidden = nulls.filter(|nulls| nulls.null_count() > 0);
    let Some(nulls) = hidden else {
        let shifted: Vec<i32> = offsets.iter().map(|offset| offset - first).collect();
        let values = values.slice(first as usize, (last - first) as usize);
        return Ok((OffsetBuffer::new(ScalarBuffer::from(shifted)), values));
    };
    let (mut kept, mut shifted) = (Vec::new(), vec![0]);
    for (row, window) in offsets.windows(2).enumerate() {
        if nulls.is_valid(row) {
            kept.extend((window[0]..window[1]).map(i32::cast_unsigned));
        }
        shifted.push(i32::try_from(kept.len()).or(Err(Misfit::Type))?);
    }
    let values = take(values, &UInt32Array::from(kept), None)?;
    Ok((OffsetBuffer::new(ScalarBuffer::from(shifted)), values))
}

fn list(
    array: &ArrayRef,
    from: &Field,
    inner: &DataType,
    to: &Arrow,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    let Arrow::List(item) = to else { return Err(Misfit::Type) };
    let source = match from.data_type() {
        Arrow::List(source) | Arrow::LargeList(source) | Arrow::FixedSizeList(source, _) => source,
        _ if is_text(from.data_type()) => {
            return by_text(array, from, &DataType::Array(Box::new(inner.clone())), care);
        }
        _ => return Err(Misfit::Type),
    };
    let plain =
        cast_with_options(array, &Arrow::List(Arc::clone(source)), &CastOptions::default())?;
    let plain = plain.as_list::<i32>();
    let (offsets, values) = packed(plain.value_offsets(), plain.values(), plain.nulls())?;
    let values = fit(&values, source, inner, item, care);
    let values = values.map_err(|misfit| in_row(misfit, &offsets))?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, None)?))
}

/// A refusal of an element, with the row of its list.
fn in_row(misfit: Misfit, offsets: &OffsetBuffer<i32>) -> Misfit {
    match misfit {
        Misfit::Value { row, reason, value } => {
            let element = i32::try_from(row).unwrap_or(i32::MAX);
            let row = offsets.partition_point(|&offset| offset <= element).saturating_sub(1);
            Misfit::Value { row, reason, value }
        }
        other => other,
    }
}

fn tuple(
    array: &ArrayRef,
    from: &Field,
    elements: &[(Option<String>, DataType)],
    to: &Arrow,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    let Arrow::Struct(fields) = to else { return Err(Misfit::Type) };
    let Some(source) = array.as_struct_opt() else {
        let target = DataType::Tuple(elements.to_vec());
        return if is_text(from.data_type()) {
            by_text(array, from, &target, care)
        } else {
            Err(Misfit::Type)
        };
    };
    let mut columns = Vec::with_capacity(elements.len());
    let places = element_places(source.fields(), elements).ok_or(Misfit::Type)?;
    for ((place, (_, inner)), field) in places.into_iter().zip(elements).zip(fields) {
        columns.push(match place {
            Some(place) => {
                let column = under(source.column(place), source.nulls());
                fit(&column, &source.fields()[place], inner, field, care)?
            }
            None => missing(inner, array.len())?,
        });
    }
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, None, array.len())?))
}

/// For each element its field in the file: by its name, where both sides have names, else by its place. Nothing if the file has
/// fields besides.
fn element_places(
    fields: &Fields,
    elements: &[(Option<String>, DataType)],
) -> Option<Vec<Option<usize>>> {
    // Elements without names are written as `1`, `2` and so on.
    let is_numbered = |(at, field): (usize, &Arc<Field>)| *field.name() == (at + 1).to_string();
    if !are_named(elements) || fields.iter().enumerate().all(is_numbered) {
        return (fields.len() == elements.len()).then(|| (0..elements.len()).map(Some).collect());
    }
    let place =
        |name: &Option<String>| fields.iter().position(|it| Some(it.name()) == name.as_ref());
    let places: Vec<Option<usize>> = elements.iter().map(|(name, _)| place(name)).collect();
    // A name that comes twice is found once.
    (places.iter().flatten().count() == fields.len()).then_some(places)
}

/// An element's values, NULL where the whole is.
pub(super) fn under(column: &ArrayRef, nulls: Option<&NullBuffer>) -> ArrayRef {
    if nulls.is_none_or(|nulls| nulls.null_count() == 0) {
        return Arc::clone(column);
    }
    let both = NullBuffer::union(nulls, column.nulls());
    let data = column.to_data().into_builder().nulls(both);
    data.build().map_or_else(|_| Arc::clone(column), make_array)
}

fn map(
    array: &ArrayRef,
    from: &Field,
    [key, value]: [&DataType; 2],
    to: &Arrow,
    care: Care,
) -> Result<ArrayRef, Misfit> {
    let Arrow::Map(entries, _) = to else { return Err(Misfit::Type) };
    let Arrow::Struct(fields) = entries.data_type() else { return Err(Misfit::Type) };
    let Some(source) = array.as_map_opt() else {
        let target = DataType::Map(Box::new(key.clone()), Box::new(value.clone()));
        return if is_text(from.data_type()) {
            by_text(array, from, &target, care)
        } else {
            Err(Misfit::Type)
        };
    };
    let inner: ArrayRef = Arc::new(source.entries().clone());
    let (offsets, inner) = packed(source.value_offsets(), &inner, source.nulls())?;
    let inner = inner.as_struct();
    let part = |index: usize, target: &DataType| {
        let (column, from) = (inner.column(index), &inner.fields()[index]);
        let fitted = fit(column, from, target, &fields[index], care);
        fitted.map_err(|misfit| in_row(misfit, &offsets))
    };
    let columns = vec![part(0, key)?, part(1, value)?];
    let built = StructArray::try_new(fields.clone(), columns, None)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, built, None, false)?))
}
