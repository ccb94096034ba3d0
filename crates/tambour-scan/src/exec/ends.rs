//! The greatest and the least value of the first column of the sorting key: of each part the rows at one end suffice.
//!
//! A rule finds aggregates that ask for nothing else and lets their scan read on in a part only until a row is left: from its start for
//! `min`, and from its end for `max`.

use super::{TambourScanExec, sorting};
use crate::nodes::over;
use crate::scan_options::ScanOptions;
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub(crate) struct EndsOfParts;

impl PhysicalOptimizerRule for EndsOfParts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_ends {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let Some(scan) = of_ends(&node) else { return Ok(Transformed::no(node)) };
            over(node, Arc::new(scan)).map(Transformed::yes)
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "ends_of_parts"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// The scan below an aggregate that asks for one end of the key only.
fn of_ends(node: &Arc<dyn ExecutionPlan>) -> Option<TambourScanExec> {
    let aggregate = node.downcast_ref::<AggregateExec>()?;
    let scan = aggregate.input().downcast_ref::<TambourScanExec>()?;
    let is_all = aggregate.group_expr().is_empty()
        && !aggregate.group_expr().has_grouping_set()
        && aggregate.mode().input_mode() == AggregateInputMode::Raw
        && aggregate.filter_expr().iter().all(Option::is_none);
    let [call] = aggregate.aggr_expr() else { return None };
    if !is_all || !call.order_bys().is_empty() {
        return None;
    }
    let is_last = match call.fun().name() {
        "max" => true,
        "min" => false,
        _ => return None,
    };
    let arguments = call.expressions();
    let [argument] = arguments.as_slice() else { return None };
    // Of a dictionary its values are asked for.
    let values = argument.downcast_ref::<CastExpr>().filter(|cast| {
        matches!(cast.cast_type(), DataType::Utf8 | DataType::Utf8View)
            && cast.expr().data_type(&scan.schema()).is_ok_and(
                |it| matches!(it, DataType::Dictionary(_, values) if values.as_ref() == &DataType::Utf8),
            )
    });
    let column = values.map_or(argument, |cast| cast.expr()).downcast_ref::<Column>()?;
    scan.until_a_row(column, is_last)
}

/// True if equal values are the same, and none is outside their order.
fn is_ordered(data_type: &DataType) -> bool {
    if let DataType::Dictionary(_, values) = data_type {
        return matches!(**values, DataType::Utf8 | DataType::Utf8View | DataType::Binary);
    }
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Date32
                | DataType::Date64
                | DataType::Timestamp(..)
                | DataType::Utf8View
                | DataType::BinaryView
        )
}

impl TambourScanExec {
    /// The same, which of each part reads on only until a row is left; none if that row has not the end of this column.
    fn until_a_row(&self, column: &Column, is_last: bool) -> Option<Self> {
        let is_whole = self.scan.limit.is_none()
            && self.filters.moving.is_empty()
            && !self.places
            && !self.table.has_deleted_rows();
        let key = sorting(&self.table, &self.schema).into_iter().next()?;
        let key = key.expr.downcast_ref::<Column>()?;
        let field = self.schema.fields().get(column.index())?;
        // NULLs are at the end, and no value.
        let is_key = key == column && is_ordered(field.data_type()) && !field.is_nullable();
        if !is_whole || !is_key {
            return None;
        }
        let ends = Self { is_of_ends: true, is_reversed: is_last, ..self.clone() };
        let mut scan = ends.scan.clone();
        scan.ordered = false;
        Some(ends.with_scan(scan))
    }
}

/// What is read of a part until a row is left.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    is_done: bool,
}

impl Ends {
    /// Another part.
    pub(crate) fn open(&mut self) {
        self.is_done = false;
    }
    /// True once nothing of the part is wanted.
    pub(crate) fn are_read(&self) -> bool {
        self.is_done
    }
    /// Rows of it that were left of a batch.
    pub(crate) fn note(&mut self, rows: usize) {
        self.is_done |= rows > 0;
    }
}
