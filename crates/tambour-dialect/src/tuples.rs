//! `(a, b) IN ((1, 2), (3, 4))` and `(a, b) IN (SELECT …)`: tuples are compared element by element, for they may have types
//! that a whole cannot be converted to. A tuple with a NULL is in no set, as in ClickHouse.

use super::grammar::Grammar;
use super::{call, refused};
use crate::DialectError;
use crate::marks::SET;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, Ident, Query, SelectItem, SetExpr, TableFactor,
    UnaryOperator, Value, visit_expressions,
};
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// The elements of a tuple that is written out.
fn elements(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(elements) => Some(elements.clone()),
        Expr::Nested(inner) => elements(inner),
        Expr::Function(function) if matches!(call::name(function)?, "tuple" | "struct") => {
            call::arguments(&mut function.clone())
        }
        _ => None,
    }
}

/// True for a tuple that is written out.
pub(super) fn is_one(expr: &Expr) -> bool {
    elements(expr).is_some()
}

/// A subquery of several columns in the place of a value: one of a tuple of them. `None` if it has one, or they are not written out.
pub(super) fn of_columns(query: &Query) -> Result<Option<Query>, DialectError> {
    let SetExpr::Select(select) = &*query.body else { return Ok(None) };
    let is_plain = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    if select.projection.len() < 2 || !select.projection.iter().all(is_plain) {
        return Ok(None);
    }
    let names = (1..=select.projection.len()).map(|place| format!("\"{place}\""));
    let names = names.collect::<Vec<_>>().join(", ");
    let text = format!("SELECT struct({names}) FROM (SELECT 1) AS \"row\" ({names})");
    let mut tuple = Parser::new(&Grammar)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_query())
        .map_err(DataFusionError::from)?;
    if let SetExpr::Select(select) = &mut *tuple.body
        && let Some(table) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut table.relation
    {
        **subquery = query.clone();
    }
    Ok(Some(*tuple))
}

/// The condition that stands for IN with tuples; `None` for other sets.
pub(super) fn in_list(expr: &Expr) -> Result<Option<Expr>, DialectError> {
    let Expr::InList { expr: operand, list, negated } = expr else { return Ok(None) };
    let Some(operands) = elements(operand) else { return Ok(None) };
    let mut members = Vec::with_capacity(list.len());
    // A single tuple may stand without parentheses of its own: `(a, b) IN (1, 2)`.
    let is_flat = list.len() == operands.len() && list.iter().all(|item| elements(item).is_none());
    let rows: Vec<Option<Vec<Expr>>> =
        if is_flat { vec![Some(list.clone())] } else { list.iter().map(elements).collect() };
    let has_columns = list.iter().any(|it| !is_constant(it));
    for row in rows {
        let Some(row) = row.filter(|row| row.len() == operands.len()) else {
            return Err(refused(
                format!("{expr}"),
                format!("its set must hold tuples of {} elements", operands.len()),
            ));
        };
        if has_columns && row.iter().any(is_number_in_quotes) {
            return Err(refused(
                format!("{expr}"),
                "numbers in quotes beside columns may be those of an Enum: write names, or = and OR",
            ));
        }
        let equal = operands.iter().cloned().zip(row).map(|(left, right)| {
            let left = Box::new(in_parentheses(left));
            if !is_constant(&right) {
                return Expr::InList { expr: left, list: vec![right], negated: false };
            }
            let right = Box::new(in_parentheses(right));
            Expr::BinaryOp { left, op: BinaryOperator::Eq, right }
        });
        members.extend(balanced(equal.collect(), &BinaryOperator::And));
    }
    let Some(any) = balanced(members, &BinaryOperator::Or) else { return Ok(None) };
    Ok(Some(known(any, *negated)))
}

/// True for an expression without columns.
fn is_constant(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |it| match it {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}

fn is_number_in_quotes(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.parse::<i64>().is_ok(),
            _ => false,
        },
        _ => false,
    }
}

/// Never NULL: a comparison with NULL is false.
fn known(condition: Expr, negated: bool) -> Expr {
    let no = Expr::value(Value::Boolean(false));
    let known = Expr::Function(call::call("coalesce", vec![condition, no]));
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(known) } } else { known }
}

fn in_parentheses(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) | Expr::Function(_) => {
            expr
        }
        other => Expr::Nested(Box::new(other)),
    }
}

/// A tree of operators that is as flat as it can be.
fn balanced(mut operands: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::Nested(Box::new(Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                })),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop()
}

/// Names of a set's columns; nobody types them.
fn column(number: usize) -> Ident {
    Ident::with_quote('"', format!("\u{1f}{number}"))
}

/// `EXISTS` in the place of IN with a query of several columns.
pub(super) fn in_subquery(expr: &mut Expr) -> Result<Option<Expr>, DialectError> {
    let Expr::InSubquery { expr: operand, subquery, negated } = expr else { return Ok(None) };
    let Some(operands) = elements(operand) else { return Ok(None) };
    let names: Vec<String> =
        (1..=operands.len()).map(|number| column(number).to_string()).collect();
    let text = format!("SELECT 1 FROM (SELECT 1) AS \"{SET}\" ({})", names.join(", "));
    let mut query = Parser::new(&Grammar)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_query())
        .map_err(DataFusionError::from)?;
    let SetExpr::Select(select) = &mut *query.body else { return Ok(None) };
    if let Some(from) = select.from.first_mut()
        && let TableFactor::Derived { subquery: inner, .. } = &mut from.relation
    {
        std::mem::swap::<Query>(inner, subquery);
        spread(inner, operands.len());
    }
    let equal = (1..=operands.len()).zip(operands).map(|(number, operand)| Expr::BinaryOp {
        left: Box::new(Expr::Identifier(column(number))),
        op: BinaryOperator::Eq,
        right: Box::new(in_parentheses(operand)),
    });
    select.selection = balanced(equal.collect(), &BinaryOperator::And);
    Ok(Some(Expr::Exists { subquery: query, negated: *negated }))
}

/// A subquery whose one column is a tuple that is written out, with a column for each of its elements.
fn spread(query: &mut Query, count: usize) {
    let is_used = query.order_by.is_some();
    let SetExpr::Select(select) = &mut *query.body else { return };
    // By its name in an order or in groups.
    if is_used || select.group_by != GroupByExpr::Expressions(Vec::new(), Vec::new()) {
        return;
    }
    let [SelectItem::UnnamedExpr(only) | SelectItem::ExprWithAlias { expr: only, .. }] =
        select.projection.as_slice()
    else {
        return;
    };
    if let Some(columns) = elements(only).filter(|it| it.len() == count) {
        select.projection = columns.into_iter().map(SelectItem::UnnamedExpr).collect();
    }
}
