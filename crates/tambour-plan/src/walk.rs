//! Walks over plans and expressions. The engine's are copied into the program for each closure that they are given, which makes
//! some 100 KB each; these are there once.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// What is done to each node.
pub type Change<'a, T> = &'a mut dyn FnMut(T) -> Result<Transformed<T>>;

/// The walks over expressions.
pub trait Walk {
    /// Changes nodes after those inside.
    fn up(self, change: Change<Expr>) -> Result<Transformed<Expr>>;
    /// Changes nodes before those inside.
    fn down(self, change: Change<Expr>) -> Result<Transformed<Expr>>;
    /// Looks at nodes before those inside.
    fn look(
        &self,
        visit: &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion>;
    /// What is directly inside.
    fn children(&self) -> Vec<&Self>;
}

impl Walk for Expr {
    fn up(self, change: Change<Expr>) -> Result<Transformed<Expr>> {
        self.transform_up(change)
    }
    fn down(self, change: Change<Expr>) -> Result<Transformed<Expr>> {
        self.transform_down(change)
    }
    fn look(
        &self,
        visit: &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply(visit)
    }
    fn children(&self) -> Vec<&Self> {
        let mut children = Vec::new();
        let all = self.apply_children(|child| {
            children.push(child);
            Ok(TreeNodeRecursion::Continue)
        });
        // Nothing in it fails.
        all.map(|_| children).unwrap_or_default()
    }
}

/// Changes all nodes of a plan and of its subqueries, those below first.
pub fn everywhere(plan: LogicalPlan, change: Change<LogicalPlan>) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(change)?.data)
}

/// The same, those above first; `TreeNodeRecursion::Jump` leaves out what is below.
pub fn downwards(plan: LogicalPlan, change: Change<LogicalPlan>) -> Result<LogicalPlan> {
    Ok(plan.transform_down_with_subqueries(change)?.data)
}
