//! Vectors that are tuples of numbers: norms, distances, `dotProduct`. Integers stay such where nothing is divided or
//! rooted, and grow as sums and products do.

use super::super::access::{total, wide_integers};
use super::super::arithmetic::{Integer, integer};
use super::super::{Call, Operand, Signature, bare, cast, expect_count, find_in_queries, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use tambour_part::types::DataType;

/// True if a function is asked for tuples.
pub(super) fn is_asked(s: &[Signature]) -> bool {
    s.iter().any(|argument| matches!(argument.data_type, DataType::Tuple(_)))
}

/// The integers of each place, or nothing if some elements are floats.
type Places = Option<Vec<Vec<Integer>>>;

fn places(name: &str, s: &[Signature]) -> Result<Places, FunctionError> {
    let (mut all, mut has_floats): (Vec<Vec<Integer>>, bool) = (Vec::new(), false);
    for (index, argument) in s.iter().enumerate() {
        let DataType::Tuple(elements) = &argument.data_type else {
            return Err(wrong(name, format!("it takes tuples, not {}", argument.data_type)));
        };
        if elements.is_empty() || index > 0 && all.len() != elements.len() {
            return Err(wrong(name, "the tuples must have the same number of elements"));
        }
        all.resize(elements.len(), Vec::new());
        for ((_, data_type), place) in elements.iter().zip(&mut all) {
            match (integer(bare(data_type)), bare(data_type)) {
                (Some(number), plain) if *plain != DataType::Bool => place.push(number),
                (_, DataType::Float32 | DataType::Float64) => has_floats = true,
                _ => return Err(wrong(name, format!("it does not take {}", argument.data_type))),
            }
        }
    }
    Ok((!has_floats).then_some(all))
}

/// A sum, or a product.
fn grown(a: Integer, b: Integer) -> Integer {
    Integer { bits: (a.bits.max(b.bits) * 2).min(64), is_signed: a.is_signed || b.is_signed }
}

/// The type of a result.
pub(super) fn vector_type(
    name: &'static str,
    s: &[Signature],
    count: usize,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, count..=count)?;
    let Some(places) = places(name, s)? else { return Ok(DataType::Float64) };
    let term = |place: &Vec<Integer>| {
        let first = place.first().copied()?;
        let second = place.get(1).copied().unwrap_or(first);
        let step = Integer { is_signed: true, ..grown(first, second) };
        Some(match name {
            "L1Norm" => Integer { is_signed: false, ..first },
            "L1Distance" => Integer { is_signed: false, ..step },
            "L2SquaredNorm" => grown(first, first),
            "L2SquaredDistance" => grown(step, step),
            "arrayDotProduct" => grown(first, second),
            _ => return None,
        })
    };
    let terms: Option<Vec<Integer>> = places.iter().map(term).collect();
    let sum = terms.and_then(|terms| terms.into_iter().reduce(grown));
    Ok(sum.map_or(DataType::Float64, Integer::data_type))
}

/// The columns of an argument.
fn columns(call: &Call, index: usize) -> Result<Vec<ArrayRef>, FunctionError> {
    let values = call.values(index)?;
    let Some(tuples) = values.as_struct_opt() else {
        return Err(wrong(call.name, "it takes tuples"));
    };
    if tuples.columns().iter().any(|column| column.null_count() > 0) {
        return Err(wrong(call.name, "it does not take tuples with a NULL inside"));
    }
    Ok(tuples.columns().to_vec())
}

/// The numbers of each row.
fn numbers<T: Copy>(
    call: &Call,
    index: usize,
    read: impl Fn(&ArrayRef) -> Result<Vec<T>, FunctionError>,
) -> Result<Vec<Vec<T>>, FunctionError> {
    let columns = columns(call, index)?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok((0..call.rows).map(|row| columns.iter().map(|column| column[row]).collect()).collect())
}

fn as_floats(values: &ArrayRef) -> Result<Vec<f64>, FunctionError> {
    let floats = cast(values, &ArrowType::Float64)?;
    Ok(floats.as_primitive::<Float64Type>().values().to_vec())
}

/// The squares of norms and distances of integers, which wrap around before the root is taken.
fn squared(call: &Call) -> Result<Option<Vec<f64>>, FunctionError> {
    let name = match call.name {
        "L2Norm" => "L2SquaredNorm",
        "L2Distance" => "L2SquaredDistance",
        _ => return Ok(None),
    };
    let signatures: Vec<Signature> = call.operands.iter().map(Operand::signature).collect();
    if places(name, &signatures)?.is_none() {
        return Ok(None);
    }
    let function = find_in_queries(name).ok_or_else(|| wrong(name, "it is not there"))?;
    let squares = function.evaluate(call.operands)?.expanded(call.rows)?;
    as_floats(&squares).map(Some)
}

/// The values of a result.
pub(super) fn vector(call: &Call) -> Result<ArrayRef, FunctionError> {
    let has_two = call.operands.len() > 1;
    if *call.result != DataType::Float64 {
        let left = numbers(call, 0, wide_integers)?;
        let right = if has_two { numbers(call, 1, wide_integers)? } else { left.clone() };
        return call.make_integers(|row| {
            let terms = left[row].iter().zip(&right[row]).map(|(a, b)| match call.name {
                "L1Norm" => a.abs(),
                "L1Distance" => i128::from((a - b) as i64).abs(),
                "L2SquaredDistance" => (a - b).wrapping_mul(a - b),
                _ => a.wrapping_mul(*b),
            });
            terms.fold(0, i128::wrapping_add)
        });
    }
    if let Some(squared) = squared(call)? {
        return call.make_floats(|row| squared[row].sqrt());
    }
    let left = numbers(call, 0, as_floats)?;
    let right = if has_two { numbers(call, 1, as_floats)? } else { left.clone() };
    call.make_floats(|row| {
        let pairs = || left[row].iter().copied().zip(right[row].iter().copied());
        let products = || total(pairs().map(|(a, b)| a * b));
        let steps = || pairs().map(|(a, b)| a - b);
        // Beside a NaN the later one counts.
        let greatest = |a: f64, b: f64| if a > b { a } else { b };
        match call.name {
            "L1Norm" => total(left[row].iter().map(|it| it.abs())),
            "L2Norm" => products().sqrt(),
            "LinfNorm" => left[row].iter().map(|it| it.abs()).reduce(greatest).unwrap_or_default(),
            "L1Distance" => total(steps().map(f64::abs)),
            "L2Distance" => total(steps().map(|it| it * it)).sqrt(),
            "L2SquaredDistance" => total(steps().map(|it| it * it)),
            "LinfDistance" => steps().map(f64::abs).reduce(greatest).unwrap_or_default(),
            "cosineDistance" => {
                let of = |side: &[f64]| total(side.iter().map(|it| it * it)).sqrt();
                1.0 - products() / (of(&left[row]) * of(&right[row]))
            }
            _ => products(),
        }
    })
}
