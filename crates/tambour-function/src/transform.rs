//! `transform`: values by a list of pairs.

use super::access::type_at;
use super::array::compare::Comparable;
use super::supertype::{interleave, supertype, widened};
use super::{Call, Function, Operand, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::{Array, ArrayRef};
use tambour_part::types::DataType;

/// The function of this room.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::new("transform", transform_type, transform).takes_nulls()];

/// The item type of an array.
fn listed(name: &'static str, s: &[Signature], index: usize) -> Result<DataType, FunctionError> {
    let problem = || wrong(name, "the second and the third argument must be arrays");
    match s.get(index) {
        Some(Signature { data_type: DataType::Array(item), .. }) => Ok(bare(item).clone()),
        _ => Err(problem()),
    }
}

fn common(
    name: &'static str,
    left: &DataType,
    right: &DataType,
) -> Result<DataType, FunctionError> {
    supertype(left, right)
        .ok_or_else(|| wrong(name, format!("there is no common type of {left} and {right}")))
}

fn transform_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=4)?;
    let (from, to) = (listed(name, s, 1)?, listed(name, s, 2)?);
    compared(name, bare(type_at(s, 0)), &from)?;
    if matches!(from, DataType::Float32 | DataType::Float64) {
        return Err(wrong(name, "it does not take floats"));
    }
    // What is not in the list is the default, or stays what it is: also a NULL.
    let other = type_at(s, if s.len() > 3 { 3 } else { 0 });
    let found = common(name, &to, bare(other))?;
    Ok(if super::is_nullable(other) { found.made_nullable() } else { found })
}

/// As what values and the items of a list are compared. Items written as numbers are signed here; those below zero are not
/// among values without a sign.
fn compared(
    name: &'static str,
    value: &DataType,
    item: &DataType,
) -> Result<DataType, FunctionError> {
    match (value, item) {
        (
            DataType::UInt64,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64,
        ) => Ok(DataType::UInt64),
        // The zeros at its end count there.
        (DataType::FixedString(_), _) => {
            Err(wrong(name, "it does not take a FixedString: convert it by toString"))
        }
        _ => common(name, value, item),
    }
}

fn transform(call: &Call) -> Result<ArrayRef, FunctionError> {
    let operand = |index: usize| -> Result<Operand, FunctionError> {
        let operand = call.operand(index)?;
        Ok(Operand { values: call.values(index)?, is_constant: false, ..operand.clone() })
    };
    let (from, to) = (call.lists(1)?, call.lists(2)?);
    if (0..call.rows).any(|row| from.range(row).len() != to.range(row).len()) {
        return Err(wrong(call.name, "the arrays must have the same length"));
    }
    if from.items.values.null_count() + to.items.values.null_count() > 0 {
        return Err(wrong(call.name, "it does not take NULLs in arrays"));
    }
    let values = operand(0)?;
    let compared_as = compared(call.name, &values.data_type, &from.items.data_type)?;
    let side = |operand: &Operand| -> Result<Operand, FunctionError> {
        let values = widened(&operand.values, &compared_as)?;
        Ok(Operand { data_type: compared_as.clone(), values, is_constant: false })
    };
    let (left, right) = (side(&values)?, side(&from.items)?);
    // Items that are none of the type of the values are NULL, and not the NULL among those.
    let are_none = right.values.clone();
    // Not -0 is 0 there.
    let compared = Comparable::of_keys(&[&left, &right])?;
    let [left, right] = compared.as_slice() else {
        return Err(wrong(call.name, "it takes values"));
    };
    let result = bare(call.result);
    let targets = widened(&to.items.values, result)?;
    let others = widened(&operand(if call.operands.len() > 3 { 3 } else { 0 })?.values, result)?;
    let places: Vec<(usize, usize)> = (0..call.rows)
        .map(|row| {
            let is_same = |at: &usize| !are_none.is_null(*at) && right.get(*at) == left.get(row);
            let found = from.range(row).find(is_same);
            found.map_or((1, row), |at| (0, to.range(row).start + at - from.range(row).start))
        })
        .collect();
    interleave(&[targets.as_ref(), others.as_ref()], &places)
        .map_err(FunctionError::arrow("transform values"))
}
