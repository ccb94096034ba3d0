//! Arrays that are written out: those without NULLs say so in their type, as ClickHouse's do. What follows from the type is
//! the default that stands where there is no item, and the name that `toTypeName` gives.

use super::literal::named;
use super::typed::{common_of, needs_name};
use arrow::array::{ArrayRef, ListArray, cast::AsArray};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::functions_nested::make_array::make_array_udf;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// `[a, b]`, `array(a, b)` in the engine's place, whose items may always be NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct WrittenArray {
    aliases: Vec<String>,
    signature: Signature,
    /// True for items that may be NULL by what was written, whatever the engine finds out of constants later.
    has_nullable: bool,
}

impl WrittenArray {
    pub(super) fn new() -> Self {
        Self {
            aliases: make_array_udf().aliases().to_vec(),
            signature: Signature::user_defined(Volatility::Immutable),
            has_nullable: false,
        }
    }
}

/// Keeps in an array that is written out that its items may be NULL: the engine computes `toNullable(3)` before the query
/// runs, and a number is never NULL.
pub(super) fn keep_nullable(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    let is_kept = call.func.inner().downcast_ref::<WrittenArray>().is_none_or(|it| it.has_nullable);
    if is_kept {
        return Ok(false);
    }
    for item in &call.args {
        if !matches!(item, Expr::Literal(..)) && item.nullable(schema)? {
            let array = WrittenArray { has_nullable: true, ..WrittenArray::new() };
            call.func = Arc::new(ScalarUDF::new_from_impl(array));
            return Ok(true);
        }
    }
    Ok(false)
}

/// The same lists with items of another field.
fn with_item(lists: &ListArray, item: &FieldRef) -> Result<ArrayRef> {
    let (_, offsets, values, nulls) = lists.clone().into_parts();
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?))
}

/// The type of items of which some hold tuples or arrays that may have a NULL, and others do not.
pub(super) fn merged(left: &ArrowType, right: &ArrowType) -> ArrowType {
    let field = |a: &FieldRef, b: &FieldRef| {
        let data_type = merged(a.data_type(), b.data_type());
        let is_nullable = a.is_nullable() || b.is_nullable();
        Arc::new(a.as_ref().clone().with_data_type(data_type).with_nullable(is_nullable))
    };
    match (left, right) {
        (ArrowType::List(a), ArrowType::List(b)) => ArrowType::List(field(a, b)),
        (ArrowType::Null, other) | (other, ArrowType::Null) => other.clone(),
        (ArrowType::Struct(a), ArrowType::Struct(b)) if a.len() == b.len() => {
            ArrowType::Struct(a.iter().zip(b).map(|(a, b)| field(a, b)).collect())
        }
        (a, b) if a != b && is_text(a) && is_text(b) => ArrowType::Utf8View,
        (a, b) => super::texts::one_form(&[a.clone(), b.clone()]).unwrap_or_else(|| left.clone()),
    }
}

/// True for texts, also those of a dictionary.
fn is_text(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Dictionary(_, values) => is_text(values),
        other => matches!(other, ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View),
    }
}

impl ScalarUDFImpl for WrittenArray {
    fn name(&self) -> &'static str {
        "make_array"
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        match super::texts::one_form(types) {
            Some(form) => Ok(vec![form; types.len()]),
            None => make_array_udf().coerce_types(types),
        }
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        make_array_udf().return_type(types)
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = args.arg_fields.iter().map(|it| it.data_type().clone());
        let item = types.reduce(|all, it| merged(&all, &it)).unwrap_or(ArrowType::Null);
        // An array without items holds no NULL either.
        let has_nulls = self.has_nullable || args.arg_fields.iter().any(|it| it.is_nullable());
        let field = Field::new(self.name(), ArrowType::new_list(item, has_nulls), false);
        let data_type = common_of(args.arg_fields.iter().cloned()).map(|item| {
            DataType::Array(Box::new(if has_nulls { item.made_nullable() } else { item }))
        });
        Ok(Arc::new(match data_type.filter(needs_name) {
            Some(data_type) => named(&data_type).add_to_field(field),
            None => field,
        }))
    }
    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ArrowType::List(item) = args.return_field.data_type().clone() else {
            return exec_err!("an array is a list");
        };
        if matches!(item.data_type(), ArrowType::Struct(_) | ArrowType::List(_)) {
            for value in &mut args.args {
                *value = value.cast_to(item.data_type(), None)?;
            }
        }
        // The engine's own function is held to the type that it would have said.
        let data_type = ArrowType::new_list(item.data_type().clone(), true);
        args.return_field = Arc::new(Field::new(self.name(), data_type, false));
        Ok(match make_array_udf().invoke_with_args(args)? {
            ColumnarValue::Array(lists) => ColumnarValue::Array(with_item(lists.as_list(), &item)?),
            ColumnarValue::Scalar(list) => {
                let list = with_item(list.to_array_of_size(1)?.as_list(), &item)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&list, 0)?)
            }
        })
    }
}
