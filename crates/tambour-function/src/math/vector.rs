//! Vectors, which are arrays of numbers: norms, distances, `arrayDotProduct`.

use super::super::access::{Kind, Lists, item_of, takes, total, type_at};
use super::super::arithmetic::{Integer, integer};
use super::super::{Call, Function, Signature, bare, cast, wrong};
use super::tuple;
use crate::FunctionError;
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::DataType as ArrowType;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("L1Norm", one_type, |c| norm(c, |v| total(v.iter().map(|x| x.abs()))))
        .aliases(&["normL1"]),
    Function::new("L2Norm", one_type, |c| norm(c, |v| squares(v).sqrt())).aliases(&["normL2"]),
    Function::new("L2SquaredNorm", one_type, |c| norm(c, squares)).aliases(&["normL2Squared"]),
    Function::new("LinfNorm", one_type, |c| {
        norm(c, |v| v.iter().fold(0.0, |most: f64, x| most.max(x.abs())))
    })
    .aliases(&["normLinf"]),
    Function::new("L1Distance", two_type, |c| {
        distance(c, |pairs| total(pairs.iter().map(|(a, b)| (a - b).abs())))
    })
    .aliases(&["distanceL1"]),
    Function::new("L2Distance", two_type, |c| {
        distance(c, |pairs| total(pairs.iter().map(|(a, b)| (a - b) * (a - b))).sqrt())
    })
    .aliases(&["distanceL2"]),
    Function::new("L2SquaredDistance", two_type, |c| {
        distance(c, |pairs| total(pairs.iter().map(|(a, b)| (a - b) * (a - b))))
    })
    .aliases(&["distanceL2Squared"]),
    Function::new("LinfDistance", two_type, |c| {
        distance(c, |pairs| pairs.iter().fold(0.0, |most: f64, (a, b)| most.max((a - b).abs())))
    })
    .aliases(&["distanceLinf"]),
    Function::new("cosineDistance", two_type, |c| {
        distance(c, |pairs| {
            let product: f64 = pairs.iter().map(|(a, b)| a * b).sum();
            let left: f64 = pairs.iter().map(|(a, _)| a * a).sum();
            let right: f64 = pairs.iter().map(|(_, b)| b * b).sum();
            1.0 - product / (left * right).sqrt()
        })
    })
    .aliases(&["distanceCosine"]),
    Function::new(
        "LpNorm",
        |n, s| power_type(n, s, 1),
        |c| {
            let power = power_of(c, 1)?;
            norm(c, |v| total(v.iter().map(|x| x.abs().powf(power))).powf(1.0 / power))
        },
    )
    .aliases(&["normLp"]),
    Function::new(
        "LpDistance",
        |n, s| power_type(n, s, 2),
        |c| {
            let power = power_of(c, 2)?;
            distance(c, |pairs| {
                total(pairs.iter().map(|(a, b)| (a - b).abs().powf(power))).powf(1.0 / power)
            })
        },
    )
    .aliases(&["distanceLp"]),
    Function::new("arrayDotProduct", dot_type, dot).aliases(&["dotProduct", "scalarProduct"]),
];

fn items_are_numbers(name: &'static str, s: &[Signature]) -> Result<(), FunctionError> {
    for argument in s {
        let item = bare(item_of(&argument.data_type));
        let is_number = integer(item).is_some() && *item != DataType::Bool
            || matches!(item, DataType::Float32 | DataType::Float64);
        if !is_number {
            return Err(wrong(name, format!("it does not take {}", argument.data_type)));
        }
    }
    Ok(())
}

fn float_of(s: &[Signature]) -> DataType {
    let is_narrow = |argument: &Signature| *bare(item_of(&argument.data_type)) == DataType::Float32;
    if s.iter().all(is_narrow) { DataType::Float32 } else { DataType::Float64 }
}

fn one_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if tuple::is_asked(s) {
        return tuple::vector_type(name, s, 1);
    }
    takes(name, s, &[Kind::Array], &[])?;
    items_are_numbers(name, s)?;
    Ok(float_of(s))
}

