//! The combinators -OrNull and -OrDefault: what an aggregate gives for no rows, whatever the settings say. The dialect wraps
//! the argument in a mark; [`super::absent`] reads it, and [`super::keep`] takes it off before anything else sees it.

use super::aggregate::Summand;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;
use tambour_dialect::marks::{APART, JOINED, Otherwise};

/// What the argument of an aggregate is marked with.
pub(super) fn of(argument: &Expr) -> Option<Otherwise> {
    let Expr::ScalarFunction(call) = argument else { return None };
    if call.name() == Summand::NAME {
        return call.args.first().and_then(of);
    }
    Otherwise::of_mark(call.name())
}

/// The marks around values as functions: these, [`JOINED`], and [`APART`].
pub(super) fn marks() -> impl Iterator<Item = ScalarUDF> {
    Otherwise::ALL.map(Otherwise::mark).into_iter().chain([JOINED, APART]).map(|name| {
        let signature = Signature::variadic_any(Volatility::Immutable);
        ScalarUDF::new_from_impl(Mark { name, signature })
    })
}

/// Its first argument, which may be NULL if any of them may be.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &'static str {
        self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!("the type is that of the argument")
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [first, others @ ..] = args.arg_fields else {
            return plan_err!("it takes an argument");
        };
        let is_nullable = first.is_nullable() || others.iter().any(|it| it.is_nullable());
        if self.name == Otherwise::Null.mark() && matches!(first.data_type(), ArrowType::List(_)) {
            return plan_err!("-OrNull does not take arrays, which cannot be NULL");
        }
        let field = Field::new(self.name(), first.data_type().clone(), is_nullable);
        Ok(Arc::new(field.with_metadata(first.metadata().clone())))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [first, ..] = args.args.as_slice() else { return exec_err!("it takes an argument") };
        Ok(first.clone())
    }
}
