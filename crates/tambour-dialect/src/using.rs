//! `JOIN … USING (k)` as ClickHouse has it: a bare `k` is the left side's, after RIGHT JOIN the right side's, after FULL JOIN
//! that of whichever side has the row; `a.k` and `b.k` are each side's own; and `*` begins with the keys. Columns that several
//! tables have are called with their tables in the result. It takes that all columns are known before planning; where they
//! are not, the engine's USING stays, which merges keys in its own way.

use super::ambiguous::{self, Names, Scope};
use super::marks::{JOINED, Strictness};
use super::{call, columns, naming, refused};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, ExceptSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias,
    TableFactor, TableWithJoins, WildcardAdditionalOptions,
};
use std::collections::{BTreeMap, BTreeSet};

/// Writes USING as ON, and the columns of `*` out, in the SELECTs of a query.
pub(super) fn translate(query: &mut Query, scope: &Scope<'_>) -> Result<(), DialectError> {
    let order = match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.iter_mut().map(|key| &mut key.expr).collect(),
        _ => Vec::new(),
    };
    of_body(&mut query.body, order, scope)
}

fn of_body(
    body: &mut SetExpr,
    order: Vec<&mut Expr>,
    scope: &Scope<'_>,
) -> Result<(), DialectError> {
    match body {
        SetExpr::Select(select) => of_select(select, order, scope),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, Vec::new(), scope)?;
            of_body(right, Vec::new(), scope)
        }
        _ => Ok(()),
    }
}

/// True if a SELECT reads from several tables.
pub(super) fn is_join(select: &Select) -> bool {
    select.from.len() > 1 || select.from.iter().any(|table| !table.joins.is_empty())
}

/// The names of the results of a join; `None` where they are not known, and for what is not a join.
pub(super) fn names(select: &Select, scope: &Scope<'_>) -> Option<Vec<String>> {
    if !is_join(select) {
        return None;
    }
    let mut from = select.from.clone();
    let (joined, _) = translated(&mut from, &select.projection, scope)?;
    let tables = naming::Tables::of(select, Some(scope));
    let written = naming::of_all(&select.projection, &tables);
    let items = select.projection.iter().zip(written).flat_map(|(item, written)| {
        results(item.clone(), &joined).into_iter().map(move |item| (item, written.clone()))
    });
    let name = |(item, written): (SelectItem, Option<String>)| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value),
        SelectItem::UnnamedExpr(Expr::Function(call)) if columns::is_pattern(&call) => None,
        SelectItem::UnnamedExpr(_) if written.is_some() => written,
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().map(|part| part.value.clone())
        }
        _ => None,
    };
    items.map(name).collect()
}

/// The columns of a join in FROM, and the conditions that stand for USING; `None` where they are not known.
fn translated(
    from: &mut Vec<TableWithJoins>,
    projection: &[SelectItem],
    scope: &Scope<'_>,
) -> Option<(Joined, Vec<Option<Expr>>)> {
    in_turn(from);
    let mut named = from.clone();
    give_names(&mut named);
    let [table] = named.as_slice() else { return None };
    let is_named = projection.iter().all(is_expandable);
    if table.joins.is_empty() || !is_named || table.joins.iter().any(|join| join.global) {
        return None;
    }
    let joined = joined(table, scope)?;
    // Where columns are not known, the engine joins as it does: it takes the keys of a side by its name.
    *from = named;
    Some(joined)
}

/// `*` of a join that is not known is the engine's, which does not know hidden columns.
fn check_all(select: &Select, scope: &Scope<'_>) -> Result<(), DialectError> {
    if !is_join(select) || !select.projection.iter().any(|it| matches!(it, SelectItem::Wildcard(_)))
    {
        return Ok(());
    }
    let joins = select.from.iter().flat_map(|it| it.joins.iter().map(|join| &join.relation));
    let mut all = select.from.iter().map(|it| &it.relation).chain(joins);
    let joins = || select.from.iter().flat_map(|it| &it.joins);
    let is_natural = |join: &Join| {
        let mut operator = join.join_operator.clone();
        matches!(constraint(&mut operator), Some((JoinConstraint::Natural, _)))
    };
    if joins().any(is_natural) {
        return Err(refused("* of this NATURAL JOIN", "write USING and the columns"));
    }
    if all.any(|factor| !scope.hidden(factor).is_empty()) {
        return Err(refused("* of this join beside MATERIALIZED columns", "name the columns"));
    }
    Ok(())
}

/// A table of a join.
struct Side {
    name: Ident,
    columns: Vec<String>,
    /// Those that `*` leaves out.
    hidden: Vec<String>,
}

