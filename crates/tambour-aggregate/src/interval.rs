//! Intervals of a group: how many meet, where, and how much they cover.

use super::number::floats;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::cmp::Ordering;
use tambour_function::kit::{
    Call, Kind, integer, is_moment, item_of, takes, type_at, wide_integers, wrong,
};
use tambour_function::{Function, FunctionError, Signature, bare, cast};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "reduceMaxIntersections",
        |n, s| ends_type(n, s, false).map(|_| DataType::UInt64),
        |c| {
            let counts = with_ends(
                c,
                |ends| densest(ends, f64::total_cmp).0,
                |ends| densest(ends, i128::cmp).0,
            )?;
            c.make_integers(|row| counts[row])
        },
    ),
    Function::new(
        "reduceMaxIntersectionsPosition",
        |n, s| ends_type(n, s, false),
        |c| {
            if matches!(c.result, DataType::Float32 | DataType::Float64) {
                let places =
                    with_ends(c, |ends| densest(ends, f64::total_cmp).1.unwrap_or(0.0), |_| 0.0)?;
                return c.make_floats(|row| places[row]);
            }
            let places = with_ends(c, |_| 0, |ends| densest(ends, i128::cmp).1.unwrap_or(0))?;
            c.make_integers(|row| places[row])
        },
    ),
    Function::new(
        "reduceIntervalLengthSum",
        |n, s| {
            Ok(match ends_type(n, s, true)? {
                DataType::Float32 | DataType::Float64 => DataType::Float64,
                _ => DataType::UInt64,
            })
        },
        |c| {
            if *c.result == DataType::Float64 {
                let of_floats = |ends: Vec<(f64, f64)>| {
                    let ends = ends.into_iter().filter(|(a, b)| a.total_cmp(b).is_ne()).collect();
                    let lengths = covered(ends, f64::total_cmp).into_iter().map(|(a, b)| b - a);
                    lengths.fold(0.0, std::ops::Add::add)
                };
                let sums = with_ends(c, of_floats, |_| 0.0)?;
                return c.make_floats(|row| sums[row]);
            }
            // Lengths are of the type of the ends, if that is one of 32 or 64 bits, and wrap around in it.
            let is_int32 = is_of_int32(c);
            let length = |(start, end): (i128, i128)| {
                let length = (end - start) as i64;
                if is_int32 { i64::from(length as i32) as u64 } else { length as u64 }
            };
            let sum = |ends| {
                let lengths = covered(ends, i128::cmp).into_iter().map(length);
                lengths.fold(0, u64::wrapping_add)
            };
            let sums = with_ends(c, |_| 0, sum)?;
            c.make_integers(|row| sums[row].into())
        },
    ),
];

/// True of intervals between values of Int32, dates of which are stored as such.
fn is_of_int32(call: &Call) -> bool {
    match call.operands.first().map(|operand| item_of(&operand.data_type)) {
        Some(DataType::Tuple(elements)) => elements
            .first()
            .is_some_and(|(_, it)| matches!(bare(it), DataType::Int32 | DataType::Date32)),
        _ => false,
    }
}

/// The type that both ends have.
fn ends_type(
    name: &'static str,
    s: &[Signature],
    takes_times: bool,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Array], &[])?;
    let DataType::Tuple(elements) = item_of(type_at(s, 0)) else {
        return Err(wrong(name, "it takes the two ends of intervals"));
    };
    let types: Vec<&DataType> = elements.iter().map(|(_, it)| bare(it)).collect();
    let [left, right] = types.as_slice() else {
        return Err(wrong(name, "it takes the two ends of intervals"));
    };
    let is_number = matches!(left, DataType::Float32 | DataType::Float64)
        || integer(left).is_some() && **left != DataType::Bool;
    if takes_times && **left == DataType::Int8 {
        return Err(wrong(name, "lengths of Int8 wrap around in ClickHouse; take a wider type"));
    }
    let is_time = takes_times && is_moment(left) && !matches!(left, DataType::DateTime64 { .. });
    if !is_number && !is_time {
        return Err(wrong(name, format!("it does not take {left}")));
    }
    if left == right {
        Ok((*left).clone())
    } else {
        Err(wrong(name, format!("both ends must have one type, not {left} and {right}")))
    }
}

/// Something of the intervals of each row, as floats or as integers.
fn with_ends<T>(
    call: &Call,
    of_floats: impl Fn(Vec<(f64, f64)>) -> T,
    of_integers: impl Fn(Vec<(i128, i128)>) -> T,
) -> Result<Vec<T>, FunctionError> {
    let lists = call.lists(0)?;
    let Some(pairs) = lists.items.values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes the two ends of intervals"));
    };
    let (left, right) = (pairs.column(0), pairs.column(1));
    if left.data_type().is_floating() {
        let (left, right) = (floats(left)?, floats(right)?);
        if [&left, &right].iter().any(|side| side.values().iter().any(|end| end.is_nan())) {
            return Err(wrong(call.name, "an interval cannot end with NaN"));
        }
        let of_row = |row| lists.range(row).map(|at| (left.value(at), right.value(at))).collect();
        return Ok((0..call.rows).map(|row| of_floats(of_row(row))).collect());
    }
    let whole = |side: &ArrayRef| match side.data_type() {
        ArrowType::Date32 => wide_integers(&cast(side, &ArrowType::Int32)?),
        ArrowType::Timestamp(..) => wide_integers(&cast(side, &ArrowType::Int64)?),
        _ => wide_integers(side),
    };
    let (left, right) = (whole(left)?, whole(right)?);
    let of_row = |row| lists.range(row).map(|at| (left[at], right[at])).collect();
    Ok((0..call.rows).map(|row| of_integers(of_row(row))).collect())
}

/// The most intervals that meet, and where they first do. An interval ends before another begins at the same place.
fn densest<T: Copy>(
    intervals: Vec<(T, T)>,
    order: impl Fn(&T, &T) -> Ordering,
) -> (i128, Option<T>) {
    let mut ends: Vec<(T, i128)> =
        intervals.into_iter().flat_map(|(start, end)| [(start, 1), (end, -1)]).collect();
    ends.sort_by(|a, b| order(&a.0, &b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most, mut place) = (0, 0, None);
    for (at, step) in ends {
        now += step;
        if now > most {
            (most, place) = (now, Some(at));
        }
    }
    (most, place)
}

/// The intervals joined where they overlap; one whose ends are exchanged is turned around.
fn covered<T: Copy>(intervals: Vec<(T, T)>, order: impl Fn(&T, &T) -> Ordering) -> Vec<(T, T)> {
    let turned = |(a, b): (T, T)| if order(&a, &b).is_gt() { (b, a) } else { (a, b) };
    let mut sorted: Vec<(T, T)> = intervals.into_iter().map(turned).collect();
    sorted.sort_by(|a, b| order(&a.0, &b.0));
    let mut joined: Vec<(T, T)> = Vec::new();
    for (start, end) in sorted {
        match joined.last_mut() {
            Some(last) if order(&start, &last.1).is_le() => {
                if order(&end, &last.1).is_gt() {
                    last.1 = end;
                }
            }
            _ => joined.push((start, end)),
        }
    }
    joined
}
