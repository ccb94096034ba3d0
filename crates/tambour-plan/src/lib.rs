//! Plans with ClickHouse's meaning.
//!
//! A session plans a statement with the functions of [`register`]; [`present`] and [`keep_types`] change the plan until each expression has the
//! type and the value that it has in ClickHouse; and [`lazily`] plans its execution.
//!
//! Functions of values are those of [`tambour_function`], wrapped ([`scalar`]); so a key expression and a
//! query never disagree. Only what keys cannot use is made here: [`readable`] texts, the exact [`quantile`]s,
//! [`operators`] with ClickHouse's result types, and types that are kept through DataFusion's functions ([`keep`]).
//! Aggregates that DataFusion has under another name are renamed by [`tambour_dialect`]. The list with all differences is
//! `docs/functions.md`.
#![forbid(unsafe_code)]

mod absent;
mod aggregate;
mod aligned;
mod alike;
mod among;
mod array;
mod average;
mod beside;
mod cases;
mod chance;
mod comparison;
mod constant;
mod correlated;
mod decimals;
mod default;
mod elementwise;
mod finish;
mod frames;
mod gather;
mod integer;
mod interpolated;
mod joined;
mod keep;
mod lambda;
pub mod lazily;
mod listed;
mod literal;
mod logic;
mod marked;
mod nested;
mod once;
mod operators;
mod order;
mod otherwise;
mod paste;
mod quantile;
mod readable;
mod scalar;
mod session;
mod shown;
mod texts;
pub mod travel;
mod tuple;
mod typed;
mod united;
mod using;
mod variant;
pub mod walk;
mod written;
mod zeros;

pub use absent::present;
pub use default::scalar as default_of;
pub use keep::keep_types;
pub use literal::narrowest;
pub use typed::{has_nothing, of_numbers};
pub use variant::is_variant;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF};
use datafusion::optimizer::OptimizerRule;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;
use tambour_function as function;
use tambour_scan::aggregates;

/// A context with the operators. They are asked before DataFusion's planners, which would take subscripts. What else the
/// session shall have is added at the end.
pub fn context(
    config: SessionConfig,
    runtime: Arc<RuntimeEnv>,
    add: impl FnOnce(SessionStateBuilder) -> SessionStateBuilder,
) -> SessionContext {
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_query_planner(Arc::new(lazily::LazyPlanner))
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(tambour_scan::groups::rules());
    if let Some(planners) = builder.expr_planners() {
        planners.insert(0, Arc::new(operators::Operators));
    }
    SessionContext::new_with_state(add(builder).build())
}

fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = aggregates::rules();
    rules.push(Arc::new(lambda::TypesOfParameters));
    rules
}

/// Adds all functions to a context.
pub fn register(context: &SessionContext) -> Result<()> {
    for function in tambour_aggregate::all_in_queries() {
        context.register_udf(ScalarUDF::new_from_impl(scalar::Wrapped::new(function)));
    }
    for readable in readable::all() {
        context.register_udf(ScalarUDF::new_from_impl(readable));
    }
    for own in session::all() {
        context.register_udf(ScalarUDF::new_from_impl(own));
    }
    for mark in joined::marks().chain(otherwise::marks()) {
        context.register_udf(mark);
    }
    for function in aggregates::functions() {
        context.register_udf(function);
    }
    for aggregate in aggregates::aggregates() {
        context.register_udaf(aggregate);
    }
    context.register_udf(ScalarUDF::new_from_impl(aligned::Aligned::new()));
    context.register_udf(ScalarUDF::new_from_impl(array::WrittenArray::new()));
    context.register_udf(ScalarUDF::new_from_impl(tuple::Tuple::new()));
    context.register_udf(ScalarUDF::new_from_impl(tuple::TupleElement::new()));
    context.register_udf(ScalarUDF::new_from_impl(tuple::EmptyToSingle::new()));
    context.register_udf(ScalarUDF::new_from_impl(absent::DefaultOfType::new()));
    context.register_udf(ScalarUDF::new_from_impl(logic::Logic::new()));
    context.register_udf(ScalarUDF::new_from_impl(texts::Coalesce::default()));
    for lambda in lambda::all() {
        context.register_higher_order_function(Arc::new(HigherOrderUDF::new_from_impl(lambda)));
    }
    context.register_udaf(AggregateUDF::new_from_impl(quantile::Quantile::exact()));
    context.register_udaf(AggregateUDF::new_from_impl(quantile::Quantile::between()));
    Ok(())
}

/// Names of all functions that ClickHouse has and this crate adds or renames, for completion.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> =
        tambour_aggregate::all_in_queries().map(function::Function::name).collect();
    names.extend(readable::all().iter().map(readable::Readable::canonical_name));
    names.extend(tambour_dialect::names::SESSION.iter().map(|(name, _)| *name));
    names.extend(tambour_dialect::renamed());
    names.sort_unstable();
    names.dedup();
    names
}
