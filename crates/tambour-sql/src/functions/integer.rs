//! Widths of integers, and ClickHouse's rule for the types of sums, differences and products.

use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

/// Bits and sign of an integer operand.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    bits: u8,
    is_signed: bool,
}

impl Integer {
    pub(super) fn is_signed(self) -> bool {
        self.is_signed
    }
}

/// The integer type of a field, if it has one.
pub(super) fn integer(field: &Field) -> Option<Integer> {
    let (bits, is_signed) = match field.data_type() {
        ArrowType::UInt8 => (8, false),
        ArrowType::UInt16 => (16, false),
        ArrowType::UInt32 => (32, false),
        ArrowType::UInt64 => (64, false),
        ArrowType::Int8 => (8, true),
        ArrowType::Int16 => (16, true),
        ArrowType::Int32 => (32, true),
        ArrowType::Int64 => (64, true),
        _ => return None,
    };
    Some(Integer { bits, is_signed })
}

/// The same of an operand; literals are as narrow as they can be.
pub(super) fn of_operand(expr: &Expr, field: &Field) -> Option<Integer> {
    let Expr::Literal(ScalarValue::Int64(Some(number)), _) = expr else { return integer(field) };
    let is_signed = *number < 0;
    let magnitude = if is_signed { !*number as u64 } else { *number as u64 };
    let needed = u64::BITS - magnitude.leading_zeros() + u32::from(is_signed);
    let bits = [8, 16, 32].into_iter().find(|bits| needed <= u32::from(*bits)).unwrap_or(64);
    Some(Integer { bits, is_signed })
}

/// The type in which both operands are computed.
pub(super) fn wide(left: Integer, right: Integer, always_signed: bool) -> ArrowType {
    let is_signed = always_signed || left.is_signed || right.is_signed;
    match (left.bits.max(right.bits), is_signed) {
        (8, false) => ArrowType::UInt16,
        (8, true) => ArrowType::Int16,
        (16, false) => ArrowType::UInt32,
        (16, true) => ArrowType::Int32,
        (_, false) => ArrowType::UInt64,
        (_, true) => ArrowType::Int64,
    }
}
