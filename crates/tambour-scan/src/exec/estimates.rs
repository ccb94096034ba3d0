//! What joins are planned by: the least and the greatest value of each column that a scan reads.
//!
//! The engine guesses from them how many rows a join has, and so which side it keeps in memory. They are estimates: nothing is
//! answered from them here.

use super::TambourScanExec;
use crate::answers::value_of;
use crate::scan_options::ScanOptions;
use crate::statistics::{kept, total};
use datafusion::common::Result;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use std::sync::Arc;

/// Parts of a table up to which their statistics are looked at: each has a file.
const PARTS_MAX: usize = 16;

/// The rule. It goes before that which chooses the sides of joins.
#[derive(Debug)]
pub(crate) struct EstimatesOfJoins;

impl PhysicalOptimizerRule for EstimatesOfJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_statistics
            || !plan.exists(|node| Ok(node.is::<HashJoinExec>()))?
        {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let scan = node.downcast_ref::<TambourScanExec>().and_then(TambourScanExec::estimated);
            Ok(match scan {
                Some(scan) => Transformed::yes(Arc::new(scan) as _),
                None => Transformed::no(node),
            })
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "estimates_of_joins"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

impl TambourScanExec {
    /// The same with what is kept beside the parts; none if that is nothing.
    fn estimated(&self) -> Option<Self> {
        if self.table.parts().len() > PARTS_MAX {
            return None;
        }
        // Damaged files are told by who answers from them.
        let kept = kept(&self.table).ok()??;
        let mut all = self.all.as_ref().clone();
        for (column, field) in all.column_statistics.iter_mut().zip(self.read.fields()) {
            let extremes = total(&self.table, &kept, field.name()).and_then(|it| it.extremes);
            let Some((least, greatest)) = extremes else { continue };
            let of = |value| value_of(value, field.data_type()).map(Precision::Inexact);
            let ends = [(&mut column.min_value, least), (&mut column.max_value, greatest)];
            for (known, end) in ends {
                if *known == Precision::Absent
                    && let Some(value) = of(end)
                {
                    *known = value;
                }
            }
        }
        Some(Self { all: Arc::new(all), ..self.clone() })
    }
}
