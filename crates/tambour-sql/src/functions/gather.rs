//! `groupArray` over a window: the engine's `array_agg`, which may not be turned around. To save a sort the engine runs windows
//! backwards, and says of `array_agg` that it may; but an array of values that come backwards is another array. And what
//! `groupUniqArray` does not take.

use super::literal::{bare_type, field_of};
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunctionDefinition};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use std::sync::Arc;
use tambour_part::types::DataType;

/// ClickHouse forgets the zone of the times that `groupUniqArray` gathers, and shows them in the server's.
pub(super) fn check_zone(call: &AggregateFunction, schema: &DFSchema) -> Result<()> {
    let is_one = call.func.name() == "array_agg" && call.params.distinct;
    let Some(only) = call.params.args.first().filter(|_| is_one) else { return Ok(()) };
    match bare_type(&*field_of(only, schema)?) {
        Some(DataType::DateTime { zone: Some(zone) }) if zone != "UTC" => plan_err!(
            "groupUniqArray of times in a zone shows them in another one in ClickHouse: use arrayDistinct(groupArray(x))"
        ),
        _ => Ok(()),
    }
}

/// Replaces `array_agg` over a window; true if it was that.
pub(super) fn forwards(function: &mut WindowFunctionDefinition) -> bool {
    let WindowFunctionDefinition::AggregateUDF(inner) = function else { return false };
    if inner.name() != "array_agg" || inner.inner().downcast_ref::<Forwards>().is_some() {
        return false;
    }
    *inner = Arc::new(AggregateUDF::new_from_impl(Forwards { inner: array_agg_udaf() }));
    true
}

/// `array_agg`, forwards only.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Forwards {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Forwards {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(arguments)
    }
    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arguments)
    }
    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }
    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }
    fn default_value(&self, data_type: &ArrowType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }
    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }
}
