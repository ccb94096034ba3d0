//! `t.a[1].b`: what stands after a column, one access after the other. The parser keeps them in a list, whose names the passes after
//! this one would take for columns.

use super::call::call;
use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Value, VisitorMut};
use std::ops::ControlFlow;

/// The pass.
pub(super) struct OneByOne;

impl VisitorMut for OneByOne {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundFieldAccess { root, access_chain } = expr {
            let root = super::call::take(root);
            *expr = one_by_one(root, std::mem::take(access_chain));
        }
        ControlFlow::Continue(())
    }
}

fn one_by_one(root: Expr, chain: Vec<AccessExpr>) -> Expr {
    let mut found = root;
    for access in chain {
        found = match (found, access) {
            (Expr::Identifier(first), AccessExpr::Dot(Expr::Identifier(name))) => {
                Expr::CompoundIdentifier(vec![first, name])
            }
            (Expr::CompoundIdentifier(mut parts), AccessExpr::Dot(Expr::Identifier(name))) => {
                parts.push(name);
                Expr::CompoundIdentifier(parts)
            }
            (found, AccessExpr::Dot(Expr::Identifier(name))) => {
                let name = Expr::value(Value::SingleQuotedString(name.value));
                Expr::Function(call("tupleElement", vec![found, name]))
            }
            (found, access) => {
                let access_chain = vec![access];
                Expr::CompoundFieldAccess { root: Box::new(found), access_chain }
            }
        };
    }
    found
}
