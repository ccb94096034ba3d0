//! What aggregates ask for in another form, and accumulators of many groups where the engine has one for each group.
//!
//! `sums` adds up a column once for many sums of it, `ordered` asks for the order of a subquery, `distinct` counts different
//! values by their bytes, `any` copies a value of each group, `first` keeps the first tuple of an order, `listed` lists values in
//! an order, `unique` lists different values, `narrow` adds up integers without a copy, `moments` makes variances of sums,
//! `windows` hands on values of dictionaries, and [`sliding`] adds up frames of windows anew. [`piled`] has all values of all
//! groups, and `grouped` makes an aggregate of an accumulator.

mod any;
mod distinct;
mod first;
mod grouped;
mod listed;
mod moments;
pub(crate) mod narrow;
pub mod ordered;
pub mod piled;
pub mod sliding;
mod sums;
mod unique;
mod windows;

use self::ordered::OrderOfSubqueries;
use self::sums::SumsOfShifted;
use self::windows::WindowsOfTexts;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, ScalarUDF, cast,
};
use datafusion::optimizer::optimizer::{ApplyOrder, Optimizer};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Aggregates that rules put in the place of others, whose names nobody types, and those of `moments`.
pub fn aggregates() -> Vec<AggregateUDF> {
    let mut all = vec![
        any::any(),
        distinct::count_bytes(),
        first::first(),
        listed::list(),
        narrow::narrow_sum(),
        unique::unique(),
    ];
    all.extend(moments::all());
    all
}

/// The functions of their arguments.
pub fn functions() -> [ScalarUDF; 2] {
    [distinct::row_bytes(), first::order_bytes()]
}

/// The engine's rules with ours: those that change what is asked for in front, shared sums before it looks for what repeats.
pub fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let place = rules.iter().position(|rule| rule.name() == "common_sub_expression_eliminate");
    rules.insert(place.unwrap_or(rules.len()), Arc::new(SumsOfShifted));
    rules.insert(
        0,
        Arc::new(OtherCalls { name: "lists_in_order", calls: listed::calls, of_sets: true }),
    );
    rules.insert(0, Arc::new(WindowsOfTexts));
    rules.insert(0, Arc::new(OrderOfSubqueries));
    rules.insert(
        0,
        Arc::new(OtherCalls { name: "distinct_by_bytes", calls: distinct::calls, of_sets: false }),
    );
    rules.push(Arc::new(OtherCalls { name: "any_of_groups", calls: any::calls, of_sets: true }));
    rules
}

/// A rule that writes the calls of aggregates in another form.
#[derive(Debug)]
struct OtherCalls {
    name: &'static str,
    /// Those of several sets of keys (ROLLUP), too.
    of_sets: bool,
    calls: fn(&Aggregate) -> Result<Vec<Expr>>,
}

impl OptimizerRule for OtherCalls {
    fn name(&self) -> &str {
        self.name
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        let is_of_sets = |key: &Expr| matches!(key, Expr::GroupingSet(_));
        if !self.of_sets && aggregate.group_expr.iter().any(is_of_sets) {
            return Ok(Transformed::no(plan));
        }
        let calls = (self.calls)(aggregate)?;
        with_calls(plan, calls)
    }
}

/// An aggregate with other calls in the place of its own, under the names and in the types of before.
pub(crate) fn with_calls(plan: LogicalPlan, calls: Vec<Expr>) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
    if calls == aggregate.aggr_expr {
        return Ok(Transformed::no(plan));
    }
    let schema = aggregate.input.schema();
    // The keys, and which of several sets of them it is.
    let keys = aggregate.schema.columns();
    let keys = keys.get(..keys.len() - aggregate.aggr_expr.len()).unwrap_or_default();
    let mut columns: Vec<Expr> = keys.iter().cloned().map(Expr::Column).collect();
    let mut different: Vec<Expr> = Vec::new();
    for (expr, call) in aggregate.aggr_expr.iter().zip(calls) {
        let (qualifier, name) = expr.qualified_name();
        let wanted = expr.get_type(schema)?;
        let value = column(&call);
        let is_same = call.get_type(schema)? == wanted;
        let value = if is_same { value } else { cast(value, wanted) };
        columns.push(value.alias_qualified(qualifier, name));
        if !different.contains(&call) {
            different.push(call);
        }
    }
    let input = Arc::clone(&aggregate.input);
    let below = Aggregate::try_new(input, aggregate.group_expr.clone(), different)?;
    let made = LogicalPlanBuilder::from(LogicalPlan::Aggregate(below)).project(columns)?.build()?;
    if made.schema().logically_equivalent_names_and_types(plan.schema()) {
        return Ok(Transformed::yes(made));
    }
    Ok(Transformed::no(plan))
}

/// The call below the names that it may have.
fn call_of(expr: &Expr) -> Option<&AggregateFunction> {
    match expr {
        Expr::AggregateFunction(call) => Some(call),
        Expr::Alias(alias) => call_of(&alias.expr),
        _ => None,
    }
}

/// What an operator below hands out under the name of an expression.
fn column(expr: &Expr) -> Expr {
    let (relation, name) = expr.qualified_name();
    Expr::Column(Column::new(relation, name))
}

/// Some rows of a batch, without the memory of the others.
fn copied(values: &dyn Array, rows: Vec<u64>) -> Result<ArrayRef> {
    let copy = take(values, &UInt64Array::from(rows), None)?;
    Ok(match copy.data_type() {
        DataType::Utf8View => Arc::new(copy.as_string_view().gc()),
        DataType::BinaryView => Arc::new(copy.as_binary_view().gc()),
        _ => copy,
    })
}
