//! Functions of integers, and those that take floats beside them: `abs`, `sign`, `gcd`, `factorial`, `positiveModulo`,
//! `intDivOrNull`, `divide`.

use super::super::access::{Kind, nullable, rule, takes, type_at};
use super::super::arithmetic::{Integer, integer};
use super::super::{Call, Function, Signature, wide, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int8Type, UInt8Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("abs", abs_type, abs).any_case(),
    Function::new("sign", sign_type, sign).any_case(),
    Function::new("sqr", sqr_type, sqr),
    Function::new("gcd", pair_type, |c| pairs(c, false)),
    Function::new("lcm", pair_type, |c| pairs(c, true)),
    Function::new("factorial", rule!(Integer => DataType::UInt64), factorial).any_case(),
    Function::new("isPrime", unsigned_type, |c| {
        let numbers = c.integers(0)?;
        c.make_flags(|row| is_prime(numbers.get(row) as u64))
    })
    .predicate(),
    Function::new("isProbablePrime", unsigned_type, |c| {
        let numbers = c.integers(0)?;
        c.make_flags(|row| is_prime(numbers.get(row) as u64))
    })
    .predicate(),
    Function::new("divide", rule!(Number Number => DataType::Float64), |c| {
        let (left, right) = (c.floats(0)?, c.floats(1)?);
        c.make_floats(|row| left.get(row) / right.get(row))
    }),
    Function::new("divideOrNull", rule!(Number Number => nullable(DataType::Float64)), |c| {
        let (left, right) = (c.floats(0)?, c.floats(1)?);
        let quotient =
            |row| Some(right.get(row)).filter(|by| *by != 0.0).map(|by| left.get(row) / by);
        let values: PrimitiveArray<Float64Type> = (0..c.rows).map(quotient).collect();
        Ok(Arc::new(values))
    }),
    Function::new(
        "intDivOrNull",
        |n, s| quotient_type(n, s).map(nullable),
        |c| {
            let quotients = super::super::arithmetic::quotients(c)?;
            c.make_optional_integers(|row| quotients.get(row).copied().flatten().map(i128::from))
        },
    ),
    Function::new("moduloOrZero", remainder_type, |c| {
        if wide::takes(c) {
            return wide::evaluate(c);
        }
        let (left, right) = (c.integers(0)?, c.integers(1)?);
        c.make_integers(|row| left.get(row).checked_rem(right.get(row)).unwrap_or(0))
    }),
    Function::new(
        "moduloOrNull",
        |n, s| remainder_type(n, s).map(nullable),
        |c| {
            let (left, right) = (c.integers(0)?, c.integers(1)?);
            let least = least(c);
            c.make_optional_integers(|row| {
                let (a, b) = (left.get(row), right.get(row));
                a.checked_rem(b).filter(|_| !(b == -1 && Some(a) == least))
            })
        },
    )
    .aliases(&["modOrNull"]),
    Function::new("positiveModulo", positive_type, |c| {
        let (left, right) = (c.integers(0)?, c.integers(1)?);
        for row in 0..c.rows {
            if right.get(row) == 0 && !c.is_null(row) {
                return Err(c.value_error(row, "division by zero"));
            }
        }
        c.make_integers(|row| positive(left.get(row), right.get(row)).unwrap_or(0))
    })
    .aliases(&["pmod", "positive_modulo"]),
    Function::new(
        "positiveModuloOrNull",
        |n, s| positive_type(n, s).map(nullable),
        |c| {
            let (left, right) = (c.integers(0)?, c.integers(1)?);
            let least = least(c);
            c.make_optional_integers(|row| {
                let (a, b) = (left.get(row), right.get(row));
                positive(a, b).filter(|_| !(b == -1 && Some(a) == least))
            })
        },
    )
    .aliases(&["pmodOrNull"]),
    Function::new("countDigits", digits_type, |c| {
        let operand = c.operand(0)?;
        let numbers: Vec<i128> = match operand.values.as_primitive_opt::<Decimal128Type>() {
            Some(decimals) => decimals.iter().map(|number| number.unwrap_or(0)).collect(),
            None => super::super::access::wide_integers(&c.values(0)?)?,
        };
        let is_constant = operand.is_constant;
        c.make_numbers::<UInt8Type>(|row| {
            let number = numbers.get(if is_constant { 0 } else { row }).copied().unwrap_or(0);
            number.unsigned_abs().checked_ilog10().map_or(1, |digits| digits as u8 + 1)
        })
    }),
    Function::new("widthBucket", bucket_type, width_bucket).aliases(&["width_bucket"]),
];

