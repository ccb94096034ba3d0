//! What `groupUniqArray` does not take.

use super::literal::{bare_type, field_of};
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::AggregateFunction;
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
