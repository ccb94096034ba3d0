//! Names of results: what was written, and every one a different one.

use crate::marks;
use datafusion::sql::sqlparser::ast::{Expr, Ident, SelectItem};
use std::collections::BTreeSet;

/// Results that are not plain columns are called what was written: `count()`, not what it was rewritten to.
pub(super) fn name(projection: &mut [SelectItem]) {
    for item in projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Wildcard(_)) {
            continue;
        }
        let alias = Ident::with_quote('"', of(expr));
        *item = SelectItem::ExprWithAlias { expr: super::call::take(expr), alias };
    }
}

/// The name of a result that is not a plain column.
pub(super) fn of(expr: &Expr) -> String {
    expr.to_string()
}

/// Numbers names that are there already; [`results`] takes the numbers away again. A column beside `*` is one of those.
pub(super) fn distinguish(projection: &mut [SelectItem]) {
    let has_all = projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    // Columns of two tables may have the same name: DataFusion tells them apart by the tables.
    let (mut plain, mut qualified) = (BTreeSet::new(), BTreeSet::new());
    for (number, item) in projection.iter_mut().enumerate() {
        let (name, is_repeated) = match &*item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                let is_new = plain.insert(name.value.clone());
                (name.value.clone(), has_all || !is_new)
            }
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                let Some(last) = parts.last().map(|part| part.value.clone()) else { continue };
                let whole: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
                let is_new = qualified.insert(whole.join("."));
                let is_repeated = has_all || !is_new || plain.contains(&last);
                (last, is_repeated)
            }
            SelectItem::ExprWithAlias { alias, .. } => {
                (alias.value.clone(), !plain.insert(alias.value.clone()))
            }
            _ => continue,
        };
        if !is_repeated {
            continue;
        }
        let alias = Ident::with_quote('"', marks::numbered(&name, number));
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            *item = SelectItem::ExprWithAlias { expr: super::call::take(expr), alias };
        }
    }
}
