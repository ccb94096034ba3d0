//! Conditions that are pushed down past columns of the same name. The engine's rule finds the columns of a condition by their
//! names wherever it passes an operator, so that `a.l = 4` above a join of `a` and `b` can end as `b.l = 4` in the scan of `b`.
//! Here the rule runs over one stretch of a plan after the other, and no stretch goes on below an edge that carries two columns of one name.

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
    ReplaceChildrenOptions,
};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A rule of the engine that finds columns by their names.
#[derive(Debug)]
pub(crate) struct WithoutDoubled {
    rule: Rule,
}

impl WithoutDoubled {
    /// The rule as it is, unless it is one of those that push conditions down.
    pub(crate) fn around(rule: Rule) -> Rule {
        if rule.name().starts_with("FilterPushdown") { Arc::new(Self { rule }) } else { rule }
    }

    /// Takes out what is below columns of one name, runs the rule, and puts back what the same gives for the rest.
    fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut is_top = true;
        let cut = plan.transform_down(|node| {
            if std::mem::take(&mut is_top) || !is_doubled(&node) {
                return Ok(Transformed::no(node));
            }
            let place: Arc<dyn ExecutionPlan> = Arc::new(Place { rest: node });
            Ok(Transformed::new(place, true, TreeNodeRecursion::Jump))
        })?;
        let pushed = self.rule.optimize(cut.data, config)?;
        if !cut.transformed {
            return Ok(pushed);
        }
        pushed
            .transform_up(|node| match node.downcast_ref::<Place>() {
                Some(place) => self.run(Arc::clone(&place.rest), config).map(Transformed::yes),
                None => Ok(Transformed::no(node)),
            })
            .data()
    }
}

fn is_doubled(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    !schema.fields().iter().all(|field| names.insert(field.name().as_str()))
}

impl PhysicalOptimizerRule for WithoutDoubled {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.run(plan, config)
    }
    fn name(&self) -> &str {
        self.rule.name()
    }
    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Stands for the rest of a plan, and takes no conditions.
#[derive(Debug)]
struct Place {
    rest: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Place {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rest")
    }
}

impl ExecutionPlan for Place {
    fn name(&self) -> &'static str {
        "Place"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.rest.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("the rest of the plan was not put back")
    }
}
