//! `SELECT *, f(a) AS a`: two results are called `a`, the column that `*` stands for and the expression. The engine wants names
//! that differ, and here a bare `a` is the expression, so that gets a number for the time of planning.

use super::ambiguous::{self, Names, Scope, relations};
use super::marks;
use crate::walk::{walk_expressions, walk_mut};
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, LimitClause, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, WildcardAdditionalOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Numbers the names of the outermost query's results that a `*` beside them has, too. A query around them could not tell which
/// of the two it reads.
pub(super) fn tell_apart(query: &mut Query, scope: &Scope<'_>) {
    let is_limited_by = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit_by, .. }) => !limit_by.is_empty(),
        _ => false,
    };
    let SetExpr::Select(select) = &mut *query.body else { return };
    if is_limited_by || matches!(select.distinct, Some(Distinct::On(_))) {
        return;
    }
    let shown = of_asterisks(select, scope);
    if !are_apart(select, &shown) {
        return;
    }
    let mut numbered = BTreeMap::new();
    for (number, item) in select.projection.iter_mut().enumerate() {
        if let SelectItem::ExprWithAlias { alias, .. } = item
            && shown.contains(&alias.value)
        {
            let name = Ident::with_quote('"', marks::numbered(&alias.value, number));
            let written = std::mem::replace(alias, name.clone());
            numbered.insert(written.value, Expr::Identifier(name));
        }
    }
    if !numbered.is_empty() {
        rename(select, query.order_by.as_mut().map(|order_by| &mut order_by.kind), numbered);
    }
}

/// True if no two results have such a name, and none is made of another one.
fn are_apart(select: &Select, shown: &BTreeSet<String>) -> bool {
    let named = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if shown.contains(&alias.value) => {
            Some((alias.value.as_str(), expr))
        }
        _ => None,
    });
    let named: Vec<(&str, &Expr)> = named.collect();
    let reads = |expr: &Expr, name: &str| {
        let found = walk_expressions(expr, |it| match it {
            Expr::Identifier(it) if it.value == name => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    };
    named.iter().enumerate().all(|(at, (name, _))| {
        let mut others = named.iter().enumerate().filter(|(other, _)| *other != at);
        others.all(|(_, (other, expr))| other != name && !reads(expr, name))
    })
}

/// The columns that the asterisks of a SELECT stand for, as far as they are known.
fn of_asterisks(select: &Select, scope: &Scope<'_>) -> BTreeSet<String> {
    let columns_of = |relation: &TableFactor| scope.of_relation(relation).unwrap_or_default();
    let mut shown = BTreeSet::new();
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(options) if is_plain(options) => {
                shown.extend(relations(select).flat_map(columns_of));
            }
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(table),
                options,
            ) if is_plain(options) => {
                let table = table.0.last().and_then(|last| last.as_ident());
                let named = relations(select).filter(|it| ambiguous::name(it).as_ref() == table);
                shown.extend(named.flat_map(columns_of));
            }
            _ => {}
        }
    }
    shown
}

fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    *options == WildcardAdditionalOptions::default()
}

/// Renames what stands for results. Inside of its own expression a name is the column.
fn rename(select: &mut Select, order: Option<&mut OrderByKind>, names: BTreeMap<String, Expr>) {
    let mut renamed = Names::new(names);
    // Nothing breaks off.
    for clause in
        [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify]
    {
        let _ = walk_mut(clause, &mut renamed);
    }
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        let _ = walk_mut(keys, &mut renamed);
    }
    let _ = walk_mut(&mut select.named_window, &mut renamed);
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => {
                let _ = walk_mut(expr, &mut renamed);
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let written = marks::written(&alias.value).unwrap_or(&alias.value).to_owned();
                let own = renamed.set_aside(&written);
                let _ = walk_mut(expr, &mut renamed);
                renamed.put_back(own);
            }
            _ => {}
        }
    }
    if let Some(OrderByKind::Expressions(items)) = order {
        for item in items {
            let _ = walk_mut(&mut item.expr, &mut renamed);
        }
    }
}
