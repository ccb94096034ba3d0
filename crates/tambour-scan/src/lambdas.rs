//! Parameters of lambdas in places that no column has. The engine counts their places on from the columns of the operator, and
//! leaves them so when it puts an expression above wider rows, as it does when it makes one projection of two. A parameter
//! would then be read from a column.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::expressions::LambdaVariable;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use std::sync::Arc;

/// What is added to places: more than there are columns. Of parameters, only the order of their places counts.
const FIRST: usize = 1 << 20;

/// The rule; it runs before the engine moves expressions.
#[derive(Debug)]
pub(crate) struct PlacesOfParameters;

impl PhysicalOptimizerRule for PlacesOfParameters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match moved_in(&node)? {
                Some(moved) => Transformed::yes(moved),
                None => Transformed::no(node),
            })
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "places_of_parameters"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator with other places, if it has lambdas and its expressions may come to stand above other rows.
fn moved_in(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        let found = projection.expr().iter().map(|it| moved(&it.expr));
        let found = found.collect::<Result<Vec<_>>>()?;
        if !found.iter().any(|it| it.transformed) {
            return Ok(None);
        }
        let named = found.into_iter().zip(projection.expr());
        let named = named.map(|(it, old)| ProjectionExpr::new(it.data, old.alias.clone()));
        let (input, schema) = (Arc::clone(projection.input()), projection.schema());
        let moved = ProjectionExec::try_new_with_schema_metadata(named, input, &schema)?;
        return Ok(Some(Arc::new(moved)));
    }
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        let predicate = moved(filter.predicate())?;
        if !predicate.transformed {
            return Ok(None);
        }
        let builder = FilterExecBuilder::from(filter);
        return Ok(Some(Arc::new(builder.with_predicate(predicate.data).build()?)));
    }
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let found = sort.expr().iter().map(|it| moved(&it.expr)).collect::<Result<Vec<_>>>()?;
    if !found.iter().any(|it| it.transformed) {
        return Ok(None);
    }
    let keys = found.into_iter().zip(sort.expr());
    let keys = keys.map(|(it, old)| PhysicalSortExpr::new(it.data, old.options));
    let Some(keys) = LexOrdering::new(keys) else { return Ok(None) };
    let moved = SortExec::new(keys, Arc::clone(sort.input()))
        .with_fetch(sort.fetch())
        .with_preserve_partitioning(sort.preserve_partitioning());
    Ok(Some(Arc::new(moved)))
}

fn moved(expr: &Arc<dyn PhysicalExpr>) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
    Arc::clone(expr).transform_up(|expr| {
        Ok(match expr.downcast_ref::<LambdaVariable>() {
            Some(variable) => {
                let place = FIRST + variable.index();
                Transformed::yes(Arc::new(LambdaVariable::new(place, Arc::clone(variable.field()))))
            }
            None => Transformed::no(expr),
        })
    })
}
