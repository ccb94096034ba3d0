//! Values of a group that stay values: `groupArraySorted`, `groupArrayLast`, `anyHeavy`, `singleValueOrNull`,
//! `groupConcat`.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, UInt32Array};
use arrow_schema::{DataType as ArrowType, Field};
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, Picks, Texts, array_of, compare_items, is_nullable, item_of, list_array, nullable,
    one_each, one_each_or_null, plain_item, shown, take, takes, type_at, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare, cast};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reduceGroupArrayLast", counted_type, |c| {
        let count = size(c)?;
        // Written around in a ring, which is not turned back at the end.
        picked(c, |places| {
            let first = places.len().saturating_sub(count);
            let mut last = places.split_off(first);
            let turns = if last.is_empty() { 0 } else { first % last.len() };
            last.rotate_right(turns);
            last
        })
    }),
    Function::new("reduceGroupArray", counted_type, |c| {
        let count = size(c)?;
        picked(c, |places| {
            places.truncate(count);
            std::mem::take(places)
        })
    }),
    Function::new("reduceGroupArraySorted", ordered_type, sorted),
    Function::new(
        "reduceAnyHeavy",
        |n, s| {
            takes(n, s, &[Kind::Array], &[])?;
            Ok(bare(&plain_item(item_of(type_at(s, 0)))).clone())
        },
        heavy,
    ),
    Function::new(
        "reduceSingleValueOrNull",
        |n, s| {
            takes(n, s, &[Kind::Array], &[])?;
            Ok(nullable(bare(item_of(type_at(s, 0))).clone()))
        },
        single,
    ),
    Function::new(
        "reduceGroupConcat",
        |n, s| {
            takes(n, s, &[Kind::Array], &[Kind::ConstText, Kind::ConstInteger])?;
            Ok(DataType::String)
        },
        concat,
    ),
    Function::new("reduceFull", full_type, full),
    Function::new(
        "reduceUniqUpTo",
        |n, s| {
            takes(n, s, &[Kind::Array, Kind::ConstInteger], &[])?;
            let is_float =
                |it: &DataType| matches!(bare(it), DataType::Float32 | DataType::Float64);
            match bare(item_of(type_at(s, 0))) {
                // 0 and -0 are two values there, but not if they are alone.
                DataType::Tuple(elements) if elements.iter().any(|(_, it)| is_float(it)) => {
                    Err(wrong(n, "it does not take floats beside other values"))
                }
                _ => Ok(DataType::UInt8),
            }
        },
        |c| {
            let (lists, limit) = (c.lists(0)?, c.integers(1)?.get(0));
            let items = compare_items(&[&lists.items])?;
            c.make_integers(|row| {
                let all: std::collections::HashSet<&[u8]> = lists
                    .range(row)
                    .filter(|at| !lists.is_null(*at))
                    .filter_map(|at| Some(items.first()?.get(at)))
                    .collect();
                (all.len() as i128).min(limit + 1)
            })
        },
    ),
];

/// The tuples of an array, none of whose elements may be NULL.
fn full_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    match bare(item_of(type_at(s, 0))) {
        DataType::Tuple(elements) => {
            let full = elements.iter().map(|(name, it)| (name.clone(), bare(it).clone()));
            Ok(array_of(DataType::Tuple(full.collect())))
        }
        other => Err(wrong(name, format!("it takes tuples, not {other}"))),
    }
}

fn full(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let Some(rows) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes tuples"));
    };
    let columns = rows.columns().iter().map(|column| match column.data_type() {
        // Texts that are packed come out plain.
        ArrowType::Dictionary(_, inner) if is_text(inner) => cast(column, inner),
        _ => Ok(column.clone()),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let is_full = |at: &usize| columns.iter().all(|column| !column.is_null(*at));
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let before = places.len();
        places.extend(lists.range(row).filter(is_full).map(|at| at as u32));
        lengths.push(places.len() - before);
    }
    let places = UInt32Array::from(places);
    let columns = columns.iter().map(|column| take(column, &places));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<Field> = rows
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, column)| Field::new(field.name(), column.data_type().clone(), false))
        .collect();
    let rows = StructArray::try_new(fields.into(), columns, None);
    let rows = rows.map_err(FunctionError::arrow("leave out NULLs"))?;
    list_array(lengths, Arc::new(rows), item_of(call.result))
}

