//! What aggregates take: `sum` and `avg` count conditions as 0 and 1, `avg` takes dates and instants as numbers. Integers of 256 bits are
//! bytes to the engine: `sum` takes them as decimals of the same bits, whose additions wrap around as ClickHouse's do, `avg` as floats.
//!
//! The planner does not know types when it meets an aggregate. So the argument is wrapped in [`Summand`], whose type is known
//! in time, and [`super::keep`] takes the wrapping off before anything else sees it.

use super::literal::bare_type;
use arrow::datatypes::{
    DECIMAL256_MAX_PRECISION, DataType as ArrowType, Field, FieldRef, TimeUnit,
};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// The arguments that an aggregate gets instead of those that were written.
pub(super) fn arguments(aggregate: &str, written: Vec<Expr>) -> Vec<Expr> {
    if !matches!(aggregate, "sum" | "avg") || written.len() != 1 {
        return written;
    }
    vec![ScalarUDF::new_from_impl(Summand::new(aggregate == "avg")).call(written)]
}

/// Its argument; a number if that is a condition, or a moment whose average is asked for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Summand {
    is_averaged: bool,
    signature: Signature,
}

impl Summand {
    /// Its name.
    pub(super) const NAME: &str = "summand";

    fn new(is_averaged: bool) -> Self {
        Self { is_averaged, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl Summand {
    /// The type in which values of another one are added.
    pub(super) fn added(&self, data_type: &ArrowType) -> ArrowType {
        match data_type {
            // Texts of 32 bytes are found out when types have names.
            ArrowType::FixedSizeBinary(32) if self.is_averaged => ArrowType::Float64,
            ArrowType::FixedSizeBinary(32) => WIDEST,
            ArrowType::Boolean => ArrowType::UInt64,
            moment if self.is_averaged && is_moment(moment) => ArrowType::Int64,
            other => other.clone(),
        }
    }
    /// The summand that a call is.
    pub(super) fn of(call: &ScalarFunction) -> Option<&Self> {
        call.func.inner().downcast_ref::<Self>()
    }
}

/// The engine's type in which integers of 256 bits are added.
pub(super) const WIDEST: ArrowType = ArrowType::Decimal256(DECIMAL256_MAX_PRECISION, 0);

/// True for integers of 256 bits.
pub(super) fn is_widest(field: &Field) -> bool {
    matches!(bare_type(field), Some(DataType::Int256 | DataType::UInt256))
}

/// True for dates and instants without fractions.
pub(super) fn is_moment(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Date32 | ArrowType::Timestamp(TimeUnit::Second, _))
}

impl ScalarUDFImpl for Summand {
    fn name(&self) -> &'static str {
        Self::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!("the type is that of the argument")
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        if let [only] = args.arg_fields {
            Ok(Arc::new(Field::new(Self::NAME, self.added(only.data_type()), only.is_nullable())))
        } else {
            plan_err!("it takes an argument")
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
            let wanted = args.return_field.data_type();
            // The engine knows dates as numbers of 32 bits only.
            let days = (only.data_type() == ArrowType::Date32 && *wanted != ArrowType::Date32)
                .then(|| only.cast_to(&ArrowType::Int32, None));
            days.transpose()?.as_ref().unwrap_or(only).cast_to(wanted, None)
        } else {
            exec_err!("it takes an argument")
        }
    }
}
