//! What logic is where it is a result: a Bool if one of its operands is, else a number. The dialect does not know the types of
//! columns; the planner does.

use super::literal::named;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_dialect::marks::LOGIC;
use tambour_part::types::DataType;

/// The first argument in the type that the others decide.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Logic {
    signature: Signature,
}

impl Logic {
    pub(super) fn new() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Logic {
    fn name(&self) -> &'static str {
        LOGIC
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        let has_bool = types.iter().skip(1).any(|operand| *operand == ArrowType::Boolean);
        Ok(if has_bool { ArrowType::Boolean } else { ArrowType::UInt8 })
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let Some(whole) = args.arg_fields.first() else { return plan_err!("it takes arguments") };
        let types: Vec<ArrowType> =
            args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let result = self.return_type(&types)?;
        let is_bool = result == ArrowType::Boolean;
        let field = Field::new(LOGIC, result, whole.is_nullable());
        Ok(Arc::new(if is_bool { named(&DataType::Bool).add_to_field(field) } else { field }))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(whole) = args.args.first() else { return exec_err!("it takes arguments") };
        whole.cast_to(args.return_field.data_type(), None)
    }
}
