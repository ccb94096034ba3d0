//! Widths of integers, and ClickHouse's rule for the types of sums, differences and products.

use super::literal::bare_type;
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use tambour_part::types::DataType;

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
    /// True if every float of 32 bits holds it.
    pub(super) fn is_short(self) -> bool {
        self.bits <= 16
    }
    /// How many decimal digits its values have at most.
    pub(super) fn digits(self) -> u32 {
        match (self.bits, self.is_signed) {
            (8, _) => 3,
            (16, _) => 5,
            (32, _) => 10,
            (_, true) => 19,
            (_, false) => 20,
        }
    }
    /// True if it has 64 bits and no sign.
    pub(super) fn is_long(self) -> bool {
        self.bits > 32 && !self.is_signed
    }
    /// True if every float of 64 bits holds it.
    pub(super) fn is_exact(self) -> bool {
        self.bits <= 32
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

/// The same of a value to choose, of which an address is not a number, though it looks like one.
pub(super) fn of_choice(expr: &Expr, field: &Field) -> Option<Integer> {
    of_operand(expr, field).filter(|_| bare_type(field) != Some(DataType::Ipv4))
}

/// The same of an operand; literals are as narrow as they can be.
pub(super) fn of_operand(expr: &Expr, field: &Field) -> Option<Integer> {
    let Expr::Literal(ScalarValue::Int64(Some(number)), None) = expr else { return integer(field) };
    let is_signed = *number < 0;
    let magnitude = if is_signed { !*number as u64 } else { *number as u64 };
    let needed = u64::BITS - magnitude.leading_zeros() + u32::from(is_signed);
    let bits = [8, 16, 32].into_iter().find(|bits| needed <= u32::from(*bits)).unwrap_or(64);
    Some(Integer { bits, is_signed })
}

/// The type of a remainder: it has as many bits as the divisor, or more where there is a sign.
pub(super) fn of_remainder(left: Integer, right: Integer) -> ArrowType {
    match (left.is_signed, right.bits) {
        (false, 8) => ArrowType::UInt8,
        (false, 16) => ArrowType::UInt16,
        (false, 32) => ArrowType::UInt32,
        (false, _) => ArrowType::UInt64,
        (true, 8) => ArrowType::Int16,
        (true, 16) => ArrowType::Int32,
        (true, _) => ArrowType::Int64,
    }
}

/// The type that holds all of some integers; `None` if some have 64 bits and no sign, and others a sign.
pub(super) fn common(integers: &[Integer]) -> Option<ArrowType> {
    let most = |is_signed: bool| {
        let some = integers.iter().filter(|it| it.is_signed == is_signed);
        some.map(|it| it.bits).max()
    };
    Some(match (most(true), most(false)) {
        (None, Some(8)) => ArrowType::UInt8,
        (None, Some(16)) => ArrowType::UInt16,
        (None, Some(32)) => ArrowType::UInt32,
        (None, Some(_)) => ArrowType::UInt64,
        (Some(signed), unsigned) => {
            let wider = unsigned.map_or(0, |bits| if signed > bits { 0 } else { bits * 2 });
            match signed.max(wider) {
                8 => ArrowType::Int8,
                16 => ArrowType::Int16,
                32 => ArrowType::Int32,
                64 => ArrowType::Int64,
                _ => return None,
            }
        }
        (None, None) => return None,
    })
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
