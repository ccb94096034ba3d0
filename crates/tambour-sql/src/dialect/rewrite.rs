//! The walk over a statement: clauses of queries and conditions.

use super::columns::{self, Catalog};
use super::{
    alias, array_join, call, joins, limits, naming, refused, retype, scalar, settings, unions,
    values,
};
use crate::SqlError;
use crate::functions::joined::Strictness;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, GroupByExpr, GroupByWithModifier, Ident, LimitClause,
    OrderByKind, Query, Select, TableFactor, UnaryOperator, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites a statement in place.
#[derive(Debug)]
pub(super) struct Rewriter<'a> {
    /// The columns of the tables that there are.
    pub(super) catalog: &'a Catalog,
    /// What was ignored.
    pub(super) notes: Vec<String>,
}

fn flow(result: Result<(), SqlError>) -> ControlFlow<SqlError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        flow(self.query(query))
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        flow(columns::expand(select, self.catalog).and_then(|()| Self::select(select)))
    }
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        for condition in [&mut select.selection, &mut select.having, &mut select.qualify] {
            if let Some(expr) = condition.take() {
                *condition = Some(condition_of(expr));
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<SqlError> {
        flow(check_table(table).and_then(|()| values::rewrite(table)))
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        columns::dotted(expr, self.catalog);
        retype::constant(expr);
        flow(call::rewrite(expr))
    }
}

impl Rewriter<'_> {
    fn query(&mut self, query: &mut Query) -> Result<(), SqlError> {
        scalar::inline(query)?;
        for setting in query.settings.take().unwrap_or_default() {
            let (key, value) = (setting.key.to_string(), setting.value.to_string());
            self.notes.push(settings::note(&key, &value)?);
        }
        unions::distribute(query);
        fetched(query)?;
        limits::translate(query)?;
        if query.format_clause.is_some() {
            return Err(refused("FORMAT in a subquery", "only the outermost query has a format"));
        }
        let Some(order_by) = &query.order_by else { return Ok(()) };
        let is_filled = match &order_by.kind {
            OrderByKind::Expressions(items) => items.iter().any(|item| item.with_fill.is_some()),
            OrderByKind::All(_) => false,
        };
        if is_filled || order_by.interpolate.is_some() {
            return Err(refused("ORDER BY ... WITH FILL", "rows are not made up here"));
        }
        Ok(())
    }

    fn select(select: &mut Select) -> Result<(), SqlError> {
        groups(&mut select.group_by)?;
        array_join::from(select)?;
        for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
            joins::translate(join)?;
        }
        let aliases = alias::of_results(&select.projection)?;
        naming::name(&mut select.projection);
        alias::apply(select, &aliases)?;
        array_join::check(select)?;
        naming::distinguish(&mut select.projection);
        if let Some(prewhere) = select.prewhere.take() {
            select.selection = Some(match select.selection.take() {
                Some(selection) => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(condition_of(prewhere)))),
                    op: BinaryOperator::And,
                    right: Box::new(Expr::Nested(Box::new(condition_of(selection)))),
                },
                None => prewhere,
            });
        }
        Ok(())
    }
}

/// `GROUP BY a, b WITH ROLLUP` is `GROUP BY ROLLUP (a, b)`.
fn groups(group_by: &mut GroupByExpr) -> Result<(), SqlError> {
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    let modifiers = std::mem::take(modifiers);
    let (kind, rest) = match modifiers.split_first() {
        None => return Ok(()),
        Some((kind, rest)) => (kind, rest),
    };
    let is_plain = rest.is_empty();
    match (kind, group_by) {
        (GroupByWithModifier::Rollup, GroupByExpr::Expressions(list, _)) if is_plain => {
            let sets = list.drain(..).map(|expr| vec![expr]).collect();
            list.push(Expr::Rollup(sets));
            Ok(())
        }
        (GroupByWithModifier::Cube, GroupByExpr::Expressions(list, _)) if is_plain => {
            let sets = list.drain(..).map(|expr| vec![expr]).collect();
            list.push(Expr::Cube(sets));
            Ok(())
        }
        _ => Err(refused(
            format!(
                "GROUP BY ... {}",
                modifiers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            ),
            "write GROUP BY ROLLUP (...), CUBE (...) or GROUPING SETS (...)",
        )),
    }
}

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
fn fetched(query: &mut Query) -> Result<(), SqlError> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    if fetch.with_ties || fetch.percent {
        return Err(refused(fetch.to_string(), "write LIMIT n"));
    }
    let one = Expr::value(Value::Number("1".to_owned(), false));
    let count = fetch.quantity.unwrap_or(one);
    match &mut query.limit_clause {
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(count),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(count),
        Some(_) => return Err(refused("LIMIT with FETCH", "write one of them")),
    }
    Ok(())
}

/// The parser takes FINAL for another name of the table.
fn check_table(table: &TableFactor) -> Result<(), SqlError> {
    let TableFactor::Table { alias, sample, .. } = table else { return Ok(()) };
    let is_final =
        |name: &Ident| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("FINAL");
    if alias.as_ref().is_some_and(|alias| is_final(&alias.name)) {
        return Err(refused(
            "FINAL",
            "rows are returned as they are in the parts; group them by the key instead",
        ));
    }
    if sample.is_some() {
        return Err(refused("SAMPLE", "filter by the sampling expression instead"));
    }
    Ok(())
}

/// An expression as a condition: numbers other than 0 are true.
pub(super) fn condition_of(expr: Expr) -> Expr {
    if is_condition(&expr) {
        return expr;
    }
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: DataType::Boolean,
        array: false,
        format: None,
    }
}

fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::BinaryOp { op, .. } => !matches!(
            op,
            BinaryOperator::Plus
                | BinaryOperator::Minus
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Modulo
        ),
        // The mark of a join is not a value: it must stay as it is.
        Expr::Function(function) => {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            name.is_some_and(|name| Strictness::of_mark(&name.value).is_some())
        }
        Expr::Value(_) | Expr::Cast { .. } | Expr::Case { .. } => false,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => false,
        _ => true,
    }
}
