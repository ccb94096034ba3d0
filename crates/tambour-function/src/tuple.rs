//! Tuples put together, and arithmetic over their elements: `tupleConcat`, `tupleNegate`, `tupleModulo`, `tupleIntDiv`.

use super::access::{item_field, type_at};
use super::small::tuples;
use super::{Call, Function, Operand, Signature, expect_count, find_in_queries, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::Field;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("tupleConcat", concat_type, concat),
    Function::new("tupleNegate", of_one, each),
    Function::new("tupleModulo", of_two, each),
    Function::new("tupleIntDiv", of_two, each),
    Function::new("tupleIntDivOrZero", of_two, each),
    Function::new("tupleModuloByNumber", by_number, each),
    Function::new("tuplePositiveModuloByNumber", by_number, each),
    Function::new("tupleIntDivByNumber", by_number, each),
    Function::new("tupleIntDivOrZeroByNumber", by_number, each),
];

/// The function of the elements.
fn of_elements(name: &str) -> Result<&'static Function, FunctionError> {
    let plain = match name {
        "tupleNegate" | "negate" => "negate",
        "tupleModulo" | "tupleModuloByNumber" => "modulo",
        "tuplePositiveModuloByNumber" => "positiveModulo",
        "tupleIntDiv" | "tupleIntDivByNumber" => "intDiv",
        _ => "intDivOrZero",
    };
    find_in_queries(plain).ok_or_else(|| wrong(name, format!("there is no {plain}")))
}

fn elements_of<'a>(
    name: &str,
    data_type: &'a DataType,
) -> Result<&'a [(Option<String>, DataType)], FunctionError> {
    match data_type {
        DataType::Tuple(elements) => Ok(elements),
        other => Err(wrong(name, format!("it takes tuples, not {other}"))),
    }
}

/// The elements of an argument; a number stands for each of `width` elements.
fn signatures(
    name: &str,
    argument: &Signature,
    width: usize,
) -> Result<Vec<Signature>, FunctionError> {
    let DataType::Tuple(elements) = &argument.data_type else {
        return Ok(vec![argument.clone(); width]);
    };
    if elements.len() != width {
        return Err(wrong(name, "its tuples must have as many elements"));
    }
    let columns = argument.constant.as_ref().map(|constant| constant.as_struct().columns());
    Ok(elements
        .iter()
        .enumerate()
        .map(|(place, (_, data_type))| Signature {
            data_type: data_type.clone(),
            constant: columns.map(|columns| columns[place].clone()),
        })
        .collect())
}

fn of_one(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    each_type(name, s)
}

fn of_two(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    elements_of(name, type_at(s, 1))?;
    each_type(name, s)
}

fn by_number(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    match type_at(s, 1) {
        other @ DataType::Tuple(_) => Err(wrong(name, format!("it takes a number, not {other}"))),
        _ => each_type(name, s),
    }
}

/// The type of each element's result.
pub(super) fn each_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let width = elements_of(name, type_at(s, 0))?.len();
    let function = of_elements(name)?;
    let arguments = s.iter().map(|argument| signatures(name, argument, width));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let element = |place: usize| {
        let of_place: Vec<Signature> = arguments.iter().map(|it| it[place].clone()).collect();
        Ok((None, function.data_type(&of_place)?))
    };
    Ok(DataType::Tuple((0..width).map(element).collect::<Result<_, FunctionError>>()?))
}

/// The elements of an operand; a number stands for each of `width` elements.
fn columns(operand: &Operand, width: usize) -> Vec<Operand> {
    let DataType::Tuple(elements) = &operand.data_type else {
        return vec![operand.clone(); width];
    };
    let values = operand.values.as_struct().columns();
    elements
        .iter()
        .zip(values)
        .map(|((_, data_type), values)| Operand {
            data_type: data_type.clone(),
            values: values.clone(),
            is_constant: operand.is_constant,
        })
        .collect()
}

pub(super) fn each(call: &Call) -> Result<ArrayRef, FunctionError> {
    let width = elements_of(call.name, call.result)?.len();
    let function = of_elements(call.name)?;
    let operands: Vec<Vec<Operand>> =
        call.operands.iter().map(|operand| columns(operand, width)).collect();
    let element = |place: usize| {
        let of_place: Vec<Operand> = operands.iter().map(|it| it[place].clone()).collect();
        function.evaluate(&of_place)?.expanded(call.rows)
    };
    tuples(call, (0..width).map(element).collect::<Result<_, _>>()?)
}

fn concat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if s.is_empty() {
        return Err(wrong(name, "it takes at least one tuple"));
    }
    let mut all = Vec::new();
    for argument in s {
        let elements = elements_of(name, &argument.data_type)?;
        all.extend(elements.iter().map(|(_, data_type)| (None, data_type.clone())));
    }
    Ok(DataType::Tuple(all))
}

fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let mut all = Vec::new();
    for index in 0..call.operands.len() {
        all.extend(call.values(index)?.as_struct().columns().iter().cloned());
    }
    // Texts come in the form in which they are stored.
    let DataType::Tuple(elements) = call.result else {
        return Err(wrong(call.name, "its result is a tuple"));
    };
    let places = 1_usize..;
    let fields: Vec<Field> = places
        .zip(all.iter().zip(elements))
        .map(|(place, (column, (_, data_type)))| {
            item_field(data_type, column).as_ref().clone().with_name(place.to_string())
        })
        .collect();
    let joined = StructArray::try_new(fields.into(), all, None);
    Ok(Arc::new(joined.map_err(FunctionError::arrow("join tuples"))?))
}
