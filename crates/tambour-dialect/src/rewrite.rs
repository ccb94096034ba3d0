//! The walk over a statement: clauses of queries and conditions.

use super::bases::Windows;
use super::columns::{self, Catalog};
use super::settings::Switches;
use super::{
    alias, ambiguous, array_join, call, exists, granules, joins, lambda, lifted, limits, merged,
    naming, original, outermost, refused, retype, sample, scalar, settings, starred, unions,
    unstored, using, values, within,
};
use crate::DialectError;
use crate::marks::Strictness;
use crate::walk::walk_expressions;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, GroupByExpr, GroupByWithModifier, Ident, LimitClause,
    OrderByKind, Query, Select, SelectItem, TableFactor, UnaryOperator, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Rewrites a statement in place.
#[derive(Debug)]
pub(super) struct Rewriter<'a> {
    /// The columns of the tables that there are.
    catalog: &'a Catalog,
    /// Those of the queries in WITH that were met.
    queries: Catalog,
    /// What was ignored.
    pub(super) notes: Vec<String>,
    /// True if there was a PREWHERE.
    pub(super) has_prewhere: bool,
    /// True if keys are replaced by defaults, for the row of WITH TOTALS.
    totals: bool,
    /// True where names of results stay as they are: after the outermost query was met.
    pub(super) is_inside: bool,
    /// The windows that have names.
    windows: Windows,
}

fn flow(result: Result<(), DialectError>) -> ControlFlow<DialectError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = DialectError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DialectError> {
        flow(self.query(query))
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DialectError> {
        self.has_prewhere |= select.prewhere.is_some();
        let expanded = columns::expand(select, &self.scope()).and_then(|()| self.select(select));
        flow(expanded.and_then(|()| self.windows.gather(select)))
    }
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<DialectError> {
        for condition in [&mut select.selection, &mut select.having, &mut select.qualify] {
            if let Some(expr) = condition.take() {
                *condition = Some(condition_of(expr));
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DialectError> {
        let sampled = sample::translate(table, self.catalog);
        let merged = sampled.and_then(|()| merged::translate(table, &self.queries));
        let checked = merged.and_then(|()| check_table(table));
        flow(checked.and_then(|()| granules::rewrite(table)).and_then(|()| values::rewrite(table)))
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        retype::numbers_within(expr);
        if let Err(error) = self.windows.write_out(expr) {
            return ControlFlow::Break(error);
        }
        match expr {
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => subquery_as_condition(expr),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
                right,
            } => [left, right].into_iter().for_each(|side| subquery_as_condition(side)),
            _ => {}
        }
        if let Expr::Lambda(lambda) = expr {
            lambda::as_calls(lambda);
            lambda::set_apart(lambda);
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        columns::dotted(expr, self.catalog);
        retype::constant(expr);
        flow(call::rewrite(expr))
    }
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(catalog: &'a Catalog, totals: bool) -> Self {
        Self {
            catalog,
            queries: Catalog::new(),
            notes: Vec::new(),
            has_prewhere: false,
            totals,
            is_inside: false,
            windows: Windows::default(),
        }
    }

    fn scope(&self) -> ambiguous::Scope<'_> {
        ambiguous::Scope { catalog: self.catalog, queries: &self.queries }
    }

    fn query(&mut self, query: &mut Query) -> Result<(), DialectError> {
        scalar::inline(query)?;
        original::by_aliases(query);
        ambiguous::of_with(query, self.catalog, &mut self.queries);
        if !std::mem::replace(&mut self.is_inside, true) {
            starred::tell_apart(query, &self.scope());
        }
        unstored::translate(query, &self.scope())?;
        using::translate(query, &self.scope())?;
        ambiguous::prefer_left_in_order(query, self.catalog, &self.queries);
        let mut switches = Switches::default();
        self.notes.extend(applied(query, &mut switches)?);
        if switches.is_some() {
            return Err(refused("this setting in a subquery", "write it after the whole query"));
        }
        unions::count_rows(&mut query.body);
        unions::distribute(query);
        unions::keep_orders(&mut query.body);
        outermost::by_numbers(query);
        within::names_in_order(query)?;
        fetched(query)?;
        array_join::order_by(query, self.catalog);
        lifted::lift(query, self.catalog)?;
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
            return Err(refused(
                "ORDER BY ... WITH FILL in a subquery or a UNION",
                "it is for the outermost query",
            ));
        }
        Ok(())
    }

    fn select(&self, select: &mut Select) -> Result<(), DialectError> {
        let is_total = self.totals && outermost::is_total(select);
        if !is_total {
            groups(&mut select.group_by)?;
        }
        lifted::over_one_row(select)?;
        array_join::from(select, &self.scope())?;
        joins::check_semi(select)?;
        for join in select.from.iter_mut().flat_map(|table| &mut table.joins) {
            joins::translate(join)?;
        }
        joins::check_merged(select)?;
        let tables = naming::Tables::of(select, Some(&self.scope()));
        let names = naming::of_all(&select.projection, &tables);
        let parts = within::names(select)?;
        let aliases = alias::of_results(&select.projection, parts)?;
        naming::give(&mut select.projection, names);
        alias::apply(select, &aliases)?;
        without_windows(select);
        without_groups(select);
        without_empty_groups(select)?;
        exists::as_values(select)?;
        ambiguous::prefer_left(select, self.catalog, &self.queries);
        for (place, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                // A copy of a long chain takes a deep stack.
                let key =
                    outermost::has_key_of_place(&select.group_by, place).then(|| expr.clone());
                retype::number(expr);
                if let Some(written) = key.filter(|written| written != expr) {
                    outermost::key_of_place(&mut select.group_by, place, &written);
                }
            }
        }
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(retype::key);
        }
        if is_total {
            outermost::without_keys(select)?;
        }
        array_join::check(select)?;
        naming::distinguish(&mut select.projection);
        if let Some(prewhere) = select.prewhere.take() {
            merged::check(select)?;
            select.selection = Some(both(prewhere, select.selection.take()));
        }
        Ok(())
    }
}

