//! Clauses after the last SELECT of a UNION: for ClickHouse they belong to that SELECT, for the engine to the whole. And EXCEPT
//! and INTERSECT without a word more keep equal rows for ClickHouse.

use datafusion::sql::sqlparser::ast::{
    Expr, LimitClause, Query, SetExpr, SetOperator, SetQuantifier, Value,
};

/// EXCEPT is EXCEPT ALL, INTERSECT is INTERSECT ALL.
pub(super) fn count_rows(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return };
    let is_bare = *set_quantifier == SetQuantifier::None;
    if is_bare && matches!(op, SetOperator::Except | SetOperator::Intersect) {
        *set_quantifier = SetQuantifier::All;
    }
    count_rows(left);
    count_rows(right);
}

/// Moves ORDER BY and LIMIT of a union into its last member.
pub(super) fn distribute(query: &mut Query) {
    if query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none() {
        return;
    }
    let SetExpr::SetOperation { right, .. } = &mut *query.body else { return };
    let last = std::mem::replace(&mut **right, SetExpr::Values(empty()));
    let inner = Query {
        with: None,
        body: Box::new(last),
        order_by: query.order_by.take(),
        limit_clause: query.limit_clause.take(),
        fetch: query.fetch.take(),
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    };
    **right = SetExpr::Query(Box::new(inner));
}

/// Members of a UNION ALL keep their order. The engine leaves out a sort that nothing above asks for, but not one with a LIMIT.
pub(super) fn keep_orders(body: &mut SetExpr) {
    let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } = body else {
        return;
    };
    if *set_quantifier != SetQuantifier::All {
        return;
    }
    for member in [left, right] {
        if let SetExpr::Query(query) = &mut **member
            && query.order_by.is_some()
            && query.limit_clause.is_none()
            && query.fetch.is_none()
        {
            let all = Expr::value(Value::Number(i64::MAX.to_string(), false));
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(all),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        keep_orders(member);
    }
}

/// Stands where a member was taken from.
fn empty() -> datafusion::sql::sqlparser::ast::Values {
    datafusion::sql::sqlparser::ast::Values {
        explicit_row: false,
        value_keyword: false,
        rows: Vec::new(),
    }
}
