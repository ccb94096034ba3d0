//! Tuples as wholes: `tupleNames`, `tupleToNameValuePairs`, `tupleHammingDistance`, `flattenTuple`.

use super::access::{array_of, item_field, list_array, type_at};
use super::array::compare_items;
use super::{Call, Function, Operand, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_schema::Field;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("tupleNames", names_type, all_names),
    Function::new("tupleToNameValuePairs", pairs_type, pairs),
    Function::new("tupleHammingDistance", distance_type, distance),
    Function::new("flattenTuple", flat_type, flat),
];

type Elements = [(Option<String>, DataType)];

fn elements<'a>(name: &str, data_type: &'a DataType) -> Result<&'a Elements, FunctionError> {
    match data_type {
        DataType::Tuple(elements) => Ok(elements),
        other => Err(wrong(name, format!("it takes a Tuple, not {other}"))),
    }
}

/// The names of elements: their numbers where there are none.
fn names(elements: &Elements) -> impl Iterator<Item = String> {
    let name = |(place, (name, _)): (usize, &(Option<String>, DataType))| {
        name.clone().unwrap_or_else(|| (place + 1).to_string())
    };
    elements.iter().enumerate().map(name)
}

fn names_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    elements(name, type_at(s, 0)).map(|_| array_of(DataType::String))
}

fn all_names(call: &Call) -> Result<ArrayRef, FunctionError> {
    let elements = elements(call.name, &call.operand(0)?.data_type)?;
    let names: Vec<String> = names(elements).collect();
    call.make_text_lists(|_, list| names.iter().for_each(|name| list.push(name.as_bytes())))
}

fn flat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    let mut all = Vec::new();
    gather_types(name, "", elements(name, type_at(s, 0))?, &mut all)?;
    Ok(DataType::Tuple(all))
}

/// Elements of tuples within, named by the way to them.
fn gather_types(
    name: &str,
    way: &str,
    elements: &Elements,
    all: &mut Vec<(Option<String>, DataType)>,
) -> Result<(), FunctionError> {
    for (own, data_type) in elements {
        let Some(own) = own else { return Err(wrong(name, "all elements must have names")) };
        let way = if way.is_empty() { own.clone() } else { format!("{way}.{own}") };
        match data_type {
            DataType::Tuple(inner) => gather_types(name, &way, inner, all)?,
            DataType::Array(item) if is_of_tuples(item) => {
                return Err(wrong(name, "it does not take arrays of tuples"));
            }
            other => all.push((Some(way), other.clone())),
        }
    }
    Ok(())
}

fn is_of_tuples(data_type: &DataType) -> bool {
    match bare(data_type) {
        DataType::Array(item) => is_of_tuples(item),
        other => matches!(other, DataType::Tuple(_)),
    }
}

fn gather_columns(values: &ArrayRef, elements: &Elements, all: &mut Vec<ArrayRef>) {
    let columns = values.as_struct_opt().map(StructArray::columns).unwrap_or_default();
    for (column, (_, data_type)) in columns.iter().zip(elements) {
        match data_type {
            DataType::Tuple(inner) => gather_columns(column, inner, all),
            _ => all.push(column.clone()),
        }
    }
}

/// The elements of all tuples within one.
fn flat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let of_argument = elements(call.name, &call.operand(0)?.data_type)?;
    let of_result = elements(call.name, call.result)?;
    let mut columns = Vec::new();
    gather_columns(&call.values(0)?, of_argument, &mut columns);
    let fields = columns.iter().zip(of_result).map(|(column, (name, data_type))| {
        let field = item_field(data_type, column).as_ref().clone();
        field.with_name(name.clone().unwrap_or_default())
    });
    let fields: Vec<Field> = fields.collect();
    let made = StructArray::try_new_with_length(fields.into(), columns, None, call.rows);
    Ok(Arc::new(made.map_err(FunctionError::arrow("join tuples"))?))
}

fn pairs_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    let elements = elements(name, type_at(s, 0))?;
    let first = elements.first().map(|(_, data_type)| data_type);
    match first.filter(|first| elements.iter().all(|(_, other)| other == *first)) {
        Some(first) => {
            Ok(array_of(DataType::Tuple(vec![(None, DataType::String), (None, first.clone())])))
        }
        None => Err(wrong(name, "the elements must be of one type")),
    }
}

fn pairs(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let tuples = values.as_struct();
    let names: Vec<String> = names(elements(call.name, &call.operand(0)?.data_type)?).collect();
    let width = names.len();
    let columns: Vec<&dyn Array> = tuples.columns().iter().map(AsRef::as_ref).collect();
    let places: Vec<(usize, usize)> =
        (0..call.rows).flat_map(|row| (0..width).map(move |column| (column, row))).collect();
    let values = super::supertype::interleave(&columns, &places)
        .map_err(FunctionError::arrow("join elements"))?;
    let names: Vec<&str> = (0..call.rows).flat_map(|_| names.iter().map(String::as_str)).collect();
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let fields = vec![
        Field::new("1", names.data_type().clone(), false),
        Field::new("2", values.data_type().clone(), true),
    ];
    let tuples = StructArray::try_new(fields.into(), vec![names, values], None);
    let tuples = Arc::new(tuples.map_err(FunctionError::arrow("make tuples"))?);
    list_array(vec![width; call.rows], tuples, super::access::item_of(call.result))
}

fn distance_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let (left, right) = (elements(name, type_at(s, 0))?, elements(name, type_at(s, 1))?);
    if left.len() != right.len() {
        let problem = format!("the tuples have {} and {} elements", left.len(), right.len());
        return Err(wrong(name, problem));
    }
    for ((_, left), (_, right)) in left.iter().zip(right) {
        if super::supertype(left, right).is_none() {
            return Err(wrong(name, format!("{left} and {right} are not compared")));
        }
    }
    Ok(DataType::UInt32)
}

/// How many elements differ.
fn distance(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (call.operand(0)?, call.operand(1)?);
    let (a, b) = (call.values(0)?, call.values(1)?);
    let types =
        elements(call.name, &left.data_type)?.iter().zip(elements(call.name, &right.data_type)?);
    let mut counts = vec![0_i128; call.rows];
    let columns = a.as_struct().columns().iter().zip(b.as_struct().columns());
    for (((_, left), (_, right)), (a, b)) in types.zip(columns) {
        if a.null_count() + b.null_count() > 0 {
            return Err(wrong(call.name, "it does not take tuples with a NULL inside"));
        }
        let wanted = super::supertype(left, right)
            .ok_or_else(|| wrong(call.name, format!("{left} and {right} are not compared")))?;
        let form = |values: &ArrayRef| {
            let values = super::supertype::widened(values, &wanted)?;
            let data_type = bare(&wanted).clone();
            Ok::<_, FunctionError>(Operand { data_type, values, is_constant: false })
        };
        let all = compare_items(&[&form(a)?, &form(b)?])?;
        let [a, b] = all.as_slice() else {
            return Err(wrong(call.name, "there is nothing to compare"));
        };
        for (row, count) in counts.iter_mut().enumerate() {
            *count += i128::from(a.get(row) != b.get(row));
        }
    }
    call.make_integers(|row| counts[row])
}