/// One condition of two.
fn both(first: Expr, second: Option<Expr>) -> Expr {
    let Some(second) = second else { return first };
    Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(condition_of(first)))),
        op: BinaryOperator::And,
        right: Box::new(Expr::Nested(Box::new(condition_of(second)))),
    }
}

/// ROLLUP, CUBE and `GROUP BY ()` of no rows give none, where other engines give the row of all groups.
fn without_empty_groups(select: &mut Select) -> Result<(), DialectError> {
    let is_aggregated = select.projection.iter().any(is_aggregate)
        || select.having.as_ref().is_some_and(alias::has_aggregate);
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return Ok(()) };
    let has_nothing = |key: &Expr| match key {
        Expr::GroupingSets(sets) => sets.iter().any(Vec::is_empty),
        _ => false,
    };
    if !is_aggregated && keys.iter().any(has_nothing) {
        return Err(refused(
            "GROUPING SETS with () and without an aggregate",
            "ClickHouse gives no row for (): leave it out, or add count()",
        ));
    }
    let is_of_all = matches!(keys.as_slice(), [Expr::Tuple(none)] if none.is_empty());
    let sets = keys.iter().filter_map(|key| match key {
        Expr::Rollup(sets) | Expr::Cube(sets) => Some(sets),
        _ => None,
    });
    let keys_of_sets: Vec<&Expr> = sets.flatten().flatten().collect();
    if !is_of_all && keys_of_sets.is_empty() {
        return Ok(());
    }
    if keys_of_sets.into_iter().any(is_tuple) {
        return Err(refused(
            "a tuple as a key of ROLLUP or CUBE",
            "its elements are keys of their own there: write them apart",
        ));
    }
    if is_of_all {
        keys.clear();
    }
    let has_rows = Expr::BinaryOp {
        left: Box::new(Expr::Function(call::call("count", Vec::new()))),
        op: BinaryOperator::Gt,
        right: Box::new(Expr::value(Value::Number("0".to_owned(), false))),
    };
    select.having = Some(both(has_rows, select.having.take()));
    Ok(())
}