impl Side {
    fn has(&self, column: &String) -> bool {
        self.columns.contains(column) || self.hidden.contains(column)
    }
}

/// A column that `*` stands for.
#[derive(Clone)]
struct Column {
    name: String,
    value: Expr,
    /// How the result is called.
    shown: String,
}

/// A key of USING.
struct Key<'a> {
    name: &'a String,
    left: Expr,
    right: Expr,
    /// What its bare name stands for.
    value: Expr,
}

/// The columns of a join so far.
#[derive(Default)]
struct Joined {
    sides: Vec<Side>,
    /// What bare names of keys stand for.
    keys: BTreeMap<String, Expr>,
    /// Tables and their keys for which the bare names do not stand, after RIGHT JOIN.
    hidden: BTreeSet<(String, String)>,
    all: Vec<Column>,
}

pub(super) fn qualified(table: &Ident, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![table.clone(), Ident::with_quote('"', column)])
}

/// The constraint of a join, and which side's keys are there in all rows: left, right, or neither for sure.
fn constraint(operator: &mut JoinOperator) -> Option<(&mut JoinConstraint, Kept)> {
    match operator {
        JoinOperator::Join(on)
        | JoinOperator::Inner(on)
        | JoinOperator::Left(on)
        | JoinOperator::LeftOuter(on)
        | JoinOperator::CrossJoin(on) => Some((on, Kept::Left)),
        JoinOperator::Right(on) | JoinOperator::RightOuter(on) => Some((on, Kept::Right)),
        JoinOperator::FullOuter(on) => Some((on, Kept::Either)),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Kept {
    Left,
    Right,
    Either,
}

fn of_select(
    select: &mut Select,
    order: Vec<&mut Expr>,
    scope: &Scope<'_>,
) -> Result<(), DialectError> {
    let Some((joined, conditions)) = translated(&mut select.from, &select.projection, scope) else {
        return check_all(select, scope);
    };
    let joins = select.from.iter_mut().flat_map(|table| &mut table.joins);
    for (join, condition) in joins.zip(conditions) {
        if let (Some((on, _)), Some(condition)) = (constraint(&mut join.join_operator), condition) {
            *on = JoinConstraint::On(condition);
        }
    }
    let aliases: BTreeSet<String> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        })
        .collect();
    let tables = naming::Tables::of(select, Some(scope));
    let mut names = naming::of_all(&select.projection, &tables).into_iter();
    let mut keys = Names::new(joined.keys.clone());
    for item in std::mem::take(&mut select.projection) {
        let written = names.next().flatten();
        for mut result in results(item, &joined) {
            let before = result.clone();
            let _ = walk_mut(&mut result, &mut keys);
            let name = written.clone().filter(|_| result != before);
            naming::give(std::slice::from_mut(&mut result), vec![name]);
            select.projection.push(result);
        }
    }
    // Elsewhere the names of results come first.
    let elsewhere = joined.keys.into_iter().filter(|(name, _)| !aliases.contains(name));
    let mut keys = Names::new(elsewhere.collect());
    for condition in
        [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify]
    {
        let _ = walk_mut(condition, &mut keys);
    }
    let _ = walk_mut(&mut select.group_by, &mut keys);
    let _ = walk_mut(&mut select.distinct, &mut keys);
    for key in order {
        let _ = walk_mut(key, &mut keys);
    }
    Ok(())
}

/// `a, b JOIN c` joins from the left to the right: `a CROSS JOIN b JOIN c`.
fn in_turn(from: &mut Vec<TableWithJoins>) {
    let is_plain = |table: &TableWithJoins| {
        let is_table = matches!(
            table.relation,
            TableFactor::Table { .. } | TableFactor::Derived { lateral: false, .. }
        );
        is_table
            && table.joins.iter().all(|join| constraint(&mut join.join_operator.clone()).is_some())
    };
    if from.len() < 2 || !from.iter().all(is_plain) {
        return;
    }
    let mut rest = from.split_off(1).into_iter();
    if let Some(first) = from.first_mut() {
        for table in &mut rest {
            first.joins.push(Join {
                relation: table.relation,
                global: false,
                join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
            });
            first.joins.extend(table.joins);
        }
    }
}

/// Subqueries of a join that have no name. Their columns are shown without a table.
const UNNAMED: &str = "__subquery";

fn give_names(from: &mut [TableWithJoins]) {
    let [table] = from else { return };
    if table.joins.is_empty() {
        return;
    }
    let joined = table.joins.iter_mut().map(|join| &mut join.relation);
    for (place, factor) in std::iter::once(&mut table.relation).chain(joined).enumerate() {
        if let TableFactor::Derived { alias: alias @ None, lateral: false, .. } = factor {
            let name = Ident::with_quote('"', format!("{UNNAMED}{place}"));
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
    }
}

fn is_expandable(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) => is_simple(options),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), options) => {
            is_simple(options)
        }
        SelectItem::QualifiedWildcard(..) => false,
        _ => true,
    }
}

