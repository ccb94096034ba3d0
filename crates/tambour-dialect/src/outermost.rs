//! Clauses that are about the result of a statement as a whole, and are for the outermost query only: `WITH TOTALS`, whose
//! row comes after the others, and `ORDER BY … WITH FILL`, which makes rows up when all others are sorted.

use super::{aggregate, array_join, call, refused};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, GroupByExpr, GroupByWithModifier, Ident, Interpolate, LimitClause,
    OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, Value,
    VisitorMut,
};
use std::ops::ControlFlow;

/// `ORDER BY a, b WITH FILL …`, with the LIMIT that comes after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The columns of the order up to the one that is filled, which is the last: names of results, or their numbers.
    pub columns: Vec<Place>,
    /// From the greatest to the least.
    pub is_descending: bool,
    /// The first value that is made up.
    pub from: Option<Expr>,
    /// Where values end that are made up.
    pub to: Option<Expr>,
    /// From one value to the next.
    pub step: Option<Expr>,
    /// The columns that keep the value of the row before; all if there are none.
    pub interpolated: Option<Vec<String>>,
    /// Rows that are left out.
    pub offset: u64,
    /// Rows at most.
    pub limit: Option<u64>,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its name.
    Name(String),
    /// By its number, from 0.
    Number(usize),
}

impl Place {
    fn of(expr: &Expr) -> Self {
        match expr {
            Expr::Identifier(name) => Self::Name(name.value.clone()),
            Expr::CompoundIdentifier(parts) => {
                Self::Name(parts.last().map(|part| part.value.clone()).unwrap_or_default())
            }
            Expr::Nested(inner) => Self::of(inner),
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) if let Some(number) = ordinal(text) => Self::Number(number),
                _ => Self::Name(expr.to_string()),
            },
            other => Self::Name(other.to_string()),
        }
    }
}

fn ordinal(text: &str) -> Option<usize> {
    text.parse::<usize>().ok()?.checked_sub(1)
}

/// Takes WITH FILL and what comes after it out of a query.
pub(super) fn fill(query: &mut Query) -> Result<Option<Fill>, DialectError> {
    let Some(OrderBy { kind: OrderByKind::Expressions(items), interpolate }) = &mut query.order_by
    else {
        return Ok(None);
    };
    let Some(at) = items.iter().position(|item| item.with_fill.is_some()) else {
        return Ok(None);
    };
    let clause = "ORDER BY ... WITH FILL";
    if items.iter().skip(at + 1).any(|item| item.with_fill.is_some()) {
        return Err(refused(format!("{clause} of several columns"), "fill one of them"));
    }
    if !matches!(*query.body, SetExpr::Select(_)) {
        return Err(refused(format!("{clause} of this"), "write it after a SELECT"));
    }
    let columns = items.iter().take(at + 1).map(|item| Place::of(&item.expr)).collect();
    let item = &mut items[at];
    let is_descending = item.options.asc == Some(false);
    let Some(with_fill) = item.with_fill.take() else { return Ok(None) };
    let interpolated = interpolate.take().map(interpolated).transpose()?;
    let (mut offset, mut limit) = (0, None);
    match query.limit_clause.take() {
        None => {}
        Some(LimitClause::LimitOffset { limit: rows, offset: skipped, limit_by })
            if limit_by.is_empty() =>
        {
            limit = rows.as_ref().map(count).transpose()?;
            offset = skipped.as_ref().map(|it| count(&it.value)).transpose()?.unwrap_or(0);
        }
        Some(LimitClause::OffsetCommaLimit { offset: skipped, limit: rows }) => {
            (limit, offset) = (Some(count(&rows)?), count(&skipped)?);
        }
        Some(_) => return Err(refused(format!("{clause} with LIMIT ... BY"), "write one of them")),
    }
    let (from, to, step) = (with_fill.from, with_fill.to, with_fill.step);
    Ok(Some(Fill { columns, is_descending, from, to, step, interpolated, offset, limit }))
}

