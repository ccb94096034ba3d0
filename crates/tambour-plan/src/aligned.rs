//! The arrays of ARRAY JOIN, whose elements stand side by side.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_dialect::marks::ALIGNED;

/// The first array, if the others are as long: the engine would put NULLs where they end.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Aligned(Signature);

impl Aligned {
    pub(super) fn new() -> Self {
        Self(Signature::variadic_any(Volatility::Immutable))
    }
}

/// The length of each array. A NULL is an array without elements.
fn lengths(values: &ArrayRef) -> Option<Vec<usize>> {
    let offsets = match values.data_type() {
        ArrowType::List(_) => values.as_list::<i32>().offsets(),
        ArrowType::Map(..) => values.as_map().offsets(),
        _ => return None,
    };
    let of_row = |(row, length)| if values.is_null(row) { 0 } else { length };
    Some(offsets.lengths().enumerate().map(of_row).collect())
}

impl ScalarUDFImpl for Aligned {
    fn name(&self) -> &'static str {
        ALIGNED
    }
    fn signature(&self) -> &Signature {
        &self.0
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        let [first, ..] = types else { return plan_err!("ARRAY JOIN takes arrays") };
        Ok(first.clone())
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [first, ..] = args.arg_fields else { return plan_err!("ARRAY JOIN takes arrays") };
        Ok(Arc::clone(first))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let all = arrays.iter().map(lengths).collect::<Option<Vec<_>>>();
        let (Some(all), Some(first)) = (all, args.args.first()) else {
            return exec_err!("ARRAY JOIN takes arrays");
        };
        if all.windows(2).any(|pair| pair[0] != pair[1]) {
            return exec_err!(
                "the arrays of ARRAY JOIN have different lengths: cut or fill them by arrayResize"
            );
        }
        Ok(first.clone())
    }
}
