//! What becomes of the values of a column when rows are made one.

use crate::TableError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::DataType as Arrow;
use std::ops::{BitAnd, BitOr, BitXor};
use std::sync::Arc;
use tambour_function::bare;
use tambour_part::types::DataType;

/// What becomes of the values of a column. All but those of whole rows leave NULL out, where there is another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// They are added up; what is too large begins again at the other end.
    Sum,
    /// The bits that are set in all.
    And,
    /// The bits that are set in one.
    Or,
    /// The bits that are set in an odd number of them.
    Xor,
    /// The least, NaN left out.
    Least,
    /// The greatest, NaN left out.
    Greatest,
    /// The first.
    First,
    /// The last.
    Last,
    /// That of the first row, NULL or not.
    FirstRow,
    /// That of the last row, NULL or not.
    LastRow,
}

impl Rule {
    /// The rule of a function in `SimpleAggregateFunction(…)` for a type; `None` if there is none here.
    pub(super) fn of_function(name: &str, data_type: &DataType) -> Option<Self> {
        let rule = match name {
            "sum" | "sumWithOverflow" => Self::Sum,
            "groupBitAnd" => Self::And,
            "groupBitOr" => Self::Or,
            "groupBitXor" => Self::Xor,
            "min" => Self::Least,
            "max" => Self::Greatest,
            "any" | "first_value" => Self::First,
            "anyLast" | "last_value" => Self::Last,
            "anyLast_respect_nulls" | "last_value_respect_nulls" => Self::LastRow,
            "any_respect_nulls" | "first_value_respect_nulls" => Self::FirstRow,
            _ => return None,
        };
        let is_known = match rule {
            Self::Sum => is_number(data_type),
            Self::And | Self::Or | Self::Xor => is_word(data_type),
            Self::Least | Self::Greatest => is_scalar(data_type),
            _ => true,
        };
        is_known.then_some(rule)
    }

    pub(super) fn is_arithmetic(self) -> bool {
        matches!(self, Self::Sum | Self::And | Self::Or | Self::Xor)
    }

    pub(super) fn takes_null(self) -> bool {
        matches!(self, Self::FirstRow | Self::LastRow)
    }

    /// One value of each group, which begin at `starts`.
    pub(super) fn computed(
        self,
        values: &ArrayRef,
        data_type: &DataType,
        starts: &[usize],
    ) -> Result<ArrayRef, TableError> {
        macro_rules! words {
            ($type:ty) => {{
                type Native = <$type as ArrowPrimitiveType>::Native;
                match self {
                    Self::And => grouped::<$type>(values, starts, !0, Native::bitand),
                    Self::Or => grouped::<$type>(values, starts, 0, Native::bitor),
                    Self::Xor => grouped::<$type>(values, starts, 0, Native::bitxor),
                    _ => grouped::<$type>(values, starts, 0, Native::wrapping_add),
                }
            }};
        }
        Ok(match values.data_type() {
            Arrow::Int8 => words!(Int8Type),
            Arrow::Int16 => words!(Int16Type),
            Arrow::Int32 => words!(Int32Type),
            Arrow::Int64 => words!(Int64Type),
            Arrow::UInt8 => words!(UInt8Type),
            Arrow::UInt16 => words!(UInt16Type),
            Arrow::UInt32 => words!(UInt32Type),
            Arrow::UInt64 => words!(UInt64Type),
            Arrow::Float32 => grouped::<Float32Type>(values, starts, 0.0, |a, b| a + b),
            Arrow::Float64 => grouped::<Float64Type>(values, starts, 0.0, |a, b| a + b),
            Arrow::Decimal128(precision, _) => {
                let wrapped = decimal_of(data_type);
                let add = |a: i128, b: i128| wrapped(a.wrapping_add(b));
                let sums = grouped::<Decimal128Type>(values, starts, 0, add);
                let checked = sums.as_primitive::<Decimal128Type>();
                checked.validate_decimal_precision(*precision).map_err(too_long(data_type))?;
                sums
            }
            Arrow::Decimal256(precision, _) => {
                let wrapped = wide_of(data_type);
                let add = |a: i256, b: i256| wrapped(a.wrapping_add(b));
                let sums = grouped::<Decimal256Type>(values, starts, i256::ZERO, add);
                let checked = sums.as_primitive::<Decimal256Type>();
                checked.validate_decimal_precision(*precision).map_err(too_long(data_type))?;
                sums
            }
            Arrow::FixedSizeBinary(32) => bytes(values, starts)?,
            other => {
                return Err(TableError::Refused {
                    clause: format!("a sum of {other}"),
                    reason: "only numbers are added up".to_owned(),
                });
            }
        })
    }
}

/// ClickHouse keeps sums of more digits than a Decimal has; nothing else reads them.
fn too_long(data_type: &DataType) -> impl FnOnce(arrow_schema::ArrowError) -> TableError {
    let expected = data_type.to_string();
    |cause| TableError::Rows { field: "the sum of a column", expected, got: cause.to_string() }
}

/// Types that are added up.
pub(super) fn is_number(data_type: &DataType) -> bool {
    is_word(data_type)
        || matches!(
            inner(data_type),
            DataType::Int128
                | DataType::UInt128
                | DataType::Int256
                | DataType::UInt256
                | DataType::Float32
                | DataType::Float64
                | DataType::Decimal { .. }
        )
}

/// Types that ClickHouse adds up and that are another thing here: sums of Bool are numbers, BFloat16 is rounded.
pub(super) fn is_number_elsewhere(data_type: &DataType) -> bool {
    matches!(inner(data_type), DataType::Bool | DataType::BFloat16)
}

