//! NULLs in sets. For SQL `x NOT IN (1, NULL)` is never true, as NULL could be anything; ClickHouse leaves NULLs out of sets.

use super::call;
use crate::marks::MEMBER;
use crate::{DialectError, parse_query};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, TableFactor,
    Value,
};

/// A list without its NULLs; what comes in the place of a list of nothing else.
pub(super) fn list(expr: &mut Expr) -> Option<Expr> {
    let Expr::InList { expr: operand, list, negated } = expr else { return None };
    list.retain(|item| !is_null(item));
    if !list.is_empty() {
        return None;
    }
    // In an empty set is nothing; of NULL itself that is not known.
    let operand = Box::new(call::take(operand));
    let unknown = Box::new(Expr::value(Value::Null));
    let (known, op) = if *negated {
        (Expr::IsNotNull(operand), BinaryOperator::Or)
    } else {
        (Expr::IsNull(operand), BinaryOperator::And)
    };
    let whole = Expr::BinaryOp { left: Box::new(known), op, right: unknown };
    Some(Expr::Nested(Box::new(whole)))
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_null(inner),
        Expr::Value(value) => value.value == Value::Null,
        _ => false,
    }
}

/// The query of a set of values, without its NULLs.
const WITHOUT_NULLS: &str =
    r#"SELECT "value" FROM (SELECT 1) AS "set" ("value") WHERE "value" IS NOT NULL"#;

/// Leaves NULLs out of the set after NOT IN. (Behind IN they change nothing that a condition could tell.)
pub(super) fn subquery(query: &mut Query) -> Result<(), DialectError> {
    if !has_one_column(&query.body) {
        return Ok(());
    }
    if filter(query) {
        return Ok(());
    }
    within(WITHOUT_NULLS, query)
}

/// Gives the values of a set a name that no column around has: the engine makes a join of it, and a bare `k` would be in two tables.
pub(super) fn rename(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else { return };
    let ([item], true) = (select.projection.as_mut_slice(), query.order_by.is_none()) else {
        return;
    };
    let alias = Ident::with_quote('"', MEMBER);
    match item {
        SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) => {
            *item = SelectItem::ExprWithAlias { expr: call::take(expr), alias };
        }
        SelectItem::ExprWithAlias { alias: name, .. } => *name = alias,
        _ => {}
    }
}

/// Puts a query in the place of the subquery in FROM of one that is written out.
pub(super) fn within(outer: &str, query: &mut Query) -> Result<(), DialectError> {
    let mut outer = parse_query(outer)?;
    if let SetExpr::Select(select) = &mut *outer.body
        && let Some(inner) = derived(select)
    {
        std::mem::swap(inner, query);
        std::mem::swap(query, &mut outer);
    }
    Ok(())
}

/// Adds a condition, if rows of the query are rows of its result: so it may refer to the query around, which a subquery
/// in FROM may not.
fn filter(query: &mut Query) -> bool {
    let is_cut = query.limit_clause.is_some() || query.fetch.is_some();
    let SetExpr::Select(select) = &mut *query.body else { return false };
    let is_grouped = select.having.is_some()
        || !matches!(&select.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
    let [SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }] =
        select.projection.as_slice()
    else {
        return false;
    };
    if is_cut || is_grouped || !is_of_one_row(value) {
        return false;
    }
    let value = Expr::Nested(Box::new(value.clone()));
    let known = Expr::IsNotNull(Box::new(value));
    select.selection = Some(match select.selection.take() {
        Some(condition) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(condition))),
            op: BinaryOperator::And,
            right: Box::new(known),
        },
        None => known,
    });
    true
}

/// True for expressions without functions: those could be aggregates.
fn is_of_one_row(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => true,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_of_one_row(inner),
        Expr::BinaryOp { left, right, .. } => is_of_one_row(left) && is_of_one_row(right),
        _ => false,
    }
}

/// What stands after NOT.
pub(super) fn negated(expr: &mut Expr) -> Result<(), DialectError> {
    match expr {
        Expr::Nested(inner) => negated(inner),
        Expr::InSubquery { subquery: query, negated: false, .. } => subquery(query),
        _ => Ok(()),
    }
}

/// The subquery in FROM.
fn derived(select: &mut Select) -> Option<&mut Query> {
    match &mut select.from.first_mut()?.relation {
        TableFactor::Derived { subquery, .. } => Some(subquery),
        _ => None,
    }
}

/// Tuples and whatever `*` stands for stay as they are.
fn has_one_column(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => matches!(
            select.projection.as_slice(),
            [SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }]
        ),
        SetExpr::Query(query) => has_one_column(&query.body),
        SetExpr::SetOperation { left, .. } => has_one_column(left),
        _ => false,
    }
}
