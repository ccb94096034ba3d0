//! Values that windows hand on (`lagInFrame`, `first_value`) of a dictionary, as an Enum is one.
//!
//! The engine puts the values of a window together one by one, and a dictionary then has a key for each row: keys of 8 bits are soon used
//! up. So the window hands on the values themselves, and their dictionary is made anew above it.

use super::column;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

const HANDED_ON: &[&str] = &["lag", "lead", "first_value", "last_value", "nth_value", "any_value"];

/// The rule.
#[derive(Debug)]
pub(super) struct WindowsOfTexts;

impl OptimizerRule for WindowsOfTexts {
    fn name(&self) -> &'static str {
        "windows_of_texts"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = &plan else { return Ok(Transformed::no(plan)) };
        let schema = window.input.schema();
        let calls = window.window_expr.iter().map(|call| of_texts(call, schema));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        if calls == window.window_expr {
            return Ok(Transformed::no(plan));
        }
        let mut columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        for (before, call) in window.window_expr.iter().zip(&calls) {
            let wanted = before.get_type(schema)?;
            let is_same = before == call;
            let value = if is_same { column(call) } else { cast(column(call), wanted) };
            let (qualifier, name) = before.qualified_name();
            columns.push(value.alias_qualified(qualifier, name));
        }
        let input = LogicalPlanBuilder::from(window.input.as_ref().clone());
        Ok(Transformed::yes(input.window(calls)?.project(columns)?.build()?))
    }
}

/// The same call of the values of a dictionary.
fn of_texts(expr: &Expr, schema: &DFSchema) -> Result<Expr> {
    let values = |call: &WindowFunction| -> Result<Option<Expr>> {
        if !HANDED_ON.contains(&call.fun.name()) {
            return Ok(None);
        }
        let mut call = call.clone();
        let mut is_changed = false;
        for argument in &mut call.params.args {
            if let DataType::Dictionary(_, values) = argument.get_type(schema)? {
                *argument = value_of(argument, *values);
                is_changed = true;
            }
        }
        Ok(is_changed.then(|| Expr::WindowFunction(Box::new(call))))
    };
    let changed = match expr {
        Expr::WindowFunction(call) => values(call)?,
        Expr::Alias(alias) => match &*alias.expr {
            Expr::WindowFunction(call) => values(call)?
                .map(|call| call.alias_qualified(alias.relation.clone(), alias.name.clone())),
            _ => None,
        },
        _ => None,
    };
    Ok(changed.unwrap_or_else(|| expr.clone()))
}

/// The engine takes nothing but a literal for what `lag` has before the first row.
fn value_of(argument: &Expr, values: DataType) -> Expr {
    match argument {
        Expr::Literal(ScalarValue::Dictionary(_, value), _) => {
            Expr::Literal((**value).clone(), None)
        }
        other => cast(other.clone(), values),
    }
}
