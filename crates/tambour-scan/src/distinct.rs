//! Different tuples and arrays are counted by their bytes.
//!
//! The engine keeps each as an array of one row and takes its size to be that of all buffers it shares: some thousand tuples with
//! a text came to hundreds of gigabytes, above any limit. Rows as bytes are hashed once and take what they are long. Two are
//! equal where ClickHouse's are, which compares bytes, too.

use datafusion::arrow::array::{Array, LargeBinaryBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::{Arc, LazyLock};

/// The rule.
#[derive(Debug)]
pub(crate) struct DistinctByBytes;

impl OptimizerRule for DistinctByBytes {
    fn name(&self) -> &'static str {
        "distinct_by_bytes"
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
        let found = aggregate.aggr_expr.iter().map(|expr| by_bytes(expr, aggregate));
        let found = found.collect::<Result<Vec<_>>>()?;
        if found.iter().all(Option::is_none) {
            return Ok(Transformed::no(plan));
        }
        let mut calls = Vec::with_capacity(found.len());
        let mut columns: Vec<Expr> = aggregate.group_expr.iter().map(crate::sums::column).collect();
        for (place, (expr, found)) in aggregate.aggr_expr.iter().zip(found).enumerate() {
            let (qualifier, name) = expr.qualified_name();
            let inner = format!("__distinct_{place}");
            calls.push(found.unwrap_or_else(|| expr.clone()).alias(&inner));
            columns.push(datafusion::prelude::ident(inner).alias_qualified(qualifier, name));
        }
        let input = Arc::clone(&aggregate.input);
        let below = Aggregate::try_new(input, aggregate.group_expr.clone(), calls)?;
        let made =
            LogicalPlanBuilder::from(LogicalPlan::Aggregate(below)).project(columns)?.build()?;
        if made.schema().logically_equivalent_names_and_types(plan.schema()) {
            return Ok(Transformed::yes(made));
        }
        Ok(Transformed::no(plan))
    }
}

/// `count(DISTINCT row_bytes(x))` of `count(DISTINCT x)`, if `x` is nested.
fn by_bytes(expr: &Expr, aggregate: &Aggregate) -> Result<Option<Expr>> {
    if aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_))) {
        return Ok(None);
    }
    let bare = match expr {
        Expr::Alias(alias) => &alias.expr,
        other => other,
    };
    let Expr::AggregateFunction(call) = bare else { return Ok(None) };
    let [argument] = call.params.args.as_slice() else { return Ok(None) };
    let data_type = argument.get_type(aggregate.input.schema())?;
    let is_it = call.func.name() == "count" && call.params.distinct;
    if !is_it || !data_type.is_nested() || !is_told_by_bytes(&data_type) {
        return Ok(None);
    }
    let args = vec![ROW_BYTES.call(vec![argument.clone()])];
    let params = AggregateFunctionParams { args, ..call.params.clone() };
    Ok(Some(Expr::AggregateFunction(AggregateFunction { func: Arc::clone(&call.func), params })))
}

/// True if rows of the type have a form in bytes.
fn is_told_by_bytes(data_type: &DataType) -> bool {
    RowConverter::supports_fields(&[SortField::new(data_type.clone())])
}

static ROW_BYTES: LazyLock<ScalarUDF> = LazyLock::new(row_bytes);

/// The function that gives each value as bytes. Nobody types its name.
pub fn row_bytes() -> ScalarUDF {
    ScalarUDF::new_from_impl(RowBytes { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RowBytes {
    signature: Signature,
}

impl ScalarUDFImpl for RowBytes {
    fn name(&self) -> &'static str {
        "\u{1f}row_bytes"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?;
        let [values] = values.as_slice() else {
            return Err(DataFusionError::Internal("row_bytes takes one value".to_owned()));
        };
        let field = SortField::new(values.data_type().clone());
        let rows = RowConverter::new(vec![field])?.convert_columns(&[Arc::clone(values)])?;
        // NULL is not counted.
        let mut bytes = LargeBinaryBuilder::with_capacity(rows.num_rows(), rows.size());
        for (at, row) in rows.iter().enumerate() {
            bytes.append_option(values.is_valid(at).then(|| row.data()));
        }
        Ok(ColumnarValue::Array(Arc::new(bytes.finish())))
    }
}