/// Integers of at most 64 bits.
fn is_word(data_type: &DataType) -> bool {
    matches!(
        inner(data_type),
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
    )
}

/// Values in an order that all functions agree about.
fn is_scalar(data_type: &DataType) -> bool {
    is_number(data_type)
        || matches!(
            inner(data_type),
            DataType::Bool
                | DataType::Date
                | DataType::Date32
                | DataType::DateTime { .. }
                | DataType::DateTime64 { .. }
                | DataType::String
                | DataType::FixedString(_)
                | DataType::Enum8(_)
                | DataType::Enum16(_)
                | DataType::Ipv4
        )
}

fn inner(data_type: &DataType) -> &DataType {
    match bare(data_type) {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => self::inner(inner),
        other => other,
    }
}

/// Values of groups made one, NULL only where there is nothing else.
fn grouped<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    starts: &[usize],
    zero: T::Native,
    add: impl Fn(T::Native, T::Native) -> T::Native,
) -> ArrayRef {
    let array = values.as_primitive::<T>();
    let numbers = array.values();
    let (mut sums, mut valid) = (Vec::with_capacity(starts.len()), Vec::new());
    let ends = starts.iter().skip(1).copied().chain([array.len()]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let rows = &numbers[start..end];
        sums.push(match array.nulls().filter(|it| it.null_count() > 0) {
            None => rows.iter().fold(zero, |sum, value| add(sum, *value)),
            Some(nulls) => {
                let there = (start..end).filter(|row| nulls.is_valid(*row));
                valid.push((start..end).any(|row| nulls.is_valid(row)));
                there.fold(zero, |sum, row| add(sum, numbers[row]))
            }
        });
    }
    let nulls = (!valid.is_empty()).then(|| NullBuffer::from(valid));
    let sums = PrimitiveArray::<T>::new(sums.into(), nulls);
    Arc::new(sums.with_data_type(array.data_type().clone()))
}

/// Cuts a sum to the width that a Decimal is stored in.
fn decimal_of(data_type: &DataType) -> fn(i128) -> i128 {
    #[expect(clippy::cast_possible_truncation, reason = "the sum wraps around, as in ClickHouse")]
    match inner(data_type) {
        DataType::Decimal { precision: ..=9, .. } => |sum| i128::from(sum as i32),
        DataType::Decimal { precision: ..=18, .. } => |sum| i128::from(sum as i64),
        _ => |sum| sum,
    }
}

/// The same of integers of 128 bits and of the widest Decimals.
fn wide_of(data_type: &DataType) -> fn(i256) -> i256 {
    match inner(data_type) {
        DataType::Int128 => |sum| i256::from_i128(sum.to_parts().0.cast_signed()),
        DataType::UInt128 => |sum| i256::from_parts(sum.to_parts().0, 0),
        _ => |sum| sum,
    }
}

/// Sums of integers of 256 bits, signed or not.
fn bytes(values: &ArrayRef, starts: &[usize]) -> Result<ArrayRef, TableError> {
    let array = values.as_fixed_size_binary();
    let ends = starts.iter().skip(1).copied().chain([array.len()]);
    let sums = starts.iter().copied().zip(ends).map(|(start, end)| {
        let there = (start..end).filter(|row| array.is_valid(*row));
        let numbers = there.map(|row| {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(array.value(row));
            i256::from_le_bytes(bytes)
        });
        numbers.reduce(i256::wrapping_add).map(i256::to_le_bytes)
    });
    FixedSizeBinaryArray::try_from_sparse_iter_with_size(sums, 32)
        .map(|sums| Arc::new(sums) as ArrayRef)
        .map_err(TableError::arrow("adding up integers"))
}

/// Which values are zero. Of a column that may be NULL, that is NULL, and no 0.
pub(super) fn zeros(values: &ArrayRef, data_type: &DataType) -> Vec<bool> {
    fn of<T: ArrowPrimitiveType>(values: &ArrayRef) -> Vec<bool> {
        values.as_primitive::<T>().values().iter().map(|it| it.is_zero()).collect()
    }
    if is_nullable(data_type) {
        return (0..values.len()).map(|row| values.is_null(row)).collect();
    }
    match values.data_type() {
        Arrow::Int8 => of::<Int8Type>(values),
        Arrow::Int16 => of::<Int16Type>(values),
        Arrow::Int32 => of::<Int32Type>(values),
        Arrow::Int64 => of::<Int64Type>(values),
        Arrow::UInt8 => of::<UInt8Type>(values),
        Arrow::UInt16 => of::<UInt16Type>(values),
        Arrow::UInt32 => of::<UInt32Type>(values),
        Arrow::UInt64 => of::<UInt64Type>(values),
        Arrow::Float32 => {
            values.as_primitive::<Float32Type>().values().iter().map(|it| *it == 0.0).collect()
        }
        Arrow::Float64 => {
            values.as_primitive::<Float64Type>().values().iter().map(|it| *it == 0.0).collect()
        }
        Arrow::Decimal128(..) => of::<Decimal128Type>(values),
        Arrow::Decimal256(..) => of::<Decimal256Type>(values),
        Arrow::FixedSizeBinary(_) => {
            let array = values.as_fixed_size_binary();
            (0..array.len()).map(|row| array.value(row).iter().all(|byte| *byte == 0)).collect()
        }
        _ => unreachable!("only numbers are asked for zeros"),
    }
}

fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => is_nullable(inner),
        _ => false,
    }
}
