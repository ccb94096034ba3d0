//! What aggregates take: `sum` and `avg` count conditions as 0 and 1.
//!
//! The planner does not know types when it meets an aggregate. So the argument is wrapped in [`Summand`], whose type is known
//! in time, and [`super::keep`] takes the wrapping off before anything else sees it.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The arguments that an aggregate gets instead of those that were written.
pub(super) fn arguments(aggregate: &str, written: Vec<Expr>) -> Vec<Expr> {
    if !matches!(aggregate, "sum" | "avg") || written.len() != 1 {
        return written;
    }
    vec![ScalarUDF::new_from_impl(Summand::new()).call(written)]
}

/// Its argument; a number if that is a condition.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Summand {
    signature: Signature,
}

impl Summand {
    /// Its name.
    pub(super) const NAME: &str = "summand";

    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

/// The type in which values of another one are added.
pub(super) fn added(data_type: &ArrowType) -> ArrowType {
    match data_type {
        ArrowType::Boolean => ArrowType::UInt64,
        other => other.clone(),
    }
}

impl ScalarUDFImpl for Summand {
    fn name(&self) -> &'static str {
        Self::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        if let [only] = arguments {
            Ok(added(only))
        } else {
            datafusion::common::plan_err!("it takes an argument")
        }
    }
    /// Columns are called what was written.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names: Vec<String> =
            arguments.iter().map(|argument| argument.schema_name().to_string()).collect();
        Ok(names.join(","))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [only] = args.args.as_slice() {
            only.cast_to(args.return_field.data_type(), None)
        } else {
            exec_err!("it takes an argument")
        }
    }
}
