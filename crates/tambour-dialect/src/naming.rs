//! Names of results, as ClickHouse makes them of what was written (`a + 1` is `plus(a, 1)`), and every one a different one.

use super::ambiguous::{self, Scope};
use super::{marks, written};
use datafusion::sql::sqlparser::ast::{Expr, Ident, Select, SelectItem, TableFactor};
use std::collections::BTreeSet;

/// The tables that a SELECT reads from, with their columns where they are known.
#[derive(Default)]
pub(super) struct Tables(Vec<(String, Vec<String>)>);

impl Tables {
    pub(super) fn of(select: &Select, scope: Option<&Scope<'_>>) -> Self {
        let table = |factor: &TableFactor| {
            let name = ambiguous::name(factor).map(|name| name.value).unwrap_or_default();
            let columns = scope.and_then(|scope| {
                let mut shown = scope.of_relation(factor)?;
                shown.extend(scope.hidden(factor));
                Some(shown)
            });
            (name, columns.unwrap_or_default())
        };
        Self(ambiguous::relations(select).map(table).collect())
    }

    /// What a column with a dot in what was written is called: without its table, unless others have such a column.
    pub(super) fn shown(&self, parts: &[Ident]) -> String {
        let texts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
        let whole = texts.join(".");
        let place_of = |name: &str| self.0.iter().position(|(table, _)| table == name);
        let (place, rest) = match texts.as_slice() {
            [table, rest @ ..] if !rest.is_empty() && place_of(table).is_some() => {
                (place_of(table), rest)
            }
            [_, table, rest @ ..] if !rest.is_empty() => (place_of(table), rest),
            _ => (None, texts.as_slice()),
        };
        let Some(place) = place else { return whole };
        let bare = rest.join(".");
        let first = rest.first().copied().unwrap_or_default();
        let has = |(_, columns): &&(String, Vec<String>)| columns.iter().any(|it| it == first);
        let is_bare = self.0.iter().filter(has).count() < 2 || (place == 0 && self.0.len() == 2);
        match self.0.get(place) {
            Some((table, _)) if !is_bare => format!("{table}.{bare}"),
            _ => bare,
        }
    }

    fn has(&self, name: &Ident) -> bool {
        self.0.iter().any(|(table, _)| *table == name.value)
    }
}

/// Results that are not plain columns are called what was written, not what it was rewritten to.
pub(super) fn name(projection: &mut [SelectItem], tables: &Tables) {
    let names = of_all(projection, tables);
    give(projection, names);
}

/// Gives results the names that [`of_all`] made of them before they were rewritten.
pub(super) fn give(projection: &mut [SelectItem], names: Vec<Option<String>>) {
    for (item, name) in projection.iter_mut().zip(names) {
        if let (SelectItem::UnnamedExpr(expr), Some(name)) = (&mut *item, name) {
            let (expr, alias) = (super::call::take(expr), Ident::with_quote('"', name));
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

/// The names of results that are not plain columns and have none.
pub(super) fn of_all(projection: &[SelectItem], tables: &Tables) -> Vec<Option<String>> {
    let mut subqueries = 0;
    let one = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => {
            let name = written::name(expr, tables, &mut subqueries);
            is_named_so(expr, tables).then_some(name)
        }
        SelectItem::ExprWithAlias { expr, .. } => {
            written::name(expr, tables, &mut subqueries);
            None
        }
        _ => None,
    };
    projection.iter().map(one).collect()
}

fn is_named_so(expr: &Expr, tables: &Tables) -> bool {
    match expr {
        Expr::Identifier(name) => written::is_float(name),
        // A column with its table keeps its name.
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, _] | [_, table, _] => !tables.has(table),
            _ => true,
        },
        Expr::Wildcard(_) => false,
        _ => true,
    }
}

/// The names that an asterisk leaves out; `None` of other results.
fn left_out(item: &SelectItem) -> Option<BTreeSet<String>> {
    let SelectItem::Wildcard(options) = item else { return None };
    let except = options.opt_except.iter().flat_map(|except| {
        std::iter::once(&except.first_element).chain(&except.additional_elements)
    });
    Some(except.map(|name| name.value.clone()).collect())
}

/// Numbers names that are there already; [`results`] takes the numbers away again. A column beside `*` is one of those, unless
/// that leaves it out.
pub(super) fn distinguish(projection: &mut [SelectItem]) {
    let left_out: Vec<BTreeSet<String>> = projection.iter().filter_map(left_out).collect();
    let is_of_all = |name: &String| left_out.iter().any(|names| !names.contains(name));
    // Columns of two tables may have the same name: DataFusion tells them apart by the tables.
    let (mut plain, mut qualified) = (BTreeSet::new(), BTreeSet::new());
    for (number, item) in projection.iter_mut().enumerate() {
        let (name, is_repeated) = match &*item {
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                let is_new = plain.insert(name.value.clone());
                (name.value.clone(), is_of_all(&name.value) || !is_new)
            }
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                let Some(last) = parts.last().map(|part| part.value.clone()) else { continue };
                let whole: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
                let is_new = qualified.insert(whole.join("."));
                let is_repeated = is_of_all(&last) || !is_new || plain.contains(&last);
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