/// The least number of the type of the dividend, whose quotient by -1 leaves the type.
fn least(call: &Call) -> Option<i128> {
    let it = integer(&call.operand(0).ok()?.data_type)?;
    it.is_signed.then(|| -(1_i128 << (it.bits - 1)))
}

fn abs_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if let Some(found) = wide::result_type(name, s) {
        return Ok(found);
    }
    takes(name, s, &[Kind::Numeric], &[])?;
    Ok(match integer(type_at(s, 0)) {
        Some(it) => Integer { is_signed: false, ..it }.data_type(),
        None => type_at(s, 0).clone(),
    })
}

fn abs(call: &Call) -> Result<ArrayRef, FunctionError> {
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    match call.result {
        DataType::Float32 | DataType::Float64 => {
            let floats = call.floats(0)?;
            call.make_floats(|row| floats.get(row).abs())
        }
        DataType::Decimal { .. } => {
            let values = call.values(0)?;
            match values.as_primitive_opt::<Decimal128Type>() {
                Some(decimals) => {
                    let absolute: PrimitiveArray<Decimal128Type> =
                        decimals.unary(i128::wrapping_abs);
                    Ok(Arc::new(absolute.with_data_type(values.data_type().clone())))
                }
                None => Err(wrong(call.name, "it does not take decimals of more than 38 digits")),
            }
        }
        _ => {
            let numbers = call.integers(0)?;
            call.make_integers(|row| numbers.get(row).abs())
        }
    }
}

fn sign_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if let Some(found) = wide::result_type(name, s) {
        return Ok(found);
    }
    takes(name, s, &[Kind::Numeric], &[]).map(|()| DataType::Int8)
}

fn sign(call: &Call) -> Result<ArrayRef, FunctionError> {
    if wide::takes(call) {
        return wide::evaluate(call);
    }
    let floats = call.floats(0)?;
    call.make_numbers::<Int8Type>(|row| {
        let float = floats.get(row);
        // A NaN counts as positive.
        if float < 0.0 { -1 } else { i8::from(float != 0.0) }
    })
}

fn sqr_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number], &[])?;
    Ok(match integer(type_at(s, 0)) {
        Some(it) => Integer { bits: (it.bits * 2).min(64), ..it }.data_type(),
        None => DataType::Float64,
    })
}

fn sqr(call: &Call) -> Result<ArrayRef, FunctionError> {
    if *call.result == DataType::Float64 {
        let floats = call.floats(0)?;
        return call.make_floats(|row| floats.get(row) * floats.get(row));
    }
    let numbers = call.integers(0)?;
    call.make_integers(|row| numbers.get(row).wrapping_mul(numbers.get(row)))
}

fn integers_of(name: &'static str, s: &[Signature]) -> Result<(Integer, Integer), FunctionError> {
    takes(name, s, &[Kind::Integer, Kind::Integer], &[])?;
    match (integer(type_at(s, 0)), integer(type_at(s, 1))) {
        (Some(left), Some(right)) => Ok((left, right)),
        _ => Err(wrong(name, "it takes integers")),
    }
}

fn pair_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let (left, right) = integers_of(name, s)?;
    let is_signed = left.is_signed || right.is_signed;
    Ok(Integer { bits: (left.bits.max(right.bits) * 2).min(64), is_signed }.data_type())
}

fn pairs(call: &Call, is_multiple: bool) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.integers(0)?, call.integers(1)?);
    call.make_integers(|row| {
        let (a, b) = (left.get(row).abs(), right.get(row).abs());
        let (mut x, mut y) = (a, b);
        while y != 0 {
            (x, y) = (y, x % y);
        }
        if !is_multiple {
            return x;
        }
        a.checked_div(x).map_or(0, |part| part.wrapping_mul(b))
    })
}

