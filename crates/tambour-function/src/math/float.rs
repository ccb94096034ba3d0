//! Functions of floats: `sqrt`, `exp`, `pow`, `atan2`, `hypot`, `erf`. All give Float64.

use super::super::access::rule;
use super::super::{Call, Function, Signature, bare, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Float64Array};
use std::sync::Arc;
use tambour_part::types::DataType;

macro_rules! unary {
    ($($name:literal $make:expr;)+) => {
        &[$(
            Function::new($name, rule!(Numeric => DataType::Float64), |c| unary(c, $make)),
        )+]
    };
}

macro_rules! unary_any_case {
    ($($name:literal $aliases:expr, $make:expr;)+) => {
        &[$(
            Function::new($name, rule!(Numeric => DataType::Float64), |c| unary(c, $make))
                .any_case()
                .aliases($aliases),
        )+]
    };
}

const UNARY: &[Function] = unary! {
    "erf" libm::erf;
    "erfc" libm::erfc;
    "tgamma" libm::tgamma;
    "lgamma" log_gamma;
    "sigmoid" |x| 1.0 / (1.0 + (-x).exp());
    "asinh" libm::asinh;
    "acosh" f64::acosh;
    "atanh" libm::atanh;
    "sinh" libm::sinh;
    "cosh" libm::cosh;
    "exp10" libm::exp10;
};

const ANY_CASE: &[Function] = unary_any_case! {
    "exp" &[], f64::exp;
    "exp2" &[], f64::exp2;
    "log" &["ln"], f64::ln;
    "log2" &[], f64::log2;
    "log10" &[], f64::log10;
    "log1p" &[], f64::ln_1p;
    "sqrt" &[], f64::sqrt;
    "cbrt" &[], f64::cbrt;
    "sin" &[], f64::sin;
    "cos" &[], f64::cos;
    "tan" &[], f64::tan;
    "asin" &[], f64::asin;
    "acos" &[], f64::acos;
    "atan" &[], f64::atan;
    "tanh" &[], |x| x.tanh() + 0.0;
    "degrees" &[], |x| x * (180.0 / std::f64::consts::PI);
    "radians" &[], |x| x * (std::f64::consts::PI / 180.0);
};

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[&[Function]] = &[UNARY, ANY_CASE, OTHERS];

const OTHERS: &[Function] = &[
    Function::new("greatestFloat", extreme_type, |c| extreme(c, false, |a, b| a > b)).takes_nulls(),
    Function::new("leastFloat", extreme_type, |c| extreme(c, false, |a, b| a < b)).takes_nulls(),
    Function::new("greatestOrderedFloat", extreme_type, |c| extreme(c, true, |a, b| a > b))
        .takes_nulls(),
    Function::new("leastOrderedFloat", extreme_type, |c| extreme(c, true, |a, b| a < b))
        .takes_nulls(),
    Function::new("e", rule!(=> DataType::Float64), |c| c.make_floats(|_| std::f64::consts::E)),
    Function::new("pi", rule!(=> DataType::Float64), |c| c.make_floats(|_| std::f64::consts::PI))
        .any_case(),
    Function::new("pow", rule!(Numeric Numeric => DataType::Float64), |c| binary(c, f64::powf))
        .any_case()
        .aliases(&["power"]),
    Function::new("atan2", rule!(Numeric Numeric => DataType::Float64), |c| binary(c, f64::atan2))
        .any_case(),
    Function::new("hypot", rule!(Numeric Numeric => DataType::Float64), |c| binary(c, f64::hypot))
        .any_case(),
    Function::new("max2", rule!(Number Number => DataType::Float64), |c| {
        binary(c, |a, b| if a > b { a } else { b })
    })
    .any_case(),
    Function::new("min2", rule!(Number Number => DataType::Float64), |c| {
        binary(c, |a, b| if a < b { a } else { b })
    })
    .any_case(),
];

fn unary(call: &Call, make: impl Fn(f64) -> f64) -> Result<ArrayRef, FunctionError> {
    let floats = call.floats(0)?;
    call.make_floats(|row| make(floats.get(row)))
}

/// The logarithm of the size of the gamma function; its poles below zero are NaN, as in ClickHouse.
fn log_gamma(x: f64) -> f64 {
    if x < 0.0 && x.fract() == 0.0 || x == f64::NEG_INFINITY { f64::NAN } else { libm::lgamma(x) }
}

fn extreme_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if s.is_empty() || s.iter().any(|it| *bare(&it.data_type) != DataType::Float64) {
        return Err(wrong(name, "it takes floats"));
    }
    let may_be_null = s.iter().any(|it| it.data_type.is_nullable());
    Ok(if may_be_null { DataType::Float64.made_nullable() } else { DataType::Float64 })
}

/// `greatest` and `least` of floats: the value so far stays if it is before the next one. So a NaN that is first goes, and one
/// that is last stays. Where a value may be NULL, and of more than two values, NULLs are left out, and NaNs beside a number.
fn extreme(
    call: &Call,
    are_ordered: bool,
    is_before: fn(f64, f64) -> bool,
) -> Result<ArrayRef, FunctionError> {
    let sides = (0..call.operands.len()).map(|index| {
        Ok(call.values(index)?.as_primitive::<arrow_array::types::Float64Type>().clone())
    });
    let sides = sides.collect::<Result<Vec<Float64Array>, FunctionError>>()?;
    let of_row = |row: usize| {
        let there = sides.iter().filter(|side| !side.is_null(row)).map(|side| side.value(row));
        there.reduce(|sofar, next| match (are_ordered, sofar.is_nan(), next.is_nan()) {
            (true, false, true) => sofar,
            _ if is_before(sofar, next) => sofar,
            _ => next,
        })
    };
    let found: Float64Array = (0..call.rows).map(of_row).collect();
    Ok(Arc::new(found))
}

fn binary(call: &Call, make: impl Fn(f64, f64) -> f64) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.floats(0)?, call.floats(1)?);
    call.make_floats(|row| make(left.get(row), right.get(row)))
}