fn is_text(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Utf8 | ArrowType::Utf8View)
}

fn counted_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array, Kind::ConstInteger], &[])?;
    Ok(array_of(bare(&plain_item(item_of(type_at(s, 0)))).clone()))
}

/// The type of the smallest values.
fn ordered_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let found = counted_type(name, s)?;
    match item_of(&found) {
        // A NULL inside is less than all else there, and greater in other orders.
        DataType::Array(item) if is_nullable(item) => {
            Err(wrong(name, "it does not take arrays with NULLs"))
        }
        _ => Ok(found),
    }
}

fn size(call: &Call) -> Result<usize, FunctionError> {
    match usize::try_from(call.integers(1)?.get(0)) {
        Ok(size @ 1..) => Ok(size),
        _ => Err(wrong(call.name, "the number must be greater than 0")),
    }
}

fn picked(
    call: &Call,
    pick: impl Fn(&mut Vec<usize>) -> Vec<usize>,
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let mut picks = Picks::new(call);
    for row in 0..call.rows {
        let mut places: Vec<usize> = lists.range(row).filter(|at| !lists.is_null(*at)).collect();
        picks.row(pick(&mut places));
    }
    picks.arrays(&lists, item_of(call.result))
}

fn sorted(call: &Call) -> Result<ArrayRef, FunctionError> {
    let count = size(call)?;
    let lists = call.lists(0)?;
    // ClickHouse puts NaN first here, and last elsewhere.
    let is_float = lists.items.values.data_type().is_floating();
    let numbers = is_float.then(|| super::number::floats(&lists.items.values)).transpose()?;
    let is_number = |at: usize| numbers.as_ref().is_none_or(|it| !it.value(at).is_nan());
    let items = compare_items(&[&lists.items])?;
    let Some(items) = items.first() else { return Err(wrong(call.name, "it takes an array")) };
    picked(call, |places| {
        places.sort_by(|a, b| {
            let by_kind = is_number(*a).cmp(&is_number(*b));
            by_kind.then_with(|| items.get(*a).cmp(items.get(*b)))
        });
        places.truncate(count);
        std::mem::take(places)
    })
}

/// The value that is left when each two different ones are taken away together.
fn heavy(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = compare_items(&[&lists.items])?;
    let Some(items) = items.first() else { return Err(wrong(call.name, "it takes an array")) };
    let places = (0..call.rows).map(|row| {
        let (mut found, mut count) = (None::<usize>, 0_u64);
        for at in lists.range(row).filter(|at| !lists.is_null(*at)) {
            match found {
                Some(other) if items.get(other) == items.get(at) => count += 1,
                Some(_) if count > 0 => count -= 1,
                _ => (found, count) = (Some(at), 1),
            }
        }
        found
    });
    one_each(&lists.items.values, places.collect())
}

fn single(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let items = compare_items(&[&lists.items])?;
    let Some(items) = items.first() else { return Err(wrong(call.name, "it takes an array")) };
    let places = (0..call.rows).map(|row| {
        let mut range = lists.range(row);
        let first = range.next()?;
        range.all(|at| items.get(at) == items.get(first)).then_some(first)
    });
    one_each_or_null(&lists.items.values, places.collect())
}

fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let separator = match call.optional_texts(1)? {
        Some(separator) => separator.get(0).to_vec(),
        None => Vec::new(),
    };
    let limit = call
        .optional_integers(2)?
        .map_or(usize::MAX, |limits| usize::try_from(limits.get(0)).unwrap_or(usize::MAX));
    let texts = Texts::of(&shown(&lists.items, lists.items.values.len())?);
    call.make_texts(|row, out| {
        let there = lists.range(row).filter(|at| !lists.is_null(*at)).take(limit);
        // As there: no separator while nothing is written, so that empty texts at the front leave no trace.
        let mut is_begun = false;
        for at in there {
            if is_begun {
                out.extend_from_slice(&separator);
            }
            let text = texts.value(at).unwrap_or_default();
            out.extend_from_slice(text);
            is_begun |= !text.is_empty();
        }
    })
}
