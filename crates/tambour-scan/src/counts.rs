//! `count(DISTINCT …)` is computed and not taken from the engine's statistics. They say that a constant column has one value, even
//! if that is NULL or the table is empty: `count(DISTINCT NULL)` would be 1.

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The engine's rule that answers aggregates from statistics, for plans without `count(DISTINCT …)`.
#[derive(Debug)]
pub(crate) struct WithoutDistinct {
    rule: Rule,
}

impl WithoutDistinct {
    /// The rule as it is, unless it is that one.
    pub(crate) fn around(rule: Rule) -> Rule {
        if rule.name() == "aggregate_statistics" { Arc::new(Self { rule }) } else { rule }
    }
}

impl PhysicalOptimizerRule for WithoutDistinct {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut has_distinct = false;
        plan.apply(|node| {
            let aggregate = node.downcast_ref::<AggregateExec>();
            has_distinct |=
                aggregate.is_some_and(|it| it.aggr_expr().iter().any(|call| call.is_distinct()));
            Ok(if has_distinct { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if has_distinct { Ok(plan) } else { self.rule.optimize(plan, config) }
    }
    fn name(&self) -> &str {
        self.rule.name()
    }
    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}