fn factorial(call: &Call) -> Result<ArrayRef, FunctionError> {
    let numbers = call.integers(0)?;
    for row in 0..call.rows {
        if numbers.get(row) > 20 && !call.is_null(row) {
            return Err(call.value_error(row, "the factorials of more than 20 do not fit 64 bits"));
        }
    }
    call.make_numbers::<UInt64Type>(|row| (1..=numbers.get(row).clamp(0, 20) as u64).product())
}

fn unsigned_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer], &[])?;
    match integer(type_at(s, 0)) {
        Some(Integer { is_signed: false, .. }) => Ok(DataType::UInt8),
        _ => Err(wrong(name, "it takes unsigned integers up to 64 bits")),
    }
}

/// Miller's and Rabin's test with bases that leave no doubt below 2^64.
fn is_prime(number: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if number < 2 {
        return false;
    }
    if let Some(divisor) = BASES.iter().find(|base| number.is_multiple_of(**base)) {
        return number == *divisor;
    }
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(number)) as u64;
    let twos = (number - 1).trailing_zeros();
    BASES.iter().all(|base| {
        let (mut power, mut square, mut exponent) = (1, *base % number, (number - 1) >> twos);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = times(power, square);
            }
            square = times(square, square);
            exponent >>= 1;
        }
        if power == 1 || power == number - 1 {
            return true;
        }
        (1..twos).any(|_| {
            power = times(power, power);
            power == number - 1
        })
    })
}

fn quotient_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let (left, right) = integers_of(name, s)?;
    Ok(Integer { is_signed: left.is_signed || right.is_signed, ..left }.data_type())
}

fn remainder_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if let Some(found) = wide::result_type(name, s) {
        return Ok(found);
    }
    let (left, right) = integers_of(name, s)?;
    let wide = Integer { bits: (right.bits * 2).min(64), is_signed: true };
    let same = Integer { is_signed: false, ..right };
    Ok(if left.is_signed { wide } else { same }.data_type())
}

fn positive_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let (_, right) = integers_of(name, s)?;
    Ok(Integer { is_signed: false, ..right }.data_type())
}

fn positive(left: i128, right: i128) -> Option<i128> {
    let rest = left.checked_rem(right)?;
    Some(if rest < 0 { rest + right.abs() } else { rest })
}

fn digits_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Numeric], &[])?;
    match type_at(s, 0) {
        DataType::Float32 | DataType::Float64 => Err(wrong(name, "it does not take floats")),
        DataType::Decimal { precision, .. } if *precision > 38 => {
            Err(wrong(name, "it does not take decimals of more than 38 digits"))
        }
        _ => Ok(DataType::UInt8),
    }
}

fn bucket_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number, Kind::Number, Kind::Number, Kind::Integer], &[])?;
    Ok(match integer(type_at(s, 3)).map(|it| it.bits) {
        Some(8) => DataType::UInt16,
        Some(16) => DataType::UInt32,
        _ => DataType::UInt64,
    })
}

fn width_bucket(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (operand, low, high) = (call.floats(0)?, call.floats(1)?, call.floats(2)?);
    let counts = call.integers(3)?;
    for row in 0..call.rows {
        if counts.get(row) <= 0 && !call.is_null(row) {
            return Err(call.value_error(row, "the count of buckets must be greater than 0"));
        }
        let is_known = !operand.get(row).is_nan() && (high.get(row) - low.get(row)).is_finite();
        if !is_known && !call.is_null(row) {
            return Err(call.value_error(row, "the operand must be a number, the limits finite"));
        }
    }
    call.make_integers(|row| {
        let (x, low, high, count) =
            (operand.get(row), low.get(row), high.get(row), counts.get(row));
        if x < low || low >= high {
            return 0;
        }
        if x >= high {
            return count + 1;
        }
        ((x - low) * count as f64 / (high - low)) as i128 + 1
    })
}
