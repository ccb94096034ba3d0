//! Filters that operators find while they run.
//!
//! They are memory that two operators of one process share, so they do not travel. Once a worker has its part of the plan, the
//! threshold of a top N is connected with the scan of the same stage. Those of joins stay off: a join waits until all its
//! partitions have told what they hold, and on a worker they start when others ask for them.

use datafusion::common::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// The plan, of the same shape, with the filters of its own operators.
pub(crate) fn connected(
    plan: Arc<dyn ExecutionPlan>,
    session: &SessionConfig,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut options = session.options().as_ref().clone();
    options.optimizer.enable_topk_dynamic_filter_pushdown = true;
    FilterPushdown::new_post_optimization().optimize(plan, &options)
}
