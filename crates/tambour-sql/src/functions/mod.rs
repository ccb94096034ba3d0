//! ClickHouse's functions in queries.
//!
//! Functions of values are those of [`tambour_store::schema::function`], wrapped ([`scalar`]); so a key expression and a
//! query never disagree. Only what keys cannot use is made here: [`readable`] texts, the exact [`quantile`]s, and
//! [`operators`] with ClickHouse's result types. Aggregates that DataFusion has under another name are renamed by
//! [`crate::dialect`]. The list with all differences is `docs/functions.md`.

mod operators;
mod quantile;
mod readable;
mod scalar;

use crate::SqlError;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use tambour_store::schema::function;

/// Adds all functions and operators to a context.
pub fn register(context: &SessionContext) -> Result<(), SqlError> {
    for function in function::all() {
        context.register_udf(ScalarUDF::new_from_impl(scalar::Wrapped::new(function)));
    }
    for readable in readable::all() {
        context.register_udf(ScalarUDF::new_from_impl(readable));
    }
    context.register_udaf(AggregateUDF::new_from_impl(quantile::QuantileExact::new()));
    let state = context.state_ref();
    state.write().register_expr_planner(Arc::new(operators::Operators))?;
    Ok(())
}

/// The name under which a function of ours is registered, if `written` is a name of it: exact, or in any case where
/// ClickHouse takes any.
pub(crate) fn canonical(written: &str) -> Option<&'static str> {
    function::find(written).map(function::Function::name).or_else(|| readable::canonical(written))
}

/// Names of all functions that ClickHouse has and this crate adds or renames, for completion.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = function::all().map(function::Function::name).collect();
    names.extend(readable::all().iter().map(readable::Readable::canonical_name));
    names.extend(crate::dialect::renamed());
    names.sort_unstable();
    names.dedup();
    names
}