fn is_tuple(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_tuple(inner),
        Expr::Tuple(_) => true,
        Expr::Function(function) => matches!(call::name(function), Some("tuple" | "struct")),
        _ => false,
    }
}

fn is_aggregate(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            alias::has_aggregate(expr)
        }
        _ => false,
    }
}

/// QUALIFY without window functions is HAVING.
fn without_windows(select: &mut Select) {
    let is_window = |expr: &Expr| match expr {
        Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let has_window = walk_expressions(&select.projection, is_window).is_break()
        || walk_expressions(&select.qualify, is_window).is_break();
    if has_window {
        return;
    }
    if let Some(qualify) = select.qualify.take() {
        select.having = Some(match select.having.take() {
            Some(having) => both(having, Some(qualify)),
            None => qualify,
        });
    }
}

/// HAVING of a SELECT without groups is one more condition on its rows.
fn without_groups(select: &mut Select) {
    let has_keys = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, modifiers) => !keys.is_empty() || !modifiers.is_empty(),
    };
    if has_keys || select.projection.iter().any(is_aggregate) {
        return;
    }
    let Some(having) = select.having.take_if(|it| !alias::has_aggregate(it)) else { return };
    select.selection = Some(match select.selection.take() {
        Some(selection) => both(selection, Some(having)),
        None => having,
    });
}

/// Takes the SETTINGS out of a query: switches, and notes about those without an effect.
pub(super) fn applied(
    query: &mut Query,
    switches: &mut Switches,
) -> Result<Vec<String>, DialectError> {
    let given = query.settings.take().unwrap_or_default().into_iter();
    let notes = given.map(|setting| {
        settings::apply(&setting.key.to_string(), &setting.value.to_string(), switches)
    });
    Ok(notes.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// `GROUP BY a, b WITH ROLLUP` is `GROUP BY ROLLUP (a, b)`.
fn groups(group_by: &mut GroupByExpr) -> Result<(), DialectError> {
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
            "WITH TOTALS is for the outermost query and stands alone; \
             ROLLUP (...), CUBE (...) and GROUPING SETS (...) are anywhere",
        )),
    }
}

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
fn fetched(query: &mut Query) -> Result<(), DialectError> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    if fetch.percent {
        return Err(refused(fetch.to_string(), "write LIMIT n"));
    }
    let one = Expr::value(Value::Number("1".to_owned(), false));
    let count = fetch.quantity.unwrap_or(one);
    match &mut query.limit_clause {
        None => {
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(count),
                offset: None,
                limit_by: if fetch.with_ties { vec![limits::ties()] } else { Vec::new() },
            });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, limit_by, .. }) => {
            *limit = Some(count);
            if fetch.with_ties {
                limit_by.push(limits::ties());
            }
        }
        Some(_) => return Err(refused("LIMIT with FETCH", "write one of them")),
    }
    Ok(())
}

fn check_table(table: &TableFactor) -> Result<(), DialectError> {
    let is_final =
        |name: &Ident| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("FINAL");
    let (TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. }) = table else {
        return Ok(());
    };
    if alias.as_ref().is_some_and(|alias| is_final(&alias.name)) {
        return Err(refused("FINAL", "it stands after a table: only tables have parts to merge"));
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

/// The value of a subquery may be a number where a condition is wanted.
fn subquery_as_condition(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => subquery_as_condition(inner),
        Expr::Subquery(_) => *expr = condition_of(call::take(expr)),
        _ => {}
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
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => false,
        _ => true,
    }
}
