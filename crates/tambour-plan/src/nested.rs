//! Parts of maps and arrays: `m.keys`, `m.values`, `arr[n]`.

use super::keep::typed;
use super::literal::{field_of, text};
use super::scalar;
use super::tuple::TupleElement;
use super::typed::Typed;
use super::typed::of_call;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ScalarUDF};

/// `m.keys` and `m.values`, which the engine takes for the value of a key, and `a.name` of an array of tuples.
pub(super) fn subcolumn(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_map = match call.args.first() {
        Some(map) => matches!(field_of(map, schema)?.data_type(), ArrowType::Map(..)),
        None => false,
    };
    let [map, Expr::Literal(name, _)] = call.args.as_slice() else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    if matches!(field_of(map, schema)?.data_type(), ArrowType::List(_)) {
        let element = ScalarUDF::new_from_impl(TupleElement::new());
        return Ok(Transformed::yes(element.call(call.args)));
    }
    if !is_map {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    }
    let function = match text(name) {
        Some("keys") => "mapKeys",
        Some("values") => "mapValues",
        other => {
            let other = other.unwrap_or_default();
            return plan_err!("a map has no subcolumn {other}: keys, values, or m['{other}']");
        }
    };
    match scalar::call(function, vec![map.clone()]) {
        Some(call) => Ok(Transformed::yes(call)),
        None => Ok(Transformed::no(Expr::ScalarFunction(call))),
    }
}

/// An element of an array: what is not there is a default, unless the array that is written out may hold NULLs.
pub(super) fn element(mut call: ScalarFunction, schema: &DFSchema) -> Transformed<Expr> {
    let array = match call.args.first() {
        Some(Expr::ScalarFunction(array)) if matches!(array.name(), "make_array" | "map") => {
            of_call(array, schema)
        }
        _ => None,
    };
    let Some(data_type) = array else {
        let data_type = of_call(&call, schema);
        return typed(Expr::ScalarFunction(call), data_type);
    };
    if let Some(first) = call.args.first_mut() {
        *first = Typed::call(first.clone(), &data_type);
    }
    Transformed::yes(Expr::ScalarFunction(call))
}
