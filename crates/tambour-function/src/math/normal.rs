//! Vectors divided by their length, arrays and tuples: `L1Normalize`, `L2Normalize`, `LinfNormalize`, `LpNormalize`.

use super::super::access::{array_of, item_of, list_array, type_at};
use super::super::small::tuples;
use super::super::{Call, Function, Operand, Signature, cast, find_in_queries, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, PrimitiveArray};
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("L1Normalize", normal_type, normal).aliases(&["normalizeL1"]),
    Function::new("L2Normalize", normal_type, normal).aliases(&["normalizeL2"]),
    Function::new("LinfNormalize", normal_type, normal).aliases(&["normalizeLinf"]),
    Function::new("LpNormalize", normal_type, normal).aliases(&["normalizeLp"]),
];

/// The function of the length.
fn length(name: &str) -> Result<&'static Function, FunctionError> {
    let norm = match name {
        "L1Normalize" => "L1Norm",
        "L2Normalize" => "L2Norm",
        "LinfNormalize" => "LinfNorm",
        _ => "LpNorm",
    };
    find_in_queries(norm).ok_or_else(|| wrong(name, format!("there is no {norm}")))
}

fn normal_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    length(name)?.data_type(s)?;
    match type_at(s, 0) {
        DataType::Tuple(elements) => {
            Ok(DataType::Tuple(vec![(None, DataType::Float64); elements.len()]))
        }
        // Their lengths are computed with as few digits there.
        vector if *item_of(vector) == DataType::Float32 => {
            Err(wrong(name, "it does not take arrays of Float32"))
        }
        _ => Ok(array_of(DataType::Float64)),
    }
}

fn floats(values: &ArrayRef) -> Result<PrimitiveArray<Float64Type>, FunctionError> {
    Ok(cast(values, &ArrowType::Float64)?.as_primitive::<Float64Type>().clone())
}

fn normal(call: &Call) -> Result<ArrayRef, FunctionError> {
    let operands = (0..call.operands.len()).map(|index| {
        let operand = call.operand(index)?;
        // The power is one for all rows.
        Ok(match index {
            0 => Operand { values: call.values(0)?, is_constant: false, ..operand.clone() },
            _ => operand.clone(),
        })
    });
    let operands = operands.collect::<Result<Vec<_>, FunctionError>>()?;
    let lengths = floats(&length(call.name)?.evaluate(&operands)?.expanded(call.rows)?)?;
    if let DataType::Tuple(_) = call.result {
        let values = call.values(0)?;
        let columns = values.as_struct().columns().iter().map(|column| {
            let parts = floats(column)?;
            let quotient = |row: usize| parts.value(row) / lengths.value(row);
            let found = Float64Array::from_iter_values((0..call.rows).map(quotient));
            Ok(Arc::new(found) as ArrayRef)
        });
        return tuples(call, columns.collect::<Result<_, FunctionError>>()?);
    }
    let lists = call.full_lists(0)?;
    let items = floats(&lists.items.values)?;
    let (mut parts, mut counts) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let range = lists.range(row);
        counts.push(range.len());
        parts.extend(range.map(|at| items.value(at) / lengths.value(row)));
    }
    list_array(counts, Arc::new(Float64Array::from(parts)), &DataType::Float64)
}