/// True if nothing but EXCEPT follows the asterisk.
fn is_simple(options: &WildcardAdditionalOptions) -> bool {
    let rest = WildcardAdditionalOptions { opt_except: None, ..options.clone() };
    let plain = WildcardAdditionalOptions {
        wildcard_token: options.wildcard_token.clone(),
        ..WildcardAdditionalOptions::default()
    };
    rest == plain
}

/// The columns of a chain of joins, and the conditions that stand for USING; `None` where something is not known.
fn joined(table: &TableWithJoins, scope: &Scope<'_>) -> Option<(Joined, Vec<Option<Expr>>)> {
    let mut result = Joined::default();
    let factors = std::iter::once(&table.relation).chain(table.joins.iter().map(|it| &it.relation));
    let sides = factors.map(|factor| {
        Some(Side {
            name: ambiguous::name(factor)?,
            columns: scope.of_relation(factor)?,
            hidden: scope.hidden(factor),
        })
    });
    let sides: Vec<Side> = sides.collect::<Option<_>>()?;
    let names: BTreeSet<&str> = sides.iter().map(|side| side.name.value.as_str()).collect();
    // The second of two columns with one name cannot be written.
    let is_doubled =
        |side: &Side| side.columns.iter().collect::<BTreeSet<_>>().len() < side.columns.len();
    if names.len() < sides.len() || sides.iter().any(is_doubled) {
        return None;
    }
    let own = |place: usize| own(&sides, place);
    result.all = own(0);
    let mut conditions = Vec::with_capacity(table.joins.len());
    for (place, join) in table.joins.iter().enumerate() {
        let mut operator = join.join_operator.clone();
        let (on, kept) = constraint(&mut operator)?;
        let mut columns = own(place + 1);
        let mut condition = None;
        let names = match on {
            JoinConstraint::Using(names) => {
                let name = |it: &ObjectName| Some(it.0.last()?.as_ident()?.value.clone());
                names.iter().map(name).collect::<Option<Vec<String>>>()?
            }
            JoinConstraint::Natural => {
                let is_common = |it: &&Column| columns.iter().any(|other| other.name == it.name);
                result.all.iter().filter(is_common).map(|it| it.name.clone()).collect()
            }
            _ => Vec::new(),
        };
        if !names.is_empty() {
            let mut names = names;
            let mark = names.first().and_then(|first| Strictness::of_mark(first));
            if mark.is_some() {
                names.remove(0);
            }
            let keys = keys(&names, &result, &sides, place + 1, kept)?;
            condition = Some(equal(&keys, mark)?);
            let is_key = |column: &Column| names.contains(&column.name);
            let rest = result.all.drain(..).filter(|it| !is_key(it)).collect::<Vec<_>>();
            columns.retain(|it| !is_key(it));
            for Key { name, left, value, .. } in keys {
                if let (Kept::Right, Expr::CompoundIdentifier(parts)) = (kept, left)
                    && let Some(table) = parts.first()
                {
                    result.hidden.insert((table.value.clone(), name.clone()));
                }
                let key = Column { name: name.clone(), value: value.clone(), shown: name.clone() };
                result.all.push(key);
                result.keys.insert(name.clone(), value);
            }
            result.all.extend(rest);
        }
        result.all.extend(columns);
        conditions.push(condition);
    }
    result.sides = sides;
    Some((result, conditions))
}

/// The keys of USING between the tables before `place` and the one there.
fn keys<'a>(
    names: &'a [String],
    before: &Joined,
    sides: &[Side],
    place: usize,
    kept: Kept,
) -> Option<Vec<Key<'a>>> {
    let side = sides.get(place)?;
    let key = |name: &'a String| {
        let left = if let Some(key) = before.keys.get(name) {
            key.clone()
        } else {
            let mut found = sides.iter().take(place).filter(|side| side.columns.contains(name));
            qualified(&found.next()?.name, name)
        };
        if !side.columns.contains(name) {
            return None;
        }
        let right = qualified(&side.name, name);
        let value = match kept {
            Kept::Left => left.clone(),
            Kept::Right => right.clone(),
            Kept::Either => {
                Expr::Function(call::call("coalesce", vec![present(&left), right.clone()]))
            }
        };
        Some(Key { name, left, right, value })
    };
    names.iter().map(key).collect()
}