/// `ORDER BY ALL` by the numbers of the results: columns of two tables may have the same name. So is `ORDER BY a + 1` after
/// `SELECT DISTINCT a + 1`, where the engine knows results by their names only.
pub(super) fn by_numbers(query: &mut Query) {
    let SetExpr::Select(select) = &*query.body else { return };
    let is_one = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Function(call)) => {
            call::name(call) != Some(super::columns::COLUMNS)
        }
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => true,
        _ => false,
    };
    let count = select.projection.len();
    if !select.projection.iter().all(is_one) {
        return;
    }
    let by = |number: usize| Expr::value(Value::Number(number.to_string(), false));
    match query.order_by.as_mut().map(|it| &mut it.kind) {
        Some(kind @ OrderByKind::All(_)) => {
            let OrderByKind::All(options) = *kind else { return };
            let number = |number: usize| OrderByExpr { expr: by(number), options, with_fill: None };
            *kind = OrderByKind::Expressions((1..=count).map(number).collect());
        }
        Some(OrderByKind::Expressions(keys)) if select.distinct.is_some() => {
            for key in keys {
                let place = select.projection.iter().position(|item| match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        *expr == key.expr && !is_plain(expr)
                    }
                    _ => false,
                });
                if let Some(place) = place {
                    key.expr = by(place + 1);
                }
            }
        }
        _ => {}
    }
}

/// True for columns and constants.
fn is_plain(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
}

fn interpolated(clause: Interpolate) -> Result<Vec<String>, DialectError> {
    let mut names = Vec::new();
    for item in clause.exprs.unwrap_or_default() {
        let is_own = match &item.expr {
            None => true,
            Some(Expr::Identifier(name)) => name.value == item.column.value,
            Some(_) => false,
        };
        if !is_own {
            return Err(refused(
                format!("INTERPOLATE ({item})"),
                "a column keeps the value of the row before: INTERPOLATE (column)",
            ));
        }
        names.push(item.column.value);
    }
    Ok(names)
}

fn count(expr: &Expr) -> Result<u64, DialectError> {
    let text = expr.to_string();
    text.parse().map_err(|_| {
        refused(format!("LIMIT {text} after WITH FILL"), "it takes a number from 0 on")
    })
}

/// Takes WITH TOTALS out of a query: what is left gives the rows, the copy the totals.
pub(super) fn totals(query: &mut Query) -> Result<Option<Query>, DialectError> {
    let SetExpr::Select(select) = &mut *query.body else { return Ok(None) };
    if *modifiers(&mut select.group_by) != [GroupByWithModifier::Totals] {
        return Ok(None);
    }
    if select.distinct.is_some() || select.qualify.is_some() {
        return Err(refused(
            "GROUP BY ... WITH TOTALS with DISTINCT or QUALIFY",
            "put the groups in a subquery",
        ));
    }
    let mut totals = query.clone();
    totals.order_by = None;
    totals.limit_clause = None;
    totals.fetch = None;
    totals.settings = None;
    totals.format_clause = None;
    if let SetExpr::Select(select) = &mut *totals.body {
        of_groups_left(select)?;
    }
    if let SetExpr::Select(select) = &mut *query.body {
        modifiers(&mut select.group_by).clear();
    }
    Ok(Some(totals))
}

/// The totals are those of the groups that HAVING leaves: the rows whose keys a subquery of these groups has.
fn of_groups_left(select: &mut Select) -> Result<(), DialectError> {
    if select.having.is_none() {
        return Ok(());
    }
    let mut groups = select.clone();
    modifiers(&mut groups.group_by).clear();
    select.having = None;
    let GroupByExpr::Expressions(keys, _) = &select.group_by else {
        return Err(refused("GROUP BY ALL WITH TOTALS", "name the keys"));
    };
    let keys: Vec<Expr> = keys.iter().filter_map(|key| of_key(key, &select.projection)).collect();
    let mut names = Vec::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        let alias = Ident::with_quote('"', format!("\u{1f}key {place}"));
        names.push(Expr::Identifier(alias.clone()));
        groups.projection.push(SelectItem::ExprWithAlias { expr: key.clone(), alias });
    }
    let mut subquery = array_join::parsed("SELECT 1 FROM (SELECT 1)")?;
    if let SetExpr::Select(outer) = &mut *subquery.body {
        outer.projection = names.iter().flat_map(told_apart).map(SelectItem::UnnamedExpr).collect();
        if let Some(TableFactor::Derived { subquery, .. }) =
            outer.from.first_mut().map(|table| &mut table.relation)
        {
            *subquery.body = SetExpr::Select(Box::new(groups));
        }
    }
    let tuple = Box::new(Expr::Tuple(keys.iter().flat_map(told_apart).collect()));
    let is_left = Expr::InSubquery { expr: tuple, subquery, negated: false };
    select.selection = Some(match select.selection.take() {
        Some(selection) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(Box::new(selection))),
            op: BinaryOperator::And,
            right: Box::new(is_left),
        },
        None => is_left,
    });
    Ok(())
}