/// Vectors, and a constant power from 1 on.
fn power_type(
    name: &'static str,
    s: &[Signature],
    vectors: usize,
) -> Result<DataType, FunctionError> {
    let power = s.get(vectors).and_then(|power| power.constant.as_ref());
    let power = power.map(|power| cast(power, &ArrowType::Float64)).transpose()?;
    let power = power.map(|power| power.as_primitive::<Float64Type>().value(0));
    if s.len() != vectors + 1 || !power.is_some_and(|power| (1.0..f64::INFINITY).contains(&power)) {
        return Err(wrong(name, "it takes vectors and a constant power of 1 or more"));
    }
    if tuple::is_asked(s) {
        return Err(wrong(name, "it takes arrays here"));
    }
    if vectors == 1 { one_type(name, &s[..1]) } else { two_type(name, &s[..2]) }
}

fn power_of(call: &Call, index: usize) -> Result<f64, FunctionError> {
    Ok(call.floats(index)?.get(0))
}

fn two_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if tuple::is_asked(s) {
        return tuple::vector_type(name, s, 2);
    }
    takes(name, s, &[Kind::Array, Kind::Array], &[])?;
    items_are_numbers(name, s)?;
    Ok(float_of(s))
}

fn floats(lists: &Lists) -> Result<Vec<f64>, FunctionError> {
    let wide = cast(&lists.items.values, &ArrowType::Float64)?;
    Ok(wide.as_primitive::<Float64Type>().iter().map(Option::unwrap_or_default).collect())
}

fn squares(vector: &[f64]) -> f64 {
    total(vector.iter().map(|x| x * x))
}

fn norm(call: &Call, make: impl Fn(&[f64]) -> f64) -> Result<ArrayRef, FunctionError> {
    if of_tuples(call)? {
        return tuple::vector(call);
    }
    let lists = call.full_lists(0)?;
    let items = floats(&lists)?;
    call.make_floats(|row| make(items.get(lists.range(row)).unwrap_or_default()))
}

/// The pairs of two vectors of one length.
fn pairs_of(
    call: &Call,
    row: usize,
    left: (&Lists, &[f64]),
    right: (&Lists, &[f64]),
) -> Result<Vec<(f64, f64)>, FunctionError> {
    let (a, b) = (left.0.range(row), right.0.range(row));
    if a.len() != b.len() && !call.is_null(row) {
        let problem = format!("the arrays have {} and {} items", a.len(), b.len());
        return Err(call.value_error(row, problem));
    }
    let (a, b) = (left.1.get(a).unwrap_or_default(), right.1.get(b).unwrap_or_default());
    Ok(a.iter().copied().zip(b.iter().copied()).collect())
}

fn distance(call: &Call, make: impl Fn(&[(f64, f64)]) -> f64) -> Result<ArrayRef, FunctionError> {
    if of_tuples(call)? {
        return tuple::vector(call);
    }
    let (left, right) = (call.full_lists(0)?, call.full_lists(1)?);
    let (a, b) = (floats(&left)?, floats(&right)?);
    let mut found = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        found.push(make(&pairs_of(call, row, (&left, &a), (&right, &b))?));
    }
    call.make_floats(|row| found[row])
}

fn dot_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let found = two_type(name, s)?;
    if tuple::is_asked(s) {
        return Ok(found);
    }
    let integers = (integer(bare(item_of(type_at(s, 0)))), integer(bare(item_of(type_at(s, 1)))));
    Ok(match integers {
        (Some(left), Some(right)) => Integer {
            bits: (left.bits.max(right.bits) * 2).min(64),
            is_signed: left.is_signed || right.is_signed,
        }
        .data_type(),
        _ => float_of(s),
    })
}

fn of_tuples(call: &Call) -> Result<bool, FunctionError> {
    Ok(matches!(call.operand(0)?.data_type, DataType::Tuple(_)))
}

fn dot(call: &Call) -> Result<ArrayRef, FunctionError> {
    if of_tuples(call)? {
        return tuple::vector(call);
    }
    if matches!(call.result, DataType::Float32 | DataType::Float64) {
        return distance(call, |pairs| total(pairs.iter().map(|(a, b)| a * b)));
    }
    let (left, right) = (call.full_lists(0)?, call.full_lists(1)?);
    let a = super::super::access::wide_integers(&left.items.values)?;
    let b = super::super::access::wide_integers(&right.items.values)?;
    for row in 0..call.rows {
        if left.range(row).len() != right.range(row).len() && !call.is_null(row) {
            return Err(call.value_error(row, "the arrays have different lengths"));
        }
    }
    call.make_integers(|row| {
        let pairs = left.range(row).zip(right.range(row));
        pairs.fold(0_i128, |sum, (x, y)| sum.wrapping_add(a[x].wrapping_mul(b[y])))
    })
}
