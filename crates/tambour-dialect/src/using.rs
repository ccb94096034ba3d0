//! `JOIN … USING (k)` as ClickHouse has it: a bare `k` is the left side's, after RIGHT JOIN the right side's, after FULL JOIN
//! that of whichever side has the row; `a.k` and `b.k` are each side's own; and `*` begins with the keys. Columns that several
//! tables have are called with their tables in the result. It takes that all columns are known before planning; where they
//! are not, the engine's USING stays, which merges keys in its own way.

use super::ambiguous::{self, Scope};
use super::call;
use super::marks::{JOINED, Strictness};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, ExceptSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, OrderByKind,
    Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Writes USING as ON, and the columns of `*` out, in the SELECTs of a query.
pub(super) fn translate(query: &mut Query, scope: &Scope<'_>) {
    let order = match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
        Some(OrderByKind::Expressions(keys)) => keys.iter_mut().map(|key| &mut key.expr).collect(),
        _ => Vec::new(),
    };
    of_body(&mut query.body, order, scope);
}

fn of_body(body: &mut SetExpr, order: Vec<&mut Expr>, scope: &Scope<'_>) {
    match body {
        SetExpr::Select(select) => of_select(select, order, scope),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, Vec::new(), scope);
            of_body(right, Vec::new(), scope);
        }
        _ => {}
    }
}

/// A table of a join.
struct Side {
    name: Ident,
    columns: Vec<String>,
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

fn qualified(table: &Ident, column: &str) -> Expr {
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

fn of_select(select: &mut Select, order: Vec<&mut Expr>, scope: &Scope<'_>) {
    in_turn(&mut select.from);
    let [table] = select.from.as_mut_slice() else { return };
    let is_named = select.projection.iter().all(is_expandable);
    if table.joins.is_empty() || !is_named || table.joins.iter().any(|join| join.global) {
        return;
    }
    let Some(joined) = joined(table, scope) else { return };
    // Nothing is changed before everything is known.
    for (join, condition) in table.joins.iter_mut().zip(&joined.1) {
        if let (Some((on, _)), Some(condition)) = (constraint(&mut join.join_operator), condition) {
            *on = JoinConstraint::On(condition.clone());
        }
    }
    let joined = joined.0;
    let aliases: BTreeSet<String> = select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => None,
        })
        .collect();
    for item in std::mem::take(&mut select.projection) {
        select.projection.extend(results(item, &joined));
    }
    let mut keys = Keys { keys: joined.keys.clone(), depth: 0 };
    let _ = VisitMut::visit(&mut select.projection, &mut keys);
    // Elsewhere the names of results come first.
    keys.keys.retain(|name, _| !aliases.contains(name));
    for condition in
        [&mut select.prewhere, &mut select.selection, &mut select.having, &mut select.qualify]
    {
        let _ = VisitMut::visit(condition, &mut keys);
    }
    let _ = VisitMut::visit(&mut select.group_by, &mut keys);
    let _ = VisitMut::visit(&mut select.distinct, &mut keys);
    for key in order {
        let _ = VisitMut::visit(key, &mut keys);
    }
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
        Some(Side { name: ambiguous::name(factor)?, columns: scope.of_relation(factor)? })
    });
    let sides: Vec<Side> = sides.collect::<Option<_>>()?;
    let names: BTreeSet<&str> = sides.iter().map(|side| side.name.value.as_str()).collect();
    if names.len() < sides.len() {
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
        if let JoinConstraint::Using(names) = on {
            let names: Option<Vec<String>> =
                names.iter().map(|name| Some(name.0.last()?.as_ident()?.value.clone())).collect();
            let mut names = names?;
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
        let mut found = self.of_side(table)?.into_iter().find(|it| it.name == column)?;
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

/// The columns of a table; those that others have too are called with their table. With two tables a bare name is the first
/// one's.
fn own(sides: &[Side], place: usize) -> Vec<Column> {
    let Some(side) = sides.get(place) else { return Vec::new() };
    let column = |name: &String| {
        let count = sides.iter().filter(|side| side.columns.contains(name)).count();
        let is_bare = count < 2 || (place == 0 && sides.len() == 2);
        let shown = if is_bare { name.clone() } else { format!("{}.{name}", side.name.value) };
        Column { name: name.clone(), value: qualified(&side.name, name), shown }
    };
    side.columns.iter().map(column).collect()
}

/// Puts what keys stand for in the place of their bare names, but not in queries inside.
struct Keys {
    keys: BTreeMap<String, Expr>,
    depth: usize,
}

impl VisitorMut for Keys {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        // The parameters of a lambda are not columns.
        if let Expr::Lambda(lambda) = expr {
            for parameter in &lambda.params {
                self.keys.remove(&parameter.name.value);
            }
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(value) = self.keys.get(&name.value)
        {
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}