/// A key as two values that are equal where the groups are one: those of two NULLs, and of two NaNs, but not those of the two
/// zeros.
fn told_apart(key: &Expr) -> [Expr; 2] {
    let of = |name: &str, value: Expr| Expr::Function(call::call(name, vec![value]));
    let key = || Expr::Nested(Box::new(key.clone()));
    [of("isNull", key()), of("toString", of("assumeNotNull", key()))]
}

/// What a key of GROUP BY stands for: an expression, or the place of a result.
fn of_key(key: &Expr, projection: &[SelectItem]) -> Option<Expr> {
    match Place::of(key) {
        Place::Number(number) => match projection.get(number) {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
                Some(bare(expr).clone())
            }
            _ => None,
        },
        Place::Name(_) => Some(bare(key).clone()),
    }
}

/// True if the result at a place is a key by its number.
pub(super) fn has_key_of_place(group_by: &GroupByExpr, place: usize) -> bool {
    let GroupByExpr::Expressions(keys, _) = group_by else { return false };
    keys.iter().any(|key| Place::of(key) == Place::Number(place))
}

/// Writes the result at a place out where it is a key by its number.
pub(super) fn key_of_place(group_by: &mut GroupByExpr, place: usize, result: &Expr) {
    let GroupByExpr::Expressions(keys, _) = group_by else { return };
    for key in keys.iter_mut().filter(|key| Place::of(key) == Place::Number(place)) {
        *key = result.clone();
    }
}

fn modifiers(group_by: &mut GroupByExpr) -> &mut Vec<GroupByWithModifier> {
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = group_by;
    modifiers
}

/// True for a SELECT that is to give the row of WITH TOTALS.
pub(super) fn is_total(select: &mut Select) -> bool {
    *modifiers(&mut select.group_by) == [GroupByWithModifier::Totals]
}

/// Makes one group of all rows, with defaults in the place of the keys.
pub(super) fn without_keys(select: &mut Select) -> Result<(), DialectError> {
    modifiers(&mut select.group_by).clear();
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else {
        return Err(refused("GROUP BY ALL WITH TOTALS", "name the keys"));
    };
    let keys = std::mem::take(keys);
    let keys = keys.iter().filter_map(|key| of_key(key, &select.projection)).collect();
    let mut work = Emptying { keys, inside: 0 };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
            && let ControlFlow::Break(error) = walk_mut(expr, &mut work)
        {
            return Err(error);
        }
    }
    Ok(())
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

struct Emptying {
    keys: Vec<Expr>,
    /// Aggregates and replaced keys around.
    inside: usize,
}

/// The default of the type of its argument.
const DEFAULT: &str = "defaultValueOfArgumentType";

impl VisitorMut for Emptying {
    type Break = DialectError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        if self.inside == 0 && self.keys.iter().any(|key| key == bare(expr)) {
            let default = Expr::Function(call::call(DEFAULT, vec![call::take(expr)]));
            *expr = Expr::Function(call::call("anyOrDefault", vec![default]));
        }
        if let Expr::Function(function) = expr
            && aggregate::is_one(function)
        {
            self.inside += 1;
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        if let Expr::Function(function) = expr
            && aggregate::is_one(function)
        {
            self.inside -= 1;
        }
        ControlFlow::Continue(())
    }
}