/// A key that is NULL where its side has no row.
fn present(key: &Expr) -> Expr {
    match key {
        Expr::CompoundIdentifier(_) => Expr::Function(call::call(JOINED, vec![key.clone()])),
        Expr::Function(of_both) if call::name(of_both) != Some(JOINED) => {
            let mut of_both = of_both.clone();
            let keys = call::arguments(&mut of_both).unwrap_or_default();
            call::set_arguments(&mut of_both, keys.iter().map(present).collect());
            Expr::Function(of_both)
        }
        other => other.clone(),
    }
}

/// The condition that USING stands for; that of ASOF ends with the nearest value not after.
fn equal(keys: &[Key<'_>], mark: Option<Strictness>) -> Option<Expr> {
    let last = keys.len().checked_sub(1)?;
    let compared = keys.iter().enumerate().map(|(place, key)| Expr::BinaryOp {
        left: Box::new(key.left.clone()),
        op: match mark {
            Some(Strictness::Asof) if place == last => BinaryOperator::GtEq,
            _ => BinaryOperator::Eq,
        },
        right: Box::new(key.right.clone()),
    });
    let mark = mark.map(|it| Expr::Function(call::call(it.mark(), Vec::new())));
    mark.into_iter().chain(compared).reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    })
}

/// What an item of the list of results stands for, each under the name that it has in ClickHouse.
fn results(item: SelectItem, joined: &Joined) -> Vec<SelectItem> {
    let named = |column: &Column| SelectItem::ExprWithAlias {
        expr: column.value.clone(),
        alias: Ident::with_quote('"', column.shown.clone()),
    };
    let left_out = |options: &WildcardAdditionalOptions, column: &Column| {
        let Some(ExceptSelectItem { first_element, additional_elements }) = &options.opt_except
        else {
            return false;
        };
        std::iter::once(first_element).chain(additional_elements).any(|it| it.value == column.name)
    };
    match item {
        SelectItem::Wildcard(options) => {
            joined.all.iter().filter(|it| !left_out(&options, it)).map(named).collect()
        }
        SelectItem::QualifiedWildcard(
            SelectItemQualifiedWildcardKind::ObjectName(name),
            options,
        ) => {
            let table = name.0.last().and_then(|part| part.as_ident());
            let columns = table.and_then(|table| joined.of_side(&table.value));
            if let Some(columns) = columns {
                columns.iter().filter(|it| !left_out(&options, it)).map(named).collect()
            } else {
                let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                vec![SelectItem::QualifiedWildcard(kind, options)]
            }
        }
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => match joined.keys.get(&name.value) {
            Some(value) => {
                let alias = Ident::with_quote('"', name.value);
                vec![SelectItem::ExprWithAlias { expr: value.clone(), alias }]
            }
            None => vec![SelectItem::UnnamedExpr(Expr::Identifier(name))],
        },
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            let found = match parts.as_slice() {
                [table, column] => joined.explicit(&table.value, &column.value),
                _ => None,
            };
            vec![match found {
                Some(column) => named(&column),
                None => SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)),
            }]
        }
        other => vec![other],
    }
}

impl Joined {
    /// A column that is written with its table.
    fn explicit(&self, table: &str, column: &str) -> Option<Column> {
        let place = self.sides.iter().position(|side| side.name.value == table)?;
        let side = self.sides.get(place)?;
        let name = side.columns.iter().chain(&side.hidden).find(|name| *name == column)?;
        let mut found = one(&self.sides, place, name)?;
        if self.hidden.contains(&(table.to_owned(), column.to_owned())) {
            found.shown = format!("{table}.{column}");
        }
        Some(found)
    }
    /// The columns of one table.
    fn of_side(&self, table: &str) -> Option<Vec<Column>> {
        self.sides.iter().position(|side| side.name.value == table).map(|it| own(&self.sides, it))
    }
}

/// The columns of a table.
fn own(sides: &[Side], place: usize) -> Vec<Column> {
    let names = sides.get(place).into_iter().flat_map(|side| &side.columns);
    names.filter_map(|name| one(sides, place, name)).collect()
}

/// A column of a table. One that others have too is called with its table; with two tables a bare name is the first one's.
fn one(sides: &[Side], place: usize, name: &String) -> Option<Column> {
    let side = sides.get(place)?;
    let count = sides.iter().filter(|side| side.has(name)).count();
    let is_unnamed = side.name.value.starts_with(UNNAMED);
    let is_bare = count < 2 || is_unnamed || (place == 0 && sides.len() == 2);
    let shown = if is_bare { name.clone() } else { format!("{}.{name}", side.name.value) };
    Some(Column { name: name.clone(), value: qualified(&side.name, name), shown })
}
